"""Activations of phi, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "V", "h", "1"),
    kept=(4, 6, 16, 0, 0, 8, 8),
    input_grad=(0, 2, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "lm_head.weight", "model.final_layernorm.bias", "model.final_layernorm.weight"),
    forward=(
        ("lm_head", (2, 10, 8, 0, 0, 8, 0)),
        ("", (10, 10, 24, 8, 0, 8, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 0, 8, 12)),
        (0, "", "", (12, 6, 8, 0, 0, 8, 8)),
        (0, "lm_head", "lm_head.weight", (2, 8, 8, 0, 2, 8, 8)),
        (2, "lm_head", "", (0, 10, 8, 0, 0, 8, 8)),
        (2, "", "", (0, 12, 8, 0, 0, 16, 8)),
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
    columns=("T*a*e", "T*d*k", "T*e*k", "T*a", "T*f", "T*h", "T", "d*k", "f", "h", "1"),
    kept=(0, 4, 0, 4, 16, 18, 8, 0, 0, 8, 24),
    input_grad=(0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0),
    order=("mlp.fc2.bias", "mlp.fc2.weight", "mlp.fc1.bias", "mlp.fc1.weight", "self_attn.dense.bias", "self_attn.dense.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("self_attn.q_proj", (0, 0, 0, 0, 0, 14, 8, 0, 0, 8, 0)),
        ("self_attn.k_proj", (0, 2, 0, 0, 0, 16, 8, 0, 0, 8, 0)),
        ("self_attn.v_proj", (0, 4, 0, 0, 0, 18, 8, 0, 0, 8, 0)),
        ("", (6, 4, 0, 0, 0, 18, 8, 0, 0, 8, 0)),
        ("", (2, 4, 6, 0, 0, 18, 8, 0, 0, 8, 0)),
        ("self_attn.dense", (2, 6, 2, 4, 0, 26, 8, 0, 0, 8, 24)),
        ("mlp.fc1", (0, 4, 0, 4, 2, 26, 8, 0, 0, 8, 24)),
        ("mlp.fc2", (0, 4, 0, 4, 20, 28, 8, 0, 0, 8, 24)),
        ("", (0, 4, 0, 4, 16, 32, 8, 0, 0, 8, 24)),
    ),
    backward=(
        (0, "mlp.fc2", "mlp.fc2.weight", (0, 4, 0, 4, 18, 20, 8, 0, 0, 10, 24)),
        (2, "mlp.fc2", "", (0, 4, 0, 4, 20, 20, 8, 0, 0, 8, 24)),
        (2, "", "", (0, 4, 0, 4, 28, 20, 8, 0, 0, 8, 24)),
        (2, "mlp.fc1", "mlp.fc1.weight", (0, 4, 0, 4, 2, 22, 8, 0, 2, 8, 24)),
        (4, "mlp.fc1", "", (0, 4, 0, 4, 0, 24, 8, 0, 0, 8, 24)),
        (4, "self_attn.dense", "self_attn.dense.weight", (0, 4, 0, 4, 0, 24, 8, 0, 0, 10, 24)),
        (6, "", "", (0, 8, 0, 4, 0, 24, 8, 0, 0, 8, 24)),
        (6, "", "", (6, 4, 2, 0, 0, 18, 8, 0, 0, 8, 0)),
        (6, "", "", (2, 6, 2, 0, 0, 18, 8, 0, 0, 8, 0)),
        (6, "", "", (2, 4, 0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (6, "self_attn.v_proj", "self_attn.v_proj.weight", (0, 4, 0, 0, 0, 20, 8, 2, 0, 8, 0)),
        (8, "self_attn.v_proj", "", (0, 2, 0, 0, 0, 22, 8, 0, 0, 8, 0)),
        (8, "", "", (0, 4, 0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (8, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 2, 0, 0, 0, 18, 8, 2, 0, 8, 0)),
        (10, "self_attn.k_proj", "", (0, 0, 0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (10, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 0, 0, 16, 8, 0, 0, 10, 0)),
        (12, "self_attn.q_proj", "", (0, 0, 0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (12, "", "", (0, 0, 0, 0, 0, 14, 8, 0, 0, 16, 0)),
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
    columns=("T*a*e", "T*d*k", "T*e*k", "T*a", "T*f", "T*h", "T", "d*k", "f", "h", "1"),
    kept=(0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0),
    input_grad=(0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0),
    order=("mlp.fc2.bias", "mlp.fc2.weight", "mlp.fc1.bias", "mlp.fc1.weight", "self_attn.dense.bias", "self_attn.dense.weight", "self_attn.v_proj.bias", "self_attn.v_proj.weight", "self_attn.k_proj.bias", "self_attn.k_proj.weight", "self_attn.q_proj.bias", "self_attn.q_proj.weight", "input_layernorm.bias", "input_layernorm.weight"),
    forward=(
        ("", (0, 0, 0, 0, 0, 10, 8, 0, 0, 8, 0)),
        ("self_attn.q_proj", (0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("self_attn.k_proj", (0, 2, 0, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("self_attn.v_proj", (0, 4, 0, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("", (6, 4, 0, 0, 0, 8, 0, 0, 0, 0, 0)),
        ("", (2, 4, 6, 0, 0, 8, 0, 0, 0, 0, 0)),
        ("", (2, 6, 2, 4, 0, 12, 0, 0, 0, 0, 24)),
        ("self_attn.dense", (2, 6, 2, 0, 0, 14, 0, 0, 0, 0, 0)),
        ("mlp.fc1", (0, 0, 0, 0, 2, 10, 0, 0, 0, 0, 0)),
        ("", (0, 0, 0, 0, 12, 8, 0, 0, 0, 0, 0)),
        ("mlp.fc2", (0, 0, 0, 0, 6, 10, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "self_attn.q_proj", "", (0, 0, 0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (0, "self_attn.k_proj", "", (0, 2, 0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (0, "self_attn.v_proj", "", (0, 4, 0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (0, "", "", (6, 4, 0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (0, "", "", (2, 4, 6, 0, 0, 20, 8, 0, 0, 8, 0)),
        (0, "self_attn.dense", "", (2, 6, 2, 4, 0, 28, 8, 0, 0, 8, 24)),
        (0, "mlp.fc1", "", (0, 4, 0, 4, 2, 28, 8, 0, 0, 8, 24)),
        (0, "mlp.fc2", "", (0, 4, 0, 4, 20, 28, 8, 0, 0, 8, 24)),
        (0, "mlp.fc2", "mlp.fc2.weight", (0, 4, 0, 4, 18, 22, 8, 0, 0, 8, 24)),
        (0, "mlp.fc2", "mlp.fc2.weight", (0, 4, 0, 4, 16, 22, 8, 0, 0, 10, 24)),
        (2, "mlp.fc2", "", (0, 4, 0, 4, 20, 22, 8, 0, 0, 8, 24)),
        (2, "", "", (0, 4, 0, 4, 26, 22, 8, 0, 0, 8, 24)),
        (2, "mlp.fc1", "mlp.fc1.weight", (0, 4, 0, 4, 2, 24, 8, 0, 0, 8, 24)),
        (2, "mlp.fc1", "mlp.fc1.weight", (0, 4, 0, 4, 2, 22, 8, 0, 2, 8, 24)),
        (4, "mlp.fc1", "", (0, 4, 0, 4, 0, 26, 8, 0, 0, 8, 24)),
        (4, "self_attn.dense", "self_attn.dense.weight", (0, 4, 0, 4, 0, 26, 8, 0, 0, 8, 24)),
        (6, "", "", (0, 8, 0, 4, 0, 26, 8, 0, 0, 8, 24)),
        (6, "", "", (6, 4, 2, 0, 0, 20, 8, 0, 0, 8, 0)),
        (6, "", "", (2, 6, 2, 0, 0, 20, 8, 0, 0, 8, 0)),
        (6, "", "", (2, 4, 0, 0, 0, 22, 8, 0, 0, 8, 0)),
        (6, "self_attn.v_proj", "self_attn.v_proj.weight", (0, 4, 0, 0, 0, 22, 8, 0, 0, 8, 0)),
        (6, "self_attn.v_proj", "self_attn.v_proj.weight", (0, 4, 0, 0, 0, 20, 8, 2, 0, 8, 0)),
        (8, "self_attn.v_proj", "", (0, 2, 0, 0, 0, 24, 8, 0, 0, 8, 0)),
        (8, "", "", (0, 4, 0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (8, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 2, 0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (8, "self_attn.k_proj", "self_attn.k_proj.weight", (0, 2, 0, 0, 0, 18, 8, 2, 0, 8, 0)),
        (10, "self_attn.k_proj", "", (0, 0, 0, 0, 0, 22, 8, 0, 0, 8, 0)),
        (10, "self_attn.q_proj", "self_attn.q_proj.weight", (0, 0, 0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (12, "self_attn.q_proj", "", (0, 0, 0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (12, "", "", (0, 0, 0, 0, 0, 16, 8, 0, 0, 16, 0)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "V", "h", "1"),
    kept=(4, 6, 16, 0, 0, 0, 8, 8),
    held=(0, 0, 0, 0, 2, 0, 0, 0),
    input_grad=(0, 2, 0, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "model.final_layernorm.bias", "model.final_layernorm.weight"),
    forward=(
        ("", (10, 10, 24, 8, 0, 0, 8, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 0, 0, 8, 12)),
        (0, "", "", (12, 6, 8, 0, 0, 0, 8, 8)),
        (0, "", "", (2, 8, 8, 0, 2, 2, 8, 8)),
        (1, "", "", (0, 12, 8, 0, 2, 0, 16, 8)),
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
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 8, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "lm_head.weight", "model.final_layernorm.bias", "model.final_layernorm.weight"),
    forward=(
        ("", (10, 8, 0, 0, 0, 0, 0, 8, 0)),
        ("", (8, 24, 0, 0, 8, 0, 0, 8, 0)),
        ("lm_head", (8, 16, 2, 2, 0, 0, 0, 8, 8)),
        ("", (8, 16, 8, 0, 0, 0, 0, 8, 16)),
    ),
    backward=(
        (0, "", "", (8, 16, 8, 6, 0, 2, 2, 8, 20)),
        (0, "", "", (8, 16, 12, 6, 0, 2, 2, 8, 12)),
        (0, "lm_head", "", (8, 16, 2, 8, 0, 4, 2, 8, 12)),
        (0, "lm_head", "", (8, 16, 2, 6, 0, 4, 4, 8, 12)),
        (0, "lm_head", "lm_head.weight", (8, 16, 0, 6, 0, 4, 2, 8, 12)),
        (0, "", "lm_head.weight", (8, 16, 8, 30, 0, 0, 2, 8, 20)),
        (0, "", "lm_head.weight", (8, 16, 12, 30, 0, 0, 2, 8, 8)),
        (0, "lm_head", "lm_head.weight", (8, 16, 2, 32, 0, 2, 2, 8, 8)),
        (0, "lm_head", "lm_head.weight", (8, 16, 2, 30, 0, 2, 4, 8, 8)),
        (2, "lm_head", "", (4, 8, 0, 34, 0, 0, 0, 8, 8)),
        (2, "", "", (8, 8, 0, 32, 0, 0, 0, 8, 8)),
        (2, "", "", (12, 8, 0, 0, 0, 0, 0, 16, 8)),
    ),
)
T8 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "model.final_layernorm.bias", "model.final_layernorm.weight"),
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
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 8, 4),
    held=(0, 0, 0, 0, 0, 2, 0, 0, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "model.final_layernorm.bias", "model.final_layernorm.weight"),
    forward=(
        ("", (10, 8, 0, 0, 0, 0, 0, 8, 0)),
        ("", (8, 24, 0, 0, 8, 0, 0, 8, 0)),
        ("", (8, 16, 2, 2, 0, 0, 0, 8, 8)),
        ("", (8, 16, 8, 0, 0, 0, 0, 8, 16)),
    ),
    backward=(
        (0, "", "", (8, 16, 0, 6, 0, 6, 2, 8, 12)),
        (0, "", "", (8, 16, 8, 30, 0, 2, 2, 8, 20)),
        (0, "", "", (8, 16, 12, 30, 0, 2, 2, 8, 8)),
        (0, "", "", (8, 16, 2, 32, 0, 4, 2, 8, 8)),
        (0, "", "", (8, 16, 2, 30, 0, 4, 4, 8, 8)),
        (1, "", "", (4, 8, 0, 34, 0, 2, 0, 8, 8)),
        (1, "", "", (12, 8, 0, 0, 0, 2, 0, 16, 8)),
    ),
)
T10 = Table(
    columns=("T*h", "T", "c*V", "c*h", "h*V", "h", "1"),
    kept=(8, 8, 0, 0, 2, 8, 4),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(2, 0, 0, 0, 0, 0, 0),
    order=("model.final_layernorm.bias", "model.final_layernorm.weight"),
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
    "phi flash": (T2,),
    "stem flash checkpointed": (T3,),
    "phi flash checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
    "head chunked": (T7,),
    "head fused": (T8,),
    "head tied chunked": (T9,),
    "head tied fused": (T10,),
}
