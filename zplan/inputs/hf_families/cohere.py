"""Command R (``cohere``) and Command R7B (``cohere2``): one norm, attention and MLP side by side.

Source: transformers ``models/cohere/modeling_cohere.py``, ``models/cohere2/modeling_cohere2.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
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
    "vocab_size": 256000,
    "hidden_size": 8192,
    "intermediate_size": 22528,
    "num_hidden_layers": 40,
    "num_attention_heads": 64,
    "num_key_value_heads": None,
    "max_position_embeddings": 8192,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "pad_token_id": 0,
}
DEFAULTS: dict[str, dict[str, object]] = {
    "cohere": {**_COMMON, "head_dim": None, "use_qk_norm": False},
    "cohere2": {**_COMMON, "sliding_window": 4096, "layer_types": None, "sliding_window_pattern": 4},
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Cohere config."""
    sizes, width, layers = read_heads(fields), fields.size("intermediate_size"), fields.layers()
    bias = fields.flag("attention_bias")
    qk_norm = model_type == "cohere" and fields.flag("use_qk_norm", nullable=True)
    qk_norms = (
        *norm("self_attn.q_norm", sizes.heads, sizes.head_dim),
        *norm("self_attn.k_norm", sizes.kv_heads, sizes.head_dim),
    )

    def build(window: int | None) -> BlockSpec:
        return BlockSpec(
            implementation=model_type + (_kind(window) if model_type == "cohere2" else ":qk_norm" if qk_norm else ""),
            weights=(
                *attention(sizes, qkv_bias=bias, out_bias=bias),
                *(qk_norms if qk_norm else ()),
                *gated_mlp(sizes.hidden, width),
                *norms(sizes.hidden, "input_layernorm"),
            ),
            dims=sizes.dims(f=width),
            sliding_window=window,
        )

    windows: list[int | None] = [None] * layers
    if model_type == "cohere2":
        pattern = fields.size("sliding_window_pattern")
        window = fields.optional_size("sliding_window")
        windows = layer_windows(fields, layers, lambda index: (index + 1) % pattern != 0, window)
    return causal_lm(fields, sizes, stack(windows, build), ffn_size=width)


def _kind(window: int | None) -> str:
    """Returns which code a Cohere 2 block is: only those with a window turn queries and keys by their positions."""
    return ":global" if window is None else ":local"
