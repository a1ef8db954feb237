"""step_time(plan): how long one optimizer step takes, in which parts, and what it waits for.

The GPU works through matmuls, attention and elementwise kernels one after another; collectives and host copies run
beside them and show only where they take longer; the optimizer step and whatever it waits for comes last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

from zplan.advice import rates, work
from zplan.advice.traffic import Traffic, checkpoint_copies, traffic
from zplan.memory.facts import JobFacts, job_facts
from zplan.memory.optimizers import optimizer_spec
from zplan.memory.params import layout
from zplan.spec import Attention, ClusterSpec, Engine, GpuSpec, Job, ModelSpec, Offload, Plan, Precision, Quantize


class StepTime(NamedTuple):
    """Predicted time of one optimizer step."""

    step_seconds: float
    tokens_per_second_per_gpu: float
    bound_by: str
    """``compute``, ``memory``, ``network``, ``nvlink``, ``pcie``, ``cpu`` or ``nvme``: where most of the step goes."""
    parts: Mapping[str, float]
    """Seconds of the step by cause, sums to ``step_seconds``; what hides behind something longer is not counted."""
    hidden_seconds: float
    """Communication that runs beside computation and costs nothing."""
    model_flops_share: float
    """Model FLOPs (no recomputation) over the card's peak: MFU."""
    hardware_flops_share: float
    """The same with recomputation: HFU."""


class Compute(NamedTuple):
    """GPU work of one micro-step, in seconds."""

    matmul: float
    attention: float
    elementwise: float
    launch: float
    """Time that Python needs to launch it all; hidden while the GPU has more to do."""
    model_flops: float
    recomputed_flops: float


def _matmul_seconds(shape: work.Shape, tokens: int, recomputed: float, flops: float) -> tuple[float, float, float]:
    """Seconds of a micro-step's matmuls, its FLOPs without recomputation, and those of recomputation.

    Formula: 2 T i o per matmul in forward, as much for the gradient of its input, as much for the gradient of a
    trainable weight: 6 P in all, 8 P with recomputation, 4 P for frozen weights. Each runs at d / (d + TILE) per side
    d.
    """
    seconds = total = repeated = 0.0
    for matmul in shape.matmuls:
        rows = tokens * matmul.token_share
        once = 2.0 * rows * matmul.fan_in * matmul.fan_out * matmul.times
        passes = 3 if matmul.trainable else 2
        total += once * passes
        again = recomputed if matmul.in_block else 0.0
        repeated += once * again
        fill = 1.0
        for side in (rows, float(matmul.fan_in), float(matmul.fan_out)):
            fill *= side / (side + rates.TILE)
        seconds += once * (passes + again) / (flops * fill)
    return seconds, total, repeated


@dataclass(frozen=True, slots=True, eq=False)
class _Code:
    """What decides a micro-step's work beside its tokens; one object per distinct code, so that it is a cheap cache key."""

    job: Job


@lru_cache(maxsize=16384)
def _compute(
    model: ModelSpec, gpu: GpuSpec, code: _Code, micro_batch: int, seq_len: int, kernels: work.Kernels = work.PLAIN
) -> Compute:
    """Work of one micro-step."""
    job = replace(code.job, micro_batch=micro_batch, seq_len=seq_len)
    shape = work.model_shape(model, job.lora)
    tokens = job.micro_batch * job.seq_len
    again = work.computed_again(model, job)
    matmul, flops, repeated = _matmul_seconds(shape, tokens, again.matmul, rates.matmul_flops(gpu, job.precision))
    own = work.attention_work(model, job)
    eager = job.attention is Attention.EAGER
    # Backward of fused attention computes the scores once more: 2.5 times the forward; where scores are kept it is twice.
    attention = own.fused_flops * (3.5 + again.attention) / rates.flash_flops(gpu, job.precision, kernels.flash)
    held = rates.matmul_flops(gpu, job.precision if eager else Precision.FP32)
    attention += own.score_flops * (3.0 + again.attention) / held
    width = 2 if job.precision is Precision.FP32 else 1
    passes = 1 + work.BACKWARD + again.elementwise
    moved = model.num_layers * tokens * work.block_elementwise_bytes(model, shape, job, kernels) * passes * width
    moved += tokens * work.loss_bytes(model, job, kernels)
    per_score = work.EAGER_SCORE_BYTES if eager else work.MATH_SCORE_BYTES
    moved += own.scores * per_score * (1 + work.BACKWARD + again.attention)
    moved += tokens * passes * work.adapter_bytes(shape, job)
    moved += shape.linear_numel * _dequantized_bytes(job, again.matmul, kernels)
    elementwise = moved / rates.memory_rate(gpu)
    launch = _launch_seconds(model, shape, job, 2 + again.elementwise)
    if kernels.unpacked_gptq:
        launch += work.linears(shape) * (1 + again.matmul) * work.GPTQ_LAUNCHES * rates.LAYER_LAUNCH
    inside = own.fused_flops + own.score_flops
    return Compute(matmul, attention, elementwise, launch, flops + 3.0 * inside, repeated + again.attention * inside)


