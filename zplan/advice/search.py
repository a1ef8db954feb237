"""The search: of every strategy the fastest plan that fits, found by pricing as few plans as possible.

Time is cheap to predict, memory less so. Within a strategy plans are therefore taken from the fastest down, and the
first that fits is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from operator import itemgetter

from zplan.advice.outcome import Order, Outcome, Priced, Rank, SearchResult, at_least_tight, fits
from zplan.advice.pricing import Accept, Level, Pair, Pricer, leanest_of
from zplan.advice.space import Question, Strategy, refusal, strategies
from zplan.advice.timing import speeds_of, step_time
from zplan.errors import ZplanError
from zplan.memory.facts import CodeFacts, JobFacts, job_facts, with_loss
from zplan.memory.moments import Estimate
from zplan.spec import Checkpointing, Job, Loss

_Candidate = tuple[Rank, Job, Pair]
"""A plan before it is priced: its rank, the job with any batch and checkpointing, and the batch."""


class _Way:
    """One strategy whose leanest plan is accepted."""

    def __init__(
        self, pricer: Pricer, strategy: Strategy, settings: Sequence[Job], pairs: Sequence[Pair], least: Estimate
    ) -> None:
        """Works out what all its plans share.

        Args:
            pricer: Prices plans.
            strategy: The strategy.
            settings: Its jobs, the fastest first, the leanest last.
            pairs: Batches with which the leanest plans are accepted.
            least: The smallest estimate.
        """
        self._pricer, self._strategy, self._pairs = pricer, strategy, pairs
        self.lean = settings[-1]
        self.leanest = leanest_of(settings)
        self._losses = list(dict.fromkeys(job.loss for job in reversed(settings)))
        """The leanest first."""
        self._groups = [list(same) for _, same in groupby(settings, key=lambda job: job.deepspeed)]
        """Jobs that differ in their loss alone."""
        self._facts = [job_facts(same[0]) for same in self._groups]
        self._rooms = self._left_by(settings, least)
        self._codes: dict[Checkpointing, tuple[JobFacts, dict[Loss, CodeFacts]]] = {}

    def _left_by(self, settings: Sequence[Job], least: Estimate) -> dict[float, int]:
        """What a card has left for the model's code beside what every plan holds through the whole step, by the share offloaded."""
        lean = {job.deepspeed.offload_ratio: job.deepspeed for job in settings}
        plan, room = least.plan, self._pricer.room
        return {ratio: room(replace(plan, job=replace(plan.job, deepspeed=knobs))) for ratio, knobs in lean.items()}

    def codes(self, saver: Checkpointing) -> tuple[JobFacts, dict[Loss, CodeFacts]]:
        """Facts of a job with some checkpointing, and which code runs with each loss, the leanest first."""
        known = self._codes.get(saver)
        if known is None:
            facts = job_facts(replace(self.lean, checkpointing=saver))
            known = self._codes[saver] = facts, {loss: with_loss(facts.code, loss) for loss in self._losses}
        return known

    def _speeds(self, code: JobFacts, way: JobFacts, pairs: Sequence[Pair]) -> list[float | None]:
        """Tokens per second with each batch. Loss kernels take equally long (see work.loss_bytes): they share a prediction."""
        base = self._pricer.question.base
        batches = [(micro, base.job.seq_len, accum) for micro, accum in pairs]
        return speeds_of(base.model, base.cluster, code, way, batches)

    def bounds(self) -> list[tuple[Rank, int, list[Pair]]]:
        """Ranks that no plan at a level of checkpointing beats: its fastest settings with each batch that may fit.

        Returns:
            For each level, best first, the rank, its place among the levels, and the batches that may fit with the leanest setting.
        """
        swift = {same[0].deepspeed.offload_ratio: number for number, same in reversed(list(enumerate(self._groups)))}
        model, found = self._pricer.question.base.model, []
        for number, saver in enumerate(self._pricer.savers):
            facts, codes = self.codes(saver)
            ranks: list[Rank] = []
            for ratio, group in swift.items():
                pairs = self._pricer.hopeful(codes.values(), self._pairs, self._rooms[ratio])
                order = Order(model, self._groups[group][0], saver, self._strategy)
                speeds = self._speeds(facts, self._facts[group], pairs)
                ranks += [order.rank(one[0], speed) for one, speed in zip(pairs, speeds, strict=True)]
            if ranks:
                room = self._rooms[self.lean.deepspeed.offload_ratio]
                may_fit = self._pricer.hopeful([codes[self.lean.loss]], self._pairs, room)
                found.append((min(ranks), number, may_fit))
        return sorted(found)

    def candidates(self, saver: Checkpointing, pairs: Sequence[Pair]) -> list[_Candidate]:
        """Plans at one level of checkpointing that may fit, best first."""
        model, found = self._pricer.question.base.model, list[_Candidate]()
        facts, codes = self.codes(saver)
        hopeful: dict[tuple[Loss, float], list[Pair]] = {}
        for group, way in zip(self._groups, self._facts, strict=True):
            ratio = group[0].deepspeed.offload_ratio
            for job in group:
                if (job.loss, ratio) not in hopeful:
                    room = self._rooms[ratio]
                    hopeful[job.loss, ratio] = self._pricer.hopeful([codes[job.loss]], pairs, room)
            longest = max((hopeful[job.loss, ratio] for job in group), key=len)
            speeds = dict(zip(longest, self._speeds(facts, way, longest), strict=True))
            for job in group:
                order = Order(model, job, saver, self._strategy)
                found += [(order.rank(pair[0], speeds[pair]), job, pair) for pair in hopeful[job.loss, ratio]]
        return sorted(found, key=itemgetter(0))


