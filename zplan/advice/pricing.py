"""Prices plans of one question: as few as it takes to know which are accepted.

Memory grows with the micro-batch, and shrinks with recomputation, with a leaner loss kernel, with smaller buckets and with more
offload: a plan that needs more than one that did not fit is decided without being priced. So is one for which what its engine
holds through the whole step, and what the model's code needs beside it, is too much already.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from zplan.advice.outcome import fits
from zplan.advice.space import LOSSES, RATIOS, Question, Strategy, checkpointings, micro_batches, options, place_of
from zplan.errors import ZplanError
from zplan.memory.estimate import estimate, held_bytes
from zplan.memory.facts import CodeFacts, job_facts
from zplan.memory.moments import Estimate
from zplan.memory.runtime import most_allocated_bytes, outside_of
from zplan.memory.shapes import code_bytes
from zplan.spec import Checkpointing, Job, Loss, Offload, Plan

Pair = tuple[int, int]
"""Micro-batch and accumulation."""
Accept = Callable[[Estimate], bool]
_Size = tuple[float, ...]
"""Grows, side by side, with everything that memory grows with."""


def need_of(memory: Estimate) -> tuple[bool, int]:
    """What to compare plans by that don't fit: out of host RAM is worse than any need for GPU memory."""
    return (memory.host.verdict == "oom", memory.runtime.device_high_bytes)


class Pricer:
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
                return settings, *self.accepted(leanest_of(settings), self.savers[-1], self.pairs)
            except ZplanError:
                loss = settings[-1].loss
                if self.question.pins.loss is not None or loss is Loss.STANDARD:
                    raise
                self.losses.remove(loss)

    def accepted(self, ways: Sequence[Job], saver: Checkpointing, pairs: Sequence[Pair]) -> tuple[list[Pair], Estimate]:
        """Batches with which any of some jobs is accepted at a level of checkpointing, and their smallest estimate."""
        found: set[Pair] = set()
        smallest: Estimate | None = None
        for job in ways:
            left = [pair for pair in pairs if pair not in found]
            if smallest is not None:
                code = job_facts(replace(job, checkpointing=saver)).code
                # The smallest buckets leave most room; what larger ones leave takes a replay of their own.
                for one in (ways[0], job):
                    left = left and self.hopeful([code], left, self.room(replace(smallest.plan, job=one)))
            if not left:
                continue
            good, least = self.largest(replace(job, checkpointing=saver), left)
            found.update(good)
            smallest = least if smallest is None or need_of(least) < need_of(smallest) else smallest
        assert smallest is not None
        return [pair for pair in pairs if pair in found], smallest

    def plan(self, job: Job, pair: Pair) -> Plan:
        """A job with its batch."""
        base, (micro, accum) = self.question.base, pair
        return Plan(model=base.model, cluster=base.cluster, job=replace(job, micro_batch=micro, grad_accum=accum))

    def memory(self, plan: Plan) -> Estimate:
        """Prices a plan."""
        self.priced += 1
        return estimate(plan)

    def need(self, code: CodeFacts, micro_batch: int) -> int:
        """Bytes that the model's code needs in backward, whatever the engine holds beside it."""
        known = self._needs.get((code, micro_batch))
        if known is None:
            base = self.question.base
            known = code_bytes(base.model, code, micro_batch, base.job.seq_len)
            self._needs[code, micro_batch] = known
        return known

    def room(self, plan: Plan) -> int:
        """What a card has left at most for the model's code beside what a plan holds through the whole step, whatever its batch.

        Gradients that wait for a step are held too: as few of them as any batch leaves.
        """
        plan = replace(plan, job=replace(plan.job, grad_accum=min(accum for _, accum in self.pairs)))
        job, capacity = plan.job, plan.cluster.gpu_capacity_bytes
        if capacity is None:
            return sys.maxsize
        outside, sure = outside_of(capacity), self.accept is fits
        most = most_allocated_bytes(job.engine, plan.world_size, capacity, job.stage, sure=sure, outside=outside)
        return most - held_bytes(plan)

    def hopeful(self, codes: Iterable[CodeFacts], pairs: Sequence[Pair], room: int) -> list[Pair]:
        """Those batches with which what one of some codes needs is not more than there is room for."""
        codes = list(codes)
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
            least = first if least is None or need_of(first) < need_of(least) else least
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


