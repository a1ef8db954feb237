"""Peaks at every batch shape at once.

Most code keeps and needs so many bytes per token and so many whatever the batch is. Every instant of a block or the head is then a
straight line over the tokens of a micro-batch, an engine's level moves it up, and layers stored below turn it: what can be
the largest is the upper envelope of a few lines, worked out once for an engine's track and read at any number of tokens.

Code that is not so (s x s scores) is found by trying, and has no lines. A loss that is computed in parts of the tokens has none
either, but its model's blocks do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from zplan.memory.activations.base import Instant, PieceMemory
from zplan.memory.activations.table import LOG_SUM_EXP_STEP
from zplan.memory.codeside import Key, held_bytes, instant_keys, trunk_end
from zplan.memory.envelope import Envelope, Line, upper_envelope
from zplan.memory.facts import CodeFacts, with_loss
from zplan.memory.stack import build_blocks, build_head, build_stem, stack_shape
from zplan.memory.timeline import NOTHING, LayerLevels, Level, StateKey, Track
from zplan.spec import Loss, ModelSpec


class _Keyed(NamedTuple):
    """The lines of those instants of a piece at which an engine holds the same."""

    key: StateKey
    fallback: StateKey
    lines: list[Line]


_Piece = dict[str, list[_Keyed]]
"""By each way in which engines differ within a piece (``Track.by``)."""


class _NotLinear(Exception):
    """Something grows otherwise than with the tokens."""


_PROBES = ((1, 1), (2, 1), (1, 3), (3, 5), (4096, 7))
"""Batch shapes, lengths in steps: three make a plane, the others must lie in it. That tells tokens and sequences from lengths and
paddings (fourth), and from the larger of two things (last, many tokens in sequences that no window cuts)."""

_Plane = tuple[int, int, int]
"""(bytes per token, bytes, bytes per sequence)"""


class _Probes:
    """Sizes at the batch shapes that are probed, as planes and lines."""

    def __init__(self, step: int) -> None:
        self._step = step

    def plane(self, sizes: Sequence[int]) -> _Plane:
        """The plane through a size at each probe."""
        slope, odd = divmod(sizes[2] - sizes[0], 2 * self._step)
        per_sequence = sizes[1] - sizes[0] - slope * self._step
        start = sizes[0] - slope * self._step - per_sequence
        expected = [slope * batch * seq * self._step + start + per_sequence * batch for batch, seq in _PROBES[3:]]
        if odd or expected != list(sizes[3:]):
            raise _NotLinear
        return slope, start, per_sequence

    def line(self, sizes: Sequence[int]) -> Line:
        """The same of what counts no sequences."""
        slope, start, per_sequence = self.plane(sizes)
        if per_sequence:
            raise _NotLinear
        return slope, start

    def planes(self, probes: Sequence[Sequence[Instant]]) -> list[_Plane]:
        """Of each instant."""
        if len({len(instants) for instants in probes}) > 1 or any(one.score_bytes for one in probes[-1]):
            raise _NotLinear
        return [self.plane([one.activation_bytes for one in same]) for same in zip(*probes, strict=True)]

    def lines(self, probes: Sequence[Sequence[Instant]]) -> list[Line]:
        """Of each instant."""
        planes = self.planes(probes)
        if any(per_sequence for _, _, per_sequence in planes):
            raise _NotLinear
        return [(slope, start) for slope, start, _ in planes]

    def backward(self, probes: Sequence[PieceMemory], grad_sizes: Sequence[int]) -> _Piece:
        """Of a piece."""
        return _keyed(instant_keys(probes[0].backward, grad_sizes), self.lines([one.backward for one in probes]))


def _keyed(keys: Iterable[Key], lines: Iterable[Line]) -> _Piece:
    """The lines of a piece's instants, by what engines look their levels up by."""
    found: dict[tuple[str, StateKey, StateKey], list[Line]] = {}
    for (pending, by_grads, ready, by_module), (slope, start) in zip(keys, lines, strict=True):
        line = (slope, start + pending)
        for by, key, fallback in (("any", 0, 0), ("grads", by_grads, ready), ("module", by_module, "")):
            found.setdefault((by, key, fallback), []).append(line)
    pieces: _Piece = {"any": [], "grads": [], "module": []}
    for (by, key, fallback), values in found.items():
        pieces[by].append(_Keyed(key, fallback, upper_envelope(values)))
    return pieces


def _sums(one: Iterable[Line], other: Sequence[Line]) -> list[Line]:
    return [(slope + slope0, start + start0) for slope, start in one for slope0, start0 in other]


