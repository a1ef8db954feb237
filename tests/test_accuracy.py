"""The estimate against the kept dry runs of the standard grid, and a few of them run again to catch drift."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from warm import needs

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "benchmarks"))

from accuracy import STANDARD_GRID, percentile, predict, read_rows, score, summary  # noqa: E402
from cases import case_to_plan, checkpointing_of, draw_cases, run_case  # noqa: E402

ROWS = read_rows(STANDARD_GRID)


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return score(ROWS)


def test_the_grid_is_large_and_answered(report: dict[str, Any]) -> None:
    assert report["cases"] >= 440
    assert report["answered"] >= 0.98 * report["cases"]


# Medians are what the model reaches where nothing is approximated; the approximations are listed in docs/accuracy.md.
@pytest.mark.parametrize("figure", ["init", "forward", "backward", "step", "steady"])
def test_every_phase_s_median_is_exact_to_a_thousandth(report: dict[str, Any], figure: str) -> None:
    assert report["phases"][figure]["median"] < 1e-3


def test_the_peak_as_far_as_it_has_come(report: dict[str, Any]) -> None:
    assert report["peak"]["median"] < 1e-6
    assert report["peak"]["p95"] < 2e-4
    assert report["peak"]["max"] < 0.01
    assert report["peak"]["bias"] > -1e-6


APART = ("fresh.jsonl", "fresh2.jsonl", "fresh3.jsonl", "old_cards.jsonl")


@pytest.mark.parametrize("name", ["grid.jsonl", *APART])
def test_no_plan_is_predicted_too_small(name: str) -> None:
    # Lowest when written: -0.08 %; one plan was at -3.6 % before recomputed weights counted at the hand-over.
    rows = [row for row in read_rows(STANDARD_GRID.with_name(name)) if "error" not in row["result"]]
    assert min(predict(row["case"])["peak"] / row["result"]["peak"] - 1 for row in rows) > -1e-3


@pytest.mark.parametrize("name", APART)
def test_plans_of_a_seed_kept_apart(name: str) -> None:
    report = score(read_rows(STANDARD_GRID.with_name(name)))
    assert report["cases"] >= 50
    assert report["answered"] >= 0.9 * report["cases"]
    assert report["peak"]["median"] < 1e-6
    # The math kernel's mask counts over the whole interval at a hand-over: 4 s^2 bytes; one shared head that a mask needs
    # repeated is a view, and counts as copies (0.78 % of Gemma 3 1B).
    assert report["peak"]["p95"] < (2e-3 if name == "old_cards.jsonl" else 1e-3)
    assert report["peak"]["max"] < (0.01 if name == "old_cards.jsonl" else 0.02)


def test_host_bytes(report: dict[str, Any]) -> None:
    assert report["host"]["n"] > 20
    assert report["host"]["p95"] < 1e-3
    assert report["host_peak"]["p95"] < 1e-3


MENDED = [
    # A float64 copy of a host-bound partition for its norm (stage3.py, _constant_buffered_norm2): 8.2 % too little without it.
    ({"model": "gpt2", "engine": "deepspeed", "stage": 3, "offload": "optimizer", "world": 1}, -1e-4, 1e-4),
    # A loop variable names the root's last gradient during its reduce-scatter (foreach_reduce): 1.3 % too little.
    ({"model": "mistral", "engine": "fsdp2", "stage": 2, "world": 2, "seq_len": 512}, -1e-4, 1e-4),
    # fp32 adapters on a 16-bit base under autocast keep fp32 copies of their inputs: 4.8 and 2.2 % too little.
    ({"model": "glm4", "engine": "ddp", "lora": 16, "checkpointing": "every-2"}, -1e-4, 1e-4),
    ({"model": "falcon", "engine": "single", "lora": 8, "checkpointing": "every-2"}, -1e-4, 1e-4),
    # fp32 adapters of a checkpointed block cast their input in forward, too (peft, _cast_input_dtype): 6.3 % too little there.
    ({"model": "opt", "engine": "deepspeed", "stage": 3, "lora": 8, "figure": "forward"}, -1e-3, 1e-3),
    # The tied head is made whole before it is tied under zero.Init: 27.6 % too little with a small bucket.
    ({"model": "opt", "engine": "deepspeed", "stage": 3, "lora": 8, "figure": "init"}, -1e-4, 1e-4),
    # Views of weights that autograd saved outlive stage 3's release of them: 3.1 % too little, then up to 1.8 % too much.
    ({"model": "falcon", "engine": "deepspeed", "stage": 3, "world": 64, "checkpointing": "every-2"}, -1e-4, 1e-4),
    ({"model": "falcon", "engine": "deepspeed", "stage": 3, "world": 64, "checkpointing": "full"}, -1e-4, 1e-4),
    # Modules without weights prefetch, too; the loss comes after the head is released: 4.7 % too much.
    ({"model": "phi3", "engine": "deepspeed", "stage": 3, "world": 64, "figure": "forward"}, -1e-4, 1e-4),
    # Stage 3's F.linear hands over a gradient that autograd can add to in place: 6.4 % too much.
    ({"model": "gemma3_text", "engine": "deepspeed", "stage": 3, "world": 8, "figure": "backward"}, -1e-4, 2e-3),
    # A mixture of experts is gathered as a whole and let go as a whole: 2.9 % too little, and 4.2 % too much.
    (
        {"model": "qwen3_moe", "engine": "deepspeed", "stage": 3, "offload": "all", "world": 256, "seq_len": 512},
        -1e-4,
        1e-3,
    ),
    ({"model": "qwen3_moe", "engine": "deepspeed", "stage": 3, "world": 256, "rank": 255}, -1e-4, 2e-3),
    # The first block's norm keeps nothing where the embedding is frozen: 0.1 and 0.08 % too much.
    ({"model": "gpt_neox", "engine": "deepspeed", "stage": 2, "lora": 64, "checkpointing": "none"}, -1e-4, 1e-4),
    ({"model": "gemma", "engine": "fsdp2", "stage": 3, "lora": 16, "checkpointing": "none"}, -1e-4, 1e-4),
    # Frozen weights that a recomputation gathered go with the module that made it run again: 2.6 % too little.
    ({"model": "opt", "engine": "deepspeed", "stage": 3, "lora": 8}, -1e-4, 1e-4),
]


@pytest.mark.parametrize(
    ("marks", "low", "high"), MENDED, ids=lambda mark: mark.get("model") if isinstance(mark, dict) else ""
)
def test_plans_that_were_missed_once(marks: dict[str, Any], low: float, high: float) -> None:
    figure = marks.get("figure", "peak")

    def fits(case: dict[str, Any]) -> bool:
        flat = {**case, "model": case["model"]["model_type"], "figure": figure}
        return all(flat.get(key) == value for key, value in marks.items())

    found = [row for row in ROWS if fits(row["case"]) and "error" not in row["result"]]
    assert found
    for row in found:
        assert low < predict(row["case"])[figure] / row["result"][figure] - 1 < high


def _small(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Quick rows, one per engine and stage."""
    chosen: dict[tuple[str, int], dict[str, Any]] = {}
    for row in sorted((row for row in rows if "error" not in row["result"]), key=lambda row: row["result"]["seconds"]):
        chosen.setdefault((row["case"]["engine"], row["case"]["stage"]), row)
    return list(chosen.values())[:3]


