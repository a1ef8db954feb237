"""Runs operators on tensors without data: "meta" stands for the GPU, untouched host memory for the host.

Three things differ from plain torch. Questions about values that the engines ask (overflow flags, norms) get a stated answer.
Copies between device and host only make tensors. Operators on large host tensors make their outputs in memory that is
reserved but never touched, so that a step with offloaded state runs on a machine that is far smaller than the job's.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch

from zplan.verify.dryrun.autocast import install

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
        self._plain: dict[Any, str] = {}
        self._cache: dict[Any, Any] = {}
        self._special = {
            aten._local_scalar_dense.default: self._read,
            aten._to_copy.default: self._to_copy,
            aten.copy_.default: self._copy,
            aten.equal.default: self._equal,
        }

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one operator."""
        special = self._special.get(func)
        if special is not None:
            return special(func, args, kwargs)
        if self.host_in_use or kwargs.get("device") is not None:
            return self._maybe_host(func, args, kwargs)
        return func(*args, **kwargs)

    # -- values and copies -------------------------------------------------------------------------------------------

    def _read(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        tensor = args[0]
        if tensor.device.type != "meta":
            return func(*args, **kwargs)
        if tensor.dtype == torch.bool:
            return False
        return _ANSWERS[tensor.dtype.is_floating_point]

    def _equal(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return True

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

    def _maybe_host(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        device = kwargs.get("device")
        if device is not None:
            if torch.device(device).type == "cpu":
                return self._make(func, args, kwargs)
            return func(*args, **kwargs)
        if not _has_large_host(args):
            if func in _SIZED and not _tensors(args):
                return self._make(func, args, kwargs)
            return func(*args, **kwargs)
        kind = self._plain.get(func)
        if kind is None:
            kind = self._plain[func] = _kind(func)
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


class FakeGhost:
    """The same for torch's own fake mode, which knows devices and copies but cannot be asked for values."""

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run one operator."""
        if func is aten._local_scalar_dense.default:
            tensor = args[0]
            if tensor.dtype == torch.bool:
                return False
            return _ANSWERS[tensor.dtype.is_floating_point]
        if func is aten.equal.default:
            return True
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
    name = func._schema.name.split("::")[-1]
    if name in _REAL_ON_HOST or func.is_view or func._schema.name.startswith("c10d::"):
        return "real"
    if func._schema.is_mutable:
        return "inplace"
    # alias, lift_fresh and the like return what they were given
    if any(ret.alias_info is not None for ret in func._schema.returns):
        return "real"
    return "new"


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
