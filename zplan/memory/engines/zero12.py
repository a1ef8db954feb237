"""DeepSpeed ZeRO stages 1 and 2: flat buffers, the reduce bucket, and gradients on their way into partitions.

Source throughout: DeepSpeed 0.19 ``runtime/zero/stage_1_and_2.py``.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass
from functools import lru_cache

from zplan.memory.engines.base import EngineMemory, HostTerms, StateBytes, deepspeed_bytes
from zplan.memory.engines.norm import NORM_BYTES
from zplan.memory.engines.walk import GradEvent, GradOrders, backward_track, constant_track
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes, temporary_bytes
from zplan.memory.params import Layout
from zplan.memory.sharding import zero12_flat_numel, zero12_partition_numel
from zplan.memory.timeline import Level, Pass, level
from zplan.spec import Job, Offload


@dataclass(frozen=True, slots=True)
class _Partition:
    """Which tensors a rank's partition touches."""

    numel: int
    owned: frozenset[int]
    """Indices of trainable tensors that lie in the partition, wholly or in part."""
    owned_numel: int
    """Their elements, whole: a gradient that straddles the edge is kept whole."""
    first_slice: tuple[int, ...]
    """Elements of each owned tensor that lie inside the partition."""


@lru_cache(maxsize=512)
def _edges(groups: Layout) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Indices of trainable tensors, and where each starts in the flat buffer (with the end of the last)."""
    indices, starts, offset = [], [0], 0
    for index, tensor in enumerate(groups.tensors()):
        if tensor.trainable:
            indices.append(index)
            offset += tensor.numel
            starts.append(offset)
    return tuple(indices), tuple(starts)


def _touched(starts: tuple[int, ...], size: int, rank: int) -> tuple[int, int]:
    """First and one past the last trainable tensor that lie in a rank's partition."""
    first = max(0, bisect_right(starts, rank * size) - 1)
    last = bisect_left(starts, (rank + 1) * size)
    return min(first, len(starts) - 1), min(last, len(starts) - 1)


def partition(groups: Layout, ranks: int, rank: int) -> _Partition:
    """The tensors of one rank's partition (``get_partition_info``)."""
    size = zero12_partition_numel(groups.trainable, ranks)
    indices, starts = _edges(groups)
    first, last = _touched(starts, size, rank)
    start, end = rank * size, (rank + 1) * size
    inside = tuple(min(end, starts[i + 1]) - max(start, starts[i]) for i in range(first, last))
    return _Partition(size, frozenset(indices[first:last]), starts[last] - starts[first] if last > first else 0, inside)


class _Reducer:
    """Replays ``reduce_independent_p_g_buckets_and_remove_grads``: what gradients hold while they are bucketed and reduced."""

    def __init__(self, groups: Layout, job: Job, states: StateBytes, part: _Partition, ranks: int) -> None:
        self.part, self.ranks, self.stage = part, ranks, job.stage
        self.grad, self.bucket_size = states.grad, job.deepspeed.reduce_bucket_size
        self.offload = job.offload is not Offload.NONE
        self.buffers = (2 if job.deepspeed.overlap_comm else 1) * self.bucket_size * states.grad
        self.starts: dict[int, int] = {}
        offset = 0
        for index, tensor in enumerate(groups.tensors()):
            if tensor.trainable:
                self.starts[index] = offset
                offset += tensor.numel
        self.held = 0
        """Bytes of gradients outside of the bucket that wait for their reduction or for the step."""
        self.bucket: list[tuple[int, int]] = []
        self.elements = 0
        self.own_buffer = 0
        self.levels: dict[tuple[int, int], Level] = {}
        """Levels made so far: most events return to one."""

    def level(self, transient: int = 0) -> Level:
        """The current level, with a temporary on top."""
        waiting = self.held + transient
        known = self.levels.get((self.own_buffer, waiting))
        if known is None:
            terms = (
                (TermKey.REDUCE_BUCKET, self.buffers),
                (TermKey.GRADS, self.own_buffer),
                (TermKey.UNSHARDED_GRADS, waiting),
            )
            known = self.levels[self.own_buffer, waiting] = Level(self.buffers + self.own_buffer + waiting, terms)
        return known

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

    def add(self, index: int, numel: int, piled_up: bool = False) -> int:
        """A gradient is handed over; returns the temporary bytes of the reduction that it may trigger.

        Args:
            index: Position among all parameters.
            numel: Elements.
            piled_up: The gradient was counted in ``held`` already (stage 1 reduces after backward).
        """
        transient = self.reduce() if self.elements + numel > self.bucket_size else 0
        if piled_up != (numel > self.bucket_size):
            self.held += -self.grad * numel if piled_up else self.grad * numel
        self.bucket.append((index, numel))
        self.elements += numel
        return transient


