"""The pieces of a model at one batch shape: stem, blocks, loss head, as the job runs them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

from zplan.memory.activations import block_memory, head_memory, stem_memory
from zplan.memory.activations.base import ComputeMode, Instant, PieceMemory
from zplan.memory.activations.find import has_tables, module_of
from zplan.memory.activations.first import first_block_saving
from zplan.memory.activations.heads import HEAD_MODULE
from zplan.memory.adapted import ALL_LINEAR, adapter
from zplan.memory.engines import engine_memory
from zplan.memory.engines.base import EngineMemory, StateBytes
from zplan.memory.engines.walk import GradOrders
from zplan.memory.optimizers import OptimizerSpec, optimizer_spec
from zplan.memory.params import keeps_fp32_adapters, layout
from zplan.memory.runtime import flash_scratch_bytes
from zplan.memory.savers import changed, differs, other_head
from zplan.memory.states import state_sizes
from zplan.memory.timeline import Stack, StackShape
from zplan.spec import Attention, BlockSpec, Engine, Job, Lora, Loss, ModelSpec, Precision

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


@dataclass(frozen=True, slots=True, eq=False)
class CodeFacts:
    """What decides which code runs on the model's pieces; jobs that differ in engine, stage or offload may share it."""

    job: Job
    """Any job with these facts."""
    mode: ComputeMode
    """How weights meet activations."""
    grad_bytes: int
    """Element size of a weight gradient as autograd hands it over."""
    wide_adapters: bool
    """Adapters are fp32 on a 16-bit base without autocast, as under stage 3: each casts its input and keeps the copy."""
    own_linear: bool
    """Stage 3 replaces ``F.linear`` by its own (``memory_efficient_linear``), which keeps its input even where the weight is
    frozen. It hands over the gradient of a tied head as a tensor of its own, to which autograd can add the embedding's in place;
    torch's hands over a view, beside which their sum is made (``input_buffer.cpp``)."""
    casts_inputs: bool = False
    """FSDP2's mixed precision casts what each block is called with (``MixedPrecisionPolicy.cast_forward_inputs``)."""
    leaves_inputs: bool = False
    """Recomputed blocks leave their input and its gradient behind until backward ends (see :func:`_leaves_inputs`)."""


@dataclass(frozen=True, slots=True, eq=False)
class JobFacts:
    """What follows from a job whatever its batch shape is; one object per distinct job, so that it is a cheap cache key."""

    job: Job
    """The job with micro-batch, sequence and rank set to neutral values."""
    engine: Job
    """What an engine sees of it: which code runs on the pieces is left out as well."""
    states: StateBytes
    optimizer: OptimizerSpec
    code: CodeFacts


@lru_cache(maxsize=16384)
def job_facts(job: Job) -> JobFacts:
    """The facts of a job; equal but for the batch shape means the same object."""
    # More than two micro-steps are like two: the first and the last differ.
    return _static_facts(replace(job, micro_batch=1, seq_len=1, rank=0, grad_accum=min(job.grad_accum, 2)))


_PLAIN = Job()


@lru_cache(maxsize=8192)
def _static_facts(job: Job) -> JobFacts:
    states = state_sizes(job)
    code = Job(
        checkpointing=job.checkpointing,
        attention=job.attention,
        loss=job.loss,
        compile=job.compile,
        lora=job.lora,
        quantize=job.quantize,
        implementation=job.implementation,
    )
    stage3 = job.engine is Engine.DEEPSPEED and job.stage == 3
    wide = stage3 and keeps_fp32_adapters(job) and states.compute is ComputeMode.CAST
    # Stage 3 gathers the head anew for each chunk of a loss in parts.
    heads = Loss.CHUNKED if stage3 and job.loss is Loss.CHUNKED else Loss.STANDARD
    engine = replace(job, checkpointing=_PLAIN.checkpointing, attention=_PLAIN.attention, loss=heads, compile=False)
    casts = job.engine is Engine.FSDP2 and job.precision in (Precision.BF16, Precision.FP16)
    own_linear = stage3 and job.deepspeed.memory_efficient_linear
    mode = ComputeMode.WIDE if wide and own_linear and job.quantize is None else states.compute
    wide = wide and mode is not ComputeMode.WIDE
    facts = _code_facts(code, mode, wide, own_linear, casts, _leaves_inputs(job))
    return JobFacts(job, engine, states, optimizer_spec(job.optimizer), facts)


@lru_cache(maxsize=1024)
def _code_facts(
    job: Job, mode: ComputeMode, wide_adapters: bool, own_linear: bool, casts_inputs: bool, leaves_inputs: bool
) -> CodeFacts:
    each = 2 if mode in (ComputeMode.CAST, ComputeMode.MIXED) else 4
    return CodeFacts(job, mode, each, wide_adapters, own_linear, casts_inputs, leaves_inputs)


