"""How one setting of a public report was run: engine, number formats, batch, kernels; the least or the most of what is open."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rows import optimizer_of
from rowwords import NoPlanError

from zplan.memory.optimizers import OPTIMIZERS
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
    Precision,
    Quantize,
)

Setup = Mapping[str, Any]
MICRO_BATCHES, SEQUENCES, ACCUMULATED = (1, 8), (256, 4096), (1, 2)
"""Least and most memory of what a report may leave out: batches, tokens, micro-steps whose gradients add up."""
STAGES_THAT_ADD_UP = (1, 2)
"""Of DeepSpeed's stages those that hold more where gradients of several micro-steps add up."""
KERNEL = "the attention kernel"
STAGES = (3, 1)
"""Least and most of DeepSpeed's stages that shard."""
STAGE = re.compile(r"\s*(?:zero|z|stage)?[- ]?([0-3])\s*(?:[+,(]?\s*(?:cpu |with )?(offload)\)?)?\s*")
ONLY_DEEPSPEED = re.compile(r"^(?!.*(fsdp|infinity)).*deepspeed")
DOUBTED = re.compile(r"\(?\b(reported|claimed|supposedly)\b\)?")
"""An offload that somebody reports, and whoever wrote the report down does not vouch for."""
NO_FLASH = re.compile(r"v100|\bt4\b|20[678]0|titan (rtx|v|xp)|p100|\bp40\b|1080|rtx [68]000(?! ada)")
"""Cards before compute capability 8.0: torch's sdpa has no flash kernel there."""
HUGGING_FACE = re.compile(r"\bhf\b|trainer|transformers|llama-?factory|swift|axolotl|accelerate|xtuner|\btrl\b")
"""Frameworks that hand DeepSpeed's config over with the bucket sizes that transformers fills in for ``auto``."""
CASTS_TO_FP32 = re.compile(r"\bhf\b|trainer|transformers|llama-?factory|accelerate|axolotl|composer")
"""Frameworks whose FSDP keeps fp32 parameters beside a 16-bit computation."""


def job_of(setup: Setup, model: ModelSpec, cluster: ClusterSpec, most: bool, unsaid: list[str]) -> Job:
    """The job of a setting, with the least or the most of what it leaves out; what that is goes to ``unsaid``."""
    if DOUBTED.search(str(setup.get("offload", "")).lower()):
        unsaid.append("whether offload was in effect")
        setup = {**setup, "offload": "none"} if most else setup
    if cluster.gpus > 1 and setup.get("stage") is None and ONLY_DEEPSPEED.search(str(setup.get("framework")).lower()):
        unsaid.append("the ZeRO stage")
        setup = {**setup, "stage": STAGES[most]}
    setup = _some_engine(setup, cluster.gpus, most, unsaid)
    engine, stage, offload, to = strategy(setup, cluster.gpus)
    adapters, quantize = _adapters(setup)
    return Job(
        engine=engine,
        stage=stage,
        offload=offload,
        offload_to=to,
        precision=_precision(setup, cluster, engine, adapters, quantize, most, unsaid),
        optimizer=_optimizer(setup),
        micro_batch=_number(setup, "micro_batch", MICRO_BATCHES, most, unsaid, "the micro-batch"),
        seq_len=_number(
            setup, "seq_len", (SEQUENCES[0], min(SEQUENCES[1], model.max_seq_len)), most, unsaid, "the sequence length"
        ),
        grad_accum=_grad_accum(setup, engine, stage, most, unsaid),
        checkpointing=_checkpointing(setup, most, unsaid),
        attention=_attention(setup, most, unsaid),
        loss=_loss(setup),
        lora=adapters,
        quantize=quantize,
        deepspeed=_deepspeed(setup, model, engine, stage, most, unsaid),
    )


def _some_engine(setup: Setup, gpus: int, most: bool, unsaid: list[str]) -> Setup:
    """What nobody names may shard everything (least) or nothing (most; offload at least needs stage 2)."""
    framework = str(setup.get("framework")).lower()
    if gpus == 1 or setup.get("stage") is not None or re.search(r"fsdp|\bddp\b|zero-infinity", framework):
        return setup
    unsaid.append("which engine ran")
    if str(setup.get("offload", "none")).lower() != "none":
        return {**setup, "stage": 2 if most else 3}
    return {**setup, "stage": "none"} if most else {**setup, "stage": 3}


