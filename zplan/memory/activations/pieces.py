"""Activations of blocks and of the stem."""

from __future__ import annotations

from functools import lru_cache

from zplan.errors import ZplanError
from zplan.memory.activations.adapters import adapter_names, as_without, on_the_fly, reduced, without
from zplan.memory.activations.base import ComputeMode, PieceMemory
from zplan.memory.activations.find import MEASURE, WITH_ADAPTERS, find, module_of, tables_of, variation, way_key
from zplan.memory.activations.table import Backward, Bound, Row, Table, bind, shifted
from zplan.memory.adapted import ALL_LINEAR
from zplan.spec import Attention, BlockSpec, Lora, Loss, ModelSpec


@lru_cache(maxsize=8192)
def block_memory(  # noqa: PLR0913 one argument per fact that a table depends on
    block: BlockSpec,
    *,
    micro_batch: int,
    seq_len: int,
    attention: Attention,
    mode: ComputeMode,
    checkpointed: bool = False,
    lora: int = 0,
    targets: tuple[str, ...] = ALL_LINEAR,
    quantized: bool = False,
    keeps_inputs: bool = False,
) -> PieceMemory:
    """Returns what one decoder block keeps and needs, in bytes.

    Args:
        block: Which code, with which sizes.
        micro_batch: Sequences per GPU.
        seq_len: Tokens per sequence.
        attention: Kernel. Code that has none but its own (BLOOM, MPT) is taken as eager.
        mode: How weights meet activations.
        checkpointed: The block keeps its input alone and runs forward again in backward (non-reentrant).
        lora: Rank of the adapters on every linear layer, whose own weights are frozen; 0 without adapters. Indices of
            weights then count each adapted weight's two matrices after it, as ``zplan.memory.params`` lists them.
        targets: Which linear layers have adapters, as in :class:`zplan.spec.Lora`.
        quantized: Frozen linear layers are packed and run on a 16-bit copy made for the product.
        keeps_inputs: The engine's linear layers keep their inputs, frozen or not.

    Raises:
        ZplanError: There is no table for this code.
    """
    return _bound_block(block, attention, mode, checkpointed, lora, targets, quantized, keeps_inputs).at(
        micro_batch, seq_len
    )


@lru_cache(maxsize=8192)
def stem_memory(  # noqa: PLR0913 one argument per fact that a table depends on
    model: ModelSpec,
    *,
    micro_batch: int,
    seq_len: int,
    attention: Attention,
    mode: ComputeMode,
    checkpointed: bool = False,
    loss: Loss = Loss.STANDARD,
    lora: int = 0,
    in_place: bool = False,
) -> PieceMemory:
    """Returns what comes before the blocks: embeddings, rotary tables, position ids, masks; in bytes.

    Args:
        model: The model.
        micro_batch: Sequences per GPU.
        seq_len: Tokens per sequence.
        attention: Kernel.
        mode: How weights meet activations.
        checkpointed: Blocks are checkpointed, so that what they share is held until backward.
        loss: With tied embeddings it decides how autograd joins the two gradients: those of chunked and fused losses
            it can add to in place.
        lora: Rank of adapters, 0 without; the embeddings are then frozen and have no backward.
        in_place: The engine's linear layers hand over gradients that it can add to in place, too.

    Raises:
        ZplanError: There is no table for this code.
    """
    apart = loss is Loss.STANDARD and not in_place
    return _bound_stem(model, attention, mode, checkpointed, apart, bool(lora)).at(micro_batch, seq_len)


@lru_cache(maxsize=1024)
def _bound_block(
    block: BlockSpec,
    attention: Attention,
    mode: ComputeMode,
    checkpointed: bool,
    lora: int,
    targets: tuple[str, ...] = ALL_LINEAR,
    quantized: bool = False,
    keeps_inputs: bool = False,
) -> Bound:
    sizes = {**dict(block.dims), "R": int(lora)}
    adapters = Lora(rank=lora, targets=targets) if lora else None
    family = module_of(block.implementation)
    names = adapter_names(block.weights, adapters, family)
    tables = tables_of(module_of(block.implementation), mode, bool(lora))
    try:
        table = find(
            tables,
            block.implementation,
            way_key(attention, checkpointed, tables),
            names,
            grouped=sizes.get("a") != sizes.get("k"),
        )
    except KeyError:
        raise _missing(block.implementation, attention, mode, bool(lora)) from None
    if adapters is not None and targets != ALL_LINEAR and any(map(_is_stacked, table.order)):
        raise ZplanError(
            f"there are activation tables for {family} with adapters on all of its layers and experts, not on some of them",
            MEASURE,
        )
    missing, wide = None, mode is ComputeMode.WIDE
    if adapters is not None:
        missing = without(
            block.weights,
            table.order,
            adapters,
            family,
            keeps_inputs=keeps_inputs,
            wide=wide,
            cast=mode in (ComputeMode.MIXED, ComputeMode.AUTOCAST),
        )
    if missing is not None:
        table = reduced(table, missing)
        plain = _plain(block, attention, mode, checkpointed)
        table = table if plain is None else as_without(table, plain, missing, checkpointed=checkpointed)
    if quantized:
        table = on_the_fly(table, block.weights)
    return bind(table, sizes, names, frozen=bool(lora))


