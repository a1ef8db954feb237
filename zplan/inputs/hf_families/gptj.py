"""GPT-J: attention and MLP side by side, biases in the MLP and the head alone.

Source: transformers ``models/gptj/modeling_gptj.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import Shape, embedding, fused_heads, head, linear, norm, stack
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "gptj": {
        "vocab_size": 50400,
        "n_positions": 2048,
        "n_embd": 4096,
        "n_layer": 28,
        "n_head": 16,
        "n_inner": None,
        "tie_word_embeddings": False,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {
    "gptj": {
        "n_embd": ("hidden_size",),
        "n_positions": ("max_position_embeddings",),
        "n_head": ("num_attention_heads",),
        "n_layer": ("num_hidden_layers",),
    },
}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a GPT-J config."""
    sizes = fused_heads(fields, "n_embd", "n_head")
    hidden, vocab, tied = sizes.hidden, fields.size("vocab_size"), fields.flag("tie_word_embeddings")
    width = fields.optional_size("n_inner") or 4 * hidden
    block = BlockSpec(
        implementation=model_type,
        weights=(
            *norm("ln_1", hidden, bias=True),
            *(
                weight
                for name in ("k_proj", "v_proj", "q_proj", "out_proj")
                for weight in linear(f"attn.{name}", hidden, hidden)
            ),
            *linear("mlp.fc_in", width, hidden, bias=True),
            *linear("mlp.fc_out", hidden, width, bias=True),
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
        max_seq_len=fields.positions("n_positions"),
        tied_embeddings=tied,
        pre=embedding("transformer.wte", vocab, hidden),
        block_kinds=kinds,
        layers=layers,
        post=norm("transformer.ln_f", hidden, bias=True) + head(vocab, hidden, tied=tied, bias=True),
        trunk="transformer.h",
    )
