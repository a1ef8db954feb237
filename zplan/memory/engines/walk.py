"""Walks the weights of a model in the order in which a pass meets them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

from zplan.memory.params import Layout, Tensor
from zplan.memory.timeline import LayerLevels, Level, StateKey, Track, same_level


class GradOrders(NamedTuple):
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
        return self._replace(checkpointed=(False,) * len(self.checkpointed)) if any(self.checkpointed) else self


Ready = Callable[[int, int], tuple[Level, Level]]
"""Called with a tensor's place among all parameters and its elements when its gradient is ready. Returns the level from then
until the next gradient, and the level while the gradient is handed over (without the gradient itself)."""


@lru_cache(maxsize=512)
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

    def run(sizes: list[tuple[int, int, bool]], offset: int, before: Level) -> tuple[list[Level], Level]:
        levels, current = [before], before
        for which, numel, matrix in sizes:
            after, handing_over = ready(offset + which, numel)
            if matrix:
                levels += (handing_over, after)
            else:
                # A vector's gradient is so small that no instant is kept for its hand-over: what follows stands for it.
                levels.append(handing_over if handing_over.total > after.total else after)
            current = after
        return levels, current

    variants = [
        _in_order(groups.kinds[kind].tensors, order)
        for kind, order in zip(orders.variant_kinds, orders.variants, strict=True)
    ]
    head_sizes, stem_sizes = (
        _in_order(piece.tensors, order) for piece, order in ((groups.head, orders.head), (groups.stem, orders.stem))
    )
    head, current = run(head_sizes, head_offset, start)
    layers: list[list[list[Level]]] = [[] for _ in variants]
    for index in range(len(orders.layers) - 1, -1, -1):
        variant = orders.layers[index]
        levels, current = run(variants[variant], offsets[index], current)
        layers[variant].append(levels)
    stem, _ = run(stem_sizes, 0, current)
    blocks: list[dict[StateKey, LayerLevels]] = []
    for variant, (sizes, found) in enumerate(zip(variants, layers, strict=True)):
        indices = tuple(index for index, one in enumerate(orders.layers) if one == variant)
        columns = zip(*reversed(found), strict=True)
        blocks.append({key: LayerLevels(indices, values) for key, values in zip(_keys(sizes), columns, strict=True)})
    ends = (dict(zip(_keys(sizes), levels, strict=True)) for sizes, levels in ((stem_sizes, stem), (head_sizes, head)))
    return Track("grads", next(ends), tuple(blocks), next(ends))


def _keys(sizes: list[tuple[int, int, bool]]) -> list[StateKey]:
    """States of a piece in the order in which backward comes through them: so many gradients are there, or one is handed over."""
    keys: list[StateKey] = [0]
    for count, (which, _, matrix) in enumerate(sizes, 1):
        if matrix:
            keys.append((which,))
        keys.append(count)
    return keys


@lru_cache(maxsize=1024)
def constant_track(groups: Layout, orders: GradOrders, value: Level) -> Track:
    """The same level at every instant: what most engines hold in forward."""
    return same_level(len(orders.variants), orders.layers, value)
