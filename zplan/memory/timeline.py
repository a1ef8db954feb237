"""Joins what the engine holds with what the model code holds, instant by instant.

Two things are live at an instant of forward or backward. The engine's side (states, gradients so far, buckets, gathered
parameters) depends on the model, the ranks and the engine's knobs, but not on the batch; it is walked once per layer and
cached. The model code's side (activations) depends on the batch, but is the same in every layer. Their sum over layers is
largest at a corner: with i layers stored below, activations grow as i * kept, so only the upper convex hull of the
engine's bytes over i can hold the maximum. That keeps the answer exact and an estimate cheap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from zplan.memory.activations.base import Instant, PieceMemory
from zplan.memory.moments import Moment, TermKey

StateKey = str | int | tuple[int]
"""What an engine's level depends on: a module's name, a count of gradients, or (weight,) while its gradient is handed over."""


def pending_key(which: int) -> StateKey:
    """Key of the level while the gradient of one of the piece's weights is handed over."""
    return (which,)


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

    points: tuple[tuple[int, Level], ...]
    """(layer index, level) for every layer of the kind."""
    hull: tuple[tuple[int, Level], ...]
    """The points that can be the largest for some number of bytes kept per layer below."""


def layer_levels(points: Sequence[tuple[int, Level]]) -> LayerLevels:
    """Levels over layers with their upper-right convex hull (Andrew's monotone chain).

    Args:
        points: One per layer, in ascending or descending order of layers.
    """
    ordered = tuple(points) if points[0][0] <= points[-1][0] else tuple(reversed(points))
    last = ordered[-1]
    if all(value is last[1] for _, value in ordered):
        return LayerLevels(ordered, (last,))
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
    return LayerLevels(ordered, tuple(hull))


@dataclass(frozen=True, slots=True)
class Track:
    """The engine's bytes along one pass."""

    by: str
    """What the bytes depend on within a piece: ``any`` (nothing; the key is 0), ``grads`` or ``module``."""
    stem: Mapping[StateKey, Level]
    blocks: tuple[Mapping[StateKey, LayerLevels], ...]
    """One mapping per variant of block (see :class:`Stack`)."""
    head: Mapping[StateKey, Level]
    after: tuple[LayerLevels, ...] = ()
    """Per variant, a spike right after a block, when only the gradient of its input (in forward: its output) is live."""


@dataclass(frozen=True, slots=True)
class Pass:
    """One micro-step as the engine sees it."""

    base: Mapping[str, int]
    """Terms alive through all of forward and backward."""
    forward: Track
    backward: Track
    backward_moments: tuple[Moment, ...] = ()
    """Moments of the backward phase that hold no activations, e.g. the reduction after the last gradient."""
    base_bytes: int = field(init=False)

    def __post_init__(self) -> None:
        """Adds the base up once."""
        object.__setattr__(self, "base_bytes", sum(self.base.values()))


class Kept(NamedTuple):
    """Bytes held by the stem and by the layers before each layer."""

    stem: int
    linear: int | None
    """Bytes per layer where every layer holds the same."""
    below: tuple[int, ...]
    """Prefix sums otherwise (also the total, at index L)."""


def _held(piece: PieceMemory, forward: bool) -> int:
    """What a piece holds while later pieces run: kept tensors; in forward also its frame and autocast's copies."""
    kept = piece.kept_bytes + piece.kept_score_bytes
    return kept + piece.frame_bytes + piece.frame_score_bytes + piece.cast_cache_bytes if forward else kept


def _kept_below(stem: PieceMemory, variants: Sequence[PieceMemory], layers: Sequence[int], forward: bool) -> Kept:
    held = [_held(piece, forward) for piece in variants]
    if len(held) == 1 or len(set(held)) == 1:
        return Kept(_held(stem, forward), held[0], ())
    sums = [0]
    for variant in layers:
        sums.append(sums[-1] + held[variant])
    return Kept(_held(stem, forward), None, tuple(sums))


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
"""Key of code outside of modules with matrices, once the piece's first gradient is ready."""

Candidates = dict[str, tuple[Candidate, ...]]
"""For each way in which engines differ within a piece (``Track.by``) what can be its peak."""