def _plain(block: BlockSpec, attention: Attention, mode: ComputeMode, checkpointed: bool) -> Table | None:
    """The table of the same block without adapters, where there is one."""
    sizes = dict(block.dims)
    try:
        mode = ComputeMode.CAST if mode is ComputeMode.WIDE else mode
        tables = tables_of(module_of(block.implementation), mode)
        way = way_key(attention, checkpointed, tables)
        names = [weight.name for weight in block.weights]
        return find(tables, block.implementation, way, names, grouped=sizes.get("a") != sizes.get("k"))
    except (KeyError, ZplanError):
        return None


@lru_cache(maxsize=1024)
def _bound_stem(
    model: ModelSpec, attention: Attention, mode: ComputeMode, checkpointed: bool, apart: bool, lora: bool
) -> Bound:
    block = model.block_kinds[0]
    names = [weight.name for weight in model.pre]
    tables = tables_of(module_of(block.implementation), mode, lora)
    piece = f"stem{variation(block.implementation)}"
    try:
        table = find(tables, piece, way_key(attention, checkpointed, tables), names, grouped=True)
        if attention is Attention.SDPA:
            table = with_one_mask(table)
        if model.tied_embeddings and apart and "stem tied" in tables:
            tied = find(tables, "stem", "tied", names, grouped=True)
            rows = _summed_first(shifted(tied, len(table.columns)))
            table = table._replace(columns=table.columns + tied.columns, backward=rows)
        elif model.tied_embeddings and not lora:
            each = 4 if mode in (ComputeMode.FP32, ComputeMode.AUTOCAST) else 2
            table = table._replace(columns=(*table.columns, "h*V"), backward=_added_to(table, each))
        if (
            module_of(block.implementation) in TWO_ROTARIES
            and len({k.sliding_window is None for k in model.block_kinds}) > 1
        ):
            table = with_second_rotary(table)
    except KeyError:
        raise _missing(block.implementation, attention, mode, lora) from None
    return bind(table, {**outer_sizes(model), **dict(block.dims)}, names, frozen=lora)


def outer_sizes(model: ModelSpec) -> dict[str, int]:
    """Sizes of stem and head that blocks don't know; OPT's embedding may be narrower than its blocks."""
    return {"V": model.vocab_size, "h*V": max((w.numel for w in model.pre), default=0)}


def _is_stacked(name: str) -> bool:
    """Whether a weight is an adapter of stacked experts."""
    return ".experts." in name and ".lora_" in name


def _summed_first(rows: tuple[Backward, ...]) -> tuple[Backward, ...]:
    """A tied embedding's rows with the sum of its two gradients made before it is handed over.

    While the sum is made both gradients are there, and no hook has run; in the hook the sum alone is left.
    """
    made: list[Backward] = []
    for ready, module, pending, row in rows:
        if pending and any(row):
            # The sum is as large as the gradient that is still there; the head's is held through the stem, but gone by then.
            made += [(ready, module, "", tuple(2 * size for size in row)), (ready, module, pending, _negative(row))]
        else:
            made.append((ready, module, pending, row))
    return tuple(made)


def _negative(row: Row) -> Row:
    return tuple(-size for size in row)


def _added_to(table: Table, element_bytes: int) -> tuple[Backward, ...]:
    """The rows of a tied embedding whose gradient is added to the head's in place: one is left when the hook runs."""
    made: list[Backward] = []
    for ready, module, pending, row in table.backward:
        padded = row + (0,) * (len(table.columns) - len(row))
        if pending:
            made.append((ready, module, "", (*padded, element_bytes)))
        made.append((ready, module, pending, (*padded, -element_bytes if pending else 0)))
    return tuple(made)


