"""A plan held against the annotations of its fields, their bounds, and the rules that options keep.

For plans made in Python; the command line's are right by construction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from zplan.errors import ZplanError
from zplan.memory.facts import JobFacts, job_facts
from zplan.memory.params import layout
from zplan.spec import (
    DEFAULT_DEEPSPEED,
    Attention,
    Checkpointing,
    ClusterSpec,
    DeepSpeedOptions,
    Engine,
    GpuSpec,
    Job,
    Lora,
    Loss,
    ModelSpec,
    NodeSpec,
    Offload,
    OffloadTo,
    Plan,
    Precision,
)

_BOUNDS: Mapping[type, Mapping[str, tuple[int, int]]] = {
    ClusterSpec: {
        "gpus": (1, 10**6),
        "nodes": (1, 10**6),
        "gpu_capacity_bytes": (1, 2**60),
        "host_capacity_bytes": (1, 2**60),
        "nvme_capacity_bytes": (0, 2**60),
    },
    Job: {
        "stage": (0, 3),
        "micro_batch": (1, 2**16),
        "seq_len": (1, 2**24),
        "grad_accum": (1, 10**6),
        "hpz": (1, 10**6),
        "rank": (0, 10**6),
    },
    Checkpointing: {"every": (1, 10**6)},
    Lora: {"rank": (1, 2**16)},
    DeepSpeedOptions: {
        "reduce_bucket_size": (0, 2**63 - 1),
        "allgather_bucket_size": (0, 2**63 - 1),
        "sub_group_size": (0, 2**63 - 1),
        "prefetch_bucket_size": (0, 2**63 - 1),
        "param_persistence_threshold": (0, 2**63 - 1),
        "max_live_parameters": (0, 2**63 - 1),
        "max_reuse_distance": (0, 2**63 - 1),
        "gradient_clipping": (0, 2**63 - 1),
        "offload_ratio": (0, 1),
        "nvme_buffer_count": (1, 2**31 - 1),
        "nvme_param_buffer_count": (1, 2**31 - 1),
        "nvme_param_buffer_size": (0, 2**63 - 1),
        "nvme_max_in_cpu": (0, 2**63 - 1),
    },
}
_WORDS: Mapping[type, Mapping[str, tuple[str, ...]]] = {
    Job: {"implementation": ("transformers", "litgpt")},
    Checkpointing: {"kind": ("none", "full", "selective", "selective-op", "every-k")},
    DeepSpeedOptions: {"grad_accum_dtype": ("fp32", "fp16", "bf16"), "communication_dtype": ("fp32", "fp16", "bf16")},
}
_DEEP = (GpuSpec, NodeSpec, ModelSpec)
"""Made by zplan's own readers, which check them: only their type is looked at."""
SEE = "see what it takes: python -c 'import zplan, zplan.spec; help(zplan.{})'"
"""Hint; a command that works wherever zplan does."""


def check_plan(plan: Plan) -> JobFacts | None:
    """Holds a plan against its types, bounds and rules.

    Args:
        plan: Anything.

    Returns:
        The facts of its job, where they were needed on the way.

    Raises:
        ZplanError: names the first field that is wrong.
    """
    if not isinstance(plan, Plan):
        raise ZplanError(f"the plan is {is_shown(plan)}, not a zplan.Plan", SEE.format("Plan"))
    model, cluster, job = plan.model, plan.cluster, plan.job
    known = type(job) is Job and type(cluster) is ClusterSpec and type(model) is ModelSpec
    facts = _facts(job, cluster) if known else None
    if facts is not None and (id(model), id(cluster), id(facts), job.seq_len > model.max_seq_len) in _PASSED:
        return facts
    _check_value("plan", plan)
    if not model.num_layers or model.num_layers != len(model.layers):
        message = f"the model has {len(model.layers)} layers, and says {model.num_layers}"
        raise ZplanError(message, SEE.format("resolve_model"))
    if cluster.gpus % cluster.nodes:
        message = f"{cluster.gpus} GPUs cannot be spread evenly over {cluster.nodes} nodes"
        raise ZplanError(message, SEE.format("build_cluster"))
    from zplan.memory.optimizers import OPTIMIZERS

    if job.optimizer not in OPTIMIZERS:
        from zplan.cli.parse import unknown

        raise unknown(job.optimizer, OPTIMIZERS, what="optimizer", template="--optimizer {}")
    _check_rules(model, cluster, job)
    if job.lora is not None and not layout(model, job.lora).trainable:
        message = f"lora.targets are {is_shown(job.lora.targets)}, which no layer of {model.name} is called"
        raise ZplanError(message, SEE.format("spec.Lora"))
    if facts is not None:
        if len(_PASSED) >= MOST_PASSED:
            _PASSED.clear()
        _PASSED[id(model), id(cluster), id(facts), job.seq_len > model.max_seq_len] = (model, cluster, facts)
    return facts


MOST_PASSED = 4096
_Key = tuple[int, int, int, bool]
_PASSED: dict[_Key, tuple[object, ...]] = {}
"""Plans that passed, told apart by what they are made of (identity; the values keep it) and not by their batch."""


