"""Phi-1, Phi-1.5 and Phi-2.

Source: transformers ``models/phi/modeling_phi.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import Shape, attention, causal_lm, linear, norm, read_heads, stack
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "phi": {
        "vocab_size": 51200,
        "hidden_size": 2048,
        "intermediate_size": 8192,
        "num_hidden_layers": 24,
        "num_attention_heads": 32,
        "num_key_value_heads": None,
        "head_dim": None,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": False,
        "qk_layernorm": False,
        "pad_token_id": None,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Phi config."""
    sizes, width = read_heads(fields, turned=False), fields.size("intermediate_size")
    qk_norm = fields.flag("qk_layernorm")
    per_head = sizes.hidden // sizes.heads
    qk_norms = (
        *norm("self_attn.q_layernorm", per_head, bias=True),
        *norm("self_attn.k_layernorm", per_head, bias=True),
    )
    block = BlockSpec(
        implementation="phi:qk_norm" if qk_norm else "phi",
        weights=(
            *attention(sizes, qkv_bias=True, out_bias=True, out="dense"),
            *(qk_norms if qk_norm else ()),
            *linear("mlp.fc1", width, sizes.hidden, bias=True),
            *linear("mlp.fc2", sizes.hidden, width, bias=True),
            *norm("input_layernorm", sizes.hidden, bias=True),
        ),
        dims=sizes.dims(f=width),
    )
    return causal_lm(
        fields,
        sizes,
        stack([0] * fields.layers(), lambda _: block),
        ffn_size=width,
        final_norm=norm("model.final_layernorm", sizes.hidden, bias=True),
        head_bias=True,
    )
