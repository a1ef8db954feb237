"""The search: of every strategy the fastest plan that fits, found by pricing as few plans as possible.

Time is cheap to predict, memory less so. Within a strategy plans are therefore taken from the fastest down, and the
first that fits is the answer. Memory grows with the micro-batch, and shrinks with recomputation, with a leaner loss
kernel, with smaller buckets and with more offload: a plan that needs more than one that did not fit is decided without
being priced.
"""

from __future__ import annotations

import sys
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
from zplan.advice.timing import speeds_of, step_time
from zplan.errors import ZplanError
from zplan.memory.estimate import estimate, held_bytes
from zplan.memory.facts import CodeFacts, job_facts, with_loss
from zplan.memory.moments import Estimate
from zplan.memory.runtime import most_allocated_bytes
from zplan.memory.shapes import code_bytes
from zplan.spec import Checkpointing, DeepSpeedOptions, Job, Loss, Offload, Plan

Pair = tuple[int, int]
"""Micro-batch and accumulation."""
Size = tuple[float, ...]
"""Grows, side by side, with everything that memory grows with."""
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
    size: Size


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
        self._needs: dict[tuple[CodeFacts, int], int] = {}

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

    def rooms(self, settings: Sequence[Job], least: Estimate) -> dict[float, int]:
        """What a card has left for the model's code beside what every plan of a strategy holds through the whole step.

        Args:
            settings: Of the strategy.
            least: Its smallest estimate.

        Returns:
            Bytes, by the share of the optimizer states that is offloaded.
        """
        lean = {job.deepspeed.offload_ratio: job.deepspeed for job in settings}
        plan, sure = least.plan, self.accept is fits
        capacity = plan.cluster.gpu_capacity_bytes
        if capacity is None:
            return dict.fromkeys(lean, sys.maxsize)
        most = most_allocated_bytes(plan.job.engine, plan.world_size, capacity, plan.job.stage, sure=sure)
        return {
            ratio: most - held_bytes(replace(plan, job=replace(plan.job, deepspeed=knobs)))
            for ratio, knobs in lean.items()
        }

    def need(self, code: CodeFacts, micro_batch: int) -> int:
        """Bytes that the model's code needs in backward, whatever the engine holds beside it."""
        known = self._needs.get((code, micro_batch))
        if known is None:
            base = self.question.base
            known = code_bytes(base.model, code, micro_batch, base.job.seq_len)
            self._needs[code, micro_batch] = known
        return known

    def hopeful(self, codes: Sequence[CodeFacts], pairs: Sequence[Pair], room: int) -> list[Pair]:
        """Those batches with which one of some losses may fit, whatever the engine holds beside it from time to time."""
        low, high = 0, len(pairs)
        while high > low:
            middle = (low + high) // 2
            good = any(self.need(code, pairs[middle][0]) <= room for code in codes)
            low, high = (middle + 1, high) if good else (low, middle)
        return list(pairs[:low])

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

    def speeds(self, job: Job, pairs: Sequence[Pair]) -> list[float | None]:
        """Tokens per second of a job with each batch."""
        model, cluster, facts, seq = self.question.base.model, self.question.base.cluster, job_facts(job), job.seq_len
        return speeds_of(model, cluster, facts, [(micro, seq, accum) for micro, accum in pairs])

    def candidates(
        self,
        strategy: Strategy,
        settings: Sequence[Job],
        saver: Checkpointing,
        pairs: Sequence[Pair],
        rooms: Mapping[float, int],
    ) -> list[_Candidate]:
        """Plans at one level of checkpointing that may fit, best first."""
        found = []
        codes = codes_of(settings, saver)
        hopeful: dict[tuple[Loss, float], list[Pair]] = {}
        speeds: dict[DeepSpeedOptions, dict[Pair, float | None]] = {}
        for setting in settings:
            key, knobs = (setting.loss, setting.deepspeed.offload_ratio), setting.deepspeed
            if key not in hopeful:
                hopeful[key] = self.hopeful([codes[setting.loss]], pairs, rooms[key[1]])
            if not hopeful[key]:
                continue
            job = replace(setting, checkpointing=saver)
            order = Order(self.question.base.model, job, strategy)
            # Loss kernels take equally long (see work.loss_bytes), so that they share a prediction.
            known = speeds.setdefault(knobs, {})
            missing = [pair for pair in hopeful[key] if pair not in known]
            known.update(zip(missing, self.speeds(job, missing), strict=True))
            found += [_Candidate(job, one, order.rank(one[0], known[one]), _size(job, one)) for one in hopeful[key]]
        return sorted(found, key=_order)


def codes_of(settings: Sequence[Job], saver: Checkpointing) -> dict[Loss, CodeFacts]:
    """Which code runs with each loss of a strategy's settings, the leanest first."""
    code = job_facts(replace(settings[0], checkpointing=saver)).code
    return {loss: with_loss(code, loss) for loss in dict.fromkeys(job.loss for job in reversed(settings))}


def _order(candidate: _Candidate) -> Rank:
    return candidate.order


def _size(job: Job, pair: Pair) -> Size:
    knobs = job.deepspeed
    buckets = (knobs.reduce_bucket_size, bool(knobs.overlap_comm), knobs.sub_group_size)
    return (pair[0], min(pair[1], 2), -place_of(job.loss), *buckets, -knobs.offload_ratio)


def _reaches(size: Size, other: Size) -> bool:
    """Whether a plan needs no less than another, because nothing that memory grows with is less."""
    return all(a >= b for a, b in zip(size, other, strict=True))


