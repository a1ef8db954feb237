"""``zplan diff``: pairs, changes, and files that are no estimates."""

from __future__ import annotations

import json
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from tests.handmade import an_estimate
from zplan.advice.diff import EstimateDiff, diff
from zplan.cli.app import run
from zplan.inputs.estimatefile import read_estimate
from zplan.memory.explain import TermExplanation
from zplan.memory.moments import Estimate
from zplan.render.diff import diff_object, render_diff, signed
from zplan.render.jsonout import dumps, estimate_object
from zplan.spec import Offload
from zplan.units import GIB, Unit


def _object(*estimates: Estimate, notes: tuple[str, ...] = ("bf16 (--precision)",)) -> dict[str, Any]:
    terms = [
        [TermExplanation(key, size, "", "", "", "") for key, size in each.peak_moment.terms.items()]
        for each in estimates
    ]
    return deepcopy(estimate_object(estimates, terms, notes, [None] * len(estimates)))


def _file(folder: Path, name: str, content: object) -> str:
    path = folder / name
    path.write_text(content if isinstance(content, str) else dumps(content), encoding="utf-8")  # type: ignore[arg-type]
    return str(path)


def _diff(folder: Path, before: dict[str, Any], after: dict[str, Any]) -> EstimateDiff:
    return diff(read_estimate(_file(folder, "a.json", before)), read_estimate(_file(folder, "b.json", after)))


def _text(found: EstimateDiff, width: int = 80) -> str:
    console = Console(width=width, highlight=False, markup=False, color_system=None)
    with console.capture() as capture:
        render_diff(console, found)
    return capture.get()


def test_the_same_twice_differs_in_nothing(tmp_path: Path) -> None:
    both = _object(an_estimate(), an_estimate(stage=3))
    found = _diff(tmp_path, both, both)
    assert (found.settings, found.only_before, found.only_after, len(found.plans)) == ((), (), (), 2)
    assert diff_object(found)["same"] is True
    assert "Nothing differs." in _text(found)


