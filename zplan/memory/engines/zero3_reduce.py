"""Stage 3's gradients on their way into partitions: the bucket, and the copy that interleaves it for the reduce-scatter.

Source: DeepSpeed 0.19 ``runtime/zero/stage3.py`` (``reduce_independent_p_g_buckets_and_remove_grads``) and
``runtime/comm/coalesced_collectives.py`` (``reduce_scatter_coalesced``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TypeVar

from zplan.memory.activations.base import AFTER_MODULE
from zplan.memory.engines.calls import leaf_module, module_of
from zplan.memory.engines.norm import NORM_BYTES
from zplan.memory.engines.walk import GradOrders, backward_track, piece_offsets
from zplan.memory.engines.zero3_plus import quantized_reduction_bytes
from zplan.memory.moments import TermKey
from zplan.memory.params import Layout, Piece, Tensor
from zplan.memory.sharding import share, zero3_partition_numel
from zplan.memory.timeline import LATER, NOTHING, LayerLevels, Level, StateKey, Track, layer_levels, own_backward, plus

NORM_SLICE_NUMEL = 250_000_000
"""Elements of a partition whose norm is taken at once (``_constant_buffered_norm2``)."""

OFFLOADED_GRAD_BYTES = 4
"""An offloaded gradient partition is cast to fp32 on the GPU before it is copied (``_offload_grad_partition_at_boundary``)."""


class _Bucket:
    """Replays the bucket: what is copied when it is flushed, and which gradients wait outside of it."""

    def __init__(self, size: int, ranks: int, element_bytes: int, kept_bytes: int, offload: bool) -> None:
        self.size, self.ranks, self.element_bytes, self.offload = size, ranks, element_bytes, offload
        self.kept_bytes = kept_bytes
        """Of an element of what is kept for the step."""
        self.vectors: frozenset[int] | None = None
        """With quantized gradients (qgZ) the sizes of tensors of one dimension."""
        self.numels: list[int] = []
        self.elements = 0
        self.waiting = 0
        """Bytes of a gradient larger than the bucket, which keeps its own storage until the next flush."""
        self.held = 0
        """Bytes of gradients of a leaf module, which are reduced when its backward is over."""

    def flush(self) -> int:
        """Empties the bucket; returns the bytes of the interleaved copy (none for one tensor that divides evenly)."""
        padded = [zero3_partition_numel(numel, self.ranks) * self.ranks for numel in self.numels]
        alone = len(self.numels) == 1 and padded == self.numels
        copy = 0 if alone or not self.numels else self.element_bytes * sum(padded)
        if self.vectors is not None:
            matrices = [numel not in self.vectors for numel in self.numels]
            copy = quantized_reduction_bytes(self.numels, matrices, self.ranks, self.element_bytes)
        # Gradients that are kept in fp32 are all cast when they come out of the reduce-scatter (``__avg_scatter_grads``).
        wide = self.kept_bytes != self.element_bytes
        parts = self.kept_bytes * share(sum(padded), self.ranks) if wide else copy
        copy += parts if wide else 0
        if self.offload and padded:
            # A partition that goes to the host is first added up on the GPU (``partition_grads``); its norm is taken slice by
            # slice in float64, then it is cast to fp32 (``_offload_grad_partition_at_boundary``).
            numel = zero3_partition_numel(max(self.numels), self.ranks)
            cast = 0 if self.kept_bytes == OFFLOADED_GRAD_BYTES else OFFLOADED_GRAD_BYTES * numel
            cast = max(cast, NORM_BYTES * min(numel, NORM_SLICE_NUMEL))
            copy = max(copy, parts + self.kept_bytes * numel + cast)
        self.numels, self.elements = [], 0
        return copy

    def add(self, numel: int) -> tuple[Level, Level]:
        """A gradient is handed over; returns the levels after and during it, the gradient itself left out."""
        if self.elements + numel <= self.size and not self.waiting:
            self.numels.append(numel)
            self.elements += numel
            return NOTHING, NOTHING
        during = self._add(numel)
        return self.level(self.waiting), self.level(during)

    def _add(self, numel: int) -> int:
        during = self.waiting
        if self.elements and self.elements + numel > self.size:
            during += self.flush()
            self.waiting = 0
        self.numels.append(numel)
        self.elements += numel
        self.waiting += self.element_bytes * numel if numel > self.size else 0
        return during

    def add_leaf(self, numel: int, leaf: tuple[int, ...], *, last: bool) -> tuple[Level, Level]:
        """The same for a gradient of a module that DeepSpeed treats as a leaf: all of its gradients wait for its last.

        Args:
            numel: Elements of the gradient.
            leaf: Of all the module's gradients, in the order in which they are reduced.
            last: Whether this one ends the module's backward.
        """
        own, during = self.element_bytes * numel, self.waiting + self.held
        self.held += own
        if not last:
            return self.level(self.waiting + self.held), self.level(during)
        for size in leaf:
            during = max(during, self._add(size) + self.held - own)
            self.held -= self.element_bytes * size
        return self.level(self.waiting), self.level(during)

    def level(self, size: int) -> Level:
        """Bytes beyond the permanent bucket."""
        return Level(size, ((TermKey.UNSHARDED_GRADS, size),) if size else ())


@lru_cache(maxsize=1024)
def _padded(groups: Layout, ranks: int) -> bool:
    """Whether any trainable tensor's partitions are padded."""
    return any(tensor.trainable and tensor.numel % ranks for tensor in groups.tensors())


