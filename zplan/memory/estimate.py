"""estimate(plan) -> Estimate: the predicted memory of one plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache

from zplan.memory.activations.base import ComputeMode
from zplan.memory.engines import engine_memory
from zplan.memory.engines.base import EngineMemory
from zplan.memory.engines.zero12 import worst_rank
from zplan.memory.host import host_memory
from zplan.memory.moments import Estimate, HostMemory, Moment, Runtime, TermKey
from zplan.memory.optimizers import optimizer_spec
from zplan.memory.params import layout
from zplan.memory.runtime import runtime
from zplan.memory.stack import build_stack, grad_orders, layer_variants
from zplan.memory.states import model_states, state_sizes
from zplan.memory.timeline import Stack, pass_moments
from zplan.spec import Engine, Job, Loss, ModelSpec, Plan

_STEP_PHASES = ("forward", "backward", "step")


@lru_cache(maxsize=8192)
def _static_job(job: Job) -> Job:
    """The job without its batch shape: what an engine's side of a plan depends on."""
    accum = min(job.grad_accum, 2)  # engines ask whether gradients accumulate, not how often
    return replace(job, micro_batch=1, seq_len=1, rank=0, grad_accum=accum, loss=Loss.STANDARD)


@lru_cache(maxsize=1024)
def _variants(model: ModelSpec, job: Job) -> tuple[tuple[tuple[int, bool], ...], tuple[int, ...]]:
    return layer_variants(model, job)


def _moments(memory: EngineMemory, stack: Stack) -> list[Moment]:
    moments = list(memory.init)
    for micro_step in memory.passes:
        moments += pass_moments(micro_step, stack)
    for moment in memory.step:
        moments.append(Moment("step", moment.name, {**moment.terms, TermKey.INPUTS: stack.inputs_bytes}))
    return moments


def _phases(moments: list[Moment]) -> tuple[dict[str, int], Moment]:
    """Peak of each phase, and the largest moment of the step."""
    phases = {"init": 0, "forward": 0, "backward": 0, "step": 0}
    peak, peak_bytes = moments[0], -1
    for moment in moments:
        total = moment.total_bytes
        if total > phases[moment.phase]:
            phases[moment.phase] = total
        if total > peak_bytes and moment.phase != "init":
            peak, peak_bytes = moment, total
    return phases, peak


def _verdict(
    plan: Plan, phases: Mapping[str, int], peak: Moment, worst_bytes: int, run: Runtime, host: HostMemory
) -> tuple[str | None, str | None]:
    """fits, tight or oom over everything that must pass: init, the worst rank, host RAM."""
    capacity = plan.cluster.gpu_capacity_bytes
    gpu, because = None, None
    if capacity is not None:
        overhead_low = run.device_low_bytes - max(worst_bytes, phases["init"])
        need = max(worst_bytes, phases["init"]) + max(0, overhead_low)
        phase = "init" if phases["init"] > worst_bytes else peak.phase
        if run.device_high_bytes <= capacity:
            gpu = "fits"
        elif run.device_expected_bytes <= capacity:
            gpu, because = "tight", f"{phase}: the high bound is above the card's memory"
        else:
            gpu, because = "oom", f"{phase}: needs at least {need} bytes on the GPU"
    for verdict in ("oom", "tight"):
        if gpu == verdict:
            return gpu, because
        if host.verdict == verdict:
            return verdict, "host RAM" if verdict == "oom" else "host RAM: pinned rounding is above the node's memory"
    return gpu or host.verdict, None


def _allocated_peak(plan: Plan, job: Job, stack: Stack, orders_rank: int, memory: EngineMemory) -> int:
    _, peak = _phases(_moments(memory, stack))
    return peak.total_bytes


def estimate(plan: Plan) -> Estimate:
    """Predicts the memory of one plan.

    Args:
        plan: Model, cluster and job; checked for consistency by whoever built it.

    Returns:
        The moments, phases, steady state, host memory, device totals and verdict, all in bytes.
    """
    model, job, ranks = plan.model, plan.job, plan.cluster.gpus
    groups = layout(model, job.lora)
    states = state_sizes(job)
    static = _static_job(job)
    variants, layers = _variants(model, static)
    grad_bytes = 2 if states.compute is ComputeMode.CAST else 4
    stack = build_stack(model, job, states.compute, groups, grad_bytes, variants, layers)
    orders = grad_orders(stack, variants)
    memory = engine_memory(model, static, orders, ranks, job.rank)
    moments = _moments(memory, stack)
    phases, peak = _phases(moments)
    peak_bytes = peak.total_bytes
    worst, worst_bytes = job.rank, peak_bytes
    if job.engine is Engine.DEEPSPEED and job.stage in (1, 2) and ranks > 1:
        candidate = worst_rank(groups, ranks)
        if candidate != job.rank:
            other = engine_memory(model, static, orders, ranks, candidate)
            other_bytes = _allocated_peak(plan, job, stack, candidate, other)
            if other_bytes > worst_bytes:
                worst, worst_bytes = candidate, other_bytes
    run = runtime(job.engine, ranks, max(worst_bytes, phases["init"]), plan.cluster.gpu_capacity_bytes)
    host = host_memory(memory.host, plan.cluster)
    verdict, because = _verdict(plan, phases, peak, worst_bytes, run, host)
    return Estimate(
        plan=plan,
        moments=tuple(moments),
        steady={**memory.steady, TermKey.INPUTS: stack.inputs_bytes},
        model_states=model_states(
            groups.total + groups.adapters, groups.trainable, states, optimizer_spec(job.optimizer), job.stage, ranks
        ),
        host=host,
        runtime=run,
        phases=phases,
        peak_moment=peak,
        worst_rank=worst,
        worst_rank_peak_bytes=worst_bytes,
        verdict=verdict,
        verdict_because=because,
    )
