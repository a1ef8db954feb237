"""DeepSeek-V2 and DeepSeek-V3 / R1 (also Kimi K2, Moonlight): latent attention, shared and routed experts.

Source: transformers ``models/deepseek_v2/modeling_deepseek_v2.py``, ``models/deepseek_v3/modeling_deepseek_v3.py``.
"""

from __future__ import annotations

from dataclasses import dataclass

from zplan.inputs.hf_families.fields import MAX_LAYERS, Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Heads,
    Shape,
    Weights,
    causal_lm,
    fused_experts,
    gated_mlp,
    linear,
    norm,
    norms,
    read_experts,
    read_heads,
    router,
    stack,
)
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "deepseek_v2": {
        "vocab_size": 102400,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "moe_intermediate_size": 1407,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": None,
        "n_shared_experts": 2,
        "n_routed_experts": 64,
        "num_experts_per_tok": None,
        "first_k_dense_replace": 0,
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
        "pad_token_id": None,
    },
    "deepseek_v3": {
        "vocab_size": 129280,
        "hidden_size": 7168,
        "intermediate_size": 18432,
        "moe_intermediate_size": 2048,
        "num_hidden_layers": 61,
        "num_attention_heads": 128,
        "num_key_value_heads": 128,
        "n_shared_experts": 1,
        "n_routed_experts": 256,
        "num_experts_per_tok": 8,
        "first_k_dense_replace": 3,
        "q_lora_rank": 1536,
        "kv_lora_rank": 512,
        "qk_nope_head_dim": 128,
        "qk_rope_head_dim": 64,
        "v_head_dim": 128,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "pad_token_id": None,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "deepseek_v2": {"n_routed_experts": ("num_experts",)},
    "deepseek_v3": {"n_routed_experts": ("num_local_experts",)},
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Latent:
    """Sizes of multi-head latent attention."""

    q_rank: int | None
    kv_rank: int
    nope: int
    rope: int
    value: int


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a DeepSeek config."""
    plain = read_heads(fields, whole_heads=model_type == "deepseek_v2", turned=False)
    latent = Latent(
        q_rank=fields.optional_size("q_lora_rank"),
        kv_rank=fields.size("kv_lora_rank"),
        nope=fields.size("qk_nope_head_dim"),
        rope=fields.size("qk_rope_head_dim"),
        value=fields.size("v_head_dim"),
    )
    if latent.rope % 2:
        raise fields.error(f"qk_rope_head_dim = {latent.rope}", "must be even, since rotary positions turn pairs")
    sizes = Heads(hidden=plain.hidden, heads=plain.heads, kv_heads=plain.kv_heads, head_dim=latent.nope + latent.rope)
    dense_layers, layers = fields.size("first_k_dense_replace", low=0, high=MAX_LAYERS), fields.layers()
    sparse = [index >= dense_layers for index in range(layers)]
    experts, per_token = read_experts(fields, "n_routed_experts") if any(sparse) else (0, 0)
    attention = _attention(sizes, latent, bias=fields.flag("attention_bias"))
    symbols = {
        "dq": latent.q_rank or 0,
        "dkv": latent.kv_rank,
        "dn": latent.nope,
        "dr": latent.rope,
        "dv": latent.value,
    }

    def build(routed: bool) -> BlockSpec:
        mlp, widths = _mlp(fields, sizes.hidden, experts if routed else 0)
        return BlockSpec(
            implementation=f"{model_type}:{'moe' if routed else 'dense'}",
            weights=(*attention, *mlp, *norms(sizes.hidden, *LLAMA_NORMS)),
            dims=sizes.dims(**symbols, **widths, **({"K": per_token} if routed else {})),
        )

    shape = causal_lm(
        fields,
        sizes,
        stack(sparse, build),
        ffn_size=fields.size("moe_intermediate_size" if all(sparse) else "intermediate_size"),
        experts=(experts, per_token),
    )
    return shape._replace(notes=_notes(fields))


def _attention(sizes: Heads, latent: Latent, *, bias: bool) -> Weights:
    """Returns the tensors of latent attention; without a query rank the query is projected directly."""
    if latent.q_rank is None:
        query = linear("self_attn.q_proj", sizes.q_size, sizes.hidden)
    else:
        query = (
            *linear("self_attn.q_a_proj", latent.q_rank, sizes.hidden, bias=bias),
            *norm("self_attn.q_a_layernorm", latent.q_rank),
            *linear("self_attn.q_b_proj", sizes.q_size, latent.q_rank),
        )
    return (
        *query,
        *linear("self_attn.kv_a_proj_with_mqa", latent.kv_rank + latent.rope, sizes.hidden, bias=bias),
        *norm("self_attn.kv_a_layernorm", latent.kv_rank),
        *linear("self_attn.kv_b_proj", sizes.heads * (latent.nope + latent.value), latent.kv_rank),
        *linear("self_attn.o_proj", sizes.hidden, sizes.heads * latent.value, bias=bias),
    )


def _mlp(fields: Fields, hidden: int, experts: int) -> tuple[Weights, dict[str, int]]:
    """Returns tensors and sizes of a block's MLP; the shared experts are one MLP of their summed width."""
    bias = fields.flag("mlp_bias") if "mlp_bias" in fields.defaults else False
    if not experts:
        width = fields.size("intermediate_size")
        return gated_mlp(hidden, width, bias=bias), {"f": width}
    width = fields.size("moe_intermediate_size")
    shared = width * fields.size("n_shared_experts", low=0)
    weights = (
        *fused_experts(experts, hidden, width),
        *router(experts, hidden),
        *gated_mlp(hidden, shared, bias=bias, prefix="mlp.shared_experts"),
    )
    return weights, {"E": experts, "m": width, "fs": shared}


def _notes(fields: Fields) -> tuple[str, ...]:
    """Returns what the checkpoint has and transformers' model has not."""
    if fields.config.get("num_nextn_predict_layers"):
        return ("the multi-token prediction layers are left out, as transformers leaves them out",)
    return ()
