"""Activations of bloom, fp32: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 8, 16, 0, 0, 8),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("lm_head", (4, 8, 8, 0, 0, 0)),
        ("", (8, 8, 24, 8, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 8, 16, 0, 0, 12)),
        (0, "", "", (12, 8, 8, 0, 0, 8)),
        (0, "lm_head", "lm_head.weight", (4, 12, 8, 0, 0, 8)),
        (1, "", "", (0, 12, 8, 0, 8, 8)),
    ),
)
T1 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "a", "h", "1"),
    kept=(0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0),
    frame=(4, 0, 4, 0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 8, 8, 4, 0, 0, 4, 0, 0)),
        ("", (0, 0, 4, 8, 8, 0, 24, 8, 4, 0, 8)),
        ("", (0, 1, 4, 8, 8, 0, 16, 8, 4, 0, 8)),
        ("", (4, 1, 4, 8, 8, 0, 0, 0, 4, 0, 8)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 12, 8, 0, 0, 0, 0, 8, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(4, 64, 16, 0),
    input_grad=(0, 4, 0, 0),
    order=("mlp.dense_4h_to_h.bias", "mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.bias", "mlp.dense_h_to_4h.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attention.dense.bias", "self_attention.dense.weight", "self_attention.query_key_value.bias", "self_attention.query_key_value.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attention.query_key_value", (0, 20, 8, 0)),
        ("self_attention.dense", (12, 40, 8, 0)),
        ("", (12, 44, 8, 0)),
        ("mlp.dense_h_to_4h", (4, 48, 16, 0)),
        ("", (4, 112, 16, 0)),
        ("mlp.dense_4h_to_h", (4, 68, 16, 0)),
    ),
    backward=(
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (4, 84, 16, 4)),
        (2, "", "", (4, 148, 16, 0)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (4, 56, 16, 16)),
        (4, "", "", (4, 40, 16, 8)),
        (6, "self_attention.dense", "self_attention.dense.weight", (4, 32, 8, 4)),
        (8, "", "", (8, 32, 8, 0)),
        (8, "", "", (12, 24, 8, 0)),
        (8, "", "", (4, 36, 8, 0)),
        (8, "", "", (0, 44, 8, 0)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 28, 8, 12)),
        (10, "", "", (0, 16, 8, 8)),
    ),
)
T3 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "a", "h", "1"),
    kept=(4, 0, 4, 4, 8, 0, 0, 0, 0, 0, 0),
    frame=(0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 8, 8, 4, 0, 0, 4, 0, 0)),
        ("", (0, 0, 4, 8, 8, 0, 24, 8, 4, 0, 8)),
        ("", (0, 1, 4, 8, 8, 0, 16, 8, 4, 0, 8)),
        ("", (4, 1, 4, 8, 8, 0, 0, 0, 4, 0, 8)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 12, 8, 0, 0, 0, 0, 8, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(0, 4, 0, 0),
    input_grad=(0, 4, 0, 0),
    order=("mlp.dense_4h_to_h.bias", "mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.bias", "mlp.dense_h_to_4h.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attention.dense.bias", "self_attention.dense.weight", "self_attention.query_key_value.bias", "self_attention.query_key_value.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attention.query_key_value", (4, 20, 0, 0)),
        ("self_attention.dense", (16, 40, 0, 0)),
        ("", (16, 44, 0, 0)),
        ("mlp.dense_h_to_4h", (8, 28, 0, 0)),
        ("", (8, 92, 0, 0)),
        ("mlp.dense_4h_to_h", (8, 32, 0, 0)),
    ),
    backward=(
        (0, "self_attention.query_key_value", "", (0, 24, 8, 0)),
        (0, "self_attention.dense", "", (12, 44, 8, 0)),
        (0, "", "", (12, 48, 8, 0)),
        (0, "mlp.dense_h_to_4h", "", (4, 52, 16, 0)),
        (0, "mlp.dense_4h_to_h", "", (4, 116, 16, 0)),
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (4, 84, 16, 0)),
        (2, "", "", (4, 148, 16, 0)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (4, 56, 16, 0)),
        (2, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (4, 52, 16, 16)),
        (4, "", "", (4, 40, 16, 8)),
        (6, "self_attention.dense", "self_attention.dense.weight", (4, 32, 8, 0)),
        (8, "", "", (8, 32, 8, 0)),
        (8, "", "", (12, 24, 8, 0)),
        (8, "", "", (4, 36, 8, 0)),
        (8, "", "", (0, 44, 8, 0)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 28, 8, 0)),
        (8, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 24, 8, 12)),
        (10, "", "", (0, 16, 8, 8)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 8, 16, 0, 0, 0, 8),
    held=(0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (8, 8, 24, 8, 0, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 8, 16, 0, 0, 0, 12)),
        (0, "", "", (12, 8, 8, 0, 0, 0, 8)),
        (0, "", "", (4, 12, 8, 0, 4, 0, 8)),
        (0, "", "", (0, 12, 8, 0, 4, 8, 8)),
    ),
)
T6 = Table(
    columns=("T*s", "s*s", "T*a", "T*h", "T", "s*a", "s", "b", "h*V", "a", "h", "1"),
    kept=(0, 0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0),
    frame=(4, 0, 4, 0, 0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.word_embeddings_layernorm.weight", "transformer.word_embeddings_layernorm.bias", "transformer.word_embeddings.weight"),
    forward=(
        ("transformer.word_embeddings", (0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 8, 8, 4, 0, 0, 0, 4, 0, 0)),
        ("", (0, 0, 4, 8, 8, 0, 24, 8, 0, 4, 0, 8)),
        ("", (0, 1, 4, 8, 8, 0, 16, 8, 0, 4, 0, 8)),
        ("", (4, 1, 4, 8, 8, 0, 0, 0, 0, 4, 0, 8)),
    ),
    backward=(
        (0, "", "", (0, 0, 0, 12, 8, 0, 0, 0, 0, 0, 8, 0)),
        (2, "transformer.word_embeddings", "", (0, 0, 0, 4, 0, 0, 0, 0, 4, 0, 0, 0)),
        (2, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0)),
    ),
)
T7 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 4),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (8, 24, 0, 0, 8, 0, 0, 0)),
        ("lm_head", (8, 16, 4, 0, 0, 0, 0, 8)),
        ("", (8, 16, 8, 0, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (8, 16, 8, 4, 0, 4, 0, 20)),
        (0, "", "", (8, 16, 12, 4, 0, 4, 0, 12)),
        (0, "lm_head", "", (8, 16, 4, 8, 0, 8, 0, 12)),
        (0, "lm_head", "lm_head.weight", (8, 16, 0, 8, 0, 8, 0, 12)),
        (0, "", "lm_head.weight", (8, 16, 8, 28, 0, 0, 0, 20)),
        (0, "", "lm_head.weight", (8, 16, 12, 28, 0, 0, 0, 8)),
        (0, "lm_head", "lm_head.weight", (8, 16, 4, 32, 0, 4, 0, 8)),
        (1, "", "", (8, 8, 0, 32, 0, 0, 0, 8)),
        (1, "", "", (12, 8, 0, 0, 0, 0, 8, 8)),
    ),
)
T8 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 4, 0, 4),
    input_grad=(4, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (8, 24, 0, 0, 0, 0, 48)),
        ("lm_head", (12, 20, 4, 4, 4, 0, 0)),
    ),
    backward=(
        (0, "", "lm_head.weight", (8, 8, 0, 0, 0, 0, 8)),
        (1, "", "", (12, 8, 0, 0, 0, 8, 8)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 4),
    held=(0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (8, 24, 0, 0, 8, 0, 0, 0)),
        ("", (8, 16, 8, 0, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (8, 16, 0, 8, 0, 12, 0, 12)),
        (0, "", "", (8, 16, 8, 28, 0, 4, 0, 20)),
        (0, "", "", (8, 16, 12, 28, 0, 4, 0, 8)),
        (0, "", "", (8, 16, 4, 32, 0, 8, 0, 8)),
        (0, "", "", (12, 8, 0, 0, 0, 4, 8, 8)),
    ),
)
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 4, 0, 4),
    held=(0, 0, 0, 0, 4, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (8, 24, 0, 0, 0, 0, 48)),
        ("", (12, 20, 4, 4, 4, 0, 0)),
    ),
    backward=(
        (0, "", "", (12, 8, 0, 0, 4, 8, 8)),
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
