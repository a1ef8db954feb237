"""Stage 3's replay of a model with many equal layers, from one with few of them.

The coordinator looks a bounded way ahead: as far as it prefetches, and as far as a tensor counts as used again. Between the first
layers and those near the turn from forward to backward it therefore does the same thing layer after layer. Where it is in the
same state at the beginning of two equal stretches of layers, and nothing that it decided before the second looked past its
beginning, any number of such stretches could stand between them. So a model with a few layers is replayed, and what happens in a
stretch holds for those that were left out; where no such place is found, all layers are replayed.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import compress, islice
from typing import Any, NamedTuple

from zplan.memory.engines.calls import Ops
from zplan.memory.engines.prefetch import Coordinator, Step
from zplan.memory.engines.walk import GradOrders, piece_offsets
from zplan.memory.params import Layout
from zplan.spec import DeepSpeedOptions

LONGEST_PERIOD = 8
"""Layers: no architecture alternates over more."""
SETTLING = (2, 2, 1)
"""Stretches beyond those that the coordinator reaches over, in which it settles into its rhythm: of one layer, two, or more."""


class Short(NamedTuple):
    """A model with fewer layers."""

    groups: Layout
    orders: GradOrders
    lead: int
    """Layers before the equal stretches begin; the first layer is always one of them, since its backward ends earlier."""
    period: int
    """Layers of a stretch."""
    removed: int
    """Layers left out: whole stretches."""


def shortened(groups: Layout, orders: GradOrders, options: DeepSpeedOptions) -> Short | None:
    """A model of at most two thirds of the layers, whose replay may stand for the whole model's; None where it has more."""
    layers, best = orders.layers, None
    for period in range(1, min(LONGEST_PERIOD, len(layers) // 2) + 1):
        lead = next((i + 1 for i in range(len(layers) - period - 1, 0, -1) if layers[i] != layers[i + period]), 1)
        if len(layers) - lead < 2 * period:
            continue
        numel = sum(groups.kinds[groups.layers[lead + i]].numel for i in range(period))
        reach = options.max_reuse_distance + options.max_live_parameters
        removed = (len(layers) - lead) // period - (-(-reach // max(1, numel)) + SETTLING[min(period, 3) - 1])
        if 3 * removed * period >= len(layers) and (best is None or removed * period > best.removed):
            rest = slice(lead, len(layers) - removed * period)
            kept = orders._replace(layers=(*layers[:lead], *layers[rest]))
            fewer = replace(groups, layers=(*groups.layers[:lead], *groups.layers[rest]))
            best = Short(fewer, kept, lead, period, removed * period)
    return best


class Watched(Coordinator):
    """A coordinator that notes what it decided by looking ahead."""

    def __init__(self, trace: Sequence[Step], *rest: Any) -> None:
        super().__init__(trace, *rest)
        self.kept_for: list[tuple[int, int]] = []
        """(step, later step) of tensors that were kept for a later use."""
        self.recorded = [number for _, number in self.queue]

    def _used_again(self, place: int, step: Step) -> bool:
        again = super()._used_again(place, step)
        if again:
            uses = self.uses[place]
            self.kept_for.append((self.step, uses[bisect_left(uses, self.step)]))
        return again


class _Begin(NamedTuple):
    """The beginning of a block in one direction."""

    step: int
    position: int
    state: object


class Watch:
    """Finds where stretches can be put in, in forward and in backward.

    Args:
        short: The model that is replayed.
        pieces: Calls of its pieces.
        coordinator: Made for them.
    """

    def __init__(self, short: Short, pieces: Sequence[Ops], coordinator: Watched) -> None:
        self.coordinator = coordinator
        self._short, self._layers = short, len(short.orders.layers)
        offsets, self._end = piece_offsets(short.groups)
        self._offsets, self._first = offsets, offsets[short.lead]
        self._begins: tuple[dict[int, _Begin], dict[int, _Begin]] = ({}, {})
        self._found: list[tuple[int, int] | None] = [None, None]
        """Two layers, one stretch apart, between which stretches can be put in; in forward and in backward."""
        up = sum(op.begins for piece in pieces[:-1] for op in piece.forward)
        turn = up + sum(op.begins for op in pieces[-1].forward)
        down = sum(op.begins for piece in pieces[short.lead + 1 :] for op in piece.backward)
        self._over = tuple(bisect_left(coordinator.recorded, step) for step in (up, turn + down))
        """Places in the queue at which the stretches are over in each direction."""
        self._leaves = bool(coordinator.weights.stashed) or any(op.leaf for piece in pieces for op in piece.forward)

    @property
    def hopeless(self) -> bool:
        """Views that outlive a release pile up layer by layer; leaves look as far as the model is long."""
        return self._leaves

    def before(self, step: Step) -> None:
        """Looks at the state before the first call of a block in the stretches, until a place is found."""
        layer, backward = step.number - 1, step.backward
        begins = self._begins[backward]
        if self._found[backward] is not None or not self._short.lead <= layer < self._layers or layer in begins:
            return
        one = self.coordinator
        begins[layer] = begin = _Begin(one.step, one.position, self._state(step.number, self._offsets[layer]))
        earlier = layer + self._short.period if backward else layer - self._short.period
        if earlier in begins and begins[earlier].state == begin.state and self._looked_no_further(begin, backward):
            self._found[backward] = earlier, layer

    def _looked_no_further(self, begin: _Begin, backward: bool) -> bool:
        """Whether no decision before the beginning of a block looked past it, or past the stretches when it prefetched."""
        if begin.position > self._over[backward]:
            return False
        return not any(now < begin.step <= later for now, later in self.coordinator.kept_for)

    def _state(self, number: int, base: int) -> object:
        """All that the coordinator's next decisions depend on, with places and calls counted from a block's own."""
        one = self.coordinator

        def place(at: int) -> tuple[bool, int]:
            inside = self._first <= at < self._end
            return inside, at - base if inside else at

        def module(which: tuple[int, int]) -> tuple[bool, int, int]:
            inside = self._short.lead < which[0] <= self._layers
            return inside, which[0] - number if inside else which[0], which[1]

        groups: dict[int, tuple[Any, list[tuple[bool, int]]]] = {}
        for at, group in one.in_flight.items():
            groups.setdefault(id(group), (group, []))[1].append(place(at))
        every = range(len(one.status))
        there = {*compress(every, one.status), *compress(every, map(one.step.__le__, one.fetched_for))}
        tensors = {(place(at), one.status[at], max(one.fetched_for[at] - one.step, -1)) for at in there}
        return (
            one.position - bisect_left(one.recorded, one.step),
            one.available,
            one.bytes,
            tensors,
            {(tuple(sorted(members)), group.left, group.used, group.flat) for group, members in groups.values()},
            {(place(at), frozenset(map(module, users))) for at, users in one.active.items() if users},
            # Modules of pieces whose backward is over never end: of these only the last is ever asked for.
            [module(which) for which in islice(reversed(one.running), 1)] if one.weights.frozen else (),
            {module(owner): sorted(map(place, places)) for owner, places in one.again.items()},
        )

    def sources(self) -> tuple[dict[int, int], dict[int, int]] | None:
        """For each layer of the whole model the layer whose forward, and whose backward, is like its own; None: none found."""
        period, removed = self._short.period, self._short.removed
        whole = range(self._layers + removed)
        ahead, back = self._found
        if ahead is None or back is None:
            return None
        forward = {
            i: i if i < ahead[1] else ahead[0] + (i - ahead[1]) % period if i < ahead[1] + removed else i - removed
            for i in whole
        }
        top = back[1] + removed
        backward = {i: i - removed if i > top else back[0] - (top - i) % period if i > back[1] else i for i in whole}
        return forward, backward


def stretched(
    found: Mapping[tuple[bool, int], dict[str, int]],
    sources: tuple[Mapping[int, int], Mapping[int, int]],
    short: Short,
    growth: int = 0,
) -> dict[tuple[bool, int], dict[str, int]]:
    """What was found for the pieces of the short model, for those of the whole one.

    Args:
        found: By direction and piece.
        sources: See :meth:`Watch.sources`.
        short: The short model.
        growth: Bytes that each stretch of layers leaves behind for good in forward.
    """
    whole: dict[tuple[bool, int], dict[str, int]] = {}
    layers = len(short.orders.layers)
    for backward, source in zip((False, True), sources, strict=True):
        for piece in range(-1, len(source) + 1):
            like = source.get(piece, piece if piece < 0 else layers)
            missing = short.removed if backward else piece - like
            more = missing // short.period * growth
            known = found.get((backward, like))
            if known is not None:
                # 0 where no code was counted.
                whole[backward, piece] = (
                    {state: size and size + more for state, size in known.items()} if more else known
                )
    return whole
