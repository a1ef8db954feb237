"""From options to plans: what was said, then what a ds_config.json says, then the default, each default told.

Every verb that needs a plan calls :func:`build_plans`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from functools import partial
from typing import NamedTuple

from zplan.cli.options import PlanOptions
from zplan.cli.parse import (
    JobWords,
    parse_gpu_memory,
    parse_gpus,
    parse_host_memory,
    parse_job,
    parse_nodes,
    parse_nvme,
)
from zplan.cli.rules import SHARDING, check
from zplan.errors import ZplanError
from zplan.memory.attention import runs
from zplan.memory.summary import not_counted
from zplan.spec import (
    Attention,
    Checkpointing,
    ClusterSpec,
    DeepSpeedOptions,
    Engine,
    Job,
    Lora,
    Loss,
    ModelSpec,
    Offload,
    OffloadTo,
    Plan,
    Precision,
)

DEFAULT_SEQ_LEN = 2048
AUTO = "auto"
"""As ``--gpu`` or ``--host-mem``: what this machine has."""
ENGINE_TITLES = {
    Engine.DEEPSPEED: "DeepSpeed",
    Engine.FSDP2: "FSDP2",
    Engine.FSDP1: "FSDP1",
    Engine.DDP: "DDP",
    Engine.SINGLE: "one GPU",
}
_OPTIMIZER_ASSUMED = {
    Engine.DEEPSPEED: "AdamW with fp32 moments, as DeepSpeed builds it",
    Engine.FSDP2: "fused AdamW with fp32 moments",
}

Variant = tuple[int, Offload, OffloadTo]
"""A stage, what is offloaded, and where to."""

Completion = Callable[[JobWords, Job, ModelSpec, int], tuple[JobWords, DeepSpeedOptions, tuple[str, ...]]]
"""What was said, the job that this makes, the model and the GPUs -> completed words, DeepSpeed's keys, and notes."""


class PlanSet(NamedTuple):
    """The plans that were asked for, side by side."""

    plans: tuple[Plan, ...]
    assumptions: tuple[str, ...]
    """What was assumed for the user, each with the flag that changes it."""
    worst_rank: bool = False
    """Each plan is wanted for the rank that holds most, which only its estimate knows."""


class Request(NamedTuple):
    """What was asked, read and completed by files, before it is checked and spread over stages."""

    words: JobWords
    model: ModelSpec
    cluster: ClusterSpec
    deepspeed: DeepSpeedOptions
    notes: tuple[str, ...]
    """What was assumed so far."""


def build_plans(options: PlanOptions, *, complete: Completion | None = None) -> PlanSet:
    """Turn options into plans.

    Args:
        options: The words of the command line.
        complete: Fills what was not said from a file; by default from ``--ds-config``.

    Returns:
        One plan, or one per stage and useful offload variant, and what was assumed.

    Raises:
        ZplanError: a word that an option does not take, options that contradict each other, or a file that is broken.
    """
    return plans_of(read_request(options, complete=complete))


def read_request(
    options: PlanOptions, *, complete: Completion | None = None, model: ModelSpec | None = None
) -> Request:
    """Read everything that the options name.

    Args:
        options: The words of the command line.
        complete: Fills what was not said from a file; by default from ``--ds-config``.
        model: The model, where it has been read already.

    Returns:
        Parsed words, model and cluster; contradictions between them are found by :func:`plans_of`.

    Raises:
        ZplanError: a word that an option does not take, or a file that is broken.
    """
    words = parse_job({f.name: getattr(options, f.name) for f in fields(options)})
    model = model or _model(options)
    cluster, cluster_notes = _cluster(options)
    deepspeed = DeepSpeedOptions()
    file_notes: tuple[str, ...] = ()
    if complete is None and options.ds_config is not None:
        from zplan.cli.configfile import with_ds_config

        complete = partial(with_ds_config, options.ds_config)
    if complete is not None:
        base, _ = _job(words, words.engine or Engine.DEEPSPEED, model, cluster, deepspeed)
        words, deepspeed, file_notes = complete(words, base, model, cluster.gpus)
    notes = (*file_notes, *model.notes, *cluster_notes)
    return Request(words=words, model=model, cluster=cluster, deepspeed=deepspeed, notes=notes)


