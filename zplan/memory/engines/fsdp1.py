"""FSDP1: ``FullyShardedDataParallel`` around every block and the root, as accelerate sets it up (``use_orig_params``).

Source throughout: torch 2.13 ``distributed/fsdp/_flat_param.py`` and ``_runtime_utils.py``.
"""

from __future__ import annotations

from dataclasses import replace

from zplan.memory.activations.base import ComputeMode
from zplan.memory.engines.base import EngineMemory, HostTerms, StateBytes, torch_bytes
from zplan.memory.engines.units import Units, init_bytes, make_units, steady_terms
from zplan.memory.engines.walk import GradOrders
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes, temporary_bytes
from zplan.memory.params import Layout
from zplan.memory.timeline import LayerLevels, Level, Pass, StateKey, Track, layer_levels, level
from zplan.spec import Job, Offload

FIRST_OF = 2
"""With two micro-steps the first is the only one that reduces nothing, and finds no gradients yet."""


def _running_sum(sizes: list[int]) -> list[int]:
    out = [0]
    for size in sizes:
        out.append(out[-1] + size)
    return out


def _forward_track(units: Units, orders: GradOrders, stage: int, waiting: int) -> Track:
    """The root stays whole; a block is whole while it runs; stage 2 (SHARD_GRAD_OP) keeps blocks whole."""
    root, kept = units.compute * units.root.whole, 0
    points: list[list[tuple[int, Level]]] = [[] for _ in orders.variants]

    def held(gathered: int) -> Level:
        return level(**{TermKey.GATHERED_PARAMS: root + gathered, TermKey.UNSHARDED_GRADS: waiting})

    for index, variant in enumerate(orders.layers):
        own = units.compute * units.block(index).whole
        points[variant].append((index, held(kept + own)))
        kept += own if stage == 2 else 0
    blocks: list[dict[StateKey, LayerLevels]] = [{0: layer_levels(p)} for p in points]
    return Track("any", {0: held(0)}, tuple(blocks), {0: held(kept)})


