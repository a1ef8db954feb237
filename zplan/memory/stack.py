"""The pieces of a model at one batch shape: stem, blocks, loss head, as the job runs them."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from zplan.memory.activations import block_memory, head_memory, stem_memory
from zplan.memory.activations.base import ComputeMode, Instant, PieceMemory
from zplan.memory.activations.find import has_tables, module_of
from zplan.memory.activations.first import first_block_saving
from zplan.memory.activations.heads import HEAD_MODULE
from zplan.memory.adapted import ALL_LINEAR, adapter
from zplan.memory.attention import attention_of, kernel
from zplan.memory.codeside import Stack, StackShape
from zplan.memory.engines import engine_memory
from zplan.memory.engines.base import EngineMemory
from zplan.memory.engines.walk import GradOrders
from zplan.memory.facts import CodeFacts, JobFacts
from zplan.memory.params import layout
from zplan.memory.runtime import attention_scratch_bytes
from zplan.memory.savers import changed, differs, other_head
from zplan.spec import Attention, BlockSpec, Engine, Job, Lora, Loss, ModelSpec, WeightKind

INPUT_BYTES_PER_TOKEN = 8
"""Token ids in int64; the labels are the same tensor, as in a causal language model's training loop."""


def layer_variants(model: ModelSpec, job: Job) -> tuple[tuple[tuple[int, bool], ...], tuple[int, ...]]:
    """Which (kind, checkpointed) pairs occur, and each layer's index among them.

    ``every-k`` checkpoints one block in k, from the first on.
    """
    kind = job.checkpointing.kind
    if kind != "every-k":
        flag = kind in ("full", "selective-op")
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


def _more(instants: tuple[Instant, ...], extra: int) -> tuple[Instant, ...]:
    return tuple(instant._replace(activation_bytes=instant.activation_bytes + extra) for instant in instants)


def _more_kept(piece: PieceMemory, extra: int, checkpointed: bool, passing: int = 0) -> PieceMemory:
    """A block that keeps some bytes more until its backward; checkpointed only from its recomputation on.

    ``passing`` is what a checkpointed block needs more while it runs forward.
    """
    return piece._replace(
        kept_bytes=piece.kept_bytes + (0 if checkpointed else extra),
        forward=_more(piece.forward, passing if checkpointed else extra),
        backward=_more(piece.backward, extra),
    )


FP32_ROTARY = frozenset({"olmo2"})
"""Families whose rotary embedding hands out fp32 cosines and sines (transformers ``Olmo2RotaryEmbedding``); others cast them."""


def _with_cast_rotary(piece: PieceMemory, block: BlockSpec, seq_len: int) -> PieceMemory:
    """A block that was called with fp32 cosines and sines, cast for it alone: both copies live as long as what it keeps.

    Formula: 2 tensors x 2 bytes x s d, whatever the batch; a checkpoint keeps them, too, as it keeps every argument.
    Source: torch ``distributed/fsdp/_fully_shard/_fsdp_state.py`` (``_pre_forward``).
    """
    if module_of(block.implementation) not in FP32_ROTARY:
        return piece
    return _more_kept(piece, 4 * seq_len * dict(block.dims)["d"], checkpointed=False)


def _widened(piece: PieceMemory, block: BlockSpec, lora: Lora, tokens: int, checkpointed: bool) -> PieceMemory:
    """A block whose adapters are fp32: what they keep beyond the tables, which hold adapters in 16 bits.

    Formula: for each adapted layer a copy of its input in fp32, 4 T in, and 2 T r more for the inner product of rank r; for
    stacked experts, whose adapters are added to their weights, 16-bit copies of the adapters.
    Source: peft ``tuners/lora/layer.py`` (``_cast_input_dtype``; ``ParamWrapper.get_delta_factors``).
    """
    family = module_of(block.implementation)
    found = [one for one in (adapter(weight, lora, family) for weight in block.weights) if one is not None]
    layers = [one for one in found if not one.wraps_parameter]
    copies = 2 * sum(one.rank * (one.fan_in + one.fan_out) for one in found if one.wraps_parameter)
    # A layer that is no nn.Linear keeps no input of its own, and with an adapter that casts it nothing keeps it in 16 bits.
    kept = sum((2 if one.weight.kind is WeightKind.CONV1D else 4) * one.fan_in + 2 * lora.rank for one in layers)
    extra = tokens * kept + copies
    # Forward alone frees each layer's copy and its fp32 result before the next layer's.
    passing = max((4 * tokens * (one.fan_in + one.fan_out) for one in layers), default=0)
    return _more_kept(piece, extra, checkpointed, max(passing, copies))


