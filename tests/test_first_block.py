"""What a frozen embedding spares the first block, against what the model code kept when it was run."""

from __future__ import annotations

import json
from random import Random

import pytest

from zplan.inputs.hf import read_config
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.first import first_block_saving
from zplan.spec import BlockSpec, Lora
from zplan.verify.derive.families import FAMILIES

CAST, WIDE, MIXED, AUTOCAST, FP32 = (
    ComputeMode.CAST,
    ComputeMode.WIDE,
    ComputeMode.MIXED,
    ComputeMode.AUTOCAST,
    ComputeMode.FP32,
)


def _block(model_type: str) -> tuple[BlockSpec, dict[str, int]]:
    family = FAMILIES[model_type]
    dims = family.draw(Random(7))
    config = {"model_type": model_type, "num_hidden_layers": family.layers, **family.config(dims), **family.variants[0]}
    return read_config(json.loads(json.dumps(config)), name="t", source="t").block_kinds[0], dims


# (family, mode, bytes per T h, per T, per R h, per element of the weights that read the norm): kept by the second block and not by
# the first of three, in runs of transformers 5.24 and peft 0.21 without data at four sets of dimensions.
TRACED = [
    ("llama", CAST, 4, 4, 0, 0),
    ("llama", WIDE, 6, 4, 0, 0),
    ("llama", MIXED, 4, 4, 6, 0),
    ("llama", AUTOCAST, 4, 4, 6, 2),
    ("llama", FP32, 4, 4, 0, 0),
    ("gpt2", CAST, 2, 8, 0, 0),
    ("gpt2", WIDE, 2, 8, 0, 0),
    ("gpt2", MIXED, 4, 8, 2, 0),
    ("gpt2", AUTOCAST, 4, 8, 2, 2),
    ("gpt2", FP32, 4, 8, 0, 0),
    ("falcon", CAST, 2, 8, 0, 0),
    ("falcon", WIDE, 2, 8, 0, 0),
    ("falcon", MIXED, 4, 8, 4, 0),
    ("falcon", AUTOCAST, 4, 8, 4, 2),
    ("falcon", FP32, 4, 8, 0, 0),
]
READERS = {
    "llama": ("q_proj.weight", "k_proj.weight", "v_proj.weight"),
    "gpt2": ("c_attn.weight",),
    # Attention and MLP read the same norm.
    "falcon": ("query_key_value.weight", "dense_h_to_4h.weight"),
}


@pytest.mark.parametrize(("model_type", "mode", "hidden", "token", "rank", "copies"), TRACED)
def test_what_the_first_block_does_not_keep(
    model_type: str, mode: ComputeMode, hidden: int, token: int, rank: int, copies: int
) -> None:
    block, dims = _block(model_type)
    read = sum(weight.numel for weight in block.weights if weight.name.endswith(READERS[model_type]))
    found = first_block_saving(block, Lora(rank=8), mode)
    assert found == (hidden * dims["h"] + token, rank * 8 * dims["h"] + copies * read)


def test_a_block_without_a_norm_before_attention_keeps_its_input_for_its_adapters() -> None:
    assert first_block_saving(_block("olmo2")[0], Lora(rank=8), CAST) == (0, 0)
