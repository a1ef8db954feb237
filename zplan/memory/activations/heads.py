"""Activations of the loss head: final norm, vocabulary projection and cross-entropy."""

from __future__ import annotations

from functools import lru_cache

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode, PieceMemory
from zplan.memory.activations.find import WITH_ADAPTERS, code_kind, find, module_of, tables_of, variation
from zplan.memory.activations.pieces import outer_sizes
from zplan.memory.activations.table import Backward, Bound, Row, Table, bind
from zplan.spec import Loss, ModelSpec

CHUNKS = 8
"""Parts into which a chunked loss splits the tokens (torchtune's ``CEWithChunkedOutputLoss`` by default)."""


def chunk_tokens(model: ModelSpec, loss: Loss, tokens: int) -> int:
    """Returns how many tokens' logits a loss holds at once.

    Formula: chunked T / 8; fused the next power of two of T / ceil(V / h).
    Source: torchtune ``CEWithChunkedOutputLoss``; Liger-Kernel ``ops/fused_linear_cross_entropy.py``.
    """
    if loss in (Loss.STANDARD, Loss.IN_PLACE):
        return 0
    if loss is Loss.CHUNKED:
        return -(-tokens // CHUNKS)
    share = -(-tokens // -(-model.vocab_size // model.hidden_size))
    return min(1 << (share - 1).bit_length(), tokens)


IN_PLACE_BYTES = 8
"""Bytes per logit with a kernel that writes the gradient over its input: the fp32 logits and their shifted copy, then the
gradient (in the copy) and its padded form (transformers up to 4.44 shifts the logits; fms-acceleration's Triton kernel)."""


def in_place(table: Table) -> Table:
    """Returns the head of such a kernel: no log-softmax and no gradient of its own beside the logits."""
    logits = tuple(name == "T*V" for name in table.columns)

    def capped(row: Row) -> Row:
        return tuple(min(size, IN_PLACE_BYTES) if big else size for size, big in zip(row, logits, strict=False))

    return table._replace(
        forward=tuple((module, capped(row)) for module, row in table.forward),
        backward=tuple((ready, module, pending, capped(row)) for ready, module, pending, row in table.backward),
    )


HEAD_MODULE = "lm_head"
HEAD_WEIGHT = f"{HEAD_MODULE}.weight"


def with_head_module(tied: Table, own: Table) -> Table:
    """Returns the table of a tied head that says when the head's matrix is used.

    In a tied model that matrix bears the embedding's name, so that the derivation sees code outside of modules there. Forward is
    taken from the head that has a matrix of its own; in backward it is where the logits' gradient is left and the matrix's is made.
    """
    places = {name: place for place, name in enumerate(tied.columns)}
    logits, gradient = places.get("T*V"), places.get("h*V")

    def module(ready: int, name: str, row: Row) -> str:
        known = logits is not None and gradient is not None and not ready
        return HEAD_MODULE if known and row[logits or 0] and row[gradient or 0] else name

    before = (0,) * len(tied.columns)
    return tied._replace(
        columns=(*tied.columns, *own.columns),
        forward=tuple((name, before + row) for name, row in own.forward),
        backward=tuple((ready, module(ready, name, row), pending, row) for ready, name, pending, row in tied.backward),
    )


def with_forward_of(tied: Table, own: Table) -> Table:
    """Returns the table of a tied head whose loss is in parts, with the forward of one that names the head's matrix."""
    before = (0,) * len(tied.columns)
    forward = tuple((name, before + row) for name, row in own.forward)
    return tied._replace(columns=(*tied.columns, *own.columns), forward=forward)


GRADIENT_BYTES = 2


def handed_over_last(table: Table) -> Table:
    """Returns the table of a head whose gradient is handed over when that of the logits is gone.

    One node makes the gradients of the matrix and of its input from the logits'; hooks of the matrix run after that node, which
    has let go of what it was given. What an engine's hook needs so does not meet the logits' gradient.
    """
    places = [place for place, name in enumerate(table.columns) if name == "T*V"]
    backward: list[Backward] = []
    for ready, module, pending, row in table.backward:
        if module == HEAD_MODULE and pending == HEAD_WEIGHT:
            padded = row + (0,) * (len(table.columns) - len(row))
            backward.append((ready, module, "", (*padded, GRADIENT_BYTES)))
            without = tuple(0 if place in places else size for place, size in enumerate(row))
            backward.append((ready, module, pending, without))
        else:
            backward.append((ready, module, pending, row))
    return table._replace(columns=(*table.columns, "h*V"), backward=tuple(backward))


def handed_over_once(table: Table, element_bytes: int) -> Table:
    """Returns the table of a chunked loss whose matrix's gradient is handed over when the last chunk is done.

    Until then the sum of the chunks so far is autograd's alone: no hook runs beside a chunk's logits or its own gradient.
    """
    places = {place for place, name in enumerate(table.columns) if name in ("h*V", "c*V")}
    (gradient,) = (place for place, name in enumerate(table.columns) if name == "h*V")
    backward: list[Backward] = []
    last: Backward | None = None
    for ready, module, pending, row in table.backward:
        if pending == HEAD_WEIGHT:
            padded = row + (0,) * (len(table.columns) - len(row))
            summed = tuple(size + (element_bytes if place == gradient else 0) for place, size in enumerate(padded))
            backward.append((ready, module, "", summed))
            last = (ready, module, pending, tuple(0 if place in places else n for place, n in enumerate(padded)))
            continue
        if last is not None:
            backward.append(last)
            last = None
        backward.append((ready, module, pending, row))
    return table._replace(backward=tuple(backward if last is None else [*backward, last]))


def summed_in_place(table: Table, element_bytes: int) -> Table:
    """Returns the table of a chunked loss whose chunks' gradients of the matrix are added in place.

    Elsewhere the sum of two chunks' gradients is a third tensor while it is made: autograd adds in place only to what nobody
    else holds.
    """
    places = [place for place, name in enumerate(table.columns) if name == "h*V"]

    def fewer(row: Row, most: int) -> Row:
        return tuple(
            size - element_bytes if place in places and size >= most * element_bytes else size
            for place, size in enumerate(row)
        )

    # A matrix of the head's own is pending beside the two; that of a tied head is among the three.
    rows = tuple((ready, name, which, fewer(row, 2 if which else 3)) for ready, name, which, row in table.backward)
    return table._replace(backward=rows)


@lru_cache(maxsize=8192)
def head_memory(
    model: ModelSpec,
    *,
    micro_batch: int,
    seq_len: int,
    loss: Loss,
    mode: ComputeMode,
    lora: int = 0,
    in_place: bool = False,
) -> PieceMemory:
    """Returns what comes after the blocks: final norm, logits and loss, in bytes; the caller keeps the loss alone.

    Args:
        model: The model.
        micro_batch: Sequences per GPU.
        seq_len: Tokens per sequence.
        loss: How it is computed.
        mode: How weights meet activations.
        lora: Rank of adapters, 0 without; norm and head are then frozen.
        in_place: The engine's linear layers hand over gradients that autograd can add to.

    Raises:
        ZplanError: There is no table for this code.
    """
    return _bound_head(model, loss, mode, bool(lora), in_place and loss is Loss.CHUNKED).at(
        micro_batch, seq_len, chunk_tokens(model, loss, micro_batch * seq_len)
    )


@lru_cache(maxsize=1024)
def _bound_head(model: ModelSpec, loss: Loss, mode: ComputeMode, lora: bool, added: bool) -> Bound:
    block = model.block_kinds[0]
    names = [weight.name for weight in model.post]
    tables = tables_of(module_of(block.implementation), mode, lora)
    ending, kind = variation(block.implementation), code_kind(block.implementation)
    way = Loss.STANDARD.value if loss is Loss.IN_PLACE else loss.value
    tied = model.tied_embeddings and f"head tied {way}" in tables
    # OPT lists its final norm before its blocks.
    known = names + [weight.name for weight in model.pre]
    piece = f"head{kind}{ending}" if f"head{kind}{ending} {way}" in tables else f"head{ending}"
    try:
        table = find(tables, piece, f"tied {way}" if tied else way, known, grouped=True)
    except KeyError:
        adapters = WITH_ADAPTERS if lora else ""
        raise ZplanError(
            f"there is no activation table for a {loss.value} loss of {model.family}{adapters} in {mode.value} mode",
            "try --loss standard",
        ) from None
    if tied:
        own = find(tables, f"head{ending}", way, [*known, HEAD_WEIGHT], grouped=True)
        table = with_head_module(table, own) if way == Loss.STANDARD.value else with_forward_of(table, own)
    if loss is Loss.IN_PLACE:
        table = in_place(table)
    each = 4 if mode in (ComputeMode.FP32, ComputeMode.AUTOCAST) else 2
    if added:
        table = summed_in_place(table, each)
    if loss is Loss.CHUNKED and any(pending == HEAD_WEIGHT for _, _, pending, _ in table.backward):
        table = handed_over_once(table, each)
    if mode is ComputeMode.CAST and way == Loss.STANDARD.value:
        table = handed_over_last(table)
    return bind(table, {**outer_sizes(model), **dict(block.dims)}, names, frozen=lora)
