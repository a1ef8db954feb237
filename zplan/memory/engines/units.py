"""FSDP units on one rank: what a block or the root holds sharded, gathered, and while its gradients are reduced."""

from __future__ import annotations

from typing import NamedTuple

from zplan.memory.engines.base import StateBytes
from zplan.memory.moments import TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes
from zplan.memory.params import Layout, Piece, Tensor
from zplan.memory.sharding import fsdp1_flat_shard_numel, fsdp2_padded_shard_numel, fsdp2_shard_numel, share
from zplan.spec import Engine, Job, Precision


class Unit(NamedTuple):
    """One unit, in elements."""

    stored: int
    """This rank's storage of the shard, padding included."""
    trainable: int
    """Elements that the optimizer updates: this rank's rows of trainable tensors."""
    trainable_stored: int
    whole: int
    """Gathered, padding included."""
    trainable_whole: int
    """Gathered elements of trainable tensors, padding included."""
    exact: int
    """Elements of all tensors, without padding."""
    trainable_exact: int
    largest: int
    """Elements of the largest tensor."""


def _fsdp2_unit(tensors: list[Tensor], ranks: int, rank: int) -> Unit:
    padded = [fsdp2_padded_shard_numel(t.shape, ranks) for t in tensors]
    trained = [size for size, tensor in zip(padded, tensors, strict=True) if tensor.trainable]
    rows = sum(fsdp2_shard_numel(t.shape, ranks, rank) for t in tensors if t.trainable)
    exact, trainable = sum(t.numel for t in tensors), sum(t.numel for t in tensors if t.trainable)
    largest = max((t.numel for t in tensors), default=0)
    return Unit(sum(padded), rows, sum(trained), sum(padded) * ranks, sum(trained) * ranks, exact, trainable, largest)


def _fsdp1_unit(tensors: list[Tensor], ranks: int, shared: bool) -> Unit:
    numel, trained = sum(t.numel for t in tensors), sum(t.numel for t in tensors if t.trainable)
    shard, part = fsdp1_flat_shard_numel(numel, ranks), fsdp1_flat_shard_numel(trained, ranks)
    # A flat parameter that trains in part has a gradient as a whole (views of frozen tensors get zeros).
    graded = shard if shared and trained else part
    largest = max((t.numel for t in tensors), default=0)
    return Unit(shard, part, graded, shard * ranks, graded * ranks, numel, trained, largest)


def make_unit(pieces: tuple[Piece, ...], job: Job, ranks: int, rank: int) -> Unit:
    """The unit that wraps some pieces of the model."""
    tensors = [tensor for piece in pieces for tensor in piece.tensors]
    shared = job.lora is not None and not job.lora.own_units
    return _fsdp1_unit(tensors, ranks, shared) if job.engine is Engine.FSDP1 else _fsdp2_unit(tensors, ranks, rank)


class Units(NamedTuple):
    """All units of a model and the element sizes of their buffers."""

    root: Unit
    kinds: tuple[Unit, ...]
    layers: tuple[int, ...]
    compute: int
    """Bytes of a gathered element; 0 where nothing is gathered."""
    grad: int
    """Bytes of an element of an unsharded gradient."""
    reduce: int
    """Bytes of an element of the reduce-scatter's input."""
    ranks: int
    extra: int
    """Elements a rank holds beyond the tensors: what ``--params 7B`` states more than its shape."""

    def block(self, index: int) -> Unit:
        """The unit of one layer."""
        return self.kinds[self.layers[index]]

    def total(self, field: str) -> int:
        """Sum of one field over all units."""
        blocks: list[int] = [getattr(kind, field) for kind in self.kinds]
        return int(getattr(self.root, field)) + sum(blocks[kind] for kind in self.layers)


def make_units(groups: Layout, job: Job, ranks: int, rank: int) -> Units:
    """Root (stem and head) and blocks, as ``fully_shard`` or accelerate's auto-wrap make them."""
    compute = 4 if job.precision is Precision.FP32 else 2
    reduce_bytes = compute if job.engine is Engine.FSDP1 or job.precision is Precision.BF16_PURE else 4
    return Units(
        root=make_unit((groups.stem, groups.head), job, ranks, rank),
        kinds=tuple(make_unit((kind,), job, ranks, rank) for kind in groups.kinds),
        layers=groups.layers,
        compute=compute,
        grad=compute,
        reduce=reduce_bytes,
        ranks=ranks,
        extra=share(groups.total - groups.shape_total, ranks),
    )


def frozen_bytes(states: StateBytes, units: Units) -> int:
    """Element size of frozen base weights: adapters train on a base that is loaded in the compute dtype."""
    return min(states.param, units.compute)


def stored_bytes(units: Units, states: StateBytes) -> int:
    """A rank's shards of all tensors, frozen ones in their own dtype."""
    trained = units.total("trainable_stored")
    return states.param * trained + frozen_bytes(states, units) * (units.total("stored") - trained)


def steady_terms(units: Units, states: StateBytes, optimizer: OptimizerSpec, adapters: int) -> dict[str, int]:
    """Sharded parameters and the optimizer states of the rank's own rows."""
    trained = units.total("trainable") + (0 if adapters else units.extra)
    stored = units.total("trainable_stored") + (0 if adapters else units.extra)
    frozen = units.total("stored") - units.total("trainable_stored") + (units.extra if adapters else 0)
    return {
        TermKey.PARAMS: states.param * stored + frozen_bytes(states, units) * frozen,
        TermKey.OPTIMIZER: state_bytes(optimizer, trained, states.optimized),
    }


def _whole_bytes(unit: Unit, units: Units, states: StateBytes) -> int:
    """A unit's tensors before they are sharded, in their own dtypes."""
    return states.param * unit.trainable_exact + frozen_bytes(states, units) * (unit.exact - unit.trainable_exact)


def init_bytes(units: Units, states: StateBytes, params_bytes: int, copies: int) -> int:
    """Peak of sharding a model unit by unit, blocks first and the root last.

    Args:
        units: The units.
        states: Bytes per element.
        params_bytes: What this rank keeps on the GPU.
        copies: How often a unit is on the GPU whole while it is sharded (FSDP1 flattens it into a copy).
    """
    if units.ranks == 1 and params_bytes:
        copies = 1  # the shard is the unit itself
    root = params_bytes + copies * _whole_bytes(units.root, units, states)
    stored = units.total("stored") or 1
    blocks = params_bytes - params_bytes * units.root.stored // stored
    return max(root, *(blocks + copies * _whole_bytes(kind, units, states) for kind in units.kinds))
