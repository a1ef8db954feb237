"""FSDP2: ``fully_shard`` on every block and on the root.

Source throughout: torch 2.13 ``distributed/fsdp/_fully_shard/_fsdp_param_group.py`` and ``_fsdp_collectives.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from zplan.memory.activations.base import ComputeMode
from zplan.memory.engines.base import EngineMemory, HostTerms, StateBytes, torch_bytes
from zplan.memory.engines.units import Unit, Units, init_bytes, make_units, steady_terms, stored_bytes
from zplan.memory.engines.walk import GradOrders
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, sharded_blocks_bytes, temporary_bytes
from zplan.memory.params import Layout, Tensor
from zplan.memory.sharding import fsdp2_shard_numel
from zplan.memory.timeline import NOTHING, LayerLevels, Level, Pass, StateKey, Track, layer_levels, level
from zplan.spec import Job, Offload


@dataclass(frozen=True, slots=True)
class _Buffers:
    """Bytes of each unit's transient buffers."""

    units: Units
    job: Job

    def params(self, unit: Unit) -> int:
        """Unsharded parameters, which autograd and the modules use."""
        return self.units.compute * unit.whole

    def gather(self, unit: Unit) -> int:
        """All-gather output; its input is a slice of it. One rank copies without it (``wait_for_unshard``)."""
        return self.units.compute * unit.whole if self.units.ranks > 1 else 0

    def copy_in(self, unit: Unit) -> int:
        """Shards cast into one flat buffer before they are copied into the all-gather's input (mixed precision only)."""
        return (
            self.units.compute * unit.stored
            if self.units.ranks > 1 and self.units.compute == 2 and self.units.reduce == 4
            else 0
        )

    def starting(self, unit: Unit) -> int:
        """A unit's all-gather and copy-out while the output before it is still held (a local name in ``wait_for_unshard``).

        One rank has no all-gather: each shard is cast before it is copied (``init_unsharded_param``'s outputs come first).
        """
        if self.units.ranks == 1:
            mixed = self.units.compute == 2 and self.units.reduce == 4
            return self.params(unit) + (self.units.compute * unit.largest if mixed else 0)
        return self.gather(unit) + max(self.copy_in(unit), self.params(unit))

    def reduce_input(self, unit: Unit) -> int:
        """Reduce-scatter input, in the reduce dtype."""
        return self.units.reduce * unit.trainable_whole

    def accumulated(self, unit: Unit) -> int:
        """Unsharded gradients that earlier micro-steps left, in the reduce dtype and as tensors without padding.

        Source: ``to_accumulated_grad_if_needed``.
        """
        return self.units.reduce * unit.trainable_exact if self.job.grad_accum > 1 else 0


def _forward_track(buffers: _Buffers, orders: GradOrders) -> Track:
    """Each unit's all-gather output outlives its copy-out until the next unit's; stage 2 keeps the parameters, too."""
    units = buffers.units
    root, depth = buffers.params(units.root), len(units.layers)
    first = units.block(0)
    embedding = max(
        buffers.starting(units.root),
        root + buffers.gather(units.root) + buffers.starting(first),
    )
    points: list[list[tuple[int, Level]]] = [[] for _ in orders.variants]
    after: list[list[tuple[int, Level]]] = [[] for _ in orders.variants]
    kept = 0
    for index, variant in enumerate(orders.layers):
        unit = units.block(index)
        points[variant].append((index, _gathered(root + kept + buffers.params(unit), buffers.gather(unit))))
        kept += buffers.params(unit) if buffers.job.stage == 2 else 0
        starting = buffers.starting(units.block(index + 1)) if index + 1 < depth else 0
        after[variant].append((index + 1, _gathered(root + kept, buffers.gather(unit) + starting)))
    loss = _gathered(root + kept, buffers.gather(units.block(depth - 1)))
    blocks: list[dict[StateKey, LayerLevels]] = [{0: layer_levels(p)} for p in points]
    return Track("any", {0: _gathered(embedding, 0)}, tuple(blocks), {0: loss}, tuple(layer_levels(p) for p in after))


def _gathered(params: int, gathers: int) -> Level:
    return level(**{TermKey.GATHERED_PARAMS: params, TermKey.PREFETCHED_PARAMS: gathers})


def _running_sum(tensors: tuple[Tensor, ...], order: tuple[int, ...], element_bytes: int) -> list[int]:
    total, out = 0, [0]
    for which in order:
        if tensors[which].trainable:
            total += element_bytes * tensors[which].numel
            out.append(total)
    return out


