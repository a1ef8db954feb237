"""Activations of bloom, cast: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 4, 16, 0, 0, 8),
    input_grad=(0, 2, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("lm_head", (2, 4, 8, 0, 0, 0)),
        ("", (10, 4, 24, 8, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 4, 16, 0, 0, 12)),
        (0, "", "", (12, 4, 8, 0, 0, 8)),
        (0, "lm_head", "lm_head.weight", (2, 6, 8, 0, 0, 8)),
        (1, "", "", (0, 6, 8, 0, 4, 8)),
    ),
)
T1 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "a", "h", "1"),
    kept=(0, 0, 0, 2, 8, 0, 0, 0, 0, 0, 0),
    frame=(2, 0, 2, 0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 0, 4, 8, 4, 8, 0, 4, 0, 0)),
        ("", (0, 0, 6, 4, 8, 4, 0, 0, 4, 0, 0)),
        ("", (0, 0, 2, 4, 8, 0, 24, 8, 4, 0, 8)),
        ("", (0, 1, 2, 4, 8, 0, 16, 8, 4, 0, 8)),
        ("", (2, 1, 2, 4, 8, 0, 0, 0, 4, 0, 4)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 6, 8, 0, 0, 0, 0, 4, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(6, 32, 16, 0),
    input_grad=(0, 2, 0, 0),
    order=("mlp.dense_4h_to_h.bias", "mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.bias", "mlp.dense_h_to_4h.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attention.dense.bias", "self_attention.dense.weight", "self_attention.query_key_value.bias", "self_attention.query_key_value.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attention.query_key_value", (0, 10, 8, 0)),
        ("", (12, 16, 8, 0)),
        ("self_attention.dense", (10, 20, 8, 0)),
        ("", (10, 22, 8, 0)),
        ("mlp.dense_h_to_4h", (6, 24, 16, 0)),
        ("", (6, 56, 16, 0)),
        ("mlp.dense_4h_to_h", (6, 34, 16, 0)),
    ),
    backward=(
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (6, 42, 16, 2)),
        (2, "", "", (6, 74, 16, 0)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (6, 28, 16, 8)),
        (4, "", "", (6, 20, 16, 4)),
        (6, "self_attention.dense", "self_attention.dense.weight", (6, 16, 8, 2)),
        (8, "", "", (8, 16, 8, 0)),
        (8, "", "", (12, 12, 8, 0)),
        (8, "", "", (2, 18, 8, 0)),
        (8, "", "", (0, 22, 8, 0)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 14, 8, 6)),
        (10, "", "", (0, 8, 8, 4)),
    ),
)
T3 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "a", "h", "1"),
    kept=(2, 0, 2, 2, 8, 0, 0, 0, 0, 0, 0),
    frame=(0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 0, 4, 8, 4, 8, 0, 4, 0, 0)),
        ("", (0, 0, 6, 4, 8, 4, 0, 0, 4, 0, 0)),
        ("", (0, 0, 2, 4, 8, 0, 24, 8, 4, 0, 8)),
        ("", (0, 1, 2, 4, 8, 0, 16, 8, 4, 0, 8)),
        ("", (2, 1, 2, 4, 8, 0, 0, 0, 4, 0, 4)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 6, 8, 0, 0, 0, 0, 4, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(0, 2, 0, 0),
    input_grad=(0, 2, 0, 0),
    order=("mlp.dense_4h_to_h.bias", "mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.bias", "mlp.dense_h_to_4h.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attention.dense.bias", "self_attention.dense.weight", "self_attention.query_key_value.bias", "self_attention.query_key_value.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attention.query_key_value", (2, 10, 0, 0)),
        ("", (14, 16, 0, 0)),
        ("self_attention.dense", (8, 20, 0, 0)),
        ("", (8, 22, 0, 0)),
        ("mlp.dense_h_to_4h", (4, 14, 0, 0)),
        ("", (4, 46, 0, 0)),
        ("mlp.dense_4h_to_h", (4, 16, 0, 0)),
    ),
    backward=(
        (0, "self_attention.query_key_value", "", (0, 12, 8, 0)),
        (0, "", "", (12, 18, 8, 0)),
        (0, "self_attention.dense", "", (10, 22, 8, 0)),
        (0, "", "", (10, 24, 8, 0)),
        (0, "mlp.dense_h_to_4h", "", (6, 26, 16, 0)),
        (0, "mlp.dense_4h_to_h", "", (6, 58, 16, 0)),
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (6, 42, 16, 0)),
        (2, "", "", (6, 74, 16, 0)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (6, 28, 16, 0)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (6, 26, 16, 8)),
        (4, "", "", (6, 20, 16, 4)),
        (6, "self_attention.dense", "self_attention.dense.weight", (6, 16, 8, 0)),
        (8, "", "", (8, 16, 8, 0)),
        (8, "", "", (12, 12, 8, 0)),
        (8, "", "", (2, 18, 8, 0)),
        (8, "", "", (0, 22, 8, 0)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 14, 8, 0)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 12, 8, 6)),
        (10, "", "", (0, 8, 8, 4)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 4, 16, 0, 0, 0, 8),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(0, 2, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (10, 4, 24, 8, 0, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 4, 16, 0, 0, 0, 12)),
        (0, "", "", (12, 4, 8, 0, 0, 0, 8)),
        (0, "", "", (2, 6, 8, 0, 2, 0, 8)),
        (0, "", "", (0, 6, 8, 0, 2, 4, 8)),
    ),
)
T6 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "h*V", "a", "h", "1"),
    kept=(0, 0, 0, 2, 8, 0, 0, 0, 0, 0, 0, 0),
    frame=(2, 0, 2, 0, 0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 0, 4, 8, 4, 8, 0, 0, 4, 0, 0)),
        ("", (0, 0, 6, 4, 8, 4, 0, 0, 0, 4, 0, 0)),
        ("", (0, 0, 2, 4, 8, 0, 24, 8, 0, 4, 0, 8)),
        ("", (0, 1, 2, 4, 8, 0, 16, 8, 0, 4, 0, 8)),
        ("", (2, 1, 2, 4, 8, 0, 0, 0, 0, 4, 0, 4)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 6, 8, 0, 0, 0, 0, 0, 4, 0)),
        (2, "transformer.word_embeddings", "", (0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0)),
    ),
)
T7 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(4, 16, 0, 0, 0, 0, 0, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (4, 24, 0, 0, 8, 0, 0, 0)),
        ("lm_head", (4, 16, 2, 0, 0, 0, 0, 8)),
        ("", (4, 16, 8, 0, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (4, 16, 8, 2, 0, 2, 0, 20)),
        (0, "", "", (4, 16, 12, 2, 0, 2, 0, 12)),
        (0, "lm_head", "", (4, 16, 2, 4, 0, 4, 0, 12)),
        (0, "lm_head", "lm_head.weight", (4, 16, 0, 4, 0, 4, 0, 12)),
        (0, "", "lm_head.weight", (4, 16, 12, 12, 0, 0, 0, 12)),
        (0, "lm_head", "lm_head.weight", (4, 16, 2, 14, 0, 2, 0, 12)),
        (0, "", "lm_head.weight", (4, 16, 8, 14, 0, 0, 0, 20)),
        (0, "", "lm_head.weight", (4, 16, 12, 14, 0, 0, 0, 8)),
        (0, "lm_head", "lm_head.weight", (4, 16, 2, 16, 0, 2, 0, 8)),
        (1, "", "", (4, 8, 0, 16, 0, 0, 0, 8)),
        (1, "", "", (6, 8, 0, 0, 0, 0, 4, 8)),
    ),
)
T8 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(4, 8, 0, 0, 2, 0, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (4, 24, 0, 0, 0, 0, 48)),
        ("lm_head", (6, 20, 2, 2, 2, 0, 0)),
    ),
    backward=(
        (0, "", "lm_head.weight", (4, 8, 0, 0, 0, 0, 8)),
        (1, "", "", (6, 8, 0, 0, 0, 4, 8)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(4, 16, 0, 0, 0, 0, 0, 4),
    held=(0, 0, 0, 0, 0, 2, 0, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (4, 24, 0, 0, 8, 0, 0, 0)),
        ("", (4, 16, 8, 0, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (4, 16, 0, 4, 0, 6, 0, 12)),
        (0, "", "", (4, 16, 12, 12, 0, 2, 0, 12)),
        (0, "", "", (4, 16, 2, 14, 0, 4, 0, 12)),
        (0, "", "", (4, 16, 8, 14, 0, 2, 0, 20)),
        (0, "", "", (4, 16, 12, 14, 0, 2, 0, 8)),
        (0, "", "", (4, 16, 2, 16, 0, 4, 0, 8)),
        (0, "", "", (6, 8, 0, 0, 0, 2, 4, 8)),
    ),
)
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(4, 8, 0, 0, 2, 0, 4),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (4, 24, 0, 0, 0, 0, 48)),
        ("", (6, 20, 2, 2, 2, 0, 0)),
    ),
    backward=(
        (0, "", "", (6, 8, 0, 0, 2, 4, 8)),
    ),
)
TABLES = {
    "head standard": (T0,),
    "stem eager": (T1,),
    "bloom eager": (T2,),
    "stem eager checkpointed": (T3,),
    "bloom eager checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
    "head chunked": (T7,),
    "head fused": (T8,),
    "head tied chunked": (T9,),
    "head tied fused": (T10,),
}
