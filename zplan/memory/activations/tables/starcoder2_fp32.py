"""Activations of starcoder2, fp32: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 8, 16, 0, 0, 8),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.weight", "model.norm.bias"),
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
    order=("model.embed_tokens.weight",),
    forward=(
        ("model.embed_tokens", (4, 0, 0)),
        ("", (4, 18, 8)),
    ),
    backward=(
        (0, "model.embed_tokens", "model.embed_tokens.weight", (4, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*d*k", "T*f", "T*h", "b*r*a", "T", "d*k", "f", "h", "1"),
    kept=(0, 8, 32, 4, 16, 0, 0, 0, 16),
    input_grad=(0, 0, 4, 0, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attn.o_proj.bias", "self_attn.o_proj.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attn.q_proj", (0, 0, 12, 0, 8, 0, 0, 0, 0)),
        ("self_attn.k_proj", (4, 0, 12, 0, 8, 0, 0, 0, 0)),
        ("self_attn.v_proj", (8, 0, 12, 0, 8, 0, 0, 0, 0)),
        ("", (20, 0, 16, 0, 8, 0, 0, 0, 0)),
        ("self_attn.o_proj", (8, 0, 28, 4, 8, 0, 0, 0, 16)),
        ("mlp.c_fc", (0, 4, 32, 4, 16, 0, 0, 0, 16)),
        ("mlp.c_proj", (0, 8, 36, 4, 16, 0, 0, 0, 16)),
        ("", (0, 8, 40, 4, 16, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "mlp.c_proj", "mlp.c_proj.weight", (0, 12, 36, 4, 16, 0, 0, 4, 16)),
        (2, "", "", (0, 12, 36, 4, 16, 0, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (0, 4, 40, 4, 16, 0, 4, 0, 16)),
        (4, "", "", (0, 0, 40, 4, 16, 0, 0, 8, 16)),
        (6, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 0, 32, 4, 8, 0, 0, 4, 16)),
        (8, "", "", (0, 0, 44, 4, 8, 0, 0, 0, 16)),
        (8, "", "", (20, 0, 16, 0, 8, 0, 0, 0, 0)),
        (8, "", "", (8, 0, 28, 0, 8, 0, 0, 0, 0)),
        (8, "self_attn.v_proj", "self_attn.v_proj.weight", (8, 0, 20, 0, 8, 4, 0, 0, 0)),
        (10, "", "", (8, 0, 20, 0, 8, 0, 0, 0, 0)),
        (10, "self_attn.k_proj", "self_attn.k_proj.weight", (4, 0, 24, 0, 8, 4, 0, 0, 0)),
        (12, "self_attn.k_proj", "", (0, 0, 28, 0, 8, 0, 0, 0, 0)),
        (12, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 24, 0, 8, 0, 0, 4, 0)),
        (14, "", "", (0, 0, 16, 0, 8, 0, 0, 8, 0)),
    ),
)
T3 = Table(
    columns=("T*f", "T*h", "b*r*a", "T", "f", "h", "1"),
    kept=(8, 32, 4, 16, 0, 0, 16),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attn.o_proj.bias", "self_attn.o_proj.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attn.q_proj", (0, 12, 0, 8, 0, 0, 0)),
        ("self_attn.k_proj", (0, 16, 0, 8, 0, 0, 0)),
        ("self_attn.v_proj", (0, 20, 0, 8, 0, 0, 0)),
        ("self_attn.o_proj", (0, 28, 4, 8, 0, 0, 16)),
        ("mlp.c_fc", (4, 32, 4, 16, 0, 0, 16)),
        ("mlp.c_proj", (8, 36, 4, 16, 0, 0, 16)),
        ("", (8, 40, 4, 16, 0, 0, 16)),
    ),
    backward=(
        (0, "mlp.c_proj", "mlp.c_proj.weight", (12, 36, 4, 16, 0, 4, 16)),
        (2, "", "", (12, 36, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 40, 4, 16, 4, 0, 16)),
        (4, "", "", (0, 40, 4, 16, 0, 8, 16)),
        (6, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 32, 4, 8, 0, 4, 16)),
        (8, "", "", (0, 44, 4, 8, 0, 0, 16)),
        (8, "self_attn.v_proj", "self_attn.v_proj.weight", (0, 28, 0, 8, 0, 4, 0)),
        (10, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 28, 0, 8, 0, 4, 0)),
        (12, "self_attn.k_proj", "", (0, 28, 0, 8, 0, 0, 0)),
        (12, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 24, 0, 8, 0, 4, 0)),
        (14, "", "", (0, 16, 0, 8, 0, 8, 0)),
    ),
)
T4 = Table(
    columns=("T*h", "s*d", "s"),
    kept=(0, 8, 8),
    input_grad=(0, 0, 0),
    order=("model.embed_tokens.weight",),
    forward=(
        ("model.embed_tokens", (4, 0, 0)),
        ("", (4, 18, 8)),
    ),
    backward=(
        (0, "model.embed_tokens", "model.embed_tokens.weight", (4, 0, 0)),
    ),
)
T5 = Table(
    columns=("T*d*k", "T*f", "T*h", "b*r*a", "T", "d*k", "f", "h", "1"),
    kept=(0, 0, 4, 0, 0, 0, 0, 0, 0),
    input_grad=(0, 0, 4, 0, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attn.o_proj.bias", "self_attn.o_proj.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attn.q_proj", (0, 0, 12, 0, 0, 0, 0, 0, 0)),
        ("self_attn.k_proj", (4, 0, 12, 0, 0, 0, 0, 0, 0)),
        ("self_attn.v_proj", (8, 0, 12, 0, 0, 0, 0, 0, 0)),
        ("", (20, 0, 16, 0, 0, 0, 0, 0, 0)),
        ("", (8, 0, 24, 4, 0, 0, 0, 0, 16)),
        ("self_attn.o_proj", (8, 0, 20, 0, 0, 0, 0, 0, 0)),
        ("mlp.c_fc", (0, 4, 12, 0, 0, 0, 0, 0, 0)),
        ("", (0, 8, 12, 0, 0, 0, 0, 0, 0)),
        ("mlp.c_proj", (0, 4, 16, 0, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attn.q_proj", "", (0, 0, 16, 0, 8, 0, 0, 0, 0)),
        (0, "self_attn.k_proj", "", (4, 0, 16, 0, 8, 0, 0, 0, 0)),
        (0, "self_attn.v_proj", "", (8, 0, 16, 0, 8, 0, 0, 0, 0)),
        (0, "", "", (20, 0, 20, 0, 8, 0, 0, 0, 0)),
        (0, "self_attn.o_proj", "", (8, 0, 32, 4, 8, 0, 0, 0, 16)),
        (0, "mlp.c_fc", "", (0, 4, 36, 4, 16, 0, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (0, 12, 36, 4, 16, 0, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (0, 8, 36, 4, 16, 0, 0, 4, 16)),
        (2, "", "", (0, 12, 36, 4, 16, 0, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (0, 4, 40, 4, 16, 0, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (0, 4, 36, 4, 16, 0, 4, 0, 16)),
        (4, "", "", (0, 0, 40, 4, 16, 0, 0, 8, 16)),
        (6, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 0, 32, 4, 8, 0, 0, 4, 16)),
        (8, "", "", (0, 0, 44, 4, 8, 0, 0, 0, 16)),
        (8, "", "", (20, 0, 16, 0, 8, 0, 0, 0, 0)),
        (8, "", "", (8, 0, 28, 0, 8, 0, 0, 0, 0)),
        (8, "self_attn.v_proj", "self_attn.v_proj.weight", (8, 0, 20, 0, 8, 4, 0, 0, 0)),
        (10, "", "", (8, 0, 20, 0, 8, 0, 0, 0, 0)),
        (10, "self_attn.k_proj", "self_attn.k_proj.weight", (4, 0, 24, 0, 8, 4, 0, 0, 0)),
        (12, "self_attn.k_proj", "", (0, 0, 28, 0, 8, 0, 0, 0, 0)),
        (12, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 24, 0, 8, 0, 0, 0, 0)),
        (14, "", "", (0, 0, 16, 0, 8, 0, 0, 8, 0)),
    ),
)
T6 = Table(
    columns=("T*f", "T*h", "b*r*a", "T", "f", "h", "1"),
    kept=(0, 4, 0, 0, 0, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "post_attention_layernorm.weight", "post_attention_layernorm.bias", "self_attn.o_proj.bias", "self_attn.o_proj.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.weight", "input_layernorm.bias"),
    forward=(
        ("self_attn.q_proj", (0, 12, 0, 0, 0, 0, 0)),
        ("self_attn.k_proj", (0, 16, 0, 0, 0, 0, 0)),
        ("self_attn.v_proj", (0, 20, 0, 0, 0, 0, 0)),
        ("", (0, 36, 0, 0, 0, 0, 0)),
        ("", (0, 24, 4, 0, 0, 0, 16)),
        ("self_attn.o_proj", (0, 28, 0, 0, 0, 0, 0)),
        ("mlp.c_fc", (4, 12, 0, 0, 0, 0, 0)),
        ("", (8, 12, 0, 0, 0, 0, 0)),
        ("mlp.c_proj", (4, 16, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attn.q_proj", "", (0, 16, 0, 8, 0, 0, 0)),
        (0, "self_attn.k_proj", "", (0, 20, 0, 8, 0, 0, 0)),
        (0, "self_attn.v_proj", "", (0, 24, 0, 8, 0, 0, 0)),
        (0, "", "", (0, 40, 0, 8, 0, 0, 0)),
        (0, "self_attn.o_proj", "", (0, 32, 4, 8, 0, 0, 16)),
        (0, "mlp.c_fc", "", (4, 36, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (12, 36, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (8, 36, 4, 16, 0, 4, 16)),
        (2, "", "", (12, 36, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 40, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 36, 4, 16, 4, 0, 16)),
        (4, "", "", (0, 40, 4, 16, 0, 8, 16)),
        (6, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 32, 4, 8, 0, 4, 16)),
        (8, "", "", (0, 44, 4, 8, 0, 0, 16)),
        (8, "self_attn.v_proj", "self_attn.v_proj.weight", (0, 28, 0, 8, 0, 4, 0)),
        (10, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 28, 0, 8, 0, 4, 0)),
        (12, "self_attn.k_proj", "", (0, 28, 0, 8, 0, 0, 0)),
        (12, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 24, 0, 8, 0, 0, 0)),
        (14, "", "", (0, 16, 0, 8, 0, 8, 0)),
    ),
)
T7 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 8, 16, 0, 0, 0, 8),
    held=(0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("model.norm.weight", "model.norm.bias"),
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
T8 = Table(
    columns=("T*h", "s*d", "s", "h*V"),
    kept=(0, 8, 0, 0),
    frame=(0, 0, 8, 0),
    input_grad=(0, 0, 0, 0),
    order=("model.embed_tokens.weight",),
    forward=(
        ("model.embed_tokens", (4, 0, 0, 0)),
        ("", (4, 18, 8, 0)),
    ),
    backward=(
        (0, "model.embed_tokens", "", (4, 0, 0, 4)),
        (0, "model.embed_tokens", "model.embed_tokens.weight", (0, 0, 0, 4)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 4),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.weight", "model.norm.bias"),
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
    order=("lm_head.weight", "model.norm.weight", "model.norm.bias"),
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
    order=("model.norm.weight", "model.norm.bias"),
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
    order=("model.norm.weight", "model.norm.bias"),
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
    "starcoder2 flash": (T2,),
    "starcoder2 flash mha": (T3,),
    "stem flash checkpointed": (T4,),
    "starcoder2 flash checkpointed": (T5,),
    "starcoder2 flash checkpointed mha": (T6,),
    "head tied standard": (T7,),
    "stem tied": (T8,),
    "head chunked": (T9,),
    "head fused": (T10,),
    "head tied chunked": (T11,),
    "head tied fused": (T12,),
}
