"""Peaks at every batch shape at once.

Most code keeps and needs so many bytes per token and so many whatever the batch is. Every instant of a block or the head is then a
straight line over the tokens of a micro-batch, an engine's level moves it up, and layers stored below turn it: what can be
the largest is the upper envelope of a few lines, worked out once for an engine's track and read at any number of tokens. The
stem, whose position tables depend on the length alone, is evaluated at each shape; it is small.

Code that is not so (s x s scores, chunks of a loss, paddings) is found by trying and goes by :class:`ByStack`.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from zplan.memory.activations.base import Instant, PieceMemory
from zplan.memory.codeside import Key, Stack, candidates, held_bytes, instant_keys, trunk_end
from zplan.memory.facts import CodeFacts
from zplan.memory.peaks import end_best, pass_peak
from zplan.memory.stack import (
    INPUT_BYTES_PER_TOKEN,
    Pieces,
    attention_of,
    build_pieces,
    build_stack,
    build_stem,
    scratch_bytes,
    stack_shape,
)
from zplan.memory.timeline import NOTHING, LayerLevels, Level, StateKey, Track
from zplan.spec import Attention, Loss, ModelSpec

Line = tuple[int, int]
"""(bytes per token, bytes)"""

FEW = 3
"""Batch shapes of a model that are added up as they are before lines are drawn: most commands ask for no more."""


def upper_envelope(lines: Iterable[Line]) -> list[Line]:
    """The lines that are the largest anywhere from 0 tokens on, by rising slope."""
    hull: list[Line] = []
    for slope, start in sorted(set(lines)):
        while hull:
            slope0, start0 = hull[-1]
            if start < start0:
                if len(hull) == 1:
                    break
                slope1, start1 = hull[-2]
                if (start1 - start) * (slope0 - slope1) > (start1 - start0) * (slope - slope1):
                    break
            hull.pop()
        hull.append((slope, start))
    return hull


class Envelope:
    """The largest of several lines."""

    __slots__ = ("_from", "_lines")

    def __init__(self, lines: Iterable[Line]) -> None:
        """Keeps the lines that count, and from how many tokens on each does."""
        self._lines = upper_envelope(lines)
        # Between two lines the later one counts from the first whole number at which it is not below.
        self._from = [
            -((start - start0) // (slope - slope0))
            for (slope0, start0), (slope, start) in zip(self._lines, self._lines[1:], strict=False)
        ]

    def at(self, tokens: int) -> int:
        """The largest at some number of tokens."""
        slope, start = self._lines[bisect_right(self._from, tokens)]
        return slope * tokens + start


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
"""Batch shapes: three make a plane, the others must lie in it. That tells tokens and sequences from lengths and paddings (fourth),
and from the larger of two things (last, many tokens in sequences that no window cuts)."""

_Plane = tuple[int, int, int]
"""(bytes per token, bytes, bytes per sequence)"""


def _plane(sizes: Sequence[int]) -> _Plane:
    """The plane through a size at the batch shapes that are probed."""
    slope, odd = divmod(sizes[2] - sizes[0], 2)
    per_sequence = sizes[1] - sizes[0] - slope
    start = sizes[0] - slope - per_sequence
    expected = [slope * batch * seq + start + per_sequence * batch for batch, seq in _PROBES[3:]]
    if odd or expected != list(sizes[3:]):
        raise _NotLinear
    return slope, start, per_sequence


def _line(sizes: Sequence[int]) -> Line:
    slope, start, per_sequence = _plane(sizes)
    if per_sequence:
        raise _NotLinear
    return slope, start


def _planes(probes: Sequence[Sequence[Instant]]) -> list[_Plane]:
    if len({len(instants) for instants in probes}) > 1 or any(one.score_bytes for one in probes[-1]):
        raise _NotLinear
    return [_plane([one.activation_bytes for one in same]) for same in zip(*probes, strict=True)]


def _lines(probes: Sequence[Sequence[Instant]]) -> list[Line]:
    planes = _planes(probes)
    if any(per_sequence for _, _, per_sequence in planes):
        raise _NotLinear
    return [(slope, start) for slope, start, _ in planes]


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


def _backward(probes: Sequence[PieceMemory], grad_sizes: Sequence[int]) -> _Piece:
    """Backward of a piece."""
    return _keyed(instant_keys(probes[0].backward, grad_sizes), _lines([one.backward for one in probes]))


class _Variant:
    """One variant of block."""

    def __init__(self, probes: Sequence[PieceMemory], grad_sizes: Sequence[int]) -> None:
        self.forward = _keyed(instant_keys(probes[0].forward, ()), _lines([one.forward for one in probes]))
        self.backward = _backward(probes, grad_sizes)
        if any(one.kept_score_bytes or one.frame_score_bytes for one in probes):
            raise _NotLinear
        self.held = (
            _line([held_bytes(one, False) for one in probes]),
            _line([held_bytes(one, True) for one in probes]),
        )
        """What it holds while later pieces run backward, and forward."""
        self.frame = _line([one.frame_bytes for one in probes])
        self.input_grad = _line([one.input_grad_bytes for one in probes])


class _Head:
    """The loss head."""

    def __init__(self, probes: Sequence[PieceMemory], grad_sizes: Sequence[int]) -> None:
        keys, end = instant_keys(probes[0].forward, ()), trunk_end(probes[0].forward)
        planes = _planes([one.forward for one in probes])
        found: dict[tuple[int, bool], list[tuple[Key, Line]]] = {}
        for place, (key, (slope, start, per_sequence)) in enumerate(zip(keys, planes, strict=True)):
            found.setdefault((per_sequence, place < end), []).append((key, (slope, start)))
        self.forward = {where: _keyed(*zip(*pairs, strict=True)) for where, pairs in found.items()}
        """By bytes per sequence (labels are padded by one token each) and whether the frames of stem and blocks are there."""
        self.backward = _backward(probes, grad_sizes)
        self.kept = _line([one.kept_bytes + one.kept_score_bytes for one in probes])
        self.held_grad = _line([one.held_grad_bytes for one in probes])


class _Found(NamedTuple):
    """What an engine's track comes to in one direction, but for stem and inputs."""

    blocks: Envelope
    head: tuple[tuple[int, bool, Envelope], ...]
    """(bytes per sequence, the frames of stem and blocks are there, which are not in it; the rest)."""