def reduction(
    groups: Layout,
    orders: GradOrders,
    bucket_numel: int,
    ranks: int,
    sizes: tuple[int, int],
    offload: bool,
    quantized: bool = False,
) -> tuple[Track, int]:
    """Levels of the reduction alone along backward, and the bytes of the last flush.

    Args:
        groups: The parameters.
        orders: In which order their gradients become ready.
        bucket_numel: ``reduce_bucket_size``.
        ranks: N.
        sizes: Bytes per element of a gradient, and of what is kept of it.
        offload: What is kept goes to the host.
        quantized: qgZ.
    """
    orders = orders.uncheckpointed()
    # The interleaved copy is as large as its tensors wherever none is padded; only what goes to the host is a share of them.
    shared = not offload and not quantized and sizes[0] == sizes[1] and not _padded(groups, ranks)
    return _reduction(groups, orders, bucket_numel, 1 if shared else ranks, sizes, offload, quantized)


@lru_cache(maxsize=1024)
def _reduction(
    groups: Layout,
    orders: GradOrders,
    bucket_numel: int,
    ranks: int,
    sizes: tuple[int, int],
    offload: bool,
    quantized: bool,
) -> tuple[Track, int]:
    bucket = _Bucket(bucket_numel, ranks, *sizes, offload)
    if quantized:
        bucket.vectors = frozenset(tensor.numel for tensor in groups.tensors() if len(tensor.shape) == 1)
    leaves: dict[int, tuple[tuple[int, ...], bool]] = {}
    found = [_leaf(groups.kinds[kind], orders.variants[variant]) for variant, kind in enumerate(orders.variant_kinds)]
    for offset, variant in zip(piece_offsets(groups)[0], orders.layers, strict=True):
        leaves.update({offset + place: leaf for place, leaf in found[variant].items()})

    def ready(position: int, numel: int) -> tuple[Level, Level]:
        leaf = leaves.get(position)
        return bucket.add(numel) if leaf is None else bucket.add_leaf(numel, leaf[0], last=leaf[1])

    track = backward_track(groups, orders, bucket.level(0), ready)
    waiting = bucket.waiting
    return track, waiting + bucket.flush()


def _leaf(piece: Piece, order: tuple[int, ...]) -> dict[int, tuple[tuple[int, ...], bool]]:
    """For each tensor of a mixture of experts (by its place) the elements of all its gradients, and whether its own is the last.

    Such a module is a leaf to DeepSpeed, whose gradients are reduced in a hook at the end of its backward
    (``stage3.py``, ``create_reduce_and_remove_grad_hooks``).
    """
    module = leaf_module(piece)
    if module is None:
        return {}
    mine = [place for place, t in enumerate(piece.tensors) if t.trainable and t.name.startswith(f"{module}.")]
    sizes = tuple(piece.tensors[place].numel for place in mine)
    last = next((place for place in reversed(order) if place in mine), None)
    return {place: (sizes, place == last) for place in mine}


@lru_cache(maxsize=1024)
def with_reduction(gathered: Track, grads: Track, groups: Layout, orders: GradOrders) -> Track:
    """Gathered parameters while a module runs and gradients that wait meanwhile; the reduction at each hand-over of a gradient."""
    sums: _Sums = {}

    def merged(
        levels: dict[StateKey, Level], found: dict[StateKey, Level], tensors: tuple[Tensor, ...], order: tuple[int, ...]
    ) -> dict[StateKey, Level]:
        one = {key: layer_levels([(0, value)]) for key, value in levels.items()}
        waits = {key: layer_levels([(0, value)]) for key, value in found.items()}
        return {key: value.values[0] for key, value in _merged(one, waits, tensors, order, sums).items()}

    blocks = []
    for variant, per_state in enumerate(gathered.blocks):
        tensors = groups.kinds[orders.variant_kinds[variant]].tensors
        blocks.append(_merged(per_state, grads.blocks[variant], tensors, orders.variants[variant], sums))
    return Track(
        "module",
        merged(dict(gathered.stem), dict(grads.stem), groups.stem.tensors, orders.stem),
        tuple(blocks),
        merged(dict(gathered.head), dict(grads.head), groups.head.tensors, orders.head),
    )


