"""Walks the weights of a model in the order in which a pass meets them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from zplan.memory.params import Layout, Tensor
from zplan.memory.timeline import LayerLevels, Level, StateKey, Track, layer_levels, pending_key


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
    groups: Layout, orders: GradOrders, start: Level, ready: Callable[[GradEvent], tuple[Level, Level]]
) -> tuple[Track, Level]:
    """Levels along backward of an engine whose bytes follow the gradients.

    Args:
        groups: The parameters.
        orders: Gradient order per piece.
        start: Level before the first gradient.
        ready: Called once per gradient in order; returns the level from then until the next gradient, and the level while
            the gradient is handed over (without the gradient itself).

    Returns:
        The track, keyed by ``grads_ready``, and the level after the last gradient.
    """
    offsets, head_offset = piece_offsets(groups)

    def run(
        tensors: tuple[Tensor, ...], order: tuple[int, ...], offset: int, current: Level
    ) -> Iterator[tuple[StateKey, Level]]:
        yield 0, current
        count = 0
        for which in order:
            if tensors[which].trainable:
                count += 1
                after, handing_over = ready(GradEvent(tensors[which], offset + which))
                if len(tensors[which].shape) > 1:
                    yield pending_key(which), handing_over
                elif handing_over.total > after.total:
                    # A vector's gradient is so small that no instant is kept for its hand-over: what follows stands for it.
                    yield count, handing_over
                yield count, after

    head: dict[StateKey, Level] = {}
    current = start
    for key, value in run(groups.head.tensors, orders.head, head_offset, current):
        head[key] = max(head.get(key, value), value, key=_total)
        current = value if isinstance(key, int) else current
    collected: list[dict[StateKey, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    for index in range(len(orders.layers) - 1, -1, -1):
        variant = orders.layers[index]
        tensors = groups.kinds[orders.variant_kinds[variant]].tensors
        for key, value in run(tensors, orders.variants[variant], offsets[index], current):
            points = collected[variant].setdefault(key, [])
            if points and points[-1][0] == index:
                points[-1] = (index, max(points[-1][1], value, key=_total))
            else:
                points.append((index, value))
            current = value if isinstance(key, int) else current
    stem: dict[StateKey, Level] = {}
    for key, value in run(groups.stem.tensors, orders.stem, 0, current):
        stem[key] = max(stem.get(key, value), value, key=_total)
        current = value if isinstance(key, int) else current
    blocks: list[dict[StateKey, LayerLevels]] = [
        {key: layer_levels(points) for key, points in per_key.items()} for per_key in collected
    ]
    return Track("grads", stem, tuple(blocks), head), current


def _total(value: Level) -> int:
    return value.total


def constant_track(groups: Layout, orders: GradOrders, value: Level) -> Track:
    """The same level at every instant: what most engines hold in forward."""
    per_variant: list[list[tuple[int, Level]]] = [[] for _ in orders.variants]
    for index, variant in enumerate(orders.layers):
        per_variant[variant].append((index, value))
    blocks: list[dict[StateKey, LayerLevels]] = [{0: layer_levels(points)} for points in per_variant]
    return Track("any", {0: value}, tuple(blocks), {0: value})
