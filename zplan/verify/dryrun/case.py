"""A case: everything a dry run needs to know, as a plain JSON object; imports no torch.

The same objects are the lines of the accuracy benchmark (``{"case": ..., "result": ...}``).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from zplan.errors import ZplanError
from zplan.spec import DeepSpeedOptions, Engine, Offload, OffloadTo, Plan

_HINT = "zplan verify --launch dryrun --model llama-3.1-8b --gpus 8 --case-line shows a complete case"


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One dry run."""

    engine: str
    model: Mapping[str, Any]
    """Hugging Face config with ``model_type``."""
    stage: int = 0
    offload: str = "none"
    world: int = 1
    rank: int = 0
    micro_batch: int = 1
    seq_len: int = 2048
    grad_accum: int = 1
    checkpointing: str = "none"
    """``none``, ``full`` or ``every-K``."""
    precision: str = "bf16"
    optimizer: str = "adamw"
    attention: str = "flash"
    loss: str = "standard"
    lora: int | None = None
    """Rank of the adapters."""
    lora_targets: tuple[str, ...] = ("all-linear",)
    zero_init: bool | None = None
    """None: on for DeepSpeed's stage 3."""
    clip: float = 0.0
    """Gradient clipping; 0 is off."""
    zero: Mapping[str, Any] = field(default_factory=dict)
    """More keys of DeepSpeed's ``zero_optimization``."""
    data_types: Mapping[str, Any] = field(default_factory=dict)
    """DeepSpeed's ``data_types``."""
    beyond: tuple[str, ...] = ()
    """Phases to measure after the steps: ``eval`` and ``save``."""
    eval_batch: int = 0
    """Sequences of an evaluation batch; 0: as in training."""
    steps: int = 2
    explain: int = 0
    """How many of the largest tensors at each phase's peak to list; -1 lists all."""

    @property
    def uses_zero_init(self) -> bool:
        """Whether the model is built inside ``deepspeed.zero.Init``."""
        if self.engine != Engine.DEEPSPEED.value or self.stage != 3:
            return False
        return True if self.zero_init is None else self.zero_init

    def to_dict(self) -> dict[str, Any]:
        """The JSON object; keys that hold their default are left out, except the common ones."""
        out: dict[str, Any] = {}
        for item in fields(self):
            value = getattr(self, item.name)
            if item.name in _COMMON or value not in (item.default, {}, ()):
                out[item.name] = list(value) if isinstance(value, tuple) else value
        return out


_COMMON = (
    "engine",
    "stage",
    "offload",
    "world",
    "rank",
    "micro_batch",
    "seq_len",
    "grad_accum",
    "checkpointing",
    "model",
)
_CHOICES: dict[str, tuple[str, ...]] = {
    "engine": tuple(item.value for item in Engine),
    "offload": tuple(item.value for item in Offload),
    "precision": ("bf16", "fp16", "fp32", "bf16-pure"),
    "attention": ("flash", "sdpa", "math", "eager"),
    "loss": ("standard", "chunked", "fused"),
}
_STAGES = {"deepspeed": (0, 1, 2, 3), "fsdp2": (2, 3), "fsdp1": (2, 3), "ddp": (0,), "single": (0,)}


def case_from_dict(raw: Mapping[str, Any]) -> Case:
    """Read and check a case.

    Args:
        raw: The JSON object; ``checkpointing`` may be a boolean, unknown keys are refused.

    Returns:
        The case.

    Raises:
        ZplanError: If a key is unknown, missing or out of range.
    """
    known = {item.name for item in fields(Case)}
    values = {key: value for key, value in raw.items() if key != "snapshot"}
    if unknown := sorted(set(values) - known):
        raise ZplanError(f"unknown key in the case: {', '.join(unknown)}", _HINT)
    if missing := [key for key in ("engine", "model") if key not in values]:
        raise ZplanError(f"the case lacks {' and '.join(missing)}", _HINT)
    checkpointing = values.get("checkpointing", "none")
    if isinstance(checkpointing, bool) or checkpointing is None:
        values["checkpointing"] = "full" if checkpointing else "none"
    values["offload"] = values.get("offload") or "none"
    if values["engine"] == "single":
        values["world"] = values["stage"] = values["rank"] = 0
        values["world"] = 1
    if "lora_targets" in values:
        values["lora_targets"] = tuple(values["lora_targets"])
    if "beyond" in values:
        values["beyond"] = tuple(values["beyond"])
    case = Case(**values)
    _check(case)
    return case


