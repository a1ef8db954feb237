"""Records which storages live when, while a model runs on the meta device.

Every storage gets a number at birth; a log of births, deaths and marks is replayed afterwards, because what a storage
is (a weight's gradient, a block's input) is known only later.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.autograd.graph import Node
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter

ACCUMULATE = 2**64 - 1
"""Sequence number of AccumulateGrad nodes."""


@dataclass
class Event:
    """State after one operator."""

    live: frozenset[int]
    phase: str
    piece: int
    module: str
    ready: int
    """Weight gradients handed over so far, over all pieces."""
    op: str


@dataclass
class Log:
    """What a run left behind."""

    sizes: list[int] = field(default_factory=list)
    """Bytes of each storage, in order of birth."""
    born: list[tuple[str, int]] = field(default_factory=list)
    """(phase, piece) at birth."""
    events: list[Event] = field(default_factory=list)
    ready: list[tuple[str, int]] = field(default_factory=list)
    """(parameter name, storage of its gradient) in order of hand-over."""
    at_hooks: list[frozenset[int]] = field(default_factory=list)
    """What lives while each of them is handed over."""
    inputs: dict[int, int] = field(default_factory=dict)
    """Storage -> piece that takes it as input; ``BLOCK_INPUT`` of each block."""
    last_live: frozenset[int] = frozenset()
    """What outlives the forward pass of the whole model (before backward)."""
    cached_live: frozenset[int] = frozenset()
    """The same just before the autocast context ends; equal to ``last_live`` without autocast."""
    origin: list[str] = field(default_factory=list)
    """Operator, dtype and shape at birth, to read failures by."""


class Recorder(TorchDispatchMode):  # type: ignore[misc]
    """Counts storages on one device; ``ignore`` are storages that belong to nobody here (weights, token ids)."""

    def __init__(self, device: str) -> None:
        super().__init__()
        self.device = device
        self.log = Log()
        self.ids: dict[int, int] = {}
        self.live: set[int] = set()
        self.ignored: set[int] = set()
        self.phase = "forward"
        self.piece = 0
        self.stack: list[str] = []
        self.spans: list[tuple[int, int, str]] = []
        """(first, last) sequence numbers of autograd nodes made while a leaf module ran, and its name."""
        self.piece_starts: list[tuple[int, int]] = []
        self.rewrite: Callable[[Any, tuple[Any, ...], dict[str, Any]], Any] = lambda func, args, kwargs: NotImplemented
        self._keep: list[Any] = []

    def ignore(self, tensor: torch.Tensor) -> None:
        """Leaves a tensor's storage out of the account."""
        storage = tensor.untyped_storage()
        self._keep.append(storage)
        self.ignored.add(storage._cdata)

    def storage_id(self, tensor: torch.Tensor) -> int | None:
        """Returns the number of a tensor's storage, or None where it is not counted."""
        return self.ids.get(tensor.untyped_storage()._cdata)

    def _add(self, tensor: torch.Tensor, op: str) -> None:
        if tensor.device.type != self.device:
            return
        storage = tensor.untyped_storage()
        key = storage._cdata
        if key in self.ids or key in self.ignored:
            return
        uid = len(self.log.sizes)
        self.ids[key] = uid
        self.live.add(uid)
        self.log.sizes.append(storage.nbytes())
        self.log.born.append((self.phase, self.piece))
        self.log.origin.append(f"{op} {str(tensor.dtype)[6:]} {tuple(tensor.shape)}")
        weakref.finalize(storage, self._free, key, uid)

    def _free(self, key: int, uid: int) -> None:
        if self.ids.get(key) == uid:
            del self.ids[key]
        self.live.discard(uid)

    def _where(self) -> tuple[int, str]:
        """Returns the piece and the leaf module that run now."""
        if self.phase == "forward":
            return self.piece, self.stack[-1] if self.stack else ""
        node: Node | None = torch._C._current_autograd_node()
        number = ACCUMULATE if node is None else node._sequence_nr()
        piece, name = self.piece, ""
        if number < ACCUMULATE:
            piece = min(piece, next((own for first, own in reversed(self.piece_starts) if number >= first), 0))
            name = next((name for first, last, name in self.spans if first <= number < last), "")
        if torch.is_grad_enabled():  # a checkpointed block is being recomputed
            name = self.stack[-1] if self.stack else ""
        return piece, name

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        """Runs one operator and notes what is alive after it."""
        kwargs = kwargs or {}
        self.piece, module = self._where()
        out = self.rewrite(func, args, kwargs)
        if out is NotImplemented:
            out = func(*args, **kwargs)
        op = str(func)
        for value in tree_iter(out):
            if isinstance(value, torch.Tensor):
                self._add(value, op)
        self.log.events.append(Event(frozenset(self.live), self.phase, self.piece, module, len(self.log.ready), op))
        return out
