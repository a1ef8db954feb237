"""Runs one case in this process. Engines patch global state, so a process runs one case: see :mod:`zplan.verify.dryrun`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from typing import Any

import torch

from zplan.verify.dryrun.attention import attention_as_on_cuda
from zplan.verify.dryrun.autocast import off_on_meta
from zplan.verify.dryrun.bench import Bench, PhaseMeter
from zplan.verify.dryrun.beyond import explain, run_beyond
from zplan.verify.dryrun.case import Case, case_from_dict
from zplan.verify.dryrun.engines import engine_module
from zplan.verify.dryrun.ghost import FakeGhost, Ghost, fake_cpu
from zplan.verify.dryrun.imports import leave_sharded_tensors_out, read_models_once, settle
from zplan.verify.dryrun.naming import Namer
from zplan.verify.dryrun.steps import run_steps
from zplan.verify.dryrun.views import views_unseen
from zplan.verify.dryrun.world import fake_world
from zplan.verify.tracker import Tracker

LIMITS = (
    "A dry run sees no scratch memory inside CUDA kernels: flash attention's backward, cuBLAS workspaces.",
    "A dry run has no caching allocator, CUDA context or NCCL: reserved and device memory are not measured.",
)


def run_case(raw: Mapping[str, Any], progress: Callable[[str, float], None] | None = None) -> dict[str, Any]:
    """Run one case on tensors without data.

    Args:
        raw: A case as a JSON object.
        progress: Told the phase that runs and the share of the work done.

    Returns:
        Bytes by phase (``init``, ``forward``, ``backward``, ``step``), ``steady``, ``peak``, host bytes, ``params``,
        ``terms`` by phase, ``limits`` and, where the case asks for it, ``explain``.

    Raises:
        ZplanError: If the case cannot be run.
    """
    start = time.perf_counter()
    case = case_from_dict(raw)
    module = engine_module(case.engine)
    read_models_once()
    if module.PLAIN_TENSORS:
        leave_sharded_tensors_out()
    if progress is not None:
        progress("init", 0.0)
    namer = Namer(case)
    device = module.DEVICE
    ghost = Ghost() if device == "meta" else FakeGhost()
    tracker = Tracker(device, "cpu" if device == "meta" else None, ghost, namer.classify)
    with (
        fake_world(case.world, case.rank),
        attention_as_on_cuda(case.attention) as attention,
        off_on_meta() if device == "meta" else fake_cpu(),
        views_unseen() if module.PLAIN_TENSORS else nullcontext(),
    ):
        bench = Bench(case, tracker, device, True, attention, on_model=namer.learn)
        meter = PhaseMeter(tracker, on_end=lambda phase: namer.name(phase, tracker, bench))
        with tracker:
            meter.begin("init")
            work = module.prepare(bench)
            meter.end("init")
            ghost.host_in_use = tracker.host_bytes > 0
            settle()
            run_steps(work, meter, grad_accum=case.grad_accum, steps=case.steps, progress=progress)
            result = _result(bench, meter)
            if case.beyond:
                result["beyond"] = run_beyond(case, work, meter)
            del work
    result["seconds"] = round(time.perf_counter() - start, 2)
    return result


def _result(bench: Bench, meter: PhaseMeter) -> dict[str, Any]:
    tracker, case = bench.tracker, bench.case
    phases = {phase: peak.device_bytes for phase, peak in meter.peaks.items()}
    result: dict[str, Any] = {
        "params": bench.params,
        **phases,
        "steady": tracker.device_bytes,
        "peak": max(phases["forward"], phases["backward"], phases["step"]),
        "host": tracker.host_bytes,
        "host_peak": meter.host_peak,
        "pinned": tracker.pinned_bytes,
        "terms": {phase: peak.terms for phase, peak in meter.peaks.items()},
        "limits": [*LIMITS, *bench.notes],
        "versions": versions(case),
    }
    if "nvme" in str(case.zero):
        from zplan.verify.dryrun.nvme import FILES

        result["nvme"] = sum(FILES.values())
    if case.explain:
        result["explain"] = {phase: explain(peak, case.explain) for phase, peak in meter.peaks.items()}
    return result


def versions(case: Case) -> dict[str, str]:
    """Versions of what ran."""
    import transformers

    out = {"torch": str(torch.__version__), "transformers": transformers.__version__}
    if case.engine == "deepspeed":
        import deepspeed

        out["deepspeed"] = deepspeed.__version__
    if case.lora is not None:
        import peft

        out["peft"] = peft.__version__
    return out
