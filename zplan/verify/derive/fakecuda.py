"""Tensors without data that behave like CUDA's: fused dropout, CUDA's autocast lists, CUDA's attention kernels.

Without autocast they live on torch's meta device, which computes like CUDA where the CPU differs (norms keep
statistics in fp32). Autocast has no policy for meta; there they are fake CPU tensors with CUDA's policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from zplan.memory.activations.base import ComputeMode
from zplan.spec import Attention
from zplan.verify.dryrun import autocast
from zplan.verify.dryrun.attention import attention_as_on_cuda


def device_of(mode: ComputeMode) -> str:
    """Returns the device type of the tensors."""
    return "cpu" if mode in (ComputeMode.AUTOCAST, ComputeMode.MIXED) else "meta"


@contextmanager
def like_cuda(mode: ComputeMode, attention: Attention) -> Iterator[str]:
    """Runs what is inside on such tensors.

    Yields:
        The ``attn_implementation`` to give to transformers.
    """
    from torch._subclasses.fake_tensor import FakeTensorMode

    with ExitStack() as stack:
        if mode in (ComputeMode.AUTOCAST, ComputeMode.MIXED):
            autocast.install()
            stack.enter_context(FakeTensorMode(allow_non_fake_inputs=True))
        else:
            stack.enter_context(autocast.off_on_meta())
        if mode in (ComputeMode.AUTOCAST, ComputeMode.FP32):
            # Without data torch's grouped product takes 16 bits alone; transformers' own form holds the same tensors.
            stack.enter_context(mock.patch("transformers.integrations.moe._can_use_grouped_mm", lambda *args: False))
        if mode is ComputeMode.WIDE:
            stack.enter_context(mock.patch("torch.nn.functional.linear", _stage3_linear()))
        yield stack.enter_context(attention_as_on_cuda(attention.value))


def _stage3_linear() -> Callable[..., Any]:
    """DeepSpeed's ``F.linear``, which chooses autocast decorators by the name of its device: "meta" has none."""
    from deepspeed.runtime.zero import linear

    class _Cpu:
        def device_name(self) -> str:
            return "cpu"

    linear.get_accelerator = _Cpu
    wrapped: Callable[..., Any] = linear.zero3_linear_wrap
    return wrapped
