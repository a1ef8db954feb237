"""The loss head: whole logits as the model computes them, in chunks of tokens, or fused with the head's matmul.

``standard``: the model's own loss on whole logits.
``chunked``: the tokens are split into :data:`CHUNKS` parts (torchtune's default); the head and the loss of each part run under
activation checkpointing, so that only one part's logits are alive at a time, in forward and in backward.
``fused``: what Liger-Kernel's fused linear cross entropy holds (``ops/fused_linear_cross_entropy.py``): one chunk of logits,
whose size keeps it near that of the hidden states, and the gradients of the hidden states and of the head, which are made in
forward and kept for backward.

Where a model scales its logits (Cohere, Granite), chunks scale their own; a fused kernel is given scaled hidden states, which
comes to the same and leaves its inside alone.
"""

from __future__ import annotations

from types import MethodType
from typing import Any

import torch
from torch.nn import functional

from zplan.errors import ZplanError

CHUNKS = 8
IGNORED = -100
"""Label of a token that has no next one."""


def loss_of(model: Any, ids: torch.Tensor) -> torch.Tensor:
    """The loss of one micro-batch; nothing but the loss is kept.

    Args:
        model: A causal language model, wrapped by its engine or not.
        ids: Token ids, also the labels.

    Returns:
        A scalar that requires a gradient.
    """
    loss: torch.Tensor = model(input_ids=ids, labels=ids).loss
    return loss


def install_loss(model: Any, kind: str) -> None:
    """Give a model another loss head.

    Args:
        model: A Hugging Face causal language model, not wrapped yet.
        kind: ``standard``, ``chunked`` or ``fused``.

    Raises:
        ZplanError: If the model has no head of its own, or the kind is a CUDA kernel.
    """
    if kind == "standard":
        return
    if kind == "in-place":
        raise ZplanError(
            "an in-place cross-entropy is a CUDA kernel: it does not run without data", "use --loss standard"
        )
    config = model.config.get_text_config()
    if model.get_output_embeddings() is None:
        raise ZplanError(f"the head of {type(model).__name__} has no {kind} form here", "use --loss standard")
    from transformers.modeling_outputs import CausalLMOutputWithPast

    head_loss = _chunked if kind == "chunked" else _fused
    if kind == "fused":
        # Engines gather a weight around its module's forward: the loss runs there.
        head = model.get_output_embeddings()
        head.forward = MethodType(lambda self, states, labels: _FusedLoss.apply(states, self.weight, labels), head)
    softcap, scale = getattr(config, "final_logit_softcapping", None), logit_scale(config)

    def forward(self: Any, input_ids: torch.Tensor, labels: torch.Tensor, **kwargs: Any) -> Any:
        hidden = self.base_model(input_ids=input_ids, **kwargs).last_hidden_state
        targets = functional.pad(labels, (0, 1), value=IGNORED)[..., 1:].reshape(-1)
        loss = head_loss(self.get_output_embeddings(), hidden.flatten(0, 1), targets, softcap, scale)
        return CausalLMOutputWithPast(loss=loss)

    model.forward = MethodType(forward, model)


def logit_scale(config: Any) -> float | None:
    """What a model multiplies its logits by, or None where its code does not."""
    if config.model_type in ("cohere", "cohere2"):
        return float(config.logit_scale)
    return 1.0 / float(config.logits_scaling) if config.model_type == "granite" else None


def _chunked(
    head: Any, hidden: torch.Tensor, targets: torch.Tensor, softcap: float | None, scale: float | None
) -> torch.Tensor:
    from torch.utils.checkpoint import checkpoint

    def part(states: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
        logits = head(states)
        if scale is not None:
            logits = logits * scale
        logits = logits.float()
        if softcap is not None:
            logits = torch.tanh(logits / softcap) * softcap
        return functional.cross_entropy(logits, labels, ignore_index=IGNORED, reduction="sum")

    total = None
    for states, labels in zip(hidden.chunk(CHUNKS), targets.chunk(CHUNKS), strict=True):
        loss = checkpoint(part, states, labels, use_reentrant=False)
        total = loss if total is None else total + loss
    assert total is not None
    return total / targets.numel()


def _fused(
    head: Any, hidden: torch.Tensor, targets: torch.Tensor, softcap: float | None, scale: float | None
) -> torch.Tensor:
    loss: torch.Tensor = head(hidden if scale is None else hidden * scale, targets)
    return loss


def fused_chunk_tokens(tokens: int, hidden_size: int, vocab_size: int) -> int:
    """Tokens whose logits are alive at once in Liger's loss.

    Args:
        tokens: Tokens of the micro-batch.
        hidden_size: Width of the hidden states.
        vocab_size: Width of the logits.

    Returns:
        The next power of two of tokens / ceil(V / h), at most all of them.
    """
    share = -(-tokens // -(-vocab_size // hidden_size))
    return min(1 << (share - 1).bit_length(), tokens)


class _FusedLoss(torch.autograd.Function):  # type: ignore[misc]
    """Holds what Liger's kernels hold; the kernels themselves work in place and are left out."""

    @staticmethod
    def forward(ctx: Any, hidden: torch.Tensor, weight: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        size = fused_chunk_tokens(hidden.shape[0], hidden.shape[1], weight.shape[0])
        grad_hidden = torch.zeros_like(hidden)
        grad_weight = torch.zeros_like(weight) if weight.requires_grad else None
        losses = hidden.new_zeros(hidden.shape[0], dtype=torch.float32)
        for start in range(0, hidden.shape[0], size):
            states = hidden[start : start + size]
            logits = states @ weight.t()
            grad_hidden[start : start + size] = logits @ weight
            del logits
        ctx.save_for_backward(grad_hidden, grad_weight)
        return losses.sum()

    @staticmethod
    def backward(ctx: Any, grad: torch.Tensor) -> Any:
        grad_hidden, grad_weight = ctx.saved_tensors
        return grad_hidden, grad_weight, None
