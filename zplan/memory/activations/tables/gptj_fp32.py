"""Activations of gptj, fp32: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "V", "h", "1"),
    kept=(4, 8, 16, 0, 0, 0, 8),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("lm_head", (4, 8, 8, 0, 0, 0, 0)),
        ("", (8, 8, 24, 8, 0, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 8, 16, 0, 0, 0, 12)),
        (0, "", "", (12, 8, 8, 0, 0, 0, 8)),
        (0, "lm_head", "lm_head.weight", (4, 12, 8, 0, 4, 0, 8)),
        (2, "", "", (0, 12, 8, 0, 0, 8, 8)),
    ),
)
T1 = Table(
    columns=("T*h", "s*e", "s"),
    kept=(0, 0, 0),
    frame=(0, 4, 8),
    input_grad=(0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (4, 0, 0)),
        ("", (4, 0, 16)),
        ("", (4, 4, 8)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (4, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*a*e", "T*f", "T*h", "b*r*a", "T", "s*e", "f", "h", "1"),
    kept=(0, 20, 24, 4, 8, 16, 0, 0, 16),
    input_grad=(0, 0, 4, 0, 0, 0, 0, 0, 0),
    order=("mlp.fc_out.bias", "mlp.fc_out.weight", "mlp.fc_in.bias", "mlp.fc_in.weight", "attn.out_proj.weight", "attn.v_proj.weight", "attn.k_proj.weight", "attn.q_proj.weight", "ln_1.weight", "ln_1.bias"),
    forward=(
        ("attn.q_proj", (0, 0, 12, 0, 8, 0, 0, 0, 0)),
        ("attn.k_proj", (0, 0, 16, 0, 8, 0, 0, 0, 0)),
        ("attn.v_proj", (0, 0, 20, 0, 8, 0, 0, 0, 0)),
        ("", (16, 0, 20, 0, 8, 16, 0, 0, 0)),
        ("attn.out_proj", (8, 0, 36, 4, 8, 16, 0, 0, 16)),
        ("mlp.fc_in", (0, 4, 28, 4, 8, 16, 0, 0, 16)),
        ("mlp.fc_out", (0, 20, 32, 4, 8, 16, 0, 0, 16)),
        ("", (0, 20, 40, 4, 8, 16, 0, 0, 16)),
    ),
    backward=(
        (0, "mlp.fc_out", "mlp.fc_out.weight", (0, 24, 28, 4, 8, 16, 0, 4, 16)),
        (2, "", "", (0, 28, 28, 4, 8, 16, 0, 0, 16)),
        (2, "mlp.fc_in", "mlp.fc_in.weight", (0, 4, 32, 4, 8, 16, 4, 0, 16)),
        (4, "attn.out_proj", "attn.out_proj.weight", (0, 0, 36, 4, 8, 16, 0, 0, 16)),
        (5, "", "", (0, 0, 48, 4, 8, 16, 0, 0, 16)),
        (5, "", "", (12, 0, 28, 0, 8, 12, 0, 0, 0)),
        (5, "", "", (16, 0, 28, 0, 8, 4, 0, 0, 0)),
        (5, "", "", (8, 0, 32, 0, 8, 0, 0, 0, 0)),
        (5, "attn.v_proj", "attn.v_proj.weight", (0, 0, 32, 0, 8, 0, 0, 0, 0)),
        (6, "attn.k_proj", "attn.k_proj.weight", (0, 0, 28, 0, 8, 0, 0, 0, 0)),
        (7, "attn.q_proj", "attn.q_proj.weight", (0, 0, 24, 0, 8, 0, 0, 0, 0)),
        (8, "", "", (0, 0, 16, 0, 8, 0, 0, 8, 0)),
    ),
)
T3 = Table(
    columns=("T*h", "s*e", "s"),
    kept=(0, 4, 8),
    input_grad=(0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (4, 0, 0)),
        ("", (4, 0, 16)),
        ("", (4, 4, 8)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (4, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*a*e", "T*f", "T*h", "b*r*a", "T", "s*e", "f", "h", "1"),
    kept=(0, 0, 4, 0, 0, 0, 0, 0, 0),
    input_grad=(0, 0, 4, 0, 0, 0, 0, 0, 0),
    order=("mlp.fc_out.bias", "mlp.fc_out.weight", "mlp.fc_in.bias", "mlp.fc_in.weight", "attn.out_proj.weight", "attn.v_proj.weight", "attn.k_proj.weight", "attn.q_proj.weight", "ln_1.weight", "ln_1.bias"),
    forward=(
        ("attn.q_proj", (0, 0, 12, 0, 0, 0, 0, 0, 0)),
        ("attn.k_proj", (0, 0, 16, 0, 0, 0, 0, 0, 0)),
        ("attn.v_proj", (0, 0, 20, 0, 0, 0, 0, 0, 0)),
        ("", (16, 0, 20, 0, 0, 8, 0, 0, 0)),
        ("", (8, 0, 32, 4, 0, 0, 0, 0, 16)),
        ("attn.out_proj", (8, 0, 36, 0, 0, 0, 0, 0, 0)),
        ("mlp.fc_in", (0, 4, 12, 0, 0, 0, 0, 0, 0)),
        ("", (0, 16, 12, 0, 0, 0, 0, 0, 0)),
        ("mlp.fc_out", (0, 4, 16, 0, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "attn.q_proj", "", (0, 0, 16, 0, 8, 0, 0, 0, 0)),
        (0, "attn.k_proj", "", (0, 0, 20, 0, 8, 0, 0, 0, 0)),
        (0, "attn.v_proj", "", (0, 0, 24, 0, 8, 0, 0, 0, 0)),
        (0, "", "", (16, 0, 24, 0, 8, 16, 0, 0, 0)),
        (0, "attn.out_proj", "", (8, 0, 40, 4, 8, 16, 0, 0, 16)),
        (0, "mlp.fc_in", "", (0, 4, 32, 4, 8, 16, 0, 0, 16)),
        (0, "", "", (0, 20, 32, 4, 8, 16, 0, 0, 16)),
        (0, "mlp.fc_out", "mlp.fc_out.weight", (0, 24, 28, 4, 8, 16, 0, 0, 16)),
        (0, "mlp.fc_out", "mlp.fc_out.weight", (0, 20, 28, 4, 8, 16, 0, 4, 16)),
        (2, "", "", (0, 28, 28, 4, 8, 16, 0, 0, 16)),
        (2, "mlp.fc_in", "mlp.fc_in.weight", (0, 4, 32, 4, 8, 16, 4, 0, 16)),
        (4, "attn.out_proj", "attn.out_proj.weight", (0, 0, 36, 4, 8, 16, 0, 0, 16)),
        (5, "", "", (0, 0, 48, 4, 8, 16, 0, 0, 16)),
        (5, "", "", (12, 0, 28, 0, 8, 12, 0, 0, 0)),
        (5, "", "", (16, 0, 28, 0, 8, 4, 0, 0, 0)),
        (5, "", "", (8, 0, 32, 0, 8, 0, 0, 0, 0)),
        (5, "attn.v_proj", "attn.v_proj.weight", (0, 0, 32, 0, 8, 0, 0, 0, 0)),
        (6, "attn.k_proj", "attn.k_proj.weight", (0, 0, 28, 0, 8, 0, 0, 0, 0)),
        (7, "attn.q_proj", "attn.q_proj.weight", (0, 0, 24, 0, 8, 0, 0, 0, 0)),
        (8, "", "", (0, 0, 16, 0, 8, 0, 0, 8, 0)),
    ),
)
T5 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 0, 4),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.bias", "lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
    forward=(
        ("", (8, 24, 0, 0, 8, 0, 0, 0, 0)),
        ("lm_head", (8, 16, 4, 0, 0, 0, 0, 0, 8)),
        ("", (8, 16, 8, 0, 0, 0, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (8, 16, 8, 4, 0, 4, 4, 0, 20)),
        (0, "", "", (8, 16, 12, 4, 0, 4, 4, 0, 12)),
        (0, "lm_head", "", (8, 16, 4, 8, 0, 8, 8, 0, 12)),
        (0, "lm_head", "lm_head.weight", (8, 16, 0, 8, 0, 8, 4, 0, 12)),
        (0, "", "lm_head.weight", (8, 16, 8, 28, 0, 0, 4, 0, 20)),
        (0, "", "lm_head.weight", (8, 16, 12, 28, 0, 0, 4, 0, 8)),
        (0, "lm_head", "lm_head.weight", (8, 16, 4, 32, 0, 4, 8, 0, 8)),
        (2, "", "", (8, 8, 0, 32, 0, 0, 0, 0, 8)),
        (2, "", "", (12, 8, 0, 0, 0, 0, 0, 8, 8)),
    ),
)
T6 = Table(
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
TABLES = {
    "head standard": (T0,),
    "stem flash": (T1,),
    "gptj flash": (T2,),
    "stem flash checkpointed": (T3,),
    "gptj flash checkpointed": (T4,),
    "head chunked": (T5,),
    "head fused": (T6,),
}
