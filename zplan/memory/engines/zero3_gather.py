"""Stage 3's gathered parameters along forward and backward: the coordinator's replay as tracks.

Source: DeepSpeed 0.19 ``runtime/zero/partitioned_param_coordinator.py`` and ``linear.py``.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.activations.base import AFTER_MODULE
from zplan.memory.activations.find import module_of
from zplan.memory.activations.heads import HEAD_MODULE
from zplan.memory.engines.calls import EXPERTS, Ops, implementation_of, in_chunks, model_ops
from zplan.memory.engines.prefetch import Coordinator, Held, Weights, replay, trace_of
from zplan.memory.engines.walk import GradOrders
from zplan.memory.engines.zero3_short import Short, Watch, Watched, shortened, stretched
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
    short = shortened(groups, orders, options)
    found = None if short is None else _replayed_short(short, options, element_bytes, adapter_bytes, chunks)
    if found is None:
        found = _replayed(groups, orders, options, element_bytes, adapter_bytes, chunks)
    return track_of(False, found, orders), track_of(True, found, orders)


def _calls(groups: Layout, orders: GradOrders, options: DeepSpeedOptions, chunks: int) -> tuple[list[Ops], list[bool]]:
    """Calls of each piece, and whether autograd keeps what it computes."""
    pieces = model_ops(groups, orders, options.param_persistence_threshold)
    pieces[-1] = in_chunks(pieces[-1], chunks, HEAD_MODULE)
    return pieces, [False, *(not orders.checkpointed[variant] for variant in orders.layers), False]


def _replayed(
    groups: Layout,
    orders: GradOrders,
    options: DeepSpeedOptions,
    element_bytes: int,
    adapter_bytes: int,
    chunks: int,
) -> PieceLevels:
    pieces, kept = _calls(groups, orders, options, chunks)
    trace, levels = trace_of(pieces), PieceLevels(len(orders.layers))
    weights = weights_of(groups, options, element_bytes, adapter_bytes)
    for held in replay(trace, Coordinator(trace, weights, options, kept)):
        levels.add(held)
    return levels


def _replayed_short(
    short: Short, options: DeepSpeedOptions, element_bytes: int, adapter_bytes: int, chunks: int
) -> PieceLevels | None:
    """The whole model's levels from the replay of a short one; None where that does not stand for it."""
    pieces, kept = _calls(short.groups, short.orders, options, chunks)
    trace, levels = trace_of(pieces), PieceLevels(len(short.orders.layers))
    weights = weights_of(short.groups, options, element_bytes, adapter_bytes)
    watch = Watch(short, pieces, Watched(trace, weights, options, kept))
    if watch.hopeless:
        return None
    for held in replay(trace, watch.coordinator, watch.before):
        levels.add(held)
    sources = watch.sources()
    if sources is None:
        return None
    levels.found = stretched(levels.found, sources, short)
    return levels


class PieceLevels:
    """The most bytes that are gathered in each state of each piece.

    Code outside of modules with matrices is told apart by the module that ran last; and, for activations that don't tell, by
    whether it runs before or after the first of them in forward, and by whether a gradient of the piece is ready in backward.
    """

    def __init__(self, blocks: int) -> None:
        """Of a model with so many blocks."""
        self._blocks = blocks
        self.found: dict[tuple[bool, int], dict[str, int]] = {}
        self._later: dict[tuple[bool, int], int] = {}
        self._before = 0
        self._running: tuple[str, ...] = ()
        self._last: dict[tuple[bool, int], tuple[tuple[str, ...], bool]] = {}
        """The modules with matrices that began last in each piece, and whether in a recomputation."""

    def add(self, held: Held) -> None:
        """Counts what is held from one call to the next."""
        where, op = (held.backward, held.piece), held.op
        states = self.found.setdefault(where, {"": 0})
        later, before = self._later.get(where, 0), self._before
        if held.fetching > held.size:
            self._fetching(states, where, later, held.fetching)
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
        self._add_modules(states, held, before)
        if not op.keys or op.leaf:
            self._add_between(states, where, held.size)
            if later < 2:
                states[""] = max(states[""], held.size)
            if later and not op.again:
                states[LATER] = max(states.get(LATER, 0), held.size)

    def _add_modules(self, states: dict[str, int], held: Held, before: int) -> None:
        """Counts what is there while modules with matrices run that begin now."""
        op, own = held.op, held.backward and not held.op.again
        for key in op.keys:
            # Code right before a module needs less than the module, but the buffer may go that its tensors were copied from.
            # Of a mixture of experts it is the router that comes first, and last in backward.
            inside = op.leaf and (own or key.endswith(EXPERTS))
            apart = inside or not 0 <= held.piece < self._blocks
            size = held.size if apart else max(held.size, before, held.fetching)
            for name in (key, own_backward(key)) if own else (key,):
                states[name] = max(states.get(name, 0), size)
        if op.keys:
            self._last[held.backward, held.piece] = (op.keys, own)

    def _add_between(self, states: dict[str, int], where: tuple[bool, int], size: int) -> None:
        """Counts what is there in code after the modules that ran last."""
        last, in_backward = self._last.get(where, ((), False))
        for key in last:
            after = f"{AFTER_MODULE}{key}"
            for name in (after, own_backward(after)) if in_backward else (after,):
                states[name] = max(states.get(name, 0), size)

    def _fetching(self, states: dict[str, int], where: tuple[bool, int], later: int, size: int) -> None:
        """Counts what is there before a module begins: the code that runs meanwhile is that after the module before it."""
        last, in_backward = self._last.get(where, ((), False))
        names = [f"{AFTER_MODULE}{key}" for key in last]
        for name in (*names, *(own_backward(name) for name in names if in_backward), LATER if later else ""):
            states[name] = max(states.get(name, 0), size)


def track_of(backward: bool, found: PieceLevels, orders: GradOrders) -> Track:
    """One pass of the replay as a track."""
    known: dict[int, Level] = {}
    """Layers in which as much is gathered share a level, which is then known to be the same."""

    def gathered(size: int) -> Level:
        found = known.get(size)
        if found is None:
            found = known[size] = level(**{TermKey.GATHERED_PARAMS: size})
        return found

    def levels(piece: int) -> dict[StateKey, Level]:
        states = found.found.get((backward, piece), {"": 0})
        return {module: gathered(size) for module, size in states.items()}

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