class Lines:
    """A model's blocks and head as lines."""

    def __init__(self, model: ModelSpec, facts: CodeFacts, probes: Sequence[Pieces]) -> None:
        shape = stack_shape(model, facts)
        self.stem_grad_sizes = shape.stem_grad_sizes
        self._layers = shape.layers
        self._variants = [
            _Variant(same, sizes)
            for same, sizes in zip(zip(*(one.variants for one in probes), strict=True), shape.grad_sizes, strict=True)
        ]
        self._head = _Head([one.head for one in probes], shape.head_grad_sizes)
        if any(one.stem.kept_score_bytes or one.stem.frame_score_bytes for one in probes):
            raise _NotLinear
        self._below = (self._held_below(0), self._held_below(1))
        self.frames = _total([self._variants[variant].frame for variant in shape.layers])
        """Of all blocks."""
        self.held_grad = self._head.held_grad
        self.memo: tuple[dict[Track, _Found], dict[Track, _Found]] = ({}, {})
        """By track, in backward and in forward."""

    def _held_below(self, forward: int) -> list[Line]:
        """What the layers below each hold, and all of them."""
        sums = [(0, 0)]
        for variant in self._layers:
            (slope, start), (slope0, start0) = self._variants[variant].held[forward], sums[-1]
            sums.append((slope0 + slope, start0 + start))
        return sums

    def found(self, track: Track, forward: bool) -> _Found:
        """What a track comes to."""
        known = self.memo[forward].get(track)
        if known is None:
            known = self.memo[forward][track] = self._find(track, forward)
        return known

    def _find(self, track: Track, forward: bool) -> _Found:
        blocks = Envelope([(0, 0), *self._blocks(track, forward)])
        stored = [self._below[forward][-1]]
        head = self._head.forward if forward else {(0, False): self._head.backward}
        parts = [(each, framed, _ends(piece[track.by], track.head)) for (each, framed), piece in head.items()]
        if track.opening.total:
            slope, start = self._head.kept
            parts.append((0, False, [(slope, start + track.opening.total)]))
        parts = [part for part in parts if part[2]] or [(0, False, [(0, 0)])]
        return _Found(blocks, tuple((each, framed, Envelope(_sums(lines, stored))) for each, framed, lines in parts))

    def _blocks(self, track: Track, forward: bool) -> list[Line]:
        below, lines = self._below[forward], []
        uniform = len({variant.held[forward] for variant in self._variants}) == 1
        places: dict[int, list[Line]] = {}

        def placed(levels: LayerLevels) -> list[Line]:
            known = places.get(id(levels))
            if known is None:
                points = levels.hull if uniform else levels.points
                known = upper_envelope([(below[i][0], below[i][1] + held.total) for i, held in points])
                places[id(levels)] = known
            return known

        for number, (variant, levels) in enumerate(zip(self._variants, track.blocks, strict=True)):
            if track.after:
                lines += _sums([variant.input_grad], placed(track.after[number]))
            for key, fallback, own in (variant.forward if forward else variant.backward)[track.by]:
                known = levels.get(key) or levels.get(fallback)
                if known is not None:
                    lines += _sums(own, placed(known))
        return lines


def _total(lines: Iterable[Line]) -> Line:
    slopes, starts = zip(*lines, strict=True)
    return sum(slopes), sum(starts)


def _ends(keyed: Iterable[_Keyed], levels: Mapping[StateKey, Level]) -> list[Line]:
    found = []
    for key, fallback, own in keyed:
        held = (levels.get(key) or levels.get(fallback, NOTHING)).total
        found += [(slope, start + held) for slope, start in own]
    return found