def _host(part: _Partition, groups: Layout, job: Job, states: StateBytes, optimizer: OptimizerSpec) -> HostTerms:
    """Host tensors of optimizer offload: 18 bytes per element of the partition, and a scratch of the largest gradient."""
    if job.offload is Offload.NONE:
        return HostTerms()
    numel, scratch = part.numel, states.param * groups.largest_trainable
    moments = state_bytes(optimizer, numel, states.optimized)
    # Earlier micro-steps leave each owned gradient, whole, in a host tensor of its own (``accumulated_grads_in_cpu``).
    accumulated = states.grad * part.owned_numel if job.grad_accum > 1 and job.stage == 2 else 0
    steady = {
        TermKey.HOST_MASTER: states.optimized * numel,
        TermKey.HOST_GRADS: states.optimized * numel + accumulated,
        TermKey.HOST_OPTIMIZER: moments,
        TermKey.HOST_STAGING: states.param * numel + scratch,
    }
    pinned = (
        (states.optimized * numel, states.optimized * numel, states.param * numel, scratch)
        if job.deepspeed.pin_memory
        else ()
    )
    return HostTerms(steady, sum(steady.values()), pinned)


def _step_moments(
    steady: dict[str, int], part: _Partition, states: StateBytes, job: Job, optimizer: OptimizerSpec, kept_grads: int
) -> tuple[Moment, ...]:
    """The step: gradients are flattened (a copy), cast to fp32 (another), then the optimizer runs on the fp32 copy."""
    if job.offload is not Offload.NONE:
        return (Moment("step", "optimizer step on the host", dict(steady)),)
    flatten = states.grad * part.numel if len(part.owned) != 1 or part.first_slice != (part.numel,) else 0
    cast = states.optimized * part.numel if states.optimized != states.grad else 0
    flattening = dict(steady) | {TermKey.GRADS: kept_grads, TermKey.FLAT_BUFFER: flatten, TermKey.GRADS_FP32: cast}
    running = dict(steady) | {
        TermKey.GRADS_FP32: cast or flatten,
        TermKey.OPTIMIZER_TEMPORARIES: temporary_bytes(optimizer, part.numel, ((part.numel,),), states.optimized),
    }
    norm = dict(steady) | {
        TermKey.GRADS: kept_grads,
        TermKey.OPTIMIZER_TEMPORARIES: NORM_BYTES * max(part.first_slice, default=0),
    }
    return (
        Moment("step", "gradient norm", norm),
        Moment("step", "gradients flattened and cast", flattening),
        Moment("step", "optimizer step", running),
    )


def _init_moments(
    steady: dict[str, int], groups: Layout, part: _Partition, states: StateBytes, flat: int, optimizer: OptimizerSpec
) -> tuple[Moment, ...]:
    """Init: the flat buffer is built beside the model; then the fp32 partition; its gradient exists for a moment."""
    frozen = steady.get(TermKey.QUANTIZED_PARAMS, 0) + states.param * (
        groups.total + groups.adapters - groups.trainable
    )
    flattening = {TermKey.PARAMS: states.param * groups.trainable + frozen, TermKey.FLAT_BUFFER: flat}
    states_made = {key: size for key, size in steady.items() if key != TermKey.OPTIMIZER}
    if TermKey.MASTER in states_made:
        states_made[TermKey.GRADS_FP32] = states.optimized * part.numel
    return (
        Moment("init", "flat buffer beside the model", flattening),
        Moment("init", "optimizer states made", states_made),
    )


def zero12_memory(
    groups: Layout, orders: GradOrders, job: Job, optimizer: OptimizerSpec, ranks: int, rank: int
) -> EngineMemory:
    """DeepSpeed stage 1 or 2 on one rank.

    Formula: steady 2P + 12 P/N for bf16 Adam; backward adds the bucket, gradients that wait, and the partition's own;
    the step adds 2 P/N kept + 2 P/N flattened + 4 P/N cast gradients.
    """
    states = deepspeed_bytes(job.precision)
    part = partition(groups, ranks, rank)
    flat = states.param * zero12_flat_numel(groups.trainable, ranks)
    frozen = states.param * (groups.total + groups.adapters - groups.trainable)
    steady = {TermKey.PARAMS: flat + frozen}
    if job.offload is Offload.NONE:
        steady[TermKey.MASTER] = states.master * part.numel
        steady[TermKey.OPTIMIZER] = state_bytes(optimizer, part.numel, states.optimized)
    else:
        steady[TermKey.FLAT_BUFFER] = states.param * groups.largest_trainable
    passes, kept, between = _passes(groups, orders, job, states, part, ranks, steady)
    return EngineMemory(
        steady=steady,
        passes=passes,
        step=(
            *_step_moments(steady, part, states, job, optimizer, kept),
            Moment("step", "between micro-steps", between),
        ),
        init=_init_moments(steady, groups, part, states, flat, optimizer),
        host=_host(part, groups, job, states, optimizer),
        states=states,
        grad_bytes=states.grad,
    )


