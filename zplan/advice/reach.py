"""How far a question reaches: whether anything fits, on how few GPUs, with how long a sequence."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from zplan.advice.outcome import Priced, fits
from zplan.advice.pricing import leanest_of, need_of
from zplan.advice.space import (
    LOSSES,
    Question,
    Strategy,
    checkpointings,
    micro_batches,
    options,
    refusal,
    strategies,
)
from zplan.advice.timing import step_time
from zplan.errors import ZplanError
from zplan.memory.estimate import estimate
from zplan.spec import Checkpointing, ClusterSpec, Job

SEQ_STEP = 256
MOST_GPUS = 8192


def more_gpus(cluster: ClusterSpec, gpus: int) -> ClusterSpec | None:
    """The same machines with another number of GPUs in all, None when that makes no whole nodes."""
    size = _node_size(cluster)
    if gpus <= size:
        return replace(cluster, gpus=gpus, nodes=1)
    if gpus % size:
        return None
    return replace(cluster, gpus=gpus, nodes=gpus // size)


def _node_size(cluster: ClusterSpec) -> int:
    return cluster.node.gpus_per_node if cluster.node is not None else max(8, cluster.gpus_per_node)


def leanest(question: Question) -> list[Priced]:
    """Of each strategy the plan that needs least: smallest batch, most recomputation, leanest loss and buckets."""
    found = []
    pair = micro_batches(question)[0]
    for strategy in strategies(question):
        if refusal(question, strategy) is not None:
            continue
        saver = checkpointings(question)[-1]
        ways = leanest_of(list(options(question, strategy)))
        priced = [one for one in (_priced(question, job, saver, pair, strategy) for job in ways) if one is not None]
        if priced:
            found.append(min(priced, key=lambda one: need_of(one.memory)))
    return found


def _priced(
    question: Question, lean: Job, saver: Checkpointing, pair: tuple[int, int], strategy: Strategy
) -> Priced | None:
    """A setting with its leanest loss that can be priced; None where there is no table of any, or of its format."""
    known = {lean.loss: None} if question.pins.loss is not None else dict.fromkeys(reversed(LOSSES))
    for loss in known:
        job = replace(lean, loss=loss, checkpointing=saver, micro_batch=pair[0], grad_accum=pair[1])
        plan = replace(question.base, job=job)
        try:
            return Priced(plan, estimate(plan), step_time(plan), strategy)
        except ZplanError:
            continue
    return None


def something_fits(question: Question) -> Priced | None:
    """The mildest strategy's leanest plan that fits with its high bound; None where nothing does."""
    fitting = [one for one in leanest_or_none(question) if fits(one.memory)]
    return min(fitting, key=lambda one: one.strategy.ladder) if fitting else None


def leanest_or_none(question: Question) -> list[Priced]:
    """The same; nothing where the batch cannot be split."""
    try:
        return leanest(question)
    except ZplanError:
        return []


def gpu_counts(
    cluster: ClusterSpec, above: int = 0, most: int = MOST_GPUS, batch: int | None = None
) -> Iterator[ClusterSpec]:
    """Clusters of the same machines with more than ``above`` GPUs and at most ``most``, smallest first.

    1, 2, 4, ... within a node, whole nodes by doubling, and ``most`` itself. Where a global batch has to be split evenly: every
    count that divides it.
    """
    size = _node_size(cluster)
    counts = {2**power for power in range(size.bit_length()) if 2**power < size}
    nodes = 1
    while nodes * size <= most:
        counts.add(nodes * size)
        nodes *= 2
    counts.add(most)
    if batch is not None:
        counts = {count for count in range(1, min(batch, most) + 1) if batch % count == 0}
    for gpus in sorted(count for count in counts if above < count <= most):
        larger = more_gpus(cluster, gpus)
        if larger is not None:
            yield larger


def fewest_gpus(question: Question, above: int = 0, most: int = MOST_GPUS) -> tuple[int, Priced] | None:
    """The smallest number of GPUs on which something fits.

    Tries what ``gpu_counts`` yields, then what lies between the last two: each count within one node, whole nodes beyond.

    Returns:
        The number and a plan that fits, None when nothing fits on ``most``.
    """
    last = above
    for cluster in gpu_counts(question.base.cluster, above, most, question.global_batch):
        fitting = something_fits(_on(question, cluster))
        if fitting is not None:
            return _between(question, last, cluster, fitting)
        last = cluster.gpus
    return None


def _between(question: Question, last: int, cluster: ClusterSpec, fitting: Priced) -> tuple[int, Priced]:
    """The smallest number above ``last``, on which nothing fits, up to a cluster on which something does."""
    if question.global_batch is not None:
        return cluster.gpus, fitting  # every count that divides it was tried
    if cluster.nodes == 1:
        for gpus in range(last + 1, cluster.gpus):
            fewer = more_gpus(cluster, gpus)
            found = None if fewer is None else something_fits(_on(question, fewer))
            if found is not None:
                return gpus, found
    size = cluster.gpus_per_node
    low, high, answer = last, cluster.gpus, fitting
    while cluster.nodes > 1 and high - low > size:
        middle = (low + high) // 2 // size * size
        between = more_gpus(cluster, middle)
        found = None if between is None or middle <= low else something_fits(_on(question, between))
        if middle <= low:
            break
        low, high, answer = (low, middle, found) if found is not None else (middle, high, answer)
    return high, answer


def _on(question: Question, cluster: ClusterSpec) -> Question:
    return replace(question, base=replace(question.base, cluster=cluster))


def longest_sequence(question: Question, most: int) -> int | None:
    """The longest sequence, in steps of 256 tokens and at most ``most``, with which something fits; None below 256."""

    def good(length: int) -> bool:
        job = replace(question.base.job, seq_len=length)
        return something_fits(replace(question, base=replace(question.base, job=job))) is not None

    low, high = 0, most // SEQ_STEP
    if high and good(high * SEQ_STEP):
        return most if high * SEQ_STEP == most or good(most) else high * SEQ_STEP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle * SEQ_STEP) else (low, middle)
    return low * SEQ_STEP or None
