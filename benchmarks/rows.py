"""Turns rows of a file like ``benchmarks/data/measured.yaml`` into plans: one place, the same rules for every row.

A rule looks at what a row says (engine, precision, architecture), never at its id or source. What a plan cannot express
is a :class:`Skipped` with the reason, not a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml
from rowmodels import model_of
from rowwords import (
    UNREADABLE,
    NoPlanError,
    Row,
    attention_of,
    everything,
    implementation_of,
    kernels_of,
    section,
    text,
    wrong_kind,
)

from zplan.advice.work import PLAIN, Kernels
from zplan.errors import ZplanError
from zplan.inputs.presets import GPUS, find, list_gpus, load_gpu
from zplan.memory.optimizers import OPTIMIZERS
from zplan.spec import (
    Checkpointing,
    ClusterSpec,
    Engine,
    GpuSpec,
    Job,
    Lora,
    Loss,
    NodeSpec,
    Offload,
    Plan,
    Precision,
    Quantize,
)

DATA = Path(__file__).parent / "data" / "measured.yaml"
NODE_SIZE = 8
OLD_TORCH = re.compile(r"torch (1\.|2\.[0-5](\.|\b))")
"""A row that names a torch up to 2.5 (before 2025) ran with transformers 4, up to 4.4x: of some families it is other code."""
UNSAID_ADAMW = "form of AdamW not stated: fused assumed; torch's foreach form needs one more copy at the step"
DEFAULT_CHECKPOINTING = "activation checkpointing is the framework's default: full assumed, off possible"
UNSAID_CHECKPOINTING = "activation checkpointing not stated: none assumed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Skipped:
    """A row that no plan expresses."""

    id: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RowPlan:
    """A row as a plan."""

    id: str
    plan: Plan
    replicas: int = 1
    """Copies of the sharded group (HSDP): the plan's cluster is one of them."""
    notes: tuple[str, ...] = ()
    """What had to be read into the row."""
    kernels: Kernels = PLAIN
    """What the row says of its kernels."""


def load_rows(path: Path | None = None) -> list[dict[str, Any]]:
    """Rows of a data file; the project's own by default."""
    try:
        with (path or DATA).open(encoding="utf-8") as file:
            rows = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, RecursionError, ValueError) as error:
        raise SystemExit(f"error: {path or DATA} cannot be read: {' '.join(str(error).split())[:200]}") from None
    if not isinstance(rows, list) or not all(isinstance(row, dict) and "id" in row for row in rows):
        raise SystemExit(f"error: {path or DATA} is not a list of rows with ids")
    return rows


def row_plan(row: Row, *, memory: bool = False) -> RowPlan | Skipped:
    """The plan that a row describes, or why there is none.

    Args:
        row: The row.
        memory: Only memory is asked for: what matters to speed alone (which card of that size, float8 products) may be
            unknown.
    """
    notes: list[str] = []
    try:
        _refuse(row, notes, memory)
        model = model_of(row, notes)
        engine, stage = _engine(row)
        cluster, replicas = _cluster(row, notes, memory)
        if engine is Engine.DDP and cluster.gpus == 1:
            engine = Engine.SINGLE
        job = _job(row, model.family, engine, stage, notes, memory)
        kernels = kernels_of(row)
    except (NoPlanError, ZplanError) as error:
        return Skipped(id=str(row["id"]), why=str(error))
    except UNREADABLE as error:
        return Skipped(id=str(row["id"]), why=wrong_kind(error))
    plan = Plan(model=model, cluster=cluster, job=job)
    return RowPlan(id=str(row["id"]), plan=plan, replicas=replicas, notes=tuple(notes), kernels=kernels)


def _refuse(row: Row, notes: list[str], memory: bool) -> None:
    """What zplan does not plan at all."""
    parallel = row.get("parallel") or {}
    split = [name for name in ("tp", "pp", "cp", "ep", "sp") if int(parallel.get(name) or 1) > 1]
    if split or re.search(r"ulysses sp[2-9]|cp[2-9]", text(row, "engine")):
        raise NoPlanError(f"splits the model or the sequence ({', '.join(split) or text(row, 'engine')})")
    if "megatron" in text(row, "engine") or "llm.c" in text(row, "engine"):
        raise NoPlanError(f"engine {row['engine']} is not planned")
    if "float8" in text(row, "precision"):
        if not memory:
            raise NoPlanError("float8 matmuls")
        notes.append("float8 matmuls taken as 16-bit ones: what autograd keeps in 8 bits is not known")
    if "type" in (row.get("arch") or {}):
        raise NoPlanError(f"architecture: {row['arch']['type']}")
    for key in ("micro_batch", "seq", "n_gpus"):
        if not _counts(row.get(key)):
            raise NoPlanError(f"{key} is not known")
    if row.get("grad_accum") and not _counts(row["grad_accum"]):
        raise NoPlanError("grad_accum is no number of micro-steps")
    if _offloads_activations(row) and not text(row, "act_ckpt").startswith("full"):
        raise NoPlanError("activations of blocks that are not checkpointed are offloaded")


