"""A hint is a promise: what it tells to type is typed here, in process, and has to be answered."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from test_bad_input import TABLE

from zplan.cli.app import run

_FLAG = re.compile(r"--[a-z][a-z-]*")
_PROSE = {"or", "and", "for", "out", "in", "is", "says", "takes", "both", "of", "to", "alone", "are", "needs"}
NO_VALUE = {"--help", "--json", "--compile", "--explain", "--fail-if-oom"}


def _words(hint: str) -> list[str]:
    """A hint's words; punctuation that ends a command is a word of its own."""
    return re.sub(r"([,;:?()]|\.)(?= |$)", r" \1 ", hint).split()


def _flags(words: list[str], start: int) -> tuple[list[str], int]:
    """The run of ``--flag value`` pairs that starts here, and where it ends."""
    found: list[str] = []
    while start < len(words) and _FLAG.fullmatch(words[start]):
        found.append(words[start])
        start += 1
        if found[-1] not in NO_VALUE:
            if start == len(words) or words[start] in _PROSE or not words[start][0].isalnum():
                return [], start
            found.append(words[start])
            start += 1
    return found, start


def _command(words: list[str], start: int) -> tuple[list[str], int]:
    """The arguments of the ``zplan`` command that starts here, and where it ends."""
    args = [words[start + 1]]
    start += 2
    if args[0] in NO_VALUE:
        return args, start
    if args[0] == "presets" and words[start] in ("ls", "show"):
        takes = ("models", "gpus", "nodes") if words[start] == "ls" else None
        args.append(words[start])
        start += 1
        if start < len(words) and (words[start] in takes if takes else words[start] not in ",;"):
            args.append(words[start])
            start += 1
    flags, start = _flags(words, start)
    return args + flags, start


def _applied(typed: list[str], run_of_flags: list[str]) -> list[str]:
    """What was typed with these flags instead of, or beside, its own."""
    kept: list[str] = []
    index = 0
    while index < len(typed):
        size = 2 if typed[index].startswith("--") and typed[index] not in NO_VALUE else 1
        if typed[index] not in run_of_flags or not typed[index].startswith("--"):
            kept += typed[index : index + size]
        index += size
    return kept + run_of_flags


def promised(typed: list[str], hint: str) -> list[list[str]]:
    """Every command that a hint promises, in full.

    Args:
        typed: What was refused.
        hint: What was answered: whole commands (``zplan ...``), flags to use instead, flags to leave out.

    Returns:
        The arguments of each, after ``zplan``.
    """
    words = _words(hint)
    commands: list[list[str]] = []
    index = 0
    while index < len(words):
        if words[index] == "zplan" and index + 1 < len(words) and re.fullmatch("[a-z]+|--help", words[index + 1]):
            command, index = _command(words, index)
            commands.append(command)
        elif words[index] == "leave" and index + 2 < len(words) and words[index + 2] == "out":
            flag = words[index + 1]
            commands.append(_applied(typed, [flag])[:-1])
            index += 3
        elif _FLAG.fullmatch(words[index]):
            flags, end = _flags(words, index)
            if flags:
                commands.append(_applied(typed, flags))
            index = max(end, index + 1)
        else:
            index += 1
    return commands


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    monkeypatch.chdir(tmp_path)


def _config(folder: str, **keys: object) -> None:
    Path(folder).mkdir()
    Path(folder, "config.json").write_text(json.dumps(keys))


def test_commands_are_found_in_hints() -> None:
    typed = ["estimate", "--params", "7B", "--stage", "9", "--json"]
    assert promised(typed, "did you mean --stage 2 or --stage 3?") == [
        ["estimate", "--params", "7B", "--json", "--stage", "2"],
        ["estimate", "--params", "7B", "--json", "--stage", "3"],
    ]
    assert promised(typed, "use --engine ddp, or leave --stage out") == [
        ["estimate", "--params", "7B", "--stage", "9", "--json", "--engine", "ddp"],
        ["estimate", "--params", "7B", "--json"],
    ]
    assert promised(typed, "list them: zplan presets ls gpus; or see zplan estimate --help") == [
        ["presets", "ls", "gpus"],
        ["estimate", "--help"],
    ]
    assert promised(typed, "zplan presets show a100-80g; all names: zplan presets ls") == [
        ["presets", "show", "a100-80g"],
        ["presets", "ls"],
    ]
    assert promised(typed, "check the network, or pass its path to --model") == []


