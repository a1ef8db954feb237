"""Activations of the loss head: final norm, vocabulary projection and cross-entropy."""

from __future__ import annotations

from functools import lru_cache

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode, PieceMemory
from zplan.memory.activations.find import find, module_of, tables_of, variation
from zplan.memory.activations.table import Bound, bind
from zplan.spec import Loss, ModelSpec

CHUNKS = 8
"""Parts into which a chunked loss splits the tokens (torchtune's ``CEWithChunkedOutputLoss`` by default)."""


def chunk_tokens(model: ModelSpec, loss: Loss, tokens: int) -> int:
    """Returns how many tokens' logits a loss holds at once.

    Formula: chunked T / 8; fused the next power of two of T / ceil(V / h).
    Source: torchtune ``CEWithChunkedOutputLoss``; Liger-Kernel ``ops/fused_linear_cross_entropy.py``.
    """
    if loss is Loss.STANDARD:
        return 0
    if loss is Loss.CHUNKED:
        return -(-tokens // CHUNKS)
    share = -(-tokens // -(-model.vocab_size // model.hidden_size))
    return min(1 << (share - 1).bit_length(), tokens)


@lru_cache(maxsize=8192)
def head_memory(
    model: ModelSpec, *, micro_batch: int, seq_len: int, loss: Loss, mode: ComputeMode, lora: int = 0
) -> PieceMemory:
    """Returns what comes after the blocks: final norm, logits and loss, in bytes; the caller keeps the loss alone.

    Args:
        model: The model.
        micro_batch: Sequences per GPU.
        seq_len: Tokens per sequence.
        loss: How it is computed.
        mode: How weights meet activations.
        lora: Rank of adapters, 0 without; norm and head are then frozen.

    Raises:
        ZplanError: There is no table for this code.
    """
    return _bound_head(model, loss, mode, bool(lora)).at(
        micro_batch, seq_len, chunk_tokens(model, loss, micro_batch * seq_len)
    )


@lru_cache(maxsize=1024)
def _bound_head(model: ModelSpec, loss: Loss, mode: ComputeMode, lora: bool) -> Bound:
    block = model.block_kinds[0]
    names = [weight.name for weight in model.post]
    tables = tables_of(module_of(block.implementation), mode, lora)
    ending = variation(block.implementation)
    tied = model.tied_embeddings and f"head tied {loss.value}" in tables
    # OPT lists its final norm before its blocks.
    known = names + [weight.name for weight in model.pre]
    try:
        table = find(tables, f"head{ending}", f"tied {loss.value}" if tied else loss.value, known, grouped=True)
    except KeyError:
        raise ZplanError(
            f"there is no activation table for a {loss.value} loss of {model.family} in {mode.value} mode",
            "try --loss standard",
        ) from None
    return bind(table, {"V": model.vocab_size, **dict(block.dims)}, names, frozen=lora)
