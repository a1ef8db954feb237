"""Activations of phi3, autocast: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 10, 12, 0, 2, 0, 8),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.weight"),
    forward=(
        ("lm_head", (2, 14, 4, 0, 2, 0, 0)),
        ("", (10, 14, 20, 8, 2, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 10, 12, 0, 2, 0, 12)),
        (0, "", "", (12, 10, 4, 0, 2, 0, 8)),
        (0, "lm_head", "", (2, 12, 4, 0, 4, 0, 8)),
        (0, "lm_head", "", (0, 14, 4, 0, 2, 0, 8)),
        (0, "lm_head", "lm_head.weight", (0, 12, 4, 0, 2, 0, 8)),
        (1, "", "", (0, 20, 4, 0, 0, 4, 8)),
        (2, "", "", (0, 8, 20, 0, 0, 0, 8)),
        (2, "", "", (0, 24, 0, 0, 0, 0, 8)),
    ),
)
T1 = Table(
    columns=("T*h", "s*e", "s"),
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
    columns=("T*a*e", "T*d*k", "T*e*k", "T*a", "T*f", "T*h", "T", "d*h*k", "f*h", "h*h", "h", "1"),
    kept=(0, 6, 0, 4, 8, 28, 8, 4, 6, 4, 0, 24),
    input_grad=(0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0),
    order=("mlp.down_proj.weight", "mlp.gate_up_proj.weight", "post_attention_layernorm.weight", "self_attn.o_proj.weight", "self_attn.qkv_proj.weight", "input_layernorm.weight"),
    forward=(
        ("self_attn.qkv_proj", (0, 4, 0, 0, 0, 16, 4, 4, 0, 2, 0, 0)),
        ("", (12, 4, 0, 0, 0, 16, 4, 4, 0, 2, 0, 0)),
        ("", (0, 4, 12, 0, 0, 20, 4, 4, 0, 2, 0, 0)),
        ("", (0, 12, 0, 0, 0, 20, 4, 4, 0, 2, 0, 0)),
        ("self_attn.o_proj", (0, 10, 0, 4, 0, 28, 4, 4, 0, 4, 0, 24)),
        ("mlp.gate_up_proj", (0, 6, 0, 4, 4, 32, 8, 4, 4, 4, 0, 24)),
        ("mlp.down_proj", (0, 6, 0, 4, 8, 34, 8, 4, 6, 4, 0, 24)),
    ),
    backward=(
        (0, "mlp.down_proj", "", (0, 6, 0, 4, 10, 34, 8, 4, 8, 4, 0, 24)),
        (0, "mlp.down_proj", "mlp.down_proj.weight", (0, 6, 0, 4, 8, 32, 8, 4, 6, 4, 0, 24)),
        (1, "", "", (0, 6, 0, 4, 12, 32, 8, 4, 4, 4, 0, 24)),
        (1, "mlp.gate_up_proj", "", (0, 6, 0, 4, 4, 34, 8, 4, 8, 4, 0, 24)),
        (1, "mlp.gate_up_proj", "", (0, 6, 0, 4, 0, 36, 8, 4, 4, 4, 0, 24)),
        (1, "mlp.gate_up_proj", "mlp.gate_up_proj.weight", (0, 6, 0, 4, 0, 34, 8, 4, 4, 4, 0, 24)),
        (2, "", "", (0, 6, 0, 4, 0, 42, 8, 4, 0, 4, 4, 24)),
        (3, "self_attn.o_proj", "", (0, 6, 0, 4, 0, 26, 4, 4, 0, 6, 0, 24)),
        (3, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 6, 0, 4, 0, 22, 4, 4, 0, 4, 0, 24)),
        (4, "", "", (0, 10, 0, 4, 0, 24, 4, 4, 0, 2, 0, 24)),
        (4, "", "", (0, 8, 6, 0, 0, 18, 4, 4, 0, 2, 0, 0)),
        (4, "", "", (6, 4, 0, 0, 0, 20, 4, 4, 0, 2, 0, 0)),
        (4, "self_attn.qkv_proj", "", (0, 4, 0, 0, 0, 18, 4, 8, 0, 4, 0, 0)),
        (4, "self_attn.qkv_proj", "self_attn.qkv_proj.weight", (0, 0, 0, 0, 0, 16, 4, 4, 0, 2, 0, 0)),
        (5, "", "", (0, 0, 0, 0, 0, 24, 4, 0, 0, 0, 4, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*e", "s"),
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
T4 = Table(
    columns=("T*a*e", "T*d*k", "T*e*k", "T*a", "T*f", "T*h", "T", "d*h*k", "f*h", "h*h", "1"),
    kept=(0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0),
    cache=(0, 0, 0, 0, 0, 0, 0, 4, 6, 4, 0),
    input_grad=(0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0),
    order=("mlp.down_proj.weight", "mlp.gate_up_proj.weight", "post_attention_layernorm.weight", "self_attn.o_proj.weight", "self_attn.qkv_proj.weight", "input_layernorm.weight"),
    forward=(
        ("self_attn.qkv_proj", (0, 4, 0, 0, 0, 12, 0, 4, 0, 2, 0)),
        ("", (12, 4, 0, 0, 0, 10, 0, 4, 0, 2, 0)),
        ("", (0, 4, 12, 0, 0, 14, 0, 4, 0, 2, 0)),
        ("", (0, 12, 0, 0, 0, 14, 0, 4, 0, 2, 0)),
        ("", (0, 10, 0, 4, 0, 18, 0, 4, 0, 2, 24)),
        ("", (0, 10, 0, 0, 0, 20, 0, 4, 0, 2, 0)),
        ("self_attn.o_proj", (0, 8, 0, 0, 0, 18, 0, 4, 0, 4, 0)),
        ("mlp.gate_up_proj", (0, 0, 0, 0, 4, 14, 0, 4, 4, 4, 0)),
        ("", (0, 0, 0, 0, 8, 12, 0, 4, 4, 4, 0)),
        ("mlp.down_proj", (0, 0, 0, 0, 6, 14, 0, 4, 6, 4, 0)),
    ),
    backward=(
        (0, "self_attn.qkv_proj", "", (0, 4, 0, 0, 0, 22, 4, 4, 0, 2, 0)),
        (0, "", "", (12, 4, 0, 0, 0, 22, 4, 4, 0, 2, 0)),
        (0, "", "", (0, 4, 12, 0, 0, 26, 4, 4, 0, 2, 0)),
        (0, "", "", (0, 12, 0, 0, 0, 26, 4, 4, 0, 2, 0)),
        (0, "self_attn.o_proj", "", (0, 10, 0, 4, 0, 34, 4, 4, 0, 4, 24)),
        (0, "mlp.gate_up_proj", "", (0, 6, 0, 4, 4, 38, 8, 4, 4, 4, 24)),
        (0, "mlp.down_proj", "", (0, 6, 0, 4, 8, 38, 8, 4, 6, 4, 24)),
        (0, "mlp.down_proj", "", (0, 6, 0, 4, 10, 34, 8, 4, 8, 4, 24)),
        (0, "mlp.down_proj", "mlp.down_proj.weight", (0, 6, 0, 4, 8, 32, 8, 4, 6, 4, 24)),
        (1, "", "", (0, 6, 0, 4, 12, 32, 8, 4, 4, 4, 24)),
        (1, "mlp.gate_up_proj", "", (0, 6, 0, 4, 4, 34, 8, 4, 8, 4, 24)),
        (1, "mlp.gate_up_proj", "", (0, 6, 0, 4, 0, 36, 8, 4, 4, 4, 24)),
        (1, "mlp.gate_up_proj", "mlp.gate_up_proj.weight", (0, 6, 0, 4, 0, 34, 8, 4, 4, 4, 24)),
        (2, "", "", (0, 6, 0, 4, 0, 42, 8, 4, 0, 4, 24)),
        (3, "", "", (0, 6, 0, 4, 0, 38, 12, 4, 0, 4, 24)),
        (3, "", "", (0, 6, 0, 4, 0, 42, 4, 4, 0, 4, 24)),
        (3, "self_attn.o_proj", "", (0, 6, 0, 4, 0, 26, 4, 4, 0, 6, 24)),
        (3, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 6, 0, 4, 0, 22, 4, 4, 0, 4, 24)),
        (4, "", "", (0, 10, 0, 4, 0, 24, 4, 4, 0, 2, 24)),
        (4, "", "", (0, 8, 6, 0, 0, 18, 4, 4, 0, 2, 0)),
        (4, "", "", (6, 4, 0, 0, 0, 20, 4, 4, 0, 2, 0)),
        (4, "self_attn.qkv_proj", "", (0, 4, 0, 0, 0, 18, 4, 8, 0, 4, 0)),
        (4, "self_attn.qkv_proj", "self_attn.qkv_proj.weight", (0, 0, 0, 0, 0, 16, 4, 4, 0, 2, 0)),
        (5, "", "", (0, 0, 0, 0, 0, 24, 4, 0, 0, 0, 0)),
        (6, "", "", (0, 0, 0, 0, 0, 20, 8, 0, 0, 0, 0)),
        (6, "", "", (0, 0, 0, 0, 0, 24, 0, 0, 0, 0, 0)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 10, 12, 0, 2, 0, 8),
    held=(0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("model.norm.weight",),
    forward=(
        ("", (10, 14, 20, 8, 2, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 10, 12, 0, 2, 0, 12)),
        (0, "", "", (12, 10, 4, 0, 2, 0, 8)),
        (0, "", "", (2, 12, 4, 0, 4, 0, 8)),
        (0, "", "", (0, 12, 4, 0, 6, 0, 8)),
        (0, "", "", (0, 20, 4, 0, 4, 4, 8)),
        (1, "", "", (0, 8, 20, 0, 4, 0, 8)),
        (1, "", "", (0, 24, 0, 0, 4, 0, 8)),
    ),
)
T6 = Table(
    columns=("T*h", "s*e", "s", "h*V"),
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
    ),
)
T7 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(12, 12, 0, 0, 0, 0, 0, 4),
    cache=(0, 0, 0, 0, 0, 2, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.weight"),
    forward=(
        ("", (12, 20, 0, 0, 8, 0, 0, 0)),
        ("lm_head", (12, 12, 2, 2, 0, 2, 0, 8)),
        ("", (12, 12, 8, 0, 0, 2, 0, 16)),
    ),
    backward=(
        (0, "", "", (12, 12, 8, 30, 0, 4, 0, 20)),
        (0, "", "", (12, 12, 12, 30, 0, 4, 0, 8)),
        (0, "lm_head", "", (12, 12, 2, 32, 0, 6, 0, 8)),
        (0, "lm_head", "", (8, 4, 0, 34, 0, 2, 0, 8)),
        (0, "lm_head", "lm_head.weight", (8, 4, 0, 32, 0, 2, 0, 8)),
        (1, "", "", (12, 4, 0, 32, 0, 0, 0, 8)),
        (1, "", "", (20, 4, 0, 0, 0, 0, 4, 8)),
        (2, "", "", (8, 20, 0, 0, 0, 0, 0, 8)),
        (2, "", "", (24, 0, 0, 0, 0, 0, 0, 8)),
    ),
)
T8 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(12, 4, 0, 0, 4, 0, 4),
    cache=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.weight"),
    forward=(
        ("", (12, 20, 0, 0, 0, 0, 48)),
        ("lm_head", (16, 16, 2, 2, 8, 0, 0)),
    ),
    backward=(
        (0, "", "lm_head.weight", (12, 4, 0, 0, 0, 0, 8)),
        (1, "", "", (20, 4, 0, 0, 0, 4, 8)),
        (2, "", "", (8, 20, 0, 0, 0, 0, 8)),
        (2, "", "", (24, 0, 0, 0, 0, 0, 8)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(12, 12, 0, 0, 0, 0, 0, 4),
    cache=(0, 0, 0, 0, 0, 2, 0, 0),
    held=(0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("model.norm.weight",),
    forward=(
        ("", (12, 20, 0, 0, 8, 0, 0, 0)),
        ("", (12, 12, 2, 2, 0, 2, 0, 8)),
        ("", (12, 12, 8, 0, 0, 2, 0, 16)),
    ),
    backward=(
        (0, "", "", (12, 12, 8, 30, 0, 4, 0, 20)),
        (0, "", "", (12, 12, 12, 30, 0, 4, 0, 8)),
        (0, "", "", (12, 12, 2, 32, 0, 6, 0, 8)),
        (0, "", "", (8, 4, 0, 34, 0, 2, 0, 8)),
        (0, "", "", (20, 4, 0, 0, 0, 4, 4, 8)),
        (1, "", "", (8, 20, 0, 0, 0, 4, 0, 8)),
        (1, "", "", (24, 0, 0, 0, 0, 4, 0, 8)),
    ),
)
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(12, 4, 0, 0, 4, 0, 4),
    cache=(0, 0, 0, 0, 2, 0, 0),
    held=(0, 0, 0, 0, 4, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0),
    order=("model.norm.weight",),
    forward=(
        ("", (12, 20, 0, 0, 0, 0, 48)),
        ("", (16, 16, 2, 2, 8, 0, 0)),
    ),
    backward=(
        (0, "", "", (20, 4, 0, 0, 4, 4, 8)),
        (1, "", "", (8, 20, 0, 0, 4, 0, 8)),
        (1, "", "", (24, 0, 0, 0, 4, 0, 8)),
    ),
)
TABLES = {
    "head standard": (T0,),
    "stem flash": (T1,),
    "phi3 flash": (T2,),
    "stem flash checkpointed": (T3,),
    "phi3 flash checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
    "head chunked": (T7,),
    "head fused": (T8,),
    "head tied chunked": (T9,),
    "head tied fused": (T10,),
}
