"""The largest instants of a pass: an engine's track and the model code's stack, added up.

What a track and a stack come to does not depend on what else the engine holds, so it is worked out once for both and kept with
the stack: stages and ranks that share a track share it. The numbers come first; moments, with their terms, are made from them
when somebody looks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from zplan.memory.activations.base import PieceMemory
from zplan.memory.codeside import Candidate, Stack, held_bytes
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


Peak = tuple[int, int]
"""The first of the largest instants of one direction of a pass: its bytes beyond the pass's base, and the place of its piece
in the order in which the pieces come. A plain tuple, of which the garbage collector soon lets go."""


_FORWARD = ("embedding", "block forward", "loss")
_BACKWARD = ("loss backward", "block backward", "embedding backward")


def _piece_best(forward: bool, stack: Stack, track: Track, stem: bool) -> Best:
    """Largest instant of the stem or the head."""
    best, chosen, engine = -1, NOBODY, NOTHING
    levels: Mapping[StateKey, Level] = track.stem if stem else track.head
    if track.opening.total and not stem:
        chosen, engine = _opening(stack.head), track.opening
        best = chosen.own + engine.total
    which = 0 if stem else 1
    most = track.most[which]
    for candidate in (stack.forward if forward else stack.backward)[which][track.by]:
        if candidate.own + most <= best:
            break
        held = levels.get(candidate.key) or levels.get(candidate.fallback, NOTHING)
        total = candidate.own + held.total
        if total > best:
            best, chosen, engine = total, candidate, held
    below, waiting, depth = 0, 0, -1
    if not stem:
        depth = len(stack.layers)
        # The frames of stem and blocks are gone before the head's matrix is used; instants before that hold them themselves.
        below = stack.stored_bytes(depth, forward) - (stack.frames_bytes if forward else 0)
    elif not forward:
        waiting, below = stack.head.held_grad_bytes, stack.retained_bytes(-1)
    own = TermKey.ACTIVATIONS if stem else TermKey.LOGITS if forward else TermKey.LOGITS_GRAD
    total = stack.inputs_bytes + below + waiting + max(best, 0)
    return Best(total, own, depth, chosen, engine, waiting)


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
    stem = _piece_best(forward, stack, track, True)
    blocks = _block_best(forward, stack, track)
    head = _piece_best(forward, stack, track, False)
    return (stem, blocks, head) if forward else (head, blocks, stem)


def pass_peak(stack: Stack, track: Track, forward: bool) -> Peak:
    """The largest of them; kept with the stack."""
    known: Peak | None = stack.memo[forward].get(track)
    if known is None:
        totals = [piece.total for piece in pass_best(stack, track, forward)]
        largest = max(totals)
        known = stack.memo[forward][track] = (largest, totals.index(largest))
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
    for key, size in (
        (TermKey.INPUTS, stack.inputs_bytes),
        (best.own, best.candidate.activation_bytes),
        (TermKey.ATTENTION_SCORES, best.candidate.score_bytes),
        (TermKey.UNSHARDED_GRADS, best.candidate.pending + best.held_grad_bytes),
        *best.level.terms,
    ):
        terms[key] = terms.get(key, 0) + size
    return terms


def peak_moment(run: Pass, stack: Stack, forward: bool, peak: Peak) -> Moment:
    """The largest instant of one direction as a moment; its terms are found when somebody looks."""
    track = run.forward if forward else run.backward
    total, piece = peak

    def build() -> dict[str, int]:
        return _terms(run, stack, forward, pass_best(stack, track, forward)[piece])

    phase, names = ("forward", _FORWARD) if forward else ("backward", _BACKWARD)
    return Moment.deferred(phase, names[piece], run.base_bytes + total, build)


def _piece_moments(run: Pass, stack: Stack, forward: bool) -> list[Moment]:
    track = run.forward if forward else run.backward
    found = enumerate(pass_best(stack, track, forward))
    return [peak_moment(run, stack, forward, (best.total, piece)) for piece, best in found]


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


def backward_peak_bytes(run: Pass, stack: Stack) -> int:
    """The largest moment of backward alone: what differs between ranks of stages 1 and 2, beside the step."""
    peak = run.base_bytes + pass_peak(stack, run.backward, False)[0]
    if run.largest_backward is None:
        return peak
    return max(peak, run.largest_backward.total_bytes + stack.inputs_bytes)
