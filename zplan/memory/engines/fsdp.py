"""Fully sharded data parallel: FSDP2 (``fully_shard`` per block and on the root) and FSDP1 wrapped per block.

Source: torch ``distributed/fsdp/_fully_shard/_fsdp_param_group.py`` and ``_fsdp_collectives.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from zplan.memory.activations.base import ComputeMode
from zplan.memory.engines.base import EngineMemory, HostTerms, StateBytes, torch_bytes
from zplan.memory.engines.walk import GradOrders
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes
from zplan.memory.params import Layout, Piece
from zplan.memory.sharding import fsdp1_flat_shard_numel, fsdp2_padded_shard_numel, fsdp2_shard_numel, share
from zplan.memory.timeline import LayerLevels, Level, Pass, Track, layer_levels, level
from zplan.spec import Engine, Job, Offload, Precision


@dataclass(frozen=True, slots=True)
class _Unit:
    """One FSDP unit on one rank, in elements."""

    shard: int
    trainable_shard: int
    whole: int
    """Gathered elements, padding included."""
    trainable_whole: int
    padded: int
    """Elements of the all-gather input."""


def _unit(pieces: tuple[Piece, ...], job: Job, ranks: int, rank: int) -> _Unit:
    tensors = [tensor for piece in pieces for tensor in piece.tensors]
    if job.engine is Engine.FSDP1:
        numel, trained = sum(t.numel for t in tensors), sum(t.numel for t in tensors if t.trainable)
        shard, trained_shard = fsdp1_flat_shard_numel(numel, ranks), fsdp1_flat_shard_numel(trained, ranks)
        return _Unit(shard, trained_shard, shard * ranks, trained_shard * ranks, shard)
    shard = sum(fsdp2_shard_numel(t.shape, ranks, rank) for t in tensors)
    trained_shard = sum(fsdp2_shard_numel(t.shape, ranks, rank) for t in tensors if t.trainable)
    padded = sum(fsdp2_padded_shard_numel(t.shape, ranks) for t in tensors)
    trained_padded = sum(fsdp2_padded_shard_numel(t.shape, ranks) for t in tensors if t.trainable)
    return _Unit(shard, trained_shard, padded * ranks, trained_padded * ranks, padded)


@dataclass(frozen=True, slots=True)
class _Sizes:
    """Units of a model and the element sizes that their buffers have."""

    root: _Unit
    kinds: tuple[_Unit, ...]
    layers: tuple[int, ...]
    compute_bytes: int
    reduce_bytes: int
    ranks: int

    def gathered(self, unit: _Unit) -> int:
        """Bytes of a unit's unsharded parameters (none to gather on one rank beyond the cast)."""
        return self.compute_bytes * unit.whole

    def gather_in_flight(self, unit: _Unit) -> int:
        """All-gather output and input while the unit is being gathered; the input is a slice of the output."""
        return self.compute_bytes * unit.whole


def _steady(groups: Layout, units: _Sizes, job: Job, states: StateBytes, optimizer: OptimizerSpec) -> dict[str, int]:
    shard = units.root.shard + sum(units.kinds[kind].shard for kind in units.layers)
    trained = units.root.trainable_shard + sum(units.kinds[kind].trainable_shard for kind in units.layers)
    extra = share(groups.total - groups.shape_total, units.ranks)
    shard += extra
    trained += 0 if groups.adapters else extra
    terms = {TermKey.PARAMS: states.param * shard, TermKey.OPTIMIZER: state_bytes(optimizer, trained, states.optimized)}
    return {key: size for key, size in terms.items() if size and job.offload is Offload.NONE}


def _forward_track(units: _Sizes, orders: GradOrders, stage: int) -> Track:
    """Root whole all through; each block gathered while it runs, with the next one's gather in flight; stage 2 keeps them."""
    root = units.gathered(units.root)
    points: list[list[tuple[int, Level]]] = [[] for _ in orders.variants]
    depth, kept = len(units.layers), 0
    for index, variant in enumerate(orders.layers):
        own = units.gathered(units.kinds[units.layers[index]])
        ahead = units.gather_in_flight(units.kinds[units.layers[index + 1]]) if index + 1 < depth else 0
        points[variant].append(
            (index, level(**{TermKey.GATHERED_PARAMS: root + own + kept, TermKey.PREFETCHED_PARAMS: ahead}))
        )
        kept += own if stage == 2 else 0
    blocks: list[dict[str | int, LayerLevels]] = [{0: layer_levels(p)} for p in points]
    last = units.gathered(units.kinds[units.layers[-1]]) if stage == 3 else kept
    whole = level(**{TermKey.GATHERED_PARAMS: root + last})
    return Track(False, {0: level(**{TermKey.GATHERED_PARAMS: root})}, tuple(blocks), {0: whole})


