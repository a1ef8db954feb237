"""GPT-NeoX and Pythia.

Source: transformers ``models/gpt_neox/modeling_gpt_neox.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import LLAMA_NORMS, Shape, embedding, fused_heads, head, linear, norm, norms, stack
from zplan.inputs.hf_families.rope import max_positions
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "gpt_neox": {
        "vocab_size": 50432,
        "hidden_size": 6144,
        "intermediate_size": 24576,
        "num_hidden_layers": 44,
        "num_attention_heads": 64,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": False,
        "use_parallel_residual": True,
        "attention_bias": True,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a GPT-NeoX config."""
    sizes = fused_heads(fields, "hidden_size", "num_attention_heads")
    hidden, vocab, tied = sizes.hidden, fields.size("vocab_size"), fields.flag("tie_word_embeddings")
    width, bias = fields.size("intermediate_size"), fields.flag("attention_bias")
    block = BlockSpec(
        implementation=model_type if fields.flag("use_parallel_residual") else f"{model_type}:sequential",
        weights=(
            *norms(hidden, *LLAMA_NORMS, bias=True),
            *linear("attention.query_key_value", 3 * hidden, hidden, bias=bias),
            *linear("attention.dense", hidden, hidden, bias=bias),
            *linear("mlp.dense_h_to_4h", width, hidden, bias=True),
            *linear("mlp.dense_4h_to_h", hidden, width, bias=True),
        ),
        dims=sizes.dims(f=width),
    )
    kinds, layers = stack([0] * fields.layers(), lambda _: block)
    return Shape(
        hidden_size=hidden,
        num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        ffn_size=width,
        vocab_size=vocab,
        max_seq_len=max_positions(fields),
        tied_embeddings=tied,
        pre=embedding("gpt_neox.embed_in", vocab, hidden),
        block_kinds=kinds,
        layers=layers,
        post=norm("gpt_neox.final_layer_norm", hidden, bias=True) + head(vocab, hidden, tied=tied),
        trunk="gpt_neox.layers",
    )
