"""The model code's side of an instant: what its pieces keep and need at one batch shape, ready to meet an engine's track."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from zplan.memory.activations.base import Instant, PieceMemory, waiting
from zplan.memory.timeline import LATER, StateKey, Track


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


Candidates = dict[str, tuple[Candidate, ...]]
"""For each way in which engines differ within a piece (``Track.by``) what can be its peak, largest first."""


Key = tuple[int, StateKey, StateKey, StateKey]
"""Of an instant: bytes of the gradient that is handed over; its key by gradients, the fallback of that, its key by module."""


def instant_keys(instants: Sequence[Instant], grad_sizes: Sequence[int]) -> list[Key]:
    """What engines look their levels up by at each instant of a piece; no batch shape changes it."""
    found: list[Key] = []
    later = False
    for _, _, ready, module, which in instants:
        after = LATER if ready or (later and not module) else ""
        if which >= 0:
            found.append((grad_sizes[which], (which,), ready, (which,)))
        else:
            # Below -1 a gradient waits for its hook: its bytes are there, and the engine has not been called.
            found.append((0 if which == -1 else grad_sizes[waiting(which)], ready, ready, module + after))
        later = later or bool(module and not grad_sizes)
    return found


def candidates(instants: Sequence[Instant], grad_sizes: Sequence[int]) -> Candidates:
    """What can be a piece's peak at one batch shape."""
    best: dict[tuple[str, StateKey], Candidate] = {}
    for one, (pending, by_grads, ready, by_module) in zip(instants, instant_keys(instants, grad_sizes), strict=True):
        own = one[0] + one[1] + pending
        for by, key, fallback in (("any", 0, 0), ("grads", by_grads, ready), ("module", by_module, "")):
            known = best.get((by, key))
            if known is None or own > known.own:
                best[by, key] = Candidate(key, fallback, own, one[0], one[1], pending)
    found: dict[str, list[Candidate]] = {"any": [], "grads": [], "module": []}
    for (by, _), candidate in best.items():
        found[by].append(candidate)
    return {by: tuple(sorted(values, key=_own, reverse=True)) for by, values in found.items()}


def _own(candidate: Candidate) -> int:
    return candidate.own


def trunk_end(head: Sequence[Instant]) -> int:
    """Place of the head's first forward instant at which the model's trunk was left: its matrix runs."""
    return next((place for place, one in enumerate(head) if one.module), len(head))


def beside(head: Sequence[Instant], frames: int, scores: int) -> list[Instant]:
    """The head's instants with the frames of the model's trunk, which is left when the head's matrix is used."""
    end, more = trunk_end(head), frames - scores
    trunk = [
        one._replace(activation_bytes=one.activation_bytes + more, score_bytes=one.score_bytes + scores)
        for one in head[:end]
    ]
    return [*trunk, *head[end:]]


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
        self.forward = tuple(candidates(piece.forward, ()) for piece in pieces)
        """Candidates of stem, head and each variant."""
        self.backward = tuple(candidates(piece.backward, size) for piece, size in zip(pieces, sizes, strict=True))
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
            self.forward = (self.forward[0], candidates(beside(head.forward, frames, scores), ()), *self.forward[2:])

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


class StackShape(NamedTuple):
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
