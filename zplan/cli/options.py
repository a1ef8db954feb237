"""Options that verbs share, as dataclasses of the words typed; ``None`` where nothing was said.

What the words mean is decided in ``zplan.cli.parse``; defaults are applied in ``zplan.cli.plan``, where they can be
told apart from what was said.
"""

from dataclasses import dataclass
from typing import Annotated, Any

from typer import Option

MODEL, HARDWARE, JOB, SAVERS, OUTPUT = "Model", "Hardware", "Job", "Memory savers", "Output"
PHASES = "Phases beside the step"


def _value(flag: str, metavar: str, panel: str, text: str) -> Any:
    """An option with a value; its default is told in the text, since None only means that nothing was said."""
    return Option(flag, metavar=metavar, rich_help_panel=panel, help=text, show_default=False)


def _flag(flag: str, panel: str, text: str) -> Any:
    """An option without a value."""
    return Option(flag, rich_help_panel=panel, help=text, show_default=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Everything that describes a plan: model, hardware and job."""

    params: Annotated[
        str | None,
        _value("--params", "N", MODEL, "Number of parameters: 7B, 6.7b, 350M, 1.8T, 7e9."),
    ] = None
    model: Annotated[
        str | None,
        _value(
            "--model", "NAME", MODEL, "A preset (`zplan presets ls models`), a config.json or its folder, or a hub id."
        ),
    ] = None
    gpus: Annotated[str | None, _value("--gpus", "N", HARDWARE, "GPUs in all. Default: 1.")] = None
    nodes: Annotated[
        str | None,
        _value("--nodes", "M", HARDWARE, "Nodes. Default: 1 up to 8 GPUs, N/8 above."),
    ] = None
    gpu: Annotated[
        str | None,
        _value("--gpu", "CARD", HARDWARE, "A card: a100-80g, `zplan presets ls gpus`."),
    ] = None
    gpu_mem: Annotated[
        str | None,
        _value("--gpu-mem", "SIZE", HARDWARE, "Memory of one card: 80 (GiB), 80GB, 81559MiB."),
    ] = None
    node: Annotated[
        str | None,
        _value("--node", "NODE", HARDWARE, "A machine: dgx-h100, `zplan presets ls nodes`."),
    ] = None
    host_mem: Annotated[
        str | None,
        _value("--host-mem", "SIZE", HARDWARE, "RAM of one node: 512 (GiB), 2TB."),
    ] = None
    nvme: Annotated[
        str | None,
        _value("--nvme", "SIZE", HARDWARE, "NVMe space of one node: 4000 (GiB), 3.84TB."),
    ] = None
    engine: Annotated[
        str | None,
        _value("--engine", "ENGINE", JOB, "deepspeed, fsdp2, fsdp1, ddp or single. Default: deepspeed."),
    ] = None
    stage: Annotated[
        str | None,
        _value(
            "--stage",
            "STAGE",
            JOB,
            "ZeRO stage 0, 1, 2, 3 or all; FSDP: 3 reshards after forward, 2 does not. Default: all.",
        ),
    ] = None
    precision: Annotated[
        str | None,
        _value(
            "--precision",
            "DTYPE",
            JOB,
            "bf16, fp16, fp32 or bf16-pure (no fp32 master copy). Default: bf16, or fp16 on a card without it.",
        ),
    ] = None
    optimizer: Annotated[
        str | None,
        _value(
            "--optimizer",
            "NAME",
            JOB,
            "adamw (fused, fp32 moments), or a name that Hugging Face's `optim` takes. Default: adamw.",
        ),
    ] = None
    micro_batch: Annotated[
        str | None,
        _value("--micro-batch", "B", JOB, "Sequences per GPU and micro-step. Default: 1."),
    ] = None
    seq_len: Annotated[
        str | None,
        _value(
            "--seq-len",
            "S",
            JOB,
            "Tokens per sequence: 4096, 4k (= 4096). Default: 2048, or the model's maximum if less.",
        ),
    ] = None
    grad_accum: Annotated[
        str | None,
        _value("--grad-accum", "G", JOB, "Micro-steps per optimizer step. Default: 1."),
    ] = None
    attention: Annotated[
        str | None,
        _value(
            "--attention",
            "KERNEL",
            JOB,
            "flash, sdpa, math (sdpa without flash) or eager. Default: flash; math without it.",
        ),
    ] = None
    loss: Annotated[
        str | None,
        _value("--loss", "LOSS", JOB, "standard (whole logits), chunked, fused or in-place. Default: standard."),
    ] = None
    compile: Annotated[bool, _flag("--compile", JOB, "The model runs under torch.compile.")] = False
    zero_init: Annotated[
        str | None,
        _value("--zero-init", "on|off", JOB, "Build the model already sharded (zero.Init). Default: on for stage 3."),
    ] = None
    rank: Annotated[
        str | None,
        _value("--rank", "K", JOB, "Whose memory: a rank, or `worst`. Default: 0."),
    ] = None
    ds_config: Annotated[
        str | None,
        _value("--ds-config", "FILE", JOB, "A ds_config.json: what it says counts where no flag says otherwise."),
    ] = None
    offload: Annotated[
        str | None,
        _value(
            "--offload",
            "WHAT",
            SAVERS,
            "none, optimizer (states and step on the host), or all (parameters too, stage 3).",
        ),
    ] = None
    offload_to: Annotated[
        str | None,
        _value("--offload-to", "WHERE", SAVERS, "cpu, or nvme (stage 3). Default: cpu."),
    ] = None
    checkpointing: Annotated[
        str | None,
        _value(
            "--checkpointing",
            "HOW",
            SAVERS,
            "Activation checkpointing: none, full, selective, or every-K (one block in K). Default: none.",
        ),
    ] = None
    lora: Annotated[
        str | None,
        _value("--lora", "RANK", SAVERS, "Train adapters of this rank on frozen weights."),
    ] = None
    quantize: Annotated[
        str | None,
        _value(
            "--quantize",
            "FORMAT",
            SAVERS,
            "Frozen weights in nf4, nf4-dq (its constants quantized too) or int8 (with --lora).",
        ),
    ] = None
    hpz: Annotated[
        str | None,
        _value("--hpz", "N", SAVERS, "ZeRO++ secondary shards over N ranks (zero_hpz_partition_size, stage 3)."),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseOptions:
    """Phases beside the training step, and how they run."""

    phases: Annotated[
        str | None,
        _value("--phases", "LIST", PHASES, "Count these too, separated by commas: load, eval, save; or all."),
    ] = None
    eval_batch: Annotated[
        str | None,
        _value(
            "--eval-batch", "B", PHASES, "Sequences per GPU of an evaluation batch. Default: 8, as TrainingArguments."
        ),
    ] = None
    eval_logits: Annotated[
        str | None,
        _value(
            "--eval-logits",
            "K",
            PHASES,
            "Batches whose logits stay on the GPU for metrics (eval_accumulation_steps). Default: 0, the loss alone.",
        ),
    ] = None
    state_dict: Annotated[
        str | None,
        _value(
            "--state-dict",
            "KIND",
            PHASES,
            "full (collected on rank 0's host), full-gpu (FSDP: left on every GPU, as model.state_dict() does by itself) or "
            "sharded. Default: full; stage 3: what stage3_gather_16bit_weights_on_model_save says.",
        ),
    ] = None
    load_once: Annotated[
        bool,
        _flag("--load-once", PHASES, "FSDP: one process per node reads the checkpoint (cpu_ram_efficient_loading)."),
    ] = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How the answer is shown."""

    json: Annotated[bool, _flag("--json", OUTPUT, "One JSON object; sizes are bytes.")] = False
    explain: Annotated[
        bool,
        _flag("--explain", OUTPUT, "Show each term's formula, with this plan's numbers, and source."),
    ] = False
    unit: Annotated[
        str | None,
        _value("--unit", "UNIT", OUTPUT, "GiB (2^30 bytes) or GB (10^9). Default: GiB."),
    ] = None
    fail_if_oom: Annotated[bool, _flag("--fail-if-oom", OUTPUT, "Exit with 3 when nothing fits.")] = False
