"""Runs operators on tensors without data: "meta" stands for the GPU, untouched host memory for the host.

Three things differ from plain torch. Questions about values that the engines ask (overflow flags, norms) get a stated answer.
Copies between device and host only make tensors. Operators on large host tensors make their outputs in memory that is
reserved but never touched, so that a step with offloaded state runs on a machine that is far smaller than the job's.
"""

from __future__ import annotations

import mmap
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from operator import attrgetter
from typing import Any

import torch

from zplan.verify.dryrun.autocast import install
from zplan.verify.dryrun.shapes import key_of, make, recipe_of

aten = torch.ops.aten

LARGE_NUMEL = 1 << 16
"""Host tensors with more elements than this are never read or written."""
_MAP_NORESERVE = 0x4000

_REAL_ON_HOST = frozenset(
    {
        "set_",
        "resize_",
        "detach_",
        "requires_grad_",
        "squeeze_",
        "unsqueeze_",
        "transpose_",
        "t_",
        "as_strided_",
        "rename_",
    }
)
"""In-place operators that change what a tensor says of itself, not its data."""

_DIM, _NUMEL = torch.Tensor.dim, torch.Tensor.numel
_DTYPE, _IS_META = attrgetter("dtype"), attrgetter("is_meta")

_ANSWERS: dict[bool, float | int] = {True: 1.0, False: 0}


def reserved_host(shape: torch.Size | tuple[int, ...], dtype: torch.dtype) -> torch.Tensor:
    """A host tensor whose pages are never touched, of any size.

    Args:
        shape: Its shape; the result is contiguous.
        dtype: Its number format.

    Returns:
        A CPU tensor over an anonymous mapping that the kernel does not count against its limit.
    """
    size = torch.Size(shape)
    if size.numel() <= LARGE_NUMEL:
        return torch.empty(size, dtype=dtype, device="cpu")
    length = size.numel() * dtype.itemsize
    pages = mmap.mmap(-1, length, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _MAP_NORESERVE)
    return torch.frombuffer(pages, dtype=dtype, count=size.numel()).view(size)


