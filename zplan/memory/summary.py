"""The sums and names that every view of an estimate shows, so that no renderer has to add anything up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from zplan.memory.moments import Estimate, TermKey
from zplan.spec import Engine, Job, Offload, OffloadTo

TERM_TITLES: Mapping[str, str] = {
    TermKey.PARAMS: "parameters",
    TermKey.GRADS: "gradients",
    TermKey.MASTER: "fp32 master copy",
    TermKey.OPTIMIZER: "optimizer states",
    TermKey.GRADS_FP32: "fp32 gradients",
    TermKey.FLAT_BUFFER: "flat buffers",
    TermKey.REDUCE_BUCKET: "reduce bucket",
    TermKey.GATHERED_PARAMS: "gathered parameters",
    TermKey.PREFETCHED_PARAMS: "prefetched parameters",
    TermKey.PERSISTENT_PARAMS: "persistent parameters",
    TermKey.SECONDARY_PARAMS: "secondary shards (hpZ)",
    TermKey.UNSHARDED_GRADS: "unsharded gradients",
    TermKey.ACTIVATIONS: "activations",
    TermKey.CHECKPOINTS: "checkpoints",
    TermKey.ATTENTION_SCORES: "attention scores",
    TermKey.LOGITS: "logits",
    TermKey.LOGITS_GRAD: "gradient of the logits",
    TermKey.OPTIMIZER_TEMPORARIES: "optimizer temporaries",
    TermKey.ADAPTERS: "adapters",
    TermKey.QUANTIZED_PARAMS: "quantized parameters",
    TermKey.INPUTS: "inputs",
    TermKey.UNEXPLAINED: "unexplained",
    TermKey.CUDA_CONTEXT: "CUDA context",
    TermKey.NCCL: "NCCL",
    TermKey.FRAGMENTATION: "fragmentation",
    TermKey.KERNEL_SCRATCH: "scratch inside kernels",
    TermKey.PAGED_OPTIMIZER: "paged optimizer states",
    TermKey.HOST_MASTER: "fp32 master copy",
    TermKey.HOST_OPTIMIZER: "optimizer states",
    TermKey.HOST_GRADS: "gradients",
    TermKey.HOST_PARAMS: "parameters",
    TermKey.HOST_STAGING: "staging buffers",
    TermKey.HOST_STATE_DICT: "state dict to be written",
    TermKey.HOST_LOGITS: "logits for metrics",
    TermKey.PINNED_ROUNDING: "rounding of pinned memory",
}

STATES, ACTIVATIONS, LOSS_HEAD, BUFFERS = "states held", "activations", "loss head", "engine buffers"
_GROUP_OF = {
    **dict.fromkeys(
        (
            TermKey.PARAMS,
            TermKey.GRADS,
            TermKey.MASTER,
            TermKey.OPTIMIZER,
            TermKey.ADAPTERS,
            TermKey.QUANTIZED_PARAMS,
        ),
        STATES,
    ),
    **dict.fromkeys((TermKey.ACTIVATIONS, TermKey.CHECKPOINTS, TermKey.ATTENTION_SCORES, TermKey.INPUTS), ACTIVATIONS),
    **dict.fromkeys((TermKey.LOGITS, TermKey.LOGITS_GRAD), LOSS_HEAD),
    TermKey.UNEXPLAINED: "unexplained",
}
GROUPS = (STATES, ACTIVATIONS, LOSS_HEAD, BUFFERS, "unexplained")


class Verdicts(NamedTuple):
    """Which of several plans fit, by their short labels."""

    fits: tuple[str, ...]
    tight: tuple[str, ...]
    oom: tuple[str, ...]
    unknown: tuple[str, ...]


def term_title(key: str) -> str:
    """A term's key in words."""
    return TERM_TITLES.get(key, key.replace("_", " "))


def peak_groups(estimate: Estimate) -> dict[str, int]:
    """The peak moment's terms in the groups of a comparison.

    Returns:
        Group -> bytes, every group present; sums to ``allocated_peak_bytes``. What no other group names is a buffer.
    """
    groups = dict.fromkeys(GROUPS, 0)
    for key, size in estimate.peak_moment.terms.items():
        groups[_GROUP_OF.get(key, BUFFERS)] += size
    return groups


