"""What to change after running out of memory: each change with what it saves where it failed, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from zplan.advice.levers import levers
from zplan.advice.oom_cause import FRAGMENTATION, HOST, OTHER_PROCESS, Cause
from zplan.advice.timing import step_time
from zplan.errors import ZplanError
from zplan.inputs.oommessage import OomMessage
from zplan.memory.estimate import estimate as estimate_plan
from zplan.memory.moments import Estimate, TermKey
from zplan.memory.optimizers import optimizer_spec
from zplan.memory.summary import overall_verdict
from zplan.memory.verdict import host_need
from zplan.spec import Attention, Offload, Plan
from zplan.units import GIB, format_size

MOST_ADVICE = 7
_WORTH = 0.01
"""What saves less than this share of the peak is no advice."""
_STATES = ("offload_optimizer", "stage", "gpus", "optimizer_8bit", "lora", "qlora", "offload_all")
_BATCH = ("micro_batch", "seq_len")
_HELPS: dict[str, tuple[str, ...]] = {
    TermKey.OPTIMIZER: _STATES,
    TermKey.MASTER: _STATES,
    TermKey.GRADS_FP32: _STATES,
    TermKey.FLAT_BUFFER: _STATES,
    TermKey.OPTIMIZER_TEMPORARIES: ("fused_optimizer", *_STATES),
    TermKey.GRADS: _STATES,
    TermKey.PARAMS: ("stage", "qlora", "offload_all", "gpus"),
    TermKey.GATHERED_PARAMS: ("offload_all", "offload_optimizer", "checkpointing", *_BATCH, "qlora"),
    TermKey.UNSHARDED_GRADS: ("contiguous_gradients", "stage", "offload_optimizer", "lora", *_BATCH),
    TermKey.REDUCE_BUCKET: ("bucket", "contiguous_gradients", "offload_optimizer", "stage"),
    TermKey.LOGITS: ("loss", *_BATCH),
    TermKey.LOGITS_GRAD: ("loss", *_BATCH),
    TermKey.ATTENTION_SCORES: ("flash", "checkpointing", *_BATCH),
    TermKey.ACTIVATIONS: ("checkpointing", *_BATCH, "flash", "loss"),
    TermKey.CHECKPOINTS: _BATCH,
}
_COSTS = {
    "checkpointing": "one more forward pass of every block, about a third of the step's compute",
    "micro_batch": "smaller matrices; the same gradient with twice the accumulation",
    "seq_len": "shorter context: long samples are cut or packed differently",
    "loss": "none in accuracy; needs a fused or chunked cross-entropy (liger-kernel, or the trainer's own)",
    "optimizer_8bit": "8-bit states (bitsandbytes); close to fp32 in practice, not identical",
    "lora": "trains adapters instead of the weights",
    "qlora": "trains adapters on weights rounded to 4 bits",
    "stage": "more traffic: stage 3 gathers parameters in forward and in backward",
    "offload_optimizer": "the step runs on the CPU and gradients cross PCIe; host RAM instead",
    "offload_all": "parameters cross PCIe in every pass; host RAM instead",
    "gpus": "more GPUs",
    "fused_optimizer": "none; a fused kernel updates in place",
    "flash": "none; needs flash-attn or torch's sdpa without a mask",
    "bucket": "smaller reductions, a little slower on fast links",
    "contiguous_gradients": "a copy per reduction instead of one buffer; fragments the allocator's memory",
}
_ALLOC_CONF = {"hip": "PYTORCH_HIP_ALLOC_CONF", "npu": "PYTORCH_NPU_ALLOC_CONF"}


@dataclass(frozen=True, slots=True, kw_only=True)
class OomAdvice:
    """One change."""

    name: str
    change: str
    how: str
    """Flags of zplan, an environment variable, or a config key."""
    saves_bytes: int | None
    """Less on the GPU in the phase that failed (on the host: per node); None where nobody can say."""
    costs: str
    fits: bool | None = None
    """Whether the plan fits after this change alone; None without a capacity."""


def advise(
    message: OomMessage, estimate: Estimate | None, causes: tuple[Cause, ...], terms: tuple[str, ...], phase: str | None
) -> tuple[OomAdvice, ...]:
    """What to change.

    Args:
        message: The message.
        estimate: The plan's, or None.
        causes: Why it happened.
        terms: Term keys that the request is likely to be, likeliest first.
        phase: Where in the step it failed, None when not known.

    Returns:
        First what removes the cause, then changes to the plan: those made for the likeliest term before others, larger
        savings first; at most ``MOST_ADVICE``.
    """
    found = [advice for cause in causes if (advice := _against(cause, message)) is not None]
    if terms[:1] == (TermKey.OPTIMIZER_TEMPORARIES,) and (estimate is None or not _is_foreach(estimate)):
        found.append(_fused(message))
    if estimate is not None:
        on_host = any(cause.kind == HOST for cause in causes)
        found += _host_changes(estimate) if on_host else _changes(estimate, terms, phase)
    return tuple(found[:MOST_ADVICE])


def _against(cause: Cause, message: OomMessage) -> OomAdvice | None:
    """What removes a cause that is not the plan's."""
    if cause.kind == FRAGMENTATION:
        variable = _ALLOC_CONF.get(message.device, "PYTORCH_CUDA_ALLOC_CONF")
        return OomAdvice(
            name="expandable_segments",
            change="let segments grow instead of lying beside one another",
            how=f"{variable}=expandable_segments:True",
            saves_bytes=cause.bytes,
            costs="none known; not on Windows, and some NCCL and CUDA-graph setups refuse it",
        )
    if cause.kind == OTHER_PROCESS:
        return OomAdvice(
            name="other_process",
            change="free the card of other processes, or keep other ranks off it",
            how="nvidia-smi shows them: end what is left of earlier runs; torch.cuda.set_device(local_rank) before "
            "anything else touches a GPU",
            saves_bytes=cause.bytes,
            costs="none",
        )
    return None