def _facts(job: Job, cluster: ClusterSpec) -> JobFacts | None:
    """What a check depends on beside batch, length and rank; None where these are wrong, or anything makes it doubtful.

    A sweep's plans differ in their batch alone: thousands pass by one of them. Types first, since 1 == True == 1.0 to a cache.
    """
    rank, batch, seq, accumulated = job.rank, job.micro_batch, job.seq_len, job.grad_accum
    sane = (
        type(batch) is type(seq) is type(accumulated) is type(rank) is int
        and type(job.stage) is type(job.hpz) is type(cluster.gpus) is int
        and type(job.engine) is Engine
        and type(job.offload) is Offload
        and type(job.offload_to) is OffloadTo
        and type(job.precision) is Precision
        and type(job.attention) is Attention
        and type(job.loss) is Loss
    )
    if not sane or not (
        0 < batch <= 2**16 and 0 < seq <= 2**24 and 0 < accumulated <= 10**6 and 0 <= rank < cluster.gpus
    ):
        return None
    try:
        return job_facts(job)
    except (ZplanError, TypeError, AttributeError, ValueError, LookupError):
        return None


@lru_cache(maxsize=256)
def _check_rules(model: ModelSpec, cluster: ClusterSpec, job: Job) -> None:
    """The rules of the command line; the same for every micro-batch of a grid, so that many are found in the cache."""
    from zplan.cli.parse import JobWords
    from zplan.cli.rules import check

    words = JobWords(
        stage=job.stage,
        offload=job.offload,
        offload_to=job.offload_to if job.offload.value != "none" else None,
        precision=job.precision,
        seq_len=job.seq_len,
        checkpointing=job.checkpointing,
        lora=None if job.lora is None else job.lora.rank,
        quantize=job.quantize,
        hpz=job.hpz,
        zero_init=job.zero_init,
        rank=job.rank,
    )
    check(words, job.engine, model, cluster)
    card = cluster.gpu
    if card is not None and not card.flash_attention and job.attention in (Attention.FLASH, Attention.SDPA):
        raise ZplanError(
            f"{job.attention.value} attention is another kernel on {card.title}, which has no flash attention",
            "say attention=Attention.MATH for torch's sdpa there, or Attention.EAGER for the model's own code",
        )


def _check_value(path: str, value: Any) -> None:
    """Holds the fields of a dataclass against their annotations and bounds, deep ones too."""
    kind: type = type(value)
    for name, accepts, expected, nested in _fields(kind):
        found = getattr(value, name)
        if not accepts(found):
            raise _wrong(path, name, found, expected, kind)
        if nested and is_dataclass(found) and found is not DEFAULT_DEEPSPEED and not isinstance(found, _DEEP):
            _check_value(name if path == "plan" else f"{path}.{name}", found)


_Field = tuple[str, Callable[[Any], bool], str, bool]
"""Name, whether it takes a value, what it takes in words, whether it is a dataclass."""


@lru_cache(maxsize=32)
def _fields(kind: Hashable) -> tuple[_Field, ...]:
    assert isinstance(kind, type) and is_dataclass(kind)
    hints = get_type_hints(kind)
    return tuple(_field(kind, item.name, hints[item.name]) for item in fields(kind))


def _field(kind: type, name: str, hint: Any) -> _Field:
    words = _WORDS.get(kind, {}).get(name)
    bounds = _BOUNDS.get(kind, {}).get(name)
    options = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    optional, types = NoneType in options, tuple(one for one in options if one is not NoneType)
    plain = tuple(get_origin(one) or one for one in types)
    exact = tuple(one for one in plain if one in (int, float, bool, str))
    if float in exact:
        exact = (*exact, int)
    classes = tuple(one for one in plain if one not in (int, float, bool, str))

    def accepts(value: Any) -> bool:
        if value is None:
            return optional
        # A bool is an int to isinstance, and 1 == True; so exact types for plain values.
        if type(value) not in exact and not (classes and isinstance(value, classes)):
            return False
        if words is not None:
            return value in words
        return bounds is None or bool(bounds[0] <= value <= bounds[1])

    expected = " or ".join(_in_words(one) for one in types)
    if words is not None:
        expected = "one of " + ", ".join(words)
    elif bounds is not None:
        expected += f" from {bounds[0]:,} to {bounds[1]:,}"
    expected += ", or None" if optional else ""
    return name, accepts, expected, any(is_dataclass(one) for one in plain)


def _in_words(kind: Any) -> str:
    """A type as people say it."""
    plain = {int: "a whole number", float: "a number", bool: "True or False", str: "text"}
    if isinstance(kind, type) and issubclass(kind, Enum):
        return f"a member of zplan.spec.{kind.__name__}: " + ", ".join(member.name for member in kind)
    if is_dataclass(kind):
        return f"a zplan.spec.{kind.__name__}" if isinstance(kind, type) else "a dataclass"
    return plain.get(kind, "a tuple of text")


def _wrong(path: str, name: str, value: Any, expected: str, kind: type) -> ZplanError:
    where = name if path == "plan" else f"{path}.{name}"
    public = (
        kind.__name__ if kind.__name__ in ("Plan", "Job", "ClusterSpec", "Checkpointing") else f"spec.{kind.__name__}"
    )
    return ZplanError(f"{where} is {is_shown(value)}, not {expected}", SEE.format(public))


def is_shown(value: Any) -> str:
    """A value in an error: short, on one line."""
    shown = " ".join(repr(value).split())
    return shown if len(shown) <= 60 else f"{shown[:59]}…"
