"""Activations of gpt2, fp32: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 8, 16, 0, 0, 8),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
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
    columns=("T*h", "s*h", "s"),
    kept=(1, 0, 8),
    frame=(4, 4, 0),
    input_grad=(0, 0, 0),
    order=("transformer.wpe.weight", "transformer.wte.weight"),
    forward=(
        ("transformer.wte", (4, 0, 0)),
        ("transformer.wpe", (4, 4, 8)),
        ("", (13, 4, 8)),
    ),
    backward=(
        (0, "", "", (9, 0, 8)),
        (0, "transformer.wpe", "transformer.wpe.weight", (4, 4, 8)),
        (1, "transformer.wte", "transformer.wte.weight", (4, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*f", "T*h", "b*r*a", "T", "f", "h", "1"),
    kept=(20, 34, 4, 16, 0, 0, 16),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "ln_2.weight", "ln_2.bias", "attn.c_proj.bias", "attn.c_proj.weight", "attn.c_attn.bias", "attn.c_attn.weight", "ln_1.weight", "ln_1.bias"),
    forward=(
        ("attn.c_attn", (0, 20, 0, 8, 0, 0, 0)),
        ("attn.c_proj", (0, 28, 4, 8, 0, 0, 16)),
        ("mlp.c_fc", (4, 37, 4, 16, 0, 0, 16)),
        ("mlp.c_proj", (20, 41, 4, 16, 0, 0, 16)),
        ("", (20, 46, 4, 16, 0, 0, 16)),
    ),
    backward=(
        (0, "", "", (20, 42, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (24, 41, 4, 16, 0, 4, 16)),
        (2, "", "", (28, 37, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 41, 4, 16, 4, 0, 16)),
        (4, "", "", (0, 41, 4, 16, 0, 8, 16)),
        (6, "attn.c_proj", "attn.c_proj.weight", (0, 36, 4, 8, 0, 4, 16)),
        (8, "", "", (0, 44, 4, 8, 0, 0, 16)),
        (8, "attn.c_attn", "attn.c_attn.weight", (0, 28, 0, 8, 0, 12, 0)),
        (10, "", "", (0, 16, 0, 8, 0, 8, 0)),
    ),
)
T3 = Table(
    columns=("T*f", "T*h", "b*r*a", "T", "f", "h", "1"),
    kept=(0, 4, 0, 0, 0, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "ln_2.weight", "ln_2.bias", "attn.c_proj.bias", "attn.c_proj.weight", "attn.c_attn.bias", "attn.c_attn.weight", "ln_1.weight", "ln_1.bias"),
    forward=(
        ("attn.c_attn", (0, 20, 0, 0, 0, 0, 0)),
        ("", (0, 24, 4, 0, 0, 0, 16)),
        ("attn.c_proj", (0, 28, 0, 0, 0, 0, 0)),
        ("", (0, 29, 0, 0, 0, 0, 0)),
        ("mlp.c_fc", (4, 16, 0, 0, 0, 0, 0)),
        ("", (16, 16, 0, 0, 0, 0, 0)),
        ("mlp.c_proj", (4, 20, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "attn.c_attn", "", (0, 24, 0, 8, 0, 0, 0)),
        (0, "attn.c_proj", "", (0, 32, 4, 8, 0, 0, 16)),
        (0, "mlp.c_fc", "", (4, 41, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "", (20, 45, 4, 16, 0, 0, 16)),
        (0, "", "", (20, 50, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (24, 41, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (20, 41, 4, 16, 0, 4, 16)),
        (2, "", "", (28, 37, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 41, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 37, 4, 16, 4, 0, 16)),
        (4, "", "", (0, 41, 4, 16, 0, 8, 16)),
        (6, "attn.c_proj", "attn.c_proj.weight", (0, 36, 4, 8, 0, 4, 16)),
        (8, "", "", (0, 44, 4, 8, 0, 0, 16)),
        (8, "attn.c_attn", "attn.c_attn.weight", (0, 28, 0, 8, 0, 0, 0)),
        (8, "attn.c_attn", "attn.c_attn.weight", (0, 24, 0, 8, 0, 12, 0)),
        (10, "", "", (0, 16, 0, 8, 0, 8, 0)),
    ),
)
T4 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 8, 16, 0, 0, 0, 8),
    held=(0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
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
T5 = Table(
    columns=("T*h", "s*h", "s", "h*V"),
    kept=(1, 0, 8, 0),
    frame=(4, 4, 0, 0),
    input_grad=(0, 0, 0, 0),
    order=("transformer.wpe.weight", "transformer.wte.weight"),
    forward=(
        ("transformer.wte", (4, 0, 0, 0)),
        ("transformer.wpe", (4, 4, 8, 0)),
        ("", (13, 4, 8, 0)),
    ),
    backward=(
        (0, "", "", (9, 0, 8, 0)),
        (0, "transformer.wpe", "transformer.wpe.weight", (4, 4, 8, 0)),
        (1, "transformer.wte", "", (4, 0, 0, 4)),
        (1, "transformer.wte", "transformer.wte.weight", (0, 0, 0, 4)),
    ),
)
T6 = Table(
    columns=("T*h", "s*h", "s"),
    kept=(0, 0, 8),
    frame=(4, 4, 0),
    input_grad=(0, 0, 0),
    order=("transformer.wpe.weight", "transformer.wte.weight"),
    forward=(
        ("transformer.wte", (4, 0, 0)),
        ("transformer.wpe", (4, 4, 8)),
        ("", (8, 4, 8)),
    ),
    backward=(
        (0, "transformer.wpe", "transformer.wpe.weight", (4, 4, 8)),
        (1, "transformer.wte", "transformer.wte.weight", (4, 0, 0)),
    ),
)
T7 = Table(
    columns=("T*f", "T*h", "b*r*a", "T", "f", "h", "1"),
    kept=(20, 32, 4, 16, 0, 0, 16),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "ln_2.weight", "ln_2.bias", "attn.c_proj.bias", "attn.c_proj.weight", "attn.c_attn.bias", "attn.c_attn.weight", "ln_1.weight", "ln_1.bias"),
    forward=(
        ("attn.c_attn", (0, 20, 0, 8, 0, 0, 0)),
        ("attn.c_proj", (0, 28, 4, 8, 0, 0, 16)),
        ("mlp.c_fc", (4, 36, 4, 16, 0, 0, 16)),
        ("mlp.c_proj", (20, 40, 4, 16, 0, 0, 16)),
        ("", (20, 44, 4, 16, 0, 0, 16)),
    ),
    backward=(
        (0, "mlp.c_proj", "mlp.c_proj.weight", (24, 36, 4, 16, 0, 4, 16)),
        (2, "", "", (28, 36, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 40, 4, 16, 4, 0, 16)),
        (4, "", "", (0, 40, 4, 16, 0, 8, 16)),
        (6, "attn.c_proj", "attn.c_proj.weight", (0, 32, 4, 8, 0, 4, 16)),
        (8, "", "", (0, 44, 4, 8, 0, 0, 16)),
        (8, "attn.c_attn", "attn.c_attn.weight", (0, 28, 0, 8, 0, 12, 0)),
        (10, "", "", (0, 16, 0, 8, 0, 8, 0)),
    ),
)
T8 = Table(
    columns=("T*f", "T*h", "b*r*a", "T", "f", "h", "1"),
    kept=(0, 4, 0, 0, 0, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("mlp.c_proj.bias", "mlp.c_proj.weight", "mlp.c_fc.bias", "mlp.c_fc.weight", "ln_2.weight", "ln_2.bias", "attn.c_proj.bias", "attn.c_proj.weight", "attn.c_attn.bias", "attn.c_attn.weight", "ln_1.weight", "ln_1.bias"),
    forward=(
        ("attn.c_attn", (0, 20, 0, 0, 0, 0, 0)),
        ("", (0, 24, 4, 0, 0, 0, 16)),
        ("attn.c_proj", (0, 28, 0, 0, 0, 0, 0)),
        ("mlp.c_fc", (4, 16, 0, 0, 0, 0, 0)),
        ("", (16, 16, 0, 0, 0, 0, 0)),
        ("mlp.c_proj", (4, 20, 0, 0, 0, 0, 0)),
    ),
    backward=(
        (0, "attn.c_attn", "", (0, 24, 0, 8, 0, 0, 0)),
        (0, "attn.c_proj", "", (0, 32, 4, 8, 0, 0, 16)),
        (0, "mlp.c_fc", "", (4, 40, 4, 16, 0, 0, 16)),
        (0, "", "", (20, 40, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (24, 36, 4, 16, 0, 0, 16)),
        (0, "mlp.c_proj", "mlp.c_proj.weight", (20, 36, 4, 16, 0, 4, 16)),
        (2, "", "", (28, 36, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 40, 4, 16, 0, 0, 16)),
        (2, "mlp.c_fc", "mlp.c_fc.weight", (4, 36, 4, 16, 4, 0, 16)),
        (4, "", "", (0, 40, 4, 16, 0, 8, 16)),
        (6, "attn.c_proj", "attn.c_proj.weight", (0, 32, 4, 8, 0, 4, 16)),
        (8, "", "", (0, 44, 4, 8, 0, 0, 16)),
        (8, "attn.c_attn", "attn.c_attn.weight", (0, 28, 0, 8, 0, 0, 0)),
        (8, "attn.c_attn", "attn.c_attn.weight", (0, 24, 0, 8, 0, 12, 0)),
        (10, "", "", (0, 16, 0, 8, 0, 8, 0)),
    ),
)
T9 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 4),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.ln_f.weight", "transformer.ln_f.bias"),
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
T11 = Table(
    columns=("T*h", "T", "c*V", "c*h", "b", "h*V", "h", "1"),
    kept=(8, 16, 0, 0, 0, 0, 0, 4),
    held=(0, 0, 0, 0, 0, 4, 0, 0),
    input_grad=(4, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
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
    order=("transformer.ln_f.weight", "transformer.ln_f.bias"),
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
    "gpt2 flash": (T2,),
    "stem flash checkpointed": (T1,),
    "gpt2 flash checkpointed": (T3,),
    "head tied standard": (T4,),
    "stem tied": (T5,),
    "head+dropout=none standard": (T0,),
    "stem+dropout=none flash": (T6,),
    "gpt2+dropout=none flash": (T7,),
    "stem+dropout=none flash checkpointed": (T6,),
    "gpt2+dropout=none flash checkpointed": (T8,),
    "head chunked": (T9,),
    "head fused": (T10,),
    "head tied chunked": (T11,),
    "head tied fused": (T12,),
}
