"""GLM-4 (``glm``) and GLM-4-0414 (``glm4``, two more norms per block).

Source: transformers ``models/glm/modeling_glm.py``, ``models/glm4/modeling_glm4.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import LLAMA_NORMS, Shape, attention, causal_lm, linear, norms, read_heads, stack
from zplan.spec import BlockSpec

_COMMON: dict[str, object] = {
    "vocab_size": 151552,
    "hidden_size": 4096,
    "intermediate_size": 13696,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 2,
    "head_dim": 128,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
    "attention_bias": True,
    "pad_token_id": 151329,
}
DEFAULTS: dict[str, dict[str, object]] = {"glm": _COMMON, "glm4": _COMMON}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a GLM config."""
    sizes, width = read_heads(fields, turned=False), fields.size("intermediate_size")
    extra = ("post_self_attn_layernorm", "post_mlp_layernorm") if model_type == "glm4" else ()
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *attention(sizes, qkv_bias=fields.flag("attention_bias")),
            *linear("mlp.gate_up_proj", 2 * width, sizes.hidden),
            *linear("mlp.down_proj", sizes.hidden, width),
            *norms(sizes.hidden, *LLAMA_NORMS, *extra),
        ),
        dims=sizes.dims(f=width),
    )
    return causal_lm(fields, sizes, stack([0] * fields.layers(), lambda _: block), ffn_size=width)
