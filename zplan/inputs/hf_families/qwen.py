"""Qwen2, Qwen2.5 and Qwen3, dense.

Source: transformers ``models/qwen2/modeling_qwen2.py``, ``models/qwen3/modeling_qwen3.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Shape,
    attention,
    causal_lm,
    gated_mlp,
    layer_windows,
    norm,
    norms,
    read_heads,
    stack,
)
from zplan.spec import BlockSpec

_COMMON: dict[str, object] = {
    "vocab_size": 151936,
    "hidden_size": 4096,
    "intermediate_size": 22016,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 32,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "max_window_layers": 28,
    "layer_types": None,
    "pad_token_id": None,
}
DEFAULTS: dict[str, dict[str, object]] = {
    "qwen2": {**_COMMON, "head_dim": None},
    "qwen3": {**_COMMON, "head_dim": 128, "attention_bias": False},
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a dense Qwen config."""
    sizes, width, layers = read_heads(fields), fields.size("intermediate_size"), fields.layers()
    third = model_type == "qwen3"
    bias = fields.flag("attention_bias") if third else False
    window = fields.optional_size("sliding_window") if fields.flag("use_sliding_window") else None
    first_sliding = fields.size("max_window_layers", low=0)
    windows = layer_windows(fields, layers, lambda index: index >= first_sliding, window)

    def build(layer_window: int | None) -> BlockSpec:
        qk_norms = (*norm("self_attn.q_norm", sizes.head_dim), *norm("self_attn.k_norm", sizes.head_dim))
        return BlockSpec(
            implementation=model_type,
            weights=(
                *attention(sizes, qkv_bias=bias or not third, out_bias=bias),
                *(qk_norms if third else ()),
                *gated_mlp(sizes.hidden, width),
                *norms(sizes.hidden, *LLAMA_NORMS),
            ),
            dims=sizes.dims(f=width),
            sliding_window=layer_window,
        )

    return causal_lm(fields, sizes, stack(windows, build), ffn_size=width)