def _attention(setup: Setup, most: bool, unsaid: list[str]) -> Attention:
    """As said; else flash, which cards before Ampere have not, or scores in full, as transformers had them before 4.36."""
    said = str(setup.get("attn", setup.get("attention")) or "").lower()
    if re.search(r"\beager\b|\bvanilla\b", said):
        return Attention.EAGER
    if not said:
        unsaid.append(KERNEL)
    if not said and most:
        return Attention.EAGER
    return Attention.MATH if NO_FLASH.search(str(setup.get("gpu", "")).lower()) else Attention.FLASH


def _loss(setup: Setup) -> Loss:
    words = str(setup.get("loss", setup.get("ce"))).lower()
    if re.search(r"\bfused\b|liger|cut.?cross", words):
        return Loss.FUSED
    return Loss.CHUNKED if "chunk" in words else Loss.STANDARD


def _deepspeed(
    setup: Setup, model: ModelSpec, engine: Engine, stage: int, most: bool, unsaid: list[str]
) -> DeepSpeedOptions:
    """Buckets as said, else DeepSpeed's defaults; at stage 3 under transformers also those that it fills in for ``auto``."""
    base = DeepSpeedOptions()
    said: dict[str, Any] = {
        field: int(setup[key])
        for key, field in (
            ("reduce_bucket", "reduce_bucket_size"),
            ("prefetch_bucket", "prefetch_bucket_size"),
            ("persistence_threshold", "param_persistence_threshold"),
        )
        if isinstance(setup.get(key), int | float)
    }
    own: dict[str, Any] = {
        key: type(getattr(base, key))(setup[key])
        for key in ("sub_group_size", "max_live_parameters", "max_reuse_distance", "pin_memory", "offload_ratio")
        if isinstance(setup.get(key), bool | int | float)
    }
    overlap = setup.get("overlap_comm")
    own |= {"overlap_comm": overlap} if isinstance(overlap, bool) else {}
    base = replace(base, **said, **own)
    filled = engine is Engine.DEEPSPEED and stage == 3 and HUGGING_FACE.search(str(setup.get("framework")).lower())
    if not filled or said:
        return base
    unsaid.append("DeepSpeed's bucket sizes")
    if most:
        return base
    width = model.hidden_size
    return replace(
        base,
        reduce_bucket_size=width * width,
        prefetch_bucket_size=int(0.9 * width * width),
        param_persistence_threshold=10 * width,
    )


def strategy(setup: Setup, gpus: int) -> tuple[Engine, int, Offload, OffloadTo]:
    """Engine, stage and offload from a report's words.

    Raises:
        NoPlanError: which stage ran is not said.
    """
    framework, words = str(setup.get("framework", "")).lower(), str(setup.get("offload", "none")).lower()
    stage = setup.get("stage")
    if stage is None and "zero-infinity" in framework:
        stage, words = 3, "all nvme" if words == "none" else words
    if isinstance(stage, str) and stage.lower() in ("none", "ddp"):
        return Engine.DDP if gpus > 1 else Engine.SINGLE, 0, Offload.NONE, OffloadTo.CPU
    if isinstance(stage, str):
        match = STAGE.fullmatch(stage.lower())
        if match is None:
            raise NoPlanError(f"stage {stage!r} is not one stage")
        words = "cpu" if match[2] and words == "none" else words
        stage = int(match[1])
    if stage is None and "fsdp" in framework:
        newer = "fsdp2" in framework or "torchtune" in framework
        offload = Offload.ALL if "cpu" in words or "param" in words else Offload.NONE
        kept = 2 if "shard_grad_op" in framework else 3
        return Engine.FSDP2 if newer else Engine.FSDP1, kept, offload, OffloadTo.CPU
    if stage is None:
        if gpus > 1 and not re.search(r"\bddp\b", framework):
            raise NoPlanError("which stage ran is not said")
        return Engine.DDP if gpus > 1 else Engine.SINGLE, 0, Offload.NONE, OffloadTo.CPU
    if ", then" in words:
        words = "none"  # what was tried first is what the report is about
    if words == "none":
        return Engine.DEEPSPEED if gpus > 1 or stage else Engine.SINGLE, stage, Offload.NONE, OffloadTo.CPU
    if stage == 0:
        raise NoPlanError("offload without a stage")
    everything = ("param" in words or "all" in words) and stage == 3
    to = OffloadTo.NVME if "nvme" in words and stage == 3 else OffloadTo.CPU
    return Engine.DEEPSPEED, stage, Offload.ALL if everything else Offload.OPTIMIZER, to


