"""``zplan sweep``: axes as typed, grids, the edge of what fits, and every way to show it."""

from __future__ import annotations

import csv
import json
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from importlib import import_module
from io import StringIO
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console
from typer.main import get_command

from tests.handmade import PLAN
from zplan.advice.sweep import LARGEST, SMALLEST, Axis, Cell, Edge, Sweep, frontier, sweep
from zplan.cli.app import VERBS, run
from zplan.cli.axes import NAMES, parse_axis, sample
from zplan.cli.grid import build_grid
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.errors import ZplanError
from zplan.memory.summary import overall_verdict
from zplan.render.heatmap import sweep_svg
from zplan.render.sweep import render_sweep, sweep_csv, sweep_object
from zplan.spec import Plan
from zplan.units import GIB, Unit

BASE = PlanOptions(params="7B", gpus="8", gpu_mem="80")
TYPED = ["sweep", "--params", "7B", "--gpus", "8", "--gpu-mem", "80"]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ZPLAN_NO_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)


# What is typed after --over, the labels, the values.
AXES: list[tuple[str, list[str], list[Any]]] = [
    ("stage=0..3", ["0", "1", "2", "3"], [0, 1, 2, 3]),
    ("stage=1,3", ["1", "3"], [1, 3]),
    ("--micro-batch=1,2,4", ["1", "2", "4"], [1, 2, 4]),
    ("micro_batch=1..16", ["1", "2", "4", "8", "16"], [1, 2, 4, 8, 16]),
    ("micro-batch=1..6", ["1", "2", "4", "6"], [1, 2, 4, 6]),
    ("micro-batch=3..24", ["3", "6", "12", "24"], [3, 6, 12, 24]),
    ("micro-batch=2..2", ["2"], [2]),
    ("micro-batch=1..4:1", ["1", "2", "3", "4"], [1, 2, 3, 4]),
    ("micro-batch=1..8:3", ["1", "4", "7", "8"], [1, 4, 7, 8]),
    ("micro-batch=1,1,2", ["1", "2"], [1, 2]),
    ("seq-len=2k..16k", ["2k", "4k", "8k", "16k"], [2048, 4096, 8192, 16384]),
    ("seq-len=512..4k", ["512", "1k", "2k", "4k"], [512, 1024, 2048, 4096]),
    ("seq-len=2k..6k:2k", ["2k", "4k", "6k"], [2048, 4096, 6144]),
    ("seq-len=1k..2k:512", ["1k", "1536", "2k"], [1024, 1536, 2048]),
    ("gpus=1..8", ["1", "2", "4", "8"], [1, 2, 4, 8]),
    ("params=1.5B..6B", ["1.5B", "3B", "6B"], [1_500_000_000, 3_000_000_000, 6_000_000_000]),
    ("gpu-mem=40GiB..80GiB", ["40GiB", "80GiB"], [40 * GIB, 80 * GIB]),
    ("checkpointing=none,every-2,full", ["none", "every-2", "full"], ["none", "every-2", "full"]),
    ("optimizer=adamw,adamw_8bit", ["adamw", "adamw_8bit"], ["adamw", "adamw_8bit"]),
    ("compile=off,on", ["off", "on"], [False, True]),
    ("rank=0..2", ["0", "1", "2"], [0, 1, 2]),
    ("gpu=a100-80g,h100-80g", ["a100-80g", "h100-80g"], ["a100-80g", "h100-80g"]),
]


@pytest.mark.parametrize(("text", "labels", "values"), AXES, ids=[row[0] for row in AXES])
def test_axes_as_typed(text: str, labels: list[str], values: list[Any]) -> None:
    axis = parse_axis(text).axis
    assert (list(axis.labels), list(axis.values)) == (labels, values)


@given(st.integers(1, 2000), st.integers(0, 2000), st.integers(1, 50))
def test_ranges_stay_within_their_ends(low: int, more: int, step: int) -> None:
    high = low + more
    doubled = parse_axis(f"grad-accum={low}..{high}").axis.values
    assert doubled[0] == low and doubled[-1] == high
    assert all(isinstance(v, int) and low <= v <= high for v in doubled)
    assert all(int(b) == 2 * int(a) for a, b in pairwise(doubled[:-1]))
    stepped = parse_axis(f"grad-accum={low}..{high}:{step}").axis.values
    assert list(stepped) == sorted({*range(low, high, step), high})


