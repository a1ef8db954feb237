"""ZeRO++ at stage 3: secondary partitions within a node (hpZ), weights quantized for the all-gather (qwZ).

Source: DeepSpeed 0.19 ``runtime/zero/partition_parameters.py`` (``_partition_param_sec``, ``CUDAQuantizer``,
``_all_gather_coalesced``, ``AllGatherCoalescedHandle.wait``) and ``stage3.py`` (``invalidate_secondary_tensor``). Secondary
partitions were measured by dry run; quantization with stand-ins for its CUDA kernels, which allocate what the kernels' bindings do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from zplan.memory.engines.base import StateBytes
from zplan.memory.engines.calls import Ops, model_ops
from zplan.memory.engines.prefetch import ABSENT, Coordinator, Step, Weights, replay, trace_of
from zplan.memory.engines.walk import GradOrders, piece_offsets
from zplan.memory.engines.zero3_gather import PieceLevels, weights_of
from zplan.memory.engines.zero3_short import Short, Watch, Watched, shortened, stretched
from zplan.memory.moments import Moment, TermKey
from zplan.memory.params import Layout, Tensor
from zplan.memory.sharding import zero3_partition_numel, zero3_secondary_numel
from zplan.memory.timeline import LayerLevels, Level, StateKey, Track, layer_levels, level
from zplan.spec import DeepSpeedOptions, Job


def is_plus(job: Job) -> bool:
    """Whether ZeRO++ changes what is gathered and kept."""
    return job.hpz > 1 or job.deepspeed.quantized_weights


def secondary_total(tensors: Sequence[Tensor], job: Job, ranks: int) -> int:
    """Elements of the secondary partitions of some tensors."""
    return sum(zero3_secondary_numel(tensor.numel, ranks, job.hpz) for tensor in tensors)


class _Plus(Coordinator):
    """The coordinator, and what ZeRO++ holds beside the gathered weights."""

    def __init__(
        self,
        trace: Sequence[Step],
        weights: Weights,
        options: DeepSpeedOptions,
        kept: Sequence[bool],
        sizes: Sequence[int],
    ) -> None:
        super().__init__(trace, weights, options, kept)
        self.sizes = sizes
        """Bytes of each tensor's secondary partition."""
        self.seen: set[int] = set(weights.frozen)
        """Tensors with one: made when they are first released, dropped after the step; those of frozen weights are steady."""
        self.secondary = 0

    def release(self, step: Step) -> None:
        """Released tensors leave a secondary partition."""
        before = self.available
        super().release(step)
        if self.available == before:
            return
        for place in step.own:
            if self.status[place] == ABSENT and place not in self.seen:
                self.seen.add(place)
                self.secondary += self.sizes[place]

    def narrower(self) -> int:
        """Bytes less (or, below 0, more) with int8 all-gathers.

        In flight a weight takes one byte instead of two; while a group's weights are copied out, its int8 buffer lies beside the
        fp16 one. Not counted: the forms of a weight that is dequantized alone, which are gone before its product runs.
        """
        unused = sum(self.weights.sizes[place] for place, group in self.in_flight.items() if not group.used)
        used = {id(group): group.flat for group in self.in_flight.values() if group.used}
        return (unused - sum(used.values())) // 2


class _WatchedPlus(Watched, _Plus):
    """The same, watched."""


class PlusOptions(NamedTuple):
    """What decides which weights are gathered and kept."""

    coordinator: DeepSpeedOptions
    """Its limits, and qwZ."""
    hpz: int
    on_gpu: bool
    """Secondary partitions are."""
    element_bytes: int
    adapter_bytes: int
    ranks: int


@lru_cache(maxsize=256)
def plus_tracks(groups: Layout, orders: GradOrders, options: PlusOptions) -> tuple[Track, Track]:
    """Gathered weights and secondary partitions along forward and backward.

    Args:
        groups: The parameters.
        orders: In which order gradients become ready.
        options: What decides it.
    """
    short = shortened(groups, orders, options.coordinator)
    found = None if short is None else _replayed_short(short, options)
    both, alone = found or _replayed(groups, orders, options)
    return _as_track(False, both, alone, orders), _as_track(True, both, alone, orders)


def _made(
    groups: Layout, orders: GradOrders, options: PlusOptions, kind: type[_Plus]
) -> tuple[list[Ops], list[Step], _Plus]:
    """Calls of each piece, all calls in order, and a coordinator for them."""
    limits = options.coordinator
    pieces = model_ops(groups, orders, limits.param_persistence_threshold)
    trace = trace_of(pieces)
    weights = weights_of(groups, limits, options.element_bytes, options.adapter_bytes)
    kept = [False, *(not orders.checkpointed[variant] for variant in orders.layers), False]
    each = options.element_bytes if options.on_gpu else 0
    sizes = [each * zero3_secondary_numel(numel, options.ranks, options.hpz) for numel in weights.numel]
    return pieces, trace, kind(trace, weights, limits, kept, sizes)


def _add(step: Step, one: _Plus, quantized: bool, both: PieceLevels, alone: PieceLevels) -> None:
    """Counts what is held after a call."""
    gathered = one.bytes - (one.narrower() if quantized else 0)
    fetching = gathered + one.secondary + one.fetching - one.bytes
    both.add(step, gathered + one.secondary, fetching)
    alone.add(step, one.secondary)