class _Backward:
    """Walks backward: head, blocks from last to first, stem; collects a level per piece and gradient count."""

    def __init__(self, buffers: _Buffers, groups: Layout, orders: GradOrders, states: StateBytes) -> None:
        self.buffers, self.groups, self.orders, self.states = buffers, groups, orders, states
        units, job = buffers.units, buffers.job
        self.root = buffers.params(units.root)
        self.kept = sum(buffers.params(units.block(i)) for i in range(len(units.layers))) if job.stage == 2 else 0
        self.root_grads = 0
        self.waiting = buffers.accumulated(units.root) + sum(
            buffers.accumulated(units.block(i)) for i in range(len(units.layers))
        )
        self.sharded = 0
        self.in_flight = 0
        self.new = not self.waiting or units.reduce != units.compute
        """Gradients are tensors of their own; otherwise they are added in place to those that wait."""

    def level(self, gathered: int, ahead: int, grads: int) -> Level:
        """The level with these bytes gathered, gathering, and as unsharded gradients of the running piece."""
        return level(
            **{
                TermKey.GATHERED_PARAMS: self.root + gathered,
                TermKey.PREFETCHED_PARAMS: ahead,
                TermKey.UNSHARDED_GRADS: self.waiting + self.root_grads + grads,
                TermKey.REDUCE_BUCKET: self.in_flight,
                TermKey.GRADS: self.sharded,
            }
        )

    def head(self) -> dict[StateKey, Level]:
        """The loss head; the root has just prefetched the last block where blocks were resharded."""
        units, job = self.buffers.units, self.buffers.job
        ahead = self.buffers.gather(units.block(len(units.layers) - 1)) if job.stage == 3 else 0
        sums = _running_sum(self.groups.head.tensors, self.orders.head, units.compute)
        found: dict[StateKey, Level] = {count: self.level(self.kept, ahead, held) for count, held in enumerate(sums)}
        if not self.new:
            return dict.fromkeys(found, found[0])
        self.root_grads = sums[-1]
        return found

    def opening(self) -> Level:
        """The root gathered again before backward begins, its all-gather output beside its parameters (stage 3).

        Only where it was resharded: ``reshard_after_forward=True``, given outright, holds for the root, too
        (``FSDPParamGroup.pre_backward``).
        """
        units = self.buffers.units
        if self.buffers.job.stage != 3 or units.ranks == 1:
            return NOTHING
        gathering = max(self.root, self.buffers.copy_in(units.root))
        return level(
            **{
                TermKey.GATHERED_PARAMS: gathering,
                TermKey.PREFETCHED_PARAMS: self.buffers.gather(units.root),
                TermKey.UNSHARDED_GRADS: self.waiting,
            }
        )

    def blocks(self) -> tuple[tuple[dict[StateKey, LayerLevels], ...], tuple[LayerLevels, ...]]:
        """All blocks, and the reduction after each."""
        units, job, buffers = self.buffers.units, self.buffers.job, self.buffers
        collected: list[dict[int, list[tuple[int, Level]]]] = [{} for _ in self.orders.variants]
        after: list[list[tuple[int, Level]]] = [[] for _ in self.orders.variants]
        for index in range(len(units.layers) - 1, -1, -1):
            unit, variant = units.block(index), self.orders.layers[index]
            tensors = self.groups.kinds[self.orders.variant_kinds[variant]].tensors
            ahead = buffers.gather(units.block(index - 1)) if index and job.stage == 3 else 0
            gathered = self.kept if job.stage == 2 else buffers.params(unit)
            sums = _running_sum(tensors, self.orders.variants[variant], units.compute)
            for count, held in enumerate(sums):
                new = held if self.new else 0
                collected[variant].setdefault(count, []).append((index, self.level(gathered, ahead, new)))
            self.kept -= buffers.params(unit) if job.stage == 2 else 0
            after[variant].append((index, self._reducing(unit, sums[-1], ahead)))
            self.waiting -= buffers.accumulated(unit)
            self.in_flight = buffers.reduce_input(unit)
            self.sharded += self.states.grad * unit.trainable_stored if job.offload is Offload.NONE else 0
        levels: list[dict[StateKey, LayerLevels]] = [{c: layer_levels(p) for c, p in per.items()} for per in collected]
        return tuple(levels), tuple(layer_levels(points) for points in after)

    def _reducing(self, unit: Unit, grads: int, ahead: int) -> Level:
        """While a block's gradients are copied into the reduce-scatter's input: its parameters are resharded already."""
        in_flight, self.in_flight = self.in_flight, self.buffers.reduce_input(unit)
        found = self.level(self.kept, ahead, grads if not self.buffers.accumulated(unit) else 0)
        self.in_flight = in_flight
        return found

    def stem(self) -> tuple[dict[StateKey, Level], Moment]:
        """The embedding's gradient, and the root's own reduction at the very end."""
        units = self.buffers.units
        sums = _running_sum(self.groups.stem.tensors, self.orders.stem, units.compute)
        found: dict[StateKey, Level] = {
            count: self.level(0, 0, held if self.new else 0) for count, held in enumerate(sums)
        }
        held = self.root_grads + sums[-1] if not self.buffers.accumulated(units.root) else self.waiting
        copying = {
            TermKey.UNSHARDED_GRADS: held,
            TermKey.REDUCE_BUCKET: self.buffers.reduce_input(units.root),
            TermKey.GRADS: self.sharded,
        }
        scattering = {
            TermKey.UNSHARDED_GRADS: self._last_root_gradient(),
            TermKey.REDUCE_BUCKET: self.buffers.reduce_input(units.root) + units.reduce * units.root.trainable_stored,
            TermKey.GRADS: self.sharded,
        }
        final = max(copying, scattering, key=lambda terms: sum(terms.values()))
        return found, Moment("backward", "root reduce-scatter", final)

    def _last_root_gradient(self) -> int:
        """The gradient that a loop's variable still names while the others are freed (``foreach_reduce``); none on one rank."""
        units = self.buffers.units
        trained = [t.numel for piece in (self.groups.stem, self.groups.head) for t in piece.tensors if t.trainable]
        if units.ranks == 1 or not trained:
            return 0
        return trained[-1] * (units.reduce if self.buffers.accumulated(units.root) else units.compute)