def _leaves_inputs(job: Job) -> bool:
    """Whether recomputed blocks leave their inputs and their gradients behind: FSDP1, frozen units, reentrant checkpoints.

    A unit whose flat parameter is frozen waits for the gradients of its inputs with a hook that lives until the end of backward.
    Inside a reentrant checkpoint these inputs are leaves, and the hook holds them through their gradient accumulators.
    Source: torch ``distributed/fsdp/_runtime_utils.py`` (``_register_post_backward_reshard_only_hook``, removed in
    ``_finalize_params``), ``autograd/graph.py`` (``register_multi_grad_hook``), ``utils/checkpoint.py`` (``detach_variable``).
    """
    frozen_units = job.engine is Engine.FSDP1 and job.lora is not None and job.lora.own_units
    return frozen_units and job.checkpointing.reentrant


def _more(instants: tuple[Instant, ...], extra: int) -> tuple[Instant, ...]:
    return tuple(instant._replace(activation_bytes=instant.activation_bytes + extra) for instant in instants)


def _more_kept(piece: PieceMemory, extra: int, checkpointed: bool, passing: int = 0) -> PieceMemory:
    """A block that keeps some bytes more until its backward; checkpointed only from its recomputation on.

    ``passing`` is what a checkpointed block needs more while it runs forward.
    """
    return replace(
        piece,
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
    extra = tokens * sum(4 * one.fan_in + 2 * lora.rank for one in layers) + copies
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
    return replace(head, backward=(*_more(head.backward[: last + 1], size), *head.backward[last + 1 :]))


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


@lru_cache(maxsize=16384)
def build_stack(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> Stack:
    """Evaluates the activation tables for one batch shape.

    Args:
        model: The architecture.
        facts: Which code runs.
        batch: Sequences per GPU.
        seq: Tokens per sequence.
    """
    shape, job, mode = stack_shape(model, facts), facts.job, facts.mode
    attention = max((kernel(job.attention, kind, seq) for kind in model.block_kinds), key=_MASKS.index)
    wide = facts.wide_adapters
    if mode is ComputeMode.WIDE and not has_tables(model.block_kinds[0].implementation, mode, True, attention):
        mode, wide = ComputeMode.CAST, True
    adapters = 0 if job.lora is None else job.lora.rank
    pieces = tuple(
        block_memory(
            model.block_kinds[kind],
            micro_batch=batch,
            seq_len=seq,
            attention=kernel(job.attention, model.block_kinds[kind], seq),
            mode=mode,
            checkpointed=flag,
            lora=adapters,
            targets=ALL_LINEAR if job.lora is None else job.lora.targets,
            quantized=job.quantize is not None,
            keeps_inputs=facts.own_linear and job.quantize is None,
        )
        for kind, flag in shape.variants
    )
    if wide and job.lora is not None:
        pieces = tuple(
            _widened(piece, model.block_kinds[kind], job.lora, batch * seq, flag)
            for piece, (kind, flag) in zip(pieces, shape.variants, strict=True)
        )
    if facts.casts_inputs:
        pieces = tuple(
            _with_cast_rotary(piece, model.block_kinds[kind], seq)
            for piece, (kind, _) in zip(pieces, shape.variants, strict=True)
        )
    if differs(job):
        pieces = tuple(
            changed(piece, model.block_kinds[kind], job, batch * seq, flag)
            for piece, (kind, flag) in zip(pieces, shape.variants, strict=True)
        )
    stem = stem_memory(
        model,
        micro_batch=batch,
        seq_len=seq,
        attention=attention,
        mode=mode,
        checkpointed=job.checkpointing.kind not in ("none", "selective"),
        loss=job.loss,
        lora=adapters,
        in_place=facts.own_linear,
    )
    if job.lora is not None and job.checkpointing.kind == "none" and job.quantize is None:
        per_token, once = first_block_saving(model.block_kinds[model.layers[0]], job.lora, mode)
        stem = replace(stem, kept_bytes=stem.kept_bytes - per_token * batch * seq - once)
    head = head_memory(
        model,
        micro_batch=batch,
        seq_len=seq,
        loss=job.loss,
        mode=mode,
        lora=adapters,
        in_place=facts.own_linear,
    )
    head = other_head(head, model, job, batch, seq, autocast=mode is ComputeMode.AUTOCAST)
    if (
        facts.own_linear
        and job.lora is not None
        and mode is not ComputeMode.WIDE
        and job.loss in (Loss.STANDARD, Loss.IN_PLACE)
    ):
        head = _with_input(head, facts.grad_bytes * batch * seq * model.hidden_size)
    scratch = flash_scratch_bytes(model, batch, seq) if job.attention is Attention.FLASH else 0
    retained: tuple[int, ...] = ()
    if facts.leaves_inputs:
        retained = tuple(
            piece.kept_bytes + piece.input_grad_bytes if flag else 0
            for piece, flag in zip(pieces, shape.checkpointed, strict=True)
        )
    return Stack(stem, pieces, head, shape, INPUT_BYTES_PER_TOKEN * batch * seq, scratch, retained)


@lru_cache(maxsize=2048)
def grad_orders(model: ModelSpec, facts: CodeFacts) -> GradOrders:
    """The order of gradients in each piece, for engines; the same at every batch shape."""
    shape, stack = stack_shape(model, facts), build_stack(model, facts, 1, 1)
    return GradOrders(
        stem=stack.stem.grad_order,
        variants=tuple(piece.grad_order for piece in stack.variants),
        head=stack.head.grad_order,
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
