"""Levers: one change to a plan, what it saves, what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from zplan.advice.outcome import verdict
from zplan.advice.reach import SEQ_STEP, more_gpus
from zplan.advice.space import CPU_OPTIMIZERS
from zplan.advice.timing import step_time
from zplan.errors import ZplanError
from zplan.memory.beyond import with_phases
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.memory.saving import SAVE
from zplan.memory.verdict import host_need
from zplan.spec import Beyond, Checkpointing, Engine, Lora, Loss, Offload, Plan, Quantize

LORA_RANK = 16
SMALL_BUCKET = 50_000_000
"""Elements of a reduce bucket that is still worth a message of its own."""
FOR_HOST = ("pin_memory",)
"""Changes that are made for the node's RAM."""


class Lever(NamedTuple):
    """One change."""

    name: str
    change: str
    """In words, starting with a verb."""
    flags: str
    """What to add to or change in the command."""
    plan: Plan | None
    """The plan after the change; None where it is not a single plan."""
    saves_bytes: int
    """Less at the high bound, per GPU; negative where it costs memory."""
    needs_bytes: int
    """The high bound per GPU after the change."""
    fits: bool
    slower: float | None = None
    """Step time per token after the change over before, None when not known."""
    host_saves_bytes: int = 0
    """RAM that a node needs less, of a change that is made for it; it may save nothing on the GPU."""


def levers(plan: Plan, before: Estimate | None = None, beyond: Beyond | None = None) -> tuple[Lever, ...]:
    """Single changes that save memory, the largest saving first.

    Args:
        plan: The plan to change.
        before: Its estimate, if there is one already.
        beyond: The phases beside the step that the estimate covers, and that changes are to be priced with.

    Returns:
        Changes that save something, each priced.
    """
    start = before if before is not None else _priced(plan, beyond)
    time = step_time(plan)
    found = list(_saving(start, beyond))
    for name, change, flags, changed in _changes(plan):
        try:
            memory = _priced(changed, beyond)
        except ZplanError:
            continue  # a combination that the estimate has no formula for is no advice
        after = step_time(changed)
        slower = None
        if time is not None and after is not None:
            slower = time.tokens_per_second_per_gpu / after.tokens_per_second_per_gpu
        saves = start.runtime.device_high_bytes - memory.runtime.device_high_bytes
        on_host = max(0, host_need(start)[0] - host_need(memory)[0]) if name in FOR_HOST else 0
        if saves > 0 or on_host > 0:
            found.append(
                Lever(
                    name=name,
                    change=change,
                    flags=flags,
                    plan=changed,
                    saves_bytes=saves,
                    needs_bytes=memory.runtime.device_high_bytes,
                    fits=verdict(memory) == "fits",
                    slower=slower,
                    host_saves_bytes=on_host,
                )
            )
    return tuple(sorted(found, key=lambda lever: (-lever.saves_bytes, -lever.host_saves_bytes)))


def _priced(plan: Plan, beyond: Beyond | None) -> Estimate:
    found = estimate(plan)
    return found if beyond is None else with_phases(found, beyond)


def _saving(start: Estimate, beyond: Beyond | None) -> Iterator[Lever]:
    """Shards instead of the whole model, where a checkpoint is written and that takes less."""
    if beyond is None or SAVE not in beyond.phases:
        return
    sharded = replace(beyond, full_state_dict=False, state_dict_on_gpu=False)
    after = with_phases(estimate(start.plan), sharded)
    saves = start.runtime.device_high_bytes - after.runtime.device_high_bytes
    on_host = host_need(start)[0] - host_need(after)[0]
    if saves > 0 or on_host > 0:
        yield Lever(
            name="state_dict",
            change="every rank writes its shard",
            flags="--state-dict sharded",
            plan=start.plan,
            saves_bytes=saves,
            needs_bytes=after.runtime.device_high_bytes,
            fits=verdict(after) == "fits",
            host_saves_bytes=max(0, on_host),
        )


_Change = tuple[str, str, str, Plan]


