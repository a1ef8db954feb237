"""Activations of gptj, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "V", "h", "1"),
    kept=(4, 6, 16, 0, 0, 8, 8),
    input_grad=(0, 2, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "lm_head.weight", "transformer.ln_f.bias", "transformer.ln_f.weight"),
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
    kept=(0, 0, 0),
    frame=(0, 2, 8),
    input_grad=(0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (2, 0, 0)),
        ("", (2, 0, 16)),
        ("", (2, 6, 8)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (2, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*a*e", "T*a", "T*f", "T*h", "T", "s*e", "f", "h", "1"),
    kept=(0, 4, 16, 20, 8, 8, 0, 8, 24),
    input_grad=(0, 0, 0, 2, 0, 0, 0, 0, 0),
    order=("mlp.fc_out.bias", "mlp.fc_out.weight", "mlp.fc_in.bias", "mlp.fc_in.weight", "attn.out_proj.weight", "attn.v_proj.weight", "attn.k_proj.weight", "attn.q_proj.weight", "ln_1.bias", "ln_1.weight"),
    forward=(
        ("attn.q_proj", (0, 0, 0, 14, 8, 0, 0, 8, 0)),
        ("attn.k_proj", (0, 0, 0, 18, 8, 0, 0, 8, 0)),
        ("attn.v_proj", (0, 0, 0, 22, 8, 0, 0, 8, 0)),
        ("", (8, 0, 0, 22, 8, 8, 0, 8, 0)),
        ("attn.out_proj", (4, 4, 0, 30, 8, 8, 0, 8, 24)),
        ("mlp.fc_in", (0, 4, 2, 28, 8, 8, 0, 8, 24)),
        ("mlp.fc_out", (0, 4, 20, 30, 8, 8, 0, 8, 24)),
        ("", (0, 4, 16, 34, 8, 8, 0, 8, 24)),
    ),
    backward=(
        (0, "mlp.fc_out", "mlp.fc_out.weight", (0, 4, 18, 22, 8, 8, 0, 10, 24)),
        (2, "mlp.fc_out", "", (0, 4, 20, 22, 8, 8, 0, 8, 24)),
        (2, "", "", (0, 4, 28, 22, 8, 8, 0, 8, 24)),
        (2, "mlp.fc_in", "mlp.fc_in.weight", (0, 4, 2, 24, 8, 8, 2, 8, 24)),
        (4, "mlp.fc_in", "", (0, 4, 0, 26, 8, 8, 0, 8, 24)),
        (4, "attn.out_proj", "attn.out_proj.weight", (0, 4, 0, 26, 8, 8, 0, 8, 24)),
        (5, "", "", (0, 4, 0, 32, 8, 8, 0, 8, 24)),
        (5, "", "", (6, 0, 0, 22, 8, 6, 0, 8, 0)),
        (5, "", "", (8, 0, 0, 22, 8, 2, 0, 8, 0)),
        (5, "", "", (4, 0, 0, 24, 8, 0, 0, 8, 0)),
        (5, "attn.v_proj", "attn.v_proj.weight", (0, 0, 0, 24, 8, 0, 0, 8, 0)),
        (6, "attn.v_proj", "", (0, 0, 0, 24, 8, 0, 0, 8, 0)),
        (6, "attn.k_proj", "attn.k_proj.weight", (0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (7, "attn.k_proj", "", (0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (7, "attn.q_proj", "attn.q_proj.weight", (0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (8, "attn.q_proj", "", (0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (8, "", "", (0, 0, 0, 14, 8, 0, 0, 16, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*e", "s"),
    kept=(0, 2, 8),
    input_grad=(0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (2, 0, 0)),
        ("", (2, 0, 16)),
        ("", (2, 6, 8)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (2, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*a*e", "T*a", "T*f", "T*h", "T", "s*e", "f", "h", "1"),
    kept=(0, 0, 0, 2, 0, 0, 0, 0, 0),
    input_grad=(0, 0, 0, 2, 0, 0, 0, 0, 0),
    order=("mlp.fc_out.bias", "mlp.fc_out.weight", "mlp.fc_in.bias", "mlp.fc_in.weight", "attn.out_proj.weight", "attn.v_proj.weight", "attn.k_proj.weight", "attn.q_proj.weight", "ln_1.bias", "ln_1.weight"),
    forward=(
        ("", (0, 0, 0, 10, 8, 0, 0, 8, 0)),
        ("attn.q_proj", (0, 0, 0, 10, 0, 0, 0, 0, 0)),
        ("attn.k_proj", (0, 0, 0, 12, 0, 0, 0, 0, 0)),
        ("attn.v_proj", (0, 0, 0, 14, 0, 0, 0, 0, 0)),
        ("", (8, 0, 0, 12, 0, 4, 0, 0, 0)),
        ("", (4, 4, 0, 18, 0, 0, 0, 0, 24)),
        ("attn.out_proj", (4, 0, 0, 20, 0, 0, 0, 0, 0)),
        ("mlp.fc_in", (0, 0, 2, 10, 0, 0, 0, 0, 0)),
        ("", (0, 0, 12, 8, 0, 0, 0, 0, 0)),
        ("mlp.fc_out", (0, 0, 6, 10, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "attn.q_proj", "", (0, 0, 0, 16, 8, 0, 0, 8, 0)),
        (0, "attn.k_proj", "", (0, 0, 0, 20, 8, 0, 0, 8, 0)),
        (0, "attn.v_proj", "", (0, 0, 0, 24, 8, 0, 0, 8, 0)),
        (0, "", "", (8, 0, 0, 24, 8, 8, 0, 8, 0)),
        (0, "attn.out_proj", "", (4, 4, 0, 32, 8, 8, 0, 8, 24)),
        (0, "mlp.fc_in", "", (0, 4, 2, 30, 8, 8, 0, 8, 24)),
        (0, "mlp.fc_out", "", (0, 4, 20, 30, 8, 8, 0, 8, 24)),
        (0, "mlp.fc_out", "mlp.fc_out.weight", (0, 4, 18, 24, 8, 8, 0, 8, 24)),
        (0, "mlp.fc_out", "mlp.fc_out.weight", (0, 4, 16, 24, 8, 8, 0, 10, 24)),
        (2, "mlp.fc_out", "", (0, 4, 20, 24, 8, 8, 0, 8, 24)),
        (2, "", "", (0, 4, 26, 24, 8, 8, 0, 8, 24)),
        (2, "mlp.fc_in", "mlp.fc_in.weight", (0, 4, 2, 26, 8, 8, 0, 8, 24)),
        (2, "mlp.fc_in", "mlp.fc_in.weight", (0, 4, 2, 24, 8, 8, 2, 8, 24)),
        (4, "mlp.fc_in", "", (0, 4, 0, 28, 8, 8, 0, 8, 24)),
        (4, "attn.out_proj", "attn.out_proj.weight", (0, 4, 0, 28, 8, 8, 0, 8, 24)),
        (5, "", "", (0, 4, 0, 34, 8, 8, 0, 8, 24)),
        (5, "", "", (6, 0, 0, 24, 8, 6, 0, 8, 0)),
        (5, "", "", (8, 0, 0, 24, 8, 2, 0, 8, 0)),
        (5, "", "", (4, 0, 0, 26, 8, 0, 0, 8, 0)),
        (5, "attn.v_proj", "attn.v_proj.weight", (0, 0, 0, 26, 8, 0, 0, 8, 0)),
        (6, "attn.v_proj", "", (0, 0, 0, 26, 8, 0, 0, 8, 0)),
        (6, "attn.k_proj", "attn.k_proj.weight", (0, 0, 0, 22, 8, 0, 0, 8, 0)),
        (7, "attn.k_proj", "", (0, 0, 0, 22, 8, 0, 0, 8, 0)),
        (7, "attn.q_proj", "attn.q_proj.weight", (0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (8, "attn.q_proj", "", (0, 0, 0, 18, 8, 0, 0, 8, 0)),
        (8, "", "", (0, 0, 0, 16, 8, 0, 0, 16, 0)),
    ),
)
T5 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 8, 4),
    input_grad=(2, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "lm_head.weight", "transformer.ln_f.bias", "transformer.ln_f.weight"),
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
T6 = Table(
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
TABLES = {
    "head standard": (T0,),
    "stem flash": (T1,),
    "gptj flash": (T2,),
    "stem flash checkpointed": (T3,),
    "gptj flash checkpointed": (T4,),
    "head chunked": (T5,),
    "head fused": (T6,),
}