def _candidates(instants: Sequence[Instant], grad_sizes: Sequence[int]) -> Candidates:
    best: dict[tuple[str, StateKey], Candidate] = {}
    for activation_bytes, score_bytes, ready, module, which in instants:
        pending = grad_sizes[which] if which >= 0 else 0
        own = activation_bytes + score_bytes + pending
        by_grads: StateKey = (which,) if which >= 0 else ready
        by_module: StateKey = (which,) if which >= 0 else module or (LATER if ready else "")
        for by, key, fallback in (("any", 0, 0), ("grads", by_grads, ready), ("module", by_module, "")):
            known = best.get((by, key))
            if known is None or own > known.own:
                best[by, key] = Candidate(key, fallback, own, activation_bytes, score_bytes, pending)
    found: dict[str, list[Candidate]] = {"any": [], "grads": [], "module": []}
    for (by, _), candidate in best.items():
        found[by].append(candidate)
    return {by: tuple(values) for by, values in found.items()}


class Stack:
    """The pieces of the model at one batch shape."""

    __slots__ = (
        "backward",
        "checkpointed",
        "forward",
        "head",
        "inputs_bytes",
        "kept_backward",
        "kept_forward",
        "layers",
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
    ) -> None:
        self.stem, self.variants, self.head = stem, variants, head
        self.layers, self.checkpointed = shape.layers, shape.checkpointed
        pieces = (stem, head, *variants)
        sizes = (shape.stem_grad_sizes, shape.head_grad_sizes, *shape.grad_sizes)
        self.forward = tuple(_candidates(piece.forward, ()) for piece in pieces)
        """Candidates of stem, head and each variant."""
        self.backward = tuple(_candidates(piece.backward, size) for piece, size in zip(pieces, sizes, strict=True))
        self.inputs_bytes = inputs_bytes
        self.kept_forward = _kept_below(stem, variants, shape.layers, True)
        self.kept_backward = _kept_below(stem, variants, shape.layers, False)

    def stored_bytes(self, layers_below: int, forward: bool) -> int:
        """What the stem and the first layers hold."""
        kept = self.kept_forward if forward else self.kept_backward
        return kept.stem + (layers_below * kept.linear if kept.linear is not None else kept.below[layers_below])


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


def _stored_terms(stack: Stack, layers_below: int, forward: bool) -> dict[str, int]:
    """What the stem and the first ``layers_below`` layers hold, by term; nothing while the stem itself runs (-1)."""
    terms = {TermKey.ACTIVATIONS: 0, TermKey.CHECKPOINTS: 0, TermKey.ATTENTION_SCORES: 0}
    if layers_below < 0:
        return terms
    counts = [0] * len(stack.variants)
    if len(counts) == 1:
        counts[0] = layers_below
    else:
        for variant in stack.layers[:layers_below]:
            counts[variant] += 1
    pieces = ((stack.stem, False, 1), *zip(stack.variants, stack.checkpointed, counts, strict=True))
    for piece, checkpointed, count in pieces:
        scores = piece.kept_score_bytes + (piece.frame_score_bytes if forward else 0)
        terms[TermKey.CHECKPOINTS if checkpointed else TermKey.ACTIVATIONS] += count * (_held(piece, forward) - scores)
        terms[TermKey.ATTENTION_SCORES] += count * scores
    return terms


@dataclass(frozen=True, slots=True)
class _Found:
    """The largest instant of a piece, as a moment that builds its terms on demand."""

    run: Pass
    stack: Stack
    forward: bool
    layers_below: int
    activation_bytes: int
    score_bytes: int
    engine: Level
    pending: int
    own: str
    """Term that the piece's own activations belong to."""

    def terms(self) -> dict[str, int]:
        """All terms; zero ones included."""
        terms = dict(self.run.base)
        for key, size in _stored_terms(self.stack, self.layers_below, self.forward).items():
            terms[key] = terms.get(key, 0) + size
        for key, size in (
            (TermKey.INPUTS, self.stack.inputs_bytes),
            (self.own, self.activation_bytes),
            (TermKey.ATTENTION_SCORES, self.score_bytes),
            (TermKey.UNSHARDED_GRADS, self.pending),
            *self.engine.terms,
        ):
            terms[key] = terms.get(key, 0) + size
        return terms


