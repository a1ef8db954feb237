"""The search: of every strategy the fastest plan that fits, found by pricing as few plans as possible.

Time is cheap to predict, memory less so. Within a strategy plans are therefore taken from the fastest down, and the
first that fits is the answer. Memory grows with the micro-batch, and shrinks with recomputation, with a leaner loss
kernel, with smaller buckets and with more offload: a plan that needs more than one that did not fit is decided without
being priced.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from zplan.advice.outcome import Order, Outcome, Priced, Rank, SearchResult, at_least_tight, fits
from zplan.advice.space import (
    LOSSES,
    RATIOS,
    Question,
    Strategy,
    checkpointings,
    micro_batches,
    options,
    place_of,
    refusal,
    strategies,
)
from zplan.advice.timing import speed_of, step_time
from zplan.errors import ZplanError
from zplan.memory.estimate import estimate
from zplan.memory.facts import job_facts
from zplan.memory.moments import Estimate, TermKey
from zplan.memory.runtime import most_allocated_bytes, outside_of
from zplan.memory.shapes import stored_line
from zplan.spec import Checkpointing, DeepSpeedOptions, Job, Loss, Offload, Plan

Pair = tuple[int, int]
"""Micro-batch and accumulation."""
Accept = Callable[[Estimate], bool]


def _need(memory: Estimate) -> tuple[bool, int]:
    """What to compare plans by that don't fit: out of host RAM is worse than any need for GPU memory."""
    return (memory.host.verdict == "oom", memory.runtime.device_high_bytes)


class _Candidate(NamedTuple):
    """A plan before it is priced."""

    job: Job
    """With any batch."""
    pair: Pair
    order: Rank
    size: tuple[float, ...]
    """Grows, side by side, with everything that memory grows with."""


STATES = (TermKey.PARAMS, TermKey.MASTER, TermKey.OPTIMIZER)
"""Held through the whole step, whatever the batch and the buckets are."""