def test_sizes_settings_and_verdicts(tmp_path: Path) -> None:
    # The bucket holds peak - 24 GiB: 6 before, 66 after; everything that grows, grows by 60.
    before, after = _object(an_estimate()), _object(an_estimate(peak_gib=90, verdict="oom", because="too much"))
    after["plans"][0]["micro_batch"] = 4
    after["cluster"]["gpus"] = 16
    found = _diff(tmp_path, before, after)
    assert [(c.name, c.before, c.after) for c in found.settings] == [("cluster.gpus", 8, 16)]
    (plan,) = found.plans
    assert [(c.name, c.before, c.after) for c in plan.settings] == [("micro_batch", 1, 4)]
    assert (plan.verdict, plan.because) == (("fits", "oom"), (None, "too much"))
    changes = {term.name: term.change_bytes for term in plan.terms}
    assert changes == {"reduce_bucket": 60 * GIB, "params": 0, "activations": 0, "logits": 0}
    assert plan.terms[0].name == "reduce_bucket"
    totals = {total.name: (total.before_bytes, total.after_bytes) for total in plan.totals}
    assert totals["allocated_peak"] == (30 * GIB, 90 * GIB)
    assert totals["device_expected"] == (32 * GIB, 92 * GIB)
    assert {p.name: p.change_bytes // GIB for p in plan.phases} == {"init": 0, "forward": 0, "backward": 60, "step": 0}
    text = _text(found)
    assert "✓ fits -> ✗ oom" in text and "micro_batch  1 -> 4" in text and "cluster.gpus  8 -> 16" in text
    value = diff_object(found)["plans"][0]
    assert value["terms"]["reduce_bucket"] == {"before": 6 * GIB, "after": 66 * GIB, "change": 60 * GIB}
    assert value["verdict"] == {"before": "fits", "after": "oom"}


def test_parts_of_a_change_sum_to_it(tmp_path: Path) -> None:
    found = _diff(tmp_path, _object(an_estimate()), _object(an_estimate(peak_gib=44)))
    plan = found.plans[0]
    peak = next(total for total in plan.totals if total.name == "allocated_peak")
    assert sum(term.change_bytes for term in plan.terms) == peak.change_bytes == 14 * GIB


def test_assumptions_that_come_and_go(tmp_path: Path) -> None:
    found = _diff(tmp_path, _object(an_estimate(), notes=("a", "b")), _object(an_estimate(), notes=("b", "c")))
    assert (found.assumptions_gone, found.assumptions_new) == (("a",), ("c",))
    assert "Assumed in B only: c" in _text(found)


def test_plans_are_paired_by_what_they_are(tmp_path: Path) -> None:
    before = _object(an_estimate(stage=1), an_estimate(stage=2), an_estimate(stage=2, offload=Offload.OPTIMIZER))
    after = _object(an_estimate(stage=3), an_estimate(stage=2, peak_gib=31))
    found = _diff(tmp_path, before, after)
    assert [plan.label for plan in found.plans] == ["deepspeed stage 2"]
    assert found.only_before == ("deepspeed stage 1", "deepspeed stage 2 + optimizer offload")
    assert found.only_after == ("deepspeed stage 3",)


def test_one_plan_each_is_always_a_pair(tmp_path: Path) -> None:
    found = _diff(tmp_path, _object(an_estimate(stage=2)), _object(an_estimate(stage=3, offload=Offload.ALL)))
    assert [plan.label for plan in found.plans] == ["deepspeed stage 2 -> deepspeed stage 3 + all offload"]


def test_engines_are_paired_by_stage(tmp_path: Path) -> None:
    before, after = (_object(an_estimate(stage=2), an_estimate(stage=3)) for _ in range(2))
    for plan in after["plans"]:
        plan["engine"] = "fsdp2"
    found = _diff(tmp_path, before, after)
    assert [plan.label for plan in found.plans] == [
        "deepspeed stage 2 -> fsdp2 stage 2",
        "deepspeed stage 3 -> fsdp2 stage 3",
    ]


@pytest.mark.parametrize(
    ("gpu", "host", "verdict"),
    [
        ("fits", "oom", "oom"),
        ("tight", "fits", "tight"),
        (None, "fits", None),
        (None, "oom", "oom"),
        ("fits", None, "fits"),
    ],
)
def test_the_verdict_is_the_worse_of_two(
    tmp_path: Path, gpu: str | None, host: str | None, verdict: str | None
) -> None:
    value = _object(an_estimate())
    value["plans"][0]["gpu"]["verdict"], value["plans"][0]["host"]["verdict"] = gpu, host
    assert read_estimate(_file(tmp_path, "a.json", value)).plans[0].verdict == verdict


@pytest.mark.parametrize("width", [60, 80, 120])
def test_nothing_is_cut(tmp_path: Path, width: int) -> None:
    after = _object(an_estimate(peak_gib=2000, offload=Offload.OPTIMIZER), notes=("x" * 30 + " y",))
    text = _text(_diff(tmp_path, _object(an_estimate()), after), width)
    body = [line.rstrip() for line in text.splitlines() if not line.startswith(("A  ", "B  "))]
    assert max(map(len, body)) <= width
    assert "…" not in text and "2,000" in text and "+1,970" in text


@pytest.mark.parametrize(("size", "text"), [(0, "="), (GIB, "+1.00"), (-GIB, "-1.00"), (1, "+<0.01")])
def test_signs(size: int, text: str) -> None:
    assert signed(size, Unit.GIB) == text


def _without(path: str) -> dict[str, Any]:
    value = _object(an_estimate())
    node: Any = value
    *parents, last = path.split(".")
    for part in parents:
        node = node[int(part)] if part.isdecimal() else node[part]
    del node[last]
    return value


def _with(path: str, new: object) -> dict[str, Any]:
    value = _object(an_estimate())
    node: Any = value
    *parents, last = path.split(".")
    for part in parents:
        node = node[int(part)] if part.isdecimal() else node[part]
    node[last] = new
    return value


BAD: list[tuple[object, str]] = [
    ("", "is empty"),
    ("{", "not valid JSON"),
    ("[]", "a list, not a JSON object"),
    ({}, "no schema_version"),
    ({"schema_version": 2}, "schema_version 2"),
    ({"schema_version": 1}, "plans should be a list"),
    (_with("plans", []), "holds no plans"),
    (_with("plans", [1]), "plans should be a list of objects"),
    (_with("model", "llama"), "model should be an object"),
    (_without("plans.0.gpu"), "plans[0].gpu should be an object"),
    (_without("plans.0.gpu.phases.step"), "plans[0].gpu.phases.step should be a number of bytes"),
    (_with("plans.0.gpu.steady_bytes", -1), "steady_bytes should be a number of bytes"),
    (_with("plans.0.gpu.steady_bytes", 1.5), "steady_bytes should be a number of bytes"),
    (_with("plans.0.gpu.steady_bytes", True), "steady_bytes should be a number of bytes"),
    (
        _with("plans.0.gpu.terms", [{"key": "params", "bytes": "much"}]),
        "plans[0].gpu.terms[0].bytes should be a number of bytes",
    ),
    (_with("plans.0.host", None), "host should be an object"),
]


@pytest.mark.parametrize(("content", "message"), BAD, ids=[row[1] for row in BAD])
def test_what_is_no_estimate_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: object, message: str
) -> None:
    good = _file(tmp_path, "good.json", _object(an_estimate()))
    bad = _file(tmp_path, "bad.json", content)
    for pair in ((bad, good), (good, bad)):
        assert run(["diff", *pair]) == 2
        out, err = capsys.readouterr()
        assert out == "" and message in err and "bad.json" in err and err.count("\n") == 2


def test_unknown_and_missing_optional_keys_are_no_problem(tmp_path: Path) -> None:
    value = _with("plans.0.something_new", {"a": 1})
    del value["plans"][0]["rank"], value["plans"][0]["nvme"], value["plans"][0]["time"], value["assumptions"]
    assert read_estimate(_file(tmp_path, "a.json", value)).plans[0].settings["rank"] is None


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = []
    for stage in ("2", "3"):
        assert run(["estimate", "--params", "7B", "--gpus", "8", "--gpu", "a100-80g", "--stage", stage, "--json"]) == 0
        names.append(_file(tmp_path, f"{stage}.json", capsys.readouterr().out))
    assert run(["diff", *names]) == 0
    out, err = capsys.readouterr()
    assert "stage  2 -> 3" in out and "tokens/s per GPU" in out and err == ""
    assert run(["diff", *names, "--json", "--unit", "GB"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["schema_version"] == 1 and value["same"] is False
    # ZeRO's accounting: parameters 2P and 2P/8 of 7e9.
    assert value["plans"][0]["model_states"]["params"] == {
        "before": 14_000_000_000,
        "after": 1_750_000_000,
        "change": -12_250_000_000,
    }


@pytest.mark.parametrize("typed", [["diff"], ["diff", "a.json"]])
def test_two_files_are_needed(capsys: pytest.CaptureFixture[str], typed: list[str]) -> None:
    assert run(typed) == 2
    assert "zplan diff a.json b.json" in capsys.readouterr().err
