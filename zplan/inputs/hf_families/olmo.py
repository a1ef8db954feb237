"""OLMo (norms without parameters) and OLMo 2 (norms after attention and MLP, and on queries and keys).

Source: transformers ``models/olmo/modeling_olmo.py``, ``models/olmo2/modeling_olmo2.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import Shape, attention, causal_lm, gated_mlp, norm, norms, read_heads, stack
from zplan.spec import BlockSpec

_COMMON: dict[str, object] = {
    "vocab_size": 50304,
    "hidden_size": 4096,
    "intermediate_size": 11008,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": None,
    "head_dim": None,
    "max_position_embeddings": 2048,
    "tie_word_embeddings": False,
    "attention_bias": False,
    "pad_token_id": 1,
}
DEFAULTS: dict[str, dict[str, object]] = {"olmo": _COMMON, "olmo2": _COMMON}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of an OLMo config."""
    sizes, width = read_heads(fields), fields.size("intermediate_size")
    bias, second = fields.flag("attention_bias"), model_type == "olmo2"
    qk_norms = (*norm("self_attn.q_norm", sizes.q_size), *norm("self_attn.k_norm", sizes.kv_size))
    after = norms(sizes.hidden, "post_attention_layernorm", "post_feedforward_layernorm")
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *attention(sizes, qkv_bias=bias, out_bias=bias),
            *(qk_norms if second else ()),
            *gated_mlp(sizes.hidden, width),
            *(after if second else ()),
        ),
        dims=sizes.dims(f=width),
    )
    return causal_lm(
        fields,
        sizes,
        stack([0] * fields.layers(), lambda _: block),
        ffn_size=width,
        final_norm=None if second else (),
    )
