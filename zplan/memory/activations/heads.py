"""Activations of the loss head: final norm, vocabulary projection and cross-entropy."""

from __future__ import annotations

from functools import lru_cache

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode, PieceMemory
from zplan.memory.activations.find import find, module_of, tables_of, variation
from zplan.memory.activations.table import Bound, bind
from zplan.spec import Loss, ModelSpec


@lru_cache(maxsize=8192)
def head_memory(model: ModelSpec, *, micro_batch: int, seq_len: int, loss: Loss, mode: ComputeMode) -> PieceMemory:
    """Returns what comes after the blocks: final norm, logits and loss, in bytes; the caller keeps the loss alone.

    Args:
        model: The model.
        micro_batch: Sequences per GPU.
        seq_len: Tokens per sequence.
        loss: How it is computed.
        mode: How weights meet activations.

    Raises:
        ZplanError: There is no table for this code.
    """
    return _bound_head(model, loss, mode).at(micro_batch, seq_len)


@lru_cache(maxsize=1024)
def _bound_head(model: ModelSpec, loss: Loss, mode: ComputeMode) -> Bound:
    block = model.block_kinds[0]
    names = [weight.name for weight in model.post]
    tables = tables_of(module_of(block.implementation), mode)
    ending = variation(block.implementation)
    tied = model.tied_embeddings and f"head tied {loss.value}" in tables
    try:
        table = find(tables, f"head{ending}", f"tied {loss.value}" if tied else loss.value, names, grouped=True)
    except KeyError:
        raise ZplanError(
            f"there is no activation table for a {loss.value} loss of {model.family} in {mode.value} mode",
            "try --loss standard",
        ) from None
    return bind(table, {"V": model.vocab_size, **dict(block.dims)}, names)
