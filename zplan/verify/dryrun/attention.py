"""Attention as CUDA runs it, for tensors without data: which kernel, and so what autograd keeps.

``flash``: no mask is ever built (flash-attn handles causality and windows itself), grouped heads are not repeated.
``sdpa``: transformers builds the masks that the model asks for, and the kernel is the one that torch picks on CUDA
(``aten/src/ATen/native/transformers/cuda/sdp_utils.cpp``): flash without a mask, in 16 bits, with equal head sizes up to 256;
memory-efficient otherwise, whose mask is converted to the query's dtype and kept for backward by each layer.
``math``: the same on cards that have no flash kernel (compute capability below 8.0): without a mask the math kernel, which holds
all scores in fp32, where heads are grouped, since memory-efficient attention takes equal head counts alone
(``check_batch_size_and_num_heads_dense``; huggingface/transformers#48633 saw it on a T4), memory-efficient attention otherwise.
``eager``: the model's own code, nothing replaced.

Head sizes that differ between queries and values (multi-head latent attention) go to the memory-efficient kernel in both.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import torch

from zplan.verify.dryrun.patching import moved

FLASH_HEAD_LIMIT = 256
"""Largest head size of the flash kernel (``check_head_dim_size_flash``)."""
FLASH_HEAD_STEP = 8
"""Head sizes are padded to a multiple of this before the flash kernel (``pad_last_dim`` in ``attention.cpp``)."""
MASK_ALIGNMENT = 8
"""Elements to which the memory-efficient kernel pads a mask's last dimension (``pad_bias``)."""


def flash(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout: float, scale: float | None
) -> torch.Tensor:
    """Causal flash attention on (batch, heads, tokens, head size), keeping what the CUDA kernel keeps."""
    size = query.shape[-1]
    excess = -size % FLASH_HEAD_STEP
    if excess:
        scale = size**-0.5 if scale is None else scale
        query, key, value = (torch.nn.functional.pad(item, (0, excess)) for item in (query, key, value))
    out = torch.ops.aten._scaled_dot_product_flash_attention(query, key, value, dropout, True, False, scale=scale)[0]
    return out[..., :size] if excess else out


def efficient(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None,
    dropout: float,
    causal: bool,
    scale: float | None,
) -> torch.Tensor:
    """Memory-efficient attention; a boolean mask becomes a tensor of the query's dtype, as torch converts it."""
    if mask is not None:
        if mask.dtype == torch.bool:
            mask = torch.where(mask, 0.0, torch.scalar_tensor(float("-inf"), dtype=query.dtype, device=mask.device))
        columns = mask.shape[-1]
        if columns % MASK_ALIGNMENT:
            mask = torch.nn.functional.pad(mask, (0, -columns % MASK_ALIGNMENT))[..., :columns]
        mask = mask.expand(query.shape[0], query.shape[1], query.shape[2], key.shape[2])
    needs_grad = query.requires_grad or key.requires_grad or value.requires_grad
    return torch.ops.aten._scaled_dot_product_efficient_attention(
        query, key, value, mask, needs_grad, dropout, causal, scale=scale
    )[0]


class _SafeSoftmax(torch.autograd.Function):  # type: ignore[misc]
    """``_safe_softmax`` (``attention.cpp``), whose inner tensors a dispatch mode does not see."""

    @staticmethod
    def forward(ctx: Any, scores: torch.Tensor) -> torch.Tensor:
        out = torch.softmax(scores, -1)
        masked = scores == float("-inf")
        rows = torch.all(masked, -1, keepdim=True)
        result = torch.where(rows, torch.scalar_tensor(0.0, dtype=out.dtype, device=out.device), out)
        ctx.save_for_backward(result)
        return result

    @staticmethod
    def backward(ctx: Any, *grads: torch.Tensor) -> torch.Tensor:
        (result,) = ctx.saved_tensors
        return torch.ops.aten._softmax_backward_data(grads[0], result, -1, result.dtype)


def math(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, dropout: float, causal: bool, scale: float | None
) -> torch.Tensor:
    """The composite kernel, operator by operator: in fp32 whatever it is given (``_scaled_dot_product_attention_math``).

    Spelt out since under a dispatch mode torch adds the mask out of place, and hides what softmax needs. What has a name here has
    one there: it lives until the end. Autocast has done its part when sdpa gets here; the operators inside run without it.
    """
    device, dtype = query.device.type, query.dtype
    with nullcontext() if device == "meta" else torch.autocast(device, enabled=False):
        wide_query, wide_key, wide_value = query.float(), key.float(), value.float()
        factor = (query.shape[-1] ** -0.5 if scale is None else scale) ** 0.5
        scaled = wide_query * factor
        mask = None
        if causal:
            allowed = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool, device=query.device).tril()
            mask = torch.where(allowed, 0.0, torch.scalar_tensor(float("-inf"), device=query.device))
        keys, values = _repeat_heads(wide_key, query.shape[1]), _repeat_heads(wide_value, query.shape[1])
        scores = torch.matmul(scaled, keys.transpose(-2, -1) * factor)
        if mask is not None:
            scores.add_(mask)
        scores = _SafeSoftmax.apply(scores)
        if dropout > 0.0:
            scores = torch.nn.functional.dropout(scores, dropout, True)
        out, _ = torch.matmul(scores, values).to(dtype), scores.to(dtype)
        return out


