"""Activations of mpt, mixed: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 6, 16, 0, 4, 8),
    input_grad=(0, 2, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.norm_f.weight"),
    forward=(
        ("lm_head", (2, 10, 8, 0, 4, 0)),
        ("", (10, 10, 24, 8, 4, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 4, 12)),
        (0, "", "", (12, 6, 8, 0, 4, 8)),
        (0, "lm_head", "lm_head.weight", (2, 8, 8, 0, 4, 8)),
        (1, "lm_head", "", (0, 10, 8, 0, 4, 8)),
        (1, "", "", (0, 12, 8, 0, 8, 8)),
    ),
)
T1 = Table(
    columns=("T*s", "s*s", "T*h", "s", "b", "a", "1"),
    kept=(1, 0, 0, 0, 0, 0, 0),
    frame=(0, 0, 0, 0, 0, 16384, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (0, 0, 2, 0, 0, 0, 0)),
        ("", (0, 0, 2, 0, 0, 16392, 16384)),
        ("", (0, 0, 2, 24, 8, 16384, 8)),
        ("", (0, 1, 2, 16, 8, 16384, 8)),
        ("", (2, 1, 2, 0, 0, 16384, 4)),
        ("", (3, 0, 2, 0, 0, 16384, 0)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (0, 0, 2, 0, 0, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(6, 36, 16, 8),
    input_grad=(0, 2, 0, 0),
    order=("ffn.down_proj.weight", "ffn.up_proj.weight", "norm_2.weight", "attn.out_proj.weight", "attn.Wqkv.weight", "norm_1.weight"),
    forward=(
        ("attn.Wqkv", (0, 18, 8, 4)),
        ("attn.out_proj", (10, 28, 8, 4)),
        ("ffn.up_proj", (6, 38, 16, 8)),
        ("ffn.down_proj", (6, 48, 16, 8)),
        ("", (6, 50, 16, 8)),
    ),
    backward=(
        (0, "ffn.down_proj", "ffn.down_proj.weight", (6, 46, 16, 8)),
        (1, "", "", (6, 46, 16, 8)),
        (1, "ffn.up_proj", "ffn.up_proj.weight", (6, 32, 16, 8)),
        (2, "ffn.up_proj", "", (6, 26, 16, 8)),
        (2, "", "", (6, 28, 16, 12)),
        (3, "attn.out_proj", "attn.out_proj.weight", (6, 18, 8, 4)),
        (4, "", "", (8, 18, 8, 4)),
        (4, "", "", (12, 14, 8, 4)),
        (4, "", "", (0, 20, 8, 4)),
        (4, "attn.Wqkv", "attn.Wqkv.weight", (0, 16, 8, 4)),
        (5, "attn.Wqkv", "", (0, 12, 8, 4)),
        (5, "", "", (0, 14, 8, 8)),
    ),
)
T3 = Table(
    columns=("T*s", "s*s", "T*h", "s", "b", "a", "1"),
    kept=(1, 0, 0, 0, 0, 16384, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (0, 0, 2, 0, 0, 0, 0)),
        ("", (0, 0, 2, 0, 0, 16392, 16384)),
        ("", (0, 0, 2, 24, 8, 16384, 8)),
        ("", (0, 1, 2, 16, 8, 16384, 8)),
        ("", (2, 1, 2, 0, 0, 16384, 4)),
        ("", (3, 0, 2, 0, 0, 16384, 0)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (0, 0, 2, 0, 0, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(0, 2, 0, 0),
    input_grad=(0, 2, 0, 0),
    order=("ffn.down_proj.weight", "ffn.up_proj.weight", "norm_2.weight", "attn.out_proj.weight", "attn.Wqkv.weight", "norm_1.weight"),
    forward=(
        ("attn.Wqkv", (2, 14, 0, 0)),
        ("", (12, 12, 0, 0)),
        ("attn.out_proj", (8, 16, 0, 0)),
        ("", (4, 18, 8, 4)),
        ("ffn.up_proj", (4, 20, 0, 0)),
        ("", (4, 26, 0, 0)),
        ("ffn.down_proj", (4, 20, 0, 0)),
    ),
    backward=(
        (0, "attn.Wqkv", "", (0, 20, 8, 4)),
        (0, "attn.out_proj", "", (10, 30, 8, 4)),
        (0, "ffn.up_proj", "", (6, 40, 16, 8)),
        (0, "ffn.down_proj", "ffn.down_proj.weight", (6, 48, 16, 8)),
        (1, "", "", (6, 48, 16, 8)),
        (1, "ffn.up_proj", "ffn.up_proj.weight", (6, 34, 16, 8)),
        (2, "ffn.up_proj", "", (6, 28, 16, 8)),
        (2, "", "", (6, 30, 16, 12)),
        (3, "attn.out_proj", "attn.out_proj.weight", (6, 20, 8, 4)),
        (4, "", "", (8, 20, 8, 4)),
        (4, "", "", (12, 16, 8, 4)),
        (4, "", "", (0, 22, 8, 4)),
        (4, "attn.Wqkv", "attn.Wqkv.weight", (0, 18, 8, 4)),
        (5, "attn.Wqkv", "", (0, 14, 8, 4)),
        (5, "", "", (0, 16, 8, 8)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 6, 16, 0, 0, 4, 8),
    held=(0, 0, 0, 0, 2, 0, 0),
    input_grad=(0, 2, 0, 0, 0, 0, 0),
    order=("transformer.norm_f.weight",),
    forward=(
        ("", (10, 10, 24, 8, 0, 4, 8)),
    ),
    backward=(
        (0, "", "", (8, 6, 16, 0, 0, 4, 12)),
        (0, "", "", (12, 6, 8, 0, 0, 4, 8)),
        (0, "", "", (2, 8, 8, 0, 2, 4, 8)),
        (0, "", "", (0, 12, 8, 0, 2, 8, 8)),
    ),
)
T6 = Table(
    columns=("T*s", "s*s", "T*h", "s", "b", "h*V", "a", "1"),
    kept=(1, 0, 0, 0, 0, 0, 0, 0),
    frame=(0, 0, 0, 0, 0, 0, 16384, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (0, 0, 2, 0, 0, 0, 0, 0)),
        ("", (0, 0, 2, 0, 0, 0, 16392, 16384)),
        ("", (0, 0, 2, 24, 8, 0, 16384, 8)),
        ("", (0, 1, 2, 16, 8, 0, 16384, 8)),
        ("", (2, 1, 2, 0, 0, 0, 16384, 4)),
        ("", (3, 0, 2, 0, 0, 0, 16384, 0)),
    ),
    backward=(
        (0, "transformer.wte", "", (0, 0, 2, 0, 0, 2, 0, 0)),
        (0, "transformer.wte", "transformer.wte.weight", (0, 0, 0, 0, 0, 2, 0, 0)),
    ),
)
TABLES = {
    "head standard": (T0,),
    "stem eager": (T1,),
    "mpt eager": (T2,),
    "stem eager checkpointed": (T3,),
    "mpt eager checkpointed": (T4,),
    "head tied standard": (T5,),
    "stem tied": (T6,),
}
