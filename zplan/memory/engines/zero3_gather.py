"""Stage 3's gathered parameters along forward and backward: the coordinator's replay as tracks.

Source: DeepSpeed 0.19 ``runtime/zero/partitioned_param_coordinator.py`` and ``linear.py``.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.activations.find import module_of
from zplan.memory.activations.heads import HEAD_MODULE
from zplan.memory.engines.calls import implementation_of, in_chunks, model_ops
from zplan.memory.engines.prefetch import Held, Weights, replay
from zplan.memory.engines.walk import GradOrders
from zplan.memory.moments import TermKey
from zplan.memory.params import Layout, Piece, Tensor
from zplan.memory.timeline import LATER, LayerLevels, Level, StateKey, Track, layer_levels, level, own_backward
from zplan.spec import DeepSpeedOptions, WeightKind


@lru_cache(maxsize=512)
def gathered_tracks(
    groups: Layout,
    orders: GradOrders,
    options: DeepSpeedOptions,
    element_bytes: int,
    adapter_bytes: int,
    chunks: int = 1,
) -> tuple[Track, Track]:
    """The coordinator's replay of a step as tracks, forward and backward; the head is called once per chunk of the loss."""
    pieces = model_ops(groups, orders, options.param_persistence_threshold)
    pieces[-1] = in_chunks(pieces[-1], chunks, HEAD_MODULE)
    checkpointed = [orders.checkpointed[variant] for variant in orders.layers]
    levels = PieceLevels()
    weights = weights_of(groups, options, element_bytes, adapter_bytes)
    for held in replay(pieces, checkpointed, options, weights):
        levels.add(held)
    return track_of(False, levels, orders), track_of(True, levels, orders)


class PieceLevels:
    """The most bytes that are gathered in each state of each piece.

    Code outside of modules with matrices is told apart by whether it runs before or after the first of them in forward, and by
    whether a gradient of the piece is ready in backward.
    """

    def __init__(self) -> None:
        self.found: dict[tuple[bool, int], dict[str, int]] = {}
        self._later: dict[tuple[bool, int], int] = {}
        self._before = 0
        self._running: tuple[str, ...] = ()

    def add(self, held: Held) -> None:
        """Counts what is held from one call to the next."""
        where, op = (held.backward, held.piece), held.op
        states = self.found.setdefault(where, {"": 0})
        later = self._later.get(where, 0)
        if held.backward and not op.again:
            # Gradients are ready from somewhere within the first module that has any.
            later = 2 if later else int(op.begins and op.graded)
        elif not held.backward and op.keys:
            later = 2
        self._later[where] = later
        if held.backward and not op.again:
            # A block is recomputed within the backward of its last module, whose gradients come after that.
            for key in () if op.begins else self._running:
                states[own_backward(key)] = max(states.get(own_backward(key), 0), self._before)
            self._running = op.keys if op.begins else ()
        self._before = held.size
        for key in op.keys:
            for name in (key, own_backward(key)) if held.backward and not op.again else (key,):
                states[name] = max(states.get(name, 0), held.size)
        if not op.keys or op.leaf:
            if later < 2:
                states[""] = max(states[""], held.size)
            if later and not op.again:
                states[LATER] = max(states.get(LATER, 0), held.size)


def track_of(backward: bool, found: PieceLevels, orders: GradOrders) -> Track:
    """One pass of the replay as a track."""

    def levels(piece: int) -> dict[StateKey, Level]:
        states = found.found.get((backward, piece), {"": 0})
        return {module: level(**{TermKey.GATHERED_PARAMS: size}) for module, size in states.items()}

    points: list[dict[StateKey, list[tuple[int, Level]]]] = [{} for _ in orders.variants]
    for index, variant in enumerate(orders.layers):
        for module, value in levels(index).items():
            points[variant].setdefault(module, []).append((index, value))
    blocks: list[dict[StateKey, LayerLevels]] = [{m: layer_levels(p) for m, p in per.items()} for per in points]
    return Track("module", levels(-1), tuple(blocks), levels(len(orders.layers)))


SAVES_WEIGHT_VIEWS = frozenset({"falcon"})
"""Families whose linear layers multiply by ``self.weight.T`` (transformers ``FalconLinear``): autograd saves that view."""


def weights_of(groups: Layout, options: DeepSpeedOptions, element_bytes: int, adapter_bytes: int) -> Weights:
    """All parameters, and of which autograd saves views, so that releasing them frees nothing until their backward.

    A weight that is saved itself costs nothing, since its data is exchanged; a view of it keeps the gathered data alive. Stacked
    experts are transposed for grouped products, unless adapters are added to them first: then these are seen through views
    (peft ``ParamWrapper``). ``F.linear`` transposes, too, unless ``memory_efficient_linear`` replaces it
    (``runtime/zero/linear.py``).
    """
    numel: list[int] = []
    sizes: list[int] = []
    frozen: set[int] = set()
    stashed: set[int] = set()
    pieces = [(groups.stem, False), *((groups.kinds[k], _views(groups.kinds[k])) for k in groups.layers)]
    for piece, transposes in (*pieces, (groups.head, False)):
        summed = any(_of_experts(tensor) for tensor in piece.tensors)
        for tensor in piece.tensors:
            place = len(numel)
            numel.append(tensor.numel)
            sizes.append(tensor.numel * (adapter_bytes if groups.adapters and tensor.trainable else element_bytes))
            if not tensor.trainable:
                frozen.add(place)
            linear = tensor.kind is WeightKind.LINEAR and (transposes or not options.memory_efficient_linear)
            if linear or _of_experts(tensor) or (tensor.kind is WeightKind.EXPERTS and not summed):
                stashed.add(place)
    return Weights(numel, sizes, frozen, stashed)


def _views(piece: Piece) -> bool:
    return module_of(implementation_of(piece)) in SAVES_WEIGHT_VIEWS


def _of_experts(tensor: Tensor) -> bool:
    """Whether a tensor is an adapter of stacked experts."""
    return ".experts." in tensor.name and ".lora_" in tensor.name
