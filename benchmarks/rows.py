"""Turns rows of a file like ``benchmarks/data/measured.yaml`` into plans: one place, the same rules for every row.

A rule looks at what a row says (engine, precision, architecture), never at its id or source. What a plan cannot express
is a :class:`Skipped` with the reason, not a guess.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from zplan.errors import ZplanError
from zplan.inputs.hf import read_config
from zplan.inputs.presets import GPUS, MODELS, find, list_gpus, load_gpu, load_model
from zplan.memory.optimizers import OPTIMIZERS
from zplan.spec import (
    Attention,
    Checkpointing,
    ClusterSpec,
    Engine,
    GpuSpec,
    Job,
    Lora,
    Loss,
    ModelSpec,
    Offload,
    Plan,
    Precision,
    Quantize,
)

DATA = Path(__file__).parent / "data" / "measured.yaml"
NODE_SIZE = 8
UNSAID_ADAMW = "form of AdamW not stated: fused assumed; torch's foreach form needs one more copy at the step"
UNSAID_CHECKPOINTING = "activation checkpointing not stated: none assumed"
Row = Mapping[str, Any]


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


class NoPlanError(Exception):
    """Why a row has no plan."""


def load_rows(path: Path | None = None) -> list[dict[str, Any]]:
    """Rows of a data file; the project's own by default."""
    with (path or DATA).open(encoding="utf-8") as file:
        rows = yaml.load(file, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
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
        model = _model(row, notes)
        engine, stage = _engine(row)
        cluster, replicas = _cluster(row, notes, memory)
        if engine is Engine.DDP and cluster.gpus == 1:
            engine = Engine.SINGLE
        job = _job(row, engine, stage, notes, memory)
    except (NoPlanError, ZplanError) as error:
        return Skipped(id=str(row["id"]), why=str(error))
    plan = Plan(model=model, cluster=cluster, job=job)
    return RowPlan(id=str(row["id"]), plan=plan, replicas=replicas, notes=tuple(notes))


def _text(row: Row, key: str) -> str:
    value = row.get(key)
    return "" if value is None else str(value).lower()


def _everything(row: Row) -> str:
    return " ".join(str(row.get(key)) for key in ("engine", "note", "extra", "precision", "state_dtypes")).lower()


def _refuse(row: Row, notes: list[str], memory: bool) -> None:
    """What zplan does not plan at all."""
    parallel = row.get("parallel") or {}
    split = [name for name in ("tp", "pp", "cp", "ep", "sp") if int(parallel.get(name) or 1) > 1]
    if split or re.search(r"ulysses sp[2-9]|cp[2-9]", _text(row, "engine")):
        raise NoPlanError(f"splits the model or the sequence ({', '.join(split) or _text(row, 'engine')})")
    if "megatron" in _text(row, "engine") or "llm.c" in _text(row, "engine"):
        raise NoPlanError(f"engine {row['engine']} is not planned")
    if "float8" in _text(row, "precision"):
        if not memory:
            raise NoPlanError("float8 matmuls")
        notes.append("float8 matmuls taken as 16-bit ones: what autograd keeps in 8 bits is not known")
    if "type" in (row.get("arch") or {}):
        raise NoPlanError(f"architecture: {row['arch']['type']}")
    for key in ("micro_batch", "seq", "n_gpus"):
        if not isinstance(row.get(key), int):
            raise NoPlanError(f"{key} is not known")
    if _offloads_activations(row) and not (memory and _text(row, "act_ckpt").startswith("full")):
        raise NoPlanError("activations are offloaded")


def _offloads_activations(row: Row) -> bool:
    return re.search(r"activations[^;]*->cpu", _text(row, "offload") + _text(row, "act_ckpt")) is not None


@lru_cache(maxsize=256)
def _named_model(name: str) -> ModelSpec | None:
    return load_model(name) if find(MODELS, name) is not None else None


def _model(row: Row, notes: list[str]) -> ModelSpec:
    """A preset of that name and size, else an architecture built from ``arch``."""
    arch = _completed(row, notes)
    named = _named_model(str(row["model"]))
    named_tied = named is not None and named.tied_embeddings
    own_attention = named is not None and named.family in ("mpt", "bloom") and _attention(row) is Attention.FLASH
    if own_attention:
        notes.append("flash attention: other code than transformers', taken as a sequential GPT-NeoX's")
    if _implementation(row) != "transformers":
        notes.append("litgpt's model code; its head is never tied")
        arch["tied"] = False
        # transformers' Phi spells its activation function out, which keeps more than the kernel that litgpt calls.
        own_attention = named_tied or (named is not None and named.family == "phi")
    if (
        named is not None
        and not own_attention
        and (named.hidden_size, named.num_layers) == (arch.get("hidden"), arch.get("layers"))
    ):
        return named
    missing = [key for key in ("layers", "hidden", "heads", "ffn", "vocab") if not isinstance(arch.get(key), int)]
    if missing:
        raise NoPlanError(f"architecture lacks {', '.join(missing)}")
    config = _config(arch, int(row["seq"]), _attention(row) is Attention.FLASH, _implementation(row))
    notes.append(f"architecture built as {config['model_type']}")
    return read_config(config, name=str(row["model"]), source="arch of the row")


def _completed(row: Row, notes: list[str]) -> dict[str, Any]:
    """The architecture, with what follows from the number of parameters: an MLP of four times the width, the vocabulary."""
    arch = dict(row.get("arch") or {})
    hidden, layers, params = arch.get("hidden"), arch.get("layers"), row.get("params_b")
    if not isinstance(hidden, int) or not isinstance(layers, int) or "experts" in arch:
        return arch
    gated = "glu" in str(arch.get("mlp", "gelu" if "gpt" in str(row["model"]).lower() else "swiglu"))
    arch.setdefault("mlp", "swiglu" if gated else "gelu")
    if arch.get("ffn") is None and not gated:
        arch["ffn"] = 4 * hidden
        notes.append("MLP width not stated: four times the hidden size")
    if arch.get("vocab") is None and isinstance(params, int | float) and isinstance(arch.get("ffn"), int):
        heads, kv = arch.get("heads") or 1, arch.get("kv_heads") or arch.get("heads") or 1
        block = hidden * hidden * (2 + 2 * kv / heads) + (3 if gated else 2) * hidden * arch["ffn"]
        tables = 1 if arch.get("tied") is True else 2
        arch["vocab"] = max(1, int((params * 1e9 - layers * block) / (tables * hidden)))
        notes.append(f"vocabulary not stated: {arch['vocab']}, what the number of parameters leaves")
    return arch


def _config(arch: Mapping[str, Any], seq: int, flash: bool, code: str) -> dict[str, Any]:
    """A ``config.json`` with the sizes of ``arch`` in the family that is built like it."""
    heads, kv = arch["heads"], arch.get("kv_heads") or arch["heads"]
    tied = arch.get("tied") is True or "tied in hf" in str(arch.get("tied")).lower()
    common = {
        "vocab_size": arch["vocab"],
        "hidden_size": arch["hidden"],
        "intermediate_size": arch["ffn"],
        "num_hidden_layers": arch["layers"],
        "num_attention_heads": heads,
        "max_position_embeddings": max(seq, 2048),
        "tie_word_embeddings": tied,
    }
    gated = "glu" in str(arch.get("mlp", "swiglu"))
    if gated:
        grouped = {**common, "num_key_value_heads": kv}
        if "experts" in arch:
            moe = {"num_local_experts": arch["experts"], "num_experts_per_tok": arch.get("experts_per_token", 2)}
            return {**grouped, **moe, "model_type": "mixtral", "sliding_window": None}
        if arch.get("qkv_bias"):
            return {**grouped, "model_type": "qwen2"}
        if arch.get("head_dim") and arch["head_dim"] * heads != arch["hidden"]:
            return {**grouped, "model_type": "mistral", "head_dim": arch["head_dim"], "sliding_window": None}
        return {**grouped, "model_type": "llama"}
    if arch.get("bias") is False and arch["ffn"] == 4 * arch["hidden"] and not flash:
        return {
            "model_type": "mpt",
            "vocab_size": arch["vocab"],
            "d_model": arch["hidden"],
            "n_heads": heads,
            "n_layers": arch["layers"],
            "max_seq_len": max(seq, 2048),
            "tie_word_embeddings": tied,
        }
    if arch.get("parallel_residual") and kv != heads:
        several = {"new_decoder_architecture": True, "num_kv_heads": kv} if kv > 1 else {"multi_query": True}
        sizes = {"hidden_size": arch["hidden"], "vocab_size": arch["vocab"], "tie_word_embeddings": tied}
        counts = {"num_hidden_layers": arch["layers"], "num_attention_heads": heads}
        return {**sizes, **counts, **several, "model_type": "falcon", "parallel_attn": True, "bias": False}
    plain = arch.get("bias") is False and arch["ffn"] == 4 * arch["hidden"] and flash
    if arch.get("parallel_residual") or plain or (code == "litgpt" and kv == heads):
        return {**common, "model_type": "gpt_neox", "use_parallel_residual": bool(arch.get("parallel_residual"))}
    if "alibi" in str(arch.get("pos", "")):
        sizes = {"hidden_size": arch["hidden"], "n_head": heads, "n_layer": arch["layers"], "vocab_size": arch["vocab"]}
        return {**sizes, "model_type": "bloom", "tie_word_embeddings": tied}
    return {
        "model_type": "gpt2" if kv == heads else "gpt_bigcode",
        **({} if kv == heads else {"multi_query": True}),
        "vocab_size": arch["vocab"],
        "n_embd": arch["hidden"],
        "n_inner": arch["ffn"],
        "n_head": heads,
        "n_layer": arch["layers"],
        "n_positions": max(seq, 1024),
        "tie_word_embeddings": tied,
        **({} if arch.get("dropout") else {"attn_pdrop": 0.0, "resid_pdrop": 0.0, "embd_pdrop": 0.0}),
    }


def _engine(row: Row) -> tuple[Engine, int]:
    """Engine and stage from the row's words."""
    words = _text(row, "engine")
    stage = re.search(r"zero-?([0-3])", words)
    if "deepspeed" in words and stage:
        return Engine.DEEPSPEED, int(stage[1])
    kept = "shard_grad_op" in words or "reshard_after_forward=never" in _everything(row)
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
    if "hsdp" in _text(row, "engine") and parallel.get("dp_replicate"):
        replicas, gpus = int(parallel["dp_replicate"]), int(parallel["dp_shard"])
    nodes = max(1, gpus // NODE_SIZE) if gpus % NODE_SIZE == 0 else 1
    label = row.get("gpu_mem_gb")
    capacity = gpu.memory_bytes
    if isinstance(label, int | float) and abs(label - gpu.label_gib) > 1:
        capacity = int(label * gpu.memory_bytes / gpu.label_gib)
    return ClusterSpec(gpus=gpus, nodes=nodes, gpu=gpu, gpu_capacity_bytes=capacity), replicas


def _precision(row: Row) -> Precision:
    """Number formats: who holds fp32 masters decides, not the compute dtype."""
    words, states = _text(row, "precision"), _text(row, "state_dtypes")
    if words == "fp32":
        return Precision.FP32
    if row.get("method") == "qlora" and re.search(r"norms? (in )?fp32|fp32 norms?", _everything(row)):
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


def _optimizer(row: Row, notes: list[str]) -> str:
    words = _text(row, "optimizer")
    if "in-backward" in words or "in backward" in words:
        return "adamw_8bit_in_backward" if re.search("8-?bit", words) else "adamw_in_backward"
    if "8bit" in words or "8-bit" in words:
        return "paged_adamw_8bit" if "paged" in words else "adamw_8bit"
    if "paged" in words:
        return "paged_adamw"
    if "fused" in words or "cpu_adam" in words or "for-loop" in words:
        return "adamw"  # a loop over parameters has temporaries of one at a time
    if "adafactor" in words:
        return "adafactor"
    if words in ("adam", "adamw"):
        notes.append(UNSAID_ADAMW)
        return "adamw"
    if "adam" in words:
        # As transformers and torch.optim build it: foreach; DeepSpeed builds its own.
        deepspeed = "deepspeed" in _text(row, "engine") and "torch" not in words
        return "adamw" if deepspeed else "adamw_torch"
    name = words.split(" ")[0]
    if name in OPTIMIZERS:
        return name
    notes.append("optimizer not stated: AdamW assumed")
    return "adamw"


def _checkpointing(row: Row, notes: list[str], memory: bool) -> Checkpointing:
    words = _text(row, "act_ckpt")
    if words.startswith("full"):
        return Checkpointing(kind="full", offloaded=_offloads_activations(row))
    if words.startswith("selective-op"):
        return Checkpointing(kind="selective-op")
    if words.startswith("none"):
        return Checkpointing()
    if memory and words in ("", "not stated", "unknown"):
        notes.append(UNSAID_CHECKPOINTING)
        return Checkpointing()
    raise NoPlanError(f"activation checkpointing {words or 'not stated'}")


def _loss(row: Row) -> Loss:
    words = _text(row, "ce")
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
        "own_units": re.search(r"flat-?param", _everything(row)) is None,
        "fp32_base": "fp32 weights" in _text(row, "state_dtypes"),
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
    words = _text(row, "offload")
    if words in ("", "none", "activations->cpu"):
        return Offload.NONE
    if engine in (Engine.DDP, Engine.SINGLE):
        raise NoPlanError(f"offload {words} without a sharding engine")
    if "params" in words:
        return Offload.ALL
    if "optimizer" in words:
        return Offload.OPTIMIZER
    raise NoPlanError(f"offload {words}")


def _attention(row: Row) -> Attention:
    words = _text(row, "flash")
    return (
        Attention.EAGER if row.get("flash") is not None and ("eager" in words or words == "none") else Attention.FLASH
    )


def _grad_accum(row: Row, notes: list[str]) -> int:
    if row.get("grad_accum") is None and row.get("method") == "full":
        notes.append("gradient accumulation not stated: two micro-steps assumed, which need no less than one")
        return 2
    return int(row.get("grad_accum") or 1)


def _implementation(row: Row) -> str:
    """Whose model code ran: litgpt is known by its precision's name (Lightning Fabric) and its chunks of logits."""
    fabric = re.search(r"-true|bf16-mixed", _text(row, "precision")) is not None
    return "litgpt" if fabric and re.search(r"chunked lm_?head", _text(row, "ce")) else "transformers"


def _quantize(words: str, notes: list[str]) -> Quantize:
    if "int8" in words or "8bit" in words or "8-bit" in words:
        return Quantize.INT8
    if "gptq" in words:
        notes.append("GPTQ's 4-bit weights (half a byte, a scale and a zero per group) taken as nf4-dq")
        return Quantize.NF4_DOUBLE
    return Quantize.NF4_DOUBLE if re.search(r"-dq|double", words) else Quantize.NF4


def _job(row: Row, engine: Engine, stage: int, notes: list[str], memory: bool) -> Job:
    lora = _lora(row, notes)
    quantize = None
    if row.get("method") == "qlora":
        quantize = _quantize(str((row.get("lora") or {}).get("quant")).lower(), notes)
    job = Job(
        engine=engine,
        stage=stage,
        offload=_offload(row, engine),
        precision=_precision(row),
        optimizer=_optimizer(row, notes),
        micro_batch=int(row["micro_batch"]),
        seq_len=int(row["seq"]),
        grad_accum=_grad_accum(row, notes),
        checkpointing=_checkpointing(row, notes, memory),
        attention=_attention(row),
        loss=_loss(row),
        implementation=_implementation(row),
        compile=bool(row.get("compile")),
        lora=lora,
        quantize=quantize,
    )
    if engine is Engine.SINGLE:
        return replace(job, stage=0)
    return job