def plan_label(job: Job) -> str:
    """A plan among its neighbours, in full: ``stage 2 + optimizer offload``."""
    if job.engine in (Engine.DDP, Engine.SINGLE):
        return "DDP" if job.engine is Engine.DDP else "one GPU"
    if job.offload is Offload.NONE:
        return f"stage {job.stage}"
    what = "optimizer" if job.offload is Offload.OPTIMIZER else "full"
    return f"stage {job.stage} + {what} offload" + (" to NVMe" if job.offload_to is OffloadTo.NVME else "")


def short_label(job: Job) -> str:
    """The same as the head of a column: ``2+opt``."""
    if job.engine in (Engine.DDP, Engine.SINGLE):
        return str(job.engine.value)
    suffix = {Offload.NONE: "", Offload.OPTIMIZER: "+opt", Offload.ALL: "+all"}
    return f"{job.stage}{suffix[job.offload]}"


def overall_verdict(estimate: Estimate) -> str | None:
    """GPU and host together: the worse of the two, None where the capacity of the GPU is unknown and the host fits."""
    host = estimate.host.verdict
    if estimate.plan.cluster.gpu_capacity_bytes is None or estimate.verdict is None:
        return "oom" if host == "oom" else None
    order = ("fits", "tight", "oom")
    return max((estimate.verdict, host or "fits"), key=order.index)


def gpu_verdict(estimate: Estimate) -> tuple[str | None, str | None]:
    """The verdict on the GPU and its reason, both None without a capacity to compare with."""
    if estimate.plan.cluster.gpu_capacity_bytes is None:
        return None, None
    return estimate.verdict, estimate.verdict_because


def verdicts(estimates: Sequence[Estimate]) -> Verdicts:
    """Sort plans by what becomes of them."""
    labels: dict[str | None, list[str]] = {"fits": [], "tight": [], "oom": [], None: []}
    for estimate in estimates:
        labels[overall_verdict(estimate)].append(short_label(estimate.plan.job))
    return Verdicts(
        fits=tuple(labels["fits"]), tight=tuple(labels["tight"]), oom=tuple(labels["oom"]), unknown=tuple(labels[None])
    )


def free_bytes(estimate: Estimate) -> int | None:
    """Capacity left at the expected peak (negative when it does not fit), None without a capacity."""
    capacity = estimate.plan.cluster.gpu_capacity_bytes
    return None if capacity is None else capacity - estimate.runtime.device_expected_bytes


def device_base_bytes(estimate: Estimate) -> int:
    """The allocated bytes that the device's totals stand on: the largest of init, all phases and all ranks."""
    return estimate.runtime.device_low_bytes - sum(low for low, _, _ in estimate.runtime.terms.values())


def not_counted(jobs: Sequence[Job]) -> list[str]:
    """What was asked for but does not change the numbers yet, so that nobody takes them for more than they are."""
    notes = {
        "ZeRO++: the CUDA kernels of quantized weights and gradients were not run; their buffers are from source, those of "
        "gradients for nodes of 8 GPUs": any(
            job.stage == 3 and (job.deepspeed.quantized_weights or job.deepspeed.quantized_gradients) for job in jobs
        ),
        "NVMe offload as DeepSpeed's swappers do it in a dry run; parameters beyond max_in_cpu from source (--offload-to)": any(
            job.offload_to is OffloadTo.NVME and job.offload is not Offload.NONE for job in jobs
        ),
        "torch.compile: fewer bytes kept by blocks, the loss as without it (--compile)": any(
            job.compile for job in jobs
        ),
    }
    return [note for note, applies in notes.items() if applies]


def runtime_sources(engine: Engine, stage: int = 0) -> dict[str, str]:
    """Where the ranges beyond allocated bytes were measured: key of the cause -> source."""
    from zplan.memory.runtime import CONTEXT, NCCL, PAGED_SOURCE, WORKSPACE, slack

    return {
        TermKey.CUDA_CONTEXT: CONTEXT.source,
        TermKey.NCCL: NCCL.source,
        TermKey.KERNEL_SCRATCH: WORKSPACE.source,
        TermKey.FRAGMENTATION: slack(engine, stage).source,
        TermKey.PAGED_OPTIMIZER: PAGED_SOURCE,
    }
