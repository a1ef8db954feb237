"""Questions turned round: fewest GPUs, longest sequence, largest micro-batch, largest model, lowest cost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from enum import Enum
from typing import NamedTuple

from zplan.advice.outcome import Priced, SearchResult
from zplan.advice.reach import fewest_gpus, gpu_counts, longest_sequence, something_fits
from zplan.advice.search import search
from zplan.advice.space import Question
from zplan.errors import ZplanError
from zplan.spec import ModelSpec


class Goal(str, Enum):
    """What to look for."""

    FASTEST = "fastest"
    MIN_GPUS = "min-gpus"
    MAX_MICRO_BATCH = "max-micro-batch"
    MAX_SEQ = "max-seq"
    LARGEST_MODEL = "largest-model"
    CHEAPEST = "cheapest"


class Target(NamedTuple):
    """A question that a goal was turned into, and the answer in words; None where nothing reaches it."""

    question: Question
    result: SearchResult
    answer: str
    value: float | None
    """The number the goal is about: GPUs, tokens, sequences, parameters, or price per million tokens."""

    @property
    def best(self) -> Priced | None:
        """The plan to run."""
        return self.result.best


def cost_per_million(priced: Priced, price_per_hour: float) -> float | None:
    """Price of training on a million tokens.

    Formula: price per GPU-hour / 3600 / (tokens per second per GPU) * 1e6.
    """
    if priced.time is None:
        return None
    return price_per_hour / 3600 / priced.time.tokens_per_second_per_gpu * 1e6


def aim(
    goal: Goal,
    question: Question,
    *,
    price_per_hour: float | None = None,
    models: Sequence[ModelSpec] = (),
    gpus_given: bool = True,
) -> Target:
    """Answers a goal for one kind of card.

    Args:
        goal: What to look for.
        question: The plan to start from and what is pinned.
        price_per_hour: Of one GPU, for ``cheapest``.
        models: For ``largest-model`` the candidates, smallest first.
        gpus_given: The user named a number of GPUs: an upper limit for ``min-gpus`` and ``cheapest``.

    Returns:
        The question that answers the goal, its search, and the answer in words.
    """
    most = question.base.cluster.gpus if gpus_given else 1024
    if goal is Goal.MIN_GPUS:
        return _fewest(question, most)
    if goal is Goal.MAX_SEQ:
        return _longest(question)
    if goal is Goal.MAX_MICRO_BATCH:
        return _largest_batch(question)
    if goal is Goal.LARGEST_MODEL:
        return _largest_model(question, models)
    if goal is Goal.CHEAPEST:
        if price_per_hour is None:
            raise ZplanError(
                "the cheapest way cannot be told without a price", "give one per GPU-hour: --goal cheapest --price 2.50"
            )
        return _cheapest(question, price_per_hour, most)
    return Target(question, search(question), "", None)


def _fewest(question: Question, most: int) -> Target:
    found = fewest_gpus(question, 0, most)
    if found is None:
        return Target(question, search(question), f"nothing fits on up to {most} GPUs", None)
    gpus, fitting = found
    smaller = replace(question, base=replace(question.base, cluster=fitting.plan.cluster))
    return Target(smaller, search(smaller), f"{_gpus(gpus)} the fewest on which it fits", gpus)


def _longest(question: Question) -> Target:
    model = question.base.model
    length = longest_sequence(question, model.max_seq_len)
    if length is None:
        return Target(question, search(question), "not even 256 tokens fit", None)
    longer = replace(question, base=replace(question.base, job=replace(question.base.job, seq_len=length)))
    limit = ", all that the model was made for" if length == model.max_seq_len else ""
    return Target(longer, search(longer), f"{length:,} tokens is the longest sequence that fits{limit}", length)


def _largest_batch(question: Question) -> Target:
    """Doubles the micro-batch while something fits, then bisects."""

    def pinned(size: int) -> Question:
        return replace(question, pins=replace(question.pins, micro_batch=size), global_batch=None)

    if something_fits(pinned(1)) is None:
        return Target(question, search(question), "not even micro-batch 1 fits", None)
    low, high = 1, 2
    while high <= 2**16 and something_fits(pinned(high)) is not None:
        low, high = high, high * 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if something_fits(pinned(middle)) is not None else (low, middle)
    return Target(pinned(low), search(pinned(low)), f"{low} is the largest micro-batch that fits", low)


def _largest_model(question: Question, models: Sequence[ModelSpec]) -> Target:
    best: ModelSpec | None = None
    for model in models:
        if something_fits(replace(question, base=replace(question.base, model=model))) is not None:
            best = model
    if best is None:
        return Target(question, search(question), "no model of the family fits", None)
    larger = replace(question, base=replace(question.base, model=best))
    words = f"{best.name} ({best.params / 1e9:.3g}B parameters) is the largest of {len(models)} that fits"
    if best is models[-1]:
        words += ", and the largest that was tried"
    return Target(larger, search(larger), words, best.params)


def _cheapest(question: Question, price: float, most: int) -> Target:
    if question.base.cluster.gpu is None:
        raise ZplanError("cost needs speed, and speed needs a card", "name it: --gpu a100-80g")
    best: tuple[float, Question, SearchResult] | None = None
    dearer = 0
    for cluster in gpu_counts(question.base.cluster, 0, most, question.global_batch):
        on = replace(question, base=replace(question.base, cluster=cluster))
        try:
            result = search(on)
        except ZplanError:
            continue  # a global batch that this number of GPUs does not divide
        if result.best is None:
            continue
        cost = cost_per_million(result.best, price)
        if cost is not None and (best is None or cost < best[0]):
            best, dearer = (cost, on, result), 0
        else:
            dearer += 1
        if dearer == 2:
            break  # more GPUs only add communication from here on
    if best is None:
        return Target(question, search(question), f"nothing fits on up to {most} GPUs", None)
    cost, on, result = best
    gpus = on.base.cluster.gpus
    words = f"{_gpus(gpus)} the cheapest: {cost:.3g} per million tokens at {price:g} per GPU-hour"
    return Target(on, result, words, cost)


def _gpus(count: int) -> str:
    return f"{count} GPUs are" if count > 1 else "1 GPU is"