def _counts(value: object) -> bool:
    """Whether this is a number of things."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**40


def _offloads_activations(row: Row) -> bool:
    return re.search(r"activations[^;]*->cpu", text(row, "offload") + text(row, "act_ckpt")) is not None


def _engine(row: Row) -> tuple[Engine, int]:
    """Engine and stage from the row's words."""
    words = text(row, "engine")
    stage = re.search(r"zero-?([0-3])", words)
    if "deepspeed" in words and stage:
        return Engine.DEEPSPEED, int(stage[1])
    kept = "shard_grad_op" in words or "reshard_after_forward=never" in everything(row)
    if "fsdp2" in words:
        return Engine.FSDP2, 2 if kept else 3
    if "fsdp" in words:
        return Engine.FSDP1, 2 if kept else 3
    if "ddp" in words:
        return Engine.DDP, 0
    if words.startswith("single"):
        return Engine.SINGLE, 0
    raise NoPlanError(f"engine {row.get('engine')} is not planned")


@lru_cache(maxsize=64)
def card_preset(words: str) -> tuple[GpuSpec, str | None]:
    """The preset of a card by its words; the same card with other memory where that is all there is."""
    name = words.lower().replace("a100/a800", "a100")
    if "/" in name:
        raise NoPlanError(f"which card it was is not certain: {words}")
    name = re.sub(r"gib?$|gb?$", "g", name)
    name = re.sub(r"^a6000ada", "rtx-6000-ada", re.sub(r"^rtx(?=\d)", "rtx-", name))
    if find(GPUS, name) is not None:
        return load_gpu(name), None
    base, _, size = name.rpartition("-")
    base = base or size
    near = [load_gpu(preset) for preset in list_gpus() if re.fullmatch(re.escape(base) + r"-\d+g", preset)]
    if not near:
        raise NoPlanError(f"no preset for the card {words}")
    memory = int(re.sub(r"\D", "", size) or 0)
    gpu = min(near, key=lambda card: abs(card.label_gib - memory) if memory else -card.label_gib)
    return gpu, f"{words} taken as {gpu.title}"


def _card_of_size(row: Row, notes: list[str]) -> GpuSpec:
    """Of the cards with the row's memory the one with the least that a process can use."""
    size = row.get("gpu_mem_gb")
    cards = [load_gpu(name) for name in list_gpus()]
    near = [card for card in cards if isinstance(size, int | float) and abs(card.label_gib - size) <= 1]
    words = re.findall(r"\d{3,}", str(row["gpu"]).lower())
    near = [card for card in near if any(word in card.name for word in words)] or near
    if not near:
        raise NoPlanError(f"no card with {size} GB")
    found = min(near, key=lambda card: card.memory_bytes)
    notes.append(f"{row['gpu']}: memory of {found.title} taken, the least of its size")
    return found


