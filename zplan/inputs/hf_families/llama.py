"""Llama, and models whose code is Llama's under another name.

Source: transformers ``models/llama/modeling_llama.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Shape,
    attention,
    gated_mlp,
    llama_ends,
    norms,
    read_heads,
    stack,
)
from zplan.inputs.hf_families.rope import max_positions
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "llama": {
        "vocab_size": 32000,
        "hidden_size": 4096,
        "intermediate_size": 11008,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": None,
        "head_dim": None,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "mlp_bias": False,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields) -> Shape:
    """Returns the shape of a Llama-like config."""
    sizes = read_heads(fields, whole_heads=True)
    width = fields.size("intermediate_size")
    bias, tied = fields.flag("attention_bias"), fields.flag("tie_word_embeddings")
    vocab, pre, post = llama_ends(fields, sizes.hidden, tied=tied)
    block = BlockSpec(
        implementation="llama",
        weights=(
            *attention(sizes, qkv_bias=bias, out_bias=bias),
            *gated_mlp(sizes.hidden, width, bias=fields.flag("mlp_bias")),
            *norms(sizes.hidden, *LLAMA_NORMS),
        ),
        dims=sizes.dims(f=width),
    )
    kinds, layers = stack([0] * fields.layers(), lambda _: block)
    return Shape(
        hidden_size=sizes.hidden,
        num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        ffn_size=width,
        vocab_size=vocab,
        max_seq_len=max_positions(fields),
        tied_embeddings=tied,
        pre=pre,
        block_kinds=kinds,
        layers=layers,
        post=post,
    )