def _dequantized_bytes(job: Job, again: float, kernels: work.Kernels) -> float:
    """Bytes per quantized weight and micro-step: bitsandbytes unpacks in every pass, what GPTQ unpacks is kept for backward."""
    if job.quantize is None:
        return 0.0
    if kernels.unpacked_gptq:
        return work.GPTQ_BYTES * (1 + again)
    return (work.INT8_BYTES if job.quantize is Quantize.INT8 else work.NF4_BYTES) * (2 + again)


def _launch_seconds(model: ModelSpec, shape: work.Shape, job: Job, passes: float) -> float:
    """Seconds in which Python launches a micro-step's kernels and runs the engine's hooks."""
    once = model.num_layers * (rates.LAYER_LAUNCH_COMPILED if job.compile else rates.LAYER_LAUNCH)
    once += shape.adapted * rates.ADAPTER_LAUNCH
    if job.engine is Engine.DEEPSPEED and job.stage == 3:
        once += (shape.modules + 2 * shape.adapted) * rates.STAGE3_HOOK
    if job.engine is Engine.FSDP1:
        once += (model.num_layers + 2 * shape.adapted) * rates.FSDP1_UNIT
    return once * passes


_code = lru_cache(maxsize=1024)(_Code)


@lru_cache(maxsize=4096)
def _code_of(facts: JobFacts) -> _Code:
    """A job without what does not change a micro-step's work, so that plans share it."""
    job = facts.job
    hooked = job.engine is Engine.FSDP1 or (job.engine is Engine.DEEPSPEED and job.stage == 3)
    return _code(
        Job(
            engine=job.engine if hooked else Engine.SINGLE,
            stage=3 if hooked else 0,
            precision=job.precision,
            checkpointing=job.checkpointing,
            attention=job.attention,
            loss=job.loss,
            compile=job.compile,
            lora=job.lora,
            quantize=job.quantize,
        )
    )


FUSED_ADAM_BYTES = {4: 34, 2: 18}
"""Per optimized element: gradient upcast 2+4 and read 4, master and moments read and written 24; or all in 16 bits."""
FOREACH_FACTOR = 2.5
"""A foreach optimizer runs about ten kernels where the fused one runs one (torch ``_multi_tensor_adam``): its reads
and writes add up to 84 bytes per fp32 element."""


def _optimizer_seconds(plan: Plan, gpu: GpuSpec, kernels: work.Kernels = work.PLAIN) -> float:
    """The optimizer's own kernels on the GPU: bytes of the states that this rank holds and updates."""
    job = plan.job
    trainable = layout(plan.model, job.lora).trainable
    sharded = job.stage >= 1 or job.engine in (Engine.FSDP1, Engine.FSDP2)
    held = trainable / (plan.cluster.gpus if sharded else 1)
    if job.offload is not Offload.NONE:
        held *= 1.0 - (job.deepspeed.offload_ratio if job.engine is Engine.DEEPSPEED and job.stage == 3 else 1.0)
    spec = optimizer_spec(job.optimizer)
    per = FUSED_ADAM_BYTES[2 if job.precision is Precision.BF16_PURE else 4]
    if spec.step_temporary_copies or kernels.loose_optimizer:
        per = int(per * FOREACH_FACTOR)
    return held * per / rates.memory_rate(gpu)


def _beside(work_seconds: float, other_seconds: float) -> tuple[float, float]:
    """What ``other`` adds to ``work`` when both run at once, and what of it stays hidden."""
    hidden = rates.OVERLAP * min(work_seconds, other_seconds)
    return other_seconds - hidden, hidden


@lru_cache(maxsize=4096)
def _around(
    model: ModelSpec,
    cluster: ClusterSpec,
    gpu: GpuSpec,
    facts: JobFacts,
    grad_accum: int,
    replicas: int,
    kernels: work.Kernels = work.PLAIN,
) -> tuple[Traffic, float]:
    """What neither batch nor code changes: traffic but for offloaded checkpoints, and seconds of the optimizer."""
    job = facts.job if facts.job.grad_accum == grad_accum else replace(facts.job, grad_accum=grad_accum)
    plan = Plan(model=model, cluster=cluster, job=job)
    return traffic(plan, replicas), _optimizer_seconds(plan, gpu, kernels)


def _gather_launches(model: ModelSpec, cluster: ClusterSpec, job: Job) -> float:
    """Seconds in which stage 3 launches a micro-step's gathers, one per module and pass; nothing to gather on one GPU."""
    shape = work.model_shape(model, job.lora)
    if job.engine is not Engine.DEEPSPEED or job.stage != 3 or cluster.gpus == 1:
        return 0.0
    passes = 2 + work.computed_again(model, job).elementwise
    return shape.modules * passes * rates.STAGE3_GATHER


def forget() -> None:
    """Drops what was worked out with other rates, for whoever changes them."""
    _compute.cache_clear()
    _around.cache_clear()


