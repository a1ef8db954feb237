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
from typing import Any, NamedTuple

from zplan.memory.activations.base import Instant, PieceMemory
from zplan.memory.moments import Moment

StateKey = str | int | tuple[int]
"""What an engine's level depends on: a module's name, a count of gradients, or (weight,) while its gradient is handed over."""


@dataclass(frozen=True, slots=True)
class Level:
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


@dataclass(frozen=True, slots=True)
class LayerLevels:
    """Levels of one state over the layers of one kind."""

    indices: tuple[int, ...]
    """The layers of the kind, in ascending order."""
    values: tuple[Level, ...]
    """The level in each."""
    hull: tuple[tuple[int, Level], ...]
    """The points that can be the largest for some number of bytes kept per layer below."""

    @property
    def points(self) -> Iterator[tuple[int, Level]]:
        """(layer index, level) for every layer of the kind; not kept as pairs, of which there would be very many."""
        return zip(self.indices, self.values, strict=True)


def layer_levels(points: Sequence[tuple[int, Level]]) -> LayerLevels:
    """Levels over layers with their upper-right convex hull (Andrew's monotone chain).

    Args:
        points: One per layer, in ascending or descending order of layers.
    """
    ordered = tuple(points) if points[0][0] <= points[-1][0] else tuple(reversed(points))
    indices, values = tuple([index for index, _ in ordered]), tuple([value for _, value in ordered])
    last = ordered[-1]
    if all(value is last[1] for value in values):
        return LayerLevels(indices, values, (last,))
    hull: list[tuple[int, Level]] = []
    for index, value in ordered:
        total = value.total
        while hull and hull[-1][1].total <= total:
            hull.pop()
        while len(hull) > 1:
            (x0, l0), (x1, l1) = hull[-2], hull[-1]
            if (l1.total - l0.total) * (index - x0) > (total - l0.total) * (x1 - x0):
                break
            hull.pop()
        hull.append((index, value))
    return LayerLevels(indices, values, tuple(hull))


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
    most: tuple[int, ...] = field(init=False)
    """The largest level in stem, in head, and in each variant of block."""

    def __post_init__(self) -> None:
        """Finds the largest levels: no instant whose own bytes and these stay below the peak needs a look."""
        ends = (max((level.total for level in piece.values()), default=0) for piece in (self.stem, self.head))
        blocks = (max((levels.hull[0][1].total for levels in per.values()), default=0) for per in self.blocks)
        object.__setattr__(self, "most", (*ends, *blocks))


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


class Kept(NamedTuple):
    """Bytes held by the stem and by the layers before each layer."""

    stem: int
    linear: int | None
    """Bytes per layer where every layer holds the same."""
    below: tuple[int, ...]
    """Prefix sums otherwise (also the total, at index L)."""


def held_bytes(piece: PieceMemory, forward: bool) -> int:
    """What a piece holds while later pieces run: kept tensors; in forward also its frame and autocast's copies."""
    kept = piece.kept_bytes + piece.kept_score_bytes
    return kept + piece.frame_bytes + piece.frame_score_bytes + piece.cast_cache_bytes if forward else kept


def frame_bytes(stem: PieceMemory, variants: Sequence[PieceMemory], layers: Sequence[int]) -> tuple[int, int]:
    """What the frames of stem and blocks hold, and the part of it that is s x s tensors."""
    frames, scores = stem.frame_bytes, stem.frame_score_bytes
    for number, piece in enumerate(variants):
        if piece.frame_bytes or piece.frame_score_bytes:
            count = len(layers) if len(variants) == 1 else layers.count(number)
            frames += count * piece.frame_bytes
            scores += count * piece.frame_score_bytes
    return frames + scores, scores


def _kept_below(stem: PieceMemory, variants: Sequence[PieceMemory], layers: Sequence[int], forward: bool) -> Kept:
    held = [held_bytes(piece, forward) for piece in variants]
    if len(held) == 1 or len(set(held)) == 1:
        return Kept(held_bytes(stem, forward), held[0], ())
    sums = [0]
    for variant in layers:
        sums.append(sums[-1] + held[variant])
    return Kept(held_bytes(stem, forward), None, tuple(sums))


class Candidate(NamedTuple):
    """The largest instant of a piece among those at which an engine holds the same."""

    key: StateKey
    fallback: StateKey
    """Key to look under where an engine has no level of its own for ``key``."""
    own: int
    """Activations, scores and the gradient that is being handed over."""
    activation_bytes: int
    score_bytes: int
    pending: int


LATER = "+"
"""Key of code outside of modules with matrices: in forward once the first of them has run, in backward once the piece's first
gradient is ready. Appended to a module's name it is that module's key then."""


def own_backward(module: str) -> str:
    """Key of the level while a module itself runs backward, and is not computed again."""
    return f"-{module}"


Candidates = dict[str, tuple[Candidate, ...]]
"""For each way in which engines differ within a piece (``Track.by``) what can be its peak, largest first."""


