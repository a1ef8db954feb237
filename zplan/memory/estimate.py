"""estimate(plan) -> Estimate: the predicted memory of one plan."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial

from zplan.memory.elastic import init_is_too_large, init_through_host, paged_on_rank, with_spilled
from zplan.memory.engines.base import EngineMemory
from zplan.memory.engines.zero12_reduce import worst_rank
from zplan.memory.host import host_memory
from zplan.memory.moments import Estimate, ModelStates, Moment, Moments, TermKey
from zplan.memory.params import layout
from zplan.memory.peaks import backward_peak_bytes, pass_moments, pass_peak, peak_moment, with_inputs
from zplan.memory.runtime import flash_scratch_bytes, runtime
from zplan.memory.stack import JobFacts, build_stack, engine_side, job_facts
from zplan.memory.states import model_states
from zplan.memory.timeline import Stack
from zplan.memory.verdict import because, judge, peak_phase
from zplan.spec import Attention, Engine, ModelSpec, Plan


@dataclass(frozen=True, slots=True, eq=False)
class _Side:
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
        (other, engine_side(model, facts, ranks, other)) for other in _other_ranks(model, facts, ranks) if other != rank
    )
    return _Side(engine_side(model, facts, ranks, rank), states, others)


def _other_ranks(model: ModelSpec, facts: JobFacts, ranks: int) -> tuple[int, ...]:
    """Ranks that may hold more than others: the last one, whose gradients come first, and the one that touches most of them.

    Empty where rank 0 stands for all or is the largest (stage 3, FSDP).
    """
    if facts.job.engine is Engine.DEEPSPEED and facts.job.stage in (1, 2) and ranks > 1:
        return tuple({worst_rank(layout(model, facts.job.lora), ranks), ranks - 1})
    return ()


def _later_peak(memory: EngineMemory, stack: Stack) -> int:
    """Peak of backward and step."""
    step = memory.largest_step.total_bytes + stack.inputs_bytes
    return max(step, *(backward_peak_bytes(micro_step, stack) for micro_step in memory.passes))


def _moments(memory: EngineMemory, stack: Stack) -> list[Moment]:
    moments = list(memory.init)
    for micro_step in memory.passes:
        moments += pass_moments(micro_step, stack)
    moments += [with_inputs(moment, stack.inputs_bytes) for moment in memory.step]
    return moments


def _phases(memory: EngineMemory, stack: Stack) -> tuple[dict[str, int], Moment]:
    """Peak of each phase, and the largest moment of the step (the first of them)."""
    phases = {"init": memory.init_bytes, "forward": 0, "backward": 0, "step": 0}
    peak_bytes, make, inputs = -1, None, stack.inputs_bytes
    for run in memory.passes:
        for phase, track, moment in (
            ("forward", run.forward, run.largest_forward),
            ("backward", run.backward, run.largest_backward),
        ):
            forward = phase == "forward"
            peak = pass_peak(stack, track, forward)
            total = run.base_bytes + peak.total
            if total > peak_bytes:
                peak_bytes, make = total, partial(peak_moment, run, stack, forward, peak)
            if moment is not None and moment.total_bytes + inputs > total:
                total = moment.total_bytes + inputs
                if total > peak_bytes:
                    peak_bytes, make = total, partial(with_inputs, moment, inputs)
            phases[phase] = max(phases[phase], total)
    phases["step"] = memory.largest_step.total_bytes + inputs
    if make is None or phases["step"] > peak_bytes:
        return phases, with_inputs(memory.largest_step, inputs)
    return phases, make()


def estimate(plan: Plan) -> Estimate:
    """Predicts the memory of one plan.

    Args:
        plan: Model, cluster and job; checked for consistency by whoever built it.

    Returns:
        The moments, phases, steady state, host memory, device totals and verdict, all in bytes.

    Raises:
        ZplanError: There is no activation table for the model's code.
    """
    model, job, cluster = plan.model, plan.job, plan.cluster
    ranks = cluster.gpus
    facts = job_facts(job)
    stack = build_stack(model, facts.code, job.micro_batch, job.seq_len)
    side = _side(model, facts, ranks, job.rank)
    memory = side.memory
    if init_is_too_large(job, ranks, memory.init_bytes, cluster.gpu_capacity_bytes):
        memory = init_through_host(memory)
    phases, peak = _phases(memory, stack)
    worst, worst_bytes = job.rank, peak.total_bytes
    for other, others in side.others:
        other_bytes = _later_peak(others, stack)
        if other_bytes > worst_bytes:
            worst, worst_bytes = other, other_bytes
    init_bytes = phases["init"]
    scratch = flash_scratch_bytes(model, job.micro_batch, job.seq_len) if job.attention is Attention.FLASH else 0
    paged = paged_on_rank(model, facts, ranks) if facts.optimizer.paged else 0
    run = runtime(
        job.engine,
        ranks,
        max(worst_bytes, init_bytes),
        cluster.gpu_capacity_bytes,
        stage=job.stage,
        scratch_bytes=scratch,
        paged_bytes=paged,
    )
    host = host_memory(with_spilled(memory.host, paged, run), cluster)
    verdict = judge(cluster, run, host)
    fits = verdict in ("fits", None)
    return Estimate(
        plan=plan,
        moments=Moments(partial(_moments, memory, stack)),
        steady={**memory.steady, TermKey.INPUTS: stack.inputs_bytes},
        model_states=side.states,
        host=host,
        runtime=run,
        phases=phases,
        peak_moment=peak,
        worst_rank=worst,
        worst_rank_peak_bytes=worst_bytes,
        verdict=verdict,
        verdict_because=None if fits else because(cluster, peak_phase(init_bytes, worst_bytes, peak.phase), run, host),
    )