class _Search:
    """Counts and prices plans of one question."""

    def __init__(self, question: Question, accept: Accept) -> None:
        self.question = question
        self.accept = accept
        self.pairs = micro_batches(question)
        self.savers = checkpointings(question)
        self.decided = self.priced = 0
        self.losses = list(LOSSES)
        """Loss kernels that the model's code has a table for; others are dropped when the estimate refuses them."""

    def settings(self, strategy: Strategy) -> list[Job]:
        """Jobs of a strategy, the fastest first, the leanest last."""
        pinned = self.question.pins.loss
        return [job for job in options(self.question, strategy) if pinned is not None or job.loss in self.losses]

    def leanest(self, strategy: Strategy) -> tuple[list[Job], list[Pair], Estimate]:
        """A strategy's settings, the batches that its leanest plans are accepted with, and their smallest estimate."""
        while True:
            settings = self.settings(strategy)
            try:
                return settings, *self.largest(replace(settings[-1], checkpointing=self.savers[-1]), self.pairs)
            except ZplanError:
                loss = settings[-1].loss
                if self.question.pins.loss is not None or loss is Loss.STANDARD:
                    raise
                self.losses.remove(loss)

    def plan(self, job: Job, pair: Pair) -> Plan:
        """A job with its batch."""
        base, (micro, accum) = self.question.base, pair
        return Plan(model=base.model, cluster=base.cluster, job=replace(job, micro_batch=micro, grad_accum=accum))

    def memory(self, plan: Plan) -> Estimate:
        """Prices a plan."""
        self.priced += 1
        return estimate(plan)

    def states(self, settings: Sequence[Job], least: Estimate) -> dict[float, int]:
        """Bytes that every plan of a strategy holds through the whole step, by the share of its states that is offloaded."""
        found: dict[float, int] = {}
        for job in reversed(settings):
            ratio = job.deepspeed.offload_ratio
            if ratio not in found:
                plan = least.plan
                lean = replace(plan, job=replace(plan.job, deepspeed=job.deepspeed))
                held = least if lean == plan else self.memory(lean)
                found[ratio] = sum(held.steady.get(key, 0) for key in STATES)
        return found

    def hopeful(self, job: Job, pairs: Sequence[Pair], states: Mapping[float, int]) -> list[Pair]:
        """Those micro-batches with which states and what the blocks keep leave the card room for something else."""
        base, engine = self.question.base, job.engine
        capacity, sure = base.cluster.gpu_capacity_bytes, self.accept is fits
        if capacity is None:
            return list(pairs)
        # Blocks keep the same whatever the loss; whole logits have the simplest code.
        code = job_facts(replace(job, loss=Loss.STANDARD)).code
        per_token, once = stored_line(base.model, code, job.seq_len)
        room = most_allocated_bytes(
            engine, base.world_size, capacity, job.stage, sure=sure, outside=outside_of(capacity)
        )
        room -= states[job.deepspeed.offload_ratio] + once
        return [one for one in pairs if per_token * one[0] * job.seq_len <= room]

    def largest(self, job: Job, pairs: Sequence[Pair]) -> tuple[list[Pair], Estimate]:
        """Micro-batches with which a setting is accepted, and its smallest estimate."""
        accepted: list[Pair] = []
        least: Estimate | None = None
        # Accumulating costs memory of its own, so that memory is monotone among the pairs with it and among those
        # without.
        for group in ([p for p in pairs if p[1] > 1], [p for p in pairs if p[1] == 1]):
            if not group:
                continue
            first = self.memory(self.plan(job, group[0]))
            least = first if least is None or _need(first) < _need(least) else least
            if not self.accept(first):
                continue
            low, high = 0, len(group)
            while high - low > 1:
                middle = (low + high) // 2
                good = self.accept(self.memory(self.plan(job, group[middle])))
                low, high = (middle, high) if good else (low, middle)
            accepted += group[: low + 1]
        assert least is not None
        return accepted, least

    def failures(self, failed: _Candidate, pairs: Sequence[Pair]) -> list[tuple[float, ...]]:
        """Sizes of plans that are not accepted either: with the smallest micro-batch, and with the largest offload."""
        job, base = self.plan(failed.job, failed.pair).job, self.question.base

        def first(jobs: Sequence[Job]) -> Job:
            """The first of jobs, the last of which fails, from which on all fail."""
            low, high = -1, len(jobs) - 1
            while high - low > 1:
                middle = (low + high) // 2
                good = self.accept(self.memory(Plan(model=base.model, cluster=base.cluster, job=jobs[middle])))
                low, high = (middle, high) if good else (low, middle)
            return jobs[high]

        smaller = first(
            [
                replace(job, micro_batch=micro, grad_accum=accum)
                for micro, accum in pairs
                if micro <= job.micro_batch and (accum > 1) == (job.grad_accum > 1)
            ]
        )
        found = [(smaller.micro_batch, *failed.size[1:])]
        kept = job.deepspeed
        if job.offload is Offload.OPTIMIZER and kept.offload_ratio < 1:
            ratios = [ratio for ratio in reversed(RATIOS) if ratio >= kept.offload_ratio and ratio < 1]
            fuller = first([replace(job, deepspeed=replace(kept, offload_ratio=ratio)) for ratio in ratios])
            found.append((*failed.size[:-1], -fuller.deepspeed.offload_ratio))
        return found

    def speeds(self, job: Job, pairs: Sequence[Pair]) -> list[float | None]:
        """Tokens per second of a job with each batch."""
        model, cluster, facts, seq = self.question.base.model, self.question.base.cluster, job_facts(job), job.seq_len
        if cluster.gpu is None:
            return [None] * len(pairs)
        return [speed_of(model, cluster, facts, (micro, seq, accum)) for micro, accum in pairs]

    def candidates(
        self,
        strategy: Strategy,
        settings: Sequence[Job],
        saver: Checkpointing,
        pairs: Sequence[Pair],
        states: Mapping[float, int],
    ) -> list[_Candidate]:
        """Plans at one level of checkpointing that may fit, best first."""
        found = []
        speeds: dict[DeepSpeedOptions, list[tuple[Pair, float | None]]] = {}
        for setting in settings:
            job, knobs = replace(setting, checkpointing=saver), setting.deepspeed
            order, lean = Order(self.question.base.model, job, strategy), -place_of(job.loss)
            # Loss kernels take equally long (see work.loss_bytes), so that they share a prediction.
            if knobs not in speeds:
                hopeful = self.hopeful(job, pairs, states)
                speeds[knobs] = list(zip(hopeful, self.speeds(job, hopeful), strict=True))
            groups = knobs.sub_group_size
            rest = (lean, knobs.reduce_bucket_size, bool(knobs.overlap_comm), groups, -knobs.offload_ratio)
            for pair, speed in speeds[knobs]:
                size = (pair[0], min(pair[1], 2), *rest)
                found.append(_Candidate(job, pair, order.rank(pair[0], speed), size))
        return sorted(found, key=_order)