# What is typed after the model and the cluster, a part of the error, a part of the hint.
BAD: list[tuple[str, str, str]] = [
    ("", "something to go over", "--over micro-batch=1..16"),
    ("--over", "requires an argument", "zplan sweep --help"),
    ("--over stage", "has no values", "--over micro-batch=1..16"),
    ("--over stage=", "empty value", "one comma"),
    ("--over stage=0,,1", "empty value", "one comma"),
    ("--over stag=0..3", "unknown option to sweep over 'stag'", "--over stage="),
    ("--over stage=0..7", "unknown stage '4'", "one of 0, 1, 2, 3"),
    ("--over stage=all", "one stage per cell", "--over stage=0..3"),
    ("--over stage=3..0", "goes nowhere", "smaller end first"),
    ("--over micro-batch=0..8", "goes nowhere", "smaller end first"),
    ("--over micro-batch=1..8:0", "goes nowhere", "smaller end first"),
    ("--over micro-batch=a..b", "no range of numbers", "two numbers"),
    ("--over micro-batch=1..", "no range of numbers", "two numbers"),
    ("--over micro-batch=1..2..3", "no range of numbers", "two numbers"),
    ("--over micro-batch=x", "not a whole number", "--over micro-batch=4"),
    ("--over micro-batch=1..1000000000:1", "too many values", "larger step"),
    ("--over params=1B..2T", "mixes units", "one unit"),
    ("--over stage=0..9", "unknown stage '4'", "as in --over stage=0"),
    ("--over engine=fsdp", "unknown engine", "--over engine=fsdp2"),
    ("--over micro-batch=1..1000000", "at most 65,536", "--over micro-batch=4"),
    ("--over gpu=a100-80g,h1000", "h1000", "h100"),
    ("--over model=llama-2-7b,lama-2-7b", "lama-2-7b", "llama-2-7b"),
    ("--over compile=maybe", "unknown setting", "--over compile=on"),
    ("--over stage=0..3 --over stage=1", "given twice", "--over stage="),
    ("--stage 2 --over stage=0..3", "contradict", "leave --stage out"),
    ("--over lora=8 --over hpz=2 --over rank=0 --over stage=3", "4 axes are too many", "keep 3"),
    ("--over micro-batch=1,2 --over seq-len=1k,2k --over grad-accum=1,2", "which stage is not said", "--stage 3"),
    ("--over micro-batch=1..2000:1 --over seq-len=1..2000:1", "more than the 100,000", "larger steps"),
    ("--engine ddp --over stage=1..3", "shards nothing", "--engine deepspeed"),
    ("--over stage=0..3 --csv --json", "contradict", "keep one"),
    ("--over stage=0..3 --unit MB", "unknown unit", "--unit"),
    ("--over stage=0..3 --svg nowhere/a.svg", "does not exist", "mkdir"),
]


