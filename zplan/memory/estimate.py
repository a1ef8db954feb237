"""estimate(plan) -> Estimate: the predicted memory of one plan."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import NamedTuple

from zplan.memory.elastic import init_is_too_large, init_through_host, paged_on_rank, with_spilled
from zplan.memory.engines.base import EngineMemory
from zplan.memory.engines.zero12_reduce import worst_rank
from zplan.memory.facts import JobFacts, job_facts
from zplan.memory.host import host_memory
from zplan.memory.moments import Estimate, HostMemory, ModelStates, Moment, Moments, Runtime, TermKey
from zplan.memory.params import layout
from zplan.memory.peaks import pass_moments, peak_moment, with_inputs
from zplan.memory.runtime import outside_of, runtime
from zplan.memory.shapes import BatchShape, batch_shape
from zplan.memory.stack import engine_side
from zplan.memory.states import model_states
from zplan.memory.timeline import Pass
from zplan.memory.verdict import because, judge, peak_phase
from zplan.spec import ClusterSpec, Engine, ModelSpec, Plan


class _Side(NamedTuple):
    """What no batch shape changes."""

    memory: EngineMemory
    states: ModelStates
    others: tuple[tuple[int, EngineMemory], ...]
    """Ranks that may hold more."""


@lru_cache(maxsize=8192)
def _side(model: ModelSpec, facts: JobFacts, ranks: int, rank: int) -> _Side:
    groups, job = layout(model, facts.job.lora), facts.job
    states = model_states(
        groups.total + groups.adapters, groups.trainable, facts.states, facts.optimizer, job.stage, ranks
    )
    others = tuple(
        (other, engine_side(model, facts, ranks, other))
        for other in _other_ranks(model, facts, ranks, rank)
        if other != rank
    )
    return _Side(engine_side(model, facts, ranks, rank), states, others)


def _other_ranks(model: ModelSpec, facts: JobFacts, ranks: int, rank: int) -> tuple[int, ...]:
    """Ranks that may hold more than others: the last one, whose gradients come first, and the one that touches most of them.

    Rank 0 where another is asked for: its shard is the largest (FSDP), and it may hold more than these.
    """
    job, first = facts.job, (0,) if rank else ()
    if job.engine is Engine.DEEPSPEED and job.stage in (1, 2) and ranks > 1:
        return tuple({worst_rank(layout(model, job.lora), ranks), ranks - 1, *first})
    return first


def _later_peak(memory: EngineMemory, shape: BatchShape) -> int:
    """Peak of what differs between ranks of stages 1 and 2: backward and step, and forward beside accumulated gradients."""
    inputs = shape.inputs_bytes
    peak = memory.largest_step.total_bytes + inputs
    for run in memory.passes:
        if TermKey.GRADS in run.base:
            peak = max(peak, run.base_bytes + shape.peak(run.forward, True))
        backward = run.base_bytes + shape.peak(run.backward, False)
        own = run.largest_backward
        if own is not None and own.total_bytes + inputs > backward:
            backward = own.total_bytes + inputs
        peak = max(peak, backward)
    return peak


def _moments(memory: EngineMemory, shape: BatchShape) -> list[Moment]:
    stack, moments = shape.make_stack(), list(memory.init)
    for micro_step in memory.passes:
        moments += pass_moments(micro_step, stack)
    moments += [with_inputs(moment, stack.inputs_bytes) for moment in memory.step]
    return moments


def _phases(memory: EngineMemory, shape: BatchShape) -> tuple[dict[str, int], Moment]:
    """Peak of each phase, and the largest moment of the step (the first of them)."""
    inputs = shape.inputs_bytes
    forward = backward = peak = 0
    largest: tuple[Pass, bool, int] | Moment | None = None
    for run in memory.passes:
        base = run.base_bytes
        total = base + shape.peak(run.forward, True)
        if total > forward:
            forward = total
            if total > peak:
                peak, largest = total, (run, True, total - base)
        own = run.largest_forward
        if own is not None and own.total_bytes + inputs > forward:
            forward = own.total_bytes + inputs
            if forward > peak:
                peak, largest = forward, own
        total = base + shape.peak(run.backward, False)
        if total > backward:
            backward = total
            if total > peak:
                peak, largest = total, (run, False, total - base)
        own = run.largest_backward
        if own is not None and own.total_bytes + inputs > backward:
            backward = own.total_bytes + inputs
            if backward > peak:
                peak, largest = backward, own
    step = memory.largest_step.total_bytes + inputs
    phases = {"init": memory.init_bytes, "forward": forward, "backward": backward, "step": step}
    if largest is None or step > peak:
        largest = memory.largest_step
    if isinstance(largest, Moment):
        return phases, with_inputs(largest, inputs)
    run, is_forward, beyond = largest
    return phases, peak_moment(run, shape.make_stack, is_forward, beyond)


def held_bytes(plan: Plan, facts: JobFacts | None = None) -> int:
    """Returns what a rank's engine holds through the whole of a micro-step, whatever the batch is; no plan has a lower peak."""
    side = _side(plan.model, facts or job_facts(plan.job), plan.cluster.gpus, plan.job.rank)
    return max(run.base_bytes for run in side.memory.passes)


def _why(
    cluster: ClusterSpec, init_bytes: int, worst_bytes: int, phase: str, run: Runtime, host: HostMemory
) -> str | None:
    return because(cluster, peak_phase(init_bytes, worst_bytes, phase), run, host)


def estimate(plan: Plan, facts: JobFacts | None = None) -> Estimate:
    """Predicts the memory of one plan.

    Args:
        plan: Model, cluster and job; checked for consistency by whoever built it.
        facts: Of its job, where the caller has them.

    Returns:
        The moments, phases, steady state, host memory, device totals and verdict, all in bytes.

    Raises:
        ZplanError: There is no activation table for the model's code.
    """
    model, job, cluster = plan.model, plan.job, plan.cluster
    ranks = cluster.gpus
    facts = facts or job_facts(job)
    shape = batch_shape(model, facts.code, job.micro_batch, job.seq_len)
    side = _side(model, facts, ranks, job.rank)
    memory = side.memory
    outside = outside_of(cluster.gpu_capacity_bytes)
    if init_is_too_large(job, ranks, memory.init_bytes, cluster.gpu_capacity_bytes, outside):
        memory = init_through_host(memory)
    phases, peak = _phases(memory, shape)
    worst, worst_bytes = job.rank, peak.total_bytes
    for other, others in side.others:
        other_bytes = _phases(others, shape)[1].total_bytes if job.rank else _later_peak(others, shape)
        if other_bytes > worst_bytes:
            worst, worst_bytes = other, other_bytes
    init_bytes = phases["init"]
    paged = paged_on_rank(model, facts, ranks) if facts.optimizer.paged else 0
    run = runtime(
        job.engine,
        ranks,
        max(worst_bytes, init_bytes),
        cluster.gpu_capacity_bytes,
        stage=job.stage,
        outside=outside,
        scratch_bytes=shape.scratch_bytes,
        paged_bytes=paged,
    )
    host = host_memory(with_spilled(memory.host, paged, run), cluster)
    verdict = judge(cluster, run, host)
    return Estimate(
        plan=plan,
        moments=Moments(partial(_moments, memory, shape)),
        steady={**memory.steady, TermKey.INPUTS: shape.inputs_bytes},
        model_states=side.states,
        host=host,
        runtime=run,
        phases=phases,
        peak_moment=peak,
        worst_rank=worst,
        worst_rank_peak_bytes=worst_bytes,
        verdict=verdict,
        why=partial(_why, cluster, init_bytes, worst_bytes, peak.phase, run, host),
    )
