"""Parameter groups: the truth about P, which tensors there are, and which of them train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from math import prod
from typing import NamedTuple

from zplan.memory.activations.find import module_of
from zplan.memory.adapted import Adapter, with_adapters
from zplan.spec import Job, Lora, ModelSpec, Offload, Weight, WeightKind


class Tensor(NamedTuple):
    """One parameter tensor as an engine meets it."""

    name: str
    shape: tuple[int, ...]
    numel: int
    kind: WeightKind
    trainable: bool


class Piece(NamedTuple):
    """The parameters of one piece of the model: the stem, one block, or the head."""

    name: str
    tensors: tuple[Tensor, ...]
    numel: int
    trainable_numel: int


@dataclass(frozen=True, slots=True)
class Layout:
    """All parameters of a model in the order of ``named_parameters()``, grouped by piece."""

    stem: Piece
    kinds: tuple[Piece, ...]
    """One per kind of block."""
    layers: tuple[int, ...]
    head: Piece
    total: int
    """P: what the user said for ``--params 7B``, else the sum of the tensors (adapters not included)."""
    trainable: int
    adapters: int
    """Elements of adapter weights (trainable, and not part of P)."""
    shape_total: int
    """Sum over the tensors, without adapters."""
    largest: int
    """Elements of the largest single tensor."""
    largest_trainable: int
    tied: bool
    """The head's weight is the embedding's."""
    head_numel: int
    """Elements of the head's weight, tied or not."""

    def pieces(self) -> tuple[Piece, ...]:
        """Stem, every block in order, head."""
        return (self.stem, *(self.kinds[kind] for kind in self.layers), self.head)

    def runs(self) -> tuple[tuple[Piece, int], ...]:
        """The pieces in order, equal neighbours as one with their count."""
        return _runs(self)

    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor in the order of ``named_parameters()``."""
        return _tensors(self)

    def trainable_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the trainable tensors of each piece, every kind of block once."""
        pieces = (self.stem, *self.kinds, self.head)
        return tuple(tensor.shape for piece in pieces for tensor in piece.tensors if tensor.trainable)

    def __hash__(self) -> int:
        """By identity: layouts are cached, and hashing a thousand tensors is slow."""
        return id(self)


@lru_cache(maxsize=512)
def _runs(groups: Layout) -> tuple[tuple[Piece, int], ...]:
    return tuple((group[0], len(group)) for group in (tuple(same) for _, same in groupby(groups.pieces(), key=id)))


@lru_cache(maxsize=512)
def _tensors(groups: Layout) -> tuple[Tensor, ...]:
    return tuple(tensor for piece in groups.pieces() for tensor in piece.tensors)


def _piece(name: str, weights: tuple[Weight, ...], lora: Lora | None, family: str) -> Piece:
    tensors: list[Tensor] = []
    for item in with_adapters(weights, lora, family):
        if isinstance(item, Adapter):
            tensors += [Tensor(key, shape, prod(shape), WeightKind.LINEAR, True) for key, shape in item.matrices()]
        else:
            tensors.append(Tensor(item.name, item.shape, item.numel, item.kind, lora is None))
    return Piece(name, tuple(tensors), sum(t.numel for t in tensors), sum(t.numel for t in tensors if t.trainable))


@lru_cache(maxsize=512)
def layout(model: ModelSpec, lora: Lora | None = None) -> Layout:
    """Parameter groups of a model, with adapters where ``lora`` asks for them.

    Returns:
        The layout. Without adapters everything is trainable; with them only the adapters are (arXiv:2106.09685).
    """
    stem = _piece("stem", model.pre, lora, model.family)
    kinds = tuple(
        _piece(f"block:{kind.implementation}", kind.weights, lora, module_of(kind.implementation))
        for kind in model.block_kinds
    )
    head = _piece("head", model.post, lora, model.family)
    pieces = [stem, head, *kinds]
    all_numel = stem.numel + head.numel + sum(kinds[kind].numel for kind in model.layers)
    trained = stem.trainable_numel + head.trainable_numel + sum(kinds[kind].trainable_numel for kind in model.layers)
    adapters = trained if lora is not None else 0
    sizes = [tensor.numel for piece in pieces for tensor in piece.tensors]
    trained_sizes = [tensor.numel for piece in pieces for tensor in piece.tensors if tensor.trainable]
    return Layout(
        stem=stem,
        kinds=kinds,
        layers=model.layers,
        head=head,
        total=model.params,
        trainable=adapters if lora is not None else model.params,
        adapters=adapters,
        shape_total=all_numel - adapters,
        largest=max(sizes, default=0),
        largest_trainable=max(trained_sizes, default=0),
        tied=model.tied_embeddings,
        head_numel=max((t.numel for t in (stem if model.tied_embeddings else head).tensors), default=0),
    )


def keeps_fp32_adapters(job: Job) -> bool:
    """Whether adapters stay fp32 beside a 16-bit base at stage 3, as peft makes them.

    Offloaded parameters are copied into one flat buffer of the model's dtype, adapters with them (DeepSpeed ``stage3.py``,
    ``_create_fp16_partitions_with_defragmentation``, ``_move_to_flat_buffer``); on the GPU each keeps its own.
    Without ``zero.Init`` the engine casts the whole module first (``engine.py``, ``_configure_distributed_model``).
    """
    return job.lora is not None and job.offload is not Offload.ALL and job.zero_init is not False


def buffer_bytes(model: ModelSpec) -> int:
    """What a model's code keeps beside its weights, whole on every rank from the start.

    Formula: GPT-BigCode has a causal mask of n x n bytes for the n positions that it was made for, whichever kernel runs; all
    others have a few kilobytes, which are left out.
    Source: transformers ``modeling_gpt_bigcode.py`` (``GPTBigCodeModel``, buffer ``bias``).
    """
    return model.max_seq_len**2 if module_of(model.block_kinds[0].implementation) == "gpt_bigcode" else 0
