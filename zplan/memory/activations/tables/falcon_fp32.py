"""Activations of falcon, fp32: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

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
    columns=("T*h", "s*d", "s"),
    kept=(0, 8, 0),
    frame=(0, 0, 8),
    input_grad=(0, 0, 0),
    order=("transformer.word_embeddings.weight",),
    forward=(
        ("transformer.word_embeddings", (4, 0, 0)),
        ("", (4, 18, 8)),
    ),
    backward=(
        (0, "transformer.word_embeddings", "transformer.word_embeddings.weight", (4, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*d", "T*h", "b*r*a", "T", "h", "1"),
    kept=(8, 48, 4, 8, 0, 16),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attention.query_key_value", (8, 12, 0, 8, 0, 0)),
        ("", (28, 16, 0, 8, 0, 0)),
        ("self_attention.dense", (16, 24, 4, 8, 0, 16)),
        ("mlp.dense_h_to_4h", (8, 36, 4, 8, 0, 16)),
        ("mlp.dense_4h_to_h", (8, 56, 4, 8, 0, 16)),
        ("", (8, 60, 4, 8, 0, 16)),
    ),
    backward=(
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (8, 68, 4, 8, 0, 16)),
        (1, "", "", (8, 68, 4, 8, 0, 16)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (8, 40, 4, 8, 0, 16)),
        (2, "self_attention.dense", "self_attention.dense.weight", (8, 28, 4, 8, 0, 16)),
        (3, "", "", (12, 40, 4, 8, 0, 16)),
        (3, "", "", (16, 36, 4, 8, 0, 16)),
        (3, "", "", (20, 28, 0, 8, 0, 0)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (8, 24, 0, 8, 0, 0)),
        (4, "", "", (0, 16, 0, 8, 8, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*d", "s"),
    kept=(0, 8, 8),
    input_grad=(0, 0, 0),
    order=("transformer.word_embeddings.weight",),
    forward=(
        ("transformer.word_embeddings", (4, 0, 0)),
        ("", (4, 18, 8)),
    ),
    backward=(
        (0, "transformer.word_embeddings", "transformer.word_embeddings.weight", (4, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*d", "T*h", "b*r*a", "T", "h", "1"),
    kept=(0, 4, 0, 0, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attention.query_key_value", (8, 12, 0, 0, 0, 0)),
        ("", (28, 16, 0, 0, 0, 0)),
        ("", (16, 20, 4, 0, 0, 16)),
        ("self_attention.dense", (16, 24, 0, 0, 0, 0)),
        ("mlp.dense_h_to_4h", (0, 28, 0, 0, 0, 0)),
        ("", (0, 44, 0, 0, 0, 0)),
        ("mlp.dense_4h_to_h", (0, 32, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attention.query_key_value", "", (8, 16, 0, 8, 0, 0)),
        (0, "", "", (28, 20, 0, 8, 0, 0)),
        (0, "self_attention.dense", "", (16, 28, 4, 8, 0, 16)),
        (0, "mlp.dense_h_to_4h", "", (8, 40, 4, 8, 0, 16)),
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (8, 68, 4, 8, 0, 16)),
        (1, "", "", (8, 68, 4, 8, 0, 16)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (8, 40, 4, 8, 0, 16)),
        (2, "self_attention.dense", "self_attention.dense.weight", (8, 28, 4, 8, 0, 16)),
        (3, "", "", (8, 40, 4, 8, 0, 16)),
        (3, "", "", (20, 28, 0, 8, 0, 0)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (8, 24, 0, 8, 0, 0)),
        (4, "", "", (0, 16, 0, 8, 8, 0)),
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
    columns=("T*h", "s*d", "s", "h*V"),
    kept=(0, 8, 0, 0),
    frame=(0, 0, 8, 0),
    input_grad=(0, 0, 0, 0),
    order=("transformer.word_embeddings.weight",),
    forward=(
        ("transformer.word_embeddings", (4, 0, 0, 0)),
        ("", (4, 18, 8, 0)),
    ),
    backward=(
        (0, "transformer.word_embeddings", "", (4, 0, 0, 4)),
        (0, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 4)),
    ),
)
T7 = Table(
    columns=("T*d*k", "T*h", "b*r*a", "T", "h", "1"),
    kept=(0, 60, 4, 16, 0, 16),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "ln_mlp.weight", "ln_mlp.bias", "ln_attn.weight", "ln_attn.bias"),
    forward=(
        ("self_attention.query_key_value", (8, 16, 0, 16, 0, 0)),
        ("", (16, 28, 0, 16, 0, 0)),
        ("", (8, 44, 0, 16, 0, 0)),
        ("self_attention.dense", (8, 36, 4, 16, 0, 16)),
        ("mlp.dense_h_to_4h", (0, 48, 4, 16, 0, 16)),
        ("mlp.dense_4h_to_h", (0, 68, 4, 16, 0, 16)),
        ("", (0, 72, 4, 16, 0, 16)),
    ),
    backward=(
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (0, 80, 4, 16, 0, 16)),
        (1, "", "", (0, 80, 4, 16, 0, 16)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (0, 52, 4, 16, 0, 16)),
        (2, "self_attention.dense", "self_attention.dense.weight", (0, 36, 4, 16, 0, 16)),
        (3, "", "", (0, 48, 4, 16, 0, 16)),
        (3, "", "", (20, 28, 0, 16, 0, 0)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (8, 24, 0, 16, 0, 0)),
        (4, "", "", (0, 20, 0, 16, 8, 0)),
        (6, "", "", (0, 16, 0, 8, 8, 0)),
    ),
)
T8 = Table(
    columns=("T*d*k", "T*h", "b*r*a", "T", "h", "1"),
    kept=(0, 4, 0, 0, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "ln_mlp.weight", "ln_mlp.bias", "ln_attn.weight", "ln_attn.bias"),
    forward=(
        ("self_attention.query_key_value", (8, 16, 0, 0, 0, 0)),
        ("", (16, 28, 0, 0, 0, 0)),
        ("", (8, 44, 0, 0, 0, 0)),
        ("", (8, 32, 4, 0, 0, 16)),
        ("self_attention.dense", (8, 36, 0, 0, 0, 0)),
        ("mlp.dense_h_to_4h", (0, 32, 0, 0, 0, 0)),
        ("", (0, 48, 0, 0, 0, 0)),
        ("mlp.dense_4h_to_h", (0, 36, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attention.query_key_value", "", (8, 20, 0, 16, 0, 0)),
        (0, "", "", (16, 32, 0, 16, 0, 0)),
        (0, "", "", (8, 48, 0, 16, 0, 0)),
        (0, "self_attention.dense", "", (8, 40, 4, 16, 0, 16)),
        (0, "mlp.dense_h_to_4h", "", (0, 52, 4, 16, 0, 16)),
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (0, 80, 4, 16, 0, 16)),
        (1, "", "", (0, 80, 4, 16, 0, 16)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (0, 52, 4, 16, 0, 16)),
        (2, "self_attention.dense", "self_attention.dense.weight", (0, 36, 4, 16, 0, 16)),
        (3, "", "", (0, 48, 4, 16, 0, 16)),
        (3, "", "", (20, 28, 0, 16, 0, 0)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (8, 24, 0, 16, 0, 0)),
        (4, "", "", (0, 20, 0, 16, 8, 0)),
        (6, "", "", (0, 16, 0, 8, 8, 0)),
    ),
)
T9 = Table(
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
T10 = Table(
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
T11 = Table(
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
T12 = Table(
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
    "stem flash": (T1,),
    "falcon flash": (T2,),
    "stem flash checkpointed": (T3,),
    "falcon flash checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
    "falcon:two_norms flash": (T7,),
    "falcon:two_norms flash checkpointed": (T8,),
    "head chunked": (T9,),
    "head fused": (T10,),
    "head tied chunked": (T11,),
    "head tied fused": (T12,),
}
