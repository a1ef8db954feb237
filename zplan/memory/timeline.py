"""Joins what the engine holds with what the model code holds, instant by instant.

Two things are live at an instant of forward or backward. The engine's side (states, gradients so far, buckets, gathered
parameters) depends on the model, the ranks and the engine's knobs, but not on the batch; it is walked once per layer and
cached. The model code's side (activations) depends on the batch, but is the same in every layer. Their sum over layers is
largest at a corner: with i layers stored below, activations grow as i * kept, so only the upper convex hull of the
engine's bytes over i can hold the maximum. That keeps the answer exact and an estimate cheap.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zplan.memory.moments import Moment

StateKey = str | int | tuple[int]
"""What an engine's level depends on: a module's name, a count of gradients, or (weight,) while its gradient is handed over."""


class Level(NamedTuple):
    """Bytes that the engine holds in some state, beyond the pass's base."""

    total: int
    terms: tuple[tuple[str, int], ...]


NOTHING = Level(0, ())


def level(**terms: int) -> Level:
    """A level from keyword terms; zero terms are dropped."""
    return Level(sum(terms.values()), tuple((key, size) for key, size in terms.items() if size))


def plus(value: Level, key: str, size: int) -> Level:
    """The level with ``size`` more bytes of one term."""
    if not size:
        return value
    terms = dict(value.terms)
    terms[key] = terms.get(key, 0) + size
    return Level(value.total + size, tuple(terms.items()))


class LayerLevels:
    """Levels of one state over the layers of one kind."""

    __slots__ = ("_hull", "indices", "values")

    def __init__(self, indices: tuple[int, ...], values: tuple[Level, ...]) -> None:
        """From the layers of the kind, in ascending order, and the level in each."""
        self.indices, self.values = indices, values
        self._hull: tuple[tuple[int, Level], ...] | None = None

    @property
    def points(self) -> Iterator[tuple[int, Level]]:
        """(layer index, level) for every layer of the kind; not kept as pairs, of which there would be very many."""
        return zip(self.indices, self.values, strict=True)

    @property
    def rising(self) -> list[tuple[int, Level]]:
        """The points but for those of which a later layer's level is as large: all that count where each layer keeps something."""
        most, largest, found = -1, self.largest, []
        for index, value in zip(reversed(self.indices), reversed(self.values), strict=True):
            if value.total > most:
                most = value.total
                found.append((index, value))
                if most == largest:
                    break
        return found

    @property
    def largest(self) -> int:
        """Bytes of the largest level."""
        return max(self.values).total

    @property
    def hull(self) -> tuple[tuple[int, Level], ...]:
        """The points that can be the largest for some number of bytes kept per layer below; few states are asked for theirs."""
        if self._hull is None:
            self._hull = _hull(self.indices, self.values)
        return self._hull


def _step(indices: Sequence[int], totals: Sequence[int]) -> int:
    """What each layer adds where all add the same, so that the points lie on a line, whose ends are the hull; 0 elsewhere."""
    step, uneven = divmod(totals[-1] - totals[0], len(totals) - 1)
    if not step or uneven or len(indices) != indices[-1] - indices[0] + 1:
        return 0
    return step if totals == list(range(totals[0], totals[-1] + (1 if step > 0 else -1), step)) else 0


def _hull(indices: tuple[int, ...], values: tuple[Level, ...]) -> tuple[tuple[int, Level], ...]:
    """The upper-right convex hull of levels over layers (Andrew's monotone chain)."""
    first, last = (indices[0], values[0]), (indices[-1], values[-1])
    if max(values).total == values[-1].total:
        return (last,)
    totals = [value.total for value in values]
    if step := _step(indices, totals):
        return (last,) if step > 0 else (first, last)
    hull: list[tuple[int, Level]] = []
    for index, value in zip(indices, values, strict=True):
        total = value.total
        while hull and hull[-1][1].total <= total:
            hull.pop()
        while len(hull) > 1:
            (x0, l0), (x1, l1) = hull[-2], hull[-1]
            if (l1.total - l0.total) * (index - x0) > (total - l0.total) * (x1 - x0):
                break
            hull.pop()
        hull.append((index, value))
    return tuple(hull)


def layer_levels(points: Sequence[tuple[int, Level]]) -> LayerLevels:
    """Levels over layers.

    Args:
        points: One per layer, in ascending or descending order of layers.
    """
    indices, values = zip(*(points if points[0][0] <= points[-1][0] else points[::-1]), strict=True)
    return LayerLevels(indices, values)


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """The engine's bytes along one pass; compared by identity, so that plans that share one share what follows from it."""

    by: str
    """What the bytes depend on within a piece: ``any`` (nothing; the key is 0), ``grads`` or ``module``."""
    stem: Mapping[StateKey, Level]
    blocks: tuple[Mapping[StateKey, LayerLevels], ...]
    """One mapping per variant of block (see :class:`Stack`)."""
    head: Mapping[StateKey, Level]
    after: tuple[LayerLevels, ...] = ()
    """Per variant, a spike right after a block, when only the gradient of its input (in forward: its output) is live."""
    opening: Level = NOTHING
    """A spike before backward's first operator, when the loss head holds just what it kept."""
    _most: tuple[int, ...] = field(init=False, default=())

    @property
    def most(self) -> tuple[int, ...]:
        """The largest level in stem, in head, and in each variant of block.

        No instant whose own bytes and these stay below the peak needs a look.
        """
        if not self._most:
            ends = (max((level.total for level in piece.values()), default=0) for piece in (self.stem, self.head))
            blocks = (max((levels.largest for levels in per.values()), default=0) for per in self.blocks)
            object.__setattr__(self, "_most", (*ends, *blocks))
        return self._most


def same_level(variants: int, layers: Sequence[int], value: Level) -> Track:
    """The same level at every instant of a model with some variants of block; ``layers`` has each layer's."""
    per_variant: list[list[tuple[int, Level]]] = [[] for _ in range(variants)]
    for index, variant in enumerate(layers):
        per_variant[variant].append((index, value))
    blocks: list[dict[StateKey, LayerLevels]] = [{0: layer_levels(points)} for points in per_variant]
    return Track("any", {0: value}, tuple(blocks), {0: value})


@dataclass(frozen=True, slots=True)
class Pass:
    """One micro-step as the engine sees it."""

    base: Mapping[str, int]
    """Terms alive through all of forward and backward."""
    forward: Track
    backward: Track
    backward_moments: tuple[Moment, ...] = ()
    """Moments of the backward phase that hold no activations, e.g. the reduction after the last gradient."""
    forward_moments: tuple[Moment, ...] = ()
    """Moments of the forward phase before its first operator, e.g. the last step's gradients, not yet let go."""
    base_bytes: int = field(init=False)
    largest_backward: Moment | None = field(init=False)
    """Of ``backward_moments``."""
    largest_forward: Moment | None = field(init=False)

    def __post_init__(self) -> None:
        """Adds up once what every batch shape needs."""
        object.__setattr__(self, "base_bytes", sum(self.base.values()))
        for name, moments in (("backward", self.backward_moments), ("forward", self.forward_moments)):
            largest = max(moments, key=lambda moment: moment.total_bytes, default=None)
            object.__setattr__(self, f"largest_{name}", largest)


LATER = "+"
"""Key of code outside of modules with matrices: in forward once the first of them has run, in backward once the piece's first
gradient is ready. Appended to a module's name it is that module's key then."""


def own_backward(module: str) -> str:
    """Key of the level while a module itself runs backward, and is not computed again."""
    return f"-{module}"
