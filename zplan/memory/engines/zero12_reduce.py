"""Stages 1 and 2: a rank's partition of the flat buffer, and gradients on their way through the reduce bucket into it.

Source throughout: DeepSpeed 0.19 ``runtime/zero/stage_1_and_2.py``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from functools import lru_cache
from typing import NamedTuple

from zplan.memory.engines.base import StateBytes
from zplan.memory.engines.norm import NORM_BYTES
from zplan.memory.formats import FP32_BYTES, accumulated_bytes
from zplan.memory.moments import TermKey
from zplan.memory.params import Layout
from zplan.memory.sharding import zero12_partition_numel
from zplan.memory.timeline import Level
from zplan.spec import Job, Offload


class Partition(NamedTuple):
    """Which tensors a rank's partition touches."""

    numel: int
    owned: frozenset[int]
    """Indices of trainable tensors that lie in the partition, wholly or in part."""
    owned_numel: int
    """Their elements, whole: a gradient that straddles the edge is kept whole."""
    first_slice: tuple[int, ...]
    """Elements of each owned tensor that lie inside the partition."""


@lru_cache(maxsize=512)
def edges_of(groups: Layout, dealt: int = 1) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Indices of trainable tensors, and where each starts in the flat buffer (with the end of the last).

    With ``round_robin_gradients`` tensors are dealt to as many hands as there are ranks (``_round_robin_reorder``).
    """
    trained = [(index, tensor.numel) for index, tensor in enumerate(groups.tensors()) if tensor.trainable]
    trained = [one for hand in range(min(dealt, len(trained))) for one in trained[hand::dealt]]
    starts = [0]
    for _, numel in trained:
        starts.append(starts[-1] + numel)
    return tuple([index for index, _ in trained]), tuple(starts)


def hands(job: Job, ranks: int) -> int:
    """How many hands the tensors are dealt to; 1 where they stay in their order."""
    return ranks if job.deepspeed.round_robin_gradients else 1


@lru_cache(maxsize=512)
def _starts(groups: Layout, dealt: int) -> dict[int, int]:
    """Index of each trainable tensor -> where it starts in the flat buffer."""
    indices, starts = edges_of(groups, dealt)
    return dict(zip(indices, starts, strict=False))


def _touched(starts: tuple[int, ...], size: int, rank: int) -> tuple[int, int]:
    """First and one past the last trainable tensor that lie in a rank's partition."""
    first = max(0, bisect_right(starts, rank * size) - 1)
    last = bisect_left(starts, (rank + 1) * size)
    return min(first, len(starts) - 1), min(last, len(starts) - 1)


def partition(groups: Layout, ranks: int, rank: int, dealt: int = 1) -> Partition:
    """The tensors of one rank's partition (``get_partition_info``)."""
    size = zero12_partition_numel(groups.trainable, ranks)
    indices, starts = edges_of(groups, dealt)
    first, last = _touched(starts, size, rank)
    start, end = rank * size, (rank + 1) * size
    inside = tuple(min(end, starts[i + 1]) - max(start, starts[i]) for i in range(first, last))
    return Partition(size, frozenset(indices[first:last]), starts[last] - starts[first] if last > first else 0, inside)


STAGE_OF_GRADIENTS = 2
"""From which on gradients are partitioned."""


