"""OPT (and Galactica): learned positions; OPT-350M embeds into fewer dimensions than it computes in.

Source: transformers ``models/opt/modeling_opt.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    Shape,
    Weights,
    check_padding,
    embedding,
    fused_heads,
    head,
    linear,
    norm,
    stack,
)
from zplan.spec import BlockSpec, WeightKind

DEFAULTS: dict[str, dict[str, object]] = {
    "opt": {
        "vocab_size": 50272,
        "hidden_size": 768,
        "ffn_dim": 3072,
        "num_hidden_layers": 12,
        "num_attention_heads": 12,
        "max_position_embeddings": 2048,
        "word_embed_proj_dim": None,
        "do_layer_norm_before": True,
        "_remove_final_layer_norm": False,
        "enable_bias": True,
        "layer_norm_elementwise_affine": True,
        "tie_word_embeddings": True,
        "pad_token_id": 1,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}
POSITION_OFFSET = 2
"""OPT's position table has two rows more than it has positions."""


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of an OPT config.

    ``pre`` also holds the output projection and the last norm: the model code registers them before the blocks.
    """
    sizes = fused_heads(fields, "hidden_size", "num_attention_heads")
    hidden, vocab, tied = sizes.hidden, fields.size("vocab_size"), fields.flag("tie_word_embeddings")
    check_padding(fields, vocab)
    width, positions = fields.size("ffn_dim"), fields.size("max_position_embeddings")
    embedded = fields.optional_size("word_embed_proj_dim") or hidden
    norm_first, affine = fields.flag("do_layer_norm_before"), fields.flag("layer_norm_elementwise_affine")
    last_norm = norm_first and affine and not fields.flag("_remove_final_layer_norm")
    block = BlockSpec(
        implementation=model_type if norm_first else f"{model_type}:post_norm",
        weights=_block(hidden, width, bias=fields.flag("enable_bias"), affine=affine),
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
        max_seq_len=positions,
        tied_embeddings=tied,
        pre=(
            *embedding("model.decoder.embed_tokens", vocab, embedded),
            *embedding("model.decoder.embed_positions", positions + POSITION_OFFSET, hidden, WeightKind.POSITION),
            *_projections(hidden, embedded),
            *(norm("model.decoder.final_layer_norm", hidden, bias=True) if last_norm else ()),
        ),
        block_kinds=kinds,
        layers=layers,
        post=head(vocab, embedded, tied=tied),
        trunk="model.decoder.layers",
    )


def _projections(hidden: int, embedded: int) -> Weights:
    """Returns the projections between embedding width and hidden size, where they differ."""
    if hidden == embedded:
        return ()
    return linear("model.decoder.project_out", embedded, hidden) + linear("model.decoder.project_in", hidden, embedded)


def _block(hidden: int, width: int, *, bias: bool, affine: bool) -> Weights:
    """Returns the tensors of a block."""
    names = ("k_proj", "v_proj", "q_proj", "out_proj")
    return (
        *(weight for name in names for weight in linear(f"self_attn.{name}", hidden, hidden, bias=bias)),
        *(norm("self_attn_layer_norm", hidden, bias=True) if affine else ()),
        *linear("fc1", width, hidden, bias=bias),
        *linear("fc2", hidden, width, bias=bias),
        *(norm("final_layer_norm", hidden, bias=True) if affine else ()),
    )