def plans_of(request: Request) -> PlanSet:
    """Check what was asked and spread it over the stages.

    Args:
        request: What was read.

    Returns:
        One plan, or one per stage and useful offload variant, and what was assumed.

    Raises:
        ZplanError: options that contradict each other.
    """
    words, model, cluster = request.words, request.model, request.cluster
    engine = words.engine or Engine.DEEPSPEED
    check(words, engine, model, cluster)
    job, job_notes = _job(words, engine, model, cluster, request.deepspeed)
    plans = tuple(
        Plan(model=model, cluster=cluster, job=_at(job, words, variant)) for variant in _variants(words, engine)
    )
    missing = not_counted([plan.job for plan in plans])
    return PlanSet(plans=plans, assumptions=(*request.notes, *job_notes, *missing), worst_rank=words.worst_rank)


def _model(options: PlanOptions) -> ModelSpec:
    if options.params is None and options.model is None:
        raise ZplanError("no model was named", "try zplan estimate --params 7B --gpus 8 --gpu-mem 80")
    from zplan.inputs.model import resolve_model

    return resolve_model(params=options.params, model=options.model)


def _cluster(options: PlanOptions) -> tuple[ClusterSpec, tuple[str, ...]]:
    from zplan.inputs.cluster import build_cluster

    auto_notes: tuple[str, ...] = ()
    if AUTO in (options.gpu, options.host_mem):
        from zplan.cli.auto import with_machine

        options, auto_notes = with_machine(options)
    for flag, name, example in (("--gpu", options.gpu, "a100-80g"), ("--node", options.node, "dgx-h100")):
        if name is not None and not name.strip():
            raise ZplanError(f"{flag} is empty", f"try {flag} {example}, or leave {flag} out")
    gpus, nodes = parse_gpus(options.gpus), parse_nodes(options.nodes)
    notes = [*auto_notes]
    if gpus is None and options.node is None:
        gpus = nodes or 1
        notes.append(f"{gpus} GPU{'s, one per node' if gpus > 1 else ''} (--gpus)")
    cluster, more = build_cluster(
        gpus=gpus,
        nodes=nodes,
        gpu=options.gpu,
        gpu_mem_bytes=parse_gpu_memory(options.gpu_mem),
        host_mem_bytes=parse_host_memory(options.host_mem),
        nvme_bytes=parse_nvme(options.nvme),
        node=options.node,
    )
    return cluster, (*notes, *more)


def _job(
    words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec, deepspeed: DeepSpeedOptions
) -> tuple[Job, list[str]]:
    """The job without its stage, and what was assumed."""
    notes: list[str] = []
    if words.engine is None:
        notes.append("DeepSpeed (--engine)")
    precision = words.precision or _default_precision(cluster, notes)
    if words.optimizer is None:
        notes.append(f"{_OPTIMIZER_ASSUMED.get(engine, 'AdamW with fp32 moments')} (--optimizer)")
    if words.micro_batch is None:
        notes.append("micro-batch 1 (--micro-batch)")
    seq_len = words.seq_len or _default_seq_len(model, notes)
    if seq_len > model.max_seq_len:
        notes.append(f"{seq_len} tokens is beyond the {model.max_seq_len} that {model.name} was made for")
    if words.grad_accum is None:
        notes.append("no gradient accumulation (--grad-accum)")
    if words.checkpointing is None:
        notes.append("activation checkpointing off (--checkpointing)")
    attention = _attention(words, precision, model, cluster, notes)
    if words.loss is None:
        notes.append("standard loss, whole logits (--loss)")
    if words.zero_init is None and engine is Engine.DEEPSPEED and words.stage in (None, 3):
        notes.append("zero.Init for stage 3 (--zero-init)")
    job = Job(
        engine=engine,
        precision=precision,
        optimizer=words.optimizer or "adamw",
        micro_batch=words.micro_batch or 1,
        seq_len=seq_len,
        grad_accum=words.grad_accum or 1,
        checkpointing=words.checkpointing or Checkpointing(),
        attention=attention,
        loss=words.loss or Loss.STANDARD,
        compile=words.compile,
        lora=None if words.lora is None else Lora(rank=words.lora),
        quantize=words.quantize,
        rank=words.rank or 0,
        deepspeed=deepspeed,
    )
    return job, notes


