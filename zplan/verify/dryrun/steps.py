"""The step loop that every launch shares: forward, backward, step, with a meter around each.

Peaks are those of the last step; with gradient accumulation, the maximum over its micro-steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from zplan.memory.moments import TermKey

DEFAULT_STEPS = 2
"""The second step is the first that starts with optimizer states."""


class Meter(Protocol):
    """What is asked for the memory of a phase."""

    def new_step(self) -> None:
        """A step starts; what earlier steps measured may be dropped."""

    def begin(self, phase: str) -> None:
        """A phase starts."""

    def end(self, phase: str) -> None:
        """A phase ends."""


@dataclass(frozen=True, slots=True)
class StepWork:
    """One engine's training step, cut at its phases."""

    forward: Callable[[], Any]
    """Runs one micro-batch and returns the loss; nothing else may outlive it."""
    backward: Callable[[Any, bool], None]
    """Takes the loss and whether this micro-step ends the accumulation."""
    step: Callable[[bool], None]
    """Steps the optimizer and clears the gradients, if this micro-step ends the accumulation."""
    before: Callable[[bool], None] | None = None
    """Called before each micro-step's forward."""
    beyond: Mapping[str, Callable[[], Any]] = field(default_factory=dict)
    """Phase after the steps (``eval``, ``save``) -> what runs it; what it returns lives until the phase ends."""


def run_steps(
    work: StepWork,
    meter: Meter,
    *,
    grad_accum: int = 1,
    steps: int = DEFAULT_STEPS,
    progress: Callable[[str, float], None] | None = None,
) -> None:
    """Run a few steps.

    Args:
        work: The engine's step.
        meter: Told when a phase begins and ends; phases of all steps are reported, the meter decides what to keep.
        grad_accum: Micro-steps per step.
        steps: How many.
        progress: Told the phase that runs and the share of the work that is done.
    """
    total = steps * grad_accum * 3
    done = 0

    def timed(phase: str, action: Callable[[], Any]) -> Any:
        nonlocal done
        if progress is not None:
            progress(phase, done / total)
        meter.begin(phase)
        try:
            return action()
        finally:
            meter.end(phase)
            done += 1

    for _ in range(steps):
        meter.new_step()
        for micro in range(grad_accum):
            last = micro == grad_accum - 1
            if work.before is not None:
                work.before(last)
            loss = timed("forward", work.forward)
            timed("backward", _consume(work, loss, last))
            del loss
            timed("step", lambda last=last: work.step(last))  # type: ignore[misc]
    if progress is not None:
        progress("done", 1.0)


def _consume(work: StepWork, loss: Any, last: bool) -> Callable[[], None]:
    return lambda: work.backward(loss, last)


PHASE_LABEL = {
    "init": TermKey.PARAMS,
    "forward": TermKey.ACTIVATIONS,
    "backward": TermKey.ACTIVATIONS,
    "step": TermKey.OPTIMIZER_TEMPORARIES,
    "eval": TermKey.ACTIVATIONS,
    "save": TermKey.GATHERED_PARAMS,
}
"""What a storage is called when nothing says more about it."""
