"""Estimates as the JSON that others rely on: sizes are integers in bytes, keys are only ever added."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zplan.export.words import plan_ds_config, plan_words
from zplan.memory.params import layout
from zplan.memory.summary import gpu_verdict

if TYPE_CHECKING:
    from zplan.advice.timing import StepTime
    from zplan.memory.explain import TermExplanation
    from zplan.memory.moments import Estimate
    from zplan.spec import ClusterSpec, Lora, ModelSpec

SCHEMA_VERSION = 1


def model_object(model: ModelSpec, lora: Lora | None) -> dict[str, Any]:
    """The ``model`` key."""
    return {
        "name": model.name,
        "params": model.params,
        "trainable_params": layout(model, lora).trainable,
        "source": model.source,
    }


def cluster_object(cluster: ClusterSpec) -> dict[str, Any]:
    """The ``cluster`` key."""
    return {
        "gpus": cluster.gpus,
        "nodes": cluster.nodes,
        "gpu": cluster.gpu.name if cluster.gpu is not None else None,
        "gpu_capacity_bytes": cluster.gpu_capacity_bytes,
        "host_capacity_bytes": cluster.host_capacity_bytes,
    }


def _gpu_object(estimate: Estimate, terms: Sequence[TermExplanation]) -> dict[str, Any]:
    runtime, states = estimate.runtime, estimate.model_states
    verdict, because = gpu_verdict(estimate)
    return {
        "phases": dict(estimate.phases),
        "steady_bytes": estimate.steady_bytes,
        "allocated_peak_bytes": estimate.allocated_peak_bytes,
        "reserved_peak_bytes": runtime.reserved_peak_bytes,
        "device_peak_bytes": {
            "low": runtime.device_low_bytes,
            "expected": runtime.device_expected_bytes,
            "high": runtime.device_high_bytes,
        },
        "model_states": {
            "params": states.params_bytes,
            "grads": states.grads_bytes,
            "optimizer": states.optimizer_bytes,
        },
        "terms": [
            {
                "key": term.key,
                "bytes": term.bytes,
                "phase": estimate.peak_moment.phase,
                "formula": term.formula,
                "source": term.source,
            }
            for term in terms
        ],
        "peak_phase": estimate.peak_moment.phase,
        "worst_rank": {"rank": estimate.worst_rank, "allocated_peak_bytes": estimate.worst_rank_peak_bytes},
        "verdict": verdict,
        "verdict_because": because,
    }


def time_object(time: StepTime) -> dict[str, Any]:
    """The ``time`` key."""
    return {
        "step_seconds": time.step_seconds,
        "tokens_per_second_per_gpu": time.tokens_per_second_per_gpu,
        "bound_by": time.bound_by,
    }


def plan_object(estimate: Estimate, terms: Sequence[TermExplanation], time: StepTime | None = None) -> dict[str, Any]:
    """One element of ``plans``.

    Args:
        estimate: The prediction.
        terms: One explanation per term of its peak moment.
        time: Predicted step time, None where the card is not known.

    Returns:
        The object of the contract.
    """
    job, host = estimate.plan.job, estimate.host
    return {
        "engine": job.engine.value,
        "stage": job.stage,
        "offload": job.offload.value,
        "offload_to": job.offload_to.value,
        "checkpointing": str(job.checkpointing),
        "precision": job.precision.value,
        "optimizer": job.optimizer,
        "micro_batch": job.micro_batch,
        "seq_len": job.seq_len,
        "grad_accum": job.grad_accum,
        "world_size": estimate.plan.world_size,
        "rank": job.rank,
        "options": plan_words(estimate.plan),
        "ds_config": plan_ds_config(estimate.plan),
        "gpu": _gpu_object(estimate, terms),
        "host": {
            "per_rank_bytes": host.per_rank_bytes,
            "peak_per_rank_bytes": host.peak_per_rank_bytes,
            "pinned_per_rank_bytes": host.pinned_per_rank_bytes,
            "per_node_bytes": host.per_node_bytes,
            "verdict": host.verdict,
            **_host_phases(estimate),
        },
        "nvme": {"per_node_bytes": host.nvme_per_node_bytes},
        "time": None if time is None else time_object(time),
        **_phase_terms(estimate),
    }


def _host_phases(estimate: Estimate) -> dict[str, Any]:
    """Host RAM of phases beside the step, where they were asked for."""
    if not estimate.beyond:
        return {}
    return {
        "phases": {
            need.phase: {"per_rank_bytes": need.host.total_bytes, "per_node_bytes": need.host.node_bytes}
            for need in estimate.beyond
        }
    }


def _phase_terms(estimate: Estimate) -> dict[str, Any]:
    """Terms of phases beside the step: those on the GPU sum to ``gpu.phases``, those on the host to ``host.phases``."""
    if not estimate.beyond:
        return {}
    places = [
        (need.phase, place, m) for need in estimate.beyond for place, m in (("gpu", need.gpu), ("host", need.host))
    ]
    return {
        "phase_terms": [
            {
                "key": key,
                "bytes": size,
                "phase": phase,
                "place": place,
                "moment": moment.name,
                "formula": moment.why[key][0],
                "source": moment.why[key][1],
            }
            for phase, place, moment in places
            for key, size in moment.terms.items()
        ]
    }


def estimate_object(
    estimates: Sequence[Estimate],
    terms: Sequence[Sequence[TermExplanation]],
    assumptions: Sequence[str],
    times: Sequence[StepTime | None],
) -> dict[str, Any]:
    """The whole answer of ``zplan estimate --json``.

    Args:
        estimates: At least one, all of the same model and cluster.
        terms: For each estimate the explanations of its peak moment's terms.
        assumptions: What was assumed for the user.
        times: For each estimate the predicted step time, if any.

    Returns:
        The object of the contract.
    """
    plan = estimates[0].plan
    return {
        "schema_version": SCHEMA_VERSION,
        "model": model_object(plan.model, plan.job.lora),
        "cluster": cluster_object(plan.cluster),
        "assumptions": list(assumptions),
        "plans": [plan_object(*each) for each in zip(estimates, terms, times, strict=True)],
    }


def dumps(value: Mapping[str, Any]) -> str:
    """JSON for a person or a program: indented, in the order of the contract, one trailing newline."""
    return json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False) + "\n"
