"""GPT-2 and GPT-BigCode (StarCoder, SantaCoder).

Source: transformers ``models/gpt2/modeling_gpt2.py``, ``models/gpt_bigcode/modeling_gpt_bigcode.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    Shape,
    Weights,
    conv1d,
    embedding,
    fused_heads,
    head,
    linear,
    norm,
    stack,
)
from zplan.spec import BlockSpec, WeightKind

_COMMON: dict[str, object] = {
    "vocab_size": 50257,
    "n_positions": 1024,
    "n_embd": 768,
    "n_layer": 12,
    "n_head": 12,
    "n_inner": None,
    "tie_word_embeddings": True,
}
DEFAULTS: dict[str, dict[str, object]] = {"gpt2": _COMMON, "gpt_bigcode": {**_COMMON, "multi_query": True}}
_NAMES: dict[str, tuple[str, ...]] = {
    "n_embd": ("hidden_size",),
    "n_positions": ("max_position_embeddings",),
    "n_head": ("num_attention_heads",),
    "n_layer": ("num_hidden_layers",),
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {"gpt2": _NAMES, "gpt_bigcode": _NAMES}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a GPT-2 or GPT-BigCode config."""
    fields.refuse("add_cross_attention", "is on, but zplan plans decoder-only models")
    one_kv = model_type == "gpt_bigcode" and fields.flag("multi_query")
    sizes = fused_heads(fields, "n_embd", "n_head", kv_heads=1 if one_kv else None)
    hidden, vocab = sizes.hidden, fields.size("vocab_size")
    positions, tied = fields.size("n_positions"), fields.flag("tie_word_embeddings")
    width = fields.optional_size("n_inner") or 4 * hidden

    def projection(name: str, into: int, out: int) -> Weights:
        return conv1d(name, into, out) if model_type == "gpt2" else linear(name, out, into, bias=True)

    block = BlockSpec(
        implementation=model_type if one_kv or model_type == "gpt2" else f"{model_type}:mha",
        weights=(
            *norm("ln_1", hidden, bias=True),
            *projection("attn.c_attn", hidden, sizes.q_size + 2 * sizes.kv_size),
            *projection("attn.c_proj", hidden, hidden),
            *norm("ln_2", hidden, bias=True),
            *projection("mlp.c_fc", hidden, width),
            *projection("mlp.c_proj", width, hidden),
        ),
        dims=sizes.dims(f=width),
    )
    kinds, layers = stack([0] * fields.layers("n_layer"), lambda _: block)
    return Shape(
        hidden_size=hidden,
        num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        ffn_size=width,
        vocab_size=vocab,
        max_seq_len=positions,
        tied_embeddings=tied,
        pre=embedding("transformer.wte", vocab, hidden)
        + embedding("transformer.wpe", positions, hidden, WeightKind.POSITION),
        block_kinds=kinds,
        layers=layers,
        post=norm("transformer.ln_f", hidden, bias=True) + head(vocab, hidden, tied=tied),
        trunk="transformer.h",
    )
