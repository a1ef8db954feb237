"""Walks the weights of a model in the order in which a pass meets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache

from zplan.memory.params import Layout, Tensor
from zplan.memory.timeline import LayerLevels, Level, StateKey, Track, layer_levels, same_level


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

    def uncheckpointed(self) -> GradOrders:
        """The same without recomputation, for what doesn't depend on it."""
        return replace(self, checkpointed=(False,) * len(self.checkpointed)) if any(self.checkpointed) else self


Ready = Callable[[int, int], tuple[Level, Level]]
"""Called with a tensor's place among all parameters and its elements when its gradient is ready. Returns the level from then
until the next gradient, and the level while the gradient is handed over (without the gradient itself)."""


def piece_offsets(groups: Layout) -> tuple[tuple[int, ...], int]:
    """Index of each layer's first tensor among all parameters, and of the head's."""
    position = len(groups.stem.tensors)
    offsets = []
    for kind in groups.layers:
        offsets.append(position)
        position += len(groups.kinds[kind].tensors)
    return tuple(offsets), position


def _in_order(tensors: tuple[Tensor, ...], order: tuple[int, ...]) -> list[tuple[int, int, bool]]:
    """(index, elements, whether it is a matrix) of the trainable tensors, as their gradients become ready."""
    chosen = [(which, tensors[which]) for which in order]
    return [(which, tensor.numel, len(tensor.shape) > 1) for which, tensor in chosen if tensor.trainable]


def backward_track(groups: Layout, orders: GradOrders, start: Level, ready: Ready) -> Track:
    """Levels along backward of an engine whose bytes follow the gradients.

    Args:
        groups: The parameters.
        orders: Gradient order per piece.
        start: Level before the first gradient.
        ready: Called once per gradient in order.

    Returns:
        The track, keyed by ``grads_ready``.
    """
    offsets, head_offset = piece_offsets(groups)

    def run(levels: dict[StateKey, Level], sizes: list[tuple[int, int, bool]], offset: int, current: Level) -> Level:
        levels[0] = current
        count = 0
        for which, numel, matrix in sizes:
            count += 1
            after, handing_over = ready(offset + which, numel)
            if matrix:
                levels[which,] = handing_over
            elif handing_over.total > after.total:
                # A vector's gradient is so small that no instant is kept for its hand-over: what follows stands for it.
                levels[count] = handing_over
                current = after
                continue
            levels[count] = current = after
        return current

    variants = [
        _in_order(groups.kinds[kind].tensors, order)
        for kind, order in zip(orders.variant_kinds, orders.variants, strict=True)
    ]
    head: dict[StateKey, Level] = {}
    current = run(head, _in_order(groups.head.tensors, orders.head), head_offset, start)
    collected: list[dict[StateKey, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    for index in range(len(orders.layers) - 1, -1, -1):
        variant = orders.layers[index]
        found: dict[StateKey, Level] = {}
        current = run(found, variants[variant], offsets[index], current)
        points = collected[variant]
        for key, value in found.items():
            points.setdefault(key, []).append((index, value))
    stem: dict[StateKey, Level] = {}
    run(stem, _in_order(groups.stem.tensors, orders.stem), 0, current)
    blocks: list[dict[StateKey, LayerLevels]] = [
        {key: layer_levels(points) for key, points in per_key.items()} for per_key in collected
    ]
    return Track("grads", stem, tuple(blocks), head)


@lru_cache(maxsize=1024)
def constant_track(groups: Layout, orders: GradOrders, value: Level) -> Track:
    """The same level at every instant: what most engines hold in forward."""
    return same_level(len(orders.variants), orders.layers, value)
