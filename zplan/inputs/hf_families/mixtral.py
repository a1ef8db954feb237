"""Mixtral: every block a mixture of experts.

Source: transformers ``models/mixtral/modeling_mixtral.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Shape,
    attention,
    causal_lm,
    fused_experts,
    norms,
    read_experts,
    read_heads,
    router,
    stack,
)
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "mixtral": {
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
        "head_dim": None,
        "max_position_embeddings": 131072,
        "tie_word_embeddings": False,
        "sliding_window": None,
        "num_local_experts": 8,
        "num_experts_per_tok": 2,
        "pad_token_id": None,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {"mixtral": {"num_local_experts": ("num_experts",)}}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Mixtral config."""
    sizes, width = read_heads(fields), fields.size("intermediate_size")
    experts, per_token = read_experts(fields, "num_local_experts")
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *attention(sizes),
            *router(experts, sizes.hidden),
            *fused_experts(experts, sizes.hidden, width),
            *norms(sizes.hidden, *LLAMA_NORMS),
        ),
        dims=sizes.dims(E=experts, K=per_token, m=width),
        sliding_window=fields.optional_size("sliding_window"),
    )
    return causal_lm(
        fields,
        sizes,
        stack([0] * fields.layers(), lambda _: block),
        ffn_size=width,
        experts=(experts, per_token),
    )