def _is_foreach(estimate: Estimate) -> bool:
    """Whether the plan has the temporaries, too, so that a change of plan prices them."""
    return optimizer_spec(estimate.plan.job.optimizer).step_temporary_copies > 0


def _fused(message: OomMessage) -> OomAdvice:
    """The run's optimizer made a temporary that the plan's does not make."""
    return OomAdvice(
        name="fused_optimizer",
        change="the fused optimizer that the plan has",
        how='--optimizer adamw_torch_fused; in TrainingArguments: optim="adamw_torch_fused"',
        saves_bytes=message.requested.bytes if message.requested is not None else None,
        costs=_COSTS["fused_optimizer"],
    )


def _own_changes(plan: Plan) -> Iterator[tuple[str, str, str, Plan]]:
    """Changes that only a failed run asks for."""
    job = plan.job
    if job.optimizer == "adamw_torch":
        changed = replace(job, optimizer="adamw_torch_fused")
        yield "fused_optimizer", "a fused optimizer", "--optimizer adamw_torch_fused", replace(plan, job=changed)
    if job.attention is Attention.EAGER and (plan.cluster.gpu is None or plan.cluster.gpu.flash_attention):
        changed = replace(job, attention=Attention.FLASH)
        yield "flash", "attention that keeps no scores", "--attention flash", replace(plan, job=changed)


def _changes(estimate: Estimate, terms: tuple[str, ...], phase: str | None) -> list[OomAdvice]:
    """Changes to the plan that save something in the phase that failed."""
    plan = estimate.plan
    changes = [(one.name, one.change, one.flags, one.plan) for one in levers(plan, estimate)]
    changes += [change for change in _own_changes(plan) if change[0] not in {name for name, *_ in changes}]
    wanted = list(dict.fromkeys(name for term in terms[:3] for name in _HELPS.get(term, ())))
    found = []
    for name, change, how, changed in changes:
        if changed is None:
            continue
        try:
            after = estimate_plan(changed)
        except ZplanError:
            continue  # a combination without a formula is no advice
        saves = _at(estimate, phase) - _at(after, phase)
        if saves < _WORTH * _at(estimate, phase):
            continue
        verdict = overall_verdict(after)
        advice = OomAdvice(
            name=name,
            change=change,
            how=how,
            saves_bytes=saves,
            costs=_cost(name, plan, changed, after),
            fits=None if verdict is None else verdict != "oom",
        )
        found.append(advice)
    # What is not enough alone comes after what is; then in the order of what helps this term, mildest first.
    order = {name: position for position, name in enumerate(wanted)}
    found.sort(key=lambda one: (one.fits is False, order.get(one.name, len(order)), -(one.saves_bytes or 0)))
    return found


