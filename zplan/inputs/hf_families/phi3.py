"""Phi-3, Phi-3.5 and Phi-4: fused query-key-value and gate-up projections.

Source: transformers ``models/phi3/modeling_phi3.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import LLAMA_NORMS, Shape, causal_lm, linear, norms, read_heads, stack
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "phi3": {
        "vocab_size": 32064,
        "hidden_size": 3072,
        "intermediate_size": 8192,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": None,
        "head_dim": None,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
        "sliding_window": None,
        "pad_token_id": 32000,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Phi-3 config."""
    sizes, width = read_heads(fields), fields.size("intermediate_size")
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *linear("self_attn.o_proj", sizes.hidden, sizes.q_size),
            *linear("self_attn.qkv_proj", sizes.q_size + 2 * sizes.kv_size, sizes.hidden),
            *linear("mlp.gate_up_proj", 2 * width, sizes.hidden),
            *linear("mlp.down_proj", sizes.hidden, width),
            *norms(sizes.hidden, *LLAMA_NORMS),
        ),
        dims=sizes.dims(f=width),
        sliding_window=fields.optional_size("sliding_window"),
    )
    return causal_lm(fields, sizes, stack([0] * fields.layers(), lambda _: block), ffn_size=width)
