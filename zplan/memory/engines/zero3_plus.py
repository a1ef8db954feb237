"""ZeRO++ at stage 3: secondary partitions within a node (hpZ), weights quantized for the all-gather (qwZ).

Source: DeepSpeed 0.19 ``runtime/zero/partition_parameters.py`` (``_partition_param_sec``, ``CUDAQuantizer``,
``_all_gather_coalesced``, ``AllGatherCoalescedHandle.wait``) and ``stage3.py`` (``invalidate_secondary_tensor``). Secondary
partitions were measured by dry run; quantization with stand-ins for its CUDA kernels, which allocate what the kernels' bindings do.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from zplan.memory.engines.base import StateBytes
from zplan.memory.engines.prefetch import Call, PieceCalls, _Coordinator, model_calls
from zplan.memory.engines.walk import GradOrders
from zplan.memory.moments import Moment, TermKey
from zplan.memory.params import Layout, Tensor
from zplan.memory.sharding import zero3_partition_numel
from zplan.memory.timeline import LayerLevels, Level, StateKey, Track, layer_levels, level
from zplan.spec import DeepSpeedOptions, Job, Offload

QUANTIZED_BYTES = 1
"""Of a weight in the all-gather's int8 buffer; scales are 4 bytes per 8,000 to 16,000 weights, and not counted."""


def is_plus(job: Job) -> bool:
    """Whether ZeRO++ changes what is gathered and kept."""
    return job.hpz > 1 or job.deepspeed.quantized_weights


def secondary_numel(numel: int, ranks: int, hpz: int) -> int:
    """Elements of one tensor's secondary partition: the padded tensor over the ranks of its group."""
    return zero3_partition_numel(numel, ranks) * ranks // hpz if hpz > 1 else 0


def secondary_total(tensors: Sequence[Tensor], job: Job, ranks: int) -> int:
    """Elements of the secondary partitions of some tensors."""
    return sum(secondary_numel(tensor.numel, ranks, job.hpz) for tensor in tensors)


class _Plus(_Coordinator):
    """The coordinator, and what ZeRO++ holds beside the gathered weights."""

    __slots__ = ("hpz", "kept", "ranks", "seen")

    def __init__(
        self,
        trace: Sequence[tuple[bool, Call]],
        options: DeepSpeedOptions,
        stashable: Set[int],
        ranks: int,
        hpz: int,
        kept: Set[int],
    ) -> None:
        super().__init__(trace, options, stashable)
        self.ranks, self.hpz = ranks, hpz
        self.seen: set[int] = set(kept)
        """Tensors with a secondary partition: made when they are first released, dropped after the step."""
        self.kept = 0

    def release(self, call: Call, step: int, backward: bool) -> None:
        """Released tensors leave a secondary partition."""
        before = [(index, numel) for index, numel in call.own if index in self.gathered]
        super().release(call, step, backward)
        for index, numel in before:
            if index not in self.gathered and index not in self.seen:
                self.seen.add(index)
                self.kept += secondary_numel(numel, self.ranks, self.hpz)

    def unused(self) -> int:
        """Elements in flight that nobody has waited for."""
        numels = {index: numel for index, numel, _ in self.queue}
        return sum(numels[index] for index, group in self.in_flight.items() if not group.used)


def _bytes(coordinator: _Plus, states: StateBytes, quantized: bool) -> int:
    """Bytes gathered while a module runs, and of what the all-gathers hold.

    Not counted: the int8 and fp16 forms of a weight that is dequantized, which are gone before its product runs.
    """
    whole = coordinator.available + coordinator.flats + coordinator.stash
    if not quantized:
        return states.param * whole
    unused = coordinator.unused()
    return states.param * (whole - unused) + QUANTIZED_BYTES * (unused + coordinator.flats)


def plus_tracks(
    groups: Layout, orders: GradOrders, job: Job, states: StateBytes, ranks: int, stashable: Set[int]
) -> tuple[Track, Track]:
    """Gathered weights and secondary partitions along forward and backward.

    Args:
        groups: The parameters.
        orders: In which order gradients become ready.
        job: hpZ, qwZ, and the coordinator's limits.
        states: Bytes per element.
        ranks: N.
        stashable: Tensors that autograd keeps from forward until their backward.
    """
    pieces: list[PieceCalls] = model_calls(groups, orders, job.deepspeed.param_persistence_threshold)
    checkpointed = [orders.checkpointed[variant] for variant in orders.layers]
    trace = [(False, call) for piece in pieces for call in piece.forward]
    for number in range(len(pieces) - 1, -1, -1):
        if 1 <= number <= len(pieces) - 2 and checkpointed[number - 1]:
            trace += [(True, call) for call in pieces[number].forward]
        trace += [(True, call) for call in pieces[number].backward]
    # Secondary partitions of frozen weights never expire: they are steady.
    frozen = {index for index, tensor in enumerate(groups.tensors()) if not tensor.trainable}
    coordinator = _Plus(trace, job.deepspeed, stashable, ranks, job.hpz, frozen)
    quantized = job.deepspeed.quantized_weights
    on_gpu = job.offload is not Offload.ALL
    found: dict[tuple[bool, int], dict[StateKey, Level]] = {}
    for step, (backward, call) in enumerate(trace):
        coordinator.fetch(call, step)
        kept = states.param * coordinator.kept if on_gpu else 0
        size = _bytes(coordinator, states, quantized)
        held = level(**{TermKey.GATHERED_PARAMS: size, TermKey.SECONDARY_PARAMS: kept})
        modules = found.setdefault((backward, call.piece), {"": level()})
        for key in (call.module, ""):
            modules[key] = max(modules.get(key, held), held, key=lambda value: value.total)
        coordinator.release(call, step, backward)
        if backward:
            coordinator.used_up(call)
    return _as_track(False, found, orders), _as_track(True, found, orders)


def _as_track(backward: bool, found: dict[tuple[bool, int], dict[StateKey, Level]], orders: GradOrders) -> Track:
    depth = len(orders.layers)
    nothing: dict[StateKey, Level] = {"": level()}
    points: list[dict[StateKey, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    for index, variant in enumerate(orders.layers):
        for module, value in found.get((backward, index), nothing).items():
            points[variant].setdefault(module, []).append((index, value))
    blocks: list[dict[StateKey, LayerLevels]] = [{m: layer_levels(p) for m, p in per.items()} for per in points]
    stem: dict[StateKey, Level] = dict(found.get((backward, -1), nothing))
    return Track("module", stem, tuple(blocks), dict(found.get((backward, depth), nothing)))


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


@dataclass(frozen=True, slots=True)
class Secondary:
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
        states.param * secondary_numel(groups.largest, ranks, job.hpz),
    )
