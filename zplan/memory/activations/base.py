"""What a piece of model code keeps for backward and needs while it runs: the values that engines compose.

A decoder block, the stem (embedding, position tables) and the loss head are each described by *instants*. An instant
says how many bytes of activations that belong to the piece are live, how far the piece's weight gradients have come,
and which module runs, so that an engine can add what it holds at that instant (gradients in its own form, gathered
parameters, buckets) and take the maximum. Symbols: s sequence length, b micro-batch, T = b*s tokens; see docs/model.md.

Who owns what, so that pieces add up to the byte:

- A tensor belongs to the piece that makes it, except a piece's output, which belongs to the piece that takes it as
  input: ``kept_bytes`` of a piece holds its *input* where the piece saves it, and never its output. (A Llama block
  in 16 bits does not keep its input, since its norm keeps an fp32 copy instead; with LayerNorm or in fp32 the input
  itself is kept.)
- Forward instants of a piece count its input (the caller holds it), what it has kept so far, its temporaries and its
  output.
- Backward instants count what is left of ``kept_bytes``, temporaries, the gradient of the piece's output, which the
  piece after has made, and at the end the gradient of its input, which the piece before takes over.
- So at an instant of piece i: stem and blocks before i hold the sum of their ``kept_bytes`` (in forward also
  ``frame_bytes`` and ``cast_cache_bytes``); pieces after i hold nothing.
- The loss and its gradient, two fp32 scalars, are live through backward and counted in the head's instants alone.
- Weights, weight gradients that are handed over, token ids and labels are not activations.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple


class ComputeMode(str, Enum):
    """How weights meet activations."""

    CAST = "cast"
    """Weights are held (or gathered) in 16 bits and everything is computed in them: DeepSpeed, FSDP mixed precision,
    bf16-pure."""
    AUTOCAST = "autocast"
    """fp32 weights under ``torch.autocast``: 16-bit copies of linear weights are kept for backward."""
    MIXED = "mixed"
    """16-bit weights under ``torch.autocast``: FSDP1 as accelerate sets it up. Where norms or activations have fp32 forms under
    autocast, they keep fp32 tensors that plain 16-bit code does not; families without such code share the tables of ``cast``."""
    WIDE = "wide"
    """16-bit weights with fp32 adapters, without autocast, under DeepSpeed's own ``F.linear``: stage 3 leaves adapters as peft
    makes them, and each casts its input. With adapters only."""
    FP32 = "fp32"
    """Everything in fp32."""


AFTER_MODULE = ">"
"""Before a module's name: code that runs after it and before the next module that owns a matrix."""
AT_HOOK = "!"
"""Before a weight's name: its gradient is being handed over. Without it the gradient is there, and no hook has run yet; where a
table has no hook for a weight, both are one."""


class Instant(NamedTuple):
    """One candidate for a peak inside a piece.

    A named tuple, since dozens are made per plan and it is the cheapest value to make.
    """

    activation_bytes: int
    """Live activation bytes of this piece (see above), s x s tensors not included."""
    score_bytes: int
    """Live bytes of tensors with a s x s shape (eager attention's scores and masks)."""
    grads_ready: int
    """How many of the piece's weights have their gradient, in the piece's ``grad_order``. 0 in forward."""
    module: str
    """Dotted name of the leaf module that runs, relative to the piece (for stem and head: to the model); for code
    outside of leaf modules that own a matrix the last one that ran, after ``AFTER_MODULE``, or ''."""
    pending_grad: int = -1
    """Index (in the piece's weights) of a weight whose gradient is handed over, or -1. Its bytes are not in
    ``activation_bytes``; those of a vector's (norm, bias) are, and don't show here. ``waiting(index)`` where the gradient exists
    and its hook has not run."""


def waiting(index: int) -> int:
    """``pending_grad`` of a weight whose gradient waits for its hook; and the index for such a number."""
    return -2 - index


class PieceMemory(NamedTuple):
    """Memory of one piece at one batch shape."""

    kept_bytes: int
    """Activation bytes that stay between the piece's forward and its backward, input included where it is saved,
    output not."""
    kept_score_bytes: int
    """Of s x s tensors, likewise."""
    forward: tuple[Instant, ...]
    backward: tuple[Instant, ...]
    """Activation bytes here start from ``kept_bytes`` plus the gradient of the output and shrink to the gradient of
    the input."""
    grad_order: tuple[int, ...]
    """Indices into the piece's weights in the order in which their gradients become ready."""
    input_grad_bytes: int
    """Gradient of the piece's input, handed to the piece before."""
    frame_bytes: int = 0
    """Not kept for backward, but held by the model's Python frame while later pieces run forward; gone before the
    loss head."""
    frame_score_bytes: int = 0
    """Of s x s tensors (attention masks), likewise."""
    cast_cache_bytes: int = 0
    """16-bit weight copies in autocast's cache that are not kept for backward; held until the forward pass ends,
    loss included."""
    held_grad_bytes: int = 0
    """Head of a model with tied embeddings: gradient of the shared weight, which autograd holds from here to the end
    of the stem's backward; in no instant of other pieces."""