class _Earlier(_Backward):
    """A micro-step before the last: nothing is reduced, and all that was accumulated stays until the end."""

    def __init__(
        self, buffers: _Buffers, groups: Layout, orders: GradOrders, states: StateBytes, *, first: bool
    ) -> None:
        super().__init__(buffers, groups, orders, states)
        # A gradient that has the right dtype is added to in place; others are cast after their unit's backward.
        self.new = first or self.new
        self.first = first
        self.waiting = 0 if first else self.waiting

    def blocks(self) -> tuple[tuple[dict[StateKey, LayerLevels], ...], tuple[LayerLevels, ...]]:
        """All blocks, and the casts after each."""
        units, job, buffers = self.buffers.units, self.buffers.job, self.buffers
        collected: list[dict[int, list[tuple[int, Level]]]] = [{} for _ in self.orders.variants]
        after: list[list[tuple[int, Level]]] = [[] for _ in self.orders.variants]
        for index in range(len(units.layers) - 1, -1, -1):
            unit, variant = units.block(index), self.orders.layers[index]
            tensors = self.groups.kinds[self.orders.variant_kinds[variant]].tensors
            ahead = buffers.gather(units.block(index - 1)) if index and job.stage == 3 else 0
            gathered = self.kept if job.stage == 2 else buffers.params(unit)
            sums = _running_sum(tensors, self.orders.variants[variant], units.compute)
            for count, held in enumerate(sums):
                new = held if self.new else 0
                collected[variant].setdefault(count, []).append((index, self.level(gathered, ahead, new)))
            self.kept -= buffers.params(unit) if job.stage == 2 else 0
            self.waiting += buffers.accumulated(unit) if self.first else 0
            after[variant].append((index, self.level(self.kept, ahead, 0 if self.first or not self.new else sums[-1])))
        levels: list[dict[StateKey, LayerLevels]] = [{c: layer_levels(p) for c, p in per.items()} for per in collected]
        return tuple(levels), tuple(layer_levels(points) for points in after)

    def earlier_stem(self) -> dict[StateKey, Level]:
        """The embedding's gradient."""
        sums = _running_sum(self.groups.stem.tensors, self.orders.stem, self.buffers.units.compute)
        return {count: self.level(0, 0, held if self.new else 0) for count, held in enumerate(sums)}


