"""BLOOM: ALiBi positions, a norm on the embedding, fused query-key-value.

Source: transformers ``models/bloom/modeling_bloom.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import Shape, embedding, fused_heads, head, linear, norm, stack
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "bloom": {
        "vocab_size": 250880,
        "hidden_size": 64,
        "n_layer": 2,
        "n_head": 8,
        "seq_length": 2048,
        "tie_word_embeddings": True,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "bloom": {
        "hidden_size": ("n_embed",),
        "n_layer": ("num_hidden_layers",),
        "n_head": ("num_attention_heads",),
    },
}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a BLOOM config.

    ALiBi sets no limit to the sequence; the length that the checkpoints were trained with stands in for one
    (``seq_length``, 2048 for every published BLOOM: arXiv:2211.05100, table 3).
    """
    sizes = fused_heads(fields, "hidden_size", "n_head")
    hidden, vocab, tied = sizes.hidden, fields.size("vocab_size"), fields.flag("tie_word_embeddings")
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *norm("input_layernorm", hidden, bias=True),
            *linear("self_attention.query_key_value", 3 * hidden, hidden, bias=True),
            *linear("self_attention.dense", hidden, hidden, bias=True),
            *norm("post_attention_layernorm", hidden, bias=True),
            *linear("mlp.dense_h_to_4h", 4 * hidden, hidden, bias=True),
            *linear("mlp.dense_4h_to_h", hidden, 4 * hidden, bias=True),
        ),
        dims=sizes.dims(f=4 * hidden),
    )
    kinds, layers = stack([0] * fields.layers("n_layer"), lambda _: block)
    return Shape(
        hidden_size=hidden,
        num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        ffn_size=4 * hidden,
        vocab_size=vocab,
        max_seq_len=fields.positions("seq_length"),
        tied_embeddings=tied,
        pre=embedding("transformer.word_embeddings", vocab, hidden)
        + norm("transformer.word_embeddings_layernorm", hidden, bias=True),
        block_kinds=kinds,
        layers=layers,
        post=norm("transformer.ln_f", hidden, bias=True) + head(vocab, hidden, tied=tied),
        trunk="transformer.h",
    )
