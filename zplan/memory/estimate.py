"""estimate(plan) -> Estimate: the predicted memory of one plan."""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.engines.base import EngineMemory
from zplan.memory.engines.zero12 import worst_rank
from zplan.memory.host import host_memory
from zplan.memory.moments import Estimate, ModelStates, Moment, TermKey
from zplan.memory.params import layout
from zplan.memory.runtime import flash_scratch_bytes, runtime
from zplan.memory.stack import JobFacts, build_stack, engine_side, job_facts
from zplan.memory.states import model_states
from zplan.memory.timeline import Stack, backward_peak_bytes, pass_moments
from zplan.memory.verdict import because, judge, peak_phase
from zplan.spec import Attention, Engine, ModelSpec, Plan


@lru_cache(maxsize=8192)
def _states(model: ModelSpec, facts: JobFacts, ranks: int) -> ModelStates:
    groups, job = layout(model, facts.job.lora), facts.job
    return model_states(
        groups.total + groups.adapters, groups.trainable, facts.states, facts.optimizer, job.stage, ranks
    )


@lru_cache(maxsize=8192)
def _other_ranks(model: ModelSpec, facts: JobFacts, ranks: int) -> tuple[int, ...]:
    """Ranks that may hold more than others: the last one, whose gradients come first, and the one that touches most of them.

    Empty where rank 0 stands for all or is the largest (stage 3, FSDP).
    """
    if facts.job.engine is Engine.DEEPSPEED and facts.job.stage in (1, 2) and ranks > 1:
        return tuple({worst_rank(layout(model, facts.job.lora), ranks), ranks - 1})
    return ()


def _later_peak(memory: EngineMemory, stack: Stack) -> int:
    """Peak of backward and step."""
    step = max(moment.total_bytes for moment in memory.step) + stack.inputs_bytes
    return max(step, *(backward_peak_bytes(micro_step, stack) for micro_step in memory.passes))


def _moments(memory: EngineMemory, stack: Stack) -> list[Moment]:
    moments = list(memory.init)
    for micro_step in memory.passes:
        moments += pass_moments(micro_step, stack)
    inputs = stack.inputs_bytes
    for moment in memory.step:
        moments.append(_with_inputs(moment, inputs))
    return moments


def _with_inputs(moment: Moment, inputs_bytes: int) -> Moment:
    return Moment.deferred(
        moment.phase,
        moment.name,
        moment.total_bytes + inputs_bytes,
        lambda: {**moment.terms, TermKey.INPUTS: inputs_bytes},
    )


def _phases(moments: list[Moment]) -> tuple[dict[str, int], Moment]:
    """Peak of each phase, and the largest moment of the step."""
    phases = {"init": 0, "forward": 0, "backward": 0, "step": 0}
    peak, peak_bytes = moments[0], -1
    for moment in moments:
        total, phase = moment.total_bytes, moment.phase
        phases[phase] = max(phases[phase], total)
        if total > peak_bytes and phase != "init":
            peak, peak_bytes = moment, total
    return phases, peak


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
    memory = engine_side(model, facts, ranks, job.rank)
    moments = _moments(memory, stack)
    phases, peak = _phases(moments)
    worst, worst_bytes = job.rank, peak.total_bytes
    for other in _other_ranks(model, facts, ranks):
        if other != job.rank:
            other_bytes = _later_peak(engine_side(model, facts, ranks, other), stack)
            if other_bytes > worst_bytes:
                worst, worst_bytes = other, other_bytes
    init_bytes = phases["init"]
    scratch = flash_scratch_bytes(model, job.micro_batch, job.seq_len) if job.attention is Attention.FLASH else 0
    run = runtime(
        job.engine,
        ranks,
        max(worst_bytes, init_bytes),
        cluster.gpu_capacity_bytes,
        stage=job.stage,
        scratch_bytes=scratch,
    )
    host = host_memory(memory.host, cluster)
    verdict = judge(cluster, run, host)
    fits = verdict in ("fits", None)
    return Estimate(
        plan=plan,
        moments=tuple(moments),
        steady={**memory.steady, TermKey.INPUTS: stack.inputs_bytes},
        model_states=_states(model, facts, ranks),
        host=host,
        runtime=run,
        phases=phases,
        peak_moment=peak,
        worst_rank=worst,
        worst_rank_peak_bytes=worst_bytes,
        verdict=verdict,
        verdict_because=None if fits else because(cluster, peak_phase(init_bytes, worst_bytes, peak.phase), run, host),
    )
