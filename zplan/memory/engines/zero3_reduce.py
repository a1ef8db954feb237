"""Stage 3's gradients on their way into partitions: the bucket, and the copy that interleaves it for the reduce-scatter.

Source: DeepSpeed 0.19 ``runtime/zero/stage3.py`` (``reduce_independent_p_g_buckets_and_remove_grads``) and
``runtime/comm/coalesced_collectives.py`` (``reduce_scatter_coalesced``).
"""

from __future__ import annotations

from zplan.memory.engines.norm import NORM_BYTES
from zplan.memory.engines.walk import GradEvent, GradOrders, backward_track
from zplan.memory.engines.zero3_plus import quantized_reduction_bytes
from zplan.memory.moments import TermKey
from zplan.memory.params import Layout, Tensor
from zplan.memory.sharding import zero3_partition_numel
from zplan.memory.timeline import LATER, LayerLevels, Level, StateKey, Track, layer_levels, plus

NORM_SLICE_NUMEL = 250_000_000
"""Elements of a partition whose norm is taken at once (``_constant_buffered_norm2``)."""

OFFLOADED_GRAD_BYTES = 4
"""An offloaded gradient partition is cast to fp32 on the GPU before it is copied (``_offload_grad_partition_at_boundary``)."""


class _Bucket:
    """Replays the bucket: what is copied when it is flushed, and which gradients wait outside of it."""

    def __init__(self, size: int, ranks: int, element_bytes: int, offload: bool, quantized: bool = False) -> None:
        self.size, self.ranks, self.element_bytes, self.offload = size, ranks, element_bytes, offload
        self.quantized = quantized
        """qgZ."""
        self.matrices: list[bool] = []
        self.numels: list[int] = []
        self.elements = 0
        self.waiting = 0
        """Bytes of a gradient larger than the bucket, which keeps its own storage until the next flush."""

    def flush(self) -> int:
        """Empties the bucket; returns the bytes of the interleaved copy (none for one tensor that divides evenly)."""
        padded = [zero3_partition_numel(numel, self.ranks) * self.ranks for numel in self.numels]
        alone = len(self.numels) == 1 and padded == self.numels
        copy = 0 if alone or not self.numels else self.element_bytes * sum(padded)
        if self.quantized:
            copy = quantized_reduction_bytes(self.numels, self.matrices, self.ranks, self.element_bytes)
            self.matrices = []
        if self.offload and padded:
            # A partition that goes to the host is first added up on the GPU (``partition_grads``); its norm is taken slice by
            # slice in float64, then it is cast to fp32 (``_offload_grad_partition_at_boundary``).
            numel = zero3_partition_numel(max(self.numels), self.ranks)
            cast = max(OFFLOADED_GRAD_BYTES * numel, NORM_BYTES * min(numel, NORM_SLICE_NUMEL))
            copy += self.element_bytes * numel + cast
        self.numels, self.elements = [], 0
        return copy

    def add(self, numel: int) -> tuple[Level, Level]:
        """A gradient is handed over; returns the levels after and during it, the gradient itself left out."""
        during = self.waiting
        if self.elements and self.elements + numel > self.size:
            during += self.flush()
            self.waiting = 0
        self.numels.append(numel)
        self.elements += numel
        self.waiting += self.element_bytes * numel if numel > self.size else 0
        return self.level(self.waiting), self.level(during)

    def level(self, size: int) -> Level:
        """Bytes beyond the permanent bucket."""
        return Level(size, ((TermKey.UNSHARDED_GRADS, size),) if size else ())


def reduction(
    groups: Layout,
    orders: GradOrders,
    bucket_numel: int,
    ranks: int,
    element_bytes: int,
    offload: bool,
    quantized: bool = False,
) -> tuple[Track, int]:
    """Levels of the reduction alone along backward, and the bytes of the last flush."""
    bucket = _Bucket(bucket_numel, ranks, element_bytes, offload, quantized)

    def ready(event: GradEvent) -> tuple[Level, Level]:
        levels = bucket.add(event.tensor.numel)
        if quantized:
            bucket.matrices.append(len(event.tensor.shape) > 1)
        return levels

    track, _ = backward_track(groups, orders, bucket.level(0), ready)
    waiting = bucket.waiting
    return track, waiting + bucket.flush()


def with_reduction(gathered: Track, grads: Track, groups: Layout, orders: GradOrders) -> Track:
    """Gathered parameters while a module runs, and at each hand-over of one of its gradients the reduction on top."""

    def merged(
        levels: dict[StateKey, Level], found: dict[StateKey, Level], tensors: tuple[Tensor, ...]
    ) -> dict[StateKey, Level]:
        out = dict(levels)
        outside = levels.get("", Level(0, ()))
        counts = {key: value.total for key, value in found.items() if isinstance(key, int)}
        out[""] = plus(outside, TermKey.UNSHARDED_GRADS, counts.get(0, 0))
        out[LATER] = plus(outside, TermKey.UNSHARDED_GRADS, max(counts.values(), default=0))
        for key, value in found.items():
            if isinstance(key, tuple):
                out[key] = plus(levels.get(_module(tensors[key[0]]), outside), TermKey.UNSHARDED_GRADS, value.total)
        return out

    blocks = []
    for variant, per_state in enumerate(gathered.blocks):
        tensors = groups.kinds[orders.variant_kinds[variant]].tensors
        outside = dict(per_state[""].points)
        first, later = dict.fromkeys(outside, 0), dict.fromkeys(outside, 0)
        out: dict[StateKey, LayerLevels] = dict(per_state)
        for key, found in grads.blocks[variant].items():
            if isinstance(key, tuple):
                modules = per_state.get(_module(tensors[key[0]])) or per_state[""]
                held = dict(modules.points)
                out[key] = layer_levels([(i, plus(held[i], TermKey.UNSHARDED_GRADS, v.total)) for i, v in found.points])
            else:
                for index, value in found.points:
                    first[index] = value.total if key == 0 else first[index]
                    later[index] = max(later[index], value.total)
        for name, waiting in (("", first), (LATER, later)):
            out[name] = layer_levels(
                [(i, plus(value, TermKey.UNSHARDED_GRADS, waiting[i])) for i, value in outside.items()]
            )
        blocks.append(out)
    return Track(
        "module",
        merged(dict(gathered.stem), dict(grads.stem), groups.stem.tensors),
        tuple(blocks),
        merged(dict(gathered.head), dict(grads.head), groups.head.tensors),
    )


def _module(tensor: Tensor) -> str:
    return tensor.name.rpartition(".")[0]
