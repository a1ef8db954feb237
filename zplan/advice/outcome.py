"""What a search finds: plans with their memory and time, what counts as fitting, and which of two is better."""

from __future__ import annotations

from typing import NamedTuple

from zplan.advice.space import Strategy, place_of
from zplan.advice.timing import StepTime
from zplan.advice.work import recomputed_share
from zplan.memory.moments import Estimate
from zplan.spec import Checkpointing, Job, ModelSpec, Offload, Plan


class Priced(NamedTuple):
    """One plan with its memory and time."""

    plan: Plan
    memory: Estimate
    time: StepTime | None
    strategy: Strategy

    @property
    def high_bytes(self) -> int:
        """High bound of what the driver shows."""
        return self.memory.runtime.device_high_bytes

    @property
    def headroom_bytes(self) -> int:
        """Capacity less the high bound; negative when it does not fit for certain."""
        return (self.plan.cluster.gpu_capacity_bytes or 0) - self.high_bytes


class Outcome(NamedTuple):
    """What the search of one strategy found."""

    strategy: Strategy
    best: Priced | None
    """The fastest plan that fits with its high bound; where no strategy has one, by its expected value."""
    smallest: Priced | None
    """Where nothing fits: the plan that comes closest."""
    refused: str | None = None
    """Why nothing was priced."""


class SearchResult(NamedTuple):
    """All strategies."""

    outcomes: tuple[Outcome, ...]
    plans_decided: int
    """Plans whose fate is known: priced, slower than one that fits, or larger than one that does not."""
    plans_priced: int

    @property
    def best(self) -> Priced | None:
        """The winner over all strategies."""
        found = [outcome.best for outcome in self.outcomes if outcome.best is not None]
        return min(found, key=lambda one: rank(one.plan, one.time, one.strategy)) if found else None


def verdict(memory: Estimate) -> str:
    """``fits``, ``tight`` or ``oom``: the estimate's own, and the node's NVMe."""
    capacity = memory.plan.cluster.nvme_capacity_bytes
    if capacity is not None and memory.host.nvme_per_node_bytes > capacity:
        return "oom"
    return memory.verdict or "fits"


def fits(memory: Estimate) -> bool:
    """With its high bound."""
    return verdict(memory) == "fits"


def at_least_tight(memory: Estimate) -> bool:
    """By its expected value."""
    return verdict(memory) != "oom"


Rank = tuple[float, int, float, float, int, int, int]


def rank(plan: Plan, time: StepTime | None, strategy: Strategy) -> Rank:
    """Sort key, best first: speed; then habit, no change to the training script, and less memory.

    Without a card's speed: the order of habit, then as little offload and recomputation as fits, then as many tokens.
    """
    speed = None if time is None else time.tokens_per_second_per_gpu
    return Order(plan.model, plan.job, plan.job.checkpointing, strategy).rank(plan.job.micro_batch, speed)


class Order:
    """Sorts plans that differ in their batch alone."""

    __slots__ = ("_again", "_bucket", "_changes", "_ladder", "_moved")

    def __init__(self, model: ModelSpec, job: Job, saver: Checkpointing, strategy: Strategy) -> None:
        """With any batch, and ``saver`` in place of the job's own checkpointing."""
        self._ladder, self._bucket = strategy.ladder, -job.deepspeed.reduce_bucket_size
        self._again, self._changes = recomputed_share(model, saver), place_of(job.loss)
        self._moved = job.deepspeed.offload_ratio if job.offload is not Offload.NONE else 0.0

    def rank(self, micro: int, speed: float | None) -> Rank:
        """The sort key with a micro-batch, and tokens per second (see :func:`rank`)."""
        if speed is None:
            return (0.0, self._ladder, self._moved, self._again, self._changes, -micro, self._bucket)
        return (-speed, self._ladder, self._again, self._moved, self._changes, micro, self._bucket)
