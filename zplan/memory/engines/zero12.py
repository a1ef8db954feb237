"""DeepSpeed ZeRO stages 1 and 2: flat buffers, the reduce bucket, and gradients on their way into partitions.

Source throughout: DeepSpeed 0.19 ``runtime/zero/stage_1_and_2.py``.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.engines.base import EngineMemory, HostTerms, StateBytes, deepspeed_bytes
from zplan.memory.engines.norm import NORM_BYTES
from zplan.memory.engines.walk import GradOrders, backward_track, constant_track
from zplan.memory.engines.zero12_reduce import Partition, Reducer, edges_of, hands, partition
from zplan.memory.formats import FP32_BYTES, accumulated_bytes
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes, temporary_bytes
from zplan.memory.params import Layout
from zplan.memory.sharding import zero12_flat_numel
from zplan.memory.timeline import Level, Pass, Track, level, plus
from zplan.spec import Job, Offload


def _host(part: Partition, groups: Layout, job: Job, states: StateBytes, optimizer: OptimizerSpec) -> HostTerms:
    """Host tensors of optimizer offload: 18 bytes per element of the partition, and a scratch of the largest gradient."""
    if job.offload is Offload.NONE:
        return HostTerms()
    numel, scratch = part.numel, states.param * groups.largest_trainable
    moments = state_bytes(optimizer, numel, states.optimized)
    # Earlier micro-steps leave each owned gradient, whole, in a host tensor of its own (``accumulated_grads_in_cpu``).
    wide = accumulated_bytes(job, states) != states.grad
    accumulated = states.grad * part.owned_numel if job.grad_accum > 1 and job.stage == 2 and not wide else 0
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
    steady: dict[str, int], part: Partition, states: StateBytes, job: Job, optimizer: OptimizerSpec, kept_grads: int
) -> tuple[Moment, ...]:
    """The step: gradients are flattened (a copy), cast to fp32 (another), then the optimizer runs on the fp32 copy."""
    wide = accumulated_bytes(job, states) != states.grad
    if job.offload is not Offload.NONE:
        # The fp32 buffer of the rank's share is let go of after the step, offload or not.
        return (Moment("step", "optimizer step on the host", steady | ({TermKey.GRADS: kept_grads} if wide else {})),)
    if wide:
        running = dict(steady) | {
            TermKey.GRADS: kept_grads,
            TermKey.OPTIMIZER_TEMPORARIES: max(
                temporary_bytes(optimizer, part.numel, ((part.numel,),), states.optimized),
                NORM_BYTES * max(part.first_slice, default=0),
            ),
        }
        return (Moment("step", "optimizer step", running),)
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


FLATTENING = "flat buffer beside the model"


def through_host(init: tuple[Moment, ...]) -> tuple[tuple[Moment, ...], int]:
    """Init on a card without room for the flat buffer beside the model: weights go to the host first, one rank's at a time.

    Source: DeepSpeed ``stage_1_and_2.py`` (``flatten_on_accelerator``: only if the free memory is at least the buffer's size).

    Returns:
        The moments of init, and the bytes of weights that each rank holds in host RAM meanwhile.
    """
    found = []
    moved = 0
    for moment in init:
        if moment.name == FLATTENING:
            flat = moment.terms[TermKey.FLAT_BUFFER]
            left = moment.terms.get(TermKey.PARAMS, 0) - flat
            moved = flat
            found.append(
                Moment(
                    "init", "flat buffer through the host", {TermKey.PARAMS: max(0, left), TermKey.FLAT_BUFFER: flat}
                )
            )
        else:
            found.append(moment)
    return tuple(found), moved


def _init_moments(
    steady: dict[str, int], groups: Layout, part: Partition, states: StateBytes, flat: int, optimizer: OptimizerSpec
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
        Moment("init", FLATTENING, flattening),
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
    part = partition(groups, ranks, rank, hands(job, ranks))
    flat = states.param * zero12_flat_numel(groups.trainable, ranks)
    frozen = states.param * (groups.total + groups.adapters - groups.trainable)
    steady = {TermKey.PARAMS: flat + frozen}
    if job.offload is Offload.NONE:
        steady[TermKey.MASTER] = states.master * part.numel
        steady[TermKey.OPTIMIZER] = state_bytes(optimizer, part.numel, states.optimized)
    else:
        steady[TermKey.FLAT_BUFFER] = states.param * groups.largest_trainable
    passes, kept, between = _passes(groups, orders, job, states, part, ranks, steady)
    left = _left(groups, job, states, part) if accumulated_bytes(job, states) != states.grad else {}
    return EngineMemory(
        steady=steady,
        passes=passes,
        step=(
            *_step_moments(steady | left, part, states, job, optimizer, kept),
            Moment("step", "between micro-steps", between),
        ),
        init=_init_moments(steady, groups, part, states, flat, optimizer),
        host=_host(part, groups, job, states, optimizer),
        states=states,
        grad_bytes=states.grad,
    )


def _left(groups: Layout, job: Job, states: StateBytes, part: Partition) -> dict[str, int]:
    """What stage 1's fp32 gradients leave behind until the next forward: the bucket that they point into, and oversized ones.

    Gradients that belong to other ranks are not let go of in the reduction (``clear_backward_seen_flag``).
    """
    indices, starts = edges_of(groups)
    others = [(index, end - start) for index, start, end in zip(indices, starts, starts[1:], strict=False)]
    others = [(index, numel) for index, numel in others if index not in part.owned]
    if job.stage != 1 or not others:
        return {}
    size = job.deepspeed.reduce_bucket_size
    return {
        TermKey.REDUCE_BUCKET: (2 if job.deepspeed.overlap_comm else 1) * FP32_BYTES * size,
        TermKey.UNSHARDED_GRADS: FP32_BYTES * sum(numel for _, numel in others if numel > size),
    }


def _passes(
    groups: Layout,
    orders: GradOrders,
    job: Job,
    states: StateBytes,
    part: Partition,
    ranks: int,
    steady: dict[str, int],
) -> tuple[tuple[Pass, ...], int, dict[str, int]]:
    """The micro-step that decides, the bytes of kept gradients that go into the step, and what lives between micro-steps."""
    reducer = Reducer(groups, job, states, part, ranks)
    base = dict(steady)
    waiting, piled_up = level(), False
    if job.grad_accum > 1:
        if job.stage == 1:
            # Stage 1 reduces in the last micro-step only: the model's whole gradients wait, and the bucket with them.
            reducer.held = reducer.grad * edges_of(groups)[1][-1]
            waiting, piled_up = reducer.level(), True
        elif reducer.wide:
            # Every micro-step adds to the same fp32 buffer.
            base[TermKey.GRADS], reducer.share = reducer.share, 0
        elif job.offload is Offload.NONE:
            # Earlier micro-steps left the partition's gradients (all_grad_tensors); the last adds a second copy to them.
            base[TermKey.GRADS] = states.grad * part.owned_numel
    if job.stage == 1 and not job.deepspeed.overlap_comm:
        return _late_reduction(groups, orders, states, reducer, base, waiting)

    def piled(position: int, numel: int) -> tuple[Level, Level]:
        transient = reducer.add(position, numel, piled_up=True)
        return reducer.level(), reducer.level(transient)

    forward = constant_track(groups, orders, waiting)
    backward = backward_track(groups, orders, waiting, piled if piled_up else reducer.hand_over)
    after = reducer.reduce()
    last = Moment("backward", "last reduction", _merged(base, reducer.level(after)))
    return (Pass(base, forward, backward, (last,)),), reducer.kept_bytes, _merged(base, waiting)


@lru_cache(maxsize=1024)
def _piling_up(groups: Layout, orders: GradOrders, element_bytes: int, buffers: int, casts: bool) -> Track:
    """Backward of stage 1 with every gradient waiting beside the bucket, cast where ``casts``: the same for every rank."""
    before = Level(buffers, ((TermKey.REDUCE_BUCKET, buffers),))

    def ready(_position: int, numel: int) -> tuple[Level, Level]:
        nonlocal before
        total = before.total + element_bytes * numel
        terms = ((TermKey.REDUCE_BUCKET, buffers), (TermKey.UNSHARDED_GRADS, total - buffers))
        pending, before = before, Level(total, terms)
        return before, before if casts else pending

    return backward_track(groups, orders, level(), ready)


def _late_reduction(
    groups: Layout, orders: GradOrders, states: StateBytes, reducer: Reducer, base: dict[str, int], waiting: Level
) -> tuple[tuple[Pass, ...], int, dict[str, int]]:
    """Stage 1 without ``overlap_comm``: gradients pile up through backward and are reduced after it, in parameter order."""
    if waiting.total:
        casts = reducer.grad != reducer.autograd

        def more(_position: int, numel: int) -> tuple[Level, Level]:
            return waiting, plus(waiting, TermKey.UNSHARDED_GRADS, FP32_BYTES * numel) if casts else waiting

        backward = backward_track(groups, orders, waiting, more)
    else:
        backward = _piling_up(groups, orders, reducer.grad, reducer.buffers, reducer.grad != reducer.autograd)
    reducer.held = reducer.grad * edges_of(groups)[1][-1]
    forward = constant_track(groups, orders, waiting)
    largest = reducer.drain(groups)
    last = Moment("backward", "reduction after the last gradient", _merged(base, largest))
    return (Pass(base, forward, backward, (last,)),), reducer.kept_bytes, _merged(base, waiting)


def _merged(base: dict[str, int], extra: Level) -> dict[str, int]:
    terms = dict(base)
    for key, size in extra.terms:
        terms[key] = terms.get(key, 0) + size
    return {key: size for key, size in terms.items() if size}
