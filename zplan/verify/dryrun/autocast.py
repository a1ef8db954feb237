"""CUDA's autocast policy on the CPU's autocast key, for tensors that stand for CUDA's; and autocast that is off on "meta".

Autocast decides by device type, and its lists differ: on CUDA, norms, powers and softmax run in fp32, on the CPU they do not.
Source: ``aten/src/ATen/autocast_mode.h`` of torch 2.13 (``AT_FORALL_FP32``, ``AT_FORALL_FP32_SET_OPT_DTYPE``,
``AT_FORALL_LOWER_PRECISION_FP``); only operators that decoder models use are listed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from zplan.verify.dryrun.patching import patched

aten = torch.ops.aten

FP32 = (
    aten.exp.default,
    aten.log.default,
    aten.reciprocal.default,
    aten.rsqrt.default,
    aten.pow.Tensor_Scalar,
    aten.pow.Tensor_Tensor,
    aten.pow.Scalar,
    aten.softplus.default,
    aten.layer_norm.default,
    aten.native_layer_norm.default,
    aten.rms_norm.default,
    aten.group_norm.default,
    aten.nll_loss.default,
    aten.logsumexp.default,
)
"""Every floating-point argument is cast to fp32."""

FP32_RESULT = (
    (aten.softmax.int, 2),
    (aten.log_softmax.int, 2),
    (aten.cumsum.default, 2),
    (aten.sum.dim_IntList, None),
    (aten.sum.default, None),
)
"""The result is fp32 through the operator's own ``dtype`` argument: no cast copy. With the argument's position, or None when
it is keyword-only."""

LOWER = (aten.mv.default, aten.addmv.default, aten.addr.default)
"""16 bits on CUDA, untouched by the CPU's list."""

_library: Any = None


def install() -> None:
    """Register the policy; for the life of the process."""
    global _library  # noqa: PLW0603
    if _library is not None:
        return
    _library = torch.library.Library("aten", "IMPL")
    for op in FP32:
        _register(op, _casting(op, lambda: torch.float32))
    for op in LOWER:
        _register(op, _casting(op, lambda: torch.get_autocast_dtype("cpu")))
    for op, position in FP32_RESULT:
        _register(op, _with_dtype(op, position))


def _register(op: Any, function: Callable[..., Any]) -> None:
    name = op._schema.name.removeprefix("aten::")
    overload = op._schema.overload_name
    _library.impl(f"{name}.{overload}" if overload else name, function, "AutocastCPU", allow_override=True)


def _below() -> Any:
    keys = torch._C.DispatchKeySet(torch._C.DispatchKey.AutocastCPU)
    return torch._C._ExcludeDispatchKeyGuard(keys)


def _casting(op: Any, dtype: Callable[[], torch.dtype]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        wanted = dtype()
        with _below():
            return op(
                *(_cast(item, wanted) for item in args), **{key: _cast(item, wanted) for key, item in kwargs.items()}
            )

    return run


def _cast(item: Any, dtype: torch.dtype) -> Any:
    if isinstance(item, torch.Tensor) and item.is_floating_point() and item.dtype not in (dtype, torch.float64):
        return item.to(dtype)
    return item


def _with_dtype(op: Any, position: int | None) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        with _below():
            given = kwargs.get("dtype") if position is None or len(args) <= position else args[position]
            if given is None and args[0].is_floating_point():
                kwargs = {**kwargs, "dtype": torch.float32}
            return op(*args, **kwargs)

    return run


@contextmanager
def off_on_meta() -> Iterator[None]:
    """Lets model code ask for autocast on "meta", which has none: what it switches off there is off already.

    peft adds the adapters of stacked experts to their weights under ``torch.autocast(device, enabled=False)``.
    """
    original = torch.autocast.__init__

    def init(self: Any, device_type: str, *args: Any, **kwargs: Any) -> None:
        original(self, "cpu" if device_type == "meta" else device_type, *args, **kwargs)

    with patched(torch.autocast, "__init__", init):
        yield
