"""StarCoder2.

Source: transformers ``models/starcoder2/modeling_starcoder2.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Shape,
    attention,
    causal_lm,
    linear,
    norm,
    norms,
    read_heads,
    stack,
)
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "starcoder2": {
        "vocab_size": 49152,
        "hidden_size": 3072,
        "intermediate_size": 12288,
        "num_hidden_layers": 30,
        "num_attention_heads": 24,
        "num_key_value_heads": 2,
        "head_dim": None,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": True,
        "use_bias": True,
        "sliding_window": None,
        "pad_token_id": None,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a StarCoder2 config."""
    sizes, width, bias = read_heads(fields), fields.size("intermediate_size"), fields.flag("use_bias")
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *attention(sizes, qkv_bias=bias, out_bias=bias),
            *linear("mlp.c_fc", width, sizes.hidden, bias=bias),
            *linear("mlp.c_proj", sizes.hidden, width, bias=bias),
            *norms(sizes.hidden, *LLAMA_NORMS, bias=True),
        ),
        dims=sizes.dims(f=width),
        sliding_window=fields.optional_size("sliding_window"),
    )
    return causal_lm(
        fields,
        sizes,
        stack([0] * fields.layers(), lambda _: block),
        ffn_size=width,
        final_norm=norm("model.norm", sizes.hidden, bias=True),
    )