def step_time(plan: Plan, *, replicas: int = 1, kernels: work.Kernels = work.PLAIN) -> StepTime | None:
    """Predicts the time of one optimizer step.

    Args:
        plan: Model, cluster and job.
        replicas: Copies of the plan's cluster that train together (HSDP): gradient shards are reduced between them.
        kernels: What is known of the code of a run that already was.

    Returns:
        The time and its parts; None when the card is not known (``--gpu-mem`` alone says nothing about speed).
    """
    gpu, job, facts = plan.cluster.gpu, plan.job, job_facts(plan.job)
    if gpu is None:
        return None
    batch = (job.micro_batch, job.seq_len, job.grad_accum)
    parts, hidden = next(_timed(plan.model, plan.cluster, gpu, (facts, facts), (batch,), replicas, kernels))
    compute = _compute(plan.model, gpu, _code_of(facts), job.micro_batch, job.seq_len, kernels)
    moved, _ = _around(plan.model, plan.cluster, gpu, facts, job.grad_accum, replicas, kernels)
    seconds = sum(parts.values())
    peak = rates.peak_flops(gpu, job.precision)
    return StepTime(
        step_seconds=seconds,
        tokens_per_second_per_gpu=job.micro_batch * job.seq_len * job.grad_accum / seconds,
        bound_by=_bound(parts, moved.over),
        parts=parts,
        hidden_seconds=hidden,
        model_flops_share=compute.model_flops * job.grad_accum / (seconds * peak),
        hardware_flops_share=(compute.model_flops + compute.recomputed_flops) * job.grad_accum / (seconds * peak),
    )


def speeds_of(
    model: ModelSpec, cluster: ClusterSpec, code: JobFacts, way: JobFacts, batches: Sequence[tuple[int, int, int]]
) -> list[float | None]:
    """Tokens per second and GPU alone, from what many plans share.

    Args:
        model: The architecture.
        cluster: The hardware.
        code: Of any job whose micro-steps compute the same, with the same engine and stage.
        way: Of any job that shards, offloads and steps in the same way.
        batches: Sequences per GPU, tokens of each, micro-steps.

    Returns:
        For each batch the figure of :func:`step_time`.
    """
    gpu = cluster.gpu
    if gpu is None:
        return [None] * len(batches)
    seconds = [sum(parts.values()) for parts, _ in _timed(model, cluster, gpu, (code, way), batches, 1)]
    return [batch[0] * batch[1] * batch[2] / one for batch, one in zip(batches, seconds, strict=True)]


def _timed(
    model: ModelSpec,
    cluster: ClusterSpec,
    gpu: GpuSpec,
    facts: tuple[JobFacts, JobFacts],
    batches: Sequence[tuple[int, int, int]],
    replicas: int,
    kernels: work.Kernels = work.PLAIN,
) -> Iterator[tuple[dict[str, float], float]]:
    """Seconds by cause, and the seconds that stay hidden, for each batch; from facts of the code and of the way (see speeds_of)."""
    own, way = facts
    code, gathers, offloaded = _code_of(own), _gather_launches(model, cluster, own.job), own.job.checkpointing.offloaded
    accums = {batch[2] for batch in batches}
    around = {accum: _around(model, cluster, gpu, way, accum, replicas, kernels) for accum in accums}
    for batch in batches:
        micro_batch, seq_len, grad_accum = batch
        compute = _compute(model, gpu, code, micro_batch, seq_len, kernels)
        moved, optimizer = around[grad_accum]
        copies = checkpoint_copies(model, gpu, own.job, batch) if offloaded else 0.0
        yield _parts(compute._replace(launch=compute.launch + gathers), moved, copies, grad_accum, optimizer)


def _parts(
    compute: Compute, moved: Traffic, checkpoints: float, micro: int, optimizer: float
) -> tuple[dict[str, float], float]:
    """Seconds by cause, and the seconds that stay hidden."""
    busy = micro * (compute.matmul + compute.attention + compute.elementwise)
    launch = max(0.0, micro * compute.launch - busy)
    collectives, hidden_ring = _beside(busy + launch, moved.forward_backward)
    copies, hidden_copies = _beside(busy + launch, moved.host_overlapped + checkpoints)
    nvme = max(moved.nvme - moved.cpu_optimizer, 0.0)
    return {
        "matmul": micro * compute.matmul,
        "attention": micro * compute.attention,
        "elementwise": micro * compute.elementwise,
        "launch": launch,
        "collectives": collectives + moved.boundary,
        "host_copies": copies + moved.host_boundary,
        "optimizer": optimizer,
        "cpu_optimizer": moved.cpu_optimizer,
        "nvme": nvme,
    }, hidden_ring + hidden_copies


def _bound(parts: Mapping[str, float], link: str) -> str:
    """The resource with the most seconds."""
    sums = {
        "compute": parts["matmul"] + parts["attention"],
        "memory": parts["elementwise"] + parts["optimizer"],
        "cpu": parts["launch"] + parts["cpu_optimizer"],
        "nvme": parts["nvme"],
    }
    sums[link] = parts["collectives"]
    sums["pcie"] = sums.get("pcie", 0.0) + parts["host_copies"]
    return max(sums, key=lambda name: sums[name])
