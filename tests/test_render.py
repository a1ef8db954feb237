"""Views of hand-made estimates: legible on narrow, wide, colourless and ASCII consoles, and JSON as promised."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from io import StringIO
from typing import NamedTuple

import pytest
from handmade import an_estimate
from rich.console import Console

from zplan.memory.moments import Estimate, Moment
from zplan.memory.summary import (
    GROUPS,
    device_base_bytes,
    free_bytes,
    overall_verdict,
    peak_groups,
    plan_label,
    short_label,
)
from zplan.render.breakdown import render_plan
from zplan.render.explanation import render_explanations
from zplan.render.jsonout import dumps, estimate_object
from zplan.render.style import Style
from zplan.render.text import render_comparison
from zplan.spec import Engine, Job, Offload, OffloadTo
from zplan.units import GIB, Unit

ASSUMED = ("micro-batch 1 (--micro-batch)", "flash attention (--attention)")
STAGES = [
    an_estimate(stage=0, peak_gib=120, verdict="oom", because="backward needs more than the card has"),
    an_estimate(stage=1, peak_gib=90, verdict="oom"),
    an_estimate(stage=2, peak_gib=76, verdict="tight"),
    an_estimate(stage=2, offload=Offload.OPTIMIZER),
    an_estimate(stage=3, peak_gib=31),
    an_estimate(stage=3, peak_gib=32, offload=Offload.OPTIMIZER),
    an_estimate(stage=3, peak_gib=33, offload=Offload.ALL),
]


class Term(NamedTuple):
    """Stands in for an explanation."""

    key: str
    bytes: int
    formula: str
    with_numbers: str
    source: str
    how_to_shrink: str


TERMS = [Term("params", 13 * GIB, "2 * P", "2 * 7e9", "arXiv:1910.02054", "--stage 3")]


class _Ascii(StringIO):
    encoding = "ascii"  # type: ignore[assignment]


def _drawn(estimates: list[Estimate], width: int = 80, *, unit: Unit = Unit.GIB, ascii_only: bool = False) -> str:
    file = _Ascii() if ascii_only else StringIO()
    console = Console(file=file, width=width, highlight=False, markup=False)
    if len(estimates) == 1:
        render_plan(console, estimates[0], ASSUMED, unit=unit)
    else:
        render_comparison(console, estimates, ASSUMED, unit=unit)
    return file.getvalue()


@pytest.mark.parametrize("estimates", [STAGES, STAGES[3:4]], ids=["side by side", "one plan"])
@pytest.mark.parametrize("width", [60, 72, 80, 120, 200])
def test_nothing_is_cut_off_at_any_width(estimates: list[Estimate], width: int) -> None:
    text = _drawn(estimates, width)
    assert "…" not in text
    assert max(len(line) for line in text.splitlines()) <= width
    for estimate in estimates:
        assert f"{estimate.allocated_peak_bytes / GIB:.2f}" in text
        assert f"{estimate.runtime.device_expected_bytes / GIB:.2f}" in text


def test_seven_plans_share_one_table_at_80_columns_and_wrap_below() -> None:
    assert _drawn(STAGES, 80).count("model states (ZeRO)") == 1
    assert _drawn(STAGES, 60).count("model states (ZeRO)") == 2


def test_verdict_comes_first_in_words_and_glyphs() -> None:
    first = " ".join(_drawn(STAGES, 200).splitlines()[0].split())
    assert first == ("✓ Fits: stage 2+opt, 3, 3+opt and 3+all. ! Tight: stage 2. ✗ Out of memory: stage 0 and 1.")


def test_the_reason_and_every_assumption_are_printed() -> None:
    text = " ".join(_drawn(STAGES).split())
    assert "+opt: optimizer states and step on the host; +all: parameters too" in text
    assert "stage 0: backward needs more than the card has" in text
    for assumption in ASSUMED:
        assert assumption in text


def test_nothing_fits_is_said() -> None:
    assert _drawn(STAGES[:2]).startswith("Nothing fits. ✗ Out of memory: stage 0 and 1.")


def test_without_a_capacity_there_is_no_verdict() -> None:
    unknown = an_estimate(capacity_gib=None, verdict=None)
    assert "No verdict" in _drawn([unknown, unknown])
    assert "no verdict" in _drawn([unknown])
    assert "%" not in _drawn([unknown, unknown])


def test_a_plan_names_its_numbers() -> None:
    text = _drawn(STAGES[3:4])
    assert text.startswith("✓ FITS  stage 2 + optimizer offload · 32.00 GiB of 80 GiB · 48.00 GiB free")
    # 13 GiB of 80 GiB, in the cells that 80 columns leave
    bar = next(line for line in text.splitlines() if line.startswith("parameters")).partition("13.00  ")[2]
    assert bar.endswith("│")
    assert bar.count("█") == (len(bar) - 1) * 13 // 80
    for phase, size in (("init", "13.00"), ("forward", "20.00"), ("backward", "30.00"), ("step", "18.00")):
        assert re.search(rf"^{phase} +{size}$", text, re.MULTILINE)
    assert re.search(r"^steady \(between steps\) +16.00$", text, re.MULTILINE)
    assert re.search(r"^device +31.00 +32.00 +33.00$", text, re.MULTILINE)
    assert "Rank 7 holds most: 31.00 GiB" in text
    assert re.search(r"^RAM per node +128.00$", text, re.MULTILINE)


def test_too_much_is_said_and_drawn() -> None:
    text = _drawn(STAGES[:1])
    assert text.startswith("✗ OUT OF MEMORY  stage 0 · 122.00 GiB of 80 GiB · 42.00 GiB too much")
    assert "█»" in text


def test_init_is_shown_where_it_is_larger_than_the_step() -> None:
    assert "peak of init" not in _drawn(STAGES)
    heavy = replace(STAGES[0], phases={**STAGES[0].phases, "init": 150 * GIB})
    assert re.search(r"^peak of init +150.00 +13.00$", _drawn([heavy, STAGES[1]]), re.MULTILINE)


def test_gb_is_ten_to_the_ninth() -> None:
    text = _drawn(STAGES, unit=Unit.GB)
    assert "GB per GPU" in text and "GiB" not in text
    assert re.search(r"model states \(ZeRO\) +26.25", text)  # 14 + 1.75 + 10.5


@pytest.mark.parametrize("estimates", [STAGES, STAGES[:1]], ids=["side by side", "one plan"])
def test_an_ascii_console_gets_ascii(estimates: list[Estimate]) -> None:
    text = _drawn(estimates, ascii_only=True)
    assert text.isascii()
    assert "x oom" in text or "x OUT OF MEMORY" in text


def test_colour_is_never_the_only_sign() -> None:
    plain = _drawn(STAGES)
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system="truecolor", highlight=False)
    render_comparison(console, STAGES, ASSUMED)
    coloured = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[" in coloured and "\x1b[" not in plain
    assert re.sub(r"\x1b\[[0-9;]*m", "", coloured) == plain


def test_explanations_show_formula_numbers_and_source() -> None:
    file = StringIO()
    render_explanations(Console(file=file, width=80, highlight=False), STAGES[2], TERMS, {"P": 7_000_000_000})  # type: ignore[arg-type]
    text = file.getvalue()
    for words in (
        "P = 7,000,000,000",
        "CUDA context (cuda_context)  1.00 GiB, beyond allocated",
        "0.50 GiB to 1.00 GiB",
        "stage 2, at its peak (backward: loss)",
        "parameters (params)",
        "13.00 GiB",
        *TERMS[0][2:],
    ):
        assert words in text


def test_bars_show_small_and_mark_large() -> None:
    ascii_style, style = Style(ascii_only=True, width=80), Style(ascii_only=False, width=80)
    assert ascii_style.bar(0, 80, 11) == "          |"
    assert ascii_style.bar(1, 8000, 11) == "#         |"
    assert ascii_style.bar(40, 80, 11) == "#####     |"
    assert ascii_style.bar(80, 80, 11) == "##########|"
    assert ascii_style.bar(81, 80, 11) == "##########>"
    assert style.bar(0, 80, 11) == "          │"
    assert style.bar(1, 8000, 11) == "▏         │"
    assert style.bar(10, 80, 11) == "█▎        │"  # 10 / 80 of 10 cells = 1.25
    assert style.bar(81, 80, 11) == "██████████»"


def test_groups_sum_to_the_peak() -> None:
    groups = peak_groups(STAGES[0])
    # 13 params | 7 activations | 4 logits | 120 - 24 reduce bucket
    assert [groups[name] // GIB for name in GROUPS] == [13, 7, 4, 96, 0]
    strange = replace(STAGES[0], peak_moment=Moment("step", "", {"something_new": 5}))
    assert sum(peak_groups(strange).values()) == 5


def test_the_device_stands_on_the_worst_of_all() -> None:
    assert device_base_bytes(STAGES[0]) == 120 * GIB  # 121 low less 0.5 + 0.25 + 0.25
    assert free_bytes(STAGES[0]) == (80 - 122) * GIB


@pytest.mark.parametrize(
    ("gpu", "host", "capacity", "overall"),
    [
        ("fits", None, 80, "fits"),
        ("fits", "oom", 80, "oom"),
        ("fits", "tight", 80, "tight"),
        ("tight", "fits", 80, "tight"),
        ("oom", "fits", 80, "oom"),
        (None, "fits", None, None),
        (None, "oom", None, "oom"),
    ],
)
def test_the_worse_of_gpu_and_host_decides(
    gpu: str | None, host: str | None, capacity: int | None, overall: str | None
) -> None:
    estimate = an_estimate(verdict=gpu, capacity_gib=capacity)
    assert overall_verdict(replace(estimate, host=replace(estimate.host, verdict=host))) == overall


def test_labels_of_plans() -> None:
    nvme = Job(stage=3, offload=Offload.ALL, offload_to=OffloadTo.NVME)
    assert [plan_label(Job(stage=1)), plan_label(nvme), plan_label(Job(engine=Engine.DDP))] == [
        "stage 1",
        "stage 3 + full offload to NVMe",
        "DDP",
    ]
    assert [short_label(Job(stage=1)), short_label(nvme), short_label(Job(engine=Engine.SINGLE))] == [
        "1",
        "3+all",
        "single",
    ]


def test_json_has_the_keys_that_others_rely_on() -> None:
    value = json.loads(dumps(estimate_object(STAGES[2:3], [TERMS], ASSUMED, [None])))  # type: ignore[list-item]
    assert set(value) >= {"schema_version", "model", "cluster", "assumptions", "plans"}
    assert value["schema_version"] == 1
    assert set(value["model"]) >= {"name", "params", "trainable_params", "source"}
    assert value["model"]["trainable_params"] == value["model"]["params"] == 7_000_000_000
    assert value["cluster"] == {
        "gpus": 8,
        "nodes": 1,
        "gpu": None,
        "gpu_capacity_bytes": 80 * GIB,
        "host_capacity_bytes": 512 * GIB,
    }
    assert value["assumptions"] == list(ASSUMED)
    (plan,) = value["plans"]
    job = (
        "engine",
        "stage",
        "offload",
        "checkpointing",
        "precision",
        "optimizer",
        "micro_batch",
        "seq_len",
        "grad_accum",
    )
    assert [plan[key] for key in (*job, "world_size")] == [
        *("deepspeed", 2, "none", "none", "bf16", "adamw", 1, 2048, 1),
        8,
    ]
    gpu = plan["gpu"]
    assert gpu["phases"] == {"init": 13 * GIB, "forward": 20 * GIB, "backward": 76 * GIB, "step": 18 * GIB}
    assert gpu["steady_bytes"] == 16 * GIB
    assert gpu["allocated_peak_bytes"] == 76 * GIB
    assert gpu["device_peak_bytes"] == {"low": 77 * GIB, "expected": 78 * GIB, "high": 79 * GIB}
    assert gpu["model_states"] == {"params": 14_000_000_000, "grads": 1_750_000_000, "optimizer": 10_500_000_000}
    assert gpu["terms"] == [
        {"key": "params", "bytes": 13 * GIB, "phase": "backward", "formula": "2 * P", "source": "arXiv:1910.02054"}
    ]
    assert gpu["peak_phase"] == "backward"
    assert gpu["worst_rank"] == {"rank": 7, "allocated_peak_bytes": 77 * GIB}
    assert (gpu["verdict"], gpu["verdict_because"]) == ("tight", None)
    host = ("per_rank_bytes", "peak_per_rank_bytes", "pinned_per_rank_bytes", "per_node_bytes", "verdict")
    assert set(plan["host"]) >= set(host)
    assert plan["nvme"] == {"per_node_bytes": 0}
    assert plan["time"] is None