_Both = tuple[PieceLevels, PieceLevels]
"""What is held in all, and secondary partitions alone."""


def _replayed(groups: Layout, orders: GradOrders, options: PlusOptions) -> _Both:
    _, trace, coordinator = _made(groups, orders, options, _Plus)
    both, alone = PieceLevels(len(orders.layers)), PieceLevels(len(orders.layers))
    for step in replay(trace, coordinator):
        _add(step, coordinator, options.coordinator.quantized_weights, both, alone)
    return both, alone


def _replayed_short(short: Short, options: PlusOptions) -> _Both | None:
    """The whole model's levels from the replay of a short one; None where that does not stand for it."""
    pieces, trace, coordinator = _made(short.groups, short.orders, options, _WatchedPlus)
    assert isinstance(coordinator, _WatchedPlus)
    watch = Watch(short, pieces, coordinator)
    if watch.hopeless:
        return None
    both, alone = PieceLevels(len(short.orders.layers)), PieceLevels(len(short.orders.layers))
    for step in replay(trace, coordinator, watch.before):
        _add(step, coordinator, options.coordinator.quantized_weights, both, alone)
    sources = watch.sources()
    if sources is None:
        return None
    offsets, _ = piece_offsets(short.groups)
    stretch = range(offsets[short.lead], offsets[short.lead + short.period])
    released = coordinator.seen - coordinator.weights.frozen
    growth = sum(coordinator.sizes[place] for place in stretch if place in released)
    both.found = stretched(both.found, sources, short, growth)
    alone.found = stretched(alone.found, sources, short, growth)
    return both, alone


def _as_track(backward: bool, both: PieceLevels, alone: PieceLevels, orders: GradOrders) -> Track:
    """One pass as a track; in a state's level secondary partitions are the most that the state has."""

    def levels(piece: int) -> dict[StateKey, Level]:
        where = (backward, piece)
        kept = alone.found.get(where, {})
        return {
            state: level(
                **{TermKey.GATHERED_PARAMS: size - kept.get(state, 0), TermKey.SECONDARY_PARAMS: kept.get(state, 0)}
            )
            for state, size in both.found.get(where, {"": 0}).items()
        }

    points: list[dict[StateKey, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    for index, variant in enumerate(orders.layers):
        for module, value in levels(index).items():
            points[variant].setdefault(module, []).append((index, value))
    blocks: list[dict[StateKey, LayerLevels]] = [{m: layer_levels(p) for m, p in per.items()} for per in points]
    return Track("module", levels(-1), tuple(blocks), levels(len(orders.layers)))


def with_secondary(moments: Sequence[Moment], size: int) -> tuple[Moment, ...]:
    """Moments at which every weight has its secondary partition: init, and the step, which partitions everything first."""
    if not size:
        return tuple(moments)
    return tuple(Moment(m.phase, m.name, {**m.terms, TermKey.SECONDARY_PARAMS: size}) for m in moments)


def quantized_reduction_bytes(numels: Sequence[int], matrices: Sequence[bool], ranks: int, element_bytes: int) -> int:
    """Bytes that qgZ holds at most while a bucket's gradients are reduced one after the other.

    Formula: per matrix of n elements n/2 in int4, n/2 received within the node, twice n/(2 L) between L nodes' ranks, and the
    result in fp16, 2 n/L, for L ranks per node; the variables of one gradient live until those of the next replace them. Vectors
    and matrices that 2N doesn't divide are reduced as without qgZ.
    Source: DeepSpeed ``runtime/comm/coalesced_collectives.py`` (``all_to_all_quant_reduce``); scales are not counted.
    """
    local = min(RANKS_PER_NODE, ranks)
    most = before = done = 0
    for numel, matrix in zip(numels, matrices, strict=True):
        part = zero3_partition_numel(numel, ranks)
        if not matrix or numel % (2 * ranks):
            padded = part * ranks
            most = max(most, before + done + (element_bytes * padded if padded != numel else 0))
            done += element_bytes * part
            continue
        half = numel // 2
        held = 2 * half + 2 * (half // local) + 2 * numel // local
        most = max(most, done + before + half, done + held)
        before = held
        done += 2 * part
    return most


RANKS_PER_NODE = 8
"""As qgZ asks the accelerator (``device_count``); with one node it is not used."""


def reduces_quantized(job: Job, ranks: int) -> bool:
    """Whether gradients are quantized on their way: there must be several nodes."""
    return job.deepspeed.quantized_gradients and ranks > RANKS_PER_NODE


class Secondary(NamedTuple):
    """Bytes of all secondary partitions of one rank, wherever they live."""

    frozen: int = 0
    """Of weights that don't train, whose partitions never expire."""
    trained: int = 0
    largest: int = 0
    """Of one tensor: it exists twice while it is pinned."""


def secondary(groups: Layout, job: Job, states: StateBytes, ranks: int) -> Secondary:
    """Secondary partitions of a model; adapters are fp32."""
    if job.hpz == 1:
        return Secondary()
    tensors = groups.tensors()
    frozen = [tensor for tensor in tensors if not tensor.trainable]
    trained = [tensor for tensor in tensors if tensor.trainable]
    return Secondary(
        states.param * secondary_total(frozen, job, ranks),
        (4 if job.lora is not None else states.param) * secondary_total(trained, job, ranks),
        states.param * zero3_secondary_numel(groups.largest, ranks, job.hpz),
    )