class ByStack:
    """A model at one batch shape, added up instant by instant."""

    __slots__ = ("inputs_bytes", "scratch_bytes", "stack")

    def __init__(self, stack: Stack) -> None:
        """Of the model's stack."""
        self.stack = stack
        self.inputs_bytes, self.scratch_bytes = stack.inputs_bytes, stack.scratch_bytes

    def peak(self, track: Track, forward: bool) -> int:
        """Bytes of the largest instant of one direction beyond the pass's base."""
        return pass_peak(self.stack, track, forward)

    def make_stack(self) -> Stack:
        """The pieces, one by one."""
        return self.stack


class ByLines:
    """A model at one batch shape, read off its lines."""

    __slots__ = (
        "_asked",
        "_batch",
        "_below",
        "_frames",
        "_lines",
        "_stem",
        "_stem_bytes",
        "_tokens",
        "_waiting",
        "inputs_bytes",
        "scratch_bytes",
    )

    def __init__(self, lines: Lines, model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> None:
        """Evaluates what is no line: the stem, whose tables depend on the length."""
        self._lines, self._asked = lines, (model, facts, batch, seq)
        self._batch, self._tokens = batch, batch * seq
        stem = build_stem(model, facts, batch, seq)
        self.inputs_bytes = INPUT_BYTES_PER_TOKEN * batch * seq
        self.scratch_bytes = scratch_bytes(model, facts.job, batch, seq)
        self._frames = lines.frames[0] * self._tokens + lines.frames[1] + stem.frame_bytes
        self._below = (self.inputs_bytes + held_bytes(stem, False), self.inputs_bytes + held_bytes(stem, True))
        """What is beside each direction's instants."""
        waiting = lines.held_grad[0] * self._tokens + lines.held_grad[1]
        own = [instant.activation_bytes for piece in (stem.backward, stem.forward) for instant in piece]
        self._stem, self._stem_bytes = stem, max(own, default=0) + max(lines.stem_grad_sizes, default=0)
        """Of no instant of the stem more."""
        self._waiting = waiting

    def peak(self, track: Track, forward: bool) -> int:
        """Bytes of the largest instant of one direction beyond the pass's base."""
        lines, tokens = self._lines, self._tokens
        blocks, head = lines.memo[forward].get(track) or lines.found(track, forward)
        below, waiting = self._below[forward], 0 if forward else self._waiting
        peak = below + waiting + blocks.at(tokens)
        # The frames of stem and blocks are gone before the head's matrix is used.
        gone = self._frames if forward else 0
        for per_sequence, framed, envelope in head:
            found = below + envelope.at(tokens) + per_sequence * self._batch - (0 if framed else gone)
            peak = max(peak, found)
        beside = self.inputs_bytes + waiting
        if beside + self._stem_bytes + track.most[0] <= peak:
            return peak
        stem, sizes = self._stem, self._lines.stem_grad_sizes
        instants = candidates(stem.forward, ()) if forward else candidates(stem.backward, sizes)
        return max(peak, beside + end_best(instants[track.by], track.stem, track.most[0])[0])

    def make_stack(self) -> Stack:
        """The pieces, one by one."""
        return build_stack(*self._asked)


BatchShape = ByStack | ByLines


def draw_lines(model: ModelSpec, facts: CodeFacts) -> Lines | None:
    """The lines of a model's code under flash attention; None where something grows otherwise.

    Args:
        model: The architecture.
        facts: Which code runs.

    Raises:
        ZplanError: There is no table for this code.
    """
    job = facts.job
    # A compiled block's savings and a loss in parts have bounds of their own, which probes may miss.
    whole = job.loss in (Loss.STANDARD, Loss.IN_PLACE)
    if not whole or job.compile or job.implementation != "transformers" or facts.leaves_inputs:
        return None
    try:
        return Lines(model, facts, [build_pieces(model, facts, *probe) for probe in _PROBES])
    except _NotLinear:
        return None


class _Drawn:
    """A model's lines, once they are worth drawing."""

    __slots__ = ("_asked", "_facts", "_lines", "_model")

    def __init__(self, model: ModelSpec, facts: CodeFacts) -> None:
        self._model, self._facts, self._asked = model, facts, 0
        self._lines: Lines | None = None

    def lines(self, seq: int) -> Lines | None:
        if attention_of(self._model, self._facts.job, seq) is not Attention.FLASH:
            return None
        self._asked += 1
        if self._asked == FEW + 1:
            self._lines = draw_lines(self._model, self._facts)
        return self._lines


_drawn = lru_cache(maxsize=1024)(_Drawn)


@lru_cache(maxsize=16384)
def batch_shape(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> BatchShape:
    """A model at one batch shape; the same numbers whichever way they are found.

    Args:
        model: The architecture.
        facts: Which code runs.
        batch: Sequences per GPU.
        seq: Tokens per sequence.

    Raises:
        ZplanError: There is no table for this code.
    """
    lines = _drawn(model, facts).lines(seq)
    if lines is None:
        return ByStack(build_stack(model, facts, batch, seq))
    return ByLines(lines, model, facts, batch, seq)