def _check(case: Case) -> None:
    for key, choices in _CHOICES.items():
        if getattr(case, key) not in choices:
            raise ZplanError(f"{key} {getattr(case, key)!r} is not one of {', '.join(choices)}", _HINT)
    if case.stage not in _STAGES[case.engine]:
        allowed = ", ".join(map(str, _STAGES[case.engine]))
        raise ZplanError(
            f"{case.engine} has no stage {case.stage}, only {allowed}", f"use --stage {_STAGES[case.engine][-1]}"
        )
    for key in ("world", "micro_batch", "seq_len", "grad_accum", "steps"):
        value = getattr(case, key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ZplanError(f"{key} must be a whole number of at least 1, not {value!r}", _HINT)
    if not 0 <= case.rank < case.world:
        raise ZplanError(f"rank {case.rank} does not exist among {case.world} ranks", f"use --rank {case.world - 1}")
    if unknown := set(case.beyond) - {"eval", "save"}:
        raise ZplanError(f"the dry run has no phase {', '.join(sorted(unknown))}", "there are eval and save")
    if case.steps < 2:
        raise ZplanError("the first step has no optimizer states yet: at least 2 steps are needed", _HINT)


def plan_to_case(plan: Plan) -> Case:
    """The case that runs a plan.

    Args:
        plan: Any plan whose model carries its Hugging Face config.

    Returns:
        The case.

    Raises:
        ZplanError: If the plan needs something that a dry run does not have.
    """
    job = plan.job
    if plan.model.config_json is None:
        raise ZplanError(
            f"{plan.model.name} has no Hugging Face config, so its code cannot be run",
            "name a model that has one: zplan verify --model llama-3.1-8b --gpus 8",
        )
    for refused, what, instead in (
        (job.compile, "compiled models", "leave --compile out"),
        (job.quantize is not None, "quantized base weights", "leave --quantize out"),
        (
            job.offload_to is OffloadTo.NVME and job.offload is not Offload.NONE,
            "offload to NVMe",
            "use --offload-to cpu",
        ),
    ):
        if refused:
            raise ZplanError(f"the dry run cannot run {what}", f"{instead}, or ask zplan estimate")
    is_deepspeed = job.engine is Engine.DEEPSPEED
    options = job.deepspeed
    single = job.engine is Engine.SINGLE
    return case_from_dict(
        {
            "engine": job.engine.value,
            "model": json.loads(plan.model.config_json),
            "stage": job.stage,
            "offload": job.offload.value,
            "world": 1 if single else plan.world_size,
            "rank": job.rank,
            "micro_batch": job.micro_batch,
            "seq_len": job.seq_len,
            "grad_accum": job.grad_accum,
            "checkpointing": str(job.checkpointing),
            "precision": job.precision.value,
            "optimizer": job.optimizer,
            "attention": job.attention.value,
            "loss": job.loss.value,
            "lora": job.lora.rank if job.lora else None,
            "lora_targets": list(job.lora.targets) if job.lora else ["all-linear"],
            "zero_init": job.zero_init,
            "clip": options.gradient_clipping if is_deepspeed else 0.0,
            "zero": zero_options(job.stage, job.offload, options, job.hpz) if is_deepspeed else {},
            "data_types": {"grad_accum_dtype": options.grad_accum_dtype}
            if is_deepspeed and options.grad_accum_dtype
            else {},
        }
    )


_ZERO_KEYS = (
    ("reduce_bucket_size", "reduce_bucket_size", ()),
    ("allgather_bucket_size", "allgather_bucket_size", ()),
    ("overlap_comm", "overlap_comm", ()),
    ("contiguous_gradients", "contiguous_gradients", ()),
    ("round_robin_gradients", "round_robin_gradients", ()),
    ("sub_group_size", "sub_group_size", (3,)),
    ("prefetch_bucket_size", "stage3_prefetch_bucket_size", (3,)),
    ("param_persistence_threshold", "stage3_param_persistence_threshold", (3,)),
    ("max_live_parameters", "stage3_max_live_parameters", (3,)),
    ("max_reuse_distance", "stage3_max_reuse_distance", (3,)),
    ("memory_efficient_linear", "memory_efficient_linear", (3,)),
    ("quantized_weights", "zero_quantized_weights", (3,)),
    ("quantized_gradients", "zero_quantized_gradients", (3,)),
)
"""Field of DeepSpeedOptions, key of ``zero_optimization``, stages that read it (empty: all)."""


def zero_options(stage: int, offload: Offload, options: DeepSpeedOptions, hpz: int) -> dict[str, Any]:
    """Keys of ``zero_optimization`` that differ from DeepSpeed's defaults.

    Args:
        stage: ZeRO stage.
        offload: What is offloaded.
        options: The plan's options.
        hpz: ``zero_hpz_partition_size``.

    Returns:
        The keys to add to ``{"stage": ...}``.
    """
    default = DeepSpeedOptions()
    out: dict[str, Any] = {}
    for name, key, stages in _ZERO_KEYS:
        value = getattr(options, name)
        if value != getattr(default, name) and value is not None and (not stages or stage in stages):
            out[key] = value
    if hpz > 1:
        out["zero_hpz_partition_size"] = hpz
    if offload is not Offload.NONE:
        pinned = {"device": "cpu", "pin_memory": options.pin_memory}
        if not options.pin_memory or options.offload_ratio != default.offload_ratio:
            out["offload_optimizer"] = {**pinned, "ratio": options.offload_ratio}
            if offload is Offload.ALL:
                out["offload_param"] = pinned
    return out
