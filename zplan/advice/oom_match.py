"""Which tensor of a plan a request for memory was: by size, by phase, and by what the traceback says."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from zplan.advice.oom_base import PlanTensor
from zplan.advice.oom_stack import StackHint
from zplan.inputs.oommessage import OomKind, OomMessage, Size
from zplan.memory.moments import TermKey
from zplan.spec import ModelSpec
from zplan.units import MIB

SMALL_SEGMENT, LARGE_SEGMENT = 2 * MIB, 20 * MIB
"""What the caching allocator asks the driver for when a tensor has up to 1 MiB, and up to 10 MiB."""
NEAR = 0.015
"""How far P may be off: a vision tower, adapters or a resized vocabulary make a run's P differ from its model's."""
MOST_CANDIDATES = 12
EXACT, CLOSE, SOLVED = "exact", "near", "solved"
_IN_FP32 = re.compile(r"float|softmax|cross_entropy")
_WITHOUT_HINT = (
    TermKey.OPTIMIZER,
    TermKey.GRADS_FP32,
    TermKey.OPTIMIZER_TEMPORARIES,
    TermKey.MASTER,
    TermKey.LOGITS,
    TermKey.FLAT_BUFFER,
    TermKey.GATHERED_PARAMS,
    TermKey.REDUCE_BUCKET,
)
"""Among tensors of one size: a first step allocates the states last of all, so that is where most runs stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """One tensor that the request can be."""

    tensor: PlanTensor
    phase: str
    """The phase of the step in which it would be asked for."""
    error: float
    """|size / request - 1|, before any rounding."""
    fit: str
    """``exact`` within the message's and the allocator's rounding, ``near`` if P is a little off, ``solved`` if the
    number of tokens is another."""
    score: float
    """Higher is likelier; only the order means something."""
    note: str = ""
    """What has to be so for it to be this tensor, as the end of "only if"."""


