"""What a job does besides training steps, run after them: an evaluation batch, and the model gathered to be saved."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch

from zplan.errors import ZplanError
from zplan.memory.moments import TermKey

if TYPE_CHECKING:
    from zplan.verify.dryrun.bench import Bench, PhaseMeter
    from zplan.verify.dryrun.case import Case
    from zplan.verify.dryrun.steps import StepWork
    from zplan.verify.tracker import PhasePeak

ROUNDS = {"eval": 2}
"""An engine may leave something from one evaluation batch to the next: the larger of two is measured."""


def run_beyond(case: Case, work: StepWork, meter: PhaseMeter) -> dict[str, dict[str, Any]]:
    """Run phases after the steps.

    Args:
        case: Names the phases.
        work: The engine's step.
        meter: Told when a phase begins and ends.

    Returns:
        Phase -> bytes on the device and on the host at their peaks, and the device's terms.
    """
    found: dict[str, dict[str, Any]] = {}
    for phase in case.beyond:
        for _ in range(ROUNDS.get(phase, 1)):
            meter.begin(phase)
            kept = work.beyond[phase]()
            meter.end(phase)
            del kept
        peak = meter.peaks[phase]
        found[phase] = {"device": peak.device_bytes, "host": peak.host_bytes, "terms": peak.terms}
        if case.explain:
            found[phase]["explain"] = explain(peak, case.explain)
    return found


def evaluation(bench: Bench, model: Any, context: Callable[[], AbstractContextManager[Any]]) -> Callable[[], Any]:
    """One batch of transformers' ``Trainer.prediction_step``: the loss without gradients, and the outputs beside it.

    Args:
        bench: The bench.
        model: The engine's model.
        context: Forward context (autocast).

    Returns:
        What runs it and returns the model's outputs, as the prediction step's frame holds them.
    """
    case = bench.case

    def run() -> Any:
        model.eval()
        shape = (case.eval_batch or case.micro_batch, case.seq_len)
        with bench.tracker.creating(TermKey.INPUTS):
            ids = torch.randint(0, min(100, bench.vocab), shape, device=bench.device)
        with torch.no_grad(), context():
            outputs = model(input_ids=ids, labels=ids)
        model.train()
        return ids, outputs

    return run


def gathered(case: Case, model: Any) -> Callable[[], Any]:
    """The state dict as accelerate's ``get_state_dict`` collects it for ``save_pretrained``.

    Args:
        case: What runs.
        model: The engine's model.

    Returns:
        What runs it and returns the state dict.
    """

    def run() -> Any:
        if case.engine == "deepspeed":
            return _deepspeed_state_dict(case, model)
        if case.engine == "fsdp2":
            from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict

            return get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
        raise ZplanError(
            f"the dry run cannot tell {case.engine}'s host and device apart",
            "measure save with --engine deepspeed or fsdp2",
        )

    return run


def _deepspeed_state_dict(case: Case, engine: Any) -> Any:
    if case.stage == 3:
        return engine._zero3_consolidated_16bit_state_dict(exclude_frozen_parameters=case.lora is not None)
    from deepspeed.checkpoint.utils import clone_tensors_for_torch_save

    return clone_tensors_for_torch_save(engine.module.state_dict())


def explain(peak: PhasePeak, count: int) -> list[dict[str, Any]]:
    """The largest groups of equal tensors alive at a peak.

    Args:
        peak: A phase's peak.
        count: How many groups; -1 for all.

    Returns:
        Groups of tensors with the same shape, dtype, label, phase of birth and operator, largest first.
    """
    groups: dict[tuple[Any, ...], list[int]] = {}
    for item in peak.live:
        key = (item.label, item.shape, item.dtype, item.phase, item.op)
        held = groups.setdefault(key, [0, 0])
        held[0] += item.size_bytes
        held[1] += 1
    ordered = sorted(groups.items(), key=lambda pair: -pair[1][0])
    return [
        {
            "bytes": size,
            "tensors": number,
            "label": label,
            "shape": list(shape),
            "dtype": dtype.removeprefix("torch."),
            "born": phase,
            "op": op,
        }
        for (label, shape, dtype, phase, op), (size, number) in (ordered if count < 0 else ordered[:count])
    ]
