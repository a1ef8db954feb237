"""``--params``: counts, and whose shape stands in for them."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.inputs.count import SHAPES, nearest, spec_of_count
from zplan.inputs.hf import read_config
from zplan.inputs.presets import is_model_preset, load_model

CHOICES = [
    ("10M", "smollm2-135m"),
    ("135M", "smollm2-135m"),
    ("350M", "smollm2-360m"),
    ("500M", "qwen2.5-0.5b"),
    ("1.1B", "tinyllama-1.1b"),
    ("1.3B", "tinyllama-1.1b"),
    ("1.5B", "qwen2.5-1.5b"),
    ("3B", "qwen2.5-3b"),
    ("6.7b", "llama-2-7b"),
    ("7B", "llama-2-7b"),
    ("7e9", "llama-2-7b"),
    ("7_000_000_000", "llama-2-7b"),
    ("8B", "llama-3.1-8b"),
    ("13B", "llama-2-13b"),
    ("14B", "qwen2.5-14b"),
    ("24B", "mistral-small-24b"),
    ("30B", "llama-30b"),
    ("33B", "llama-30b"),
    ("34B", "yi-34b"),
    ("65B", "llama-65b"),
    ("70B", "llama-3.1-70b"),
    ("123B", "mistral-large-123b"),
    ("175B", "gpt-3"),
    ("405B", "llama-3.1-405b"),
    ("530B", "megatron-530b"),
    ("1T", "megatron-1t"),
    ("1.8T", "megatron-1t"),
    ("100T", "megatron-1t"),
]


@pytest.mark.parametrize(("text", "name"), CHOICES)
def test_whose_shape(text: str, name: str) -> None:
    assert spec_of_count(text).notes[0].startswith(f"activations use the shape of {name} (")


def test_seven_billion() -> None:
    spec = spec_of_count("7B")
    assert (spec.name, spec.params, spec.active_params) == ("7B", 7_000_000_000, 7_000_000_000)
    assert (spec.source, spec.family) == ("nearest published shape", "llama")
    assert spec.shape_params == 6_738_415_616
    assert (spec.hidden_size, spec.num_layers, spec.vocab_size, spec.max_seq_len) == (4096, 32, 32000, 4096)
    assert spec.notes == ("activations use the shape of llama-2-7b (6.74B parameters)",)
    assert spec.config_json is not None and json.loads(spec.config_json)["model_type"] == "llama"


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "1.8T",
            "activations use the shape of megatron-1t (1.01T parameters), the nearest published one; "
            "1.8T is 1.8 times larger, so they are rough",
        ),
        (
            "10M",
            "activations use the shape of smollm2-135m (134.52M parameters), the nearest published one; "
            "10M is 13 times smaller, so they are rough",
        ),
    ],
)
def test_note_says_how_far_off(text: str, note: str) -> None:
    assert spec_of_count(text).notes == (note,)


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_entry_is_what_it_says(shape: object) -> None:
    spec = read_config(shape.config, name=shape.name, source=shape.source)  # type: ignore[attr-defined]
    assert spec.params == shape.params  # type: ignore[attr-defined]
    assert not spec.num_experts and not spec.notes
    if is_model_preset(shape.name):  # type: ignore[attr-defined]
        preset = load_model(shape.name)  # type: ignore[attr-defined]
        assert (spec.pre, spec.block_kinds, spec.layers, spec.post) == (
            preset.pre,
            preset.block_kinds,
            preset.layers,
            preset.post,
        )
        assert spec.max_seq_len == preset.max_seq_len


def test_entries_without_a_preset_match_their_papers() -> None:
    # GPT-3 says 175.0B; arXiv:2104.04473 says 529.6B and 1008.0B; the Mistral repository says 123B
    papers = {"gpt-3": 175.0e9, "megatron-530b": 529.6e9, "megatron-1t": 1008.0e9, "mistral-large-123b": 123e9}
    ours = {shape.name: shape.params for shape in SHAPES if not is_model_preset(shape.name)}
    assert ours.keys() == papers.keys()
    for name, params in ours.items():
        assert abs(params / papers[name] - 1) < 0.005, name


@given(st.integers(10_000, 10**14))
def test_no_entry_is_closer(count: int) -> None:
    chosen = nearest(count)
    assert all(abs(log(count / chosen.params)) <= abs(log(count / other.params)) + 1e-12 for other in SHAPES)
    assert spec_of_count(str(count)).params == count


def test_table_is_sorted_and_named_once() -> None:
    assert [shape.params for shape in SHAPES] == sorted({shape.params for shape in SHAPES})
    assert len({shape.name for shape in SHAPES}) == len(SHAPES)


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ",
        "0",
        "0B",
        "-7B",
        "nan",
        "inf",
        "7GB",
        "7 B params",
        "1e16",
        "9999",
        "0.5",
        "B",
        "7B7",
        "1,5B",
        "7x",
        "--",
    ],
)
def test_refused(text: str) -> None:
    with pytest.raises(ZplanError) as caught:
        spec_of_count(text)
    assert caught.value.exit_code == 2 and "--params" in caught.value.hint


def test_needs_neither_yaml_nor_pydantic_and_is_quick() -> None:
    code = (
        "import sys, time\n"
        "from zplan.inputs.model import resolve_model\n"
        "resolve_model(params='7B', model=None)\n"
        "start = time.process_time()\n"
        "resolve_model(params='13B', model=None)\n"
        "print(time.process_time() - start)\n"
        "print([name for name in ('yaml', 'pydantic', 'rich', 'torch', 'huggingface_hub') if name in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, heavy = done.stdout.splitlines()
    assert heavy == "[]"
    assert float(seconds) < 0.05  # of this process alone, about 0.2 ms; the bound leaves room for a slow machine


def test_ten_thousand_lookups_are_cheap() -> None:
    start = time.process_time()
    for billions in range(1, 1000):
        nearest(billions * 10**9)
    assert time.process_time() - start < 1