class _Level:
    """Plans of a strategy at one level of checkpointing: what is known of them."""

    def __init__(self, search: _Search, pairs: Sequence[Pair], codes: Mapping[Loss, CodeFacts]) -> None:
        """Nothing yet.

        Args:
            search: Prices them.
            pairs: Batches that the leanest setting is accepted with.
            codes: Which code runs with each loss, the leanest first.
        """
        self._search, self._pairs, self._codes = search, pairs, codes
        self._accepted: list[Size] = []
        self._failed: list[Size] = []

    def fails(self, size: Size) -> bool:
        """Whether a plan needs no less than one that was not accepted."""
        return any(_reaches(size, other) for other in self._failed)

    def decide(self, job: Job, pair: Pair) -> Estimate | None:
        """The estimate of a plan that is accepted, None otherwise: then others are decided with it."""
        lean = next(iter(self._codes))
        if self._is_leaner(lean, job, pair):
            # What the leanest loss rules out needs no look with another, and losses that share it are ruled out at once.
            leaner = replace(job, loss=lean)
            if not self._accepts(leaner, pair):
                self._learn(leaner, pair)
                return None
        memory = self._price(job, pair)
        if memory is None:
            self._learn(job, pair)
        return memory

    def _is_leaner(self, loss: Loss, job: Job, pair: Pair) -> bool:
        """Whether the model's code needs less with another loss than with a job's; it depends on the vocabulary, too."""
        if loss is job.loss:
            return False
        need = self._search.need
        return need(self._codes[loss], pair[0]) <= need(self._codes[job.loss], pair[0])

    def _price(self, job: Job, pair: Pair) -> Estimate | None:
        """The estimate of a plan that is accepted, None otherwise."""
        memory = self._search.memory(self._search.plan(job, pair))
        size = _size(job, pair)
        if self._search.accept(memory):
            self._accepted.append(size)
            return memory
        self._failed.append(size)
        return None

    def _learn(self, job: Job, pair: Pair) -> None:
        """Finds what else is not accepted, from a plan that is not: with the smallest micro-batch, and with the largest offload."""
        smaller = [one for one in self._pairs if one[0] <= pair[0] and (one[1] > 1) == (pair[1] > 1)]
        self._first([(job, one) for one in smaller])
        kept = job.deepspeed
        if job.offload is Offload.OPTIMIZER and kept.offload_ratio < 1:
            ratios = [ratio for ratio in reversed(RATIOS) if kept.offload_ratio <= ratio < 1]
            self._first([(replace(job, deepspeed=replace(kept, offload_ratio=ratio)), pair) for ratio in ratios])

    def _first(self, plans: Sequence[tuple[Job, Pair]]) -> None:
        """Looks for the first of some plans, the last of which is not accepted, from which on none is."""
        low, high = -1, len(plans) - 1
        while high - low > 1:
            middle = (low + high) // 2
            good = self._accepts(*plans[middle])
            low, high = (middle, high) if good else (low, middle)

    def _accepts(self, job: Job, pair: Pair) -> bool:
        size = _size(job, pair)
        if self.fails(size):
            return False
        return any(_reaches(other, size) for other in self._accepted) or self._price(job, pair) is not None


def _explore(search: _Search, strategy: Strategy) -> Outcome:
    """Finds the best plan of one strategy."""
    # What does not fit with everything recomputed and the leanest setting does not fit at all.
    settings, leanest, smallest = search.leanest(strategy)
    search.decided += len(settings) * len(search.savers) * len(search.pairs)
    rooms = search.rooms(settings, smallest) if leanest else {}
    best: tuple[Rank, Priced] | None = None
    # The most promising level first, so that others need not be looked at.
    for bound, number, hopeful in sorted(_bounds(search, strategy, settings, leanest, rooms) if leanest else ()):
        saver = search.savers[number]
        if best is not None and bound >= best[0]:
            break
        last = saver == search.savers[-1]
        pairs = hopeful if last else search.largest(replace(settings[-1], checkpointing=saver), hopeful)[0]
        level = _Level(search, pairs, codes_of(settings, saver))
        for candidate in search.candidates(strategy, settings, saver, pairs, rooms):
            if best is not None and candidate.order >= best[0]:
                break
            if level.fails(candidate.size):
                continue
            memory = level.decide(candidate.job, candidate.pair)
            if memory is not None:
                best = (candidate.order, Priced(memory.plan, memory, step_time(memory.plan), strategy))
                break
    if best is not None:
        return Outcome(strategy, best[1], None)
    return Outcome(strategy, None, Priced(smallest.plan, smallest, step_time(smallest.plan), strategy))


def _bounds(
    search: _Search, strategy: Strategy, settings: Sequence[Job], pairs: Sequence[Pair], rooms: Mapping[float, int]
) -> list[tuple[Rank, int, list[Pair]]]:
    """Ranks that no plan at a level of checkpointing beats: its fastest settings with each batch that may fit.

    Returns:
        For each level the rank, its place among the levels, and the batches that may fit with the leanest setting.
    """
    swift = {job.deepspeed.offload_ratio: job for job in reversed(settings)}
    found = []
    for number, saver in enumerate(search.savers):
        codes = codes_of(settings, saver)
        ranks: list[Rank] = []
        for ratio, setting in swift.items():
            hopeful = search.hopeful(list(codes.values()), pairs, rooms[ratio])
            if not hopeful:
                continue
            job = replace(setting, checkpointing=saver)
            order = Order(search.question.base.model, job, strategy)
            speeds = search.speeds(job, hopeful)
            ranks += [order.rank(one[0], speed) for one, speed in zip(hopeful, speeds, strict=True)]
        if ranks:
            lean = settings[-1]
            may_fit = search.hopeful([codes[lean.loss]], pairs, rooms[lean.deepspeed.offload_ratio])
            found.append((min(ranks), number, may_fit))
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
