"""Activations of mpt, fp32: derived from transformers 5.24.0 and torch 2.13.0 by benchmarks/derive_activations.py."""

from zplan.memory.activations.table import Table

# ruff: noqa: E501
# fmt: off
T0 = Table(
    columns=("T*V", "T*h", "T", "b", "h", "1"),
    kept=(4, 8, 16, 0, 0, 8),
    input_grad=(0, 4, 0, 0, 0, 0),
    order=("lm_head.weight", "transformer.norm_f.weight"),
    forward=(
        ("lm_head", (4, 8, 8, 0, 0, 0)),
        ("", (8, 8, 24, 8, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 8, 16, 0, 0, 12)),
        (0, "", "", (12, 8, 8, 0, 0, 8)),
        (0, "lm_head", "lm_head.weight", (4, 12, 8, 0, 0, 8)),
        (1, "", "", (0, 12, 8, 0, 4, 8)),
    ),
)
T1 = Table(
    columns=("T*s", "s*s", "T*h", "s", "b", "a", "1"),
    kept=(1, 0, 0, 0, 0, 0, 0),
    frame=(0, 0, 0, 0, 0, 16384, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (0, 0, 4, 0, 0, 0, 0)),
        ("", (0, 0, 4, 0, 0, 16392, 16384)),
        ("", (0, 0, 4, 24, 8, 16384, 8)),
        ("", (0, 1, 4, 16, 8, 16384, 8)),
        ("", (4, 1, 4, 0, 0, 16384, 8)),
        ("", (5, 0, 4, 0, 0, 16384, 0)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (0, 0, 4, 0, 0, 0, 0)),
    ),
)
T2 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(4, 64, 16, 0),
    input_grad=(0, 4, 0, 0),
    order=("ffn.down_proj.weight", "ffn.up_proj.weight", "norm_2.weight", "attn.out_proj.weight", "attn.Wqkv.weight", "norm_1.weight"),
    forward=(
        ("attn.Wqkv", (0, 20, 8, 0)),
        ("attn.out_proj", (8, 40, 8, 0)),
        ("ffn.up_proj", (4, 52, 16, 0)),
        ("ffn.down_proj", (4, 72, 16, 0)),
        ("", (4, 76, 16, 0)),
    ),
    backward=(
        (0, "ffn.down_proj", "ffn.down_proj.weight", (4, 84, 16, 0)),
        (1, "", "", (4, 84, 16, 0)),
        (1, "ffn.up_proj", "ffn.up_proj.weight", (4, 56, 16, 0)),
        (2, "", "", (4, 40, 16, 4)),
        (3, "attn.out_proj", "attn.out_proj.weight", (4, 32, 8, 0)),
        (4, "", "", (8, 32, 8, 0)),
        (4, "", "", (12, 24, 8, 0)),
        (4, "", "", (0, 36, 8, 0)),
        (4, "attn.Wqkv", "attn.Wqkv.weight", (0, 28, 8, 0)),
        (5, "", "", (0, 16, 8, 4)),
    ),
)
T3 = Table(
    columns=("T*s", "s*s", "T*h", "s", "b", "a", "1"),
    kept=(1, 0, 0, 0, 0, 16384, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (0, 0, 4, 0, 0, 0, 0)),
        ("", (0, 0, 4, 0, 0, 16392, 16384)),
        ("", (0, 0, 4, 24, 8, 16384, 8)),
        ("", (0, 1, 4, 16, 8, 16384, 8)),
        ("", (4, 1, 4, 0, 0, 16384, 8)),
        ("", (5, 0, 4, 0, 0, 16384, 0)),
    ),
    backward=(
        (0, "transformer.wte", "transformer.wte.weight", (0, 0, 4, 0, 0, 0, 0)),
    ),
)
T4 = Table(
    columns=("T*s*a", "T*h", "T", "h"),
    kept=(0, 4, 0, 0),
    input_grad=(0, 4, 0, 0),
    order=("ffn.down_proj.weight", "ffn.up_proj.weight", "norm_2.weight", "attn.out_proj.weight", "attn.Wqkv.weight", "norm_1.weight"),
    forward=(
        ("attn.Wqkv", (4, 20, 0, 0)),
        ("attn.out_proj", (12, 28, 0, 0)),
        ("ffn.up_proj", (8, 32, 0, 0)),
        ("", (8, 48, 0, 0)),
        ("ffn.down_proj", (8, 36, 0, 0)),
    ),
    backward=(
        (0, "attn.Wqkv", "", (0, 24, 8, 0)),
        (0, "attn.out_proj", "", (8, 44, 8, 0)),
        (0, "ffn.up_proj", "", (4, 56, 16, 0)),
        (0, "ffn.down_proj", "ffn.down_proj.weight", (4, 84, 16, 0)),
        (1, "", "", (4, 84, 16, 0)),
        (1, "ffn.up_proj", "ffn.up_proj.weight", (4, 56, 16, 0)),
        (2, "", "", (4, 40, 16, 4)),
        (3, "attn.out_proj", "attn.out_proj.weight", (4, 32, 8, 0)),
        (4, "", "", (8, 32, 8, 0)),
        (4, "", "", (12, 24, 8, 0)),
        (4, "", "", (0, 36, 8, 0)),
        (4, "attn.Wqkv", "attn.Wqkv.weight", (0, 28, 8, 0)),
        (5, "", "", (0, 16, 8, 4)),
    ),
)
T5 = Table(
    columns=("T*V", "T*h", "T", "b", "h*V", "h", "1"),
    kept=(4, 8, 16, 0, 0, 0, 8),
    held=(0, 0, 0, 0, 4, 0, 0),
    input_grad=(0, 4, 0, 0, 0, 0, 0),
    order=("transformer.norm_f.weight",),
    forward=(
        ("", (8, 8, 24, 8, 0, 0, 8)),
    ),
    backward=(
        (0, "", "", (8, 8, 16, 0, 0, 0, 12)),
        (0, "", "", (12, 8, 8, 0, 0, 0, 8)),
        (0, "", "", (4, 12, 8, 0, 4, 0, 8)),
        (0, "", "", (0, 12, 8, 0, 4, 4, 8)),
    ),
)
T6 = Table(
    columns=("T*s", "s*s", "T*h", "s", "b", "h*V", "a", "1"),
    kept=(1, 0, 0, 0, 0, 0, 0, 0),
    frame=(0, 0, 0, 0, 0, 0, 16384, 0),
    input_grad=(0, 0, 0, 0, 0, 0, 0, 0),
    order=("transformer.wte.weight",),
    forward=(
        ("transformer.wte", (0, 0, 4, 0, 0, 0, 0, 0)),
        ("", (0, 0, 4, 0, 0, 0, 16392, 16384)),
        ("", (0, 0, 4, 24, 8, 0, 16384, 8)),
        ("", (0, 1, 4, 16, 8, 0, 16384, 8)),
        ("", (4, 1, 4, 0, 0, 0, 16384, 8)),
        ("", (5, 0, 4, 0, 0, 0, 16384, 0)),
    ),
    backward=(
        (0, "transformer.wte", "", (0, 0, 4, 0, 0, 4, 0, 0)),
        (0, "transformer.wte", "transformer.wte.weight", (0, 0, 0, 0, 0, 4, 0, 0)),
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