def _backward(
    units: Units, groups: Layout, orders: GradOrders, job: Job, states: StateBytes, *, earlier: bool = False
) -> tuple[Track, Moment]:
    """Views' gradients pile up until autograd joins them into the flat one; then it is reduced into the fp32 shard.

    In ``earlier`` micro-steps than the last nothing is reduced: flat gradients wait, or are added to those that do.
    """
    empty = earlier and job.grad_accum == FIRST_OF
    e, gather, root = units.grad, units.compute, units.compute * units.root.whole
    depth = len(units.layers)
    flats = [e * units.block(index).trainable_whole for index in range(depth)]
    waiting = (sum(flats) + e * units.root.trainable_whole) if job.grad_accum > 1 and not empty else 0
    kept = sum(gather * units.block(index).whole for index in range(depth)) if job.stage == 2 else 0
    sharded = 0

    def held(gathered: int, grads: int) -> Level:
        return level(
            **{
                TermKey.GATHERED_PARAMS: root + gathered,
                TermKey.UNSHARDED_GRADS: waiting + grads,
                TermKey.GRADS: sharded,
            }
        )

    head_sums = _running_sum(
        [e * groups.head.tensors[w].numel for w in orders.head if groups.head.tensors[w].trainable]
    )
    # The root's backward starts by gathering the last block ahead (BACKWARD_PRE).
    first = gather * units.block(depth - 1).whole if job.stage == 3 else 0
    head: dict[StateKey, Level] = {count: held(kept + first, size) for count, size in enumerate(head_sums)}
    root_grads = head_sums[-1]
    collected: list[dict[int, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    after: list[list[tuple[int, Level]]] = [[] for _ in orders.variants]
    for index in range(depth - 1, -1, -1):
        variant, unit = orders.layers[index], units.block(index)
        tensors = groups.kinds[orders.variant_kinds[variant]].tensors
        sums = _running_sum([e * tensors[w].numel for w in orders.variants[variant] if tensors[w].trainable])
        ahead = gather * units.block(index - 1).whole if index and job.stage == 3 else 0
        gathered = kept if job.stage == 2 else gather * unit.whole + ahead
        for count, size in enumerate(sums):
            collected[variant].setdefault(count, []).append((index, held(gathered, root_grads + size)))
        # The flat gradient is a concatenation of the views' gradients, which live until it is made.
        after[variant].append((index, held(gathered, root_grads + sums[-1] + max(sums[-1], flats[index]))))
        if earlier:
            waiting += flats[index] if empty else 0
            continue
        kept -= gather * unit.whole if job.stage == 2 else 0
        waiting -= flats[index] if job.grad_accum > 1 else 0
        # CPUOffload copies each reduced shard to the host and drops it (``_runtime_utils.py``, ``_post_reduce_grad_callback``).
        sharded += states.grad * unit.trainable_stored if job.offload is Offload.NONE else 0
    stem_sums = _running_sum(
        [e * groups.stem.tensors[w].numel for w in orders.stem if groups.stem.tensors[w].trainable]
    )
    stem: dict[StateKey, Level] = {count: held(kept, root_grads + size) for count, size in enumerate(stem_sums)}
    final = held(kept, 2 * (root_grads + stem_sums[-1]))
    blocks: list[dict[StateKey, LayerLevels]] = [{c: layer_levels(p) for c, p in per.items()} for per in collected]
    track = Track("grads", stem, tuple(blocks), head, tuple(layer_levels(points) for points in after))
    return track, Moment("backward", "root's flat gradient", dict(final.terms))


def _pieces(groups: Layout, units: Units) -> list[tuple[int]]:
    """Largest piece of a tensor in each unit's shard: with ``use_orig_params`` the optimizer gets views of one dimension."""
    root = (*groups.stem.tensors, *groups.head.tensors)
    pairs = [(root, units.root), *((kind.tensors, unit) for kind, unit in zip(groups.kinds, units.kinds, strict=True))]
    return [
        (min(max((t.numel for t in tensors if t.trainable), default=0), unit.trainable_stored),)
        for tensors, unit in pairs
    ]


def _beside(steady: dict[str, int], moment: Moment) -> Moment:
    terms = {key: steady.get(key, 0) + moment.terms.get(key, 0) for key in {**steady, **moment.terms}}
    return Moment(moment.phase, moment.name, terms)


def fsdp1_memory(
    groups: Layout, orders: GradOrders, job: Job, optimizer: OptimizerSpec, ranks: int, rank: int
) -> EngineMemory:
    """FSDP1 on one rank.

    Formula: fp32 flat shards 4 P/N and Adam 8 P/N between steps, fp32 gradient shards 4 P/N from backward to step; root whole
    in 16 bits, the running block and the next one whole, gradients twice while they are joined.
    """
    states = torch_bytes(job.precision, ComputeMode.MIXED)
    units = make_units(groups, job, ranks, rank)
    if ranks == 1:
        # One rank makes any strategy NO_SHARD: only a cast copy is made around each unit, and none where nothing is cast.
        job = replace(job, stage=3)
        units = units._replace(compute=units.compute if units.compute != states.param else 0)
    on_gpu = job.offload is Offload.NONE
    steady = steady_terms(units, states, optimizer, groups.adapters) if on_gpu else {}
    waiting = units.grad * units.total("trainable_whole") if job.grad_accum > 1 else 0
    # Without a reduction SHARD_GRAD_OP does not reshard after backward either.
    whole_blocks = units.compute * units.total("whole") if waiting and job.stage == 2 else 0
    backward, final = _backward(units, groups, orders, job, states)
    last = _beside(steady, final)
    step = dict(steady)
    if on_gpu:
        step[TermKey.GRADS] = states.grad * units.total("trainable_stored")
        step[TermKey.OPTIMIZER_TEMPORARIES] = temporary_bytes(
            optimizer, units.total("trainable"), _pieces(groups, units), states.optimized
        )
    params = steady.get(TermKey.PARAMS, 0)
    init = {TermKey.PARAMS: params, TermKey.GATHERED_PARAMS: init_bytes(units, states, params, 2) - params}
    host = HostTerms()
    if not on_gpu:
        shard = units.total("stored")
        kept = {
            TermKey.HOST_PARAMS: states.param * shard,
            TermKey.HOST_OPTIMIZER: state_bytes(optimizer, units.total("trainable"), states.optimized),
        }
        host = HostTerms(kept, sum(kept.values()) + states.grad * units.total("trainable"), (states.param * shard,))
    # zero_grad() only drops the views: the flat gradients live until the next forward resets them
    # (``_reset_flat_param_grad_info_if_needed``).
    between = {**steady, TermKey.GRADS: step.get(TermKey.GRADS, 0)}
    forward = _forward_track(units, orders, job.stage, waiting)
    passes = [Pass(steady, forward, backward, (last,), (Moment("forward", "gradients of the step before", between),))]
    if waiting:
        before, final = _backward(units, groups, orders, job, states, earlier=True)
        passes.append(Pass(steady, forward, before, (_beside(steady, final),)))
    return EngineMemory(
        steady=between,
        passes=tuple(passes),
        step=(
            Moment("step", "optimizer step", step),
            Moment(
                "step",
                "between micro-steps",
                {**steady, TermKey.UNSHARDED_GRADS: waiting, TermKey.GATHERED_PARAMS: whole_blocks},
            ),
        ),
        init=(Moment("init", "units sharded one by one", init),),
        host=host,
        states=states,
        grad_bytes=units.grad,
    )
