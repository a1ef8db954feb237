"""The pieces of a model at one batch shape: stem, blocks, loss head, as the job runs them."""

from __future__ import annotations

from zplan.memory.activations import block_memory, head_memory, stem_memory
from zplan.memory.activations.base import ComputeMode, PieceMemory
from zplan.memory.engines.walk import GradOrders
from zplan.memory.params import Layout
from zplan.memory.timeline import Stack
from zplan.spec import Job, ModelSpec

INPUT_BYTES_PER_TOKEN = 8
"""Token ids in int64; the labels are the same tensor, as in a causal language model's training loop."""


def layer_variants(model: ModelSpec, job: Job) -> tuple[tuple[tuple[int, bool], ...], tuple[int, ...]]:
    """Which (kind, checkpointed) pairs occur, and each layer's index among them.

    ``every-k`` checkpoints one block in k, from the first on.
    """
    kind = job.checkpointing.kind
    if kind in ("none", "full"):
        flag = kind == "full"
        if len(model.block_kinds) == 1:
            return ((0, flag),), (0,) * model.num_layers
        return tuple((index, flag) for index in range(len(model.block_kinds))), model.layers
    variants: list[tuple[int, bool]] = []
    layers = []
    for index, block_kind in enumerate(model.layers):
        pair = (block_kind, index % job.checkpointing.every == 0)
        if pair not in variants:
            variants.append(pair)
        layers.append(variants.index(pair))
    return tuple(variants), tuple(layers)


def build_stack(
    model: ModelSpec,
    job: Job,
    mode: ComputeMode,
    groups: Layout,
    grad_bytes: int,
    variants: tuple[tuple[int, bool], ...],
    layers: tuple[int, ...],
) -> Stack:
    """Evaluates the activation tables for this batch shape."""
    batch, seq = job.micro_batch, job.seq_len
    pieces: list[PieceMemory] = [
        block_memory(
            model.block_kinds[kind],
            micro_batch=batch,
            seq_len=seq,
            attention=job.attention,
            mode=mode,
            checkpointed=flag,
            lora=job.lora is not None,
        )
        for kind, flag in variants
    ]
    return Stack(
        stem=stem_memory(
            model,
            micro_batch=batch,
            seq_len=seq,
            attention=job.attention,
            mode=mode,
            checkpointed=job.checkpointing.kind != "none",
        ),
        variants=tuple(pieces),
        checkpointed=tuple(flag for _, flag in variants),
        layers=layers,
        head=head_memory(model, micro_batch=batch, seq_len=seq, loss=job.loss, mode=mode),
        inputs_bytes=INPUT_BYTES_PER_TOKEN * batch * seq,
        grad_sizes=tuple(tuple(grad_bytes * t.numel for t in groups.kinds[kind].tensors) for kind, _ in variants),
        head_grad_sizes=tuple(grad_bytes * t.numel for t in groups.head.tensors),
        stem_grad_sizes=tuple(grad_bytes * t.numel for t in groups.stem.tensors),
    )


def grad_orders(stack: Stack, variants: tuple[tuple[int, bool], ...]) -> GradOrders:
    """The order of gradients in each piece, for engines."""
    return GradOrders(
        stem=stack.stem.grad_order,
        variants=tuple(piece.grad_order for piece in stack.variants),
        head=stack.head.grad_order,
        variant_kinds=tuple(kind for kind, _ in variants),
        layers=stack.layers,
        checkpointed=stack.checkpointed,
    )
