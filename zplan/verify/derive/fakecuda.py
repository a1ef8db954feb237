"""Tensors without data that behave like CUDA's: fused dropout, CUDA's autocast lists, CUDA's attention kernels.

Without autocast they live on torch's meta device, which computes like CUDA where the CPU differs (norms keep
statistics in fp32). Autocast has no policy for meta; there they are fake CPU tensors with CUDA's policy.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
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
        yield stack.enter_context(attention_as_on_cuda(attention.value))