def fsdp2_memory(
    groups: Layout, orders: GradOrders, job: Job, optimizer: OptimizerSpec, ranks: int, rank: int
) -> EngineMemory:
    """FSDP2 on one rank.

    Formula: fp32 shards 4 P/N and Adam 8 P/N between steps; gradient shards 4 P/N from backward to step. Around each block:
    its parameters and the all-gather of the next one in 16 bits, its gradients in 16 bits, the reduce-scatter input in fp32.
    """
    states = torch_bytes(job.precision, ComputeMode.CAST)
    units = make_units(groups, job, ranks, rank)
    on_gpu = job.offload is Offload.NONE
    sharded = steady_terms(units, states, optimizer, groups.adapters)
    if optimizer.blockwise:
        trained = [tensor for tensor in groups.tensors() if tensor.trainable]
        each = [(tensor.numel, fsdp2_shard_numel(tensor.shape, ranks, rank)) for tensor in trained]
        sharded[TermKey.OPTIMIZER] += sharded_blocks_bytes(optimizer, each)
    steady = sharded if on_gpu else {}
    buffers = _Buffers(units, job)
    base = dict(steady)
    waiting = buffers.accumulated(units.root) + sum(
        buffers.accumulated(units.block(i)) for i in range(len(units.layers))
    )
    walk = _Backward(buffers, groups, orders, states)
    opening, head = walk.opening(), walk.head()
    blocks, after = walk.blocks()
    stem, final = walk.stem()
    forward = _forward_track(buffers, orders)
    if waiting:
        forward = _with(forward, TermKey.UNSHARDED_GRADS, waiting)
    grads = states.grad * (units.total("trainable_stored") + (0 if groups.adapters else units.extra))
    temporaries = temporary_bytes(optimizer, units.total("trainable"), (), states.optimized)
    step = dict(steady) | {
        TermKey.GRADS: grads if on_gpu else 0,
        TermKey.OPTIMIZER_TEMPORARIES: temporaries if on_gpu else 0,
    }
    last = Moment(
        "backward", final.name, {key: base.get(key, 0) + final.terms.get(key, 0) for key in {**base, **final.terms}}
    )
    passes = [Pass(base, forward, Track("grads", stem, blocks, head, after, opening), (last,))]
    if waiting:
        before = _Earlier(buffers, groups, orders, states, first=job.grad_accum == 2)
        opening, head = before.opening(), before.head()
        blocks, after = before.blocks()
        passes.append(Pass(base, forward, Track("grads", before.earlier_stem(), blocks, head, after, opening)))
    return EngineMemory(
        steady=steady,
        passes=tuple(passes),
        step=(
            Moment("step", "optimizer step", step),
            Moment("step", "between micro-steps", {**steady, TermKey.UNSHARDED_GRADS: waiting}),
        ),
        init=(_init(units, sharded, states),),
        host=_host(job, states, sharded[TermKey.OPTIMIZER], units),
        states=states,
        grad_bytes=units.compute,
    )


def _with(track: Track, key: str, size: int) -> Track:
    """The track with one more term at every instant."""

    def more(value: Level) -> Level:
        return Level(value.total + size, (*value.terms, (key, size)))

    def each(found: LayerLevels) -> LayerLevels:
        return layer_levels([(index, more(value)) for index, value in found.points])

    return Track(
        track.by,
        {state: more(value) for state, value in track.stem.items()},
        tuple({state: each(found) for state, found in per.items()} for per in track.blocks),
        {state: more(value) for state, value in track.head.items()},
        tuple(each(found) for found in track.after),
    )


def _init(units: Units, sharded: dict[str, int], states: StateBytes) -> Moment:
    """Init: units are sharded one by one; the one at hand is whole on the GPU beside the shards of all before it."""
    params = sharded[TermKey.PARAMS]
    terms = {TermKey.PARAMS: params, TermKey.GATHERED_PARAMS: init_bytes(units, states, params, 1) - params}
    return Moment("init", "units sharded one by one", terms)


def _host(job: Job, states: StateBytes, moments: int, units: Units) -> HostTerms:
    """CPU offload keeps shards, gradients and states on the host (``CPUOffloadPolicy``, pinned by default)."""
    if job.offload is Offload.NONE:
        return HostTerms()
    trained, params = units.total("trainable"), stored_bytes(units, states)
    steady = {
        TermKey.HOST_PARAMS: params,
        TermKey.HOST_OPTIMIZER: moments,
    }
    return HostTerms(steady, sum(steady.values()) + states.grad * trained, (params,))