class Ghost:
    """What a :class:`~zplan.verify.tracker.Tracker` executes operators with in a dry run."""

    def __init__(self) -> None:
        self.host_in_use = False
        """Whether large host tensors exist: only then are operands looked at."""
        self.pinned: weakref.WeakSet[Any] = weakref.WeakSet()
        """Storages of host tensors that an engine pinned."""
        self._kinds: dict[int, str] = {}
        self._shapes: dict[Any, Any] = {}
        special = {
            aten._local_scalar_dense.default: self._read,
            aten._to_copy.default: self._to_copy,
            aten.copy_.default: self._copy,
            aten.equal.default: self._equal,
            aten._grouped_mm.default: grouped_mm,
            aten.cat.default: self._cat,
            aten._pin_memory.default: self._pin,
            aten.is_pinned.default: self._is_pinned,
        }
        self._special = {id(func): run for func, run in special.items()}

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one operator."""
        special = self._special.get(id(func))
        if special is not None:
            return special(func, args, kwargs)
        return self._run(func, args, kwargs)

    def _run(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        kind = self._kinds.get(id(func))
        if kind is None:
            kind = self._kinds[id(func)] = _kind(func)
        if kind == "view":
            return func(*args, **kwargs)
        if self.host_in_use or "device" in kwargs:
            return self._maybe_host(func, kind, args, kwargs)
        if kind == "new":
            return self._shaped(func, args, kwargs)
        return func(*args, **kwargs)

    def _shaped(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Blocks of a model are alike: the shape of an operator's output is worked out once and remembered."""
        key = key_of(func, args, kwargs)
        known = self._shapes.get(key) if key is not None else None
        if known is None:
            out = func(*args, **kwargs)
            if key is not None:
                self._shapes[key] = recipe_of(out, args) or False
            return out
        if known is False:
            return func(*args, **kwargs)
        if isinstance(known, tuple):
            return tuple(None if item is None else make(item) for item in known)
        return make(known)

    # -- values and copies -------------------------------------------------------------------------------------------

    def _read(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if tensor.device.type != "meta":
            return func(*args, **kwargs)
        if tensor.dtype == torch.bool:
            return False
        return _ANSWERS[tensor.dtype.is_floating_point]

    def _cat(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Flat tensors joined: as many as there are ranks, so that only lengths are looked at."""
        parts = args[0]
        flat = all(map(_IS_META, parts)) and set(map(_DIM, parts)) == {1} and len(set(map(_DTYPE, parts))) == 1
        if not flat or kwargs or len(args) > 1:
            return self._run(func, args, kwargs)
        return torch.empty(sum(map(_NUMEL, parts)), dtype=parts[0].dtype, device="meta")

    def _equal(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return True

    def _pin(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """``tensor.pin_memory()`` copies into a new page-locked tensor."""
        out = (
            torch.empty_strided(args[0].shape, args[0].stride(), dtype=args[0].dtype)
            if args[0].numel() <= LARGE_NUMEL
            else (reserved_host(args[0].shape, args[0].dtype))
        )
        self.pinned.add(out.untyped_storage())
        return out

    def _is_pinned(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return args[0].untyped_storage() in self.pinned

    def _to_copy(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        source = args[0]
        target = kwargs.get("device")
        kind = source.device.type if target is None else torch.device(target).type
        if kind == "cpu" and (source.device.type == "meta" or source.numel() > LARGE_NUMEL):
            self.host_in_use = self.host_in_use or source.numel() > LARGE_NUMEL
            out = reserved_host(source.shape, kwargs.get("dtype") or source.dtype)
            if source.device.type == "meta" and source.numel() <= LARGE_NUMEL:
                out.zero_()
            return out
        if kind == "meta" and source.device.type == "cpu":
            return torch.empty_like(source, dtype=kwargs.get("dtype"), device="meta")
        return func(*args, **kwargs)

    def _copy(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target, source = args[0], args[1]
        if target.device.type == "cpu" and (source.device.type == "meta" or target.numel() > LARGE_NUMEL):
            return target
        return func(*args, **kwargs)

    # -- the host ----------------------------------------------------------------------------------------------------

    def _maybe_host(self, func: Any, kind: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = kwargs.get("device")
        if device is not None:
            if torch.device(device).type == "cpu":
                return self._make(func, args, kwargs)
            return func(*args, **kwargs)
        if not _has_large_host(args):
            if func in _SIZED and not _tensors(args):
                return self._make(func, args, kwargs)
            return self._shaped(func, args, kwargs) if kind == "new" else func(*args, **kwargs)
        if kind == "real":
            return func(*args, **kwargs)
        if kind == "inplace":
            return _written(func, args, kwargs)
        return self._outputs(func, args, kwargs)

    def _make(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A factory on the host: untouched memory when the result is large."""
        on_meta = (
            {**kwargs, "device": "meta", "pin_memory": None} if "pin_memory" in kwargs else {**kwargs, "device": "meta"}
        )
        shape_only = func(*_to_meta(args), **on_meta)
        if shape_only.numel() <= LARGE_NUMEL:
            return func(*args, **kwargs)
        self.host_in_use = True
        return reserved_host(shape_only.shape, shape_only.dtype)

    def _outputs(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        out = func(*_to_meta(args), **{key: _to_meta(value) for key, value in kwargs.items()})
        return _from_meta(out)


def grouped_mm(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Matrix products of experts: CUDA takes every float format, one expert at a time where it is not bf16.

    torch works the shape out for bf16 alone.
    """
    dtype = args[0].dtype
    if dtype == torch.bfloat16:
        return func(*args, **kwargs)
    first, second = (item.to(torch.bfloat16) for item in args[:2])
    out = func(first, second, *args[2:], **kwargs)
    return torch.empty_strided(out.shape, out.stride(), dtype=dtype, device=out.device)


class FakeGhost:
    """The same for torch's own fake mode, which knows devices and copies but cannot be asked for values."""

    host_in_use = False

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one operator."""
        if func is aten._local_scalar_dense.default:
            tensor = args[0]
            if tensor.dtype == torch.bool:
                return False
            return _ANSWERS[tensor.dtype.is_floating_point]
        if func is aten.equal.default:
            return True
        if func is aten._grouped_mm.default:
            return grouped_mm(func, args, kwargs)
        return func(*args, **kwargs)


@contextmanager
def fake_cpu() -> Iterator[None]:
    """Tensors without data that say they are on the CPU, where autocast follows CUDA's lists."""
    from torch._subclasses.fake_tensor import FakeTensorMode

    install()
    with FakeTensorMode(allow_non_fake_inputs=True):
        yield


_SIZED = frozenset(
    {
        aten.empty.memory_format,
        aten.zeros.default,
        aten.ones.default,
        aten.full.default,
        aten.empty_strided.default,
        aten.randn.default,
    }
)


def _tensors(args: Any) -> bool:
    return any(isinstance(item, torch.Tensor) for item in args)


def _has_large_host(args: Any) -> bool:
    for item in args:
        if isinstance(item, torch.Tensor):
            if item.device.type == "cpu" and item.numel() > LARGE_NUMEL:
                return True
        elif isinstance(item, (list, tuple)) and _has_large_host(item):
            return True
    return False


def _kind(func: Any) -> str:
    """``view``, ``inplace``, ``new`` (makes new tensors), or ``real`` (changes or returns what it was given)."""
    space, name = func._schema.name.split("::")
    if func.is_view:
        return "view"
    if space != "aten" or name in _REAL_ON_HOST or name in _HIDDEN_VIEWS:
        return "real"
    if func._schema.is_mutable:
        return "inplace"
    if any(ret.alias_info is not None for ret in func._schema.returns):
        return "real"
    return "new"


_HIDDEN_VIEWS = frozenset({"_unsafe_view", "_reshape_alias", "lift_fresh", "_local_scalar_dense"})
"""Return what they were given without saying so."""


def _written(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an in-place or ``out=`` operator returns: the argument it wrote to."""
    schema = func._schema
    if not schema.returns:
        return None
    found = []
    for position, argument in enumerate(schema.arguments):
        if argument.alias_info is not None and argument.alias_info.is_write:
            value = kwargs[argument.name] if argument.name in kwargs else args[position]
            found.append(value)
    return found[0] if len(schema.returns) == 1 else tuple(found)


def _to_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        if value.device.type == "meta":
            return value
        return torch.empty_strided(value.size(), value.stride(), dtype=value.dtype, device="meta")
    if isinstance(value, (list, tuple)):
        return type(value)(_to_meta(item) for item in value) if not isinstance(value, torch.Size) else value
    if isinstance(value, torch.device):
        return torch.device("meta")
    return value


def _from_meta(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return reserved_host(value.shape, value.dtype)
    if isinstance(value, (list, tuple)):
        return type(value)(_from_meta(item) for item in value)
    return value
