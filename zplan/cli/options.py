"""Options that verbs share, as dataclasses of the words typed; ``None`` where nothing was said.

What the words mean is decided in ``zplan.cli.parse``; defaults are applied in ``zplan.cli.plan``, where they can be
told apart from what was said.
"""

from dataclasses import dataclass
from typing import Annotated

from typer import Option

MODEL, HARDWARE, JOB, SAVERS, OUTPUT = "Model", "Hardware", "Job", "Memory savers", "Output"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """Everything that describes a plan: model, hardware and job."""

    params: Annotated[
        str | None,
        Option("--params", metavar="N", rich_help_panel=MODEL, help="Number of parameters: 7B, 6.7b, 350M, 1.8T, 7e9."),
    ] = None
    model: Annotated[
        str | None,
        Option(
            "--model",
            metavar="NAME",
            rich_help_panel=MODEL,
            help="A preset (`zplan presets ls models`), a config.json or its folder, or a hub id.",
        ),
    ] = None
    gpus: Annotated[
        str | None, Option("--gpus", metavar="N", rich_help_panel=HARDWARE, help="GPUs in all. Default: 1.")
    ] = None
    nodes: Annotated[
        str | None,
        Option("--nodes", metavar="M", rich_help_panel=HARDWARE, help="Nodes. Default: 1 up to 8 GPUs, N/8 above."),
    ] = None
    gpu: Annotated[
        str | None,
        Option("--gpu", metavar="CARD", rich_help_panel=HARDWARE, help="A card: a100-80g, `zplan presets ls gpus`."),
    ] = None
    gpu_mem: Annotated[
        str | None,
        Option(
            "--gpu-mem", metavar="SIZE", rich_help_panel=HARDWARE, help="Memory of one card: 80 (GiB), 80GB, 81559MiB."
        ),
    ] = None
    node: Annotated[
        str | None,
        Option(
            "--node", metavar="NODE", rich_help_panel=HARDWARE, help="A machine: dgx-h100, `zplan presets ls nodes`."
        ),
    ] = None
    host_mem: Annotated[
        str | None,
        Option("--host-mem", metavar="SIZE", rich_help_panel=HARDWARE, help="RAM of one node: 512 (GiB), 2TB."),
    ] = None
    nvme: Annotated[
        str | None,
        Option("--nvme", metavar="SIZE", rich_help_panel=HARDWARE, help="NVMe space of one node: 4000 (GiB), 3.84TB."),
    ] = None
    engine: Annotated[
        str | None,
        Option(
            "--engine",
            metavar="ENGINE",
            rich_help_panel=JOB,
            help="deepspeed, fsdp2, fsdp1, ddp or single. Default: deepspeed.",
        ),
    ] = None
    stage: Annotated[
        str | None,
        Option(
            "--stage",
            metavar="STAGE",
            rich_help_panel=JOB,
            help="ZeRO stage 0, 1, 2, 3 or all; FSDP: 3 reshards after forward, 2 does not. Default: all.",
        ),
    ] = None
    precision: Annotated[
        str | None,
        Option(
            "--precision",
            metavar="DTYPE",
            rich_help_panel=JOB,
            help="bf16, fp16, fp32 or bf16-pure (no fp32 master copy). Default: bf16, or fp16 on a card without it.",
        ),
    ] = None
    optimizer: Annotated[
        str | None,
        Option(
            "--optimizer",
            metavar="NAME",
            rich_help_panel=JOB,
            help="adamw (fused, fp32 moments), or a name that Hugging Face's `optim` takes. Default: adamw.",
        ),
    ] = None
    micro_batch: Annotated[
        str | None,
        Option("--micro-batch", metavar="B", rich_help_panel=JOB, help="Sequences per GPU and micro-step. Default: 1."),
    ] = None
    seq_len: Annotated[
        str | None,
        Option(
            "--seq-len",
            metavar="S",
            rich_help_panel=JOB,
            help="Tokens per sequence: 4096, 4k (= 4096). Default: 2048, or the model's maximum if less.",
        ),
    ] = None
    grad_accum: Annotated[
        str | None,
        Option("--grad-accum", metavar="G", rich_help_panel=JOB, help="Micro-steps per optimizer step. Default: 1."),
    ] = None
    attention: Annotated[
        str | None,
        Option("--attention", metavar="KERNEL", rich_help_panel=JOB, help="flash, sdpa or eager. Default: flash."),
    ] = None
    loss: Annotated[
        str | None,
        Option(
            "--loss",
            metavar="LOSS",
            rich_help_panel=JOB,
            help="standard (whole logits), chunked or fused. Default: standard.",
        ),
    ] = None
    compile: Annotated[bool, Option("--compile", rich_help_panel=JOB, help="The model runs under torch.compile.")] = (
        False
    )
    zero_init: Annotated[
        str | None,
        Option(
            "--zero-init",
            metavar="on|off",
            rich_help_panel=JOB,
            help="Build the model already sharded (zero.Init). Default: on for stage 3.",
        ),
    ] = None
    rank: Annotated[
        str | None,
        Option("--rank", metavar="K", rich_help_panel=JOB, help="Whose memory: a rank, or `worst`. Default: 0."),
    ] = None
    offload: Annotated[
        str | None,
        Option(
            "--offload",
            metavar="WHAT",
            rich_help_panel=SAVERS,
            help="none, optimizer (states and step on the host), or all (parameters too, stage 3).",
        ),
    ] = None
    offload_to: Annotated[
        str | None,
        Option("--offload-to", metavar="WHERE", rich_help_panel=SAVERS, help="cpu, or nvme (stage 3). Default: cpu."),
    ] = None
    checkpointing: Annotated[
        str | None,
        Option(
            "--checkpointing",
            metavar="HOW",
            rich_help_panel=SAVERS,
            help="Activation checkpointing: none, full, selective, or every-K (one block in K). Default: none.",
        ),
    ] = None
    lora: Annotated[
        str | None,
        Option("--lora", metavar="RANK", rich_help_panel=SAVERS, help="Train adapters of this rank on frozen weights."),
    ] = None
    quantize: Annotated[
        str | None,
        Option(
            "--quantize", metavar="FORMAT", rich_help_panel=SAVERS, help="Frozen weights in nf4 or int8 (with --lora)."
        ),
    ] = None
    hpz: Annotated[
        str | None,
        Option(
            "--hpz",
            metavar="N",
            rich_help_panel=SAVERS,
            help="ZeRO++ secondary shards over N ranks (zero_hpz_partition_size, stage 3).",
        ),
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputOptions:
    """How the answer is shown."""

    json: Annotated[bool, Option("--json", rich_help_panel=OUTPUT, help="One JSON object; sizes are bytes.")] = False
    explain: Annotated[
        bool,
        Option(
            "--explain", rich_help_panel=OUTPUT, help="Show each term's formula, with this plan's numbers, and source."
        ),
    ] = False
    unit: Annotated[
        str | None,
        Option("--unit", metavar="UNIT", rich_help_panel=OUTPUT, help="GiB (2^30 bytes) or GB (10^9). Default: GiB."),
    ] = None
    fail_if_oom: Annotated[
        bool, Option("--fail-if-oom", rich_help_panel=OUTPUT, help="Exit with 3 when nothing fits.")
    ] = False