def _cluster(row: Row, notes: list[str], memory: bool = False) -> tuple[ClusterSpec, int]:
    try:
        gpu, note = card_preset(str(row["gpu"]))
        notes.extend([note] if note else [])
    except NoPlanError:
        if not memory:
            raise
        gpu = _card_of_size(row, notes)
    gpus = int(row["n_gpus"])
    parallel = row.get("parallel") or {}
    replicas = 1
    if "hsdp" in text(row, "engine") and parallel.get("dp_replicate"):
        replicas, gpus = int(parallel["dp_replicate"]), int(parallel["dp_shard"])
    nodes = max(1, gpus // NODE_SIZE) if gpus % NODE_SIZE == 0 else 1
    said = section(row, "extra")
    if said.get("nodes") is not None:
        nodes = int(said["nodes"])
    label = row.get("gpu_mem_gb")
    capacity = gpu.memory_bytes
    if isinstance(label, int | float) and abs(label - gpu.label_gib) > 1:
        capacity = int(label * gpu.memory_bytes / gpu.label_gib)
    node = _node(gpu, gpus // nodes, float(said["network_gbps"])) if said.get("network_gbps") is not None else None
    return ClusterSpec(gpus=gpus, nodes=nodes, gpu=gpu, gpu_capacity_bytes=capacity, node=node), replicas


def _node(gpu: GpuSpec, gpus: int, gbps: float) -> NodeSpec:
    """A machine of these cards with the row's own network."""
    return NodeSpec(
        name="as the row says",
        title="as the row says",
        gpu=gpu.name,
        gpus_per_node=gpus,
        host_memory_bytes=0,
        network_bandwidth=gbps * 1e9 / 8,
        intra_link=gpu.link,
        intra_bandwidth=gpu.link_bandwidth,
    )


def _precision(row: Row) -> Precision:
    """Number formats: who holds fp32 masters decides, not the compute dtype."""
    words, states = text(row, "precision"), text(row, "state_dtypes")
    if words == "fp32":
        return Precision.FP32
    if row.get("method") == "qlora" and re.search(r"norms? (in )?fp32|fp32 norms?", everything(row)):
        return Precision.BF16  # after peft's prepare_model_for_kbit_training
    if row.get("method") in ("lora", "qlora") and "fp32 weights" not in states:
        return Precision.BF16_PURE
    if ("pure" in words and "mp pure" not in words) or "bf16-true" in words or "pure bf16" in states:
        return Precision.BF16_PURE
    if "bf16-weights" in words:
        return Precision.BF16_PURE
    if words == "bf16" and row.get("method") == "full" and "fp32" not in states:
        return Precision.BF16_PURE
    return Precision.FP16 if "fp16" in words and "bf16" not in words else Precision.BF16


_OPTIMIZERS = (
    (r"8-?bit.*in-backward", "adamw_8bit_in_backward"),
    (r"in-backward", "adamw_in_backward"),
    (r"paged.*8-?bit|8-?bit.*paged", "paged_adamw_8bit"),
    (r"8-?bit", "adamw_8bit"),
    (r"paged", "paged_adamw"),
    # A loop over parameters has temporaries of one at a time, as a fused kernel has none.
    (r"fused|cpu_adam|for-loop", "adamw"),
    (r"adafactor", "adafactor"),
)
"""Words of a row -> optimizer; the first that is found counts."""


def optimizer_of(row: Row, notes: list[str]) -> str:
    """The optimizer by its words; a note where they leave something open."""
    words = text(row, "optimizer")
    known = next((name for pattern, name in _OPTIMIZERS if re.search(pattern, words)), None)
    if known is not None:
        return known
    if words in ("adam", "adamw"):
        notes.append(UNSAID_ADAMW)
        return "adamw"
    if "adam" in words:
        # As transformers and torch.optim build it: foreach; DeepSpeed builds its own.
        deepspeed = "deepspeed" in text(row, "engine") and "torch" not in words
        return "adamw" if deepspeed else "adamw_torch"
    name = words.split(" ")[0]
    if name in OPTIMIZERS:
        return name
    notes.append("optimizer not stated: AdamW assumed")
    return "adamw"


def _reentrant(row: Row) -> bool:
    """Whether transformers' own checkpoints were reentrant: before version 5 unless told otherwise.

    They lie around a block's unit. A checkpoint wrapper of torch lies inside it, where that makes no difference.
    """
    words = everything(row)
    if "hf gradient checkpointing" not in words:
        return False
    said = re.search(r"(non-|no_|not )?reentrant", words)
    return said[1] is None if said is not None else OLD_TORCH.search(words) is not None


def _checkpointing(row: Row, notes: list[str], memory: bool) -> Checkpointing:
    words = text(row, "act_ckpt")
    if words.startswith("full"):
        notes.extend([DEFAULT_CHECKPOINTING] if "default" in words else [])
        return Checkpointing(kind="full", offloaded=_offloads_activations(row), reentrant=_reentrant(row))
    if words.startswith("selective-op"):
        return Checkpointing(kind="selective-op")
    if words.startswith("none"):
        return Checkpointing()
    every = re.search(r"every[ -](\d+)", words)
    if words.startswith(("selective-layer", "every")) and every is not None:
        return Checkpointing(kind="every-k", every=int(every[1]))
    if memory and words in ("", "not stated", "unknown"):
        notes.append(UNSAID_CHECKPOINTING)
        return Checkpointing()
    raise NoPlanError(f"activation checkpointing {words or 'not stated'}")


def _loss(row: Row, family: str, notes: list[str]) -> Loss:
    words = text(row, "ce")
    if family == "gpt_bigcode" and OLD_TORCH.search(everything(row)) and "standard" in words:
        notes.append("transformers 4's loss of GPT BigCode, on 16-bit logits: 8 bytes per logit instead of 12")
        return Loss.IN_PLACE
    if "fused-linear" in words or "cutcross" in words or "cut cross" in words:
        return Loss.FUSED
    if "fused" in words:
        return Loss.IN_PLACE
    return Loss.CHUNKED if "chunk" in words else Loss.STANDARD


def _lora(row: Row, notes: list[str]) -> Lora | None:
    if row.get("method") not in ("lora", "qlora"):
        return None
    said = row.get("lora") or {}
    rank = said.get("r") or said.get("rank") or 16
    targets = said.get("targets")
    dropout = bool(said.get("dropout"))
    more = {
        "dropout": dropout,
        "own_units": re.search(r"flat-?param", everything(row)) is None,
        "fp32_base": "fp32 weights" in text(row, "state_dtypes"),
    }
    if isinstance(targets, str) and "all" in targets:
        notes.append(f"LoRA targets {targets} taken as every linear layer but the head")
        return Lora(rank=rank, **more)
    if not isinstance(targets, list):
        if targets is not None:
            notes.append(f"LoRA targets {targets} taken as the query, key and value projections")
            return Lora(rank=rank, targets=("q_proj", "k_proj", "v_proj"), **more)
        return Lora(rank=rank, **more)
    aliases = {
        "k": "k_proj",
        "q": "q_proj",
        "v": "v_proj",
        "up": "up_proj",
        "down": "down_proj",
        "gate": "gate_proj",
        "output_proj": "o_proj",
        "w1": "gate_proj",
        "w2": "down_proj",
        "w3": "up_proj",
        "attn.c_proj": "o_proj",
    }
    names: list[str] = []
    for target in targets:
        word = str(target).split(" ")[0]
        names += ["q_proj", "k_proj", "v_proj"] if word == "c_attn" else [aliases.get(word, word)]
    if {"q_proj", "k_proj", "v_proj"} & set(names):
        names += ["query_key_value", "qkv_proj", "c_attn", "Wqkv"]
    if {"gate_proj", "up_proj"} & set(names):
        names += ["gate_up_proj"]
    return Lora(rank=rank, targets=tuple(names), **more)


def _offload(row: Row, engine: Engine) -> Offload:
    words = text(row, "offload")
    if words in ("", "none", "activations->cpu"):
        return Offload.NONE
    if engine in (Engine.DDP, Engine.SINGLE):
        raise NoPlanError(f"offload {words} without a sharding engine")
    if "params" in words:
        return Offload.ALL
    if "optimizer" in words:
        return Offload.OPTIMIZER
    raise NoPlanError(f"offload {words}")


def _grad_accum(row: Row, notes: list[str]) -> int:
    if row.get("grad_accum") is None and row.get("method") == "full":
        notes.append("gradient accumulation not stated: two micro-steps assumed, which need no less than one")
        return 2
    return int(row.get("grad_accum") or 1)


def _quantize(words: str, notes: list[str]) -> Quantize:
    if "int8" in words or "8bit" in words or "8-bit" in words:
        return Quantize.INT8
    if "gptq" in words:
        notes.append("GPTQ's 4-bit weights (half a byte, a scale and a zero per group) taken as nf4-dq")
        return Quantize.NF4_DOUBLE
    return Quantize.NF4_DOUBLE if re.search(r"-dq|double", words) else Quantize.NF4


def _job(row: Row, family: str, engine: Engine, stage: int, notes: list[str], memory: bool) -> Job:
    lora = _lora(row, notes)
    quantize = None
    if row.get("method") == "qlora":
        quantize = _quantize(str((row.get("lora") or {}).get("quant")).lower(), notes)
    job = Job(
        engine=engine,
        stage=stage,
        offload=_offload(row, engine),
        precision=_precision(row),
        optimizer=optimizer_of(row, notes),
        micro_batch=int(row["micro_batch"]),
        seq_len=int(row["seq"]),
        grad_accum=_grad_accum(row, notes),
        checkpointing=_checkpointing(row, notes, memory),
        attention=attention_of(row),
        loss=_loss(row, family, notes),
        implementation=implementation_of(row),
        compile=bool(row.get("compile")),
        lora=lora,
        quantize=quantize,
    )
    if engine is Engine.SINGLE:
        return replace(job, stage=0)
    return job
