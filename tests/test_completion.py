"""Completion in the shells themselves: their script is loaded, and they are asked what may follow."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from zplan.cli.app import run
from zplan.cli.complete import OFFERED
from zplan.cli.options import PlanOptions
from zplan.inputs.presets import list_gpus, list_models

ASKED: list[tuple[str, set[str]]] = [
    ("zplan est", {"estimate"}),
    ("zplan estimate --model llama-3.1-", {"llama-3.1-8b", "llama-3.1-70b", "llama-3.1-405b"}),
    ("zplan recommend --gpu v100-16g,v100", {"v100-16g,v100-16g", "v100-16g,v100-32g"}),
    ("zplan presets ls ", {"models", "gpus", "nodes"}),
    ("zplan explain logits", {"logits", "logits_grad"}),
]


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """An environment in which the command is called zplan, and the home is nobody's."""
    command = tmp_path / "bin" / "zplan"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m zplan "$@"\n', encoding="utf-8")
    command.chmod(0o755)
    (tmp_path / "home").mkdir()
    path = f"{command.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    return {**os.environ, "PATH": path, "HOME": str(tmp_path / "home"), "ZPLAN_NO_CACHE": "1"}


def _run(program: str, script: str, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    (Path(environment["HOME"]) / "README.md").touch()
    return subprocess.run(
        [program, "-c", script],
        cwd=environment["HOME"],
        capture_output=True,
        text=True,
        env=environment,
        timeout=120,
        check=False,
    )


_BASH = """
eval "$(_ZPLAN_COMPLETE=source_bash zplan)"
complete -p zplan >/dev/null || exit 1
ask() {{ COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1)); _zplan_completion zplan; echo "${{COMPREPLY[@]}}"; }}
{questions}
"""


@pytest.mark.skipif(shutil.which("bash") is None, reason="no bash here")
def test_bash_is_told(shell: dict[str, str]) -> None:
    questions = "".join(
        f"COMP_WORDS=({line}{' ' + repr('') if line.endswith(' ') else ''}); ask\n" for line, _ in ASKED
    )
    done = _run("bash", _BASH.format(questions=questions), shell)
    assert done.stderr == ""
    for (line, expected), told in zip(ASKED, done.stdout.splitlines(), strict=True):
        assert set(told.split()) == expected, line


@pytest.mark.skipif(shutil.which("fish") is None, reason="no fish here")
def test_fish_is_told(shell: dict[str, str]) -> None:
    script = "_ZPLAN_COMPLETE=source_fish zplan | source\n"
    script += "".join(f'echo (complete -C "{line}" | string replace -r "\\t.*" "")\n' for line, _ in ASKED)
    done = _run("fish", script, shell)
    for (line, expected), told in zip(ASKED, done.stdout.splitlines(), strict=True):
        assert expected <= set(told.split()), line
    told = _run("fish", '_ZPLAN_COMPLETE=source_fish zplan | source; complete -C "zplan check READ"', shell).stdout
    assert "README.md" in told, "where there are no words, files are offered"


@pytest.mark.skipif(shutil.which("zsh") is None, reason="no zsh here")
def test_zsh_is_told(shell: dict[str, str]) -> None:
    script = """
    compdef() { compfunction=$1 }
    _arguments() { print -r -- "$@" | tr '\\n' ' ' | tr -d '\\\\'; print }
    _files() { print files }
    eval "$(_ZPLAN_COMPLETE=source_zsh zplan)"
    ask() { words=("$@"); CURRENT=$#words; $compfunction }
    """
    quoted = [f"ask {line}{repr('') if line.endswith(' ') else ''}" for line, _ in ASKED]
    done = _run("zsh", script + "\n".join(quoted), shell)
    for (line, expected), told in zip(ASKED, done.stdout.splitlines(), strict=True):
        assert all(f'"{word}"' in told for word in expected), (line, told)


def _complete(line: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> tuple[int, str, str]:
    monkeypatch.setenv("_ZPLAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", line)
    monkeypatch.setenv("COMP_CWORD", str(len(line.split(" ")) - 1))
    code = run([])
    out, err = capsys.readouterr()
    return code, out, err


def test_a_broken_folder_of_presets_is_silent(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ZPLAN_PRESETS", "/no/such/folder")
    code, out, err = _complete("zplan estimate --model lla", capsys, monkeypatch)
    assert (code, out.strip(), err) == (0, "", "")


def test_a_shell_that_asks_wrongly_gets_silence(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("_ZPLAN_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", "zplan est")
    monkeypatch.setenv("COMP_CWORD", "many")
    assert run([]) == 1
    assert capsys.readouterr() == ("", "")


def test_what_is_offered_is_taken() -> None:
    from zplan.cli.parse import parse_job

    names = {"--" + name.replace("_", "-"): name for name in PlanOptions.__dataclass_fields__}
    for flag, words in OFFERED.items():
        for word in words():
            if flag in names and flag not in ("--model", "--gpu", "--node"):
                parse_job({names[flag]: word, "lora": "16"})
    assert set(OFFERED["--model"]()) == set(list_models())
    assert set(OFFERED["--gpu"]()) == set(list_gpus())


def test_a_home_that_cannot_be_written_is_said(shell: dict[str, str]) -> None:
    done = _run("bash", "HOME=/dev/null zplan --install-completion; exit $?", shell)
    assert (done.returncode, done.stdout) == (2, "")
    error, hint = done.stderr.splitlines()
    assert error.startswith("error: completion cannot be installed: ")
    assert hint == "hint: print it: zplan --show-completion"


def test_a_shell_that_is_not_known_is_said(shell: dict[str, str]) -> None:
    done = _run("sh", "zplan --install-completion; exit $?", shell)
    if "bash" in done.stdout:
        pytest.skip("sh is bash here")
    assert (done.returncode, done.stdout) == (2, "")
    assert [line.partition(": ")[0] for line in done.stderr.splitlines()] == ["error", "hint"]


def test_it_installs(shell: dict[str, str]) -> None:
    done = _run("bash", "zplan --install-completion && . ~/.bashrc && complete -p zplan", shell)
    assert done.returncode == 0, done.stderr
    assert "-F _zplan_completion zplan" in done.stdout
