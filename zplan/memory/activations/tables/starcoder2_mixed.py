"""Activations of starcoder2, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 6, 16, 0, 8, 8),
    input_grad=(0, 2, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.bias", "model.norm.weight"),
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
    order=("model.embed_tokens.weight",),
    forward=(
        ("model.embed_tokens", (2, 0, 0)),
        ("", (2, 18, 8)),
    ),
    backward=(
        (0, "model.embed_tokens", "model.embed_tokens.weight", (2, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*d*k", "T*a", "T*f", "T*h", "T", "d*k", "f", "h", "1"),
    kept=(4, 4, 4, 20, 16, 0, 0, 16, 24),
    input_grad=(0, 0, 0, 2, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "post_attention_layernorm.bias", "post_attention_layernorm.weight", "self_attn.o_proj.bias", "self_attn.o_proj.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 14, 8, 0, 0, 8, 0)),
        ("self_attn.k_proj", (2, 0, 0, 16, 8, 0, 0, 8, 0)),
        ("self_attn.v_proj", (4, 0, 0, 18, 8, 0, 0, 8, 0)),
        ("", (10, 0, 0, 20, 8, 0, 0, 8, 0)),
        ("self_attn.o_proj", (4, 4, 0, 22, 8, 0, 0, 8, 24)),
        ("mlp.c_fc", (4, 4, 2, 28, 16, 0, 0, 16, 24)),
        ("mlp.c_proj", (4, 4, 4, 30, 16, 0, 0, 16, 24)),
    ),
    backward=(
        (0, "mlp.c_proj", "mlp.c_proj.weight", (4, 4, 6, 22, 16, 0, 0, 18, 24)),
        (2, "", "", (4, 4, 6, 22, 16, 0, 0, 16, 24)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 4, 2, 24, 16, 0, 2, 16, 24)),
        (4, "mlp.c_fc", "", (4, 4, 0, 26, 16, 0, 0, 16, 24)),
        (4, "", "", (4, 4, 0, 28, 16, 0, 0, 24, 24)),
        (6, "self_attn.o_proj", "self_attn.o_proj.weight", (4, 4, 0, 18, 8, 0, 0, 10, 24)),
        (8, "", "", (8, 4, 0, 20, 8, 0, 0, 8, 24)),
        (8, "", "", (10, 0, 0, 14, 8, 0, 0, 8, 0)),
        (8, "self_attn.v_proj", "self_attn.v_proj.weight", (4, 0, 0, 16, 8, 2, 0, 8, 0)),
        (10, "self_attn.v_proj", "", (2, 0, 0, 18, 8, 0, 0, 8, 0)),
        (10, "", "", (4, 0, 0, 16, 8, 0, 0, 8, 0)),
        (10, "self_attn.k_proj", "self_attn.k_proj.weight", (2, 0, 0, 18, 8, 2, 0, 8, 0)),
        (12, "self_attn.k_proj", "", (0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (12, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 16, 8, 0, 0, 10, 0)),
        (14, "self_attn.q_proj", "", (0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (14, "", "", (0, 0, 0, 14, 8, 0, 0, 16, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*d", "s"),
    kept=(0, 4, 8),
    input_grad=(0, 0, 0),
    order=("model.embed_tokens.weight",),
    forward=(
        ("model.embed_tokens", (2, 0, 0)),
        ("", (2, 18, 8)),
    ),
    backward=(
        (0, "model.embed_tokens", "model.embed_tokens.weight", (2, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*d*k", "T*a", "T*f", "T*h", "T", "d*k", "f", "h", "1"),
    kept=(0, 0, 0, 2, 0, 0, 0, 0, 0),
    input_grad=(0, 0, 0, 2, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "post_attention_layernorm.bias", "post_attention_layernorm.weight", "self_attn.o_proj.bias", "self_attn.o_proj.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("self_attn.k_proj", (2, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("self_attn.v_proj", (4, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("", (4, 0, 0, 14, 0, 0, 0, 0, 0)),
        ("", (10, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("", (4, 4, 0, 10, 0, 0, 0, 0, 24)),
        ("self_attn.o_proj", (4, 0, 0, 12, 0, 0, 0, 0, 0)),
        ("", (0, 0, 0, 12, 8, 0, 0, 8, 0)),
        ("mlp.c_fc", (0, 0, 2, 10, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 8, 0, 0, 0, 0, 0)),
        ("mlp.c_proj", (0, 0, 2, 10, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attn.q_proj", "", (0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (0, "self_attn.k_proj", "", (2, 0, 0, 18, 8, 0, 0, 8, 0)),
        (0, "self_attn.v_proj", "", (4, 0, 0, 20, 8, 0, 0, 8, 0)),
        (0, "", "", (10, 0, 0, 22, 8, 0, 0, 8, 0)),
        (0, "self_attn.o_proj", "", (4, 4, 0, 24, 8, 0, 0, 8, 24)),
        (0, "mlp.c_fc", "", (4, 4, 2, 30, 16, 0, 0, 16, 24)),
        (0, "", "", (4, 4, 4, 30, 16, 0, 0, 16, 24)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (4, 4, 6, 24, 16, 0, 0, 16, 24)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (4, 4, 4, 24, 16, 0, 0, 18, 24)),
        (2, "", "", (4, 4, 6, 24, 16, 0, 0, 16, 24)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 4, 2, 26, 16, 0, 0, 16, 24)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 4, 2, 24, 16, 0, 2, 16, 24)),
        (4, "mlp.c_fc", "", (4, 4, 0, 28, 16, 0, 0, 16, 24)),
        (4, "", "", (4, 4, 0, 30, 16, 0, 0, 24, 24)),
        (6, "self_attn.o_proj", "self_attn.o_proj.weight", (4, 4, 0, 20, 8, 0, 0, 10, 24)),
        (8, "", "", (8, 4, 0, 22, 8, 0, 0, 8, 24)),
        (8, "", "", (10, 0, 0, 16, 8, 0, 0, 8, 0)),
        (8, "self_attn.v_proj", "self_attn.v_proj.weight", (4, 0, 0, 18, 8, 0, 0, 8, 0)),
        (8, "self_attn.v_proj", "self_attn.v_proj.weight", (4, 0, 0, 16, 8, 2, 0, 8, 0)),
        (10, "self_attn.v_proj", "", (2, 0, 0, 20, 8, 0, 0, 8, 0)),
        (10, "", "", (4, 0, 0, 18, 8, 0, 0, 8, 0)),
        (10, "self_attn.k_proj", "self_attn.k_proj.weight", (2, 0, 0, 20, 8, 0, 0, 8, 0)),
        (10, "self_attn.k_proj", "self_attn.k_proj.weight", (2, 0, 0, 18, 8, 2, 0, 8, 0)),
        (12, "self_attn.k_proj", "", (0, 0, 0, 22, 8, 0, 0, 8, 0)),
        (12, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (14, "self_attn.q_proj", "", (0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (14, "", "", (0, 0, 0, 16, 8, 0, 0, 16, 0)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 6, 16, 0, 0, 8, 8),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(0, 2, 0, 0, 0, 0, 0),
    order=("model.norm.bias", "model.norm.weight"),
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
    order=("model.embed_tokens.weight",),
    forward=(
        ("model.embed_tokens", (2, 0, 0, 0)),
        ("", (2, 18, 8, 0)),
    ),
    backward=(
        (0, "model.embed_tokens", "", (2, 0, 0, 2)),
        (0, "model.embed_tokens", "model.embed_tokens.weight", (0, 0, 0, 2)),
    ),
)
T7 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 8, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.bias", "model.norm.weight"),
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
T8 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.bias", "model.norm.weight"),
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
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0),
    order=("model.norm.bias", "model.norm.weight"),
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
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=("model.norm.bias", "model.norm.weight"),
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
    "starcoder2 flash": (T2,),
    "stem flash checkpointed": (T3,),
    "starcoder2 flash checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
    "head chunked": (T7,),
    "head fused": (T8,),
    "head tied chunked": (T9,),
    "head tied fused": (T10,),
}