@pytest.mark.slow
@pytest.mark.parametrize("row", _small(ROWS), ids=lambda row: f"{row['case']['engine']}-{row['case']['stage']}")
def test_a_dry_run_says_what_it_said(row: dict[str, Any]) -> None:
    needs("deepspeed")
    again = run_case(row["case"])
    kept = row["result"]
    for key in ("init", "forward", "backward", "step", "steady"):
        assert again[key] == pytest.approx(kept[key], rel=1e-4), key


def test_a_grid_is_the_same_for_the_same_seed() -> None:
    first = [json.dumps(case) for case in draw_cases(5, 20)]
    assert first == [json.dumps(case) for case in draw_cases(5, 20)]
    assert first != [json.dumps(case) for case in draw_cases(6, 20)]


@pytest.mark.parametrize(
    ("word", "kind", "every"),
    [(True, "full", 1), (False, "none", 1), (None, "none", 1), ("every-3", "every-k", 3), ("full", "full", 1)],
)
def test_checkpointing_is_read_in_every_spelling(word: object, kind: str, every: int) -> None:
    found = checkpointing_of(word)
    assert (found.kind, found.every) == (kind, every)


def test_a_case_may_carry_engine_options_by_their_config_names() -> None:
    model = {
        "model_type": "llama",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
    }
    case = {
        "engine": "deepspeed", "stage": 3, "world": 16, "model": {**model, "vocab_size": 100, "num_key_value_heads": 2},
        "zero": {"stage3_max_live_parameters": 1e8, "offload_optimizer": {"ratio": 0.5}, "zero_hpz_partition_size": 8},
    }  # fmt: skip
    job = case_to_plan(case).job
    assert (job.deepspeed.max_live_parameters, job.deepspeed.offload_ratio, job.hpz) == (100_000_000, 0.5, 8)


# Nearest rank: of 1..20 the 95th percentile is the 19th, the median of |errors| 0.1, 0.2, 0.3 is 0.2.
def test_statistics() -> None:
    assert percentile([float(n) for n in range(1, 21)], 0.95) == 19.0
    found = summary([-0.1, 0.2, 0.3])
    assert (found["median"], found["max"], found["bias"]) == (0.2, 0.3, 0.2)
    assert summary([])["median"] is None
