"""Ways out where nothing fits: what they say is what the command answers when they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from zplan.cli.app import run


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Command:
    """Runs the command line in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys

    def run(self, *words: str) -> tuple[int, str, str]:
        code = run(words)
        out, err = self.capsys.readouterr()
        return code, out, err


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


def ways_of(command: Command, *words: str) -> dict[str, dict[str, object]]:
    code, out, err = command.run("recommend", *words, "--json")
    assert code == 3, err
    return {way["name"]: way for way in json.loads(out)["if_nothing_fits"]["ways"]}


@pytest.mark.parametrize("card", ["v100-16g", "rtx-3090-24g"])
def test_no_way_out_in_fp32_needs_what_fp32_or_the_card_lacks(command: Command, card: str) -> None:
    ways = ways_of(command, "--model", "llama-3.1-8b", "--gpu", card, "--precision", "fp32", "--host-mem", "64")
    assert "flash_attention" not in ways  # it takes 16-bit numbers
    assert ("bf16_pure" in ways) == (card == "rtx-3090-24g")  # a V100 has no bf16


def test_a_way_out_with_flash_attention_drops_the_kernel_that_was_named(command: Command) -> None:
    words = [
        "--model",
        "llama-3.1-8b",
        "--gpu",
        "v100-32g",
        "--gpus",
        "1",
        "--engine",
        "single",
        "--checkpointing",
        "none",
        "--optimizer",
        "sgd",
    ]
    words += ["--seq-len", "4096"]
    named = ways_of(command, *words, "--attention", "math")["flash_attention"]
    assert str(named["flags"]).endswith("instead of --gpu and --attention")
    assert named["value"] == ways_of(command, *words)["flash_attention"]["value"]
    assert "flash_attention" not in ways_of(command, *words, "--attention", "eager")


@pytest.mark.parametrize("card", ["--gpu t4", "--gpu-mem 6", "--gpu-mem 24 --optimizer paged_adamw_8bit"])
def test_the_card_that_is_a_way_out_is_the_smallest(command: Command, card: str) -> None:
    words = f"recommend --model qwen2.5-7b --gpus 1 --host-mem 16 --stage 0 --json {card}".split()
    code, out, err = command.run(*words)
    assert code == 3, err
    found = json.loads(out)["if_nothing_fits"]
    (flags,) = [way["flags"] for way in found["ways"] if way["name"] == "gpu_mem"]
    gib = int(flags.split()[1].removesuffix("GiB"))
    assert gib - 1 < found["min_gpu_mem_bytes"] / 2**30 <= gib
    for size, sure in ((gib, True), (gib - 1, False)):
        code, out, _ = command.run(*words, "--gpu-mem", f"{size}GiB")
        plan = json.loads(out)["recommended"]
        assert (plan is not None and plan["gpu"]["verdict"] == "fits") == sure


def test_a_way_out_that_is_enough_by_its_expected_value_says_so(command: Command) -> None:
    words = ["recommend", "--model", "llama-2-13b", "--gpu-mem", "31", "--engine", "fsdp2", "--seq-len", "512"]
    words += ["--attention", "math", "--host-mem", "128", "--checkpointing", "full"]
    code, out, err = command.run(*words, "--json")
    assert code == 3, err
    tight = [way for way in json.loads(out)["if_nothing_fits"]["ways"] if way["tight"]]
    assert [way["name"] for way in tight] == ["bf16_pure", "lora"]
    assert not any(way["fits"] for way in tight)
    code, out, _ = command.run(*words, *tight[0]["flags"].split(), "--json")
    assert (code, json.loads(out)["recommended"]["gpu"]["verdict"]) == (0, "tight")
    assert "runs tightly" in command.run(*words)[1].replace("\n", " ")
