"""Bad input: one ``error:`` line, one ``hint:`` line, nothing on stdout, the right exit code, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from zplan.cli.app import run

OK = ["--params", "7B", "--gpus", "8", "--gpu-mem", "80"]

# What is typed after `zplan`, a part of the error, a part of the hint.
TABLE: list[tuple[str, str, str]] = [
    # commands and options
    ("estimat --params 7B", "unknown command 'estimat'", "zplan estimate --help"),
    ("frobnicate", "unknown command 'frobnicate'", "zplan --help"),
    ("--frobnicate", "no such option: --frobnicate", "zplan --help"),
    ("estimate --params 7B --gpuss 8", "no such option: --gpuss", "did you mean --gpus?"),
    ("estimate --params", "requires an argument", "zplan estimate --help"),
    ("estimate zplan.yaml extra", "unexpected extra argument", "zplan estimate --help"),
    ("estimate nowhere.yaml", "'nowhere.yaml': no such file", "params: 7B"),
    ("estimate --params 7B --json=yes", "does not take a value", "zplan estimate --help"),
    ("presets lss", "unknown command 'lss'", "zplan presets ls --help"),
    ("presets frobnicate", "unknown command 'frobnicate'", "zplan presets --help"),
    ("presets ls gpu", "unknown kind of preset 'gpu'", "zplan presets ls gpus"),
    ("presets show", "which preset?", "zplan presets show a100-80g"),
    ("presets show lama-2-7b", "unknown preset 'lama-2-7b'", "zplan presets show llama-2-7b"),
    ("presets show xxxxxxxxxxx", "unknown preset", "zplan presets ls"),
    # the model
    ("estimate", "no model was named", "zplan estimate --params 7B --gpus 8 --gpu-mem 80"),
    ("estimate --params 7B --model gpt2", "--params and --model", "leave --params out"),
    ("estimate --params 7", "not plausible", "--params 7B"),
    ("estimate --params 0", "more than zero", "--params 7B"),
    ("estimate --params -7B", "more than zero", "--params 7B"),
    ("estimate --params nan", "finite", "--params 7B"),
    ("estimate --params 7G", "unknown suffix", "K, M, B or T"),
    ("estimate --params 1e30", "not plausible", "--params 7B"),
    ("estimate --model lama-2-7b", "lama-2-7b", "llama-2-7b"),
    ("estimate --model 7B", "is a size", "zplan estimate --params 7B"),
    ("estimate --model ./nowhere/config.json", "no such file or folder", "zplan"),
    # the hardware
    ("estimate --params 7B --gpus 0", "--gpus must be at least 1", "--gpus 8"),
    ("estimate --params 7B --gpus -8", "--gpus must be at least 1", "--gpus 8"),
    ("estimate --params 7B --gpus 8.5", "--gpus '8.5' is not a whole number", "--gpus 8"),
    ("estimate --params 7B --gpus eight", "not a whole number", "--gpus 8"),
    ("estimate --params 7B --gpus 99999999999", "at most", "--gpus 8"),
    ("estimate --params 7B --gpus 12 --nodes 5", "12 GPUs cannot be spread evenly over 5 nodes", "--gpus 12 --nodes 2"),
    ("estimate --params 7B --gpus 12", "12 GPUs do not fill nodes of 8", "--gpus 12 --nodes 2"),
    ("estimate --params 7B --gpus 8 --nodes 0", "--nodes must be at least 1", "--nodes 2"),
    ("estimate --params 7B --gpu a100-80gg", "a100-80gg", "a100-80g"),
    ("estimate --params 7B --node dgx-h1000", "dgx-h1000", "dgx-h100"),
    ("estimate --params 7B --gpu-mem 0", "more than zero", "--gpu-mem 80GiB"),
    ("estimate --params 7B --gpu-mem -80", "more than zero", "--gpu-mem 80GiB"),
    ("estimate --params 7B --gpu-mem nan", "finite", "--gpu-mem 80GiB"),
    ("estimate --params 7B --gpu-mem inf", "finite", "--gpu-mem 80GiB"),
    ("estimate --params 7B --gpu-mem 80G", "ambiguous", "--gpu-mem 80GiB"),
    ("estimate --params 7B --gpu-mem 80Gb", "in bits", "--gpu-mem 80GB"),
    ("estimate --params 7B --gpu-mem 81559", "not plausible", "--gpu-mem 81559MiB"),
    ("estimate --params 7B --gpu-mem 1KB", "not plausible", "--gpu-mem 80GiB"),
    ("estimate --params 7B --gpu-mem lots", "number", "--gpu-mem 80GiB"),
    ("estimate --params 7B --host-mem 80G", "ambiguous", "--host-mem 80GiB"),
    ("estimate --params 7B --host-mem 1e9TB", "not plausible", "--host-mem 512GiB"),
    ("estimate --params 7B --nvme 0TB", "more than zero", "--nvme 3.84TB"),
    # the job
    ("estimate --params 7B --stage 4", "unknown stage '4'", "--stage 0"),
    ("estimate --params 7B --stage -1", "unknown stage '-1'", "--stage"),
    ("estimate --params 7B --stage two", "unknown stage 'two'", "--stage"),
    ("estimate --params 7B --engine deepsped", "unknown engine", "--engine deepspeed"),
    ("estimate --params 7B --precision bf61", "unknown precision", "--precision bf16"),
    ("estimate --params 7B --optimizer adamwtorch", "unknown optimizer", "--optimizer adamw_torch"),
    ("estimate --params 7B --optimizer zzz", "unknown optimizer", "adamw"),
    ("estimate --params 7B --attention flsh", "unknown attention", "--attention flash"),
    ("estimate --params 7B --loss standrad", "unknown loss", "--loss standard"),
    ("estimate --params 7B --offload optimiser", "unknown offload", "--offload optimizer"),
    ("estimate --params 7B --offload-to disk", "unknown place", "--offload-to nvme"),
    ("estimate --params 7B --quantize nf8", "unknown quantization", "--quantize nf4"),
    ("estimate --params 7B --zero-init yes", "--zero-init", "--zero-init on"),
    ("estimate --params 7B --gpus 8 --stage full_shard", "unknown stage", "--stage 3"),
    ("estimate --params 7B --gpus 8 --engine zero", "unknown engine", "--engine deepspeed"),
    ("estimate --params 7B --gpus 8 --offload cpu", "unknown offload", "--offload optimizer"),
    ("estimate --params 7B --gpus 8 --offload params", "unknown offload", "--offload all"),
    ("estimate --params 7B --precision float16", "unknown precision", "--precision fp16"),
    ("estimate --params 7B --precision bfloat16", "unknown precision", "--precision bf16"),
    ("estimate --params 7B --optimizer 8bit", "unknown optimizer", "--optimizer adamw_8bit"),
    ("estimate --params 7B --checkpointing on", "unknown checkpointing", "--checkpointing full"),
    ("estimate --params 7B --checkpointing off", "unknown checkpointing", "--checkpointing none"),
    ("estimate --params 7B --attention flash_attention_2", "unknown attention", "--attention flash"),
    ("estimate --params 7B --loss liger", "unknown loss", "--loss fused"),
    ("estimate --params 7B --lora 16 --quantize 4bit", "unknown quantization", "--quantize nf4"),
    ("estimate --params 7B --gpus 8 --zero-init true", "unknown setting", "--zero-init on"),
    ("estimate --params 7B --unit GIBB", "unknown unit", "--unit GiB"),
    ("estimate --params 7B --micro-batch 0", "--micro-batch must be at least 1", "--micro-batch 4"),
    ("estimate --params 7B --micro-batch 1.5", "not a whole number", "--micro-batch 4"),
    ("estimate --params 7B --seq-len 0", "--seq-len must be at least 1", "--seq-len 4096"),
    ("estimate --params 7B --seq-len 1e99", "not a whole number", "--seq-len 4096"),
    ("estimate --params 7B --seq-len 100000000", "at most", "--seq-len 4096"),
    ("estimate --params 7B --grad-accum 0", "--grad-accum must be at least 1", "--grad-accum 8"),
    ("estimate --params 7B --lora 0", "--lora must be at least 1", "--lora 16"),
    ("estimate --params 7B --checkpointing ful", "unknown checkpointing", "--checkpointing full"),
    ("estimate --params 7B --checkpointing every-0", "whole number from 1", "--checkpointing every-2"),
    ("estimate --params 7B --checkpointing every-K", "whole number from 1", "--checkpointing every-2"),
    ("estimate --params 7B --checkpointing every-", "whole number from 1", "--checkpointing every-2"),
    ("estimate --params 7B --rank first", "--rank 'first' is not a whole number", "--rank 0"),
    ("estimate --params 7B --ds-config nowhere.json", "nowhere.json", "zplan"),
    ("estimate --params 7B --gpus 8 --engine ddp --ds-config nowhere.json", "configures DeepSpeed", "--engine"),
    # contradictions
    ("estimate --params 7B --gpus 8 --rank 8", "--rank 8 does not exist", "--rank 7"),
    ("estimate --params 7B --gpus 2 --engine single", "runs on one GPU", "--engine ddp"),
    ("estimate --params 7B --gpus 8 --engine ddp --stage 2", "shards nothing", "--engine deepspeed --stage 2"),
    ("estimate --params 7B --engine single --stage 3", "shards nothing", "--engine deepspeed --stage 3"),
    ("estimate --params 7B --gpus 8 --engine fsdp2 --stage 0", "fsdp2 has no stage 0", "--engine ddp"),
    ("estimate --params 7B --gpus 8 --engine fsdp2 --stage 1", "fsdp2 has no stage 1", "--stage 2"),
    ("estimate --params 7B --gpus 8 --engine ddp --offload all", "offloads nothing", "--engine deepspeed"),
    ("estimate --params 7B --gpus 8 --engine fsdp2 --offload optimizer", "together", "--offload all"),
    ("estimate --params 7B --gpus 8 --stage 2 --offload all", "only stage 3", "--stage 2 --offload optimizer"),
    ("estimate --params 7B --gpus 8 --stage 0 --offload optimizer", "stage 0 offloads nothing", "--stage 2"),
    ("estimate --params 7B --gpus 8 --stage 0 --offload all", "only stage 3", "--stage 3 --offload all"),
    ("estimate --params 7B --gpus 8 --stage 2 --offload optimizer --offload-to nvme", "stage 3", "--offload-to cpu"),
    ("estimate --params 7B --gpus 8 --stage 3 --offload-to nvme", "not what", "--offload optimizer"),
    ("estimate --params 7B --gpus 8 --engine ddp --offload-to nvme", "NVMe", "--engine deepspeed"),
    ("estimate --params 7B --gpus 8 --stage 3 --hpz 3", "--hpz 3 does not divide 8 GPUs", "--hpz 2"),
    ("estimate --params 7B --gpus 8 --stage 3 --hpz 16", "--hpz 16 does not divide 8 GPUs", "--hpz 8"),
    ("estimate --params 7B --gpus 8 --stage 2 --hpz 8", "stage 3's parameters", "--stage 3 --hpz 8"),
    ("estimate --params 7B --gpus 8 --stage 1 --zero-init on", "stage 3", "--zero-init"),
    ("estimate --params 7B --checkpointing every-99", "32 layers", "--checkpointing every-2"),
    ("estimate --params 7B --lora 9999", "not a low rank", "--lora 16"),
    (
        "estimate --params 10K --lora 16",
        "trains 4.88M parameters (on the shape that --params borrows)",
        "leave --lora out",
    ),
    ("estimate --params 1M --lora 16", "more than the 1M of the model", "--lora 2"),
    ("estimate --model llama-2-7b --lora 4096", "more than the 6.74B of the model", "--lora 16"),
    ("estimate --params 7B --quantize nf4", "freezes the weights", "--quantize nf4 --lora 16"),
    ("estimate --model gpt2 --seq-len 4k", "1024 positions", "--seq-len 1024"),
    ("estimate --params 7B --gpu v100-32g --precision bf16", "no bf16", "--precision fp16"),
    ("estimate --params 7B --gpu t4-16g --precision bf16-pure", "no bf16", "--precision fp16"),
    ("estimate --params 7B --gpus 8 --fail-if-oom", "how much memory a card has", "--gpu-mem 80"),
]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    monkeypatch.delenv("ZPLAN_DEBUG", raising=False)
    monkeypatch.chdir(tmp_path)


def _refused(capsys: pytest.CaptureFixture[str], args: list[str], code: int = 2) -> tuple[str, str]:
    """Run, check the form of the refusal, and return the two lines."""
    assert run(args) == code
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 2, err
    assert lines[0].startswith("error: ") and lines[1].startswith("hint: ")
    assert all(line.isprintable() for line in lines)
    return lines[0], lines[1]


@pytest.mark.parametrize(("typed", "error", "hint"), TABLE, ids=[row[0] for row in TABLE])
def test_bad_input_is_refused_in_two_lines(
    capsys: pytest.CaptureFixture[str], typed: str, error: str, hint: str
) -> None:
    said_error, said_hint = _refused(capsys, typed.split())
    assert error in said_error
    assert hint in said_hint


@pytest.mark.parametrize(
    "option", ["--params", "--model", "--gpu", "--gpu-mem", "--stage", "--optimizer", "--micro-batch"]
)
@pytest.mark.parametrize("word", ["", " ", "\x00", "a\nb", "\x1b[31mred", "x" * 100_000, "\udc80", "💥", "%s", "../.."])
def test_hostile_words_are_shown_in_one_short_line(capsys: pytest.CaptureFixture[str], option: str, word: str) -> None:
    base = ["estimate", *([] if option in ("--params", "--model") else ["--params", "7B"])]
    error, hint = _refused(capsys, [*base, option, word])
    assert len(error) < 500 and len(hint) < 500


CONFIGS: dict[str, bytes] = {
    "empty": b"",
    "truncated": b'{"model_type": "llama", "hidden_size": 40',
    "not JSON": b"hidden_size: 4096",
    "not UTF-8": b"\xff\xfe\x00\x01" * 10,
    "a list": b"[1, 2, 3]",
    "a number": b"42",
    "null": b"null",
    "no type": b'{"hidden_size": 4096}',
    "unknown type": b'{"model_type": "nonesuch", "hidden_size": 4096}',
    "deeply nested": b"[" * 100_000 + b"]" * 100_000,
    "nested objects": b'{"a":' * 50_000 + b"1" + b"}" * 50_000,
    "huge": b'{"model_type": "llama", "x": "' + b"y" * 20_000_000 + b'"}',
    "a long number": b'{"model_type": "llama", "hidden_size": ' + b"9" * 10_000 + b"}",
}
LLAMA = {
    "model_type": "llama",
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 4,
    "vocab_size": 1000,
    "max_position_embeddings": 512,
}
for _key, _value in [
    ("hidden_size", 0),
    ("hidden_size", -64),
    ("hidden_size", "64"),
    ("hidden_size", 64.5),
    ("hidden_size", [64]),
    ("hidden_size", {"h": 64}),
    ("hidden_size", True),
    ("hidden_size", None),
    ("num_hidden_layers", 10**30),
    ("num_hidden_layers", 0),
    ("num_attention_heads", 0),
    ("num_attention_heads", 5),
    ("num_key_value_heads", 3),
    ("vocab_size", -1),
    ("vocab_size", 10**30),
    ("intermediate_size", "big"),
    ("max_position_embeddings", 0),
    ("model_type", ["llama"]),
    ("model_type", {"a": 1}),
]:
    CONFIGS[f"{_key}={_value!r}"[:40]] = json.dumps({**LLAMA, _key: _value}).encode()


@pytest.mark.parametrize("name", CONFIGS)
def test_a_hostile_config_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_bytes(CONFIGS[name])
    _refused(capsys, ["estimate", "--model", str(tmp_path), "--gpus", "8", "--gpu-mem", "80"])


def test_a_folder_without_a_config_is_refused(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    error, _ = _refused(capsys, ["estimate", "--model", str(tmp_path)])
    assert "config.json" in error


def test_an_unforeseen_error_is_one_line_and_a_traceback_only_on_demand(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(**_: object) -> None:
        raise RuntimeError("boom\nand more")

    monkeypatch.setattr("zplan.inputs.model.resolve_model", broken)
    error, hint = _refused(capsys, ["estimate", *OK], code=1)
    assert error == "error: internal: RuntimeError: boom and more"
    assert "ZPLAN_DEBUG=1" in hint
    monkeypatch.setenv("ZPLAN_DEBUG", "1")
    assert run(["estimate", *OK]) == 1
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupt_is_quiet(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("zplan.inputs.model.resolve_model", interrupted)
    assert run(["estimate", *OK]) == 130
    assert capsys.readouterr() == ("", "")


def _shell(command: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "ZPLAN_NO_CACHE": "1", "PY": sys.executable}
    return subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, env=environment, timeout=60, check=False
    )


@pytest.mark.parametrize("extra", ["", "--json", "--explain"])
def test_a_closed_pipe_is_no_error(extra: str) -> None:
    done = _shell(f'"$PY" -m zplan estimate {" ".join(OK)} {extra} | head -1; echo "${{PIPESTATUS[0]}}"')
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] == "0"


@pytest.mark.parametrize("arguments", ["estimate " + " ".join(OK), "--help", "presets ls models"])
def test_a_reader_that_is_gone_is_no_error(arguments: str) -> None:
    done = _shell(f'"$PY" -m zplan {arguments} | true; exit "${{PIPESTATUS[0]}}"')
    assert (done.stderr, done.returncode) == ("", 0)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full here")
def test_a_full_disk_is_said() -> None:
    done = _shell(f'"$PY" -m zplan estimate {" ".join(OK)} > /dev/full')
    assert done.returncode == 2
    lines = done.stderr.splitlines()
    assert len(lines) == 2
    assert lines[0].startswith("error: cannot write to standard output: ") and lines[1].startswith("hint: ")


def test_a_closed_stdout_is_no_traceback() -> None:
    done = _shell(f'"$PY" -m zplan estimate {" ".join(OK)} --fail-if-oom >&-')
    assert (done.stderr, done.returncode) == ("", 0)


def test_exit_codes_reach_the_shell() -> None:
    done = _shell('"$PY" -m zplan estimate --params 7B --gpus 0')
    assert done.returncode == 2
    assert done.stdout == ""
