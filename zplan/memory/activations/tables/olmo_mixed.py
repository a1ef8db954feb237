"""Activations of olmo, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "1"),
    kept=(4, 6, 16, 0, 8),
    input_grad=(0, 2, 0, 0, 0),
    order=("lm_head.weight",),
    forward=(
        ("", (0, 12, 8, 0, 0)),
        ("lm_head", (2, 6, 8, 0, 0)),
        ("", (10, 6, 24, 8, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 12)),
        (0, "", "", (12, 6, 8, 0, 8)),
        (0, "lm_head", "lm_head.weight", (2, 8, 8, 0, 8)),
        (1, "", "", (0, 12, 8, 0, 8)),
    ),
)
T1 = Table(
    columns=("T*h", "s*d", "s"),
    kept=(0, 8, 0),
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
    columns=("T*d*k", "T*a", "T*f", "T*h", "T", "1"),
    kept=(4, 4, 8, 16, 16, 24),
    input_grad=(0, 0, 0, 2, 0, 0),
    order=("mlp.down_proj.weight", "mlp.up_proj.weight", "mlp.gate_proj.weight", "self_attn.o_proj.weight", "self_attn.v_proj.weight", "self_attn.k_proj.weight", "self_attn.q_proj.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 10, 8, 0)),
        ("self_attn.k_proj", (2, 0, 0, 10, 8, 0)),
        ("self_attn.v_proj", (4, 0, 0, 10, 8, 0)),
        ("", (16, 0, 0, 14, 8, 0)),
        ("", (10, 0, 0, 16, 8, 0)),
        ("self_attn.o_proj", (4, 4, 0, 14, 8, 24)),
        ("mlp.gate_proj", (4, 4, 2, 20, 16, 24)),
        ("mlp.up_proj", (4, 4, 6, 20, 16, 24)),
        ("mlp.down_proj", (4, 4, 8, 22, 16, 24)),
        ("", (4, 4, 8, 24, 16, 24)),
    ),
    backward=(
        (0, "mlp.down_proj", "mlp.down_proj.weight", (4, 4, 10, 18, 16, 24)),
        (1, "", "", (4, 4, 12, 18, 16, 24)),
        (1, "mlp.up_proj", "mlp.up_proj.weight", (4, 4, 6, 20, 16, 24)),
        (2, "", "", (4, 4, 6, 20, 16, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (4, 4, 2, 22, 16, 24)),
        (3, "", "", (4, 4, 0, 24, 16, 24)),
        (3, "self_attn.o_proj", "self_attn.o_proj.weight", (4, 4, 0, 14, 8, 24)),
        (4, "", "", (8, 4, 0, 16, 8, 24)),
        (4, "", "", (14, 0, 0, 12, 8, 0)),
        (4, "", "", (4, 0, 0, 20, 8, 0)),
        (4, "self_attn.v_proj", "self_attn.v_proj.weight", (4, 0, 0, 12, 8, 0)),
        (5, "self_attn.k_proj", "self_attn.k_proj.weight", (2, 0, 0, 14, 8, 0)),
        (5, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 0, 0, 16, 8, 0)),
        (6, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 14, 8, 0)),
        (7, "", "", (0, 0, 0, 14, 8, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*d", "s"),
    kept=(0, 8, 8),
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
    columns=("T*d*k", "T*a", "T*f", "T*h", "T", "1"),
    kept=(0, 0, 0, 2, 0, 0),
    input_grad=(0, 0, 0, 2, 0, 0),
    order=("mlp.down_proj.weight", "mlp.up_proj.weight", "mlp.gate_proj.weight", "self_attn.o_proj.weight", "self_attn.v_proj.weight", "self_attn.k_proj.weight", "self_attn.q_proj.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 6, 0, 0)),
        ("self_attn.k_proj", (2, 0, 0, 6, 0, 0)),
        ("self_attn.v_proj", (4, 0, 0, 6, 0, 0)),
        ("", (4, 0, 0, 18, 0, 0)),
        ("", (16, 0, 0, 10, 0, 0)),
        ("", (10, 0, 0, 12, 0, 0)),
        ("", (4, 4, 0, 8, 0, 24)),
        ("self_attn.o_proj", (4, 0, 0, 10, 0, 0)),
        ("mlp.gate_proj", (0, 0, 2, 6, 0, 0)),
        ("mlp.up_proj", (0, 0, 4, 6, 0, 0)),
        ("", (0, 0, 6, 6, 0, 0)),
        ("mlp.down_proj", (0, 0, 2, 8, 0, 0)),
    ),
    backward=(
        (0, "self_attn.q_proj", "", (0, 0, 0, 12, 8, 0)),
        (0, "self_attn.k_proj", "", (2, 0, 0, 12, 8, 0)),
        (0, "self_attn.v_proj", "", (4, 0, 0, 12, 8, 0)),
        (0, "", "", (16, 0, 0, 16, 8, 0)),
        (0, "", "", (10, 0, 0, 18, 8, 0)),
        (0, "self_attn.o_proj", "", (4, 4, 0, 16, 8, 24)),
        (0, "", "", (4, 4, 0, 26, 16, 24)),
        (0, "mlp.gate_proj", "", (4, 4, 2, 22, 16, 24)),
        (0, "mlp.up_proj", "", (4, 4, 6, 22, 16, 24)),
        (0, "", "", (4, 4, 8, 22, 16, 24)),
        (0, "mlp.down_proj", "mlp.down_proj.weight", (4, 4, 10, 20, 16, 24)),
        (1, "", "", (4, 4, 12, 20, 16, 24)),
        (1, "mlp.up_proj", "mlp.up_proj.weight", (4, 4, 6, 22, 16, 24)),
        (2, "", "", (4, 4, 6, 22, 16, 24)),
        (2, "mlp.gate_proj", "mlp.gate_proj.weight", (4, 4, 2, 24, 16, 24)),
        (3, "", "", (4, 4, 0, 26, 16, 24)),
        (3, "self_attn.o_proj", "self_attn.o_proj.weight", (4, 4, 0, 16, 8, 24)),
        (4, "", "", (8, 4, 0, 18, 8, 24)),
        (4, "", "", (14, 0, 0, 14, 8, 0)),
        (4, "", "", (4, 0, 0, 22, 8, 0)),
        (4, "self_attn.v_proj", "self_attn.v_proj.weight", (4, 0, 0, 14, 8, 0)),
        (5, "self_attn.k_proj", "self_attn.k_proj.weight", (2, 0, 0, 16, 8, 0)),
        (5, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 0, 0, 18, 8, 0)),
        (6, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 16, 8, 0)),
        (7, "", "", (0, 0, 0, 16, 8, 0)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "1"),
    kept=(4, 6, 16, 0, 0, 8),
    held=(0, 0, 0, 0, 2, 0),
    input_grad=(0, 2, 0, 0, 0, 0),
    order=(),
    forward=(
        ("", (0, 12, 8, 0, 0, 0)),
        ("", (10, 6, 24, 8, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 0, 12)),
        (0, "", "", (12, 6, 8, 0, 0, 8)),
        (0, "", "", (2, 8, 8, 0, 2, 8)),
        (0, "", "", (0, 12, 8, 0, 2, 8)),
    ),
)
T6 = Table(
    columns=("T*h", "s*d", "s", "h*V"),
    kept=(0, 8, 0, 0),
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
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "1"),
    kept=(6, 16, 0, 0, 0, 0, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight",),
    forward=(
        ("", (12, 8, 0, 0, 0, 0, 0)),
        ("", (6, 24, 0, 0, 8, 0, 0)),
        ("lm_head", (6, 16, 2, 0, 0, 0, 8)),
        ("", (6, 16, 8, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (6, 16, 8, 2, 0, 2, 20)),
        (0, "", "", (6, 16, 12, 2, 0, 2, 12)),
        (0, "lm_head", "", (6, 16, 2, 4, 0, 4, 12)),
        (0, "lm_head", "lm_head.weight", (6, 16, 0, 4, 0, 4, 12)),
        (0, "", "lm_head.weight", (6, 16, 12, 12, 0, 0, 12)),
        (0, "lm_head", "lm_head.weight", (6, 16, 2, 14, 0, 2, 12)),
        (0, "", "lm_head.weight", (6, 16, 8, 14, 0, 0, 20)),
        (0, "", "lm_head.weight", (6, 16, 12, 14, 0, 0, 8)),
        (0, "lm_head", "lm_head.weight", (6, 16, 2, 16, 0, 2, 8)),
        (1, "", "", (6, 8, 0, 16, 0, 0, 8)),
        (1, "", "", (12, 8, 0, 0, 0, 0, 8)),
    ),
)
T8 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "1"),
    kept=(6, 8, 0, 0, 2, 4),
    input_grad=(2, 0, 0, 0, 0, 0),
    order=("lm_head.weight",),
    forward=(
        ("", (12, 8, 0, 0, 0, 0)),
        ("", (6, 24, 0, 0, 0, 48)),
        ("lm_head", (8, 20, 2, 2, 2, 0)),
    ),
    backward=(
        (0, "", "lm_head.weight", (6, 8, 0, 0, 0, 8)),
        (1, "", "", (12, 8, 0, 0, 0, 8)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "1"),
    kept=(6, 16, 0, 0, 0, 0, 4),
    held=(0, 0, 0, 0, 0, 2, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=(),
    forward=(
        ("", (12, 8, 0, 0, 0, 0, 0)),
        ("", (6, 24, 0, 0, 8, 0, 0)),
        ("", (6, 16, 8, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (6, 16, 0, 4, 0, 6, 12)),
        (0, "", "", (6, 16, 12, 12, 0, 2, 12)),
        (0, "", "", (6, 16, 2, 14, 0, 4, 12)),
        (0, "", "", (6, 16, 8, 14, 0, 2, 20)),
        (0, "", "", (6, 16, 12, 14, 0, 2, 8)),
        (0, "", "", (6, 16, 2, 16, 0, 4, 8)),
        (0, "", "", (12, 8, 0, 0, 0, 2, 8)),
    ),
)
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "1"),
    kept=(6, 8, 0, 0, 2, 4),
    held=(0, 0, 0, 0, 2, 0),
    input_grad=(2, 0, 0, 0, 0, 0),
    order=(),
    forward=(
        ("", (12, 8, 0, 0, 0, 0)),
        ("", (6, 24, 0, 0, 0, 48)),
        ("", (8, 20, 2, 2, 2, 0)),
    ),
    backward=(
        (0, "", "", (12, 8, 0, 0, 2, 8)),
    ),
)
TABLES = {
    "head standard": (T0,),
    "stem flash": (T1,),
    "olmo flash": (T2,),
    "stem flash checkpointed": (T3,),
    "olmo flash checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
    "head chunked": (T7,),
    "head fused": (T8,),
    "head tied chunked": (T9,),
    "head tied fused": (T10,),
}