def _adapters(setup: Setup) -> tuple[Lora | None, Quantize | None]:
    method = str(setup.get("method") or "").lower()
    named = re.search(r"q?lora\b", str(setup.get("model", "")).lower())
    method = method or (named[0] if named else "")
    kinds = set(re.findall(r"\bq?lora\b", method))
    if not kinds:
        return None, None
    if len(kinds) > 1 or re.search(r"\bfull\b|/", method):
        raise NoPlanError(f"method {method} is several")
    eight = re.search(r"\bint8\b|\b8-?bit\b", method) is not None
    return Lora(rank=16), Quantize.INT8 if eight else Quantize.NF4 if kinds == {"qlora"} else None


def _precision(
    setup: Setup,
    cluster: ClusterSpec,
    engine: Engine,
    adapters: Lora | None,
    quantize: Quantize | None,
    most: bool,
    unsaid: list[str],
) -> Precision:
    words = str(setup.get("precision", "")).lower()
    if adapters is not None and quantize is None and engine is not Engine.DEEPSPEED and words != "fp32":
        return Precision.BF16_PURE  # adapters are trained on weights that were loaded in 16 bits
    if "pure" in words:
        return Precision.BF16_PURE
    casts = CASTS_TO_FP32.search(str(setup.get("framework")).lower()) is not None
    if engine is not Engine.DEEPSPEED and adapters is None and not words and not casts:
        unsaid.append("the precision of parameters and states")
        return Precision.BF16 if most else Precision.BF16_PURE
    if "fp16" in words or (not words and cluster.gpu is not None and "bf16" in cluster.gpu.lacks):
        return Precision.FP16
    return Precision.FP32 if words == "fp32" else Precision.BF16


def _optimizer(setup: Setup) -> str:
    said = str(setup.get("optimizer") or "").lower()
    if not said:
        return "adamw"
    notes: list[str] = []
    name = optimizer_of({"optimizer": re.sub(r"^paged-?_?adam", "paged adam", said), "engine": ""}, notes)
    if any(setup.get(key) is True for key in ("optimizer_in_bwd", "optimizer_in_backward")):
        name = name if name.endswith("in_backward") else f"{name}_in_backward"
    if any("not stated" in note and "optimizer" in note for note in notes) or name not in OPTIMIZERS:
        raise NoPlanError(f"optimizer {setup['optimizer']}{' in backward' if name.endswith('in_backward') else ''}")
    return name


def _number(setup: Setup, key: str, usual: tuple[int, int], most: bool, unsaid: list[str], words: str) -> int:
    value = setup.get(key)
    if isinstance(value, int) and value > 0:
        return value
    unsaid.append(words)
    return usual[most]


def _grad_accum(setup: Setup, engine: Engine, stage: int, most: bool, unsaid: list[str]) -> int:
    """Micro-steps; FSDP that reduces gradients in each of them needs what one micro-step needs."""
    value = setup.get("grad_accum")
    fsdp = engine in (Engine.FSDP1, Engine.FSDP2)
    if value is None and (fsdp or (engine is Engine.DEEPSPEED and stage in STAGES_THAT_ADD_UP)):
        unsaid.append("gradient accumulation")
        return ACCUMULATED[most]
    steps = value if isinstance(value, int) else 2 if str(value).replace(" ", "") == ">1" else 1
    if steps > 1 and fsdp:
        unsaid.append("in which micro-steps gradients are reduced")
        return steps if most else 1
    return steps


def _checkpointing(setup: Setup, most: bool, unsaid: list[str]) -> Checkpointing:
    said = setup.get("grad_ckpt", setup.get("act_ckpt"))
    if isinstance(said, bool):
        return Checkpointing(kind="full") if said else Checkpointing()
    words = str(said or "").lower()
    if words.startswith("full") or words in ("true", "on", "yes"):
        return Checkpointing(kind="full")
    if words in ("none", "off", "false", "no"):
        return Checkpointing()
    if words.startswith("selective"):
        return Checkpointing(kind="selective" if words == "selective" else "selective-op")
    unsaid.append("activation checkpointing")
    return Checkpointing() if most else Checkpointing(kind="full")
