"""One training step with data: the dry run's engines and step loop on a CPU or a GPU, in this process.

On a CPU the tracker counts every tensor, as it does in a dry run. On a GPU the figures are the allocator's own, taken
in a step that nothing watches; the tracker looks at a step before and a step after, to name what is alive.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

from zplan.verify.cuda import CudaMeter, Driver
from zplan.verify.dryrun.autocast import install
from zplan.verify.dryrun.bench import Bench, PhaseMeter
from zplan.verify.dryrun.case import Case
from zplan.verify.dryrun.engines import engine_module
from zplan.verify.dryrun.naming import Namer
from zplan.verify.dryrun.runner import versions
from zplan.verify.dryrun.steps import DEFAULT_STEPS, run_steps
from zplan.verify.tracker import Tracker

CPU_LIMITS = (
    "On a CPU tensors are counted as Python and autograd make them; scratch inside kernels is not seen.",
    "A CPU's attention kernels keep for backward what a GPU's keep, but may need other scratch while they run.",
)
CUDA_LIMITS = (
    "Terms are counted in a step after the measured one; rounding and kernels' scratch show as unexplained.",
)


def measure(
    case: Case,
    *,
    device: str,
    peers: bool,
    driver: Driver | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> dict[str, Any]:
    """Run a case with data in the process group that exists.

    Args:
        case: The case; its ``rank`` is this process's.
        device: ``cpu`` or ``cuda``.
        peers: Whether the other ranks are real.
        driver: What the driver says of the card; needed for ``cuda``.
        progress: Told the phase that runs and the share of the work done.

    Returns:
        Bytes by phase, ``steady``, ``peak``, ``terms`` by phase, ``params``, ``loss``, ``limits``, ``versions``; on a
        GPU also ``reserved``, ``device`` and ``beyond``.

    Raises:
        ZplanError: If the case cannot be run.
    """
    start = time.perf_counter()
    if progress is not None:
        progress("init", 0.0)
    module = engine_module(case.engine)
    if device == "cpu":
        # The CPU's autocast keeps other operators in fp32 than CUDA's does.
        install()
    namer = Namer(case)
    tracker = Tracker(device, "cpu" if device != "cpu" else None, None, namer.classify)
    attention = "eager" if case.attention == "eager" else "sdpa"
    bench = Bench(case, tracker, device, False, attention, on_model=namer.learn, peers=peers)
    counted = PhaseMeter(tracker, on_end=lambda phase: namer.name(phase, tracker, bench))
    losses: list[torch.Tensor] = []
    with ExitStack() as stack:
        meter: Any
        if driver is None:
            stack.enter_context(tracker)
            meter = counted
        else:
            meter = stack.enter_context(CudaMeter(tracker, counted, driver))
        meter.begin("init")
        work = module.prepare(bench)
        meter.end("init")
        watched = _keep_loss(work, losses)
        steps = DEFAULT_STEPS if driver is None else DEFAULT_STEPS + 1
        run_steps(watched, meter, grad_accum=case.grad_accum, steps=steps, progress=progress)
        result = _counted(tracker, counted) if driver is None else meter.result()
    result.update(
        params=bench.params,
        loss=float(losses[-1]),
        limits=[*(CPU_LIMITS if device == "cpu" else CUDA_LIMITS), *bench.notes],
        versions=versions(case),
        seconds=round(time.perf_counter() - start, 2),
    )
    return result


def _keep_loss(work: Any, losses: list[torch.Tensor]) -> Any:
    """The same step, whose last loss is kept as a number; the figure is read after the last phase."""
    from dataclasses import replace

    forward = work.forward

    def run() -> torch.Tensor:
        loss: torch.Tensor = forward()
        losses[:] = [loss.detach()]
        return loss

    return replace(work, forward=run)


def _counted(tracker: Tracker, meter: PhaseMeter) -> dict[str, Any]:
    phases = {phase: peak.device_bytes for phase, peak in meter.peaks.items()}
    return {
        **phases,
        "steady": tracker.device_bytes,
        "peak": max(phases["forward"], phases["backward"], phases["step"]),
        "terms": {phase: peak.terms for phase, peak in meter.peaks.items()},
    }


@contextmanager
def echoing_peers(rank: int) -> Iterator[None]:
    """Let torch's fake process group hand back this rank's own data instead of uninitialised memory.

    Gathered parameters are then this rank's shard repeated, and a reduced shard is this rank's own: values stay finite,
    so that no step is skipped for an overflow and no norm is NaN. Nothing is allocated.

    Args:
        rank: This process's rank.
    """
    import torch.distributed as dist

    # Parameters have torch's names: engines pass them by keyword.
    def gather(output_tensor: torch.Tensor, input_tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            copies = output_tensor.numel() // max(input_tensor.numel(), 1)
            output_tensor.view(copies, -1).copy_(input_tensor.reshape(1, -1).expand(copies, -1))
        return originals["all_gather_into_tensor"](output_tensor, input_tensor, *args, **kwargs)

    def scatter(output: torch.Tensor, input: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            parts = input.numel() // max(output.numel(), 1)
            output.view(-1).copy_(input.view(parts, -1)[rank % parts])
        return originals["reduce_scatter_tensor"](output, input, *args, **kwargs)

    def gather_list(tensor_list: list[torch.Tensor], tensor: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        with torch.no_grad():
            for part in tensor_list:
                part.copy_(tensor)
        return originals["all_gather"](tensor_list, tensor, *args, **kwargs)

    replacements: Mapping[str, Any] = {
        "all_gather_into_tensor": gather,
        "reduce_scatter_tensor": scatter,
        "all_gather": gather_list,
    }
    originals = {name: getattr(dist, name) for name in replacements}
    for name, function in replacements.items():
        setattr(dist, name, function)
    try:
        yield
    finally:
        for name, function in originals.items():
            setattr(dist, name, function)
