"""A model at one batch shape, as engines meet it: by lines where there are any, else instant by instant.

Both give the same numbers. The stem, whose position tables depend on the length alone, is evaluated at each shape; it is small.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.activations.base import PieceMemory
from zplan.memory.activations.table import LOG_SUM_EXP_STEP
from zplan.memory.attention import attention_of
from zplan.memory.codeside import Candidates, Stack, beside, candidates, held_bytes
from zplan.memory.facts import CodeFacts
from zplan.memory.lines import Lines, draw_lines
from zplan.memory.peaks import end_best, head_best, pass_peak
from zplan.memory.runtime import attention_scratch_bytes
from zplan.memory.stack import INPUT_BYTES_PER_TOKEN, build_head, build_stack, build_stem, stack_shape
from zplan.memory.timeline import NOTHING, Track, same_level
from zplan.spec import Attention, ModelSpec

FEW = 3
"""Batch shapes of a model that are added up as they are before lines are drawn: most commands ask for no more."""


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
        "_ends",
        "_frames",
        "_head",
        "_lines",
        "_stem",
        "_stem_bytes",
        "_tokens",
        "_waiting",
        "inputs_bytes",
        "scratch_bytes",
    )

    def __init__(self, lines: Lines, model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> None:
        """Evaluates what is no line: the stem, whose tables depend on the length, and a loss in parts."""
        self._lines, self._asked = lines, (model, facts, batch, seq)
        self._batch, self._tokens = batch, batch * seq
        stem = build_stem(model, facts, batch, seq)
        self.inputs_bytes = INPUT_BYTES_PER_TOKEN * batch * seq
        self.scratch_bytes = attention_scratch_bytes(model, facts.job.attention, batch, seq)
        self._frames = lines.frames[0] * self._tokens + lines.frames[1] + stem.frame_bytes
        self._below = (self.inputs_bytes + held_bytes(stem, False), self.inputs_bytes + held_bytes(stem, True))
        """What is beside each direction's instants."""
        own = [instant.activation_bytes for piece in (stem.backward, stem.forward) for instant in piece]
        self._stem, self._stem_bytes = stem, max(own, default=0) + max(lines.stem_grad_sizes, default=0)
        """Of no instant of the stem more."""
        self._head: PieceMemory | None = None
        self._ends: tuple[Candidates, Candidates] | None = None
        held = lines.held_grad
        if held is None:
            self._head = head = build_head(model, facts, batch, seq)
            self._waiting = head.held_grad_bytes
        else:
            self._waiting = held[0] * self._tokens + held[1]

    def peak(self, track: Track, forward: bool) -> int:
        """Bytes of the largest instant of one direction beyond the pass's base."""
        lines, tokens = self._lines, self._tokens
        blocks, head, most = lines.memo[forward].get(track) or lines.found(track, forward)
        below, waiting = self._below[forward], 0 if forward else self._waiting
        peak = below + waiting + blocks.at(tokens)
        # The frames of stem and blocks are gone before the head's matrix is used.
        gone = self._frames if forward else 0
        for per_sequence, framed, envelope in head:
            found = below + envelope.at(tokens) + per_sequence * self._batch - (0 if framed else gone)
            peak = max(peak, found)
        if self._head is not None:
            slope, start = lines.stored(forward)
            stored = slope * tokens + start - gone
            peak = max(peak, below + stored + self._head_peak(self._head, track, forward))
        alone = self.inputs_bytes + waiting
        if alone + self._stem_bytes + most <= peak:
            return peak
        stem, sizes = self._stem, self._lines.stem_grad_sizes
        instants = candidates(stem.forward, ()) if forward else candidates(stem.backward, sizes)
        return max(peak, alone + end_best(instants[track.by], track.stem, most)[0])

    def _head_peak(self, head: PieceMemory, track: Track, forward: bool) -> int:
        """Bytes of the largest instant of a head that has no lines."""
        if self._ends is None:
            instants = beside(head.forward, self._frames, 0)
            self._ends = candidates(head.backward, self._lines.head_grad_sizes), candidates(instants, ())
        return max(head_best(head, self._ends[forward], track)[0], 0)

    def make_stack(self) -> Stack:
        """The pieces, one by one."""
        return build_stack(*self._asked)


BatchShape = ByStack | ByLines


MAY_BE_LINEAR = (Attention.FLASH, Attention.MATH)
"""Kernels without a mask, whose code may be linear in tokens; the last is not where heads are grouped."""


class _Drawn:
    """A model's lines, once they are worth drawing; by whether lengths need padding."""

    __slots__ = ("_asked", "_facts", "_lines", "_model", "nothing")

    def __init__(self, model: ModelSpec, facts: CodeFacts) -> None:
        self._model, self._facts, self._asked = model, facts, 0
        self._lines: dict[bool, Lines | None] = {}
        shape = stack_shape(model, facts)
        self.nothing = same_level(len(shape.variants), shape.layers, NOTHING)
        """Of an engine that holds nothing at any instant."""

    def expect_many(self) -> None:
        """Lines are worth drawing from now on."""
        self._asked = FEW

    def lines(self, seq: int) -> Lines | None:
        if attention_of(self._model, self._facts.job, seq) not in MAY_BE_LINEAR:
            return None
        self._asked += 1
        if self._asked <= FEW:
            return None
        padded = seq % LOG_SUM_EXP_STEP > 0
        if padded not in self._lines:
            self._lines[padded] = draw_lines(self._model, self._facts, seq)
        return self._lines[padded]


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


def code_bytes(model: ModelSpec, facts: CodeFacts, batch: int, seq: int) -> int:
    """What a model's code needs in backward, whichever engine runs it: no plan's peak is less beyond what its engine holds.

    Made to be asked at many batch shapes.

    Args:
        model: The architecture.
        facts: Which code runs.
        batch: Sequences per GPU.
        seq: Tokens per sequence.

    Raises:
        ZplanError: There is no table for this code.
    """
    drawn = _drawn(model, facts)
    drawn.expect_many()
    return batch_shape(model, facts, batch, seq).peak(drawn.nothing, False)