def _changes(plan: Plan) -> Iterator[_Change]:
    """Every single change that makes sense for this plan."""
    job = plan.job
    if job.checkpointing.kind != "full":
        saver = Checkpointing(kind="full")
        changed = replace(job, checkpointing=saver)
        yield "checkpointing", "recompute all blocks", "--checkpointing full", replace(plan, job=changed)
    if job.micro_batch > 1:
        micro = job.micro_batch // 2
        accum = job.grad_accum * 2 if job.micro_batch % 2 == 0 else job.grad_accum
        changed = replace(job, micro_batch=micro, grad_accum=accum)
        flags = f"--micro-batch {micro} --grad-accum {accum}"
        yield "micro_batch", f"micro-batch {micro} instead of {job.micro_batch}", flags, replace(plan, job=changed)
    if job.seq_len > SEQ_STEP:
        length = job.seq_len // 2
        changed = replace(job, seq_len=length)
        yield "seq_len", f"sequences of {length} tokens", f"--seq-len {length}", replace(plan, job=changed)
    if job.loss is Loss.STANDARD:
        changed = replace(job, loss=Loss.FUSED)
        yield "loss", "compute the loss without whole logits", "--loss fused", replace(plan, job=changed)
    yield from _state_changes(plan)
    yield from _sharding_changes(plan)


def _state_changes(plan: Plan) -> Iterator[_Change]:
    job = plan.job
    if job.optimizer in CPU_OPTIMIZERS and job.offload is Offload.NONE:
        changed = replace(job, optimizer="adamw_8bit")
        yield "optimizer_8bit", "8-bit optimizer states", "--optimizer adamw_8bit", replace(plan, job=changed)
    if job.lora is None:
        changed = replace(job, lora=Lora(rank=LORA_RANK))
        flags = f"--lora {LORA_RANK}"
        yield "lora", f"train adapters of rank {LORA_RANK} only", flags, replace(plan, job=changed)
    if job.quantize is None:
        changed = replace(job, lora=job.lora or Lora(rank=LORA_RANK), quantize=Quantize.NF4)
        flags = f"--lora {changed.lora.rank if changed.lora else LORA_RANK} --quantize nf4"
        yield "qlora", "adapters on 4-bit weights", flags, replace(plan, job=changed)


def _sharding_changes(plan: Plan) -> Iterator[_Change]:
    job, ranks = plan.job, plan.world_size
    if job.engine is Engine.DEEPSPEED:
        if job.stage < 3 and ranks > 1:
            changed = replace(job, stage=job.stage + 1)
            yield "stage", f"shard more (stage {changed.stage})", f"--stage {changed.stage}", replace(plan, job=changed)
        if job.offload is Offload.NONE and job.optimizer in CPU_OPTIMIZERS:
            changed = replace(job, stage=max(2, job.stage), offload=Offload.OPTIMIZER)
            flags = f"--stage {changed.stage} --offload optimizer"
            yield "offload_optimizer", "optimizer states to host RAM", flags, replace(plan, job=changed)
        if job.offload is not Offload.ALL and job.optimizer in CPU_OPTIMIZERS:
            changed = replace(job, stage=3, offload=Offload.ALL)
            flags = "--stage 3 --offload all"
            yield "offload_all", "optimizer states and parameters to host RAM", flags, replace(plan, job=changed)
        yield from _deepspeed_changes(plan)
    larger = more_gpus(plan.cluster, ranks * 2)
    if larger is not None and ranks > 1 and job.stage > 0:
        flags = f"--gpus {larger.gpus}"
        yield "gpus", f"{larger.gpus} GPUs instead of {ranks}", flags, replace(plan, cluster=larger)


def _deepspeed_changes(plan: Plan) -> Iterator[_Change]:
    """Keys of ``ds_config.json``: buffers on the GPU, and how host memory is held."""
    job, options = plan.job, plan.job.deepspeed
    if job.stage > 0 and options.reduce_bucket_size > SMALL_BUCKET:
        changed = replace(job, deepspeed=replace(options, reduce_bucket_size=SMALL_BUCKET))
        how = f'"reduce_bucket_size": {SMALL_BUCKET} in ds_config.json'
        yield "bucket", "a smaller reduce bucket", how, replace(plan, job=changed)
    if job.stage in (1, 2) and job.offload is Offload.NONE and options.contiguous_gradients:
        changed = replace(job, deepspeed=replace(options, contiguous_gradients=False))
        how = '"contiguous_gradients": false in ds_config.json'
        yield "contiguous_gradients", "gradients are reduced where they are", how, replace(plan, job=changed)
    if job.offload is not Offload.NONE and options.pin_memory:
        changed = replace(job, deepspeed=replace(options, pin_memory=False))
        how = '"pin_memory": false in the offload sections of ds_config.json'
        yield "pin_memory", "host memory that is not pinned, nor rounded up", how, replace(plan, job=changed)
