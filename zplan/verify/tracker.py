"""Live bytes of every storage, counted where torch dispatches its operators.

A :class:`Tracker` sees each operator's outputs, counts a storage once, follows ``UntypedStorage.resize_`` (FSDP frees that
way), looks inside tensor subclasses (DTensor runs its inner operators under the mode), and drops a storage when it is freed.
Device and host are told apart. It works the same on tensors with and without data.

What is not covered: memory that never becomes a tensor (scratch inside kernels, the caching allocator's rounding, contexts).
Temporaries of operators that are one kernel on CUDA and several Python operators elsewhere are left out on purpose.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from zplan.memory.moments import TermKey
from zplan.verify.undisturbed import CONCERNED, InPlace

_PIN = torch.ops.aten._pin_memory.default
_get_mode = torch._C._get_dispatch_mode
_FAKE = torch._C._TorchDispatchModeKey.FAKE


class LiveStorage:
    """One storage that is or was alive."""

    __slots__ = ("dtype", "host", "label", "op", "phase", "pinned", "ref", "shape", "size")

    def __init__(self, tensor: torch.Tensor, size: int, label: str, phase: str, op: object) -> None:
        self.size = size
        self.label = label
        """Term key: what created it, or what it was found to be."""
        self.phase = phase
        """Phase in which it was created."""
        self.shape = tensor.shape
        """Of the first tensor that was seen on it."""
        self.dtype = tensor.dtype
        self.op = op
        self.host = False
        self.pinned = False
        self.ref: weakref.ref[Any] | None = None


@dataclass(frozen=True, slots=True)
class LiveTensor:
    """One line of a peak's inventory."""

    size_bytes: int
    label: str
    shape: tuple[int, ...]
    dtype: str
    phase: str
    op: str


@dataclass(frozen=True, slots=True)
class PhasePeak:
    """What a phase held at its peak."""

    device_bytes: int
    host_bytes: int
    live: tuple[LiveTensor, ...]
    """Device storages alive at the device's peak; empty unless asked for."""

    @property
    def terms(self) -> dict[str, int]:
        """Term key -> bytes, summing to ``device_bytes`` when the inventory was asked for."""
        sums: dict[str, int] = {}
        for item in self.live:
            sums[item.label] = sums.get(item.label, 0) + item.size_bytes
        return sums


class _StorageRef(weakref.ref):  # type: ignore[type-arg]
    """A weak reference that knows its storage's key: cheaper than ``weakref.finalize``."""

    __slots__ = ("key",)
    key: int