@lru_cache(maxsize=2048)
def stack_shape(model: ModelSpec, facts: CodeFacts) -> StackShape:
    """What a model's stack has at every batch shape."""
    groups = layout(model, facts.job.lora)
    variants, layers = layer_variants(model, facts.job)
    each = facts.grad_bytes
    return StackShape(
        variants=variants,
        layers=layers,
        checkpointed=tuple(flag for _, flag in variants),
        grad_sizes=tuple(tuple(each * t.numel for t in groups.kinds[kind].tensors) for kind, _ in variants),
        head_grad_sizes=tuple(each * t.numel for t in groups.head.tensors),
        stem_grad_sizes=tuple(each * t.numel for t in groups.stem.tensors),
    )


def _with_input(head: PieceMemory, size: int) -> PieceMemory:
    """A frozen head whose matrix product keeps its input until its backward."""
    last = max((place for place, one in enumerate(head.backward) if one.module == HEAD_MODULE), default=-1)
    return head._replace(backward=(*_more(head.backward[: last + 1], size), *head.backward[last + 1 :]))


class Pieces(NamedTuple):
    """A model at one batch shape, as the job runs its code."""

    stem: PieceMemory
    variants: tuple[PieceMemory, ...]
    head: PieceMemory


def _mode(model: ModelSpec, facts: CodeFacts, attention: Attention) -> tuple[ComputeMode, bool]:
    """How weights meet activations, and whether adapters are wider than the tables have them."""
    mode = facts.mode
    if mode is ComputeMode.WIDE and not has_tables(model.block_kinds[0].implementation, mode, True, attention):
        return ComputeMode.CAST, True
    return mode, facts.wide_adapters