@pytest.mark.parametrize(("typed", "error", "hint"), BAD, ids=[row[0] or "nothing" for row in BAD])
def test_bad_sweeps_are_two_lines(capsys: pytest.CaptureFixture[str], typed: str, error: str, hint: str) -> None:
    assert run([*TYPED, *typed.split()]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: ") and error in lines[0]
    assert lines[1].startswith("hint: ") and hint in lines[1]


GRIDS: list[tuple[PlanOptions, list[str]]] = [
    (BASE, ["stage=0..3", "micro-batch=1,4", "seq-len=1k..4k"]),
    (replace(BASE, stage="3"), ["checkpointing=none,every-2,full", "offload=none,optimizer,all"]),
    (replace(BASE, stage="2", gpus=None), ["gpus=2..16", "grad-accum=1,4"]),
    (replace(BASE, stage="3", params=None), ["model=llama-2-7b,llama-3.1-8b", "micro-batch=1,2"]),
    (replace(BASE, stage="2", gpu_mem=None), ["gpu=a100-40g,h100-80g,v100-32g", "loss=standard,fused"]),
    (replace(BASE, stage="2"), ["compile=off,on", "zero-init=on,off", "precision=bf16,fp16"]),
    (BASE, ["engine=deepspeed,fsdp2,ddp", "stage=0,2,3"]),
]


@pytest.mark.parametrize(("options", "over"), GRIDS, ids=[" ".join(over) for _, over in GRIDS])
def test_a_cell_is_the_plan_that_its_options_make(options: PlanOptions, over: list[str]) -> None:
    grid = build_grid(options, over)
    typed = [parse_axis(text) for text in over]
    places = list(product(*(range(len(axis.words)) for axis in typed)))
    assert len(places) == len(grid.plans)
    for at, found in zip(places, grid.plans, strict=True):
        words = {axis.axis.name: axis.words[index] for axis, index in zip(typed, at, strict=True)}
        if "model" in words:
            words["params"] = None  # type: ignore[assignment]
        try:
            expected: Plan | str = build_plans(replace(options, **words)).plans[0]  # type: ignore[arg-type]
        except ZplanError as error:
            expected = error.message
        assert (found.message if isinstance(found, ZplanError) else found) == expected


def test_stages_are_shown_where_none_is_said() -> None:
    assert [axis.axis.name for axis in build_grid(BASE, ["micro-batch=1,2"]).axes] == ["stage", "micro_batch"]
    fsdp = build_grid(replace(BASE, engine="fsdp2"), ["micro-batch=1,2"]).axes
    assert fsdp[0].axis.values == (2, 3)
    assert len(build_grid(replace(BASE, engine="ddp"), ["micro-batch=1,2"]).axes) == 1
    assert len(build_grid(replace(BASE, stage="1"), ["micro-batch=1,2"]).axes) == 1


def test_a_config_file_leaves_what_is_swept_over(tmp_path: Path) -> None:
    config = {
        "train_micro_batch_size_per_gpu": 3,
        "gradient_accumulation_steps": 2,
        "bf16": {"enabled": True},
        "zero_optimization": {"stage": 2, "reduce_bucket_size": 1_000_000},
    }
    (tmp_path / "ds.json").write_text(json.dumps(config), encoding="utf-8")
    grid = build_grid(replace(BASE, ds_config="ds.json"), ["micro-batch=1,2", "seq-len=1k,2k"])
    jobs = [plan.job for plan in grid.plans if isinstance(plan, Plan)]
    assert [(job.micro_batch, job.seq_len) for job in jobs] == [(1, 1024), (1, 2048), (2, 1024), (2, 2048)]
    assert {(job.stage, job.grad_accum, job.deepspeed.reduce_bucket_size) for job in jobs} == {(2, 2, 1_000_000)}
    assert not any("--micro-batch" in note for note in grid.assumptions)


def test_assumptions_do_not_name_what_is_swept_over() -> None:
    told = "; ".join(build_grid(BASE, ["micro-batch=1,2", "seq-len=1k,2k"]).assumptions)
    assert "(--optimizer)" in told
    assert "(--micro-batch)" not in told and "(--seq-len)" not in told


def _axis(name: str, *values: str | int) -> Axis:
    return Axis(name=name, labels=tuple(map(str, values)), values=values)


def _grid(verdicts: str, *axes: Axis) -> Sweep:
    """One letter per cell: fits, tight, oom, - cannot be run, ? unknown."""
    names = {"f": "fits", "t": "tight", "o": "oom", "?": None}
    cells = [
        Cell(None, None, "it contradicts itself")
        if letter == "-"
        else Cell(PLAN, names[letter], None, GIB * (index + 1), GIB * (index + 2), GIB * index, 0, "backward")
        for index, letter in enumerate(verdicts)
    ]
    return Sweep(axes=axes, cells=tuple(cells))


# Verdicts in order, the axes, the edges: place, fits, tight.
FRONTIERS: list[tuple[str, tuple[Axis, ...], list[tuple[tuple[int, ...], int | None, int | None]] | None]] = [
    ("ffto", (_axis("micro_batch", 1, 2, 4, 8),), [((), 1, 2)]),
    ("otff", (_axis("gpus", 1, 2, 4, 8),), [((), 2, 1)]),
    ("oooo", (_axis("micro_batch", 1, 2, 4, 8),), [((), None, None)]),
    ("tooo", (_axis("micro_batch", 1, 2, 4, 8),), [((), None, 0)]),
    # Values in any order: 4 is the largest.
    ("fff", (_axis("micro_batch", 2, 4, 1),), [((), 1, None)]),
    # Largest micro-batch per stage; nothing to say of a stage that cannot be run.
    ("ffofff--", (_axis("stage", 0, 2, 3, 1), _axis("micro_batch", 1, 2)), [((0,), 1, None), ((1,), 1, None), ((2,), 1, None)]),
    # Smallest stage per micro-batch, since stage is the last axis that has a better end.
    ("ofoo", (_axis("micro_batch", 1, 2), _axis("stage", 0, 1)), [((0,), 1, None), ((1,), None, None)]),
    # Checkpointing has no better end: the edge is along the rows.
    ("ffof", (_axis("seq_len", 1, 2), _axis("checkpointing", "none", "full")), [((0,), 0, None), ((1,), 1, None)]),
    ("ff", (_axis("checkpointing", "none", "full"),), None),
    ("??", (_axis("micro_batch", 1, 2),), None),
]  # fmt: skip


@pytest.mark.parametrize(("verdicts", "axes", "edges"), FRONTIERS, ids=[row[0] for row in FRONTIERS])
def test_the_edge_of_what_fits(
    verdicts: str, axes: tuple[Axis, ...], edges: list[tuple[tuple[int, ...], int | None, int | None]] | None
) -> None:
    found = frontier(_grid(verdicts, *axes))
    if edges is None:
        assert found is None
    else:
        assert found is not None
        assert found.edges == tuple(Edge(at=at, fits=fits, tight=tight) for at, fits, tight in edges)
        assert found.direction in (LARGEST, SMALLEST)


def test_cells_are_the_estimates() -> None:
    from zplan.memory.estimate import estimate

    grid = build_grid(replace(BASE, stage="3"), ["micro-batch=1,16", "seq-len=1k,8k"])
    found = sweep([axis.axis for axis in grid.axes], grid.plans)
    for cell in found.cells:
        assert cell.plan is not None
        memory = estimate(cell.plan)
        assert cell.expected_bytes == memory.runtime.device_expected_bytes
        assert cell.verdict == overall_verdict(memory)
    assert [cell.verdict for cell in found.cells] == ["fits", "tight", "oom", "oom"]


@settings(max_examples=20, deadline=None)
@given(st.sampled_from(["1", "2", "3"]), st.integers(1, 4))
def test_more_batch_never_needs_less(stage: str, low: int) -> None:
    grid = build_grid(replace(BASE, stage=stage), [f"micro-batch={low}..{low * 8}"])
    sizes = [cell.expected_bytes or 0 for cell in sweep([axis.axis for axis in grid.axes], grid.plans).cells]
    assert sizes == sorted(sizes)


THREE = _grid(
    "fffttoooo-o?ffft" + "oooooooo",
    _axis("stage", 0, 1, 2),
    _axis("micro_batch", 1, 2),
    _axis("seq_len", 1024, 2048, 4096, 8192),
)
VIEWS = [
    _grid("fto-", _axis("micro_batch", 1, 2, 4, 8)),
    _grid("fftoft", _axis("stage", 1, 2), _axis("micro_batch", 1, 2, 4)),
    THREE,
    _grid("f" * 40, _axis("checkpointing", "none", "full"), _axis("micro_batch", *range(1, 21))),
]


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("found", VIEWS, ids=["one", "two", "three", "wide"])
def test_no_number_is_cut_at_any_width(found: Sweep, width: int) -> None:
    console = Console(width=width, highlight=False, markup=False, force_terminal=False, color_system=None)
    with console.capture() as capture:
        render_sweep(console, found, frontier(found), ["bf16 (--precision)"])
    text = capture.get()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    assert "…" not in text
    marks = {"fits": "✓", "tight": "!", "oom": "✗", None: ""}
    for cell in found.cells:
        if cell.expected_bytes is not None:
            assert f"{cell.expected_bytes / GIB:.2f} {marks[cell.verdict]}".rstrip() in text
    if any(cell.plan is None for cell in found.cells):
        assert "it contradicts itself" in text and "cannot be run" in text


def test_marks_and_colours() -> None:
    console = Console(width=80, force_terminal=True, color_system="standard", highlight=False, markup=False)
    with console.capture() as capture:
        render_sweep(console, VIEWS[0], None, [])
    coloured = capture.get()
    assert "\x1b[30;42m" in coloured and "\x1b[30;43m" in coloured and "\x1b[37;41m" in coloured


def test_csv_and_json_say_the_same() -> None:
    rows = list(csv.DictReader(StringIO(sweep_csv(THREE))))
    value = sweep_object(THREE, frontier(THREE), ["a"], None, None)
    assert len(rows) == len(value["cells"]) == 24
    for row, cell in zip(rows, value["cells"], strict=True):
        at = {name: int(row[name]) for name in ("stage", "micro_batch", "seq_len")}
        assert at == cell["at"]
        assert row["verdict"] == (cell["verdict"] or "")
        assert row["device_expected_bytes"] == ("" if (size := cell["device_expected_bytes"]) is None else str(size))
    assert value["axes"][2] == {
        "name": "seq_len",
        "labels": ["1024", "2048", "4096", "8192"],
        "values": [1024, 2048, 4096, 8192],
    }
    assert value["frontier"]["along"] == "seq_len"
    assert value["frontier"]["edges"][0] == {"at": {"stage": 0, "micro_batch": 1}, "fits": 4096, "tight": 8192}


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("found", VIEWS, ids=["one", "two", "three", "wide"])
def test_the_picture_has_every_number(found: Sweep) -> None:
    root = ET.fromstring(sweep_svg(found, frontier(found), unit=Unit.GIB))
    texts = [element.text or "" for element in root.iter(f"{SVG}text")]
    for cell in found.cells:
        if cell.expected_bytes is not None:
            assert any(text.startswith(f"{cell.expected_bytes / GIB:.2f}") for text in texts)
    ids = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    labelled = (root.get("aria-labelledby") or "").split()
    assert root.get("role") == "img" and set(labelled) <= set(ids) and len(labelled) == 2


def test_hostile_labels_stay_text() -> None:
    hostile = '"><script>alert(1)</script>&amp;'
    found = _grid("f-", Axis(name="model", labels=(hostile, "b"), values=(hostile, "b")))
    picture = sweep_svg(found, None, unit=Unit.GIB)
    root = ET.fromstring(picture)
    assert not list(root.iter(f"{SVG}script")) and "<script" not in picture
    assert hostile in [element.text for element in root.iter(f"{SVG}text")]


def test_the_command_writes_a_picture_once(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    typed = [*TYPED, "--stage", "3", "--over", "micro-batch=1,2", "--svg", "a.svg"]
    assert run(typed) == 0
    first = (tmp_path / "a.svg").read_text(encoding="utf-8")
    ET.fromstring(first)
    capsys.readouterr()
    assert run(typed) == 2
    assert "--force" in capsys.readouterr().err
    assert run([*typed, "--force", "--unit", "GB"]) == 0
    assert "GB per GPU" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["a.svg"]


def test_png_without_its_library_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setitem(sys.modules, "cairosvg", None)
    assert run([*TYPED, "--stage", "3", "--over", "micro-batch=1,2", "--png", "a.png"]) == 5
    out, err = capsys.readouterr()
    assert out == "" and "CairoSVG" in err and "--svg" in err
    assert not Path("a.png").exists()


def test_png_is_what_the_library_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    from types import ModuleType

    library = ModuleType("cairosvg")
    library.svg2png = lambda bytestring, scale: b"\x89PNG" + bytestring[:4]  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "cairosvg", library)
    assert run([*TYPED, "--stage", "3", "--over", "micro-batch=1,2", "--png", "a.png"]) == 0
    assert Path("a.png").read_bytes() == b"\x89PNG<svg"


def test_the_command_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*TYPED, "--over", "stage=0..3", "--over", "micro-batch=1,2", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["model"]["params"] == 7_000_000_000 and value["cluster"]["gpus"] == 8
    assert len(value["cells"]) == 8
    assert (
        run(["sweep", "--stage", "3", "--gpu-mem", "80", "--over", "params=1B..2B", "--over", "gpus=1,2", "--json"])
        == 0
    )
    value = json.loads(capsys.readouterr().out)
    assert value["model"] is None and value["cluster"] is None


def test_without_a_model_it_goes_on_from_the_last_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["sweep", "--over", "micro-batch=1,2"]) == 2
    assert "no model was named" in capsys.readouterr().err
    assert run(["estimate", *TYPED[1:], "--stage", "2", "--micro-batch", "4"]) == 0
    capsys.readouterr()
    assert run(["sweep", "--over", "micro-batch=1,2", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert [cell["at"] for cell in value["cells"]] == [{"micro_batch": 1}, {"micro_batch": 2}]
    assert "the plan of the last estimate" in value["assumptions"][0]


@pytest.mark.parametrize("name", NAMES)
def test_the_sample_of_every_option_is_an_axis(name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    Path("ds_config.json").write_text("{}", encoding="utf-8")
    typed = sample(name).removeprefix("--over ")
    axis = parse_axis(typed)
    assert axis.axis.flag == name
    assert len(axis.words) >= (1 if name == "ds-config" else 2)


@pytest.mark.parametrize(
    ("words", "says", "instead"),
    [
        # Most cells lack a stage 3, which the axis has: what stops its cells as well is said.
        ("--gpus 2 --hpz 8 --over stage=1..3", "--hpz 8 does not divide 2 GPUs", "use --hpz 2"),
        ("--gpus 8 --engine ddp --over stage=1..3", "no stage 1", "--engine deepspeed --over stage=1"),
    ],
)
def test_where_no_cell_runs_the_way_out_leaves_the_axes_alone(
    capsys: pytest.CaptureFixture[str], words: str, says: str, instead: str
) -> None:
    assert run(["sweep", "--model", "gpt2", "--gpu-mem", "16", *words.split()]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert says in found.err and instead in found.err


def test_no_help_of_an_option_has_brackets() -> None:
    """Rich takes ``[png]`` for a style and drops it, so that a command in a help would come out wrong."""
    for verb, module in VERBS.items():
        for option in get_command(import_module(module).app).params:
            assert "[" not in (getattr(option, "help", None) or ""), (verb, option.name)
