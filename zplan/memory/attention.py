"""Which kernel a block's attention comes down to."""

from __future__ import annotations

from zplan.memory.activations.find import module_of
from zplan.spec import Attention, BlockSpec, Job, ModelSpec

_MASKS = (Attention.FLASH, Attention.SDPA, Attention.EAGER)
"""From no mask at all to one that is added to scores."""


ALWAYS_MASKED = frozenset({"falcon"})
"""Families that ask for a mask even where causal attention would do (``create_causal_mask(..., allow_is_causal_skip=False)``)."""


def kernel(attention: Attention, block: BlockSpec, seq_len: int) -> Attention:
    """The kernel that a block's attention comes down to.

    Without padding transformers passes sdpa no mask where plain causal attention will do, and on CUDA torch then picks flash
    attention; a window that is not longer than the sequence needs a mask (transformers ``masking_utils.py``,
    ``_ignore_causal_mask_sdpa``).
    """
    masked = module_of(block.implementation) in ALWAYS_MASKED
    if attention is Attention.SDPA and not masked and (block.sliding_window is None or seq_len < block.sliding_window):
        return Attention.FLASH
    return attention


def attention_of(model: ModelSpec, job: Job, seq_len: int) -> Attention:
    """Of the kernels that the kinds of blocks come down to, the one that needs most of a mask."""
    return max((kernel(job.attention, kind, seq_len) for kind in model.block_kinds), key=_MASKS.index)