def allocator_bytes(size_bytes: int, device: str) -> int:
    """What the allocator asks the driver for when a tensor has ``size_bytes``: that is what the message prints.

    Formula: 512-byte blocks; up to 1 MiB a segment of 2 MiB, below 10 MiB one of 20 MiB, above that multiples of 2 MiB.
    Source: torch ``c10/core/AllocatorConfig.h`` and ``get_allocation_size`` in ``c10/cuda/CUDACachingAllocator.cpp``;
    torch_npu adds 32 bytes first (``NPUCachingAllocator.cpp``, ``round_size``).
    """
    if device in ("mps", "cpu"):
        return size_bytes
    blocks = -(-(size_bytes + (32 if device == "npu" else 0)) // 512) * 512
    if blocks <= MIB:
        return SMALL_SEGMENT
    if blocks < 10 * MIB:
        return LARGE_SEGMENT
    return -(-blocks // SMALL_SEGMENT) * SMALL_SEGMENT


def tells_nothing(message: OomMessage) -> bool:
    """Whether the request is a segment that any small tensor causes."""
    if message.requested is None or message.kind is not OomKind.DEVICE or message.device == "mps":
        return False
    return any(
        abs(message.requested.bytes - size) <= message.requested.within for size in (SMALL_SEGMENT, LARGE_SEGMENT)
    )


def match(
    message: OomMessage, hint: StackHint, tensors: Iterable[PlanTensor], model: ModelSpec
) -> tuple[Candidate, ...]:
    """Ranks the tensors that the request can be.

    Args:
        message: What was asked for; without a size nothing matches.
        hint: What the traceback says.
        tensors: The plan's.
        model: Whose P may be a rounded one.

    Returns:
        At most ``MOST_CANDIDATES``, likeliest first.
    """
    if message.requested is None or message.requested.bytes <= 0 or tells_nothing(message):
        return ()
    on_host = message.kind is OomKind.HOST or TermKey.HOST_STAGING in hint.terms
    off = max(NEAR, rounded_share(model))
    found: dict[tuple[str, int], Candidate] = {}
    for tensor in tensors:
        if tensor.host != on_host and not (on_host and tensor.term == TermKey.PARAMS):
            continue
        candidate = _compare(message, message.requested, tensor, off)
        if candidate is None:
            continue
        candidate = _scored(candidate, hint)
        if candidate.score <= 0:
            continue  # the traceback contradicts it, and its size is a guess
        key = (tensor.term, candidate.tensor.bytes)
        if key not in found or candidate.score > found[key].score:
            found[key] = candidate
    ordered = sorted(found.values(), key=lambda candidate: (-candidate.score, candidate.error))
    return _without_coincidences(ordered)[:MOST_CANDIDATES]


def rounded_share(model: ModelSpec) -> float:
    """By what share P can be off because it was typed rounded: 7B is anything from 6.5 to 7.5."""
    if not model.source.startswith("nearest"):
        return 0.0
    digits = str(model.params)
    zeros = len(digits) - len(digits.rstrip("0"))
    return float(f"5e{zeros - 1}") / model.params


def _compare(message: OomMessage, requested: Size, tensor: PlanTensor, off: float) -> Candidate | None:
    """The tensor as a candidate, without a score; None where its size has nothing to do with the request."""
    error = abs(tensor.bytes / requested.bytes - 1)
    base = Candidate(tensor=tensor, phase=tensor.phases[0], error=error, fit=EXACT, score=0, note=tensor.unlikely)
    if abs(allocator_bytes(tensor.bytes, message.device) - requested.bytes) <= requested.within + 1:
        return replace(base, score=4.0)
    moves = (tensor.follows or tensor.elements) * tensor.element_bytes
    away = (requested.bytes - tensor.bytes) / moves
    if tensor.scales == "P" and abs(away) <= off:
        note = f"P is {1 + away:.4f} times the plan's"
        return replace(base, fit=CLOSE, score=3.0 - 2 * abs(away) / off, note=_joined(note, tensor.unlikely))
    if tensor.per_token * tensor.element_bytes >= 2**16 and tensor.term in (TermKey.LOGITS, TermKey.LOGITS_GRAD):
        tokens = round(requested.bytes / (tensor.per_token * tensor.element_bytes))
        planned = tensor.elements // tensor.per_token
        if tokens < 16:
            return None
        solved = replace(tensor, elements=tokens * tensor.per_token)
        note = f"the batch had {tokens:,} tokens, where the plan has {planned:,}"
        return replace(base, tensor=solved, fit=SOLVED, score=0.5, note=_joined(note, tensor.unlikely))
    return None


def _scored(candidate: Candidate, hint: StackHint) -> Candidate:
    """Adds what speaks for and against it."""
    tensor, score = candidate.tensor, candidate.score
    phase = candidate.phase
    if tensor.term in hint.terms:
        score += 4.0 - 0.5 * hint.terms.index(tensor.term)
    if hint.phase is not None:
        agrees = hint.phase in tensor.phases
        score += 1.0 if agrees else -2.0
        phase = hint.phase if agrees else phase
    if tensor.unlikely:
        score -= 0.75
    if tensor.element_bytes == 4 and _IN_FP32.search(hint.where):
        score += 0.2
    if "shifted" in tensor.title:
        score -= 0.1  # transformers shifts the labels since 4.45, and the logits no more
    if tensor.term in _WITHOUT_HINT:
        score += 0.4 * (1 - _WITHOUT_HINT.index(tensor.term) / len(_WITHOUT_HINT))
    return replace(candidate, score=score, phase=phase)


def _without_coincidences(ordered: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Leaves out solved sizes where something fits as planned, unless the traceback is about the loss."""
    if not ordered or ordered[0].fit == SOLVED or all(candidate.fit == SOLVED for candidate in ordered):
        return tuple(ordered)
    return tuple(candidate for candidate in ordered if candidate.fit != SOLVED)


def _joined(*notes: str) -> str:
    return ", and ".join(note for note in notes if note)
