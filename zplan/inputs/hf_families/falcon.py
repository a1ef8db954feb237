"""Falcon: its layouts (7B: one key-value head; 40B: groups and two norms; 11B: groups and one norm; RW: sequential with ALiBi).

Source: transformers ``models/falcon/modeling_falcon.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import Heads, Shape, Weights, embedding, fused_heads, head, linear, norms, stack
from zplan.inputs.hf_families.rope import max_positions
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "falcon": {
        "vocab_size": 65024,
        "hidden_size": 4544,
        "ffn_hidden_size": None,
        "num_hidden_layers": 32,
        "num_attention_heads": 71,
        "num_kv_heads": None,
        "num_ln_in_parallel_attn": None,
        "new_decoder_architecture": False,
        "multi_query": True,
        "parallel_attn": True,
        "bias": False,
        "alibi": False,
        "max_position_embeddings": 2048,
        "tie_word_embeddings": True,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {"falcon": {"hidden_size": ("n_embed",)}}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a Falcon config."""
    grouped, one_kv, parallel = (
        fields.flag(key, nullable=True) for key in ("new_decoder_architecture", "multi_query", "parallel_attn")
    )
    heads, alibi = fields.size("num_attention_heads"), fields.flag("alibi", nullable=True)
    groups = (fields.optional_size("num_kv_heads") or heads) if grouped else 1 if one_kv else heads
    sizes = fused_heads(fields, "hidden_size", "num_attention_heads", kv_heads=groups)
    width = fields.optional_size("ffn_hidden_size") or 4 * sizes.hidden
    norm_count = fields.optional_size("num_ln_in_parallel_attn") or (2 if grouped else 1)
    # One key-value head, groups that are spread over the heads, and heads of their own keep different tensors.
    heads_of = "grouped" if grouped else "" if one_kv else "multi_head"
    kind = "sequential" if not parallel else "two_norms" if norm_count == 2 else heads_of
    block = BlockSpec(
        implementation=":".join(part for part in (model_type, kind, "alibi" if alibi else "") if part),
        weights=_block(sizes, width, kind, bias=fields.flag("bias", nullable=True)),
        dims=sizes.dims(f=width),
    )
    kinds, layers = stack([0] * fields.layers(), lambda _: block)
    vocab, tied = fields.size("vocab_size"), fields.flag("tie_word_embeddings")
    return Shape(
        hidden_size=sizes.hidden,
        num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        ffn_size=width,
        vocab_size=vocab,
        max_seq_len=max_positions(fields),
        tied_embeddings=tied,
        pre=embedding("transformer.word_embeddings", vocab, sizes.hidden),
        block_kinds=kinds,
        layers=layers,
        post=norms(sizes.hidden, "transformer.ln_f", bias=True) + head(vocab, sizes.hidden, tied=tied),
        trunk="transformer.h",
    )


def _block(sizes: Heads, width: int, kind: str, *, bias: bool) -> Weights:
    """Returns the tensors of a block; the norms come last, in the order in which each layout registers them."""
    names = {"sequential": ("post_attention_layernorm", "input_layernorm"), "two_norms": ("ln_attn", "ln_mlp")}
    return (
        *linear("self_attention.query_key_value", sizes.q_size + 2 * sizes.kv_size, sizes.hidden, bias=bias),
        *linear("self_attention.dense", sizes.hidden, sizes.hidden, bias=bias),
        *linear("mlp.dense_h_to_4h", width, sizes.hidden, bias=bias),
        *linear("mlp.dense_4h_to_h", sizes.hidden, width, bias=bias),
        *norms(sizes.hidden, *names.get(kind, ("input_layernorm",)), bias=True),
    )