class _Variant:
    """One variant of block."""

    def __init__(self, draw: _Probes, probes: Sequence[PieceMemory], grad_sizes: Sequence[int]) -> None:
        self.forward = _keyed(instant_keys(probes[0].forward, ()), draw.lines([one.forward for one in probes]))
        self.backward = draw.backward(probes, grad_sizes)
        if any(one.kept_score_bytes or one.frame_score_bytes for one in probes):
            raise _NotLinear
        self.held = (
            draw.line([held_bytes(one, False) for one in probes]),
            draw.line([held_bytes(one, True) for one in probes]),
        )
        """What it holds while later pieces run backward, and forward."""
        self.frame = draw.line([one.frame_bytes for one in probes])
        self.input_grad = draw.line([one.input_grad_bytes for one in probes])


class _Head:
    """The loss head."""

    def __init__(self, draw: _Probes, probes: Sequence[PieceMemory], grad_sizes: Sequence[int]) -> None:
        keys, end = instant_keys(probes[0].forward, ()), trunk_end(probes[0].forward)
        planes = draw.planes([one.forward for one in probes])
        found: dict[tuple[int, bool], list[tuple[Key, Line]]] = {}
        for place, (key, (slope, start, per_sequence)) in enumerate(zip(keys, planes, strict=True)):
            found.setdefault((per_sequence, place < end), []).append((key, (slope, start)))
        self.forward = {where: _keyed(*zip(*pairs, strict=True)) for where, pairs in found.items()}
        """By bytes per sequence (labels are padded by one token each) and whether the frames of stem and blocks are there."""
        self.backward = draw.backward(probes, grad_sizes)
        self.kept = draw.line([one.kept_bytes + one.kept_score_bytes for one in probes])
        self.held_grad = draw.line([one.held_grad_bytes for one in probes])


class _Found(NamedTuple):
    """What an engine's track comes to in one direction, but for stem, inputs and a head that has no lines."""

    blocks: Envelope
    head: tuple[tuple[int, bool, Envelope], ...]
    """(bytes per sequence, the frames of stem and blocks are there, which are not in it; the rest)."""
    stem_most: int
    """The engine's largest level in the stem."""


class _Blocks:
    """A model's blocks as lines: the same whatever the loss is."""

    def __init__(self, model: ModelSpec, facts: CodeFacts, step: int) -> None:
        draw, shape = _Probes(step), stack_shape(model, facts)
        probes = [build_blocks(model, facts, batch, seq * step) for batch, seq in _PROBES]
        stems = [build_stem(model, facts, batch, seq * step) for batch, seq in _PROBES]
        self._layers = shape.layers
        self._variants = [
            _Variant(draw, same, sizes) for same, sizes in zip(zip(*probes, strict=True), shape.grad_sizes, strict=True)
        ]
        if any(stem.kept_score_bytes or stem.frame_score_bytes for stem in stems):
            raise _NotLinear
        self._below = (self._held_below(0), self._held_below(1))
        self.frames = _total([self._variants[variant].frame for variant in shape.layers])
        """Of all blocks."""
        self._memo: tuple[dict[Track, Envelope], dict[Track, Envelope]] = ({}, {})
        """By track, in backward and in forward."""

    def _held_below(self, forward: int) -> list[Line]:
        """What the layers below each hold, and all of them."""
        sums = [(0, 0)]
        for variant in self._layers:
            (slope, start), (slope0, start0) = self._variants[variant].held[forward], sums[-1]
            sums.append((slope0 + slope, start0 + start))
        return sums

    def stored(self, forward: bool) -> Line:
        """What all blocks hold while the head runs."""
        return self._below[forward][-1]

    def found(self, track: Track, forward: bool) -> Envelope:
        """What a track comes to."""
        known = self._memo[forward].get(track)
        if known is None:
            known = self._memo[forward][track] = Envelope([(0, 0), *self._lines(track, forward)])
        return known

    def _lines(self, track: Track, forward: bool) -> list[Line]:
        below, lines = self._below[forward], []
        held = {variant.held[forward] for variant in self._variants}
        growing = all(slope >= 0 and start >= 0 for slope, start in held)
        places: dict[int, list[Line]] = {}

        def placed(levels: LayerLevels) -> list[Line]:
            known = places.get(id(levels))
            if known is None:
                points = levels.hull if len(held) == 1 else levels.rising if growing else levels.points
                known = [(below[i][0], below[i][1] + level.total) for i, level in points]
                known = places[id(levels)] = upper_envelope(known) if len(known) > 1 else known
            return known

        for number, (variant, levels) in enumerate(zip(self._variants, track.blocks, strict=True)):
            if track.after:
                lines += _sums([variant.input_grad], placed(track.after[number]))
            for key, fallback, own in (variant.forward if forward else variant.backward)[track.by]:
                known = levels.get(key) or levels.get(fallback)
                if known is not None:
                    lines += _sums(own, placed(known))
        return lines


