"""Qwen2 MoE (with a shared expert) and Qwen3 MoE (without).

Source: transformers ``models/qwen2_moe/modeling_qwen2_moe.py``, ``models/qwen3_moe/modeling_qwen3_moe.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Heads,
    Shape,
    Weights,
    attention,
    causal_lm,
    fused_experts,
    gated_mlp,
    layer_windows,
    linear,
    norm,
    norms,
    read_experts,
    read_heads,
    router,
    stack,
)
from zplan.spec import BlockSpec

_COMMON: dict[str, object] = {
    "vocab_size": 151936,
    "hidden_size": 2048,
    "num_hidden_layers": 24,
    "head_dim": None,
    "max_position_embeddings": 32768,
    "tie_word_embeddings": False,
    "use_sliding_window": False,
    "sliding_window": 4096,
    "decoder_sparse_step": 1,
    "mlp_only_layers": None,
    "layer_types": None,
    "pad_token_id": None,
}
DEFAULTS: dict[str, dict[str, object]] = {
    "qwen2_moe": {
        **_COMMON,
        "intermediate_size": 5632,
        "num_attention_heads": 16,
        "num_key_value_heads": 16,
        "max_window_layers": 28,
        "moe_intermediate_size": 1408,
        "shared_expert_intermediate_size": 5632,
        "num_experts": 60,
        "num_experts_per_tok": 4,
        "qkv_bias": True,
    },
    "qwen3_moe": {
        **_COMMON,
        "intermediate_size": 6144,
        "num_attention_heads": 32,
        "num_key_value_heads": 4,
        "moe_intermediate_size": 768,
        "num_experts": 128,
        "num_experts_per_tok": 8,
        "attention_bias": False,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {"qwen3_moe": {"num_experts": ("num_local_experts",)}}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Qwen MoE config."""
    sizes, layers = read_heads(fields), fields.layers()
    experts, per_token = read_experts(fields, "num_experts", low=0)
    sparse = _sparse_layers(fields, layers, experts)
    windows = _windows(fields, layers, model_type)
    width = fields.size("moe_intermediate_size" if all(sparse) else "intermediate_size")

    def build(key: tuple[bool, int | None]) -> BlockSpec:
        mlp, dims = _sparse_mlp(fields, sizes, experts) if key[0] else _dense_mlp(fields, sizes)
        return BlockSpec(
            implementation=f"{model_type}:{'moe' if key[0] else 'dense'}",
            weights=(*_attention(fields, sizes, model_type), *mlp, *norms(sizes.hidden, *LLAMA_NORMS)),
            dims=sizes.dims(**dims, **({"K": per_token} if key[0] else {})),
            sliding_window=key[1],
        )

    return causal_lm(
        fields,
        sizes,
        stack(list(zip(sparse, windows, strict=True)), build),
        ffn_size=width,
        experts=(experts, per_token) if any(sparse) else (0, 0),
    )


def _sparse_layers(fields: Fields, layers: int, experts: int) -> list[bool]:
    """Returns for each layer whether it routes to experts."""
    step, listed = fields.size("decoder_sparse_step"), fields.sequence("mlp_only_layers") or ()
    for index in listed:
        if isinstance(index, bool) or not isinstance(index, int):
            raise fields.error("mlp_only_layers", "must hold the numbers of layers")
    dense = set(listed)
    return [experts > 0 and index not in dense and (index + 1) % step == 0 for index in range(layers)]


def _windows(fields: Fields, layers: int, model_type: str) -> list[int | None]:
    """Returns each layer's attention window."""
    slides = fields.flag("use_sliding_window")
    window = fields.optional_size("sliding_window") if slides else None
    if model_type == "qwen3_moe":
        return [window] * layers
    last = fields.size("max_window_layers", low=0)
    return layer_windows(fields, layers, lambda index: slides and index % 2 == 0 and index < last, window)


def _attention(fields: Fields, sizes: Heads, model_type: str) -> Weights:
    """Returns the attention's tensors."""
    if model_type == "qwen2_moe":
        return attention(sizes, qkv_bias=fields.flag("qkv_bias"))
    bias = fields.flag("attention_bias")
    return (
        *attention(sizes, qkv_bias=bias, out_bias=bias),
        *norm("self_attn.q_norm", sizes.head_dim),
        *norm("self_attn.k_norm", sizes.head_dim),
    )


def _dense_mlp(fields: Fields, sizes: Heads) -> tuple[Weights, dict[str, int]]:
    """Returns the tensors and sizes of a dense block's MLP."""
    width = fields.size("intermediate_size")
    return gated_mlp(sizes.hidden, width), {"f": width}


def _sparse_mlp(fields: Fields, sizes: Heads, experts: int) -> tuple[Weights, dict[str, int]]:
    """Returns the tensors and sizes of a sparse block; Qwen3 registers the experts before the router."""
    width = fields.size("moe_intermediate_size")
    routed, gate = fused_experts(experts, sizes.hidden, width), router(experts, sizes.hidden)
    if "shared_expert_intermediate_size" not in fields.defaults:
        return routed + gate, {"E": experts, "m": width}
    shared = fields.size("shared_expert_intermediate_size")
    weights = (
        *gate,
        *routed,
        *gated_mlp(sizes.hidden, shared, prefix="mlp.shared_expert"),
        *linear("mlp.shared_expert_gate", 1, sizes.hidden),
    )
    return weights, {"E": experts, "m": width, "fs": shared}
