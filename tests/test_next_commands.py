"""What ``recommend`` says to type next is the plan that it recommends: written, checked and priced again, to the byte."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from zplan.cli.app import run

ASKED = {
    "a tuned bucket": "--model llama-3.1-8b --gpus 8 --gpu a100-40g --seq-len 4096",
    "a part of the states offloaded": "--params 7B --gpus 4 --gpu v100-32g --checkpointing selective",
    "experts, mostly offloaded": "--model mixtral-8x7b --gpus 8 --gpu h100-80g --seq-len 512 --checkpointing full",
    "nothing tuned": "--model gpt2 --gpus 8 --gpu a100-80g",
    "adapters": "--model llama-3.1-8b --gpus 4 --gpu a100-80g --micro-batch 4 --lora 16 --loss fused",
}
_OF_THE_FILE = ("--stage", "--micro-batch", "--grad-accum", "--offload", "--offload-to", "--hpz")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    monkeypatch.chdir(tmp_path)


def _answer(capsys: pytest.CaptureFixture[str], args: list[str]) -> dict[str, Any]:
    assert run([*args, "--json"]) == 0, capsys.readouterr().err
    answer: dict[str, Any] = json.loads(capsys.readouterr().out)
    return answer


def _same(plan: dict[str, Any], recommended: dict[str, Any]) -> None:
    for key in ("gpu", "host", "nvme", "time"):
        assert plan[key] == recommended[key], key


def _next(capsys: pytest.CaptureFixture[str], args: list[str]) -> list[list[str]]:
    assert run(args) == 0
    lines = re.findall(r"^  zplan (.*)$", capsys.readouterr().out, re.MULTILINE)
    return [shlex.split(line) for line in lines]


@pytest.mark.parametrize("asked", ASKED)
def test_the_commands_after_a_recommendation_are_of_the_recommended_plan(
    capsys: pytest.CaptureFixture[str], asked: str
) -> None:
    typed = ["recommend", *ASKED[asked].split()]
    recommended = _answer(capsys, typed)["recommended"]
    write, verify = _next(capsys, typed)
    assert write[-2] == "--write" and verify[0] == "verify"
    assert _next(capsys, write)[0] == verify
    _same(_answer(capsys, ["estimate", *verify[1:]])["plans"][0], recommended)

    kept = write[1:-2]
    for flag in _OF_THE_FILE:
        if flag in kept:
            del kept[kept.index(flag) : kept.index(flag) + 2]
    _same(_answer(capsys, ["check", write[-1], *kept])["plans"][0], recommended)


def test_a_sound_file_whose_plan_does_not_fit_is_not_called_fine(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["--model", "llama-3.1-8b", "--gpus", "8", "--gpu", "a100-40g", "--seq-len", "4096"]
    assert run(["recommend", *plan, "--write", "ds.json"]) == 0
    capsys.readouterr()
    assert run(["check", "ds.json", *plan]) == 0
    out = capsys.readouterr().out
    assert "ds.json: nothing to correct in the file, but the plan does not fit." in out
    assert "does not say --checkpointing and --loss" in out
    assert run(["check", "ds.json", *plan, "--checkpointing", "full", "--loss", "chunked"]) == 0
    assert capsys.readouterr().out.endswith("✓ ds.json: nothing to correct.\n")
