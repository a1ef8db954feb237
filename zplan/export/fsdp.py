"""Plan -> FSDP settings, for accelerate's YAML and for ``TrainingArguments``.

Source: accelerate ``FullyShardedDataParallelPlugin``; transformers ``TrainingArguments._process_fsdp_args``.
"""

from __future__ import annotations

from zplan.errors import ZplanError
from zplan.spec import Engine, Job, Offload, Plan


def fsdp_section(plan: Plan) -> dict[str, object]:
    """Keys of an FSDP config, without the ``fsdp_`` that accelerate's YAML puts in front.

    Raises:
        ZplanError: the plan's engine is not FSDP.
    """
    job = plan.job
    if job.engine not in (Engine.FSDP2, Engine.FSDP1):
        raise ZplanError(
            f"an FSDP config configures FSDP, not {job.engine.value}", "use --engine fsdp2, or --format deepspeed"
        )
    second = job.engine is Engine.FSDP2
    section: dict[str, object] = {"version": 2 if second else 1}
    if second:
        section["reshard_after_forward"] = job.stage == 3
    section["auto_wrap_policy"] = "TRANSFORMER_BASED_WRAP"
    if job.checkpointing.kind == "full":
        section["activation_checkpointing"] = True
    return section


def strategy(job: Job) -> str:
    """FSDP1's sharding strategy of a stage."""
    return "FULL_SHARD" if job.stage == 3 else "SHARD_GRAD_OP"


def trainer_fsdp(plan: Plan) -> dict[str, object]:
    """The ``fsdp`` keys of ``TrainingArguments``."""
    section = fsdp_section(plan)
    if plan.job.engine is Engine.FSDP1:
        section["reshard_after_forward"] = strategy(plan.job).lower()
    if plan.job.offload is not Offload.NONE:
        section["cpu_offload"] = True
    return {"fsdp": True, "fsdp_config": section}


def accelerate_fsdp(plan: Plan) -> dict[str, object]:
    """The ``fsdp_config`` of accelerate's YAML."""
    section = fsdp_section(plan)
    if plan.job.engine is Engine.FSDP1:
        section["sharding_strategy"] = strategy(plan.job)
        section["use_orig_params"] = True
    section["offload_params"] = plan.job.offload is not Offload.NONE
    section["state_dict_type"] = "SHARDED_STATE_DICT"
    return {f"fsdp_{key}": value for key, value in section.items()}