def _buckets(job: Job) -> tuple[int, bool, int]:
    """Knobs in which memory is not monotone: a tensor larger than a bucket is reduced from where it lies."""
    knobs = job.deepspeed
    return knobs.reduce_bucket_size, bool(knobs.overlap_comm), knobs.sub_group_size


def leanest_of(settings: Sequence[Job]) -> list[Job]:
    """Of all jobs with the same buckets the leanest one, which comes last; most often the first needs least."""
    return list(reversed({_buckets(job): job for job in settings}.values()))


def _size(job: Job, pair: Pair) -> _Size:
    buckets = _buckets(job)
    apart = (*buckets, *(-size for size in buckets))  # no less of any and no more of any: the same
    return (pair[0], min(pair[1], 2), -place_of(job.loss), *apart, -job.deepspeed.offload_ratio)


def _reaches(size: _Size, other: _Size) -> bool:
    """Whether a plan needs no less than another, because nothing that memory grows with is less."""
    return all(a >= b for a, b in zip(size, other, strict=True))


class Level:
    """Plans of a strategy at one level of checkpointing: what is known of them."""

    def __init__(self, pricer: Pricer, pairs: Sequence[Pair], codes: Mapping[Loss, CodeFacts]) -> None:
        """Nothing yet.

        Args:
            pricer: Prices them.
            pairs: Batches that the leanest setting is accepted with.
            codes: Which code runs with each loss, the leanest first.
        """
        self._pricer, self._pairs, self._codes = pricer, pairs, codes
        self._accepted: list[_Size] = []
        self._failed: list[_Size] = []

    def fails(self, job: Job, pair: Pair) -> bool:
        """Whether a plan needs no less than one that was not accepted."""
        return self._known_to_fail(_size(job, pair))

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
        need = self._pricer.need
        return need(self._codes[loss], pair[0]) <= need(self._codes[job.loss], pair[0])

    def _price(self, job: Job, pair: Pair) -> Estimate | None:
        """The estimate of a plan that is accepted, None otherwise."""
        memory = self._pricer.memory(self._pricer.plan(job, pair))
        size = _size(job, pair)
        if self._pricer.accept(memory):
            self._accepted.append(size)
            return memory
        self._failed.append(size)
        return None

    def _learn(self, job: Job, pair: Pair) -> None:
        """Finds what else is not accepted, from a plan that is not: with the smallest micro-batch, and with the largest offload."""
        smaller = [one for one in self._pairs if one[0] <= pair[0] and (one[1] > 1) == (pair[1] > 1)]
        self._look_for_first([(job, one) for one in smaller])
        kept = job.deepspeed
        if job.offload is Offload.OPTIMIZER and kept.offload_ratio < 1:
            ratios = [ratio for ratio in reversed(RATIOS) if kept.offload_ratio <= ratio < 1]
            fuller = [replace(job, deepspeed=replace(kept, offload_ratio=ratio)) for ratio in ratios]
            self._look_for_first([(one, pair) for one in fuller])

    def _look_for_first(self, plans: Sequence[tuple[Job, Pair]]) -> None:
        """Looks for the first of some plans, the last of which is not accepted, from which on none is."""
        low, high = -1, len(plans) - 1
        while high - low > 1:
            middle = (low + high) // 2
            good = self._accepts(*plans[middle])
            low, high = (middle, high) if good else (low, middle)

    def _accepts(self, job: Job, pair: Pair) -> bool:
        size = _size(job, pair)
        if self._known_to_fail(size):
            return False
        return any(_reaches(other, size) for other in self._accepted) or self._price(job, pair) is not None

    def _known_to_fail(self, size: _Size) -> bool:
        return any(_reaches(size, other) for other in self._failed)
