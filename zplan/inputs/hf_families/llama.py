"""Llama and Granite, and models whose code is Llama's under another name.

Source: transformers ``models/llama/modeling_llama.py``, ``models/granite/modeling_granite.py``.
"""

from __future__ import annotations

from collections.abc import Mapping

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Shape,
    attention,
    causal_lm,
    gated_mlp,
    norms,
    read_heads,
    stack,
)
from zplan.spec import BlockSpec

_COMMON: dict[str, object] = {
    "vocab_size": 32000,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": None,
    "head_dim": None,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "mlp_bias": False,
    "pad_token_id": None,
}
DEFAULTS: dict[str, dict[str, object]] = {"llama": _COMMON, "granite": _COMMON}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Llama or Granite config."""
    sizes = read_heads(fields, whole_heads=model_type == "llama")
    width, bias = fields.size("intermediate_size"), fields.flag("attention_bias")
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *attention(sizes, qkv_bias=bias, out_bias=bias),
            *gated_mlp(sizes.hidden, width, bias=fields.flag("mlp_bias")),
            *norms(sizes.hidden, *LLAMA_NORMS),
        ),
        dims=sizes.dims(f=width),
    )
    return causal_lm(fields, sizes, stack([0] * fields.layers(), lambda _: block), ffn_size=width)


def rewrite(config: Mapping[str, object], fields: Fields) -> tuple[dict[str, object], str]:
    """Returns an InternLM config as the Llama config of the same tensors, and what to tell the user.

    InternLM's first generation is Llama with a bias on all four attention projections (key ``bias``, on by default).
    Source: ``modeling_internlm.py`` and ``configuration_internlm.py`` of internlm/internlm-7b.
    """
    bias = config.get("bias", True)
    if not isinstance(bias, bool):
        raise fields.error("bias", "must be true or false")
    defaults: dict[str, object] = {"vocab_size": 103168}
    kept = {key: value for key, value in config.items() if key not in ("bias", "auto_map")}
    return (
        {**defaults, **kept, "model_type": "llama", "attention_bias": bias},
        "InternLM's custom code is not run: the model is built as a Llama with biases in attention, which has the "
        "same tensors",
    )
