"""recommend(): the plan to run, the path that leads to it, what else would run, or the ways out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from zplan.advice.decision import Step, decide, shortfall
from zplan.advice.goals import Goal, Target, aim
from zplan.advice.outcome import Priced, rank
from zplan.advice.space import Question
from zplan.advice.ways import WayOut, ways_out
from zplan.errors import ZplanError
from zplan.spec import ModelSpec
from zplan.units import Unit


class Rejected(NamedTuple):
    """A way that does not fit."""

    plan: Priced
    reason: str


class Recommendation(NamedTuple):
    """The whole answer."""

    goal: Goal
    target: Target
    """The question that was answered (a goal may have changed GPUs, sequence or model), and its search."""
    decision: tuple[Step, ...]
    recommended: Priced | None
    alternatives: tuple[Priced, ...]
    """The best plan of each other way that fits, fastest first; other cards' best plans too."""
    rejected: tuple[Rejected, ...]
    if_nothing_fits: tuple[WayOut, ...]
    """Empty when something fits."""

    @property
    def question(self) -> Question:
        """What was answered."""
        return self.target.question


def recommend(
    questions: Sequence[Question],
    goal: Goal = Goal.FASTEST,
    *,
    prices: Sequence[float | None] = (),
    models: Sequence[ModelSpec] = (),
    gpus_given: bool = True,
    unit: Unit = Unit.GIB,
) -> Recommendation:
    """Picks the plan to run.

    Args:
        questions: One per kind of card, all of the same model and job.
        goal: What to look for.
        prices: Per GPU-hour, one per question.
        models: For ``largest-model`` the candidates, smallest first.
        gpus_given: The user named a number of GPUs.
        unit: Unit of sizes in the text.

    Returns:
        The recommendation; ``recommended`` is None when nothing fits.

    Raises:
        ZplanError: the memory of a card is not known, or what was asked contradicts itself.
    """
    for question in questions:
        if question.base.cluster.gpu_capacity_bytes is None:
            raise ZplanError(
                "what to recommend depends on how much memory a card has",
                "name the card or its memory: --gpu a100-80g, or --gpu-mem 80",
            )
    costs = list(prices) or [None] * len(questions)
    targets = [
        aim(goal, question, price_per_hour=price, models=models, gpus_given=gpus_given)
        for question, price in zip(questions, costs, strict=True)
    ]
    target = min(targets, key=lambda one: _preference(goal, one))
    best = target.best
    others = [o.best for o in target.result.outcomes if o.best is not None and o.best is not best]
    others.sort(key=lambda one: rank(one.plan, one.time, one.strategy))
    others += [one.best for one in targets if one is not target and one.best is not None]
    rejected = tuple(
        Rejected(outcome.smallest, shortfall(outcome.smallest, unit))
        for outcome in target.result.outcomes
        if outcome.smallest is not None
    )
    return Recommendation(
        goal=goal,
        target=target,
        decision=decide(target.question, target.result, unit),
        recommended=best,
        alternatives=tuple(others),
        rejected=rejected,
        if_nothing_fits=ways_out(target.question) if best is None else (),
    )


def _preference(goal: Goal, target: Target) -> tuple[float, float, float]:
    """Which kind of card answers a goal best; lower is better."""
    best = target.best
    if best is None:
        return (2.0, 0.0, 0.0)
    tight = 0.0 if best.memory.verdict == "fits" else 1.0
    speed = 0.0 if best.time is None else -best.time.tokens_per_second_per_gpu * best.plan.world_size
    value = target.value or 0.0
    if goal in (Goal.MIN_GPUS, Goal.CHEAPEST):
        return (tight, value, speed)
    if goal in (Goal.MAX_SEQ, Goal.MAX_MICRO_BATCH, Goal.LARGEST_MODEL):
        return (tight, -value, speed)
    return (tight, speed, 0.0)
