"""Where peft puts adapters: on layers, and on the stacked experts and routers of model types whose checkpoints it translates."""

from __future__ import annotations

import json
from math import prod
from random import Random
from typing import Any

import pytest

from zplan.inputs.hf import read_config
from zplan.inputs.presets import load_model
from zplan.memory.adapted import Adapter, with_adapters
from zplan.memory.params import layout
from zplan.spec import Lora
from zplan.verify.derive.families import FAMILIES

ALL = ("all-linear",)
MOE = ("mixtral", "qwen2_moe", "qwen3_moe", "deepseek_v2", "deepseek_v3")


# One block of Mixtral 8x7B, rank 16: q and o 2 x 16 (4096 + 4096), k and v 2 x 16 (4096 + 1024), router 16 (4096 + 8),
# 8 experts with gate and up in one matrix of doubled rank, 32 (4096 + 28672), and down, 16 (14336 + 4096).
def test_a_block_of_mixtral_by_hand() -> None:
    attention = 2 * 16 * 8192 + 2 * 16 * 5120
    experts = 8 * 32 * (4096 + 28672) + 8 * 16 * (14336 + 4096)
    expected = 32 * (attention + 16 * 4104 + experts)
    assert layout(load_model("mixtral-8x7b"), Lora(rank=16)).adapters == expected == 359_665_664


# Qwen1.5-MoE keeps its old names: all-linear finds attention, the shared expert and its gate, but neither router nor experts.
def test_a_block_of_qwen2_moe_by_hand() -> None:
    block = 4 * 16 * (2048 + 2048) + 3 * 16 * (2048 + 5632) + 16 * (2048 + 1)
    assert layout(load_model("qwen1.5-moe-a2.7b"), Lora(rank=16)).adapters == 24 * block


# peft and transformers warn of much that does not matter here, as of a rank pattern that names a parameter and no layer.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    ("family", "targets"),
    [
        *((family, ALL) for family in (*MOE, "llama", "gpt2", "gpt_neox", "falcon")),
        *((family, ("q_proj", "v_proj")) for family in ("mixtral", "qwen2_moe", "qwen3_moe")),
        ("mixtral", ("q_proj", "w1", "w2", "w3")),
        ("qwen3_moe", ("q_proj", "gate_proj", "up_proj")),
        ("deepseek_v3", ("o_proj", "down_proj")),
    ],
)
def test_names_and_shapes_are_what_peft_makes(family: str, targets: tuple[str, ...]) -> None:
    peft = pytest.importorskip("peft")
    import torch
    from transformers import AutoConfig

    from zplan.verify.derive.trace import build, clean

    known = FAMILIES[family]
    config: Any = {"num_hidden_layers": known.layers, **known.config(known.draw(Random(3))), **known.variants[0]}
    hf = AutoConfig.for_model(family, **config)
    spec = read_config(json.loads(hf.to_json_string(use_diff=False)), name="t", source="t")
    wanted = "all-linear" if targets == ALL else list(targets)
    lora = peft.LoraConfig(r=4, target_modules=wanted, task_type="CAUSAL_LM", init_lora_weights=False)
    model = peft.get_peft_model(build(hf, "eager", torch.bfloat16, "meta"), lora)
    made = [(clean(name), tuple(item.shape)) for name, item in model.named_parameters()]
    told = []
    for index, kind in enumerate(spec.layers):
        for item in with_adapters(spec.block_kinds[kind].weights, Lora(rank=4, targets=targets), family):
            pairs = item.matrices() if isinstance(item, Adapter) else ((item.name, item.shape),)
            told += [(f"{spec.trunk}.{index}.{name}", shape) for name, shape in pairs]
    assert [pair for pair in made if pair[0].startswith(f"{spec.trunk}.")] == told
    trained = sum(item.numel() for item in model.parameters() if item.requires_grad)
    assert trained == sum(prod(shape) for name, shape in told if ".lora_" in name)
    assert trained == layout(spec, Lora(rank=4, targets=targets)).adapters
