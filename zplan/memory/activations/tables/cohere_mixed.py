"""Activations of cohere, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 14, 12, 0, 4, 8),
    input_grad=(0, 2, 0, 0, 0, 0),
    order=("lm_head.weight", "model.norm.weight"),
    forward=(
        ("", (0, 20, 12, 0, 4, 0)),
        ("lm_head", (2, 14, 4, 0, 4, 0)),
        ("", (10, 14, 20, 8, 4, 8)),
    ),
    backward=(
        (0, "", "", (8, 14, 12, 0, 4, 12)),
        (0, "", "", (12, 14, 4, 0, 4, 8)),
        (0, "lm_head", "lm_head.weight", (2, 16, 4, 0, 4, 8)),
        (1, "", "", (0, 24, 4, 0, 8, 8)),
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
    columns=("T*d*k", "T*a", "T*f", "T*h", "T", "h", "1"),
    kept=(4, 4, 8, 18, 4, 4, 24),
    input_grad=(0, 0, 0, 2, 0, 0, 0),
    order=("mlp.down_proj.weight", "mlp.up_proj.weight", "mlp.gate_proj.weight", "self_attn.o_proj.weight", "self_attn.v_proj.weight", "self_attn.k_proj.weight", "self_attn.q_proj.weight", "input_layernorm.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 18, 4, 4, 0)),
        ("self_attn.k_proj", (2, 0, 0, 18, 4, 4, 0)),
        ("self_attn.v_proj", (4, 0, 0, 18, 4, 4, 0)),
        ("", (8, 0, 0, 34, 4, 4, 0)),
        ("", (20, 0, 0, 26, 4, 4, 0)),
        ("", (14, 0, 0, 28, 4, 4, 0)),
        ("self_attn.o_proj", (4, 4, 0, 22, 4, 4, 24)),
        ("mlp.gate_proj", (4, 4, 2, 22, 4, 4, 24)),
        ("mlp.up_proj", (4, 4, 6, 22, 4, 4, 24)),
        ("mlp.down_proj", (4, 4, 8, 24, 4, 4, 24)),
        ("", (4, 4, 8, 28, 4, 4, 24)),
    ),
    backward=(
        (0, "mlp.down_proj", "mlp.down_proj.weight", (4, 4, 10, 20, 4, 4, 24)),
        (1, "", "", (4, 4, 12, 20, 4, 4, 24)),
        (1, "mlp.up_proj", "mlp.up_proj.weight", (4, 4, 6, 22, 4, 4, 24)),
        (2, "", "", (4, 4, 6, 22, 4, 4, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (4, 4, 2, 24, 4, 4, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (4, 4, 0, 26, 4, 4, 24)),
        (3, "self_attn.o_proj", "self_attn.o_proj.weight", (4, 4, 0, 24, 4, 4, 24)),
        (4, "", "", (8, 4, 0, 26, 4, 4, 24)),
        (4, "", "", (18, 0, 0, 22, 4, 4, 0)),
        (4, "", "", (6, 0, 0, 34, 4, 4, 0)),
        (4, "self_attn.v_proj", "self_attn.v_proj.weight", (4, 0, 0, 22, 4, 4, 0)),
        (5, "", "", (4, 0, 0, 20, 4, 4, 0)),
        (5, "self_attn.k_proj", "self_attn.k_proj.weight", (2, 0, 0, 22, 4, 4, 0)),
        (6, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 22, 4, 4, 0)),
        (7, "", "", (0, 0, 0, 26, 4, 8, 0)),
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
    columns=("T*d*k", "T*a", "T*f", "T*h", "T", "h", "1"),
    kept=(0, 0, 0, 2, 0, 0, 0),
    input_grad=(0, 0, 0, 2, 0, 0, 0),
    order=("mlp.down_proj.weight", "mlp.up_proj.weight", "mlp.gate_proj.weight", "self_attn.o_proj.weight", "self_attn.v_proj.weight", "self_attn.k_proj.weight", "self_attn.q_proj.weight", "input_layernorm.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 6, 0, 0, 0)),
        ("self_attn.k_proj", (2, 0, 0, 6, 0, 0, 0)),
        ("self_attn.v_proj", (4, 0, 0, 6, 0, 0, 0)),
        ("", (8, 0, 0, 22, 0, 0, 0)),
        ("", (20, 0, 0, 14, 0, 0, 0)),
        ("", (14, 0, 0, 16, 0, 0, 0)),
        ("", (4, 4, 0, 8, 0, 0, 24)),
        ("self_attn.o_proj", (4, 0, 0, 10, 0, 0, 0)),
        ("mlp.gate_proj", (0, 0, 2, 6, 0, 0, 0)),
        ("mlp.up_proj", (0, 0, 4, 6, 0, 0, 0)),
        ("", (0, 0, 6, 6, 0, 0, 0)),
        ("mlp.down_proj", (0, 0, 2, 8, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attn.q_proj", "", (0, 0, 0, 20, 4, 4, 0)),
        (0, "self_attn.k_proj", "", (2, 0, 0, 20, 4, 4, 0)),
        (0, "self_attn.v_proj", "", (4, 0, 0, 20, 4, 4, 0)),
        (0, "", "", (8, 0, 0, 36, 4, 4, 0)),
        (0, "", "", (20, 0, 0, 28, 4, 4, 0)),
        (0, "", "", (14, 0, 0, 30, 4, 4, 0)),
        (0, "self_attn.o_proj", "", (4, 4, 0, 24, 4, 4, 24)),
        (0, "mlp.gate_proj", "", (4, 4, 2, 24, 4, 4, 24)),
        (0, "mlp.up_proj", "", (4, 4, 6, 24, 4, 4, 24)),
        (0, "", "", (4, 4, 8, 24, 4, 4, 24)),
        (0, "mlp.down_proj", "mlp.down_proj.weight", (4, 4, 10, 22, 4, 4, 24)),
        (1, "", "", (4, 4, 12, 22, 4, 4, 24)),
        (1, "mlp.up_proj", "mlp.up_proj.weight", (4, 4, 6, 24, 4, 4, 24)),
        (2, "", "", (4, 4, 6, 24, 4, 4, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (4, 4, 2, 26, 4, 4, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (4, 4, 0, 28, 4, 4, 24)),
        (3, "self_attn.o_proj", "self_attn.o_proj.weight", (4, 4, 0, 26, 4, 4, 24)),
        (4, "", "", (8, 4, 0, 28, 4, 4, 24)),
        (4, "", "", (18, 0, 0, 24, 4, 4, 0)),
        (4, "", "", (6, 0, 0, 36, 4, 4, 0)),
        (4, "self_attn.v_proj", "self_attn.v_proj.weight", (4, 0, 0, 24, 4, 4, 0)),
        (5, "", "", (4, 0, 0, 22, 4, 4, 0)),
        (5, "self_attn.k_proj", "self_attn.k_proj.weight", (2, 0, 0, 24, 4, 4, 0)),
        (6, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 24, 4, 4, 0)),
        (7, "", "", (0, 0, 0, 28, 4, 4, 0)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 14, 12, 0, 0, 4, 8),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(0, 2, 0, 0, 0, 0, 0),
    order=("model.norm.weight",),
    forward=(
        ("", (0, 20, 12, 0, 0, 4, 0)),
        ("", (10, 14, 20, 8, 0, 4, 8)),
    ),
    backward=(
        (0, "", "", (8, 14, 12, 0, 0, 4, 12)),
        (0, "", "", (12, 14, 4, 0, 0, 4, 8)),
        (0, "", "", (2, 16, 4, 0, 2, 4, 8)),
        (0, "", "", (0, 24, 4, 0, 2, 8, 8)),
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
TABLES = {
    "head standard": (T0,),
    "stem flash": (T1,),
    "cohere flash": (T2,),
    "stem flash checkpointed": (T3,),
    "cohere flash checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
}
