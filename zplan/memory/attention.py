"""Which kernel a block's attention comes down to."""

from __future__ import annotations

from zplan.memory.activations.find import module_of
from zplan.spec import Attention, BlockSpec, ClusterSpec, Job, ModelSpec, Precision

_MASKS = (Attention.FLASH, Attention.MATH, Attention.SDPA, Attention.EAGER)
"""From no mask at all to one that is added to scores."""


ALWAYS_MASKED = frozenset({"falcon"})
"""Families that ask for a mask even where causal attention would do (``create_causal_mask(..., allow_is_causal_skip=False)``)."""


WITHOUT_SDPA = frozenset({"gemma2"})
"""Families that transformers runs with flash attention or their own code alone (soft caps inside the scores)."""


def kernel(attention: Attention, block: BlockSpec, seq_len: int) -> Attention:
    """The kernel that a block's attention comes down to.

    Without padding transformers passes sdpa no mask where plain causal attention will do, and on CUDA torch then picks flash
    attention; a window that is not longer than the sequence needs a mask (transformers ``masking_utils.py``,
    ``_ignore_causal_mask_sdpa``). With a mask torch runs memory-efficient attention whatever the card.
    """
    if attention not in (Attention.SDPA, Attention.MATH):
        return attention
    windowed = block.sliding_window is not None and seq_len >= block.sliding_window
    if windowed or module_of(block.implementation) in ALWAYS_MASKED:
        return Attention.SDPA
    return Attention.FLASH if attention is Attention.SDPA else Attention.MATH


def asked(job: Job) -> Attention:
    """What a job asks for: sdpa without its flash kernel where numbers have 32 bits (torch ``check_dtypes_low_precision``)."""
    return Attention.MATH if job.attention is Attention.SDPA and job.precision is Precision.FP32 else job.attention


def attention_of(model: ModelSpec, job: Job, seq_len: int) -> Attention:
    """Of the kernels that the kinds of blocks come down to, the one that needs most of a mask."""
    return max((kernel(job.attention, kind, seq_len) for kind in model.block_kinds), key=_MASKS.index)


def writes_scores(attention: Attention, block: BlockSpec, seq_len: int) -> bool:
    """Whether a block's attention writes out all scores: eager code, and torch's math kernel."""
    ran = kernel(attention, block, seq_len)
    return ran is Attention.EAGER or (ran is Attention.MATH and is_grouped(block))


def is_grouped(block: BlockSpec) -> bool:
    """Whether several heads of a block share keys and values."""
    sizes = dict(block.dims)
    return sizes.get("a") != sizes.get("k")


def has_flash(precision: Precision | None, cluster: ClusterSpec) -> bool:
    """Whether flash attention runs: on a card that has it, in 16 bits.

    Source: torch ``sdp_utils.cpp`` (``check_flash_attention_hardware_support``, ``check_dtypes_low_precision``); the flash-attn
    package asks for the same.
    """
    if precision is Precision.FP32 or cluster.gpu is None:
        return precision is not Precision.FP32
    return cluster.gpu.flash_attention and not {"bf16", "fp16"} <= set(cluster.gpu.lacks)


def runs(named: Attention | None, precision: Precision, model: ModelSpec, cluster: ClusterSpec) -> Attention:
    """What runs where a user named some attention or none: flash attention, or torch's sdpa without it where there is none."""
    if named not in (None, Attention.SDPA):
        return named
    if has_flash(precision, cluster):
        return named or Attention.FLASH
    own_code = module_of(model.block_kinds[0].implementation) in WITHOUT_SDPA
    return Attention.EAGER if own_code else Attention.MATH
