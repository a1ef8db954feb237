"""Models by names that somebody chose badly: nothing steers the terminal, breaks a page or gets lost on the way."""

from __future__ import annotations

import json
import re
import shlex
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from test_bad_input import LLAMA

from zplan.cli.app import run
from zplan.units import visible

NAMES = {
    "markup": "[red]x[red]",
    "open markup": "[bold",
    "an escape": "\x1b[31mred",
    "a C1 escape": "\x9b31mred",
    "right to left": "\u202egpj.exe",
    "html": "<script>alert(1)<script>",
    "emoji code": ":smile:",
    "format": "%s{0}{x}",
    "quotes": 'it\'s "q" `id` $(id)',
    "spaces": "a  b",
    "long": "x" * 200,
    "other scripts": "漢字é🎉",
    "a flag": "--gpus",
    "a file": "tiny.json",
}
PLAN = ["--gpus", "2", "--gpu-mem", "80"]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    monkeypatch.chdir(tmp_path)


def _model(name: str) -> str:
    """A tiny model in a folder, or a file, of that name; its path."""
    path = Path(NAMES[name])
    if name != "a file":
        path.mkdir()
        path = path / "config.json"
    path.write_text(json.dumps(LLAMA), encoding="utf-8")
    return f"./{NAMES[name]}"


def _harmless(text: str) -> None:
    assert visible(text) == text


@pytest.mark.parametrize("name", NAMES)
def test_views_show_the_name_and_nothing_worse(capsys: pytest.CaptureFixture[str], name: str) -> None:
    model = _model(name)
    for args in (
        ["estimate", "--model", model, *PLAN],
        ["estimate", "--model", model, *PLAN, "--stage", "3", "--explain"],
        ["sweep", "--over", f"model={model},gpt2", *PLAN, "--stage", "3"],
        ["explain", "logits", "--model", model],
    ):
        assert run(args) == 0
        out, err = capsys.readouterr()
        _harmless(out + err)
        if name not in ("an escape", "a C1 escape", "right to left", "long", "a file", "spaces"):
            assert NAMES[name] in " ".join(out.split())


@pytest.mark.parametrize("name", NAMES)
def test_files_hold_nothing_that_runs(capsys: pytest.CaptureFixture[str], name: str) -> None:
    model = _model(name)
    assert run(["report", "--model", model, *PLAN, "-o", "page.html"]) == 0
    axes = ["--over", f"model={model},gpt2", "--over", "micro-batch=1,2"]
    assert run(["sweep", *axes, *PLAN, "--stage", "3", "--svg", "map.svg"]) == 0
    _harmless(capsys.readouterr().err)
    page = Path("page.html").read_text(encoding="utf-8")
    drawing = Path("map.svg").read_text(encoding="utf-8")
    for text in (page, drawing):
        _harmless(text)
        assert "<script" not in text
    ET.fromstring(drawing)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_printed_to_be_typed_or_read_back_names_the_same_model(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    model = _model(name)
    assert run(["recommend", "--model", model, *PLAN]) == 0
    if NAMES[name].isprintable():
        commands = re.findall(r"^  zplan (.*)$", capsys.readouterr().out, re.MULTILINE)
        assert commands
        for command in commands:
            words = shlex.split(command)
            assert words[words.index("--model") + 1] == model
    capsys.readouterr()
    assert run(["estimate", "--model", model, *PLAN, "--stage", "2", "--json"]) == 0
    first = capsys.readouterr().out
    Path("first.json").write_text(first, encoding="utf-8")
    if NAMES[name].isprintable():
        assert run(["estimate", "first.json", "--json"]) == 0
        assert json.loads(capsys.readouterr().out)["plans"] == json.loads(first)["plans"]
