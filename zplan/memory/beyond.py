"""Phases beside the training step, put into an estimate: load, evaluation, save. Nothing here runs unless they are asked for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from zplan.memory.attention import asked
from zplan.memory.elastic import paged_on_rank
from zplan.memory.evaluation import EVAL, evaluation
from zplan.memory.facts import job_facts
from zplan.memory.loading import LOAD, loading
from zplan.memory.moments import BEYOND, Estimate, HostMemory
from zplan.memory.needs import PhaseNeed
from zplan.memory.runtime import attention_scratch_bytes, outside_of, runtime
from zplan.memory.saving import SAVE, saving
from zplan.memory.verdict import because, deciding_phase, judge, peak_per_node_bytes
from zplan.spec import Beyond, ClusterSpec


def with_phases(estimate: Estimate, beyond: Beyond) -> Estimate:
    """An estimate that covers the phases that were asked for.

    Args:
        estimate: The plan's estimate, of the step alone.
        beyond: The phases, and how they run.

    Returns:
        The same with their peaks among ``phases``, and device totals and verdict that cover them; the step's own peak stays
        what it is.
    """
    node = estimate.host.per_node_bytes
    makers: dict[str, Callable[[], PhaseNeed]] = {
        LOAD: lambda: loading(estimate, beyond),
        EVAL: lambda: evaluation(estimate, beyond, node),
        SAVE: lambda: saving(estimate, beyond, node),
    }
    needs = tuple(makers[phase]() for phase in BEYOND if phase in beyond.phases)
    peaks = {need.phase: need.gpu.total_bytes for need in needs}
    phases = {**estimate.phases, **peaks}
    plan = estimate.plan
    job, cluster = plan.job, plan.cluster
    facts = job_facts(job)
    later = max(peaks.values(), default=0)
    run = runtime(
        job.engine,
        plan.world_size,
        max(estimate.worst_rank_peak_bytes, estimate.phases["init"], later),
        cluster.gpu_capacity_bytes,
        stage=job.stage,
        outside=outside_of(cluster.gpu_capacity_bytes),
        scratch_bytes=attention_scratch_bytes(plan.model, asked(job), job.micro_batch, job.seq_len),
        paged_bytes=paged_on_rank(plan.model, facts, plan.world_size) if facts.optimizer.paged else 0,
    )
    host = _host(estimate.host, needs, cluster)
    verdict = judge(cluster, run, host)
    whole = replace(estimate, phases=phases, runtime=run, host=host, verdict=verdict, beyond=needs)
    return replace(whole, why=lambda: because(cluster, deciding_phase(whole), run, host))


def _host(host: HostMemory, needs: tuple[PhaseNeed, ...], cluster: ClusterSpec) -> HostMemory:
    """Host RAM whose verdict covers what a node holds in these phases."""
    most = max(needs, key=lambda need: need.host.node_bytes, default=None)
    if most is None or most.host.node_bytes <= peak_per_node_bytes(cluster, host):
        return host
    capacity = cluster.host_capacity_bytes
    short = capacity is not None and most.host.node_bytes > capacity
    return replace(host, beyond=(most.phase, most.host.node_bytes), verdict="oom" if short else host.verdict)