def _explore(pricer: Pricer, strategy: Strategy) -> Outcome:
    """Finds the best plan of one strategy."""
    # What does not fit with everything recomputed and the leanest setting does not fit at all.
    settings, leanest, smallest = pricer.leanest(strategy)
    pricer.decided += len(settings) * len(pricer.savers) * len(pricer.pairs)
    best = _best(_Way(pricer, strategy, settings, leanest, smallest), pricer) if leanest else None
    if best is not None:
        return Outcome(strategy, Priced(best.plan, best, step_time(best.plan), strategy), None)
    return Outcome(strategy, None, Priced(smallest.plan, smallest, step_time(smallest.plan), strategy))


def _best(way: _Way, pricer: Pricer) -> Estimate | None:
    """The best plan of one strategy that is accepted."""
    best: tuple[Rank, Estimate] | None = None
    # The most promising level first, so that others need not be looked at.
    for bound, number, may_fit in way.bounds():
        saver = pricer.savers[number]
        if best is not None and bound >= best[0]:
            break
        last = saver == pricer.savers[-1]
        pairs = may_fit if last else pricer.accepted(way.leanest, saver, may_fit)[0]
        level = Level(pricer, pairs, way.codes(saver)[1])
        for rank, setting, pair in way.candidates(saver, pairs):
            if best is not None and rank >= best[0]:
                break
            if level.fails(setting, pair):
                continue
            memory = level.decide(replace(setting, checkpointing=saver), pair)
            if memory is not None:
                best = rank, memory
                break
    return None if best is None else best[1]


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
    pricer = Pricer(question, accept)
    outcomes, errors = [], []
    for strategy in only if only is not None else strategies(question):
        why = refusal(question, strategy)
        if why is None:
            try:
                outcomes.append(_explore(pricer, strategy))
                continue
            except ZplanError as error:
                errors.append(error)
                why = error.message
        outcomes.append(Outcome(strategy, None, None, refused=why))
    if errors and all(outcome.refused is not None for outcome in outcomes):
        raise errors[0]
    return SearchResult(tuple(outcomes), pricer.decided, pricer.priced)
