"""Out-of-memory messages, explained: which tensor it was, why there was no room, what to change.

What this adds to the message itself comes from the plan: all tensors that the run asks for in one piece
(:mod:`zplan.advice.oom_tensors`), compared with the request (:mod:`zplan.advice.oom_match`).
"""

from __future__ import annotations

from dataclasses import dataclass

from zplan.advice.oom_advice import OomAdvice, advise
from zplan.advice.oom_cause import Cause, find_causes
from zplan.advice.oom_match import SOLVED, Candidate, match, tells_nothing
from zplan.advice.oom_stack import StackHint, read_stack
from zplan.advice.oom_tensors import plan_tensors
from zplan.inputs.oommessage import OomKind, OomMessage
from zplan.memory.moments import Estimate, TermKey
from zplan.spec import Plan
from zplan.units import format_size

OFF = 0.1
"""From this difference on between what a plan predicts and what a log says, they are not about the same run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decoded:
    """One message, explained as far as the plan at hand allows."""

    message: OomMessage
    hint: StackHint
    candidates: tuple[Candidate, ...]
    """Likeliest first; empty without a plan, without a size, or where the size says nothing."""
    causes: tuple[Cause, ...]
    advice: tuple[OomAdvice, ...]
    phase: str | None
    """Where in the step it failed, as far as known."""
    predicted_bytes: int | None
    """What the plan predicts for that phase, allocated."""
    needed_bytes: int | None
    """Allocated when it failed, plus the request."""
    remarks: tuple[str, ...] = ()


def decode(
    message: OomMessage, estimate: Estimate | None, *, plan: Plan | None = None, with_advice: bool = True
) -> Decoded:
    """Explains one out-of-memory message.

    Args:
        message: As read from a log (``read_oom_log`` and ``oom_from_text`` of :mod:`zplan.inputs.oomlog`).
        estimate: Of the plan that ran; without it the numbers are read, but no tensor is named.
        plan: The plan itself, where it has no estimate (no formula for its activations): tensors are found, nothing is
            priced.
        with_advice: Off to only find the tensor, which is much faster.

    Returns:
        Candidates, causes and advice.
    """
    hint = read_stack(message.frames)
    candidates: tuple[Candidate, ...] = ()
    plan = estimate.plan if estimate is not None else plan
    if plan is not None:
        candidates = match(message, hint, plan_tensors(plan), plan.model)
    phase = hint.phase or (candidates[0].phase if candidates else None)
    causes = find_causes(message, estimate, pinned=TermKey.HOST_STAGING in hint.terms)
    terms = tuple(dict.fromkeys([candidate.tensor.term for candidate in candidates] or hint.terms))
    needed = None
    if message.allocated is not None and message.requested is not None:
        needed = message.allocated.bytes + message.requested.bytes
    predicted = estimate.phases.get(phase) if estimate is not None and phase is not None else None
    return Decoded(
        message=message,
        hint=hint,
        candidates=candidates,
        causes=causes,
        advice=advise(message, estimate, causes, terms, phase) if with_advice else (),
        phase=phase,
        predicted_bytes=predicted,
        needed_bytes=needed,
        remarks=tuple(_remarks(message, plan, candidates, needed, predicted, phase)),
    )


def _remarks(
    message: OomMessage,
    plan: Plan | None,
    candidates: tuple[Candidate, ...],
    needed: int | None,
    predicted: int | None,
    phase: str | None,
) -> list[str]:
    """What else the numbers say."""
    requested = message.requested
    if requested is None or message.kind is not OomKind.DEVICE:
        return []
    found = []
    if tells_nothing(message):
        found.append(
            f"{format_size(requested.bytes)} is a segment that the allocator asks for when any small tensor comes: it "
            "names no tensor, the card was simply full"
        )
    elif plan is not None and all(candidate.fit == SOLVED for candidate in candidates):
        found.append(
            "no tensor of this plan has that size: check that the plan is the run's (model, GPUs, batch, sequence, stage)"
        )
    if needed is None or predicted is None or abs(predicted / needed - 1) <= OFF:
        return found
    numbers = f"the plan predicts {format_size(predicted)} in {phase}, the log shows {format_size(needed)}"
    why = (
        "it failed before that peak, or the run needs less than the plan"
        if predicted > needed
        else "the run has something the plan does not (offload or checkpointing off, longer samples, another model)"
    )
    return [*found, f"{numbers}: {why}"]
