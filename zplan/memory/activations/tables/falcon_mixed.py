"""Activations of falcon, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 6, 16, 0, 8, 8),
    input_grad=(0, 2, 0, 0, 0, 0),
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
    columns=("T*h", "s*d", "s"),
    kept=(0, 4, 0),
    frame=(0, 0, 8),
    input_grad=(0, 0, 0),
    order=("transformer.word_embeddings.weight",),
    forward=(
        ("transformer.word_embeddings", (2, 0, 0)),
        ("", (2, 18, 8)),
    ),
    backward=(
        (0, "transformer.word_embeddings", "transformer.word_embeddings.weight", (2, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*a", "T*d", "T*h", "T", "h", "1"),
    kept=(4, 4, 28, 8, 8, 40),
    input_grad=(0, 0, 2, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attention.query_key_value", (0, 4, 14, 8, 8, 0)),
        ("", (0, 14, 16, 8, 8, 16)),
        ("self_attention.dense", (4, 8, 20, 8, 8, 40)),
        ("mlp.dense_h_to_4h", (4, 4, 28, 8, 8, 40)),
        ("mlp.dense_4h_to_h", (4, 4, 38, 8, 8, 40)),
        ("", (4, 4, 40, 8, 8, 40)),
    ),
    backward=(
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (4, 4, 38, 8, 8, 40)),
        (1, "", "", (4, 4, 38, 8, 8, 40)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (4, 4, 24, 8, 8, 40)),
        (2, "self_attention.dense", "self_attention.dense.weight", (4, 4, 18, 8, 8, 40)),
        (3, "", "", (4, 8, 20, 8, 8, 40)),
        (3, "", "", (0, 10, 14, 8, 8, 16)),
        (3, "", "", (0, 10, 18, 8, 8, 8)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 4, 16, 8, 8, 0)),
        (4, "", "", (0, 0, 14, 8, 16, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*d", "s"),
    kept=(0, 4, 8),
    input_grad=(0, 0, 0),
    order=("transformer.word_embeddings.weight",),
    forward=(
        ("transformer.word_embeddings", (2, 0, 0)),
        ("", (2, 18, 8)),
    ),
    backward=(
        (0, "transformer.word_embeddings", "transformer.word_embeddings.weight", (2, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*a", "T*d", "T*h", "T", "h", "1"),
    kept=(0, 0, 2, 0, 0, 0),
    input_grad=(0, 0, 2, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("", (0, 0, 10, 8, 8, 0)),
        ("self_attention.query_key_value", (0, 4, 10, 0, 0, 0)),
        ("", (0, 14, 10, 0, 0, 0)),
        ("", (4, 8, 12, 0, 0, 24)),
        ("self_attention.dense", (0, 8, 14, 0, 0, 0)),
        ("mlp.dense_h_to_4h", (0, 0, 18, 0, 0, 0)),
        ("", (0, 0, 24, 0, 0, 0)),
        ("mlp.dense_4h_to_h", (0, 0, 18, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attention.query_key_value", "", (0, 4, 16, 8, 8, 0)),
        (0, "", "", (0, 14, 18, 8, 8, 16)),
        (0, "self_attention.dense", "", (4, 8, 22, 8, 8, 40)),
        (0, "mlp.dense_h_to_4h", "", (4, 4, 30, 8, 8, 40)),
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (4, 4, 40, 8, 8, 40)),
        (1, "", "", (4, 4, 40, 8, 8, 40)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (4, 4, 26, 8, 8, 40)),
        (2, "self_attention.dense", "self_attention.dense.weight", (4, 4, 20, 8, 8, 40)),
        (3, "", "", (4, 8, 22, 8, 8, 40)),
        (3, "", "", (0, 10, 16, 8, 8, 16)),
        (3, "", "", (0, 10, 20, 8, 8, 8)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (0, 4, 18, 8, 8, 0)),
        (4, "", "", (0, 0, 16, 8, 16, 0)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 6, 16, 0, 0, 8, 8),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(0, 2, 0, 0, 0, 0, 0),
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
    columns=("T*h", "s*d", "s", "h*V"),
    kept=(0, 4, 0, 0),
    frame=(0, 0, 8, 0),
    input_grad=(0, 0, 0, 0),
    order=("transformer.word_embeddings.weight",),
    forward=(
        ("transformer.word_embeddings", (2, 0, 0, 0)),
        ("", (2, 18, 8, 0)),
    ),
    backward=(
        (0, "transformer.word_embeddings", "", (2, 0, 0, 2)),
        (0, "transformer.word_embeddings", "transformer.word_embeddings.weight", (0, 0, 0, 2)),
    ),
)
T7 = Table(
    columns=("T*d*k", "T*a", "T*h", "T", "h", "1"),
    kept=(0, 4, 36, 16, 16, 40),
    input_grad=(0, 0, 2, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "ln_mlp.bias", "ln_mlp.weight", "ln_attn.bias", "ln_attn.weight"),
    forward=(
        ("self_attention.query_key_value", (4, 0, 22, 16, 16, 0)),
        ("", (8, 0, 28, 16, 16, 16)),
        ("", (4, 0, 36, 16, 16, 16)),
        ("self_attention.dense", (4, 4, 32, 16, 16, 40)),
        ("mlp.dense_h_to_4h", (0, 4, 40, 16, 16, 40)),
        ("mlp.dense_4h_to_h", (0, 4, 50, 16, 16, 40)),
        ("", (0, 4, 52, 16, 16, 40)),
    ),
    backward=(
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (0, 4, 46, 16, 16, 40)),
        (1, "", "", (0, 4, 46, 16, 16, 40)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (0, 4, 32, 16, 16, 40)),
        (2, "self_attention.dense", "self_attention.dense.weight", (0, 4, 26, 16, 16, 40)),
        (3, "", "", (0, 4, 32, 16, 16, 40)),
        (3, "", "", (8, 0, 20, 16, 16, 16)),
        (3, "", "", (10, 0, 22, 16, 16, 8)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (4, 0, 20, 16, 16, 0)),
        (4, "", "", (0, 0, 22, 16, 24, 0)),
    ),
)
T8 = Table(
    columns=("T*d*k", "T*a", "T*h", "T", "h", "1"),
    kept=(0, 0, 2, 0, 0, 0),
    input_grad=(0, 0, 2, 0, 0, 0),
    order=("mlp.dense_4h_to_h.weight", "mlp.dense_h_to_4h.weight", "self_attention.dense.weight", "self_attention.query_key_value.weight", "ln_mlp.bias", "ln_mlp.weight", "ln_attn.bias", "ln_attn.weight"),
    forward=(
        ("", (0, 0, 14, 8, 8, 0)),
        ("self_attention.query_key_value", (4, 0, 14, 0, 0, 0)),
        ("", (8, 0, 12, 0, 0, 8)),
        ("", (8, 0, 18, 0, 0, 0)),
        ("", (4, 0, 26, 0, 0, 0)),
        ("", (4, 4, 20, 0, 0, 24)),
        ("self_attention.dense", (4, 0, 22, 0, 0, 0)),
        ("mlp.dense_h_to_4h", (0, 0, 22, 0, 0, 0)),
        ("", (0, 0, 28, 0, 0, 0)),
        ("mlp.dense_4h_to_h", (0, 0, 22, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attention.query_key_value", "", (4, 0, 24, 16, 16, 0)),
        (0, "", "", (8, 0, 30, 16, 16, 16)),
        (0, "", "", (4, 0, 38, 16, 16, 16)),
        (0, "self_attention.dense", "", (4, 4, 34, 16, 16, 40)),
        (0, "mlp.dense_h_to_4h", "", (0, 4, 42, 16, 16, 40)),
        (0, "", "", (0, 4, 50, 16, 16, 40)),
        (0, "mlp.dense_4h_to_h", "mlp.dense_4h_to_h.weight", (0, 4, 48, 16, 16, 40)),
        (1, "", "", (0, 4, 48, 16, 16, 40)),
        (1, "mlp.dense_h_to_4h", "mlp.dense_h_to_4h.weight", (0, 4, 34, 16, 16, 40)),
        (2, "self_attention.dense", "self_attention.dense.weight", (0, 4, 28, 16, 16, 40)),
        (3, "", "", (0, 4, 34, 16, 16, 40)),
        (3, "", "", (8, 0, 22, 16, 16, 16)),
        (3, "", "", (10, 0, 24, 16, 16, 8)),
        (3, "self_attention.query_key_value", "self_attention.query_key_value.weight", (4, 0, 22, 16, 16, 0)),
        (4, "", "", (0, 0, 24, 16, 24, 0)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 8, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("", (10, 8, 0, 0, 0, 0, 8, 0)),
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
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
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
T11 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 8, 4),
    held=(0, 0, 0, 0, 0, 2, 0, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.bias", "transformer.ln_f.weight"),
    forward=(
        ("", (10, 8, 0, 0, 0, 0, 8, 0)),
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
T12 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
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
