"""Plan -> YAML for ``accelerate launch --config_file``.

Source: accelerate ``commands/config/config_args.py`` and ``utils/dataclasses.py`` (``DeepSpeedPlugin``).
"""

from __future__ import annotations

from zplan.export.deepspeed import NVME_PATH, effective
from zplan.export.fsdp import accelerate_fsdp
from zplan.spec import DeepSpeedOptions, Engine, Job, Offload, OffloadTo, Plan, Precision

DS_FILE = "ds_config.json"
"""The DeepSpeed config that the YAML names where its own few keys cannot say what the plan says."""


def accelerate_config(plan: Plan) -> dict[str, object]:
    """The config as an object: machines, engine, number format."""
    job, cluster = plan.job, plan.cluster
    config: dict[str, object] = {
        "compute_environment": "LOCAL_MACHINE",
        "distributed_type": _kind(plan),
        "num_machines": cluster.nodes,
        "num_processes": cluster.gpus,
        "machine_rank": 0,
        "main_training_function": "main",
    }
    if job.engine is Engine.DEEPSPEED:
        config["deepspeed_config"] = _deepspeed(job)
        if not says_all(job):
            return config  # accelerate refuses mixed_precision beside a DeepSpeed config file
    elif job.engine in (Engine.FSDP2, Engine.FSDP1):
        config["fsdp_config"] = accelerate_fsdp(plan)
    config["mixed_precision"] = job.precision.value if job.precision in (Precision.BF16, Precision.FP16) else "no"
    if job.compile:
        config["dynamo_config"] = {"dynamo_backend": "INDUCTOR"}
    return config


def _kind(plan: Plan) -> str:
    if plan.job.engine is Engine.DEEPSPEED:
        return "DEEPSPEED"
    if plan.job.engine in (Engine.FSDP2, Engine.FSDP1):
        return "FSDP"
    return "MULTI_GPU" if plan.cluster.gpus > 1 else "NO"


def says_all(job: Job) -> bool:
    """Whether accelerate's own DeepSpeed keys say all that the plan says."""
    options, default = effective(job).deepspeed, DeepSpeedOptions()
    said = ("gradient_clipping", "gather_16bit_weights_on_model_save")
    same = all(
        getattr(options, name) == getattr(default, name) for name in DeepSpeedOptions.__slots__ if name not in said
    )
    # The optimizer is the script's own then, which accelerate swaps for CPU Adam when it is offloaded.
    return same and job.hpz == 1 and job.precision is not Precision.BF16_PURE


def _deepspeed(job: Job) -> dict[str, object]:
    init = job.stage == 3 and job.zero_init is not False
    if not says_all(job):
        return {"deepspeed_config_file": DS_FILE, "zero3_init_flag": init}
    section: dict[str, object] = {
        "zero_stage": job.stage,
        "gradient_accumulation_steps": job.grad_accum,
        "offload_optimizer_device": "none" if job.offload is Offload.NONE else job.offload_to.value,
        "offload_param_device": job.offload_to.value if job.offload is Offload.ALL else "none",
        "zero3_init_flag": init,
        "zero3_save_16bit_model": job.stage == 3 and job.deepspeed.gather_16bit_weights_on_model_save,
    }
    if job.offload_to is OffloadTo.NVME and job.offload is not Offload.NONE:
        section["offload_optimizer_nvme_path"] = NVME_PATH
        if job.offload is Offload.ALL:
            section["offload_param_nvme_path"] = NVME_PATH
    if job.deepspeed.gradient_clipping:
        section["gradient_clipping"] = job.deepspeed.gradient_clipping
    return section