def build_blocks(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> tuple[PieceMemory, ...]:
    """Each variant of block."""
    shape, job = stack_shape(model, facts), facts.job
    mode, wide = _mode(model, facts, attention_of(model, job, seq))
    pieces = []
    for kind, flag in shape.variants:
        block = model.block_kinds[kind]
        piece = block_memory(
            block,
            micro_batch=batch,
            seq_len=seq,
            attention=kernel(job.attention, block, seq),
            mode=mode,
            checkpointed=flag,
            lora=0 if job.lora is None else job.lora.rank,
            targets=ALL_LINEAR if job.lora is None else job.lora.targets,
            quantized=job.quantize is not None,
            keeps_inputs=facts.own_linear and job.lora is not None and job.quantize is None,
        )
        if wide and job.lora is not None:
            piece = _widened(piece, block, job.lora, batch * seq, flag)
        if facts.casts_inputs:
            piece = _with_cast_rotary(piece, block, seq)
        if differs(job):
            piece = changed(piece, block, job, batch * seq, flag)
        pieces.append(piece)
    return tuple(pieces)


FIRST_BLOCK_TOKENS = 8
"""With fewer tokens than this, or than the adapters' rank, all of what the first block does not keep is counted: copies of adapters
would outweigh all else, and the last instants of the block's backward, which hold none of them any more, come out below nothing."""


def build_stem(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> PieceMemory:
    """What comes before the blocks, at one batch shape."""
    job, attention = facts.job, attention_of(model, facts.job, seq)
    mode, _ = _mode(model, facts, attention)
    stem = stem_memory(
        model,
        micro_batch=batch,
        seq_len=seq,
        attention=attention,
        mode=mode,
        checkpointed=job.checkpointing.kind not in ("none", "selective"),
        loss=job.loss,
        lora=0 if job.lora is None else job.lora.rank,
        in_place=facts.own_linear,
    )
    lora = job.lora if job.checkpointing.kind == "none" and job.quantize is None else None
    if lora is not None and batch * seq >= max(FIRST_BLOCK_TOKENS, lora.rank):
        per_token, once = first_block_saving(model.block_kinds[model.layers[0]], lora, mode)
        stem = stem._replace(kept_bytes=stem.kept_bytes - per_token * batch * seq - once)
    return stem


def build_head(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> PieceMemory:
    """What comes after the blocks."""
    job = facts.job
    mode, _ = _mode(model, facts, attention_of(model, job, seq))
    head = head_memory(
        model,
        micro_batch=batch,
        seq_len=seq,
        loss=job.loss,
        mode=mode,
        lora=0 if job.lora is None else job.lora.rank,
        in_place=facts.own_linear,
    )
    head = other_head(head, model, job, batch, seq, autocast=mode is ComputeMode.AUTOCAST)
    whole = job.loss in (Loss.STANDARD, Loss.IN_PLACE)
    if facts.own_linear and job.lora is not None and mode is not ComputeMode.WIDE and whole:
        head = _with_input(head, facts.grad_bytes * batch * seq * model.hidden_size)
    return head


def build_pieces(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> Pieces:
    """Evaluates the activation tables for one batch shape.

    Args:
        model: The architecture.
        facts: Which code runs.
        batch: Sequences per GPU.
        seq: Tokens per sequence.

    Raises:
        ZplanError: There is no table for this code.
    """
    blocks = build_blocks(model, facts, batch, seq)
    return Pieces(build_stem(model, facts, batch, seq), blocks, build_head(model, facts, batch, seq))


@lru_cache(maxsize=16384)
def build_stack(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> Stack:
    """The pieces of a model at one batch shape, ready to meet an engine's tracks (see :func:`build_pieces`)."""
    shape, (stem, blocks, head) = stack_shape(model, facts), build_pieces(model, facts, batch, seq)
    retained: tuple[int, ...] = ()
    if facts.leaves_inputs:
        retained = tuple(
            piece.kept_bytes + piece.input_grad_bytes if flag else 0
            for piece, flag in zip(blocks, shape.checkpointed, strict=True)
        )
    scratch = attention_scratch_bytes(model, facts.job.attention, batch, seq)
    return Stack(stem, blocks, head, shape, INPUT_BYTES_PER_TOKEN * batch * seq, scratch, retained)


@lru_cache(maxsize=2048)
def grad_orders(model: ModelSpec, facts: CodeFacts) -> GradOrders:
    """The order of gradients in each piece, for engines; the same at every batch shape."""
    shape, pieces = stack_shape(model, facts), build_pieces(model, facts, 1, 1)
    return GradOrders(
        stem=pieces.stem.grad_order,
        variants=tuple(piece.grad_order for piece in pieces.variants),
        head=pieces.head.grad_order,
        variant_kinds=tuple(kind for kind, _ in shape.variants),
        layers=shape.layers,
        checkpointed=shape.checkpointed,
    )


@lru_cache(maxsize=16384)
def engine_side(model: ModelSpec, facts: JobFacts, ranks: int, rank: int) -> EngineMemory:
    """The engine's side of a plan, which no batch shape changes."""
    orders = grad_orders(model, facts.code)
    if facts.job.engine is not Engine.DEEPSPEED or facts.job.stage != 3:
        # Only stage 3 gathers again for a recomputation: to all others checkpointed blocks are like any.
        orders = orders.uncheckpointed()
    return engine_memory(model, facts.engine, orders, ranks, rank)