def _piece_moment(
    forward: bool, run: Pass, stack: Stack, levels: Mapping[StateKey, Level], by: str, stem: bool
) -> Moment:
    """Largest instant of the stem or the head."""
    best, chosen, engine = -1, _NO_CANDIDATE, NOTHING
    for candidate in (stack.forward if forward else stack.backward)[0 if stem else 1][by]:
        held = levels.get(candidate.key) or levels.get(candidate.fallback, NOTHING)
        total = candidate.own + held.total
        if total > best:
            best, chosen, engine = total, candidate, held
    below, pending, depth = 0, chosen.pending, -1
    if not stem:
        depth = len(stack.layers)
        below = stack.stored_bytes(depth, forward)
    elif not forward:
        pending += stack.head.held_grad_bytes
        best += stack.head.held_grad_bytes
    name, own = _PIECE_NAMES[stem, forward]
    found = _Found(run, stack, forward, depth, chosen.activation_bytes, chosen.score_bytes, engine, pending, own)
    total = run.base_bytes + stack.inputs_bytes + below + max(best, 0)
    return Moment.deferred("forward" if forward else "backward", name, total, found.terms)


_NO_CANDIDATE = Candidate(0, 0, 0, 0, 0, 0)
_PIECE_NAMES = {
    (True, True): ("embedding", TermKey.ACTIVATIONS),
    (False, True): ("loss", TermKey.LOGITS),
    (False, False): ("loss backward", TermKey.LOGITS_GRAD),
    (True, False): ("embedding backward", TermKey.ACTIVATIONS),
}


def _block_moment(forward: bool, run: Pass, stack: Stack, track: Track) -> Moment:
    """Largest instant over all blocks."""
    kept = stack.kept_forward if forward else stack.kept_backward
    per_layer, below = kept.linear, kept.below
    best, best_index, chosen, engine = -1, 0, _NO_CANDIDATE, NOTHING
    pieces = stack.forward if forward else stack.backward
    for variant, levels in enumerate(track.blocks):
        candidates = pieces[variant + 2][track.by]
        if track.after:
            candidates = (*candidates, _after(stack.variants[variant]))
        for candidate in candidates:
            found = levels.get(candidate.key) or levels.get(candidate.fallback)
            if found is None:
                if candidate.key != _AFTER:
                    continue
                found = track.after[variant]
            own = candidate.own
            for index, held in found.hull if per_layer is not None else found.points:
                total = own + held.total + (index * per_layer if per_layer is not None else below[index])
                if total > best:
                    best, best_index, chosen, engine = total, index, candidate, held
    pending = chosen.pending
    if not forward:
        pending += stack.head.held_grad_bytes
        best += stack.head.held_grad_bytes
    phase = "forward" if forward else "backward"
    parts = _Found(
        run,
        stack,
        forward,
        best_index,
        chosen.activation_bytes,
        chosen.score_bytes,
        engine,
        pending,
        TermKey.ACTIVATIONS,
    )
    total = run.base_bytes + stack.inputs_bytes + kept.stem + max(best, 0)
    return Moment.deferred(phase, f"block {phase}", total, parts.terms)


_AFTER = "after"


def _after(piece: PieceMemory) -> Candidate:
    """A spike after a block: of its activations only the gradient of its input is left."""
    return Candidate(_AFTER, _AFTER, piece.input_grad_bytes, piece.input_grad_bytes, 0, 0)


def _backward_moments(run: Pass, stack: Stack) -> list[Moment]:
    backward = run.backward
    return [
        _piece_moment(False, run, stack, backward.head, backward.by, False),
        _block_moment(False, run, stack, backward),
        _piece_moment(False, run, stack, backward.stem, backward.by, True),
        *run.backward_moments,
    ]


def pass_moments(run: Pass, stack: Stack) -> list[Moment]:
    """The largest moment of each piece in forward and in backward, for one micro-step."""
    forward = run.forward
    return [
        _piece_moment(True, run, stack, forward.stem, forward.by, True),
        _block_moment(True, run, stack, forward),
        _piece_moment(True, run, stack, forward.head, forward.by, False),
        *_backward_moments(run, stack),
    ]


def backward_peak_bytes(run: Pass, stack: Stack) -> int:
    """The largest moment of backward alone: what differs between ranks of stages 1 and 2, beside the step."""
    return max(moment.total_bytes for moment in _backward_moments(run, stack))
