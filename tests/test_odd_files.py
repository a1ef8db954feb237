"""Files and devices that are no config, no log and no measurement: refused in two lines, soon, whoever reads them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zplan.cli.app import run

PLAN = ["--params", "7B", "--gpus", "8", "--gpu-mem", "80"]
READERS = {
    "a plan": lambda path: ["estimate", path],
    "a ds_config.json": lambda path: ["estimate", *PLAN, "--ds-config", path],
    "a config": lambda path: ["check", path, *PLAN],
    "an estimate": lambda path: ["diff", path, path],
    "a log": lambda path: ["explain", "--oom", path],
    "a measurement": lambda path: ["estimate", *PLAN, "--stage", "3", "--measured", path],
    "a model": lambda path: ["estimate", "--model", path],
}


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    monkeypatch.chdir(tmp_path)


def _refused(capsys: pytest.CaptureFixture[str], args: list[str]) -> tuple[str, str]:
    code = run(args)
    out, err = capsys.readouterr()
    assert (code, out) == (2, ""), err
    error, hint = err.splitlines()
    assert error.startswith("error: ") and hint.startswith("hint: ")
    return error, hint


def _odd(name: str) -> str:
    """Makes an odd thing in this folder; its path."""
    path = Path("./odd")
    if name == "nested":
        path.write_text("[" * 100_000 + "]" * 100_000, encoding="ascii")
    elif name == "loop":
        path.symlink_to(path.name)
    elif name == "dangling":
        path.symlink_to("nowhere")
    elif name == "folder":
        path.mkdir()
    elif name == "pipe":
        os.mkfifo(path)
    elif name == "empty":
        path.touch()
    elif name == "binary":
        path.write_bytes(bytes(range(256)) * 20)
    else:
        return name
    return "./odd"


THINGS = [
    "nested",
    "loop",
    "dangling",
    "folder",
    "pipe",
    "empty",
    "binary",
    "/dev/null",
    "/dev/zero",
    "a\0b",
    "x" * 5000,
]


# A log may come through a pipe, as in <(journalctl).
BOTH = [(reader, thing) for reader in READERS for thing in THINGS if (reader, thing) != ("a log", "pipe")]


@pytest.mark.parametrize(
    ("reader", "thing"), BOTH, ids=lambda word: word[:20].replace("\0", "0") if len(word) < 99 else "long"
)
def test_every_reader_refuses_it(capsys: pytest.CaptureFixture[str], reader: str, thing: str) -> None:
    error, hint = _refused(capsys, READERS[reader](_odd(thing)))
    assert "internal" not in error and len(error) + len(hint) < 800


def test_a_log_comes_through_a_pipe() -> None:
    log = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 7.83 GiB. GPU 0 has a total capacity of 39.39 GiB"
    command = f"\"$PY\" -m zplan explain --oom <(echo '{log}')"
    environment = {**os.environ, "ZPLAN_NO_CACHE": "1", "PY": sys.executable}
    done = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60, check=False
    )
    assert done.returncode == 0
    assert done.stdout.startswith("7.83 GiB did not fit")


@pytest.mark.parametrize("content", ["[" * 100_000, "\0", "[1]", '{"version": 1, "options": [1]}', "x" * 2_000_000])
def test_a_broken_last_plan_is_no_plan(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, content: str
) -> None:
    monkeypatch.delenv("ZPLAN_NO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    (tmp_path / "zplan").mkdir()
    (tmp_path / "zplan" / "last.json").write_text(content, encoding="utf-8")
    error, _ = _refused(capsys, ["recommend"])
    assert "no model" in error


def test_a_relative_home_gets_no_folder(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("ZPLAN_NO_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setenv("HOME", "somewhere")
    assert run(["estimate", *PLAN]) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "args",
    [
        ["report", *PLAN, "-o"],
        ["recommend", *PLAN, "--write"],
        ["verify", *PLAN, "--save"],
        ["sweep", *PLAN, "--over", "micro-batch=1..2", "--svg"],
    ],
    ids=lambda args: args[0],
)
@pytest.mark.parametrize(
    ("target", "error"),
    [("", "is empty"), (" ", "is empty"), (".", "is a folder"), ("no/such/x", "the folder of"), ("/dev/null", "not a")],
)
def test_a_target_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, args: list[str], target: str, error: str
) -> None:
    said, hint = _refused(capsys, [*args, target])
    assert error in said
    assert "ds_config.json" not in hint
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_an_error_that_cannot_be_told_keeps_its_exit_code() -> None:
    done = subprocess.run(
        ["bash", "-c", '"$PY" -m zplan estimate --params 7X 2>/dev/full'],
        env={**os.environ, "PY": sys.executable},
        timeout=60,
        check=False,
        capture_output=True,
    )
    assert (done.returncode, done.stdout) == (2, b"")


OTHER_KINDS = {
    "ds.json": '{"zero_optimization": {"stage": 2}, "optimizer": {"type": "AdamW"}, "bf16": {"enabled": true}}',
    "accelerate.yaml": "distributed_type: MULTI_GPU\nnum_processes: 8\n",
    "axolotl.yaml": "base_model: NousResearch/Llama-3.2-1B\noptimizer: adamw_torch\n",
    "factory.yaml": "model_name_or_path: meta-llama/Llama-3.1-8B\nfinetuning_type: full\nstage: sft\n",
    "trainer.json": '{"output_dir": "out", "per_device_train_batch_size": 4}',
}


@pytest.mark.parametrize("name", OTHER_KINDS)
def test_a_config_in_the_place_of_a_plan_is_told_where_to_go(capsys: pytest.CaptureFixture[str], name: str) -> None:
    Path(name).write_text(OTHER_KINDS[name], encoding="utf-8")
    _, hint = _refused(capsys, ["estimate", name])
    command = hint.partition(": zplan ")[2].split()
    assert command[:2] == ["check", name]
    assert run(command) == 0


@pytest.mark.parametrize("name", ["plan.yaml", "plan.json", "estimate.json"])
def test_a_plan_in_the_place_of_a_config_is_told_where_to_go(capsys: pytest.CaptureFixture[str], name: str) -> None:
    if name == "estimate.json":
        assert run(["estimate", *PLAN, "--stage", "3", "--json"]) == 0
        text = capsys.readouterr().out
    else:
        text = "params: 7B\ngpus: 8\n" if name == "plan.yaml" else json.dumps({"params": "7B", "gpus": 8})
    Path(name).write_text(text, encoding="utf-8")
    _, hint = _refused(capsys, ["check", name, *PLAN])
    command = hint.partition(": zplan ")[2].split()
    assert command == ["estimate", name]
    assert run(command) == 0


def test_the_example_that_a_broken_config_names_can_be_written_beside_it(capsys: pytest.CaptureFixture[str]) -> None:
    Path("ds_config.json").write_text('{"zero_optimization": {"stage": 3', encoding="utf-8")
    _, hint = _refused(capsys, ["check", "ds_config.json", *PLAN])
    command = hint.partition("zplan ")[2].partition(" writes")[0].split()
    assert run(command) == 0
    assert json.loads(Path(command[-1]).read_text(encoding="utf-8"))
