"""The largest instants of a pass: an engine's track and the model code's stack, added up.

What a track and a stack come to does not depend on what else the engine holds, so it is worked out once for both and kept with
the stack: stages and ranks that share a track share it. The numbers come first; moments, with their terms, are made from them
when somebody looks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from zplan.memory.activations.base import PieceMemory
from zplan.memory.codeside import Candidate, Candidates, Stack, held_bytes
from zplan.memory.moments import Moment, TermKey
from zplan.memory.timeline import NOTHING, Level, Pass, StateKey, Track

NOBODY = Candidate(0, 0, 0, 0, 0, 0)
AFTER = "after"


class Best(NamedTuple):
    """The largest instant of one piece."""

    total: int
    """Bytes beyond the pass's base: activations, what earlier pieces store, inputs, the engine's level."""
    own: str
    """Term that the piece's own activations belong to."""
    depth: int
    """Layers stored below; -1 for the stem."""
    candidate: Candidate
    level: Level
    held_grad_bytes: int
    """Gradient of a tied head that waits meanwhile."""


_PHASES = ("backward", "forward")
_NAMES = (("loss backward", "block backward", "embedding backward"), ("embedding", "block forward", "loss"))
"""Of the pieces in the order in which they come."""


def end_best(
    candidates: Iterable[Candidate], levels: Mapping[StateKey, Level], most: int, best: int = -1
) -> tuple[int, Candidate, Level]:
    """The largest instant of the stem or the head above ``best``: its bytes and what makes them.

    Args:
        candidates: Largest first.
        levels: The engine's.
        most: The largest of them.
        best: What another instant of the piece comes to.
    """
    chosen, engine = NOBODY, NOTHING
    for candidate in candidates:
        if candidate.own + most <= best:
            break
        held = levels.get(candidate.key) or levels.get(candidate.fallback, NOTHING)
        total = candidate.own + held.total
        if total > best:
            best, chosen, engine = total, candidate, held
    return best, chosen, engine


def _stem_best(forward: bool, stack: Stack, track: Track) -> Best:
    candidates = (stack.forward if forward else stack.backward)[0][track.by]
    best, chosen, engine = end_best(candidates, track.stem, track.most[0])
    waiting = 0 if forward else stack.head.held_grad_bytes
    total = stack.inputs_bytes + (0 if forward else stack.retained_bytes(-1)) + waiting + max(best, 0)
    return Best(total, TermKey.ACTIVATIONS, -1, chosen, engine, waiting)


def head_best(head: PieceMemory, candidates: Candidates, track: Track) -> tuple[int, Candidate, Level]:
    """The largest instant of the head in one direction, the opening of backward included: its bytes and what makes them."""
    before: tuple[int, Candidate, Level] = (-1, NOBODY, NOTHING)
    if track.opening.total:
        opening = _opening(head)
        before = (opening.own + track.opening.total, opening, track.opening)
    found = end_best(candidates[track.by], track.head, track.most[1], before[0])
    return found if found[0] > before[0] else before


def _head_best(forward: bool, stack: Stack, track: Track) -> Best:
    best, chosen, engine = head_best(stack.head, (stack.forward if forward else stack.backward)[1], track)
    # The frames of stem and blocks are gone before the head's matrix is used; instants before that hold them themselves.
    depth = len(stack.layers)
    below = stack.stored_bytes(depth, forward) - (stack.frames_bytes if forward else 0)
    own = TermKey.LOGITS if forward else TermKey.LOGITS_GRAD
    return Best(stack.inputs_bytes + below + max(best, 0), own, depth, chosen, engine, 0)


def _block_best(forward: bool, stack: Stack, track: Track) -> Best:
    """Largest instant over all blocks."""
    kept = stack.kept_forward if forward else stack.kept_blocks
    per_layer, below = kept.linear, kept.below
    deepest = max(below) if per_layer is None else (len(stack.layers) - 1) * per_layer
    best, best_index, chosen, engine = -1, 0, NOBODY, NOTHING
    pieces = stack.forward if forward else stack.backward
    for variant, levels in enumerate(track.blocks):
        reach = track.most[variant + 2] + deepest
        candidates = pieces[variant + 2][track.by]
        if track.after:
            candidates = (_after(stack.variants[variant]), *candidates)
        for candidate in candidates:
            own = candidate.own
            if candidate.key == AFTER:
                found = track.after[variant]
            elif own + reach <= best:
                break
            else:
                known = levels.get(candidate.key) or levels.get(candidate.fallback)
                if known is None:
                    continue
                found = known
            if per_layer is None:
                for index, held in found.points:
                    total = own + held.total + below[index]
                    if total > best:
                        best, best_index, chosen, engine = total, index, candidate, held
            else:
                for index, held in found.hull:
                    total = own + held.total + index * per_layer
                    if total > best:
                        best, best_index, chosen, engine = total, index, candidate, held
    waiting = 0 if forward else stack.head.held_grad_bytes
    total = stack.inputs_bytes + kept.stem + waiting + max(best, 0)
    return Best(total, TermKey.ACTIVATIONS, best_index, chosen, engine, waiting)


