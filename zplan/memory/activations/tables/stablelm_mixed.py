"""Activations of stablelm, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

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
    columns=("T*h", "s*e", "s"),
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
    columns=("T*a*e", "T*d*k", "T*e*k", "T*a", "T*f", "T*h", "T", "h", "1"),
    kept=(0, 4, 0, 4, 8, 24, 16, 16, 24),
    input_grad=(0, 0, 0, 0, 0, 2, 0, 0, 0),
    order=("mlp.down_proj.weight", "mlp.up_proj.weight", "mlp.gate_proj.weight", "post_attention_layernorm.bias", "post_attention_layernorm.weight", "self_attn.o_proj.weight", "self_attn.v_proj.weight", "self_attn.k_proj.weight", "self_attn.q_proj.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 0, 0, 14, 8, 8, 0)),
        ("self_attn.k_proj", (0, 2, 0, 0, 0, 16, 8, 8, 0)),
        ("self_attn.v_proj", (0, 4, 0, 0, 0, 18, 8, 8, 0)),
        ("", (6, 4, 0, 0, 0, 18, 8, 8, 0)),
        ("", (2, 4, 6, 0, 0, 18, 8, 8, 0)),
        ("self_attn.o_proj", (2, 6, 2, 4, 0, 26, 8, 8, 24)),
        ("mlp.gate_proj", (0, 4, 0, 4, 2, 36, 16, 16, 24)),
        ("mlp.up_proj", (0, 4, 0, 4, 6, 38, 16, 16, 24)),
        ("mlp.down_proj", (0, 4, 0, 4, 8, 40, 16, 16, 24)),
    ),
    backward=(
        (0, "mlp.down_proj", "mlp.down_proj.weight", (0, 4, 0, 4, 10, 26, 16, 16, 24)),
        (1, "", "", (0, 4, 0, 4, 12, 26, 16, 16, 24)),
        (1, "mlp.up_proj", "mlp.up_proj.weight", (0, 4, 0, 4, 6, 28, 16, 16, 24)),
        (2, "mlp.up_proj", "", (0, 4, 0, 4, 4, 30, 16, 16, 24)),
        (2, "", "", (0, 4, 0, 4, 6, 28, 16, 16, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (0, 4, 0, 4, 2, 30, 16, 16, 24)),
        (3, "mlp.gate_proj", "", (0, 4, 0, 4, 0, 32, 16, 16, 24)),
        (3, "", "", (0, 4, 0, 4, 0, 30, 16, 24, 24)),
        (5, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 4, 0, 4, 0, 20, 8, 8, 24)),
        (6, "", "", (0, 8, 0, 4, 0, 20, 8, 8, 24)),
        (6, "", "", (6, 4, 2, 0, 0, 14, 8, 8, 0)),
        (6, "", "", (2, 6, 2, 0, 0, 14, 8, 8, 0)),
        (6, "", "", (2, 4, 0, 0, 0, 16, 8, 8, 0)),
        (6, "self_attn.v_proj", "self_attn.v_proj.weight", (0, 4, 0, 0, 0, 16, 8, 8, 0)),
        (7, "self_attn.v_proj", "", (0, 2, 0, 0, 0, 18, 8, 8, 0)),
        (7, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 2, 0, 0, 0, 18, 8, 8, 0)),
        (8, "self_attn.k_proj", "", (0, 0, 0, 0, 0, 20, 8, 8, 0)),
        (8, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 0, 0, 16, 8, 8, 0)),
        (9, "self_attn.q_proj", "", (0, 0, 0, 0, 0, 16, 8, 8, 0)),
        (9, "", "", (0, 0, 0, 0, 0, 14, 8, 16, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*e", "s"),
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
    columns=("T*a*e", "T*d*k", "T*e*k", "T*a", "T*f", "T*h", "T", "h", "1"),
    kept=(0, 0, 0, 0, 0, 2, 0, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 2, 0, 0, 0),
    order=("mlp.down_proj.weight", "mlp.up_proj.weight", "mlp.gate_proj.weight", "post_attention_layernorm.bias", "post_attention_layernorm.weight", "self_attn.o_proj.weight", "self_attn.v_proj.weight", "self_attn.k_proj.weight", "self_attn.q_proj.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 0, 0, 10, 0, 0, 0)),
        ("self_attn.k_proj", (0, 2, 0, 0, 0, 10, 0, 0, 0)),
        ("self_attn.v_proj", (0, 4, 0, 0, 0, 10, 0, 0, 0)),
        ("", (6, 4, 0, 0, 0, 8, 0, 0, 0)),
        ("", (2, 4, 6, 0, 0, 8, 0, 0, 0)),
        ("", (2, 6, 2, 4, 0, 12, 0, 0, 24)),
        ("self_attn.o_proj", (2, 6, 2, 0, 0, 14, 0, 0, 0)),
        ("", (0, 0, 0, 0, 0, 18, 8, 8, 0)),
        ("mlp.gate_proj", (0, 0, 0, 0, 2, 16, 0, 0, 0)),
        ("mlp.up_proj", (0, 0, 0, 0, 4, 16, 0, 0, 0)),
        ("", (0, 0, 0, 0, 6, 14, 0, 0, 0)),
        ("mlp.down_proj", (0, 0, 0, 0, 2, 16, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attn.q_proj", "", (0, 0, 0, 0, 0, 16, 8, 8, 0)),
        (0, "self_attn.k_proj", "", (0, 2, 0, 0, 0, 18, 8, 8, 0)),
        (0, "self_attn.v_proj", "", (0, 4, 0, 0, 0, 20, 8, 8, 0)),
        (0, "", "", (6, 4, 0, 0, 0, 20, 8, 8, 0)),
        (0, "", "", (2, 4, 6, 0, 0, 20, 8, 8, 0)),
        (0, "self_attn.o_proj", "", (2, 6, 2, 4, 0, 28, 8, 8, 24)),
        (0, "mlp.gate_proj", "", (0, 4, 0, 4, 2, 38, 16, 16, 24)),
        (0, "mlp.up_proj", "", (0, 4, 0, 4, 6, 40, 16, 16, 24)),
        (0, "", "", (0, 4, 0, 4, 8, 40, 16, 16, 24)),
        (0, "mlp.down_proj", "mlp.down_proj.weight", (0, 4, 0, 4, 10, 28, 16, 16, 24)),
        (1, "", "", (0, 4, 0, 4, 12, 28, 16, 16, 24)),
        (1, "mlp.up_proj", "mlp.up_proj.weight", (0, 4, 0, 4, 6, 30, 16, 16, 24)),
        (2, "mlp.up_proj", "", (0, 4, 0, 4, 4, 32, 16, 16, 24)),
        (2, "", "", (0, 4, 0, 4, 6, 30, 16, 16, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (0, 4, 0, 4, 2, 32, 16, 16, 24)),
        (3, "mlp.gate_proj", "", (0, 4, 0, 4, 0, 34, 16, 16, 24)),
        (3, "", "", (0, 4, 0, 4, 0, 32, 16, 24, 24)),
        (5, "self_attn.o_proj", "self_attn.o_proj.weight", (0, 4, 0, 4, 0, 22, 8, 8, 24)),
        (6, "", "", (0, 8, 0, 4, 0, 22, 8, 8, 24)),
        (6, "", "", (6, 4, 2, 0, 0, 16, 8, 8, 0)),
        (6, "", "", (2, 6, 2, 0, 0, 16, 8, 8, 0)),
        (6, "", "", (2, 4, 0, 0, 0, 18, 8, 8, 0)),
        (6, "self_attn.v_proj", "self_attn.v_proj.weight", (0, 4, 0, 0, 0, 18, 8, 8, 0)),
        (7, "self_attn.v_proj", "", (0, 2, 0, 0, 0, 20, 8, 8, 0)),
        (7, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 2, 0, 0, 0, 20, 8, 8, 0)),
        (8, "self_attn.k_proj", "", (0, 0, 0, 0, 0, 22, 8, 8, 0)),
        (8, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 0, 0, 18, 8, 8, 0)),
        (9, "self_attn.q_proj", "", (0, 0, 0, 0, 0, 18, 8, 8, 0)),
        (9, "", "", (0, 0, 0, 0, 0, 16, 8, 16, 0)),
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
    columns=("T*h", "s*e", "s", "h*V"),
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
    "stablelm flash": (T2,),
    "stem flash checkpointed": (T3,),
    "stablelm flash checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
    "head chunked": (T7,),
    "head fused": (T8,),
    "head tied chunked": (T9,),
    "head tied fused": (T10,),
}
