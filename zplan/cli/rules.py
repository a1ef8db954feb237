"""Which options contradict each other, each with what to type instead.

A rule looks at what was said, the model and the cluster, and raises; it never repairs a plan silently.
"""

from __future__ import annotations

from collections.abc import Callable

from zplan.cli.parse import JobWords
from zplan.errors import ZplanError
from zplan.memory.attention import has_flash
from zplan.spec import Attention, ClusterSpec, Engine, Lora, ModelSpec, Offload, OffloadTo, Precision
from zplan.units import format_count

SHARDING = (Engine.DEEPSPEED, Engine.FSDP2, Engine.FSDP1)

Rule = Callable[[JobWords, Engine, ModelSpec, ClusterSpec], None]


def _ranks(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    gpus = cluster.gpus
    if engine is Engine.SINGLE and gpus > 1:
        raise ZplanError(
            f"--engine single runs on one GPU, not on {gpus}", "use --gpus 1, or --engine ddp for several GPUs"
        )
    if words.rank is not None and words.rank >= gpus:
        message = f"--rank {words.rank} does not exist among {gpus} GPU{'s' if gpus > 1 else ''}: ranks count from 0"
        raise ZplanError(message, f"use --rank {gpus - 1} for the last one, or --rank worst")


def _stage(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    if words.stage is None:
        return
    if engine not in SHARDING and words.stage != 0:
        message = f"--engine {engine.value} shards nothing, so there is no stage {words.stage}"
        raise ZplanError(message, f"use --engine deepspeed --stage {words.stage}, or leave --stage out")
    if engine in (Engine.FSDP2, Engine.FSDP1) and words.stage < 2:
        message = f"{engine.value} has no stage {words.stage}: it shards gradients and states (2) or parameters too (3)"
        alternative = "--engine ddp" if words.stage == 0 else "--engine deepspeed --stage 1"
        raise ZplanError(message, f"use --engine {engine.value} --stage 2, or {alternative}")


def _offload(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    if words.offload in (None, Offload.NONE):
        return
    what = words.offload.value if words.offload else ""
    if engine not in SHARDING:
        message = f"--engine {engine.value} offloads nothing"
        stage = 3 if words.offload is Offload.ALL else 2
        raise ZplanError(message, f"use --engine deepspeed --stage {stage} --offload {what}, or leave --offload out")
    if engine is not Engine.DEEPSPEED:
        if words.offload is Offload.OPTIMIZER:
            message = f"{engine.value} offloads parameters, gradients and states together, never the optimizer alone"
            raise ZplanError(
                message, f"use --engine {engine.value} --offload all, or --engine deepspeed --offload optimizer"
            )
        return
    if words.stage is None:
        return
    if words.offload is Offload.ALL and words.stage < 3:
        message = f"stage {words.stage} does not offload parameters: only stage 3 does"
        instead = (
            "--stage 3 --offload all"
            if words.stage == 0
            else f"--stage {words.stage} --offload optimizer, or --stage 3 --offload all"
        )
        raise ZplanError(message, f"use {instead}")
    if words.stage == 0:
        raise ZplanError("stage 0 offloads nothing: offload starts at stage 1", "use --stage 2 --offload optimizer")


def _nvme(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    if words.offload_to is not OffloadTo.NVME:
        return
    if engine is not Engine.DEEPSPEED or words.stage not in (None, 3):
        message = "only DeepSpeed's stage 3 offloads to NVMe"
        raise ZplanError(
            message, "use --engine deepspeed --stage 3 --offload optimizer --offload-to nvme, or --offload-to cpu"
        )
    if words.offload is Offload.NONE or (words.offload is None and words.stage is not None):
        raise ZplanError(
            "--offload-to says where, but not what is offloaded", "add --offload optimizer or --offload all"
        )


def _deepspeed_only(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    gpus = cluster.gpus
    third = "--stage 3" if engine is Engine.DEEPSPEED else "--engine deepspeed --stage 3"
    if words.hpz is not None and words.hpz > 1:
        if engine is not Engine.DEEPSPEED or words.stage not in (None, 3):
            raise ZplanError(
                "--hpz keeps secondary shards of stage 3's parameters",
                f"use {third} --hpz {words.hpz}, or leave --hpz out",
            )
        if words.hpz > gpus or gpus % words.hpz:
            nearest = max(d for d in range(1, min(words.hpz, gpus) + 1) if gpus % d == 0)
            raise ZplanError(f"--hpz {words.hpz} does not divide {gpus} GPUs", f"use --hpz {nearest}")
    if words.zero_init and (engine is not Engine.DEEPSPEED or words.stage not in (None, 3)):
        raise ZplanError(
            "zero.Init shards parameters, which only DeepSpeed's stage 3 does",
            f"use {third} --zero-init on, or leave --zero-init out",
        )


def _model_bounds(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    checkpointing = words.checkpointing
    if checkpointing is not None and checkpointing.every > model.num_layers:
        message = f"--checkpointing {checkpointing} checkpoints no block of a model with {model.num_layers} layers"
        raise ZplanError(message, f"use --checkpointing every-{min(2, model.num_layers)} or --checkpointing none")
    if words.quantize is not None and words.lora is None:
        message = f"--quantize {words.quantize.value} freezes the weights, so something else has to train"
        raise ZplanError(message, f"use --quantize {words.quantize.value} --lora 16, or leave --quantize out")
    if (
        words.seq_len is not None
        and words.seq_len > model.max_seq_len
        and any(w.kind.value == "position" for w in model.pre)
    ):
        message = (
            f"--seq-len {words.seq_len} is longer than the {model.max_seq_len} positions that {model.name} learned"
        )
        raise ZplanError(message, f"use --seq-len {model.max_seq_len}")


def _adapters(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    if words.lora is None:
        return
    from zplan.memory.params import layout

    def adapters(rank: int) -> int:
        return layout(model, Lora(rank=rank)).trainable

    if words.lora > model.hidden_size:
        message = f"--lora {words.lora} is not a low rank: the model is {model.hidden_size} wide"
    elif (trained := adapters(words.lora)) >= model.params:
        # Possible with a rank near the width; or with a count so small that no published shape is near it.
        shape = "" if model.params == model.shape_params else " (on the shape that --params borrows)"
        message = (
            f"--lora {words.lora} trains {format_count(trained)} parameters{shape}, "
            f"more than the {format_count(model.params)} of the model"
        )
    else:
        return
    lower = [rank for rank in (16, 8, 4, 2, 1) if rank < words.lora and adapters(rank) < model.params]
    leave = "leave --lora out to train all weights"
    raise ZplanError(message, f"use --lora {lower[0]}, or {leave}" if lower else leave)


def _precision(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    card = cluster.gpu
    if card is None or words.precision is None:
        return
    needed = "bf16" if words.precision in (Precision.BF16, Precision.BF16_PURE) else words.precision.value
    if needed in card.lacks:
        instead = "fp16" if needed == "bf16" and "fp16" not in card.lacks else "fp32" if needed != "fp32" else "bf16"
        raise ZplanError(
            f"{card.title} has no {needed}, so --precision {words.precision.value} cannot run on it",
            f"use --precision {instead}",
        )


def _flash(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    if words.attention is Attention.FLASH and not has_flash(words.precision, cluster):
        card = cluster.gpu
        cannot = (
            "takes 16-bit numbers"
            if words.precision is Precision.FP32 or card is None
            else f"has no kernel for {card.title}"
        )
        raise ZplanError(f"flash attention {cannot}: --attention flash cannot run", "use --attention sdpa")


RULES: tuple[Rule, ...] = (
    _ranks,
    _stage,
    _offload,
    _nvme,
    _deepspeed_only,
    _model_bounds,
    _adapters,
    _precision,
    _flash,
)


def check(words: JobWords, engine: Engine, model: ModelSpec, cluster: ClusterSpec) -> None:
    """Refuse what cannot be meant.

    Args:
        words: What was said.
        engine: The engine that was said or assumed.
        model: The model.
        cluster: The hardware.

    Raises:
        ZplanError: the first contradiction, with flags that work.
    """
    for rule in RULES:
        rule(words, engine, model, cluster)
