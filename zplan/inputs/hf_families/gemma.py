"""Gemma, Gemma 2 and Gemma 3 (text).

Source: transformers ``models/gemma/modeling_gemma.py``, ``models/gemma2/modeling_gemma2.py`` and
``models/gemma3/modeling_gemma3.py``.
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
    layer_windows,
    norm,
    norms,
    read_heads,
    stack,
)
from zplan.spec import BlockSpec

_SECOND: dict[str, object] = {
    "hidden_size": 2304,
    "intermediate_size": 9216,
    "num_hidden_layers": 26,
    "num_attention_heads": 8,
    "num_key_value_heads": 4,
    "head_dim": 256,
    "tie_word_embeddings": True,
    "attention_bias": False,
    "sliding_window": 4096,
    "layer_types": None,
    "pad_token_id": 0,
}
DEFAULTS: dict[str, dict[str, object]] = {
    "gemma": {
        "vocab_size": 256000,
        "hidden_size": 3072,
        "intermediate_size": 24576,
        "num_hidden_layers": 28,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "head_dim": 256,
        "max_position_embeddings": 8192,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "pad_token_id": 0,
    },
    "gemma2": {
        **_SECOND,
        "vocab_size": 256000,
        "max_position_embeddings": 8192,
        "final_logit_softcapping": 30.0,
    },
    "gemma3_text": {
        **_SECOND,
        "vocab_size": 262208,
        "max_position_embeddings": 131072,
        "final_logit_softcapping": None,
        "use_bidirectional_attention": False,
        "sliding_window_pattern": 6,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "gemma3_text": {"sliding_window_pattern": ("_sliding_window_pattern",)}
}
SANDWICH_NORMS = (*LLAMA_NORMS, "pre_feedforward_layernorm", "post_feedforward_layernorm")


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Gemma config."""
    first = model_type == "gemma"
    sizes = read_heads(fields, whole_heads=not first)
    width, bias, layers = fields.size("intermediate_size"), fields.flag("attention_bias"), fields.layers()

    def build(window: int | None) -> BlockSpec:
        qk_norms = (*norm("self_attn.q_norm", sizes.head_dim), *norm("self_attn.k_norm", sizes.head_dim))
        return BlockSpec(
            implementation=model_type,
            weights=(
                *attention(sizes, qkv_bias=bias, out_bias=bias),
                *(qk_norms if model_type == "gemma3_text" else ()),
                *gated_mlp(sizes.hidden, width),
                *norms(sizes.hidden, *(LLAMA_NORMS if first else SANDWICH_NORMS)),
            ),
            dims=sizes.dims(f=width),
            sliding_window=window,
        )

    windows = [None] * layers if first else _windows(fields, layers)
    softcap = not first and fields.number("final_logit_softcapping") is not None
    return causal_lm(fields, sizes, stack(windows, build), ffn_size=width)._replace(logit_softcap=softcap)


def _windows(fields: Fields, layers: int) -> list[int | None]:
    """Returns each layer's window: every second layer slides in Gemma 2, five of six in Gemma 3."""
    window = fields.optional_size("sliding_window")
    if "sliding_window_pattern" not in fields.defaults:
        return layer_windows(fields, layers, lambda index: index % 2 == 0, window)
    if window is not None and fields.flag("use_bidirectional_attention", nullable=True):
        window = window // 2 + 1
    pattern = fields.size("sliding_window_pattern")
    return layer_windows(fields, layers, lambda index: (index + 1) % pattern != 0, window)


def rewrite(config: Mapping[str, object], fields: Fields) -> tuple[dict[str, object], str]:
    """Returns the text part of a multimodal Gemma 3 config, and what to tell the user."""
    text = config.get("text_config")
    if not isinstance(text, Mapping):
        raise fields.error("text_config", "must be an object with the sizes of the text model")
    return (
        {**text, "model_type": "gemma3_text"},
        "only the text model is planned: the image encoder and its projector are left out",
    )