def _default_precision(cluster: ClusterSpec, notes: list[str]) -> Precision:
    card = cluster.gpu
    if card is not None and "bf16" in card.lacks:
        precision = Precision.FP32 if "fp16" in card.lacks else Precision.FP16
        notes.append(f"{precision.value}, since {card.title} has no bf16 (--precision)")
        return precision
    notes.append("bf16 mixed precision (--precision)")
    return Precision.BF16


def _attention(
    words: JobWords, precision: Precision, model: ModelSpec, cluster: ClusterSpec, notes: list[str]
) -> Attention:
    """The kernel that runs, with a note where nobody named it."""
    ran = runs(words.attention, precision, model, cluster)
    if ran is words.attention:
        return ran
    why = "in fp32" if precision is Precision.FP32 or cluster.gpu is None else f"on {cluster.gpu.title}"
    told = {
        Attention.FLASH: "flash attention",
        Attention.MATH: f"torch's sdpa attention, which has no flash kernel {why}",
        Attention.EAGER: f"eager attention: there is no flash kernel {why}, and no sdpa for {model.name}",
    }
    notes.append(f"{told[ran]} (--attention)")
    return ran


def _default_seq_len(model: ModelSpec, notes: list[str]) -> int:
    if model.max_seq_len < DEFAULT_SEQ_LEN:
        notes.append(f"{model.max_seq_len} tokens per sequence, the model's maximum (--seq-len)")
        return model.max_seq_len
    notes.append(f"{DEFAULT_SEQ_LEN} tokens per sequence (--seq-len)")
    return DEFAULT_SEQ_LEN


def _variants(words: JobWords, engine: Engine) -> list[Variant]:
    """The stages and offload variants to price, mildest first."""
    if engine not in SHARDING:
        return [(0, Offload.NONE, OffloadTo.CPU)]
    to = words.offload_to or OffloadTo.CPU
    if words.stage is not None:
        return [(words.stage, words.offload or Offload.NONE, to)]
    if engine is not Engine.DEEPSPEED:
        return [(stage, words.offload or Offload.NONE, to) for stage in (2, 3)]
    everything = [(stage, Offload.NONE, OffloadTo.CPU) for stage in range(4)]
    # Stage 1 can offload too, but stage 2 then keeps less on the GPU for the same traffic: shown only when asked for.
    from_stage = 1 if words.offload is Offload.OPTIMIZER else 2
    everything += [(stage, Offload.OPTIMIZER, to) for stage in range(from_stage, 4)]
    everything += [(3, Offload.ALL, to)]
    if to is OffloadTo.NVME:
        everything = [(stage, what, where) for stage, what, where in everything if what is Offload.NONE or stage == 3]
    if words.offload is not None:
        everything = [variant for variant in everything if variant[1] is words.offload]
    return sorted(everything, key=lambda variant: (variant[0], list(Offload).index(variant[1])))


def _at(job: Job, words: JobWords, variant: Variant) -> Job:
    """The job at one stage; what only stage 3 has is set there alone."""
    stage, offload, to = variant
    third = stage == 3 and job.engine is Engine.DEEPSPEED
    return replace(
        job,
        stage=stage,
        offload=offload,
        offload_to=to,
        hpz=(words.hpz or 1) if third else 1,
        zero_init=words.zero_init if third else None,
    )
