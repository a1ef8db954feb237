"""Walks the weights of a model in the order in which a pass meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from zplan.memory.params import Layout, Tensor
from zplan.memory.timeline import LayerLevels, Level, Track, layer_levels


@dataclass(frozen=True, slots=True)
class GradOrders:
    """In which order each piece's weight gradients become ready (indices into the piece's tensors)."""

    stem: tuple[int, ...]
    variants: tuple[tuple[int, ...], ...]
    """One per variant of block."""
    head: tuple[int, ...]
    variant_kinds: tuple[int, ...]
    """Kind of block of each variant."""
    layers: tuple[int, ...]
    """Variant of each layer."""
    checkpointed: tuple[bool, ...]
    """For each variant whether its blocks are recomputed in backward."""


@dataclass(frozen=True, slots=True)
class GradEvent:
    """One weight's gradient becomes ready."""

    tensor: Tensor
    index: int
    """Position of the tensor among all parameters."""


def piece_offsets(groups: Layout) -> tuple[tuple[int, ...], int]:
    """Index of each layer's first tensor among all parameters, and of the head's."""
    position = len(groups.stem.tensors)
    offsets = []
    for kind in groups.layers:
        offsets.append(position)
        position += len(groups.kinds[kind].tensors)
    return tuple(offsets), position


def backward_track(
    groups: Layout, orders: GradOrders, start: Level, ready: Callable[[GradEvent], Level]
) -> tuple[Track, Level]:
    """Levels along backward of an engine whose bytes follow the gradients.

    Args:
        groups: The parameters.
        orders: Gradient order per piece.
        start: Level before the first gradient.
        ready: Called once per gradient in order; returns the level from then until the next gradient.

    Returns:
        The track, keyed by ``grads_ready``, and the level after the last gradient.
    """
    offsets, head_offset = piece_offsets(groups)

    def run(
        tensors: tuple[Tensor, ...], order: tuple[int, ...], offset: int, current: Level
    ) -> Iterator[tuple[int, Level]]:
        yield 0, current
        count = 0
        for which in order:
            if tensors[which].trainable:
                count += 1
                yield count, ready(GradEvent(tensors[which], offset + which))

    head: dict[str | int, Level] = {}
    current = start
    for count, current in run(groups.head.tensors, orders.head, head_offset, current):
        head[count] = current
    collected: list[dict[int, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    for index in range(len(orders.layers) - 1, -1, -1):
        variant = orders.layers[index]
        tensors = groups.kinds[orders.variant_kinds[variant]].tensors
        for count, current in run(tensors, orders.variants[variant], offsets[index], current):
            collected[variant].setdefault(count, []).append((index, current))
    stem: dict[str | int, Level] = {}
    for count, current in run(groups.stem.tensors, orders.stem, 0, current):
        stem[count] = current
    blocks: list[dict[str | int, LayerLevels]] = [
        {count: layer_levels(points) for count, points in per_count.items()} for per_count in collected
    ]
    return Track(False, stem, tuple(blocks), head), current


def constant_track(groups: Layout, orders: GradOrders, value: Level) -> Track:
    """The same level at every instant: what most engines hold in forward."""
    per_variant: list[list[tuple[int, Level]]] = [[] for _ in orders.variants]
    for index, variant in enumerate(orders.layers):
        per_variant[variant].append((index, value))
    blocks: list[dict[str | int, LayerLevels]] = []
    for variant, points in enumerate(per_variant):
        levels = layer_levels(points)
        blocks.append({count: levels for count in range(len(orders.variants[variant]) + 1)})
    stem: dict[str | int, Level] = {count: value for count in range(len(groups.stem.tensors) + 1)}
    head: dict[str | int, Level] = {count: value for count in range(len(groups.head.tensors) + 1)}
    return Track(False, stem, tuple(blocks), head)