MORE = [
    "estimate --params 7B --gpus 1 --engine single --offload all",
    "estimate --params 7B --gpus 8 --engine ddp --offload optimizer",
    "estimate --params 7B --gpus 8 --engine fsdp1 --stage 0",
    "estimate --params 7B --gpus 8 --engine fsdp1 --offload optimizer",
    "estimate --params 7B --gpus 8 --stage 1 --offload all",
    "estimate --params 7B --gpus 6 --hpz 4",
    "estimate --params 7B --gpus 8 --engine fsdp2 --hpz 4",
    "estimate --params 7B --gpus 8 --engine fsdp2 --zero-init on",
    "estimate --params 7B --gpus 1000000 --rank 1000000",
    "estimate --params 7B --gpus 999999",
    "estimate --params 7B --gpus 7 --node box-4x-l40s",
    "estimate --params 7B --gpus 16 --nodes 1 --node dgx-h100",
    "estimate --params 7B --gpu rtx-2080ti-11g --precision bf16-pure",
    "estimate --params 7B --quantize int9 --lora 8",
    "estimate --params 7B --quantize int8",
    "estimate --params 7B --gpu-mem 80gbit",
    "estimate --params 7B --gpu-mem 1,5",
    "estimate --params 7B --gpu-mem 9999999",
    "estimate --params 123456",
    "estimate --params 999",
    "estimate --params 7Q",
    "estimate --params 1000T",
    "estimate --model opt-125m --seq-len 1m",
    "estimate --model gpt2 --checkpointing every-13",
    "estimate --model gpt2 --lora 1024",
    "estimate --model empty",
    "estimate --model adapter",
    "estimate --model t5",
    "estimate --model nothing",
    "estimate --model llama2-7b",
    "estimate --model qwen-7b",
    "estimate --model 'my model'",
    "estimate --params 7B --gpu ''",
    "estimate --params 7B --node ''",
    "estimate --params 7B --gpu h100",
    "estimate --params 7B --gpu b100",
    "estimate --params 7B --node dgx",
    "presets show h10",
    "presets ls modells",
    "presets show",
    "presets",
]
"""Refused too (those that are answered must be right), in a folder with three broken models."""


@pytest.mark.parametrize("typed", [*(row[0] for row in TABLE), *MORE])
def test_every_command_of_a_hint_works(capsys: pytest.CaptureFixture[str], typed: str) -> None:
    Path("empty").mkdir()
    Path("adapter").mkdir()
    Path("adapter", "adapter_config.json").write_text("{}")
    _config("t5", model_type="t5", d_model=512)
    _config("nothing")
    words = shlex.split(typed)
    code = run(words)
    err = capsys.readouterr().err
    if code == 0:
        assert typed in MORE and err == ""
        return
    commands = promised(words, err.splitlines()[1].removeprefix("hint: "))
    assert commands, err
    for command in commands:
        if not any("nowhere" in word for word in command):  # a file that the test itself made up
            assert run(command) == 0, (err, command, capsys.readouterr().err)
            capsys.readouterr()


def test_the_hint_about_a_broken_preset_works_in_a_shell(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A broken file of one's own stands in the way of all names, so the hint's command has to do without the folder."""
    for kind, words in (("models", "estimate --model llama-3.1-8b"), ("gpus", "estimate --params 7B --gpu a100")):
        Path("mine", kind).mkdir(parents=True)
        Path("mine", kind, "x.yaml").write_text("{{{")
        monkeypatch.setenv("ZPLAN_PRESETS", "mine")
        assert run(words.split()) == 2
        err = capsys.readouterr().err
        shown = re.search(r"ZPLAN_PRESETS= zplan (.*)$", err.splitlines()[1])
        assert shown is not None, err
        monkeypatch.setenv("ZPLAN_PRESETS", "")
        assert run(shown[1].split()) == 0
        capsys.readouterr()