def _backward_track(
    units: _Sizes, orders: GradOrders, groups: Layout, job: Job, reduced_bytes: int
) -> tuple[Track, Moment]:
    """Blocks from last to first: gathered block, next block's gather, unsharded gradients so far, reduce-scatter in flight."""
    root = units.gathered(units.root)
    all_blocks = sum(units.gathered(units.kinds[kind]) for kind in units.layers) if job.stage == 2 else 0
    grad = units.compute_bytes
    head_grads: dict[str | int, Level] = {}
    held = 0
    base = root + (all_blocks or units.gathered(units.kinds[units.layers[-1]]))
    head_grads[0] = level(**{TermKey.GATHERED_PARAMS: base})
    count = 0
    for which in orders.head:
        tensor = groups.head.tensors[which]
        if tensor.trainable:
            count, held = count + 1, held + grad * tensor.numel
            head_grads[count] = level(**{TermKey.GATHERED_PARAMS: base, TermKey.UNSHARDED_GRADS: held})
    collected: list[dict[int, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    sharded = 0
    in_flight = 0
    for index in range(len(units.layers) - 1, -1, -1):
        variant, unit = orders.layers[index], units.kinds[units.layers[index]]
        own = units.gathered(unit)
        ahead = units.gather_in_flight(units.kinds[units.layers[index - 1]]) if index and job.stage == 3 else 0
        gathered = root + (all_blocks or own)
        ready = held
        tensors = groups.kinds[orders.variant_kinds[variant]].tensors
        done = 0
        for step, which in enumerate((None, *orders.variants[variant])):
            if which is not None:
                if not tensors[which].trainable:
                    continue
                done += 1
                ready += grad * tensors[which].numel
            del step
            collected[variant].setdefault(done, []).append(
                (
                    index,
                    level(
                        **{
                            TermKey.GATHERED_PARAMS: gathered,
                            TermKey.PREFETCHED_PARAMS: ahead,
                            TermKey.UNSHARDED_GRADS: ready,
                            TermKey.REDUCE_BUCKET: in_flight,
                            TermKey.GRADS: sharded,
                        }
                    ),
                )
            )
        in_flight = units.reduce_bytes * unit.trainable_whole
        sharded += reduced_bytes * unit.trainable_shard
        all_blocks -= own if job.stage == 2 else 0
    blocks: list[dict[str | int, LayerLevels]] = [{c: layer_levels(p) for c, p in per.items()} for per in collected]
    stem: dict[str | int, Level] = {}
    done = 0
    stem[0] = level(
        **{
            TermKey.GATHERED_PARAMS: root,
            TermKey.UNSHARDED_GRADS: held,
            TermKey.REDUCE_BUCKET: in_flight,
            TermKey.GRADS: sharded,
        }
    )
    for which in orders.stem:
        tensor = groups.stem.tensors[which]
        if tensor.trainable:
            done, held = done + 1, held + grad * tensor.numel
            stem[done] = level(
                **{
                    TermKey.GATHERED_PARAMS: root,
                    TermKey.UNSHARDED_GRADS: held,
                    TermKey.REDUCE_BUCKET: in_flight,
                    TermKey.GRADS: sharded,
                }
            )
    root_reduce = units.reduce_bytes * units.root.trainable_whole
    final = {
        TermKey.UNSHARDED_GRADS: held,
        TermKey.REDUCE_BUCKET: root_reduce,
        TermKey.GRADS: sharded + reduced_bytes * units.root.trainable_shard,
    }
    return Track(False, stem, tuple(blocks), head_grads), Moment("backward", "root reduce-scatter", final)


def fsdp_memory(
    groups: Layout, orders: GradOrders, job: Job, optimizer: OptimizerSpec, ranks: int, rank: int
) -> EngineMemory:
    """FSDP on one rank.

    Formula: fp32 shards 4 P/N, Adam 8 P/N, fp32 gradient shards 4 P/N from backward to step; units gathered in the compute
    dtype; a reduce-scatter input in fp32 per unit; the root unit (embedding, final norm, head) stays gathered.
    """
    states = torch_bytes(job.precision, ComputeMode.CAST)
    compute = 4 if job.precision is Precision.FP32 else 2
    reduce_bytes = 2 if job.precision is Precision.BF16_PURE else 4
    if job.engine is Engine.FSDP1:
        reduce_bytes = compute
    units = _Sizes(
        root=_unit((groups.stem, groups.head), job, ranks, rank),
        kinds=tuple(_unit((kind,), job, ranks, rank) for kind in groups.kinds),
        layers=groups.layers,
        compute_bytes=compute,
        reduce_bytes=reduce_bytes,
        ranks=ranks,
    )
    steady = _steady(groups, units, job, states, optimizer)
    trained = units.root.trainable_shard + sum(units.kinds[kind].trainable_shard for kind in units.layers)
    grads = states.grad * trained
    base = dict(steady)
    if job.grad_accum > 1:
        base[TermKey.GRADS] = grads
    backward, final = _backward_track(units, orders, groups, job, 0 if job.grad_accum > 1 else states.grad)
    last = Moment(
        "backward", final.name, {key: base.get(key, 0) + final.terms.get(key, 0) for key in {**base, **final.terms}}
    )
    step = dict(steady) | {
        TermKey.GRADS: grads,
        TermKey.OPTIMIZER_TEMPORARIES: optimizer.step_temporary_copies * states.optimized * trained,
    }
    made = {TermKey.PARAMS: steady.get(TermKey.PARAMS, 0)}
    return EngineMemory(
        steady=steady,
        passes=(Pass(base, _forward_track(units, orders, job.stage), backward, (last,)),),
        step=(Moment("step", "optimizer step", {key: size for key, size in step.items() if size}),),
        init=(Moment("init", "sharded model", made),),
        host=_host(job, states, optimizer, units, trained),
        states=states,
        grad_bytes=compute,
    )


def _host(job: Job, states: StateBytes, optimizer: OptimizerSpec, units: _Sizes, trained: int) -> HostTerms:
    """CPU offload keeps shards, gradients and states on the host (``CPUOffloadPolicy``, pinned by default)."""
    if job.offload is Offload.NONE:
        return HostTerms()
    shard = units.root.shard + sum(units.kinds[kind].shard for kind in units.layers)
    steady = {
        TermKey.HOST_PARAMS: states.param * shard,
        TermKey.HOST_OPTIMIZER: state_bytes(optimizer, trained, states.optimized),
    }
    return HostTerms(steady, sum(steady.values()) + states.grad * trained, (states.param * shard,))
