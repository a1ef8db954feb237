"""Activation tables on disk: the file's form, what is read of it, and that no way of running a known family is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from random import Random
from typing import Any

import pytest

from zplan.errors import ZplanError
from zplan.inputs.hf import FAMILIES as READ
from zplan.inputs.hf import read_config
from zplan.memory.activations import block_memory, head_memory, stem_memory
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.find import module_of, tables_of, way_key
from zplan.memory.activations.store import FOLDER, Stored, file_text, section
from zplan.memory.activations.table import Table
from zplan.memory.attention import kernel
from zplan.memory.estimate import estimate
from zplan.spec import Attention, BlockSpec, Loss, ModelSpec
from zplan.verify.derive.families import FAMILIES

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "benchmarks"))

from cases import case_to_plan

ONE = Table(
    columns=("T*h", "T", "1"),
    kept=(4, 0, 8),
    input_grad=(2, 0, 0),
    order=("up.weight", "down.weight"),
    forward=(("up", (0, 2, 0)), ("", (4, 2, 8))),
    backward=((0, "up", "up.weight", (6, 0, 0)), (1, "", "", (2, 0, 0)), (2, "down", "", (0, 0, 1))),
    cache=(0, 0, 16),
)
FROZEN = Table(columns=("T",), kept=(0,), input_grad=(0,), order=(), forward=(("", (1,)),), backward=())


def test_a_file_gives_back_what_was_written() -> None:
    sections = {"cast": {"x flash": [ONE], "x eager": [FROZEN, ONE]}, "fp32_lora": {"stem flash": (FROZEN,)}}
    text = file_text("Activations of x.", sections)
    found = Stored(text)
    for name, tables in sections.items():
        assert {key: list(values) for key, values in found.shelf(name).items()} == {
            k: list(v) for k, v in tables.items()
        }
    assert text.count("\nT\t") == 2, "equal tables are written once"
    assert text.splitlines()[0] == "# Activations of x."


def test_rows_are_short_where_they_are_zero() -> None:
    # kept 4, 0, 8; input_grad 2 0 0 -> "2"; no frame, the cache 0 0 16, nothing held.
    line = file_text("", {"cast": {"x": [ONE]}}).splitlines()[-1]
    assert line.split("\t")[3:8] == ["4,,8", "2", "", ",,16", ""]


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.txt")), ids=lambda path: path.stem)
def test_every_file_says_what_it_was_derived_from(path: object) -> None:
    text = FOLDER.joinpath(str(path)).read_text(encoding="utf-8")
    first = text.splitlines()[0]
    assert first.startswith("# Activations of ") and "transformers 5.24" in first and "torch 2.13" in first
    found = Stored(text)
    assert {section(ComputeMode.CAST, False), section(ComputeMode.CAST, True)} <= set(found.sections)
    for name in found.sections:
        assert all(tables for tables in found.shelf(name).values())


def test_a_plan_reads_its_own_lines_alone() -> None:
    code = (
        "import sys\n"
        "from zplan.memory.activations import store\n"
        "from zplan.inputs.presets import load_model\n"
        "from zplan.memory.estimate import estimate\n"
        "from zplan.spec import ClusterSpec, Job, Plan\n"
        "estimate(Plan(model=load_model('llama-2-7b'), cluster=ClusterSpec(gpus=8, nodes=1), job=Job(stage=2)))\n"
        "assert store.stored.cache_info().currsize == 1\n"
        "print(len(store.stored('llama')._read), len(store.stored('llama')._lines))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    read, there = map(int, done.stdout.split())
    # Stem, head, and the block with its variants of biases.
    assert read <= 5 < there


def _spec(model_type: str, variant: int) -> ModelSpec:
    family = FAMILIES[model_type]
    config = {"model_type": model_type, "num_hidden_layers": family.layers, **family.config(family.draw(Random(5)))}
    return read_config(json.loads(json.dumps({**config, **family.variants[variant]})), name="t", source="t")


def test_every_family_that_is_read_has_tables() -> None:
    assert set(READ) == set(FAMILIES)
    without = {name for name, refused in NOT_DERIVED.items() if refused == EVERYTHING and name.startswith("cohere2")}
    assert {module_of(name) for name in (*FAMILIES,)} - {module_of(name) for name in without} == {
        path.stem for path in FOLDER.glob("*.txt")
    }


MODES = (ComputeMode.CAST, ComputeMode.AUTOCAST, ComputeMode.MIXED, ComputeMode.FP32)
EVERYTHING = tuple(
    f"{section(mode, lora)} {kernel.value}" for mode in MODES for lora in (False, True) for kernel in Attention
)
NOT_DERIVED: dict[str, tuple[str, ...]] = {
    "cohere2:local": EVERYTHING,
    "deepseek_v2:dense": (
        "autocast_lora eager",
        "autocast_lora flash",
        "autocast_lora math",
        "autocast_lora sdpa",
        "mixed_lora eager",
    ),
    "deepseek_v3:dense": (
        "autocast_lora eager",
        "autocast_lora flash",
        "autocast_lora math",
        "autocast_lora sdpa",
        "mixed_lora eager",
    ),
    "glm": ("autocast_lora eager",),
    "gptj": ("autocast_lora eager", "mixed_lora eager"),
    "mixtral": (
        "autocast_lora eager",
        "autocast_lora flash",
        "autocast_lora math",
        "autocast_lora sdpa",
        "cast_lora sdpa",
        "fp32_lora sdpa",
        "mixed_lora eager",
        "mixed_lora sdpa",
    ),
    "olmo": ("autocast_lora eager",),
    "qwen2_moe:moe": (
        "autocast sdpa",
        "autocast_lora eager",
        "autocast_lora flash",
        "autocast_lora math",
        "autocast_lora sdpa",
        "cast_lora sdpa",
        "fp32_lora sdpa",
        "mixed_lora eager",
        "mixed_lora sdpa",
    ),
    "qwen3_moe:moe": (
        "autocast sdpa",
        "autocast_lora eager",
        "autocast_lora flash",
        "autocast_lora math",
        "autocast_lora sdpa",
        "cast_lora sdpa",
        "fp32_lora sdpa",
        "mixed_lora eager",
        "mixed_lora sdpa",
    ),
    "smollm3": ("autocast_lora eager", "autocast_lora sdpa", "fp32_lora sdpa", "mixed_lora sdpa"),
}
"""Ways that are refused, by family: section and kernel. To be emptied."""


def asked_for(attention: Attention, block: BlockSpec) -> Attention:
    """The kernel itself, but where code that always has a mask never comes to the math kernel."""
    return kernel(attention, block, 64) if attention is Attention.MATH else attention


def _answers(spec: ModelSpec, mode: ComputeMode, lora: int, attention: Attention) -> bool:
    common = {"micro_batch": 1, "seq_len": 64, "mode": mode, "lora": lora}
    try:
        for checkpointed in (False, True):
            way = {"checkpointed": checkpointed, **common}
            ran = [(block, asked_for(attention, block)) for block in spec.block_kinds]
            assert all(block_memory(block, attention=kind, **way).backward for block, kind in ran)
            assert stem_memory(spec, attention=ran[0][1], **way).forward
        assert all(head_memory(spec, loss=loss, **common).backward for loss in Loss)
    except ZplanError:
        return False
    return True


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("model_type", sorted(FAMILIES))
def test_no_way_of_running_a_family_is_refused(model_type: str, mode: ComputeMode) -> None:
    for variant in range(len(FAMILIES[model_type].variants)):
        spec = _spec(model_type, variant)
        for lora in (0, 16):
            for attention in Attention:
                way = f"{section(mode, bool(lora))} {attention.value}"
                refused = NOT_DERIVED.get(spec.block_kinds[0].implementation, ())
                assert _answers(spec, mode, lora, attention) is (way not in refused), way


def test_sdpa_has_tables_of_its_own_where_code_has_windows() -> None:
    for model_type, family in FAMILIES.items():
        if not (FOLDER / f"{module_of(model_type)}.txt").is_file():
            continue
        masks = Attention.SDPA in family.attentions
        own = family.attentions == (Attention.EAGER,)
        expected = Attention.SDPA if masks else Attention.EAGER if own else Attention.FLASH
        tables = tables_of(module_of(model_type), ComputeMode.CAST)
        assert way_key(Attention.SDPA, False, tables) == expected.value
        assert f"stem {expected.value}" in tables


def test_what_is_missing_is_said_with_its_reason() -> None:
    block = _spec("llama", 0).block_kinds[0]
    with pytest.raises(ZplanError, match="no activation tables for other with adapters in cast mode") as caught:
        block_memory(
            type(block)(implementation="other", weights=block.weights, dims=block.dims),
            micro_batch=1,
            seq_len=8,
            attention=Attention.FLASH,
            mode=ComputeMode.CAST,
            lora=8,
        )
    assert "zplan verify --launch dryrun" in caught.value.hint


ROWS = [
    json.loads(line)
    for line in (Path(__file__).resolve().parents[1] / "benchmarks/data/tables.jsonl").read_text().splitlines()
]


def _named(row: dict[str, Any]) -> str:
    case = row["case"]
    words = (
        case["model"]["model_type"],
        case["engine"],
        case.get("precision"),
        case.get("attention"),
        case.get("loss"),
    )
    return "-".join(word for word in (*words, "lora" if case.get("lora") else "") if word)


# Dry runs of small models, each kind of table at least twice: attention, precision, adapters, experts, losses. What is off is
# adapters' first block, which needs no gradient of its input and keeps less than the others, and the instant at which DeepSpeed
# makes its bucket, which outweighs small models.
@pytest.mark.parametrize("row", ROWS, ids=_named)
def test_peaks_are_those_of_dry_runs(row: dict[str, Any]) -> None:
    answer, measured = estimate(case_to_plan(row["case"])), row["result"]
    assert answer.allocated_peak_bytes == pytest.approx(measured["peak"], rel=1e-2)
    for phase in ("init", "step"):
        assert answer.phases[phase] == pytest.approx(measured[phase], rel=1e-2)
    for phase in ("forward", "backward"):
        assert answer.phases[phase] == pytest.approx(measured[phase], rel=2e-2)
