"""Plan -> ``ds_config.json``: complete and minimal; a key is written where it differs from DeepSpeed's default.

Source of the keys and defaults: DeepSpeed 0.19 ``runtime/config.py``, ``runtime/zero/config.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from zplan.errors import ZplanError
from zplan.inputs.dskeys import OFFLOAD_OPTIMIZER_KEYS, OFFLOAD_PARAM_KEYS, ZERO_KEYS, Key
from zplan.spec import DeepSpeedOptions, Engine, Job, Offload, OffloadTo, Plan, Precision

LEARNING_RATE = 5e-5
"""transformers' ``TrainingArguments.learning_rate``; DeepSpeed's own default is 1e-3. Memory does not depend on it."""
NVME_PATH = "/local_nvme"
"""The path in DeepSpeed's documentation; a plan knows the size of the disk, not where it is mounted."""

_BUILT: Mapping[str, tuple[str, Mapping[str, object]]] = {
    "adamw": ("AdamW", {"lr": LEARNING_RATE}),
    "adamw_torch": ("AdamW", {"lr": LEARNING_RATE, "torch_adam": True}),
    "lion": ("Lion", {"lr": LEARNING_RATE}),
    "muon": ("Muon", {"lr": LEARNING_RATE}),
    "adagrad": ("Adagrad", {"lr": LEARNING_RATE}),
    "sgd": ("SGD", {"lr": LEARNING_RATE}),
    "sgd_momentum": ("SGD", {"lr": LEARNING_RATE, "momentum": 0.9}),
    "rmsprop": ("RMSprop", {"lr": LEARNING_RATE}),
    "adafactor": ("Adafactor", {"lr": LEARNING_RATE}),
}
"""Optimizers that DeepSpeed builds from its config; any other the training script has to bring."""
_TESTED = frozenset(("adamw", "adamw_torch", "lion", "muon", "adagrad"))


def builds_optimizer(job: Job) -> bool:
    """Whether the config makes DeepSpeed build the plan's optimizer."""
    return job.optimizer in _BUILT


def ds_config(plan: Plan, *, auto: bool = False) -> dict[str, object]:
    """The config as an object.

    Args:
        plan: A plan of the DeepSpeed engine.
        auto: Leave to the Trainer what it knows itself: "auto" for batch sizes, clipping, and optimizer parameters.

    Returns:
        Keys in the order of DeepSpeed's documentation, ints where DeepSpeed wants ints.

    Raises:
        ZplanError: the plan's engine is not DeepSpeed.
    """
    job = plan.job
    if job.engine is not Engine.DEEPSPEED:
        raise ZplanError(
            f"a ds_config.json configures DeepSpeed, not {job.engine.value}", "use --format trainer or accelerate"
        )
    config: dict[str, object] = {
        "train_batch_size": "auto" if auto else job.micro_batch * job.grad_accum * plan.world_size,
        "train_micro_batch_size_per_gpu": "auto" if auto else job.micro_batch,
        "gradient_accumulation_steps": "auto" if auto else job.grad_accum,
    }
    config |= _formats(job)
    config |= _optimizer(job, auto=auto)
    clipping = job.deepspeed.gradient_clipping
    if clipping or auto:
        config["gradient_clipping"] = "auto" if auto else clipping
    if job.deepspeed.communication_dtype is not None:
        config["communication_data_type"] = job.deepspeed.communication_dtype
    config["zero_optimization"] = _zero(job)
    return config


def _formats(job: Job) -> dict[str, object]:
    found: dict[str, object] = {}
    if job.precision is Precision.BF16_PURE:
        states = {"bf16_master_weights_and_grads": True, "bf16_optimizer_states": True}
        found["bf16"] = {"enabled": True, **states}
    elif job.precision in (Precision.BF16, Precision.FP16):
        found[job.precision.value] = {"enabled": True}
    if job.deepspeed.grad_accum_dtype is not None:
        found["data_types"] = {"grad_accum_dtype": job.deepspeed.grad_accum_dtype}
    return found


def _optimizer(job: Job, *, auto: bool) -> dict[str, object]:
    untested = {} if job.optimizer in _TESTED or job.stage == 0 else {"zero_allow_untested_optimizer": True}
    built = _BUILT.get(job.optimizer)
    if built is None:
        forced = {} if job.offload is Offload.NONE else {"zero_force_ds_cpu_optimizer": False}
        return {**untested, **forced}
    kind, params = built
    filled = {key: "auto" if auto and key == "lr" else value for key, value in params.items()}
    return {"optimizer": {"type": kind, "params": filled}, **untested}


def _zero(job: Job) -> dict[str, object]:
    """``zero_optimization``: the stage, and what it reads and differs from the default."""
    found: dict[str, object] = {"stage": job.stage, **_differing(job, ZERO_KEYS)}
    if job.hpz > 1:
        found["zero_hpz_partition_size"] = job.hpz
    if job.offload is not Offload.NONE and job.stage > 0:
        found["offload_optimizer"] = _offload(job, OFFLOAD_OPTIMIZER_KEYS)
    if job.offload is Offload.ALL:
        found["offload_param"] = _offload(job, OFFLOAD_PARAM_KEYS)
    return found


def _offload(job: Job, keys: Mapping[str, Key]) -> dict[str, object]:
    place: dict[str, object] = {"device": job.offload_to.value}
    if job.offload_to is OffloadTo.NVME:
        place["nvme_path"] = NVME_PATH
    return place | _differing(job, keys)


def _differing(job: Job, keys: Mapping[str, Key]) -> dict[str, object]:
    """Keys whose field differs from the default and that the plan's stage reads."""
    default = DeepSpeedOptions()
    found: dict[str, object] = {}
    for name, key in keys.items():
        if key.field is None or job.stage not in key.stages:
            continue
        value = getattr(job.deepspeed, key.field)
        if value is not None and value != getattr(default, key.field):
            found[name] = value
    return found


def effective(job: Job) -> Job:
    """The job with every DeepSpeed option that its stage and offload do not read back at its default.

    Such options change nothing in a run, and a config does not carry them.
    """
    tables = [(ZERO_KEYS, True)]
    tables.append((OFFLOAD_OPTIMIZER_KEYS, job.offload is not Offload.NONE and job.stage > 0))
    tables.append((OFFLOAD_PARAM_KEYS, job.offload is Offload.ALL))
    default = DeepSpeedOptions()
    read = {
        key.field for keys, used in tables if used for key in keys.values() if key.field and job.stage in key.stages
    }
    every = {key.field for keys, _ in tables for key in keys.values() if key.field}
    return replace(job, deepspeed=replace(job.deepspeed, **{name: getattr(default, name) for name in every - read}))