def _at(estimate: Estimate, phase: str | None) -> int:
    """Predicted peak where the run failed; of the whole run when that is not known."""
    if phase is not None and phase in estimate.phases:
        return estimate.phases[phase]
    return max(estimate.allocated_peak_bytes, estimate.phases["init"])


def _cost(name: str, plan: Plan, changed: Plan, after: Estimate) -> str:
    """In words, with the step time where the card is known and host RAM where the change needs some."""
    words = _COSTS.get(name, "")
    if name.startswith("offload"):
        words += f" ({format_size(after.host.per_node_bytes)} per node)"
    before_time, after_time = step_time(plan), step_time(changed)
    if before_time is None or after_time is None or name in ("gpus", "seq_len"):
        return words
    slower = before_time.tokens_per_second_per_gpu / after_time.tokens_per_second_per_gpu
    return f"{words}; {slower:.2f} x the time per token" if slower > 1.005 else words


def _host_changes(estimate: Estimate) -> list[OomAdvice]:
    """What takes load off the host."""
    plan, host = estimate.plan, estimate.host
    job, ranks = plan.job, plan.cluster.gpus_per_node
    found = []
    if job.offload is Offload.NONE:
        return [
            OomAdvice(
                name="load_once",
                change="load the checkpoint once per node, in 16 bits",
                how="low_cpu_mem_usage=True and dtype=torch.bfloat16 in from_pretrained; stage 3: create the "
                "TrainingArguments before the model, so that zero.Init shards it",
                saves_bytes=(ranks - 1) * 2 * plan.model.params if ranks > 1 else None,
                costs="none",
            )
        ]
    rounding = host.per_node_bytes - ranks * host.per_rank_bytes
    if job.deepspeed.pin_memory and rounding > 0:
        found.append(
            OomAdvice(
                name="pin_memory",
                change="do not pin: pinned buffers are rounded up to a power of two",
                how='"pin_memory": false in the offload sections of ds_config.json',
                saves_bytes=rounding,
                costs="slower copies between host and GPU",
            )
        )
    for name, change, how, changed in _lighter_on_host(plan):
        try:
            after = estimate_plan(changed)
        except ZplanError:
            continue
        saves = host.per_node_bytes - after.host.per_node_bytes
        if saves > 0:
            verdict = overall_verdict(after)
            fits = None if verdict is None else verdict != "oom"
            held = f"{format_size(after.allocated_peak_bytes)} on the GPU at its peak"
            costs = _COSTS.get(name) or f"{held}, instead of {format_size(estimate.allocated_peak_bytes)}"
            found.append(OomAdvice(name=name, change=change, how=how, saves_bytes=saves, costs=costs, fits=fits))
    return [*found, *_more_ram(estimate)]


def _more_ram(estimate: Estimate) -> Iterator[OomAdvice]:
    """What a node would have to have, where it is known to have less."""
    need, has = host_need(estimate)
    if 0 < has < need:
        gib = -(-need // GIB)
        yield OomAdvice(
            name="host_mem",
            change=f"{gib:,} GiB of RAM per node",
            how=f"--host-mem {gib}GiB",
            saves_bytes=None,
            costs="a larger machine",
            fits=True,
        )


def _lighter_on_host(plan: Plan) -> Iterator[tuple[str, str, str, Plan]]:
    job = plan.job
    if job.offload is Offload.ALL:
        changed = replace(job, offload=Offload.OPTIMIZER)
        yield "params_on_gpu", "keep parameters on the GPU", "--offload optimizer", replace(plan, job=changed)
    changed = replace(job, offload=Offload.NONE)
    yield "no_offload", "keep everything on the GPU", "--offload none", replace(plan, job=changed)
    cluster = replace(plan.cluster, nodes=plan.cluster.nodes * 2, gpus=plan.cluster.gpus * 2)
    yield (
        "gpus",
        "twice the nodes: each holds half",
        f"--gpus {cluster.gpus} --nodes {cluster.nodes}",
        replace(plan, cluster=cluster),
    )