def _after(piece: PieceMemory) -> Candidate:
    """A spike after a block: of its activations only the gradient of its input is left."""
    return Candidate(AFTER, AFTER, piece.input_grad_bytes, piece.input_grad_bytes, 0, 0)


def _opening(head: PieceMemory) -> Candidate:
    """Before the first operator of backward."""
    own = head.kept_bytes + head.kept_score_bytes
    return Candidate("", "", own, head.kept_bytes, head.kept_score_bytes, 0)


def pass_best(stack: Stack, track: Track, forward: bool) -> tuple[Best, Best, Best]:
    """The largest instant of each piece, in order: embedding, blocks and loss forward; loss, blocks and embedding backward."""
    stem, blocks, head = (best(forward, stack, track) for best in (_stem_best, _block_best, _head_best))
    return (stem, blocks, head) if forward else (head, blocks, stem)


def pass_peak(stack: Stack, track: Track, forward: bool) -> int:
    """Bytes of the largest of them beyond the pass's base; kept with the stack."""
    known = stack.memo[forward].get(track)
    if known is None:
        known = stack.memo[forward][track] = max(piece.total for piece in pass_best(stack, track, forward))
    return known


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
        frames = forward and layers_below < len(stack.layers)
        scores = piece.kept_score_bytes + (piece.frame_score_bytes if frames else 0)
        terms[TermKey.CHECKPOINTS if checkpointed else TermKey.ACTIVATIONS] += count * (
            held_bytes(piece, frames) + (piece.cast_cache_bytes if forward and not frames else 0) - scores
        )
        terms[TermKey.ATTENTION_SCORES] += count * scores
    return terms


def _terms(run: Pass, stack: Stack, forward: bool, best: Best) -> dict[str, int]:
    """All terms of a piece's largest instant; zero ones included."""
    terms = dict(run.base)
    for key, size in _stored_terms(stack, best.depth, forward).items():
        terms[key] = terms.get(key, 0) + size
    if not forward:
        terms[TermKey.CHECKPOINTS] = terms.get(TermKey.CHECKPOINTS, 0) + stack.retained_bytes(best.depth)
    own = best.candidate.activation_bytes
    # Below 0 where the gradient that the head held is gone: it has become part of the one that is handed over.
    gone = min(0, own)
    for key, size in (
        (TermKey.INPUTS, stack.inputs_bytes),
        (best.own, own - gone),
        (TermKey.ATTENTION_SCORES, best.candidate.score_bytes),
        (TermKey.UNSHARDED_GRADS, best.candidate.pending + best.held_grad_bytes + gone),
        *best.level.terms,
    ):
        terms[key] = terms.get(key, 0) + size
    return terms


def peak_moment(run: Pass, stack_of: Callable[[], Stack], forward: bool, total: int) -> Moment:
    """The largest instant of one direction (the first of them) as a moment; name and terms are found when somebody looks.

    Args:
        run: The micro-step.
        stack_of: Makes the model code's side.
        forward: Or backward.
        total: What the instant comes to beyond the pass's base.
    """
    track = run.forward if forward else run.backward

    def look() -> tuple[str, dict[str, int]]:
        stack = stack_of()
        found = pass_best(stack, track, forward)
        piece = [best.total for best in found].index(total)
        return _NAMES[forward][piece], _terms(run, stack, forward, found[piece])

    return Moment.unseen(_PHASES[forward], run.base_bytes + total, look)


def _piece_moments(run: Pass, stack: Stack, forward: bool) -> list[Moment]:
    phase, names, found = (
        _PHASES[forward],
        _NAMES[forward],
        pass_best(stack, run.forward if forward else run.backward, forward),
    )
    return [
        Moment.deferred(phase, name, run.base_bytes + best.total, partial(_terms, run, stack, forward, best))
        for name, best in zip(names, found, strict=True)
    ]


def pass_moments(run: Pass, stack: Stack) -> list[Moment]:
    """The largest moment of each piece in forward and in backward, for one micro-step."""
    inputs = stack.inputs_bytes
    return [
        *(with_inputs(moment, inputs) for moment in run.forward_moments),
        *_piece_moments(run, stack, True),
        *_piece_moments(run, stack, False),
        *(with_inputs(moment, inputs) for moment in run.backward_moments),
    ]


def with_inputs(moment: Moment, inputs_bytes: int) -> Moment:
    """An engine's moment beside the batch, which lives through the whole step."""
    return Moment.deferred(
        moment.phase,
        moment.name,
        moment.total_bytes + inputs_bytes,
        lambda: {**moment.terms, TermKey.INPUTS: inputs_bytes},
    )