class Tracker(TorchDispatchMode):  # type: ignore[misc]
    """Counts live bytes by storage; a context manager.

    Args:
        device: Device type that stands for the GPU: ``cuda``, ``cpu`` in tests with real tensors, ``meta`` without data.
        host: Device type that stands for the host, or None where host and device cannot be told apart.
        execute: What runs an operator; None runs the operator itself.
        classify: Gives a new storage its label, from the tensor, the operator and the current label.
    """

    def __init__(
        self,
        device: str,
        host: str | None = None,
        execute: Callable[..., Any] | None = None,
        classify: Callable[[torch.Tensor, Any, str, str], str] | None = None,
    ) -> None:
        super().__init__()
        self.device = device
        self.host = host
        self.phase = ""
        self.label = TermKey.UNEXPLAINED
        """Label of storages that are created from now on."""
        self.as_host = False
        """Count new device storages as the host's: a model that is built on the host and moved later."""
        self._execute = execute
        self._classify = classify
        self._live: dict[int, LiveStorage] = {}
        self._bytes = [0, 0]
        self._peak = [0, 0]
        self._log: list[tuple[LiveStorage, int]] = []
        self._start: list[tuple[LiveStorage, int]] = []
        self._peak_at = 0
        self._resize: Callable[..., Any] | None = None
        self._views: dict[int, bool] = {}
        """By an operator's ``id``: torch makes each once, and to hash one is a call into Python."""
        self._fake: Any = None
        self._in_place: InPlace | None = None
        """The fake mode that was active when counting began: inside another one, nothing is real."""

    @property
    def device_bytes(self) -> int:
        """Live bytes on the device now."""
        return self._bytes[0]

    @property
    def host_bytes(self) -> int:
        """Live bytes on the host now."""
        return self._bytes[1]

    @property
    def pinned_bytes(self) -> int:
        """Live bytes of host storages that were pinned."""
        return sum(entry.size for entry in self._live.values() if entry.host and entry.pinned)

    def storages(self) -> Iterable[LiveStorage]:
        """All live storages, of device and host."""
        return self._live.values()

    # -- phases ------------------------------------------------------------------------------------------------------

    def begin(self, phase: str, label: str) -> None:
        """Start a phase: its peak is at least what is live now."""
        self.phase, self.label = phase, label
        self._peak = list(self._bytes)
        self._log.clear()
        self._peak_at = 0
        self._start = [(entry, entry.size) for entry in self._live.values() if not entry.host]

    def end(self, inventory: bool = True) -> PhasePeak:
        """Finish a phase.

        Args:
            inventory: Whether to replay the phase to find what was alive at its peak.

        Returns:
            The peaks since :meth:`begin`, in bytes.
        """
        live = tuple(self._replay()) if inventory else ()
        self._log.clear()
        self._start = []
        return PhasePeak(self._peak[0], self._peak[1], live)

    def _replay(self) -> Iterator[LiveTensor]:
        sizes: dict[LiveStorage, int] = dict(self._start)
        for entry, change in self._log[: self._peak_at]:
            sizes[entry] = sizes.get(entry, 0) + change
        for entry, size in sizes.items():
            if size:
                name = getattr(entry.op, "__name__", "") or str(entry.op or "")
                yield LiveTensor(size, entry.label, tuple(entry.shape), str(entry.dtype), entry.phase, name)

    # -- storages ----------------------------------------------------------------------------------------------------

    @contextmanager
    def creating(self, label: str) -> Iterator[None]:
        """Give storages that are created inside this block ``label``."""
        before, self.label = self.label, label
        try:
            yield
        finally:
            self.label = before

    def adopt(self, tensor: torch.Tensor, label: str, host: bool | None = None) -> None:
        """Count a tensor that was made before the tracker ran, or give a counted one another label or place.

        Args:
            tensor: Any tensor on the tracked device or host.
            label: Term key.
            host: True or False moves it to the host's or the device's account.
        """
        entry = self.entry(tensor)
        if entry is None:
            return
        entry.label = label
        if host is not None and host != entry.host:
            self._change(entry, -entry.size)
            entry.host = host
            self._change(entry, entry.size)

    def entry(self, tensor: torch.Tensor) -> LiveStorage | None:
        """The account of a tensor's storage, opened when it has none; None for other devices."""
        inner = getattr(tensor, "_local_tensor", tensor)
        self._see(inner, None)
        return self._live.get(inner.untyped_storage()._cdata)

    def _see(self, tensor: torch.Tensor, op: object) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata
        entry = self._live.get(key)
        if entry is None:
            self._open(tensor, storage, key, op)
        elif entry.size != (size := storage.nbytes()):
            change = size - entry.size
            entry.size = size
            self._change(entry, change)

    def _open(self, tensor: torch.Tensor, storage: torch.UntypedStorage, key: int, op: object) -> None:
        kind = tensor.device.type
        if kind != self.device and kind != self.host:  # noqa: PLR1714
            return
        size = storage.nbytes()
        label = self.label
        if self._classify is not None:
            label = self._classify(tensor, op, self.phase, label)
        entry = LiveStorage(tensor, size, label, self.phase, op)
        entry.host = self.as_host or kind != self.device
        entry.pinned = op is _PIN
        ref = _StorageRef(storage, self._close)
        ref.key = key
        entry.ref = ref
        self._live[key] = entry
        self._change(entry, size)

    def _close(self, ref: Any) -> None:
        entry = self._live.pop(ref.key, None)
        if entry is not None:
            self._change(entry, -entry.size)

    def _change(self, entry: LiveStorage, change: int) -> None:
        if entry.host:
            total = self._bytes[1] = self._bytes[1] + change
            self._peak[1] = max(self._peak[1], total)
            return
        self._log.append((entry, change))
        total = self._bytes[0] = self._bytes[0] + change
        if total > self._peak[0]:
            self._peak[0] = total
            self._peak_at = len(self._log)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # torch would wrap __torch_dispatch__ to keep its compiler out of it: there is none here, and the wrapper costs time.
        return False

    # -- dispatch ----------------------------------------------------------------------------------------------------

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run one operator and look at what it returns."""
        number = id(func)
        is_view = self._views.get(number)
        if is_view is None:
            is_view = self._views[number] = bool(func.is_view)
        if is_view and not types:
            # A view has the storage of a tensor that was seen before.
            return func(*args, **kwargs) if kwargs else func(*args)
        if _get_mode(_FAKE) is not self._fake:
            # Shapes are being worked out inside a fake mode of torch's own (DTensor does): nothing is allocated.
            return func(*args, **(kwargs or {}))
        if types:
            for kind in types:
                # A subclass such as DTensor goes first; its inner operators come back here.
                if kind is not torch.Tensor and hasattr(kind, "__tensor_flatten__"):
                    return NotImplemented
        execute, in_place = self._execute, self._in_place
        if in_place is not None and number in CONCERNED:
            out = in_place(func, args, kwargs or {})
            if out is not NotImplemented:
                self._look(out, func)
                return out
        out = func(*args, **(kwargs or {})) if execute is None else execute(func, args, kwargs or {})
        self._look(out, func)
        return out

    def _look(self, out: Any, op: object) -> None:
        if isinstance(out, torch.Tensor):
            self._see(out, op)
        elif isinstance(out, (tuple, list)):
            for item in out:
                self._look(item, op)

    def __enter__(self) -> Tracker:
        """Start counting, and follow storages that are resized from Python."""
        self._fake = _get_mode(_FAKE)
        self._in_place = InPlace(self.device)
        original = self._resize = torch.UntypedStorage.resize_
        live, change = self._live, self._change

        def resize(storage: torch.UntypedStorage, size: int) -> Any:
            result = original(storage, size)
            entry = live.get(storage._cdata)
            if entry is not None and entry.size != size:
                delta = size - entry.size
                entry.size = size
                change(entry, delta)
            return result

        torch.UntypedStorage.resize_ = resize
        super().__enter__()
        return self

    def __exit__(self, *exc: Any) -> None:
        """Stop counting."""
        torch.UntypedStorage.resize_ = self._resize
        super().__exit__(*exc)
