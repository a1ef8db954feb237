"""Plan -> the words of the options that make it, so that JSON out is JSON in."""

from __future__ import annotations

from zplan.export.deepspeed import ds_config, effective
from zplan.spec import DeepSpeedOptions, Engine, ModelSpec, Offload, Plan


def plan_words(plan: Plan) -> dict[str, str | bool]:
    """Option names, with underscores, and what each would have to be to get the same plan.

    Returns:
        Words as they are typed; ``compile`` is true or missing. DeepSpeed's own keys are in :func:`plan_ds_config`.
    """
    job, cluster = plan.job, plan.cluster
    words: dict[str, str | bool] = {
        **_model(plan.model),
        "gpus": str(cluster.gpus),
        "nodes": str(cluster.nodes),
        "engine": job.engine.value,
        "precision": job.precision.value,
        "optimizer": job.optimizer,
        "micro_batch": str(job.micro_batch),
        "seq_len": str(job.seq_len),
        "grad_accum": str(job.grad_accum),
        "checkpointing": str(job.checkpointing),
        "attention": job.attention.value,
        "loss": job.loss.value,
        "rank": str(job.rank),
    }
    if cluster.gpu is not None:
        words["gpu"] = cluster.gpu.name
    for name, size in (
        ("gpu_mem", cluster.gpu_capacity_bytes),
        ("host_mem", cluster.host_capacity_bytes),
        ("nvme", cluster.nvme_capacity_bytes),
    ):
        if size:
            words[name] = f"{size}B"
    if job.engine not in (Engine.DDP, Engine.SINGLE):
        words["stage"] = str(job.stage)
        words["offload"] = job.offload.value
        if job.offload is not Offload.NONE:
            words["offload_to"] = job.offload_to.value
    if job.compile:
        words["compile"] = True
    if job.lora is not None:
        words["lora"] = str(job.lora.rank)
    if job.quantize is not None:
        words["quantize"] = job.quantize.value
    if job.hpz > 1:
        words["hpz"] = str(job.hpz)
    if job.zero_init is not None:
        words["zero_init"] = "on" if job.zero_init else "off"
    return words


def plan_ds_config(plan: Plan) -> dict[str, object] | None:
    """The DeepSpeed config of a plan whose keys are not all at their defaults, else None."""
    if plan.job.engine is not Engine.DEEPSPEED or effective(plan.job).deepspeed == DeepSpeedOptions():
        return None
    return ds_config(plan)


def _model(model: ModelSpec) -> dict[str, str | bool]:
    """``params`` for a model that was named by its size alone, else ``model``: a path as it was given, or the name."""
    if model.source.startswith("nearest"):
        return {"params": str(model.params)}
    named = model.source.endswith((".yaml", "(hub)"))
    return {"model": model.name if named else model.source}
