"""Joins what the engine holds with what the model code holds, instant by instant.

Two things are live at an instant of forward or backward. The engine's side (states, gradients so far, buckets, gathered
parameters) depends on the model, the ranks and the engine's knobs, but not on the batch; it is walked once per layer and
cached. The model code's side (activations) depends on the batch, but is the same in every layer. Their sum over layers is
largest at a corner: with i layers stored below, activations grow as i * kept, so only the upper convex hull of the
engine's bytes over i can hold the maximum. That keeps the answer exact and an estimate cheap.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

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
    """Levels over layers with their upper-right convex hull (Andrew's monotone chain)."""
    best: dict[int, Level] = {}
    for index, value in points:
        if index not in best or value.total > best[index].total:
            best[index] = value
    ordered = tuple(sorted(best.items()))
    hull: list[tuple[int, Level]] = []
    for index, value in ordered:
        while hull and hull[-1][1].total <= value.total:
            hull.pop()
        while len(hull) > 1:
            (x0, l0), (x1, l1) = hull[-2], hull[-1]
            if (l1.total - l0.total) * (index - x0) > (value.total - l0.total) * (x1 - x0):
                break
            hull.pop()
        hull.append((index, value))
    return LayerLevels(ordered, tuple(hull))


@dataclass(frozen=True, slots=True)
class Track:
    """The engine's bytes along one pass. Keys are an instant's ``module`` or its ``grads_ready``."""

    by_module: bool
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


@dataclass(frozen=True, slots=True)
class Stack:
    """The pieces of the model at one batch shape."""

    stem: PieceMemory
    variants: tuple[PieceMemory, ...]
    """One per (kind of block, checkpointed or not)."""
    checkpointed: tuple[bool, ...]
    layers: tuple[int, ...]
    """Variant of each layer."""
    head: PieceMemory
    inputs_bytes: int
    grad_sizes: tuple[tuple[int, ...], ...]
    """For each variant the bytes of each weight's gradient as autograd hands it over."""
    head_grad_sizes: tuple[int, ...]
    stem_grad_sizes: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Kept:
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


def _kept_below(stack: Stack, forward: bool) -> _Kept:
    held = [_held(piece, forward) for piece in stack.variants]
    stem = _held(stack.stem, forward)
    if len(set(held)) == 1:
        return _Kept(stem, held[0], ())
    sums = [0]
    for variant in stack.layers:
        sums.append(sums[-1] + held[variant])
    return _Kept(stem, None, tuple(sums))


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


def _moment(
    phase: str,
    name: str,
    run: Pass,
    stack: Stack,
    layers_below: int,
    instant: Instant | None,
    engine: Level,
    pending: int,
    own: str,
) -> Moment:
    terms = dict(run.base)
    for key, size in _stored_terms(stack, layers_below, phase == "forward").items():
        terms[key] = terms.get(key, 0) + size
    terms[TermKey.INPUTS] = terms.get(TermKey.INPUTS, 0) + stack.inputs_bytes
    if instant is not None:
        terms[own] = terms.get(own, 0) + instant.activation_bytes
        terms[TermKey.ATTENTION_SCORES] += instant.score_bytes
    for key, size in engine.terms:
        terms[key] = terms.get(key, 0) + size
    if phase == "backward" and instant is not None and name != "loss backward":
        pending += stack.head.held_grad_bytes
    if pending:
        terms[TermKey.UNSHARDED_GRADS] = terms.get(TermKey.UNSHARDED_GRADS, 0) + pending
    return Moment(phase, name, {key: size for key, size in terms.items() if size})


def _key(instant: Instant, by_module: bool, levels: Mapping[StateKey, object]) -> StateKey:
    """Which of an engine's levels holds at an instant."""
    if by_module:
        return instant.module if instant.module in levels else ""
    if instant.pending_grad >= 0 and (instant.pending_grad,) in levels:
        return (instant.pending_grad,)
    return instant.grads_ready


def _piece_moment(
    phase: str,
    name: str,
    run: Pass,
    stack: Stack,
    piece: PieceMemory,
    levels: Mapping[StateKey, Level],
    layers_below: int,
    grad_sizes: tuple[int, ...],
    own: str,
    by_module: bool,
) -> Moment:
    """Largest instant of the stem or the head."""
    best = -1
    chosen: tuple[Instant | None, Level, int] = (None, NOTHING, 0)
    instants = piece.forward if phase == "forward" else piece.backward
    for instant in instants:
        held = levels.get(_key(instant, by_module, levels), NOTHING)
        pending = grad_sizes[instant.pending_grad] if instant.pending_grad >= 0 else 0
        total = instant.activation_bytes + instant.score_bytes + held.total + pending
        if total > best:
            best, chosen = total, (instant, held, pending)
    return _moment(phase, name, run, stack, layers_below, chosen[0], chosen[1], chosen[2], own)


def _block_moment(phase: str, run: Pass, stack: Stack, track: Track) -> Moment:
    """Largest instant over all blocks."""
    kept = _kept_below(stack, phase == "forward")
    best, best_index = -1, 0
    chosen: tuple[Instant | None, Level, int] = (None, NOTHING, 0)
    for variant, piece in enumerate(stack.variants):
        levels = track.blocks[variant]
        sizes = stack.grad_sizes[variant]
        for instant in piece.forward if phase == "forward" else piece.backward:
            found = levels.get(_key(instant, track.by_module, levels))
            if found is None:
                continue
            pending = sizes[instant.pending_grad] if instant.pending_grad >= 0 else 0
            own = instant.activation_bytes + instant.score_bytes + pending
            if kept.linear is not None:
                for index, held in found.hull:
                    total = own + index * kept.linear + held.total
                    if total > best:
                        best, best_index, chosen = total, index, (instant, held, pending)
            else:
                for index, held in found.points:
                    total = own + kept.below[index] + held.total
                    if total > best:
                        best, best_index, chosen = total, index, (instant, held, pending)
    return _moment(
        phase, f"block {phase}", run, stack, best_index, chosen[0], chosen[1], chosen[2], TermKey.ACTIVATIONS
    )


def pass_moments(run: Pass, stack: Stack) -> list[Moment]:
    """The largest moment of each piece in forward and in backward, for one micro-step."""
    depth = len(stack.layers)
    forward, backward = run.forward, run.backward
    return [
        _piece_moment(
            "forward", "embedding", run, stack, stack.stem, forward.stem, -1, (), TermKey.ACTIVATIONS, forward.by_module
        ),
        _block_moment("forward", run, stack, forward),
        _piece_moment(
            "forward", "loss", run, stack, stack.head, forward.head, depth, (), TermKey.LOGITS, forward.by_module
        ),
        _piece_moment(
            "backward",
            "loss backward",
            run,
            stack,
            stack.head,
            backward.head,
            depth,
            stack.head_grad_sizes,
            TermKey.LOGITS_GRAD,
            backward.by_module,
        ),
        _block_moment("backward", run, stack, backward),
        _piece_moment(
            "backward",
            "embedding backward",
            run,
            stack,
            stack.stem,
            backward.stem,
            -1,
            stack.stem_grad_sizes,
            TermKey.ACTIVATIONS,
            backward.by_module,
        ),
        *run.backward_moments,
    ]
