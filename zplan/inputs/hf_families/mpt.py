"""MPT: ALiBi positions and no biases at all.

Source: transformers ``models/mpt/modeling_mpt.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import Shape, embedding, fused_heads, head, linear, norm, stack
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "mpt": {
        "vocab_size": 50368,
        "d_model": 2048,
        "n_heads": 16,
        "n_layers": 24,
        "expansion_ratio": 4,
        "max_seq_len": 2048,
        "no_bias": True,
        "attn_config": None,
        "tie_word_embeddings": True,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "mpt": {
        "d_model": ("hidden_size",),
        "n_heads": ("num_attention_heads",),
        "n_layers": ("num_hidden_layers",),
    },
}
EXPANSION = 4
"""The model code builds an MLP of 4h whatever ``expansion_ratio`` says."""


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of an MPT config.

    ALiBi sets no limit to the sequence; ``max_seq_len``, which the checkpoint was trained with, stands in for one.

    Raises:
        ZplanError: The config asks for what transformers' model code does not build.
    """
    _check(fields)
    sizes = fused_heads(fields, "d_model", "n_heads")
    hidden, vocab, tied = sizes.hidden, fields.size("vocab_size"), fields.flag("tie_word_embeddings")
    width = EXPANSION * hidden
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *norm("norm_1", hidden),
            *linear("attn.Wqkv", 3 * hidden, hidden),
            *linear("attn.out_proj", hidden, hidden),
            *norm("norm_2", hidden),
            *linear("ffn.up_proj", width, hidden),
            *linear("ffn.down_proj", hidden, width),
        ),
        dims=sizes.dims(f=width),
    )
    kinds, layers = stack([0] * fields.layers("n_layers"), lambda _: block)
    return Shape(
        hidden_size=hidden,
        num_heads=sizes.heads,
        num_kv_heads=sizes.kv_heads,
        head_dim=sizes.head_dim,
        ffn_size=width,
        vocab_size=vocab,
        max_seq_len=fields.positions("max_seq_len"),
        tied_embeddings=tied,
        pre=embedding("transformer.wte", vocab, hidden),
        block_kinds=kinds,
        layers=layers,
        post=norm("transformer.norm_f", hidden) + head(vocab, hidden, tied=tied),
        trunk="transformer.blocks",
    )


def _check(fields: Fields) -> None:
    """Refuses variants for which transformers builds other tensors than the checkpoint has."""
    if not fields.flag("no_bias"):
        raise fields.error("no_bias", "is false, but transformers' MPT has no biases")
    if fields.size("expansion_ratio") != EXPANSION:
        raise fields.error("expansion_ratio", "is not 4, but transformers' MPT always has an MLP of 4 d_model")
    attention = fields.section("attn_config")
    if attention.get("attn_type", "multihead_attention") != "multihead_attention" or attention.get("qk_ln"):
        raise fields.error(
            "attn_config", "asks for shared key-value heads or query norms, which transformers' MPT lacks"
        )
