"""Stage 3's gathered parameters along forward and backward: the coordinator's replay as tracks.

Source: DeepSpeed 0.19 ``runtime/zero/partitioned_param_coordinator.py`` and ``linear.py``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import NamedTuple

from zplan.memory.activations.base import AFTER_MODULE
from zplan.memory.activations.find import module_of
from zplan.memory.activations.heads import HEAD_MODULE
from zplan.memory.engines.calls import EXPERTS, Ops, implementation_of, in_chunks, model_ops
from zplan.memory.engines.prefetch import Coordinator, Step, Weights, replay, trace_of
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
    found = levels_of(_seen(groups, orders, options, chunks), element_bytes, adapter_bytes)
    return track_of(False, found, orders), track_of(True, found, orders)


_ADAPTERS = 1 << 64
"""What an adapter's element counts as where sizes are noted before it is known how many bytes an element takes: what the
coordinator decides depends on elements alone, and adapters take other formats than the weights that they are added to."""


class _Seen(NamedTuple):
    """What a replay went through."""

    calls: list[tuple[Step, int, Sequence[int]]]
    """Every call; what is gathered from then on; and what was while its tensors were copied out of their buffers."""
    layers: int
    short: Short | None = None
    sources: tuple[dict[int, int], dict[int, int]] | None = None
    """Where a short model was replayed what its layers stand for."""


@lru_cache(maxsize=32)
def _seen(groups: Layout, orders: GradOrders, options: DeepSpeedOptions, chunks: int) -> _Seen:
    short = shortened(groups, orders, options)
    found = None if short is None else _replayed_short(short, options, chunks)
    return found or _replayed(groups, orders, options, chunks)


def _calls(groups: Layout, orders: GradOrders, options: DeepSpeedOptions, chunks: int) -> tuple[list[Ops], list[bool]]:
    """Calls of each piece, and whether autograd keeps what it computes."""
    pieces = model_ops(groups, orders, options.param_persistence_threshold)
    pieces[-1] = in_chunks(pieces[-1], chunks, HEAD_MODULE)
    return pieces, [False, *(not orders.checkpointed[variant] for variant in orders.layers), False]


def _replayed(groups: Layout, orders: GradOrders, options: DeepSpeedOptions, chunks: int) -> _Seen:
    pieces, kept = _calls(groups, orders, options, chunks)
    trace = trace_of(pieces)
    one = Coordinator(trace, weights_of(groups, options, 1, _ADAPTERS), options, kept)
    return _Seen([(step, one.bytes, one.copying) for step in replay(trace, one)], len(orders.layers))


def _replayed_short(short: Short, options: DeepSpeedOptions, chunks: int) -> _Seen | None:
    """The replay of a short model; None where that does not stand for the whole."""
    pieces, kept = _calls(short.groups, short.orders, options, chunks)
    trace = trace_of(pieces)
    one = Watched(trace, weights_of(short.groups, options, 1, _ADAPTERS), options, kept)
    watch = Watch(short, pieces, one)
    if watch.hopeless:
        return None
    calls = [(step, one.bytes, one.copying) for step in replay(trace, one, watch.before)]
    sources = watch.sources()
    return None if sources is None else _Seen(calls, len(short.orders.layers), short, sources)


class _Sizes(dict[int, int]):
    """Bytes of what a replay noted; few sums differ."""

    def __init__(self, element_bytes: int, adapter_bytes: int) -> None:
        super().__init__()
        self._element_bytes, self._adapter_bytes = element_bytes, adapter_bytes

    def __missing__(self, noted: int) -> int:
        adapters, rest = divmod(noted, _ADAPTERS)
        self[noted] = size = self._element_bytes * rest + self._adapter_bytes * adapters
        return size


def levels_of(seen: _Seen, element_bytes: int, adapter_bytes: int) -> PieceLevels:
    """The whole model's levels, with so many bytes per element of a weight and of an adapter."""
    levels, sizes = PieceLevels(seen.layers), _Sizes(element_bytes, adapter_bytes)
    for step, held, copying in seen.calls:
        levels.add(step, sizes[held], max([sizes[size] for size in copying]) if copying else 0)
    if seen.short is not None and seen.sources is not None:
        levels.found = stretched(levels.found, seen.sources, seen.short)
    return levels


class _Piece:
    """One piece in one direction: what was counted, and where its code is."""

    __slots__ = ("last", "later", "states")

    def __init__(self, states: dict[str, int]) -> None:
        self.states = states
        self.later = 0
        """1 within the first module that has gradients, 2 after it; in forward 2 from the first module with matrices on."""
        self.last: tuple[str, ...] = ()
        """States of code after the modules with matrices that began last."""


class _Names(NamedTuple):
    """States that belong to some modules with matrices."""

    again: tuple[str, ...]
    """While they run forward, or are computed again."""
    own: tuple[str, ...]
    """While they run backward alone."""
    after: tuple[str, ...]
    """After they ran forward, or were computed again."""
    after_own: tuple[str, ...]
    """After their backward."""


@lru_cache(maxsize=4096)
def _names(keys: tuple[str, ...]) -> _Names:
    own, after = tuple(map(own_backward, keys)), tuple(f"{AFTER_MODULE}{key}" for key in keys)
    return _Names(keys, own, after, after + tuple(map(own_backward, after)))