class Reducer:
    """Replays ``reduce_independent_p_g_buckets_and_remove_grads``: what gradients hold while they are bucketed and reduced."""

    def __init__(self, groups: Layout, job: Job, states: StateBytes, part: Partition, ranks: int) -> None:
        self.part, self.ranks, self.stage = part, ranks, job.stage
        self.wide = accumulated_bytes(job, states) != states.grad
        """Gradients are kept in fp32: what a rank owns of them is added up in one flat buffer, which offload has, too."""
        self.autograd = states.grad
        """Bytes per element of a gradient as autograd hands it over."""
        self.grad = FP32_BYTES if self.wide and self.stage == 1 else states.grad
        """The same in the bucket; stage 1 casts gradients when they are handed over (``grad_accum``)."""
        self.bucket_size = job.deepspeed.reduce_bucket_size
        self.offload = job.offload is not Offload.NONE
        self.contiguous = job.deepspeed.contiguous_gradients or self.offload or self.wide
        """Gradients are copied into a buffer; otherwise each keeps its own storage until it is reduced."""
        self.overlap = bool(job.deepspeed.overlap_comm)
        self.buffers = (2 if self.overlap else 1) * self.bucket_size * self.grad if self.contiguous else 0
        self.late = 0
        """Bytes of gradients that were reduced, and are let go of at the beginning of the next reduction."""
        self.starts = _starts(groups, hands(job, ranks))
        self.held = 0
        """Bytes of gradients outside of the bucket that wait for their reduction or for the step."""
        self.bucket: list[tuple[int, int]] = []
        self.elements = 0
        self.own_buffer = 0
        self.share = FP32_BYTES * part.numel
        """Bytes of the fp32 buffer for what a rank owns, where it is not there from the beginning."""
        self.now: Level | None = None
        """The level between gradients, once there was one."""

    def level(self, transient: int = 0) -> Level:
        """The current level, with a temporary on top."""
        waiting = self.held + transient
        terms = (
            (TermKey.REDUCE_BUCKET, self.buffers),
            (TermKey.GRADS, self.own_buffer),
            (TermKey.UNSHARDED_GRADS, waiting),
        )
        return Level(self.buffers + self.own_buffer + waiting, terms)

    def _slices(self) -> list[int]:
        """Elements of the bucket's consecutive slices, one per stretch that belongs to one rank (``average_tensor``)."""
        slices: list[int] = []
        previous = -1
        for index, numel in self.bucket:
            start = self.starts[index]
            end = start + numel
            while start < end:
                owner = start // self.part.numel
                stop = min(end, (owner + 1) * self.part.numel)
                if owner == previous:
                    slices[-1] += stop - start
                else:
                    slices.append(stop - start)
                previous, start = owner, stop
        return slices

    def _flatten(self) -> int:
        """Bytes of the largest copy that ``allreduce_and_scatter`` makes: two slices or more are joined, one is not."""
        if self.elements <= self.bucket_size:
            # One copy holds them all, unless all belong to one rank.
            size, starts = self.part.numel, self.starts
            edges = [(starts[index], starts[index] + numel - 1) for index, numel in self.bucket]
            owner = edges[0][0] // size
            alone = all(first // size == owner == last // size for first, last in edges)
            return 0 if alone else self.grad * self.elements
        largest, count, total = 0, 0, 0
        for numel in self._slices():
            count, total = count + 1, total + numel
            if total > self.bucket_size:
                largest = max(largest, total if count > 1 else 0)
                count = total = 0
        return self.grad * max(largest, total if count > 1 else 0)

    def reduce(self) -> int:
        """Reduces what is in the bucket; returns the temporary bytes on top of the level that is reached afterwards."""
        if not self.bucket:
            return 0
        if self.wide:
            return self._reduce_wide()
        if not self.contiguous:
            return self._reduce_apart()
        flatten = self._flatten()
        copied, before = 0, self.own_buffer
        for index, numel in self.bucket:
            if index in self.part.owned:
                if self.offload:
                    copied = max(copied, NORM_BYTES * min(numel, self.part.numel))
                else:
                    self.own_buffer = self.grad * self.part.owned_numel
        freed = 0
        if self.elements > self.bucket_size and (self.stage == 2 or self.bucket[0][0] in self.part.owned):
            # An oversized gradient kept its own storage; stage 1 lets go of it only where it moves into the partition.
            freed = self.grad * self.elements
        self.held -= freed
        self.bucket, self.elements = [], 0
        # The flat copy is gone before the partition's own buffer is made.
        return freed + max(flatten - (self.own_buffer - before), copied)

    def _reduce_apart(self) -> int:
        """The same without a buffer: gradients are joined for the reduction, and what others own is freed in stage 2.

        Source: ``reduce_ipg_grads`` (``buffered_reduce_fallback``, ``previous_reduced_grads``).
        """
        self.held, self.late = self.held - self.late, 0
        flatten = self.grad * self.elements if len(self.bucket) > 1 else 0
        others = sum(numel for index, numel in self.bucket if index not in self.part.owned)
        freed = self.grad * others if self.stage == STAGE_OF_GRADIENTS else 0
        self.bucket, self.elements = [], 0
        if self.overlap:
            self.late = freed
            return flatten
        self.held -= freed
        return freed + flatten

    @property
    def kept_bytes(self) -> int:
        """Gradients that go into the step."""
        if self.wide:
            return FP32_BYTES * self.part.numel
        return self.own_buffer if self.contiguous else self.grad * self.part.owned_numel

    def _own_storage(self, numel: int) -> bool:
        return not self.contiguous or numel > self.bucket_size

    def _reduce_wide(self) -> int:
        """The same where a rank's share is added to its fp32 buffer, slice by slice, cast before in 16 bits.

        Source: ``_add_to_grad_partition_buffer``, ``_build_compact_grad_partition_buffer``, ``copy_grads_in_partition``.
        """
        flatten, copied, cast = self._flatten(), 0, 0
        for index, numel in self.bucket:
            if index in self.part.owned:
                self.own_buffer = self.share
                slice_numel = min(numel, self.part.numel)
                cast = max(cast, FP32_BYTES * slice_numel if self.grad != FP32_BYTES else 0)
                copied = max(copied, NORM_BYTES * slice_numel if self.offload else 0)
        owned, freed = self.bucket[0][0] in self.part.owned, 0
        # Stage 1 lets go of what it owns, stage 2 of what it doesn't (and with offload of all).
        if self.elements > self.bucket_size and (self.offload or owned == (self.stage == 1)):
            freed = self.grad * self.elements if self.stage == 2 or owned else 0
        self.held -= freed
        self.bucket, self.elements = [], 0
        return freed + max(flatten + cast, copied)

    def add(self, index: int, numel: int, piled_up: bool = False) -> int:
        """A gradient is handed over; returns the temporary bytes of the reduction that it may trigger.

        Args:
            index: Position among all parameters.
            numel: Elements.
            piled_up: The gradient was counted in ``held`` already (stage 1 reduces after backward).
        """
        transient = self.reduce() if self.elements + numel > self.bucket_size else 0
        if piled_up != self._own_storage(numel):
            self.held += -self.grad * numel if piled_up else self.grad * numel
        self.bucket.append((index, numel))
        self.elements += numel
        return transient

    def hand_over(self, index: int, numel: int) -> tuple[Level, Level]:
        """The level after a gradient is handed over in backward, and while it is."""
        now = self.now
        if now is not None and self.elements + numel <= self.bucket_size and self.contiguous:
            self.bucket.append((index, numel))
            self.elements += numel
            return now, now
        if self.wide and self.stage == 1:
            return self._hand_over_cast(index, numel)
        transient = self.add(index, numel)
        now = self.now = self.level()
        if self._own_storage(numel):
            # While it is handed over, an oversized gradient is pending, and not yet among those that wait: with offload the copy
            # is that is made of it for the host's sake (``_offload_gradient_safety_enabled``).
            own = self.grad * numel
            transient = max(transient - own, 0 if self.offload else -own)
        return now, self.level(transient) if transient else now

    def _hand_over_cast(self, index: int, numel: int) -> tuple[Level, Level]:
        """The same where the gradient is cast to fp32 first: both are there for a moment, then it goes into the bucket."""
        before, fp32 = self.level().total, FP32_BYTES * numel
        transient = self.add(index, numel)
        now = self.level()
        reducing = now.total - (fp32 if numel > self.bucket_size else 0) + transient + fp32 - self.autograd * numel
        return now, self.level(max(before + fp32, reducing) - now.total)

    def drain(self, groups: Layout) -> Level:
        """Stage 1 after backward: all gradients are reduced in parameter order; returns the largest level."""
        best = self.level()
        indices, starts = edges_of(groups)
        for index, start, end in zip(indices, starts, starts[1:], strict=False):
            held = self.held
            transient = self.add(index, end - start, piled_up=True)
            if transient and not self._own_storage(end - start):
                # The bucket is reduced before the gradient is copied into it.
                transient += self.grad * (end - start)
            transient = max(transient, held - self.held)
            if self.buffers + self.own_buffer + self.held + transient > best.total:
                best = self.level(transient)
        last = self.level(self.reduce())
        return last if last.total > best.total else best


@lru_cache(maxsize=4096)
def worst_rank(groups: Layout, ranks: int) -> int:
    """The rank whose partition touches the most gradient elements: straddling tensors are kept whole.

    Ranks are alike except for what lies in their partition, so only the edges of large tensors matter.
    """
    size = zero12_partition_numel(groups.trainable, ranks)
    _, starts = edges_of(groups)
    candidates = {0, ranks - 1}
    for edge in starts[:-1]:
        candidates.update((min(edge // size, ranks - 1), min(max(0, edge - 1) // size, ranks - 1)))

    def owned(rank: int) -> int:
        first, last = _touched(starts, size, rank)
        return starts[last] - starts[first] if last > first else 0

    return min(candidates, key=lambda rank: (-owned(rank), rank))