def _takes_flash(query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> bool:
    return (
        query.dtype in (torch.bfloat16, torch.float16)
        and query.shape[-1] == key.shape[-1] == value.shape[-1] <= FLASH_HEAD_LIMIT
    )


def _autocast(*tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """What autocast does to the operands of attention."""
    if tensors[0].device.type == "meta" or not torch.is_autocast_enabled(tensors[0].device.type):
        return tensors
    dtype = torch.get_autocast_dtype(tensors[0].device.type)
    return tuple(tensor.to(dtype) for tensor in tensors)


def _repeat_heads(tensor: torch.Tensor, heads: int) -> torch.Tensor:
    times = heads // tensor.shape[1]
    return tensor if times == 1 else tensor.repeat_interleave(times, dim=1)


def cuda_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """``F.scaled_dot_product_attention`` with the kernel that CUDA would pick."""
    query, key, value = _autocast(query, key, value)
    if attn_mask is None and _takes_flash(query, key, value):
        return flash(query, key, value, dropout_p, scale)
    return old_cuda_sdpa(query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa)


def old_cuda_sdpa(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attn_mask: torch.Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """The same on a card that has no flash kernel."""
    query, key, value = _autocast(query, key, value)
    # Transformers asks for grouped heads without a mask alone (``use_gqa_in_sdpa``), and then repeats none itself.
    if enable_gqa and query.shape[1] != key.shape[1]:
        return math(query, key, value, dropout_p, is_causal, scale)
    return efficient(query, key, value, attn_mask, dropout_p, is_causal, scale)


def _flash_interface(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    dropout: float = 0.0,
    scaling: float | None = None,
    **kwargs: Any,
) -> tuple[torch.Tensor, None]:
    """An attention function of transformers that keeps what the flash-attn package keeps (soft caps included)."""
    query, key, value = _autocast(query, key, value)
    if _takes_flash(query, key, value):
        out = flash(query, key, value, dropout, scaling)
    else:
        heads = query.shape[1]
        key, value = _repeat_heads(key, heads), _repeat_heads(value, heads)
        out = efficient(query, key, value, None, dropout, True, scaling)
    return out.transpose(1, 2).contiguous(), None


def _no_mask(*args: Any, **kwargs: Any) -> None:
    return None


def fused_dropout(input: torch.Tensor, p: float = 0.5, training: bool = True, inplace: bool = False) -> torch.Tensor:
    """``F.dropout`` as CUDA runs it: one fused operator that keeps a mask of one byte per element.

    Source: torch ``Dropout.cpp`` (``is_fused_kernel_acceptable``); off CUDA torch keeps noise in the input's dtype.
    """
    del inplace
    if not training or p == 0.0:
        return input
    out: torch.Tensor = torch.native_dropout(input, p, True)[0]
    return out


@contextmanager
def attention_as_on_cuda(kind: str) -> Iterator[str]:
    """Replace the attention functions of torch and transformers, and dropout, for a while.

    Args:
        kind: ``flash``, ``sdpa``, ``math`` or ``eager``.

    Yields:
        The ``attn_implementation`` to give to transformers.
    """
    from transformers import masking_utils
    from transformers.modeling_utils import ALL_ATTENTION_FUNCTIONS, PreTrainedModel

    for owner, name in ((masking_utils, "find_packed_sequence_indices"), (PreTrainedModel, "_sdpa_can_dispatch")):
        if not hasattr(owner, name):
            raise moved(owner, name)
    functional = torch.nn.functional
    masks = masking_utils.ALL_MASK_ATTENTION_FUNCTIONS
    saved = (
        functional.scaled_dot_product_attention,
        functional.dropout,
        masking_utils.find_packed_sequence_indices,
        ALL_ATTENTION_FUNCTIONS["sdpa"],
        masks["sdpa"],
        PreTrainedModel._sdpa_can_dispatch,
    )
    functional.dropout = fused_dropout
    # A run on data sees one document per row and builds no mask; without data the question would be answered wrongly.
    masking_utils.find_packed_sequence_indices = _no_mask
    if kind != "eager":
        functional.scaled_dot_product_attention = old_cuda_sdpa if kind == "math" else cuda_sdpa
    if kind == "flash":
        ALL_ATTENTION_FUNCTIONS["sdpa"] = _flash_interface
        masks["sdpa"] = _no_mask
        # Models that know flash-attn but not sdpa (soft caps, sinks) take the same path here.
        PreTrainedModel._sdpa_can_dispatch = lambda self, is_init_check=False: True
    try:
        yield "eager" if kind == "eager" else "sdpa"
    finally:
        (
            functional.scaled_dot_product_attention,
            functional.dropout,
            masking_utils.find_packed_sequence_indices,
            ALL_ATTENTION_FUNCTIONS["sdpa"],
            masks["sdpa"],
            PreTrainedModel._sdpa_can_dispatch,
        ) = saved
