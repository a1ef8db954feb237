"""Any plan in any format: the text of a config, and what its reader should know, since JSON has no comments."""

from __future__ import annotations

import json

from zplan.errors import ZplanError
from zplan.export.accelerate import DS_FILE, accelerate_config, says_all
from zplan.export.deepspeed import LEARNING_RATE, NVME_PATH, builds_optimizer, ds_config
from zplan.export.fsdp import trainer_fsdp
from zplan.export.trainer import training_arguments
from zplan.spec import Engine, Job, Loss, Offload, OffloadTo, Plan, Precision
from zplan.units import quote

FORMATS = ("deepspeed", "accelerate", "fsdp", "trainer")
_FSDP = (Engine.FSDP2, Engine.FSDP1)


def default_format(plan: Plan) -> str:
    """The format that fits a plan's engine best."""
    return "deepspeed" if plan.job.engine is Engine.DEEPSPEED else "fsdp" if plan.job.engine in _FSDP else "trainer"


def write_config(plan: Plan, fmt: str, *, auto: bool = False, as_json: bool = False) -> str:
    """The text of a config.

    Args:
        plan: What to run.
        fmt: ``deepspeed`` (ds_config.json), ``accelerate`` (YAML for ``accelerate launch``), ``fsdp`` (the FSDP keys of
            ``TrainingArguments``) or ``trainer`` (``TrainingArguments`` with the engine's section).
        auto: "auto" where the Trainer can fill a value from its own arguments.
        as_json: JSON where YAML is usual: accelerate goes by the file's name (``load_config_from_file``).

    Returns:
        JSON or YAML that ends in one newline.

    Raises:
        ZplanError: an unknown format, or one that cannot say what the plan says.
    """
    if fmt not in FORMATS:
        raise ZplanError(f"unknown format {quote(fmt)}", "use --format " + ", ".join(FORMATS))
    if fmt == "accelerate" and not as_json:
        import yaml

        return str(yaml.safe_dump(accelerate_config(plan), sort_keys=False))
    objects = {
        "accelerate": lambda: accelerate_config(plan),
        "deepspeed": lambda: ds_config(plan, auto=auto),
        "fsdp": lambda: trainer_fsdp(plan),
        "trainer": lambda: training_arguments(plan, auto=auto),
    }
    return json.dumps(objects[fmt](), indent=2) + "\n"


def beside_config(plan: Plan, fmt: str) -> dict[str, str]:
    """Files that a config names and cannot do without: file name -> text.

    An accelerate YAML names a DeepSpeed config where its own few keys cannot say what the plan says.
    """
    if fmt == "accelerate" and plan.job.engine is Engine.DEEPSPEED and not says_all(plan.job):
        return {DS_FILE: write_config(plan, "deepspeed")}
    return {}


def explain_config(plan: Plan, fmt: str = "deepspeed") -> tuple[str, ...]:
    """What a config does and what it leaves to its user, one line each.

    Args:
        plan: What it runs.
        fmt: The format that was written.

    Returns:
        Lines without a comment sign, for the terminal or a file beside the config.
    """
    job = plan.job
    product = job.micro_batch * job.grad_accum * plan.world_size
    lines = [
        f"{plan.model.name} on {plan.cluster.gpus} GPU{'s' if plan.cluster.gpus > 1 else ''}: {job.engine.value}"
        + ("" if job.engine in (Engine.DDP, Engine.SINGLE) else f" stage {job.stage}")
        + f", {job.precision.value}, {job.optimizer}",
        f"global batch {product}: micro-batch {job.micro_batch} x {job.grad_accum} micro-steps x {plan.world_size} ranks",
    ]
    lines += _outside(job, fmt)
    if fmt in ("deepspeed", "trainer"):
        lines.append(f"learning rate {LEARNING_RATE:g} is the Trainer's default: set your own; memory does not change")
    if job.offload_to is OffloadTo.NVME and job.offload is not Offload.NONE:
        lines.append(f"nvme_path {NVME_PATH} is a placeholder: name a folder on each node's local NVMe disk")
    if fmt == "accelerate" and job.engine is Engine.DEEPSPEED and not says_all(job):
        lines.append(f"the YAML names {DS_FILE}, which has to lie beside it (--write puts it there)")
    if job.engine is Engine.DEEPSPEED and not builds_optimizer(job):
        lines.append(f"DeepSpeed does not build {job.optimizer}: the training script (or --optim) brings it")
    return tuple(lines)


def _outside(job: Job, fmt: str) -> list[str]:
    """Parts of a plan that no such config can say."""
    lines = [f"sequences of {job.seq_len} tokens: set in the data pipeline"]
    if job.checkpointing.kind != "none" and not (fmt in ("trainer", "fsdp") and job.checkpointing.kind == "full"):
        whole = job.checkpointing.kind == "full"
        how = "with model.gradient_checkpointing_enable()" if whole else "in the model's own code"
        lines.append(f"checkpointing {job.checkpointing}: turn it on {how}")
    if job.loss is not Loss.STANDARD and not (fmt == "trainer" and job.loss is Loss.FUSED):
        lines.append(f"{job.loss.value} loss: patch the loss head, for one with Liger Kernel")
    if job.lora is not None:
        lines.append(f"LoRA of rank {job.lora.rank} on {', '.join(job.lora.targets)}: peft.LoraConfig in the script")
    if job.quantize is not None:
        lines.append(f"{job.quantize.value} weights: BitsAndBytesConfig in the script")
    if job.precision is Precision.BF16_PURE and job.engine is not Engine.DEEPSPEED:
        lines.append("bf16-pure: load the model with dtype=torch.bfloat16")
    if job.attention.value != "flash" or fmt != "deepspeed":
        kernel = {"flash": "flash_attention_2 or sdpa", "sdpa": "sdpa", "math": "sdpa", "eager": "eager"}[
            job.attention.value
        ]
        lines.append(f"attention {job.attention.value}: load the model with attn_implementation={kernel}")
    if job.engine is Engine.DEEPSPEED and job.stage == 3 and job.zero_init is not False and fmt == "deepspeed":
        lines.append(
            "build the model after HfDeepSpeedConfig or inside deepspeed.zero.Init, so that it is born sharded"
        )
    return lines
