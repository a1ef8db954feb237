"""Offload to NVMe without a disk: a stand-in for DeepSpeed's ``async_io`` handle that counts what would be written.

The swappers, their buffers and their decisions what to swap are DeepSpeed's own code.
"""

from __future__ import annotations

import importlib
import weakref
from typing import Any, ClassVar

import torch

from zplan.verify.dryrun.patching import replace

_SWAPPERS = ("partitioned_optimizer_swapper", "pipelined_optimizer_swapper", "partitioned_param_swapper")
FILES: dict[str, int] = {}
"""Path -> bytes of each file that was written."""


class Handle:
    """What ``aio_handle`` offers the swappers."""

    locked: ClassVar[weakref.WeakSet[Any]] = weakref.WeakSet()
    """Storages of buffers that were locked into memory: not by torch, so they are not rounded up."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.pending = 0

    def new_cpu_locked_tensor(self, numel: int, example: torch.Tensor) -> torch.Tensor:
        """A page-aligned buffer of exactly this size."""
        buffer = torch.empty(numel, dtype=example.dtype, device="cpu")
        self.locked.add(buffer.untyped_storage())
        return buffer

    def free_cpu_locked_tensor(self, buffer: torch.Tensor) -> None:
        """Garbage collection does it here."""

    def is_pinned(self, tensor: torch.Tensor) -> bool:
        """Whether a tensor lies in such a buffer."""
        return tensor.untyped_storage() in self.locked

    def async_pwrite(self, buffer: torch.Tensor, path: str, offset: int) -> int:
        """Counts the file."""
        FILES[path] = max(FILES.get(path, 0), offset + buffer.numel() * buffer.element_size())
        self.pending += 1
        return 0

    def async_pread(self, buffer: torch.Tensor, path: str, offset: int) -> int:
        """Reads nothing."""
        self.pending += 1
        return 0

    def wait(self) -> int:
        """How many operations were waiting."""
        done, self.pending = self.pending, 0
        return done


class _Builder:
    aio_handle = Handle

    def load(self, verbose: bool = True) -> type[_Builder]:
        """The extension's module."""
        return type(self)


def install() -> None:
    """Put the stand-in where DeepSpeed would load its extension."""
    FILES.clear()
    for name in _SWAPPERS:
        replace(importlib.import_module(f"deepspeed.runtime.swap_tensor.{name}"), "AsyncIOBuilder", _Builder)
