"""The model of a row: a preset of that name and size, or an architecture built from the row's own sizes."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rowwords import NoPlanError, Row, attention_of, implementation_of

from zplan.inputs.hf import read_config
from zplan.inputs.presets import MODELS, find, load_model
from zplan.spec import Attention, ModelSpec


@lru_cache(maxsize=256)
def _named_model(name: str) -> ModelSpec | None:
    return load_model(name) if find(MODELS, name) is not None else None


def model_of(row: Row, notes: list[str]) -> ModelSpec:
    """A preset of that name and size, else an architecture built from ``arch``."""
    arch = _completed(row, notes)
    named = _named_model(str(row["model"]))
    named_tied = named is not None and named.tied_embeddings
    own_attention = named is not None and named.family in ("mpt", "bloom") and attention_of(row) is Attention.FLASH
    if own_attention:
        notes.append("flash attention: other code than transformers', taken as a sequential GPT-NeoX's")
    if implementation_of(row) != "transformers":
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
    config = _config(arch, int(row["seq"]), attention_of(row) is Attention.FLASH, implementation_of(row))
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
    if "glu" in str(arch.get("mlp", "swiglu")):
        grouped = {**common, "num_key_value_heads": kv}
        if "experts" in arch:
            moe = {"num_local_experts": arch["experts"], "num_experts_per_tok": arch.get("experts_per_token", 2)}
            return {**grouped, **moe, "model_type": "mixtral", "sliding_window": None}
        if arch.get("qkv_bias"):
            return {**grouped, "model_type": "qwen2"}
        if arch.get("head_dim") and arch["head_dim"] * heads != arch["hidden"]:
            return {**grouped, "model_type": "mistral", "head_dim": arch["head_dim"], "sliding_window": None}
        return {**grouped, "model_type": "llama"}
    plain = arch.get("bias") is False and arch["ffn"] == 4 * arch["hidden"] and flash
    if arch.get("parallel_residual") and kv != heads:
        return _falcon(arch, common, kv)
    if arch.get("parallel_residual") or plain or (code != "transformers" and kv == heads):
        return {**common, "model_type": "gpt_neox", "use_parallel_residual": bool(arch.get("parallel_residual"))}
    return _own_names(arch, seq, heads, kv, tied)


def _falcon(arch: Mapping[str, Any], common: Mapping[str, Any], kv: int) -> dict[str, Any]:
    """Grouped heads beside a parallel MLP."""
    several = {"new_decoder_architecture": True, "num_kv_heads": kv} if kv > 1 else {"multi_query": True}
    sizes = {key: size for key, size in common.items() if key not in ("intermediate_size", "max_position_embeddings")}
    return {**sizes, **several, "model_type": "falcon", "parallel_attn": True, "bias": False}


def _own_names(arch: Mapping[str, Any], seq: int, heads: int, kv: int, tied: bool) -> dict[str, Any]:
    """Families whose configs have names of their own: MPT, BLOOM, GPT-2 and GPT BigCode."""
    if arch.get("bias") is False and arch["ffn"] == 4 * arch["hidden"]:
        return {
            "model_type": "mpt",
            "vocab_size": arch["vocab"],
            "d_model": arch["hidden"],
            "n_heads": heads,
            "n_layers": arch["layers"],
            "max_seq_len": max(seq, 2048),
            "tie_word_embeddings": tied,
        }
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