def _passes(
    groups: Layout,
    orders: GradOrders,
    job: Job,
    states: StateBytes,
    part: _Partition,
    ranks: int,
    steady: dict[str, int],
) -> tuple[tuple[Pass, ...], int, dict[str, int]]:
    """The micro-step that decides, the bytes of kept gradients that go into the step, and what lives between micro-steps."""
    reducer = _Reducer(groups, job, states, part, ranks)
    base = dict(steady)
    waiting, piled_up = level(), False
    if job.grad_accum > 1:
        if job.stage == 1:
            # Stage 1 reduces in the last micro-step only: the model's whole gradients wait, and the bucket with them.
            reducer.held = states.grad * sum(t.numel for t in groups.tensors() if t.trainable)
            waiting, piled_up = reducer.level(), True
        elif job.offload is Offload.NONE:
            # Earlier micro-steps left the partition's gradients (all_grad_tensors); the last adds a second copy to them.
            base[TermKey.GRADS] = states.grad * part.owned_numel
    if job.stage == 1 and not job.deepspeed.overlap_comm:
        return _late_reduction(groups, orders, states, reducer, base, waiting)

    def ready(event: GradEvent) -> tuple[Level, Level]:
        numel = event.tensor.numel
        transient = reducer.add(event.index, numel, piled_up)
        # While it is handed over, an oversized gradient is pending, and not yet among those that wait.
        handed_over = -reducer.grad * numel if numel > reducer.bucket_size and not piled_up else 0
        return reducer.level(), reducer.level(transient + handed_over)

    forward = constant_track(groups, orders, waiting)
    backward, _ = backward_track(groups, orders, waiting, ready)
    after = reducer.reduce()
    last = Moment("backward", "last reduction", _merged(base, reducer.level(after)))
    return (Pass(base, forward, backward, (last,)),), reducer.own_buffer, _merged(base, waiting)


def _late_reduction(
    groups: Layout, orders: GradOrders, states: StateBytes, reducer: _Reducer, base: dict[str, int], waiting: Level
) -> tuple[tuple[Pass, ...], int, dict[str, int]]:
    """Stage 1 without ``overlap_comm``: gradients pile up through backward and are reduced after it, in parameter order."""
    before = waiting if waiting.total else Level(reducer.buffers, ((TermKey.REDUCE_BUCKET, reducer.buffers),))

    def ready(event: GradEvent) -> tuple[Level, Level]:
        nonlocal before
        if waiting.total:
            return before, before
        total = before.total + states.grad * event.tensor.numel
        terms = ((TermKey.REDUCE_BUCKET, reducer.buffers), (TermKey.UNSHARDED_GRADS, total - reducer.buffers))
        pending, before = before, Level(total, terms)
        return before, pending

    reducer.held = states.grad * sum(t.numel for t in groups.tensors() if t.trainable)
    forward = constant_track(groups, orders, waiting)
    backward, _ = backward_track(groups, orders, waiting, ready)
    levels = [reducer.level()]
    for index, tensor in enumerate(groups.tensors()):
        if tensor.trainable:
            held = reducer.held
            transient = reducer.add(index, tensor.numel, piled_up=True)
            levels.append(reducer.level(max(transient, held - reducer.held)))
    levels.append(reducer.level(reducer.reduce()))
    largest = max(levels, key=lambda found: found.total)
    last = Moment("backward", "reduction after the last gradient", _merged(base, largest))
    return (Pass(base, forward, backward, (last,)),), reducer.own_buffer, _merged(base, waiting)


def _merged(base: dict[str, int], extra: Level) -> dict[str, int]:
    terms = dict(base)
    for key, size in extra.terms:
        terms[key] = terms.get(key, 0) + size
    return {key: size for key, size in terms.items() if size}


@lru_cache(maxsize=4096)
def worst_rank(groups: Layout, ranks: int) -> int:
    """The rank whose partition touches the most gradient elements: straddling tensors are kept whole.

    Ranks are alike except for what lies in their partition, so only the edges of large tensors matter.
    """
    size = zero12_partition_numel(groups.trainable, ranks)
    _, starts = _edges(groups)
    candidates = {0, ranks - 1}
    for edge in starts[:-1]:
        candidates.update((min(edge // size, ranks - 1), min(max(0, edge - 1) // size, ranks - 1)))

    def owned(rank: int) -> int:
        first, last = _touched(starts, size, rank)
        return starts[last] - starts[first] if last > first else 0

    return min(candidates, key=lambda rank: (-owned(rank), rank))
