"""Plan -> ``TrainingArguments`` as JSON, as ``HfArgumentParser.parse_json_file`` reads it.

Source: transformers 5 ``training_args.py``.
"""

from __future__ import annotations

from zplan.export.deepspeed import LEARNING_RATE, builds_optimizer, ds_config
from zplan.export.fsdp import trainer_fsdp
from zplan.spec import Engine, Job, Loss, Plan, Precision

_OPTIM = {
    "adamw": "adamw_torch_fused",
    "lion": "lion_32bit",
    "paged_adamw": "paged_adamw_32bit",
    "sgd_momentum": "sgd",
}
"""zplan's names that ``optim`` spells otherwise. The fused AdamW of torch holds the same as DeepSpeed's."""
OPTIM_NAMES = frozenset(
    ("adamw_torch", "adamw_torch_fused", "adamw_8bit", "paged_adamw_8bit", "sgd", "lion_8bit", "adagrad", "rmsprop",
     "adafactor", *_OPTIM.values())
)  # fmt: skip
"""Values of ``optim`` that a plan can lead to."""


def training_arguments(plan: Plan, *, auto: bool = False) -> dict[str, object]:
    """Keyword arguments of ``TrainingArguments``.

    Args:
        plan: Any plan.
        auto: "auto" in the DeepSpeed section for what stands outside of it as well.

    Returns:
        The batch, the number format, the optimizer, what saves memory, and the engine's section.
    """
    job = plan.job
    arguments: dict[str, object] = {
        "output_dir": "output",
        "per_device_train_batch_size": job.micro_batch,
        "gradient_accumulation_steps": job.grad_accum,
        "learning_rate": LEARNING_RATE,
        "max_grad_norm": job.deepspeed.gradient_clipping if job.engine is Engine.DEEPSPEED else 1.0,
        "bf16": job.precision is Precision.BF16 or (_is_deepspeed(job) and job.precision is Precision.BF16_PURE),
        "fp16": job.precision is Precision.FP16,
    }
    optim = _OPTIM.get(job.optimizer, job.optimizer)
    if optim in OPTIM_NAMES and not (_is_deepspeed(job) and builds_optimizer(job)):
        arguments["optim"] = optim
    if _trainer_checkpoints(job):
        # The name that every transformers 5 takes; newer ones also call it activation_checkpointing.
        arguments["gradient_checkpointing"] = True
    if job.loss is Loss.FUSED:
        arguments["use_liger_kernel"] = True
    if job.compile:
        arguments["torch_compile"] = True
    if _is_deepspeed(job):
        arguments["deepspeed"] = ds_config(plan, auto=auto)
    elif job.engine in (Engine.FSDP2, Engine.FSDP1):
        arguments |= trainer_fsdp(plan)
    return arguments


def _is_deepspeed(job: Job) -> bool:
    return job.engine is Engine.DEEPSPEED


def _trainer_checkpoints(job: Job) -> bool:
    """Whether the Trainer turns checkpointing on; with FSDP its own config does (``fsdp_config``)."""
    return job.checkpointing.kind == "full" and job.engine not in (Engine.FSDP2, Engine.FSDP1)
