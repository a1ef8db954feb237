"""Parameter groups: the truth about P, which tensors there are, and which of them train."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from zplan.spec import Lora, ModelSpec, Weight, WeightKind

ADAPTABLE = (WeightKind.LINEAR, WeightKind.CONV1D, WeightKind.ROUTER)
"""Kinds that peft's ``all-linear`` turns into adapters: ``nn.Linear`` and ``Conv1D`` modules, not stacked experts, not the head."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One parameter tensor as an engine meets it."""

    name: str
    shape: tuple[int, ...]
    numel: int
    kind: WeightKind
    trainable: bool


@dataclass(frozen=True, slots=True)
class Piece:
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

    def tensors(self) -> tuple[Tensor, ...]:
        """Every tensor in the order of ``named_parameters()``."""
        return tuple(tensor for piece in self.pieces() for tensor in piece.tensors)

    def trainable_shapes(self) -> tuple[tuple[int, ...], ...]:
        """Shapes of the trainable tensors of each piece, every kind of block once."""
        pieces = (self.stem, *self.kinds, self.head)
        return tuple(tensor.shape for piece in pieces for tensor in piece.tensors if tensor.trainable)

    def __hash__(self) -> int:
        """By identity: layouts are cached, and hashing a thousand tensors is slow."""
        return id(self)


def _adapter_tensors(weight: Weight, lora: Lora) -> tuple[Tensor, Tensor]:
    """A (rank x in) and B (out x rank) of one adapted weight, as peft names them (arXiv:2106.09685)."""
    fan_out, fan_in = weight.shape if weight.kind is not WeightKind.CONV1D else weight.shape[::-1]
    stem = weight.name.removesuffix(".weight")
    return (
        Tensor(f"{stem}.lora_A.default.weight", (lora.rank, fan_in), lora.rank * fan_in, WeightKind.LINEAR, True),
        Tensor(f"{stem}.lora_B.default.weight", (fan_out, lora.rank), lora.rank * fan_out, WeightKind.LINEAR, True),
    )


def is_adapted(weight: Weight, lora: Lora | None) -> bool:
    """Whether peft puts an adapter on this weight."""
    if lora is None or weight.kind not in ADAPTABLE or len(weight.shape) != 2:
        return False
    if lora.targets == ("all-linear",):
        return True
    module = weight.name.removesuffix(".weight")
    return any(module == target or module.endswith(f".{target}") for target in lora.targets)


def _piece(name: str, weights: tuple[Weight, ...], lora: Lora | None) -> Piece:
    tensors: list[Tensor] = []
    for weight in weights:
        tensors.append(Tensor(weight.name, weight.shape, weight.numel, weight.kind, lora is None))
        if is_adapted(weight, lora) and lora is not None:
            tensors.extend(_adapter_tensors(weight, lora))
    return Piece(name, tuple(tensors), sum(t.numel for t in tensors), sum(t.numel for t in tensors if t.trainable))


@lru_cache(maxsize=512)
def layout(model: ModelSpec, lora: Lora | None = None) -> Layout:
    """Parameter groups of a model, with adapters where ``lora`` asks for them.

    Returns:
        The layout. Without adapters everything is trainable; with them only the adapters are (arXiv:2106.09685).
    """
    stem = _piece("stem", model.pre, lora)
    kinds = tuple(_piece(f"block:{kind.implementation}", kind.weights, lora) for kind in model.block_kinds)
    head = _piece("head", model.post, lora)
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
