"""StableLM.

Source: transformers ``models/stablelm/modeling_stablelm.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import Shape, attention, causal_lm, gated_mlp, norm, read_heads, stack
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "stablelm": {
        "vocab_size": 50304,
        "hidden_size": 2560,
        "intermediate_size": 6912,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 32,
        "max_position_embeddings": 4096,
        "tie_word_embeddings": False,
        "use_qkv_bias": False,
        "qk_layernorm": False,
        "use_parallel_residual": False,
        "pad_token_id": None,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a StableLM config."""
    sizes, width = read_heads(fields, turned=False), fields.size("intermediate_size")
    parallel, qk_norm = fields.flag("use_parallel_residual"), fields.flag("qk_layernorm")
    head_norms = [
        *(f"self_attn.q_layernorm.norms.{index}" for index in range(sizes.heads if qk_norm else 0)),
        *(f"self_attn.k_layernorm.norms.{index}" for index in range(sizes.kv_heads if qk_norm else 0)),
    ]
    block = BlockSpec(
        implementation=model_type + (":parallel" if parallel else "") + (":qk_norm" if qk_norm else ""),
        weights=(
            *attention(sizes, qkv_bias=fields.flag("use_qkv_bias")),
            *(weight for name in head_norms for weight in norm(name, sizes.head_dim)),
            *gated_mlp(sizes.hidden, width),
            *norm("input_layernorm", sizes.hidden, bias=True),
            *(() if parallel else norm("post_attention_layernorm", sizes.hidden, bias=True)),
        ),
        dims=sizes.dims(f=width),
    )
    return causal_lm(
        fields,
        sizes,
        stack([0] * fields.layers(), lambda _: block),
        ffn_size=width,
        final_norm=norm("model.norm", sizes.hidden, bias=True),
    )