class Lines:
    """A model's blocks as lines, and its head where that is computed on all tokens at once."""

    def __init__(self, model: ModelSpec, facts: CodeFacts, step: int) -> None:
        blocks = _blocks(model, with_loss(facts, Loss.STANDARD), step)
        if blocks is None:
            raise _NotLinear
        self._blocks, shape = blocks, stack_shape(model, facts)
        self.stem_grad_sizes, self.head_grad_sizes = shape.stem_grad_sizes, shape.head_grad_sizes
        self.frames = blocks.frames
        """Of all blocks."""
        self._head: _Head | None = None
        """A loss in parts has bounds of its own, which probes may miss: such a head is evaluated at each shape."""
        if facts.job.loss in (Loss.STANDARD, Loss.IN_PLACE):
            probes = [build_head(model, facts, batch, seq * step) for batch, seq in _PROBES]
            self._head = _Head(_Probes(step), probes, shape.head_grad_sizes)
        self.memo: tuple[dict[Track, _Found], dict[Track, _Found]] = ({}, {})
        """By track, in backward and in forward."""

    def stored(self, forward: bool) -> Line:
        """What all blocks hold while the head runs."""
        return self._blocks.stored(forward)

    @property
    def held_grad(self) -> Line | None:
        """Gradient of a tied head's matrix, which waits in the head; None where the head has no lines."""
        return None if self._head is None else self._head.held_grad

    def found(self, track: Track, forward: bool) -> _Found:
        """What a track comes to."""
        known = self.memo[forward].get(track)
        if known is None:
            head = () if self._head is None else self._ends(self._head, track, forward)
            most = max((level.total for level in track.stem.values()), default=0)
            known = self.memo[forward][track] = _Found(self._blocks.found(track, forward), head, most)
        return known

    def _ends(self, head: _Head, track: Track, forward: bool) -> tuple[tuple[int, bool, Envelope], ...]:
        """The head's lines, on top of what all blocks hold."""
        stored = [self.stored(forward)]
        pieces = head.forward if forward else {(0, False): head.backward}
        parts = [(each, framed, _ends(piece[track.by], track.head)) for (each, framed), piece in pieces.items()]
        if track.opening.total:
            slope, start = head.kept
            parts.append((0, False, [(slope, start + track.opening.total)]))
        parts = [part for part in parts if part[2]] or [(0, False, [(0, 0)])]
        return tuple((each, framed, Envelope(_sums(lines, stored))) for each, framed, lines in parts)


def _total(lines: Iterable[Line]) -> Line:
    slopes, starts = zip(*lines, strict=True)
    return sum(slopes), sum(starts)


def _ends(keyed: Iterable[_Keyed], levels: Mapping[StateKey, Level]) -> list[Line]:
    found = []
    for key, fallback, own in keyed:
        held = (levels.get(key) or levels.get(fallback, NOTHING)).total
        found += [(slope, start + held) for slope, start in own]
    return found


def draw_lines(model: ModelSpec, facts: CodeFacts, seq: int) -> Lines | None:
    """The lines of a model's code under flash attention; None where something grows otherwise.

    Args:
        model: The architecture.
        facts: Which code runs.
        seq: A sequence's length. Code that pads it has lines for lengths that need no padding.

    Raises:
        ZplanError: There is no table for this code.
    """
    job = facts.job
    # A compiled block's savings have bounds of their own, which probes may miss.
    if job.compile or job.implementation != "transformers" or facts.leaves_inputs:
        return None
    steps = (step for step in (1, LOG_SUM_EXP_STEP) if seq % step == 0)
    return next((found for step in steps if (found := _lines(model, facts, step)) is not None), None)


@lru_cache(maxsize=1024)
def _blocks(model: ModelSpec, facts: CodeFacts, step: int) -> _Blocks | None:
    try:
        return _Blocks(model, facts, step)
    except _NotLinear:
        return None


@lru_cache(maxsize=1024)
def _lines(model: ModelSpec, facts: CodeFacts, step: int) -> Lines | None:
    try:
        return Lines(model, facts, step)
    except _NotLinear:
        return None