def _raise(states: dict[str, int], names: Iterable[str], size: int) -> None:
    """Notes what is there in some states."""
    for name in names:
        if states.get(name, -1) < size:
            states[name] = size


class PieceLevels:
    """The most bytes that are gathered in each state of each piece.

    Code outside of modules with matrices is told apart by the module that ran last; and, for activations that don't tell, by
    whether it runs before or after the first of them in forward, and by whether a gradient of the piece is ready in backward.
    """

    def __init__(self, blocks: int) -> None:
        """Of a model with so many blocks."""
        self._blocks = blocks
        self.found: dict[tuple[bool, int], dict[str, int]] = {}
        self._pieces: dict[tuple[bool, int], _Piece] = {}
        self._before = 0
        self._running: tuple[str, ...] = ()
        """States of modules that run backward, and are not computed again."""
        self._counted: tuple[bool, int, bool] | None = None
        """Where code outside of modules with matrices was counted last, if nothing was since: as long as it is there and what is
        gathered stays the same, it need not be counted again."""

    def add(self, step: Step, size: int, fetching: int = 0) -> None:
        """Counts what is held from one call to the next.

        Args:
            step: The call that is over.
            size: Bytes of gathered weights, from now on.
            fetching: The most bytes while the call's own tensors were copied out of the buffers that they were gathered in.
        """
        backward, number, op = step.backward, step.number - 1, step.op
        if size == self._before and fetching <= size and not op.keys and self._counted == (backward, number, op.again):
            return
        piece = self._pieces.get((backward, number))
        if piece is None:
            piece = self._pieces[backward, number] = _Piece(self.found.setdefault((backward, number), {"": 0}))
        states, before, own = piece.states, self._before, backward and not op.again
        if fetching > size:
            # Before a module begins the code that runs is that after the module before it.
            _raise(states, (*piece.last, LATER if piece.later else ""), fetching)
        names = _names(op.keys) if op.keys else None
        if own:
            # Gradients are ready from somewhere within the first module that has any.
            piece.later = 2 if piece.later else int(op.begins and op.graded)
            # A block is recomputed within the backward of its last module, whose gradients come after that.
            if not op.begins and self._running:
                _raise(states, self._running, before)
            self._running = names.own if op.begins and names is not None else ()
        elif names is not None and not backward:
            piece.later = 2
        self._before = size
        if names is not None:
            apart = not 0 <= number < self._blocks
            # Code right before a module needs less than the module, but the buffer may go that its tensors were copied from.
            self._add_modules(piece, names, step, size, size if apart else max(size, before, fetching))
            if not op.leaf:
                self._counted = None
                return
        # Code outside of modules with matrices.
        _raise(states, piece.last, size)
        if piece.later < 2 and states[""] < size:
            states[""] = size
        if piece.later and not op.again and states.get(LATER, -1) < size:
            states[LATER] = size
        # In backward a call may also bring the piece's first gradient, or end a module that was recomputed in between.
        self._counted = None if own and (piece.later < 2 or self._running) else (backward, number, op.again)

    def _add_modules(self, piece: _Piece, names: _Names, step: Step, size: int, around: int) -> None:
        """Counts what is there while modules with matrices run that begin now."""
        op, own = step.op, step.backward and not step.op.again
        for key, backward in zip(names.again, names.own, strict=True):
            # Of a mixture of experts it is the router that comes first, and last in backward.
            inside = op.leaf and (own or key.endswith(EXPERTS))
            _raise(piece.states, (key, backward) if own else (key,), size if inside else around)
        piece.last = names.after_own if own else names.after


def track_of(backward: bool, found: PieceLevels, orders: GradOrders) -> Track:
    """One pass of the replay as a track."""
    known: dict[int, Level] = {}
    """Layers in which as much is gathered share a level, which is then known to be the same."""
    made: dict[int, dict[StateKey, Level]] = {}
    """Layers that are the same share their states (see ``stretched``)."""

    def gathered(size: int) -> Level:
        found = known.get(size)
        if found is None:
            found = known[size] = level(**{TermKey.GATHERED_PARAMS: size})
        return found

    def levels(piece: int) -> dict[StateKey, Level]:
        states = found.found.get((backward, piece))
        if states is None:
            return {"": gathered(0)}
        levels = made.get(id(states))
        if levels is None:
            levels = made[id(states)] = {module: gathered(size) for module, size in states.items()}
        return levels

    blocks = []
    for variant in range(len(orders.variants)):
        indices = tuple([index for index, one in enumerate(orders.layers) if one == variant])
        blocks.append(_columns(indices, [levels(index) for index in indices]))
    return Track("module", levels(-1), tuple(blocks), levels(len(orders.layers)))


def _columns(indices: tuple[int, ...], layers: Sequence[dict[StateKey, Level]]) -> dict[StateKey, LayerLevels]:
    """The levels of each state over some layers, which need not all have all states."""
    first = layers[0]
    if all(one.keys() == first.keys() for one in {id(one): one for one in layers}.values()):
        return {state: LayerLevels(indices, tuple([one[state] for one in layers])) for state in first}
    points: dict[StateKey, list[tuple[int, Level]]] = {}
    for index, one in zip(indices, layers, strict=True):
        for state, value in one.items():
            points.setdefault(state, []).append((index, value))
    return {state: layer_levels(found) for state, found in points.items()}


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