TWO_ROTARIES = frozenset({"gemma3"})
"""Families whose layers with a sliding window turn by another frequency than the others."""


def with_second_rotary(table: Table) -> Table:
    """Returns the table of a stem that makes two pairs of rotary tables; the derivation saw layers of one kind alone.

    The second pair is made after the first, and both are held as long as the blocks need them.
    """

    def twice(row: Row, kept: Row) -> Row:
        return tuple(
            size + (kept[place] if place < len(kept) and "d" in name.split("*") else 0)
            for place, (name, size) in enumerate(zip(table.columns, row, strict=False))
        )

    forward = tuple((module, row if module else twice(row, table.kept)) for module, row in table.forward)
    return table._replace(kept=twice(table.kept, table.kept), frame=twice(table.frame, table.frame), forward=forward)


def with_one_mask(table: Table) -> Table:
    """Returns the table of a stem whose mask is one for all sequences, where it was derived with padding; a plan has none.

    Windows (and Falcon) ask for a mask of s x s bytes, of which each sequence sees the same; layers without a window get none.
    While it is made there are three.
    Source: transformers ``masking_utils.py`` (``sdpa_mask``, ``and_masks``).
    """
    if "T*s" not in table.columns:
        return table
    place = table.columns.index("T*s")

    def capped(row: Row, most: int = 1) -> Row:
        return tuple(min(size, most) if at == place else size for at, size in enumerate(row))

    made = table.columns.index("s*s") if "s*s" in table.columns else place
    kept = capped(table.kept)
    return table._replace(
        columns=tuple("s*s" if name == "T*s" else name for name in table.columns),
        kept=kept,
        frame=capped(table.frame, 1 - kept[place]),
        forward=tuple((module, _while_made(capped(row), place, made)) for module, row in table.forward),
    )


def _while_made(row: Row, place: int, made: int) -> Row:
    return tuple(2 if at == made and row[place] and row[made] else size for at, size in enumerate(row))


def _missing(implementation: str, attention: Attention, mode: ComputeMode, lora: bool) -> ZplanError:
    adapters = WITH_ADAPTERS if lora else ""
    return ZplanError(
        f"there is no activation table for {implementation}{adapters} with {attention.value} attention in {mode.value} mode",
        f"try --attention {'eager' if attention is Attention.MATH else 'flash'}; or {MEASURE}"
        if attention is not Attention.FLASH
        else MEASURE,
    )


def flash_backward_scratch_bytes(block: BlockSpec, *, micro_batch: int, seq_len: int) -> int:
    """Returns what the flash-attention kernel allocates inside its backward, which no tensor outside of it shows.

    Formula: 4 T' a (d' + 1), an fp32 accumulator of the query's gradient and row sums, with s rounded up to 128 and d to a
    multiple of 32 (above 192 to 256); with grouped heads also 2 T a d 2, gradients of keys and values per query head.
    Source: FlashAttention-2, ``mha_bwd`` in ``flash_api.cpp`` as torch carries it (``dq_accum``, ``softmax_d``,
    ``dk_expanded``, ``dv_expanded``).
    Not measured here: it takes a GPU.
    """
    sizes = dict(block.dims)
    heads, kv_heads, head = sizes["a"], sizes["k"], sizes["d"]
    rounded = -(-seq_len // 128) * 128
    padded = -(-head // 32) * 32 if head <= 192 else 256
    accumulators = 4 * micro_batch * rounded * heads * (padded + 1)
    return accumulators + (4 * micro_batch * seq_len * heads * head if kv_heads < heads else 0)


def efficient_backward_scratch_bytes(block: BlockSpec, *, micro_batch: int, seq_len: int) -> int:
    """Returns what the memory-efficient kernel allocates at most inside its backward, with keys in one split.

    Formula: 3 * 4 b a s' d', fp32 accumulators of three gradients, with s and d rounded up to 128.
    Source: torch ``mem_eff_attention/kernel_backward.h`` (``workspace_elements_gq``, ``_gk``, ``_gv``).
    Not measured here: it takes a GPU.
    """
    sizes = dict(block.dims)
    tokens, head = (-(-size // 128) * 128 for size in (seq_len, sizes["d"]))
    return 12 * micro_batch * sizes["a"] * tokens * head
