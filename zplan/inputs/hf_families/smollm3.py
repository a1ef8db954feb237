"""SmolLM3: Llama's tensors; some layers without rotary positions.

Source: transformers ``models/smollm3/modeling_smollm3.py``.
"""

from __future__ import annotations

from zplan.inputs.hf_families.fields import Fields
from zplan.inputs.hf_families.layout import (
    LLAMA_NORMS,
    Shape,
    attention,
    causal_lm,
    gated_mlp,
    layer_windows,
    norms,
    read_heads,
    stack,
)
from zplan.spec import BlockSpec

DEFAULTS: dict[str, dict[str, object]] = {
    "smollm3": {
        "vocab_size": 128256,
        "hidden_size": 2048,
        "intermediate_size": 11008,
        "num_hidden_layers": 36,
        "num_attention_heads": 16,
        "num_key_value_heads": 4,
        "head_dim": None,
        "max_position_embeddings": 32768,
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "use_sliding_window": False,
        "sliding_window": None,
        "layer_types": None,
        "no_rope_layers": None,
        "no_rope_layer_interval": 4,
        "pad_token_id": 128004,
    },
}
ALIASES: dict[str, dict[str, tuple[str, ...]]] = {}


def read(fields: Fields, model_type: str) -> Shape:
    """Returns the shape of a SmolLM3 config."""
    sizes, width, layers = read_heads(fields), fields.size("intermediate_size"), fields.layers()
    bias, mlp_bias = fields.flag("attention_bias"), fields.flag("mlp_bias")
    rotary = _rotary_layers(fields, layers)
    window = fields.optional_size("sliding_window") if fields.flag("use_sliding_window") else None
    windows = layer_windows(fields, layers, lambda index: not rotary[index], window)

    def build(key: tuple[bool, int | None]) -> BlockSpec:
        return BlockSpec(
            implementation=model_type if key[0] else f"{model_type}:nope",
            weights=(
                *attention(sizes, qkv_bias=bias, out_bias=bias),
                *gated_mlp(sizes.hidden, width, bias=mlp_bias),
                *norms(sizes.hidden, *LLAMA_NORMS),
            ),
            dims=sizes.dims(f=width),
            sliding_window=key[1],
        )

    return causal_lm(fields, sizes, stack(list(zip(rotary, windows, strict=True)), build), ffn_size=width)


def _rotary_layers(fields: Fields, layers: int) -> list[bool]:
    """Returns for each layer whether it turns queries and keys (``no_rope_layers`` holds 1 where it does)."""
    listed = fields.sequence("no_rope_layers")
    if listed is None:
        interval = fields.size("no_rope_layer_interval")
        return [(index + 1) % interval != 0 for index in range(layers)]
    if len(listed) != layers or any(entry not in (0, 1) for entry in listed):
        raise fields.error("no_rope_layers", f"must hold a 0 or 1 for each of the {layers} layers")
    return [bool(entry) for entry in listed]
