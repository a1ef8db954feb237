"""Memory of a GPU: the allocator's counters by phase, and what the driver shows, with its causes as differences."""

from __future__ import annotations

import ctypes
import os
from typing import Any

import torch

from zplan.memory.moments import TermKey
from zplan.verify.dryrun.bench import PhaseMeter
from zplan.verify.tracker import Tracker

_MEASURED, _ATTRIBUTED = 1, 2
"""Steps: the first makes the optimizer's states, the second is measured unwatched, the third is watched."""


class Driver:
    """Memory in use on one card as NVML reports it (what nvidia-smi shows), through the driver's own library.

    To be made before the process's first CUDA call, so that the context shows as a difference.

    Args:
        local_rank: Which of the visible cards.
    """

    def __init__(self, local_rank: int) -> None:
        self.before_bytes: int | None = None
        """In use before this process touched the card."""
        self._library: Any = None
        self._handle = ctypes.c_void_p()
        try:
            library = ctypes.CDLL("libnvidia-ml.so.1")
        except OSError:
            return
        if library.nvmlInit_v2() == 0 and self._find(library, local_rank) == 0:
            self._library = library
        self.before_bytes = self.used_bytes()

    def _find(self, library: Any, local_rank: int) -> int:
        visible = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",") if name.strip()]
        name = visible[local_rank] if local_rank < len(visible) else str(local_rank)
        if name.isdigit():
            return int(library.nvmlDeviceGetHandleByIndex_v2(ctypes.c_uint(int(name)), ctypes.byref(self._handle)))
        return int(library.nvmlDeviceGetHandleByUUID(name.encode(), ctypes.byref(self._handle)))

    def used_bytes(self) -> int | None:
        """Bytes in use by all processes on the card; None without NVML."""

        class Memory(ctypes.Structure):
            _fields_ = (("total", ctypes.c_ulonglong), ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong))

        if self._library is None:
            return None
        memory = Memory()
        if self._library.nvmlDeviceGetMemoryInfo(self._handle, ctypes.byref(memory)) != 0:
            return None
        return int(memory.used)


def limit_memory(limit_bytes: int) -> None:
    """Let the allocator of this process's card take no more than a number of bytes."""
    total = torch.cuda.get_device_properties(torch.cuda.current_device()).total_memory
    torch.cuda.set_per_process_memory_fraction(min(1.0, limit_bytes / total))


def warm_up() -> None:
    """Create the context, and the workspaces that cuBLAS keeps for the forward and for autograd's thread."""
    for dtype in (torch.bfloat16, torch.float32):
        left = torch.ones(64, 64, device="cuda", dtype=dtype, requires_grad=True)
        (left @ left).sum().backward()
    torch.cuda.synchronize()


class CudaMeter:
    """Keeps the allocator's peaks of the measured step; a context manager.

    Args:
        tracker: Looks at the other steps.
        counted: The tracker's meter.
        driver: Where the driver's figures come from.
    """

    def __init__(self, tracker: Tracker, counted: PhaseMeter, driver: Driver) -> None:
        self._tracker = tracker
        self._counted = counted
        self._driver = driver
        self._step = -1
        self._watching = False
        self._phases: dict[str, int] = {}
        self._reserved = 0
        self._steady = 0
        self._used: int | None = None
        self._before = driver.before_bytes
        self._context: int | None = None
        self._group: int | None = None
        self._baseline = 0
        self._baseline_reserved = 0
        self._retries = 0
        self._retries_seen = 0

    def __enter__(self) -> CudaMeter:
        """Warm up, take the baseline, start watching."""
        import torch.distributed as dist

        warm_up()
        self._baseline = torch.cuda.memory_allocated()
        self._baseline_reserved = torch.cuda.memory_reserved()
        self._context = self._beyond_reserved()
        if dist.is_initialized() and dist.get_backend() == "nccl":
            # The first collective makes the communicator and its buffers.
            dist.all_reduce(torch.ones(1, device="cuda"))
            torch.cuda.synchronize()
            now = self._beyond_reserved()
            self._group = None if now is None or self._context is None else now - self._context
        self._watch(True)
        return self

    def __exit__(self, *exc: Any) -> None:
        """Stop watching."""
        self._watch(False)

    def _watch(self, on: bool) -> None:
        if on and not self._watching:
            self._tracker.__enter__()
        elif self._watching and not on:
            self._tracker.__exit__(None, None, None)
        self._watching = on

    def _beyond_reserved(self) -> int | None:
        """What the driver shows for this process beyond what the allocator holds."""
        used = self._driver.used_bytes()
        if used is None or self._before is None:
            return None
        return used - self._before - int(torch.cuda.memory_reserved())

    @property
    def _measuring(self) -> bool:
        return self._step in (-1, _MEASURED)

    def new_step(self) -> None:
        """A step starts."""
        self._step += 1
        self._watch(self._step != _MEASURED)
        if self._step == _MEASURED:
            torch.cuda.synchronize()
            self._retries = torch.cuda.memory_stats().get("num_alloc_retries", 0)
        if self._step == _ATTRIBUTED:
            self._counted.new_step()

    def begin(self, phase: str) -> None:
        """A phase starts."""
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        if self._watching:
            self._counted.begin(phase)

    def end(self, phase: str) -> None:
        """A phase ends."""
        torch.cuda.synchronize()
        if self._measuring:
            peak = torch.cuda.max_memory_allocated() - self._baseline
            self._phases[phase] = max(peak, self._phases.get(phase, 0))
            if self._step == _MEASURED:
                self._reserved = max(self._reserved, torch.cuda.max_memory_reserved() - self._baseline_reserved)
                self._steady = torch.cuda.memory_allocated() - self._baseline
                used = self._driver.used_bytes()
                if used is not None and self._before is not None:
                    self._used = max(self._used or 0, used - self._before)
                if phase == "step":
                    self._retries_seen = torch.cuda.memory_stats().get("num_alloc_retries", 0) - self._retries
        if self._watching:
            self._counted.end(phase)

    def result(self) -> dict[str, Any]:
        """What was measured, in the form of a dry run's result."""
        phases = dict(self._phases)
        terms = {}
        for phase, peak in self._counted.peaks.items():
            named = dict(peak.terms)
            rest = phases.get(phase, 0) - sum(named.values())
            if rest:
                named[TermKey.UNEXPLAINED] = named.get(TermKey.UNEXPLAINED, 0) + rest
            terms[phase] = named
        beyond = {"cublas_workspace": self._baseline, "allocation_retries": self._retries_seen}
        if self._context is not None:
            beyond[TermKey.CUDA_CONTEXT] = self._context
        if self._group is not None:
            beyond[TermKey.NCCL] = self._group
        return {
            **phases,
            "steady": self._steady,
            "peak": max(phases["forward"], phases["backward"], phases["step"]),
            "host": self._tracker.host_bytes,
            "host_peak": self._counted.host_peak,
            "reserved": self._reserved,
            "device": self._used,
            "terms": terms,
            "beyond": beyond,
        }
