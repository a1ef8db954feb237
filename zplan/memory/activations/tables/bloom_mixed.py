"""Activations of bloom, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 6, 16, 0, 8, 8),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("lm_head", (2, 10, 8, 0, 8, 0)),
        ("", (10, 10, 24, 8, 8, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 8, 12)),
        (0, "", "", (12, 6, 8, 0, 8, 8)),
        (0, "lm_head", "lm_head.weight", (2, 8, 8, 0, 8, 8)),
        (1, "lm_head", "", (0, 10, 8, 0, 8, 8)),
        (1, "", "", (0, 12, 8, 0, 16, 8)),
    ),
)
T1 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "a", "h", "1"),
    kept=(0, 0, 0, 4, 8, 0, 0, 0, 0, 8, 0),
    frame=(2, 0, 4, 2, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 10, 8, 4, 0, 0, 4, 8, 0)),
        ("", (0, 0, 4, 10, 8, 0, 24, 8, 4, 8, 8)),
        ("", (0, 1, 4, 10, 8, 0, 16, 8, 4, 8, 8)),
        ("", (2, 1, 4, 10, 8, 0, 0, 0, 4, 8, 4)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 12, 8, 0, 0, 0, 0, 16, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(6, 36, 16, 16),
    input_grad=(0, 4, 0, 0),
    order=("mlp.dense_4h_to_h.bias", "mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.bias", "mlp.dense_h_to_4h.weight", "post_attention_layernorm.bias", "post_attention_layernorm.weight", "self_attention.dense.bias", "self_attention.dense.weight", "self_attention.query_key_value.bias", "self_attention.query_key_value.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attention.query_key_value", (0, 16, 8, 8)),
        ("", (12, 22, 8, 8)),
        ("self_attention.dense", (10, 26, 8, 8)),
        ("", (10, 30, 8, 8)),
        ("mlp.dense_h_to_4h", (6, 32, 16, 16)),
        ("", (6, 64, 16, 16)),
        ("mlp.dense_4h_to_h", (6, 42, 16, 16)),
    ),
    backward=(
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (6, 50, 16, 18)),
        (2, "", "", (6, 80, 16, 16)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (6, 34, 16, 24)),
        (4, "mlp.dense_h_to_4h", "", (6, 28, 16, 16)),
        (4, "", "", (6, 30, 16, 24)),
        (6, "self_attention.dense", "self_attention.dense.weight", (6, 22, 8, 10)),
        (8, "", "", (8, 20, 8, 8)),
        (8, "", "", (12, 16, 8, 8)),
        (8, "", "", (2, 22, 8, 8)),
        (8, "", "", (0, 26, 8, 8)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 18, 8, 14)),
        (10, "self_attention.query_key_value", "", (0, 14, 8, 8)),
        (10, "", "", (0, 16, 8, 16)),
    ),
)
T3 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "a", "h", "1"),
    kept=(2, 0, 4, 4, 8, 0, 0, 0, 0, 8, 0),
    frame=(0, 0, 0, 2, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 10, 8, 4, 0, 0, 4, 8, 0)),
        ("", (0, 0, 4, 10, 8, 0, 24, 8, 4, 8, 8)),
        ("", (0, 1, 4, 10, 8, 0, 16, 8, 4, 8, 8)),
        ("", (2, 1, 4, 10, 8, 0, 0, 0, 4, 8, 4)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 12, 8, 0, 0, 0, 0, 16, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(0, 4, 0, 0),
    input_grad=(0, 4, 0, 0),
    order=("mlp.dense_4h_to_h.bias", "mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.bias", "mlp.dense_h_to_4h.weight", "post_attention_layernorm.bias", "post_attention_layernorm.weight", "self_attention.dense.bias", "self_attention.dense.weight", "self_attention.query_key_value.bias", "self_attention.query_key_value.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attention.query_key_value", (2, 16, 0, 0)),
        ("", (14, 20, 0, 0)),
        ("self_attention.dense", (8, 24, 0, 0)),
        ("", (8, 28, 0, 0)),
        ("mlp.dense_h_to_4h", (4, 22, 0, 0)),
        ("", (4, 52, 0, 0)),
        ("mlp.dense_4h_to_h", (4, 22, 0, 0)),
    ),
    backward=(
        (0, "self_attention.query_key_value", "", (0, 22, 8, 8)),
        (0, "", "", (12, 28, 8, 8)),
        (0, "self_attention.dense", "", (10, 32, 8, 8)),
        (0, "", "", (10, 36, 8, 8)),
        (0, "mlp.dense_h_to_4h", "", (6, 38, 16, 16)),
        (0, "mlp.dense_4h_to_h", "", (6, 70, 16, 16)),
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (6, 50, 16, 16)),
        (2, "", "", (6, 80, 16, 16)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (6, 34, 16, 16)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (6, 32, 16, 24)),
        (4, "mlp.dense_h_to_4h", "", (6, 28, 16, 16)),
        (4, "", "", (6, 30, 16, 24)),
        (6, "self_attention.dense", "self_attention.dense.weight", (6, 22, 8, 8)),
        (8, "", "", (8, 20, 8, 8)),
        (8, "", "", (12, 16, 8, 8)),
        (8, "", "", (2, 22, 8, 8)),
        (8, "", "", (0, 26, 8, 8)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 18, 8, 8)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 16, 8, 14)),
        (10, "self_attention.query_key_value", "", (0, 14, 8, 8)),
        (10, "", "", (0, 16, 8, 16)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 6, 16, 0, 0, 8, 8),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("", (10, 10, 24, 8, 0, 8, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 0, 8, 12)),
        (0, "", "", (12, 6, 8, 0, 0, 8, 8)),
        (0, "", "", (2, 8, 8, 0, 2, 8, 8)),
        (0, "", "", (0, 12, 8, 0, 2, 16, 8)),
    ),
)
T6 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "h*V", "a", "h", "1"),
    kept=(0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 8, 0),
    frame=(2, 0, 4, 2, 0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 10, 8, 4, 0, 0, 0, 4, 8, 0)),
        ("", (0, 0, 4, 10, 8, 0, 24, 8, 0, 4, 8, 8)),
        ("", (0, 1, 4, 10, 8, 0, 16, 8, 0, 4, 8, 8)),
        ("", (2, 1, 4, 10, 8, 0, 0, 0, 0, 4, 8, 4)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 12, 8, 0, 0, 0, 0, 0, 16, 0)),
        (2, "transformer.word_embeddings", "", (0, 0, 0, 2, 0, 0, 0, 0, 2, 0, 0, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0)),
    ),
)
T7 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 8, 4),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("", (8, 24, 0, 0, 8, 0, 8, 0)),
        ("lm_head", (8, 16, 2, 2, 0, 0, 8, 8)),
        ("", (8, 16, 8, 0, 0, 0, 8, 16)),
    ),
    backward=(
        (0, "", "", (8, 16, 8, 6, 0, 2, 8, 20)),
        (0, "", "", (8, 16, 12, 6, 0, 2, 8, 12)),
        (0, "lm_head", "", (8, 16, 2, 8, 0, 4, 8, 12)),
        (0, "lm_head", "lm_head.weight", (8, 16, 0, 6, 0, 4, 8, 12)),
        (0, "", "lm_head.weight", (8, 16, 8, 30, 0, 0, 8, 20)),
        (0, "", "lm_head.weight", (8, 16, 12, 30, 0, 0, 8, 8)),
        (0, "lm_head", "lm_head.weight", (8, 16, 2, 32, 0, 2, 8, 8)),
        (1, "lm_head", "", (4, 8, 0, 34, 0, 0, 8, 8)),
        (1, "", "", (8, 8, 0, 32, 0, 0, 8, 8)),
        (1, "", "", (12, 8, 0, 0, 0, 0, 16, 8)),
    ),
)
T8 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    input_grad=(4, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("", (8, 24, 0, 0, 0, 8, 48)),
        ("lm_head", (12, 20, 2, 2, 2, 8, 0)),
    ),
    backward=(
        (0, "", "lm_head.weight", (8, 8, 0, 0, 0, 8, 8)),
        (1, "", "", (12, 8, 0, 0, 0, 16, 8)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 8, 4),
    held=(0, 0, 0, 0, 0, 2, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("", (8, 24, 0, 0, 8, 0, 8, 0)),
        ("", (8, 16, 2, 2, 0, 0, 8, 8)),
        ("", (8, 16, 8, 0, 0, 0, 8, 16)),
    ),
    backward=(
        (0, "", "", (8, 16, 0, 6, 0, 6, 8, 12)),
        (0, "", "", (8, 16, 8, 30, 0, 2, 8, 20)),
        (0, "", "", (8, 16, 12, 30, 0, 2, 8, 8)),
        (0, "", "", (8, 16, 2, 32, 0, 4, 8, 8)),
        (0, "", "", (4, 8, 0, 34, 0, 2, 8, 8)),
        (0, "", "", (12, 8, 0, 0, 0, 2, 16, 8)),
    ),
)
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("", (8, 24, 0, 0, 0, 8, 48)),
        ("", (12, 20, 2, 2, 2, 8, 0)),
    ),
    backward=(
        (0, "", "", (12, 8, 0, 0, 2, 16, 8)),
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
