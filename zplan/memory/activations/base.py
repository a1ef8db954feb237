"""What a piece of model code keeps for backward and needs while it runs: the values that engines compose.

A decoder block, the stem (embedding, position tables) and the loss head are each described by *instants*. An instant
says how many bytes of activations that belong to the piece are live, how far the piece's weight gradients have come,
and which module runs, so that an engine can add what it holds at that instant (gradients in its own form, gathered
parameters, buckets) and take the maximum. Symbols: s sequence length, b micro-batch, T = b*s tokens; see docs/model.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class ComputeMode(str, Enum):
    """How weights meet activations."""

    CAST = "cast"
    """Weights are held (or gathered) in 16 bits and everything is computed in them: DeepSpeed, FSDP mixed precision, bf16-pure."""
    AUTOCAST = "autocast"
    """fp32 weights under ``torch.autocast``: 16-bit copies of linear weights are kept for backward."""
    FP32 = "fp32"
    """Everything in fp32."""


@dataclass(frozen=True, slots=True)
class Instant:
    """One candidate for a peak inside a piece."""

    activation_bytes: int
    """Live activation bytes of this piece (kept tensors, temporaries, activation gradients), attention scores not included.
    The piece's input is not counted: whoever produced it owns it. Its output is."""
    score_bytes: int
    """Live bytes of tensors with a s x s shape (eager attention's scores and masks)."""
    grads_ready: int
    """How many of the piece's weights have their gradient, in the piece's ``grad_order``. 0 in forward."""
    module: str
    """Dotted name of the leaf module that runs, relative to the piece; '' for code outside of any leaf module."""
    pending_grad: int = -1
    """Index (in the piece's weights) of a weight whose gradient exists but was not yet handed over, or -1."""


@dataclass(frozen=True, slots=True)
class PieceMemory:
    """Memory of one piece at one batch shape."""

    kept_bytes: int
    """Activation bytes that stay between the piece's forward and its backward, output included, input not."""
    kept_score_bytes: int
    """Of s x s tensors, likewise."""
    forward: tuple[Instant, ...]
    backward: tuple[Instant, ...]
    """Activation bytes here start from ``kept_bytes`` and shrink to the gradient of the piece's input."""
    grad_order: tuple[int, ...]
    """Indices into the piece's weights in the order in which their gradients become ready."""
    input_grad_bytes: int
    """Gradient of the piece's input, handed to the piece before."""
