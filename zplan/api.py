"""The public functions with their inputs checked: what is wrong in a plan made in Python is told, never priced.

The command line parses its own words and calls the wings directly; plans made there are right by construction. Here
every field is held against its annotation and its bounds, then against the rules that the command line keeps too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zplan.checked import SEE, check_plan, is_shown
from zplan.errors import ZplanError
from zplan.memory.estimate import estimate as estimate_plan

if TYPE_CHECKING:
    from zplan.advice.recommend import Recommendation
    from zplan.advice.space import Question
    from zplan.memory.moments import Estimate
    from zplan.spec import ClusterSpec, ModelSpec, Plan


def estimate(plan: Plan) -> Estimate:
    """Predicts the memory of one plan, see :func:`zplan.memory.estimate.estimate`.

    Args:
        plan: Model, hardware and job.

    Returns:
        The moments of a step and what follows from them; sizes in bytes.

    Raises:
        ZplanError: a field has a wrong type, is out of bounds or contradicts another; or the model has no tables.
    """
    return estimate_plan(plan, check_plan(plan))


def recommend(questions: Sequence[Question], *args: Any, **settings: Any) -> Recommendation:
    """Picks the plan to run, see :func:`zplan.advice.recommend.recommend`.

    Args:
        questions: One per kind of card.
        *args: ``goal``.
        **settings: ``prices``, ``models``, ``gpus_given``, ``unit``.

    Returns:
        The recommendation; ``recommended`` is None when nothing fits.

    Raises:
        ZplanError: no question, a field of a wrong type, or what was asked contradicts itself.
    """
    from zplan.advice.recommend import recommend as pick
    from zplan.advice.space import Question

    if not isinstance(questions, Sequence) or not questions or not all(isinstance(one, Question) for one in questions):
        raise ZplanError("recommend takes a list of questions, and at least one", SEE.format("Question"))
    for question in questions:
        check_plan(question.base)
    return pick(questions, *args, **settings)


def resolve_model(*, params: str | int | None = None, model: str | os.PathLike[str] | None = None) -> ModelSpec:
    """Finds the model that is named, see :func:`zplan.inputs.model.resolve_model`.

    Args:
        params: A count: ``"7B"`` or ``7_000_000_000``.
        model: A preset's name, a ``config.json`` or its folder, or a hub id.

    Returns:
        The model.

    Raises:
        ZplanError: both or neither are given, or the name is none of these.
    """
    from zplan.inputs.model import resolve_model as resolve

    count = str(params) if type(params) is int else params
    name = os.fspath(model) if isinstance(model, os.PathLike) else model
    for field, value, example in (("params", count, '"7B"'), ("model", name, '"llama-3.1-8b"')):
        if value is not None and not isinstance(value, str):
            raise ZplanError(f"{field} is {is_shown(value)}, not text", f"write resolve_model({field}={example})")
    return resolve(params=count, model=name)  # type: ignore[arg-type]  # both are text by now


def build_cluster(
    *,
    gpus: int | None = None,
    nodes: int | None = None,
    gpu: str | None = None,
    gpu_mem_bytes: int | None = None,
    host_mem_bytes: int | None = None,
    nvme_bytes: int | None = None,
    node: str | None = None,
) -> tuple[ClusterSpec, tuple[str, ...]]:
    """Describes the hardware, see :func:`zplan.inputs.cluster.build_cluster`.

    Args:
        gpus: All GPUs; None with ``node``: all that the nodes have.
        nodes: Number of nodes.
        gpu: A card's preset.
        gpu_mem_bytes: Memory of one card.
        host_mem_bytes: RAM of one node.
        nvme_bytes: NVMe of one node.
        node: A machine's preset.

    Returns:
        The cluster, and what was assumed.

    Raises:
        ZplanError: the numbers do not fit together, or a preset is unknown.
    """
    from zplan.inputs.cluster import build_cluster as build

    numbers = {
        "gpus": gpus,
        "nodes": nodes,
        "gpu_mem_bytes": gpu_mem_bytes,
        "host_mem_bytes": host_mem_bytes,
        "nvme_bytes": nvme_bytes,
    }
    hint = "write build_cluster(gpus=8, gpu_mem_bytes=80 * 2**30)"
    for name, value in numbers.items():
        if value is not None and type(value) is not int:
            raise ZplanError(f"{name} is {is_shown(value)}, not a whole number", hint)
        low, high = (1, 2**60) if name.endswith("bytes") else (1, 10**6)
        if value is not None and not low <= value <= high:
            raise ZplanError(f"{name} is {value}, not between {low} and {high}", hint)
    for name, word in {"gpu": gpu, "node": node}.items():
        if word is not None and not isinstance(word, str):
            raise ZplanError(f"{name} is {is_shown(word)}, not text", "all names: zplan presets ls")
    return build(
        gpus=gpus,
        nodes=nodes,
        gpu=gpu,
        gpu_mem_bytes=gpu_mem_bytes,
        host_mem_bytes=host_mem_bytes,
        nvme_bytes=nvme_bytes,
        node=node,
    )