def _merged(
    levels: Mapping[StateKey, LayerLevels],
    found: Mapping[StateKey, LayerLevels],
    tensors: tuple[Tensor, ...],
    order: tuple[int, ...],
    sums: _Sums,
) -> dict[StateKey, LayerLevels]:
    """The same for one piece in all of its layers."""
    out: dict[StateKey, LayerLevels] = dict(levels) | _after_first(levels)
    outside = levels.get("") or layer_levels([(index, Level(0, ())) for index, _ in next(iter(found.values())).points])
    out.setdefault("", outside)
    out.setdefault(LATER, outside)
    waiting = {
        key: {index: value.total for index, value in one.points if value.total}
        for key, one in found.items()
        if isinstance(key, int)
    }
    if any(waiting.values()):
        spans = _spans(tensors, order)
        for key, one in out.items():
            counts = range(1)
            if isinstance(key, str) and key.endswith(LATER):
                counts = spans.get(key.removesuffix(LATER), range(max(waiting) + 1))
            out[key] = _plus(one, [waiting[count] for count in counts if count in waiting], sums)
    for key, value in found.items():
        if isinstance(key, tuple):
            running = _running(levels, tensors[key[0]]) or outside
            if not running.indices == value.indices == outside.indices:
                known = dict(running.points)
                running = layer_levels([(index, known.get(index, other)) for index, other in outside.points])
            out[key] = _plus(running, [{index: during.total for index, during in value.points if during.total}], sums)
    return out


def _plus(levels: LayerLevels, sizes: Sequence[Mapping[int, int]], sums: _Sums) -> LayerLevels:
    """Levels and the most that waits beside them, layer by layer."""
    more: dict[int, int] = {}
    for one in sizes:
        for index, size in one.items():
            more[index] = max(more.get(index, 0), size)
    if not more:
        return levels
    values = [_added(value, more.get(index, 0), sums) for index, value in levels.points]
    return LayerLevels(levels.indices, tuple(values))


_Sums = dict[tuple[int, int], tuple[Level, Level]]
"""Levels with more gradients, by level (identity; it is kept with them) and bytes: most layers hold the same."""


def _added(value: Level, size: int, sums: _Sums) -> Level:
    """A level with gradients that wait."""
    if not size:
        return value
    known = sums.get((id(value), size))
    if known is None:
        known = sums[id(value), size] = value, plus(value, TermKey.UNSHARDED_GRADS, size)
    return known[1]


@lru_cache(maxsize=1024)
def _spans(tensors: tuple[Tensor, ...], order: tuple[int, ...]) -> dict[str, range]:
    """How many of a piece's gradients can be ready while a module runs backward, and in code between it and the next."""
    trained = [tensors[which] for which in order if tensors[which].trainable]
    first: dict[str, int] = {}
    last: dict[str, int] = {}
    for count, tensor in enumerate(trained):
        if len(tensor.shape) > 1:
            first.setdefault(module_of(tensor.name), count)
            last[module_of(tensor.name)] = count
    if not first:
        return {}
    ends = [*sorted(first.values())[1:], len(trained)]
    spans = {}
    for (module, count), end in zip(sorted(first.items(), key=lambda item: item[1]), ends, strict=True):
        spans[module] = range(count, last[module] + 1)
        spans[f"{AFTER_MODULE}{module}"] = range(count, end + 1)
    return spans


_Value = TypeVar("_Value")


def _after_first(levels: Mapping[StateKey, _Value]) -> dict[StateKey, _Value]:
    """Levels of modules that run once a gradient of their piece is ready: not those of recomputation."""
    return {
        f"{key}{LATER}": levels.get(own_backward(key), value)
        for key, value in levels.items()
        if isinstance(key, str) and key not in ("", LATER) and key[0] != "-"
    }


def _running(levels: Mapping[StateKey, _Value], tensor: Tensor) -> _Value | None:
    """What is held while the module of a tensor runs backward."""
    module = tensor.name.rpartition(".")[0]
    return levels.get(own_backward(module)) or levels.get(module)