def _order(candidate: _Candidate) -> Rank:
    return candidate.order


def _explore(search: _Search, strategy: Strategy) -> Outcome:
    """Finds the best plan of one strategy."""
    # What does not fit with everything recomputed and the leanest setting does not fit at all.
    settings, leanest, smallest = search.leanest(strategy)
    search.decided += len(settings) * len(search.savers) * len(search.pairs)
    states = search.states(settings, smallest) if leanest else {}
    best: tuple[Rank, Priced] | None = None
    # The most promising level first, so that others need not be looked at.
    for bound, number, hopeful in sorted(_bounds(search, strategy, settings, leanest, states) if leanest else ()):
        saver = search.savers[number]
        if best is not None and bound >= best[0]:
            break
        last = saver == search.savers[-1]
        pairs = hopeful if last else search.largest(replace(settings[-1], checkpointing=saver), hopeful)[0]
        failed: list[tuple[float, ...]] = []
        for candidate in search.candidates(strategy, settings, saver, pairs, states):
            if best is not None and candidate.order >= best[0]:
                break
            if any(all(a >= b for a, b in zip(candidate.size, size, strict=True)) for size in failed):
                continue
            memory = search.memory(search.plan(candidate.job, candidate.pair))
            if search.accept(memory):
                best = (candidate.order, Priced(memory.plan, memory, step_time(memory.plan), strategy))
                break
            failed += search.failures(candidate, pairs)
    if best is not None:
        return Outcome(strategy, best[1], None)
    return Outcome(strategy, None, Priced(smallest.plan, smallest, step_time(smallest.plan), strategy))


def _bounds(
    search: _Search, strategy: Strategy, settings: Sequence[Job], pairs: Sequence[Pair], states: Mapping[float, int]
) -> list[tuple[Rank, int, list[Pair]]]:
    """Ranks that no plan at a level of checkpointing beats: its fastest settings with each batch that may fit.

    Returns:
        For each level the rank, its place among the levels, and the batches that may fit with the leanest setting.
    """
    swift = {job.deepspeed.offload_ratio: job for job in reversed(settings)}
    found = []
    for number, saver in enumerate(search.savers):
        ranks: list[Rank] = []
        for setting in swift.values():
            job = replace(setting, checkpointing=saver)
            hopeful = search.hopeful(job, pairs, states)
            order = Order(search.question.base.model, job, strategy)
            speeds = search.speeds(job, hopeful)
            ranks += [order.rank(one[0], speed) for one, speed in zip(hopeful, speeds, strict=True)]
        if ranks:
            found.append(
                (min(ranks), number, search.hopeful(replace(settings[-1], checkpointing=saver), pairs, states))
            )
    return found


def search(question: Question, only: Sequence[Strategy] | None = None, accept: Accept | None = None) -> SearchResult:
    """Decides all plans that a question leaves open.

    Args:
        question: The plan to start from, what is pinned, and the batch to keep.
        only: Strategies to look at; all that the question allows by default.
        accept: When a plan counts as fitting. By default with its high bound, and where no plan does, by its expected
        value.

    Returns:
        The best plan of each strategy, or the one that comes closest, and how many plans were decided.

    Raises:
        ZplanError: the batch cannot be split, or no strategy can be priced.
    """
    if accept is None:
        sure = search(question, only, fits)
        if sure.best is not None:
            return sure
        likely = search(question, only, at_least_tight)
        priced = sure.plans_priced + likely.plans_priced
        return SearchResult(likely.outcomes, likely.plans_decided, priced)
    run = _Search(question, accept)
    outcomes, errors = [], []
    for strategy in only if only is not None else strategies(question):
        why = refusal(question, strategy)
        if why is None:
            try:
                outcomes.append(_explore(run, strategy))
                continue
            except ZplanError as error:
                errors.append(error)
                why = error.message
        outcomes.append(Outcome(strategy, None, None, refused=why))
    if errors and all(outcome.refused is not None for outcome in outcomes):
        raise errors[0]
    return SearchResult(tuple(outcomes), run.decided, run.priced)