def _candidates(instants: Sequence[Instant], grad_sizes: Sequence[int]) -> Candidates:
    best: dict[tuple[str, StateKey], Candidate] = {}
    later = False
    for activation_bytes, score_bytes, ready, module, which in instants:
        pending = grad_sizes[which] if which >= 0 else 0
        own = activation_bytes + score_bytes + pending
        by_grads: StateKey = (which,) if which >= 0 else ready
        after = LATER if ready or (later and not module) else ""
        by_module: StateKey = (which,) if which >= 0 else module + after
        later = later or bool(module and not grad_sizes)
        for by, key, fallback in (("any", 0, 0), ("grads", by_grads, ready), ("module", by_module, "")):
            known = best.get((by, key))
            if known is None or own > known.own:
                best[by, key] = Candidate(key, fallback, own, activation_bytes, score_bytes, pending)
    found: dict[str, list[Candidate]] = {"any": [], "grads": [], "module": []}
    for (by, _), candidate in best.items():
        found[by].append(candidate)
    return {by: tuple(sorted(values, key=_own, reverse=True)) for by, values in found.items()}


def _own(candidate: Candidate) -> int:
    return candidate.own


def _beside(instants: Sequence[Instant], frames: int, scores: int) -> list[Instant]:
    """The head's instants with the frames of the model's trunk, which is left when the head's matrix is used."""
    found: list[Instant] = []
    heads = {instant.module for instant in instants} - {""}
    left = False
    for one in instants:
        left = left or one.module in heads
        beside = one.activation_bytes + frames - scores
        found.append(one if left else one._replace(activation_bytes=beside, score_bytes=one.score_bytes + scores))
    return found


class Stack:
    """The pieces of the model at one batch shape."""

    __slots__ = (
        "backward",
        "checkpointed",
        "forward",
        "frames_bytes",
        "head",
        "inputs_bytes",
        "kept_backward",
        "kept_blocks",
        "kept_forward",
        "layers",
        "memo",
        "retained",
        "scratch_bytes",
        "stem",
        "variants",
    )

    def __init__(
        self,
        stem: PieceMemory,
        variants: tuple[PieceMemory, ...],
        head: PieceMemory,
        shape: StackShape,
        inputs_bytes: int,
        scratch_bytes: int = 0,
        retained: tuple[int, ...] = (),
    ) -> None:
        self.stem, self.variants, self.head = stem, variants, head
        self.layers, self.checkpointed = shape.layers, shape.checkpointed
        pieces = (stem, head, *variants)
        sizes = (shape.stem_grad_sizes, shape.head_grad_sizes, *shape.grad_sizes)
        self.forward = tuple(_candidates(piece.forward, ()) for piece in pieces)
        """Candidates of stem, head and each variant."""
        self.backward = tuple(_candidates(piece.backward, size) for piece, size in zip(pieces, sizes, strict=True))
        self.inputs_bytes = inputs_bytes
        self.scratch_bytes = scratch_bytes
        """What attention's kernel allocates for itself in backward, beyond what can be tracked."""
        self.memo: tuple[dict[Track, Any], dict[Track, Any]] = ({}, {})
        """What was found for an engine's track, in backward and in forward (see ``peaks``)."""
        self.kept_forward = _kept_below(stem, variants, shape.layers, True)
        self.kept_backward = _kept_below(stem, variants, shape.layers, False)
        self.retained = _summed_from_above([retained[variant] for variant in shape.layers]) if any(retained) else ()
        """Bytes that each layer and those above it leave behind in backward; empty where nothing is left."""
        self.kept_blocks = self.kept_backward
        """What is stored while a block runs backward: below it, and what blocks above it have left."""
        if self.retained:
            stem_bytes = self.kept_backward.stem
            below = [self.stored_bytes(layer, False) - stem_bytes for layer in range(len(self.layers))]
            self.kept_blocks = Kept(stem_bytes, None, tuple(b + self.retained_bytes(i) for i, b in enumerate(below)))
        frames, scores = frame_bytes(stem, variants, shape.layers)
        self.frames_bytes = frames
        if frames:
            self.forward = (self.forward[0], _candidates(_beside(head.forward, frames, scores), ()), *self.forward[2:])

    def stored_bytes(self, layers_below: int, forward: bool) -> int:
        """What the stem and the first layers hold."""
        kept = self.kept_forward if forward else self.kept_backward
        return kept.stem + (layers_below * kept.linear if kept.linear is not None else kept.below[layers_below])

    def retained_bytes(self, depth: int) -> int:
        """What layers above one have left behind in backward; -1 for the stem, L for the head."""
        return self.retained[depth + 1] if self.retained and depth < len(self.layers) else 0


def _summed_from_above(sizes: Sequence[int]) -> tuple[int, ...]:
    """For each layer the sum of its size and those above it; 0 at the end."""
    sums = [0]
    for size in reversed(sizes):
        sums.append(sums[-1] + size)
    return tuple(reversed(sums))


@dataclass(frozen=True, slots=True)
class StackShape:
    """What a stack has at every batch shape."""

    variants: tuple[tuple[int, bool], ...]
    """(kind of block, checkpointed) of each variant."""
    layers: tuple[int, ...]
    """Variant of each layer."""
    checkpointed: tuple[bool, ...]
    grad_sizes: tuple[tuple[int, ...], ...]
    """For each variant the bytes of each weight's gradient as autograd hands it over."""
    head_grad_sizes: tuple[int, ...]
    stem_grad_sizes: tuple[int, ...]
