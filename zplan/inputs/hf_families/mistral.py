"""Mistral: Llama's tensors without biases, and a sliding window over all layers.

Source: transformers ``models/mistral/modeling_mistral.py``.
"""

from __future__ import annotations

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

DEFAULTS: dict[str, dict[str, object]] = {
    "mistral": {
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": None,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
        "sliding_window": 4096,
        "pad_token_id": None,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Mistral config."""
    sizes, width = read_heads(fields), fields.size("intermediate_size")
    block = BlockSpec(
        implementation=model_type,
        weights=(*attention(sizes), *gated_mlp(sizes.hidden, width), *norms(sizes.hidden, *LLAMA_NORMS)),
        dims=sizes.dims(f=width),
        sliding_window=fields.optional_size("sliding_window"),
    )
    return causal_lm(fields, sizes, stack([0] * fields.layers(), lambda _: block), ffn_size=width)
