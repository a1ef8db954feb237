"""Frozen base weights in 4 or 8 bits (QLoRA): what they take, what is sharded and what is not.

Weights are packed into tensors of the engine's own element size, so that sharding and gathering treat them as any other
tensor; the blocks' constants belong to no parameter, and every rank holds all of them. A layer runs on a 16-bit copy of its
weight that lives as long as the product does, in forward and again in backward (bitsandbytes ``autograd/_functions.py``,
``MatMul4Bit``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from zplan.memory.engines.base import EngineMemory
from zplan.memory.moments import TermKey
from zplan.memory.params import Layout, Piece, Tensor
from zplan.memory.renamed import renamed
from zplan.spec import Quantize, WeightKind

BLOCK = 64
"""Weights per constant (bitsandbytes ``functional.py``, ``quantize_4bit``)."""
SECOND_BLOCK = 256
"""Constants per constant of their own with double quantisation (the same)."""
QUANTIZED_KINDS = (WeightKind.LINEAR, WeightKind.CONV1D)
"""What transformers replaces: linear layers, not the head (``integrations/bitsandbytes.py``)."""


def packed_bytes(quantize: Quantize, numel: int) -> int:
    """Bytes of the packed weights alone: half a byte or one per weight."""
    return numel if quantize is Quantize.INT8 else -(-numel // 2)


def constant_bytes(quantize: Quantize, shape: tuple[int, ...], numel: int) -> int:
    """Bytes of the constants that turn packed weights back.

    Formula: nf4 4 per 64 weights (with the weights 0.5625 B each); double quantisation 1 per 64 and 4 per 64 * 256 (0.516 B);
    int8 4 per output row.
    Source: arXiv:2305.14314 section 3; bitsandbytes ``functional.py`` (``quantize_4bit``, ``int8_vectorwise_quant``).
    """
    if quantize is Quantize.INT8:
        return 4 * shape[0]
    blocks = -(-numel // BLOCK)
    return 4 * blocks if quantize is Quantize.NF4 else blocks + 4 * -(-blocks // SECOND_BLOCK)


def is_quantized(tensor: Tensor) -> bool:
    """Whether a tensor of a block is packed: matrices of frozen linear layers."""
    return not tensor.trainable and tensor.kind in QUANTIZED_KINDS and len(tensor.shape) == 2


def _packed(piece: Piece, quantize: Quantize, element_bytes: int) -> Piece:
    tensors = []
    for tensor in piece.tensors:
        if is_quantized(tensor):
            numel = -(-packed_bytes(quantize, tensor.numel) // element_bytes)
            tensors.append(tensor._replace(shape=(numel, 1), numel=numel))
        else:
            tensors.append(tensor)
    return piece._replace(tensors=tuple(tensors), numel=sum(tensor.numel for tensor in tensors))


@lru_cache(maxsize=256)
def quantized_layout(
    groups: Layout, quantize: Quantize, element_bytes: int, *, with_head: bool = False
) -> tuple[Layout, int, int]:
    """Packs the base weights of all blocks.

    Args:
        groups: The parameters, with adapters.
        quantize: Number format.
        element_bytes: Of the tensors that hold the packed bytes (``bnb_4bit_quant_storage``), which engines count in.
        with_head: The head is packed as well (transformers leaves it alone, Lightning does not).

    Returns:
        The layout with smaller tensors; bytes of all packed weights; bytes of their constants.
    """
    kinds = tuple(_packed(kind, quantize, element_bytes) for kind in groups.kinds)
    packed = constants = 0
    for index in groups.layers:
        for tensor in groups.kinds[index].tensors:
            if is_quantized(tensor):
                packed += packed_bytes(quantize, tensor.numel)
                constants += constant_bytes(quantize, tensor.shape, tensor.numel)
    head = groups.head
    if with_head:
        tensors = tuple(t._replace(kind=WeightKind.LINEAR) if t.kind is WeightKind.HEAD else t for t in head.tensors)
        packed += sum(packed_bytes(quantize, t.numel) for t in tensors if is_quantized(t))
        constants += sum(constant_bytes(quantize, t.shape, t.numel) for t in tensors if is_quantized(t))
        head = _packed(head._replace(tensors=tensors), quantize, element_bytes)
    saved = groups.head.numel - head.numel
    saved += sum(groups.kinds[index].numel - kinds[index].numel for index in groups.layers)
    # ``--params`` may name fewer than the borrowed shape has: then as much less is packed, and less is saved.
    named_total, whole = min(groups.total, groups.shape_total), groups.shape_total
    smaller = replace(
        groups,
        kinds=kinds,
        head=head,
        total=groups.total - saved * named_total // whole,
        shape_total=whole - saved,
    )
    return smaller, packed * named_total // whole, constants * named_total // whole


def named(memory: EngineMemory, packed: int, constants: int) -> EngineMemory:
    """Moves packed weights from ``params`` to a term of their own, with their constants.

    Args:
        memory: An engine's side of a plan whose tensors are packed.
        packed: Bytes of packed weights that this rank keeps in ``params``.
        constants: Bytes of constants, on every rank.
    """

    def change(name: str, old: Mapping[str, int]) -> dict[str, int]:
        moved = min(packed, old.get(TermKey.PARAMS, 0))
        return {
            **old,
            TermKey.PARAMS: old.get(TermKey.PARAMS, 0) - moved,
            TermKey.QUANTIZED_PARAMS: old.get(TermKey.QUANTIZED_PARAMS, 0) + moved + constants,
        }

    return renamed(memory, change)
