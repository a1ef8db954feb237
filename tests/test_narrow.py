"""Terminals of 40 columns: every number that a wide one shows, whole, and no line beyond the edge."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from zplan.cli.app import run

PLAN = ["--model", "llama-3.1-8b", "--gpus", "8", "--gpu", "a100-80g"]
VIEWS = {
    "every stage": ["estimate", *PLAN],
    "one plan": ["estimate", *PLAN, "--stage", "3"],
    "one plan, offloaded": ["estimate", *PLAN, "--stage", "3", "--offload", "optimizer"],
    "explained": ["estimate", *PLAN, "--stage", "2", "--offload", "optimizer", "--explain"],
    "no verdict": ["estimate", "--params", "7B", "--gpus", "8", "--stage", "1"],
    "recommend": ["recommend", *PLAN],
    "nothing fits": ["recommend", "--params", "70B", "--gpus", "1", "--gpu-mem", "24"],
    "sweep": ["sweep", *PLAN, "--stage", "3", "--over", "micro-batch=1..4", "--over", "seq-len=2k..32k"],
    "a line of a sweep": ["sweep", *PLAN, "--stage", "3", "--over", "micro-batch=1..4"],
    "diff": ["diff", "a.json", "b.json"],
    "check": ["check", "ds.json", *PLAN],
    "a term": ["explain", "logits_grad", *PLAN],
    "all terms": ["explain", "--list"],
    "out of memory": ["explain", "--oom", "log", *PLAN],
}
_NUMBER = re.compile(r"(?<![\w.-])[+-]?[0-9][0-9,]*(?:\.[0-9]+)?(?![\w-])")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    monkeypatch.chdir(tmp_path)
    for name, how in (("a.json", "none"), ("b.json", "full")):
        assert run(["estimate", *PLAN, "--stage", "3", "--checkpointing", how, "--json"]) == 0
        Path(name).write_text(capsys.readouterr().out, encoding="utf-8")
    Path("ds.json").write_text('{"bf16": {"enabled": true}, "zero_optimization": {"stage": 2}}', encoding="utf-8")
    Path("log").write_text(
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total capacity of 79.26 GiB "
        "of which 3.97 GiB is free. Including non-PyTorch memory, this process has 75.28 GiB memory in use. Of the "
        "allocated memory 74.03 GiB is allocated by PyTorch, and 215.91 MiB is reserved by PyTorch but unallocated.\n",
        encoding="utf-8",
    )


def _shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], view: str, columns: int) -> str:
    monkeypatch.setenv("COLUMNS", str(columns))
    assert run(VIEWS[view]) in (0, 3)
    return capsys.readouterr().out


@pytest.mark.parametrize("view", VIEWS)
def test_nothing_is_lost_at_forty_columns(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], view: str
) -> None:
    wide, narrow = (_shown(monkeypatch, capsys, view, columns) for columns in (160, 40))
    assert "…" not in narrow
    for line in narrow.splitlines():
        # Commands are kept in one line, so that they can be copied.
        assert len(line) <= 40 or line.startswith("  zplan "), line
    lost = set(_NUMBER.findall(wide)) - set(_NUMBER.findall(narrow))
    # Text that is folded may part a number from its unit, a table's cell never.
    decimals = [number for number in lost if "." in number]
    assert not decimals, decimals


@pytest.mark.parametrize("columns", [1, 10, 39])
def test_less_than_forty_columns_are_laid_out_for_forty(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], columns: int
) -> None:
    shown = _shown(monkeypatch, capsys, "one plan", columns)
    assert shown == _shown(monkeypatch, capsys, "one plan", 40)
