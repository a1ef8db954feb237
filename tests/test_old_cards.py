"""Cards without flash attention: which kernel sdpa comes down to, and what it keeps.

Source of the choice: torch ``sdp_utils.cpp`` (flash from compute capability 8.0 on, memory-efficient attention with equal head
counts alone), transformers ``sdpa_attention.py`` (``use_gqa_in_sdpa``); huggingface/transformers#48633 saw it on a T4.
"""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from warm import needs

import zplan
from zplan.cli.app import run
from zplan.errors import ZplanError
from zplan.inputs import presets
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.find import module_of, tables_of
from zplan.memory.activations.pieces import block_memory
from zplan.memory.attention import kernel, writes_scores
from zplan.spec import Attention, ClusterSpec, Job, Plan, Precision

GROUPED, EQUAL = "llama-3.2-1b", "llama-2-7b"


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


class Command:
    """What a command prints."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *words: str) -> tuple[int, str, str]:
        code = run([*words])
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err

    def estimate(self, *words: str) -> dict[str, Any]:
        code, out, err = self.run("estimate", "--gpus", "4", "--stage", "2", *words, "--json")
        assert code == 0, err
        found: dict[str, Any] = json.loads(out)
        return found

    def allocated(self, *words: str) -> int:
        (plan,) = self.estimate(*words)["plans"]
        return int(plan["gpu"]["allocated_peak_bytes"])


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(capsys)


@pytest.mark.parametrize("card", ["t4-16g", "v100-16g", "v100-32g", "rtx-2080ti-11g"])
def test_cards_before_ampere_have_no_flash_attention(command: Command, card: str) -> None:
    assert not presets.load_gpu(card).flash_attention
    code, out, err = command.run("estimate", "--params", "7B", "--gpus", "8", "--gpu", card, "--attention", "flash")
    assert (code, out) == (2, "")
    assert err.splitlines()[0].startswith("error: flash attention has no kernel for NVIDIA ")
    assert "--attention sdpa" in err
    code, out, err = command.run("estimate", "--params", "7B", "--gpus", "8", "--gpu", card)
    assert code == 0
    assert "torch's sdpa attention, which has no flash kernel on NVIDIA" in " ".join(out.split())


def test_all_others_have_it() -> None:
    lacking = {name for name in presets.list_gpus() if not presets.load_gpu(name).flash_attention}
    assert lacking == {"t4-16g", "v100-16g", "v100-32g", "rtx-2080ti-11g"}


def test_grouped_heads_hold_scores_there(command: Command) -> None:
    old = command.allocated("--model", GROUPED, "--gpu", "t4", "--seq-len", "4096")
    flash = command.allocated("--model", GROUPED, "--gpu", "a100-80g", "--seq-len", "4096", "--precision", "fp16")
    # Kept for backward in each of 16 layers: 4 bytes for each of 4096^2 scores of 32 heads.
    assert old - flash > 16 * 4 * 32 * 4096**2
    assert command.allocated("--model", GROUPED, "--gpu", "t4", "--seq-len", "4096", "--attention", "sdpa") == old
    assert command.allocated("--model", GROUPED, "--gpu", "t4", "--seq-len", "4096", "--attention", "math") == old


def test_equal_heads_hold_none(command: Command) -> None:
    old = command.allocated("--model", EQUAL, "--gpu", "v100-32g", "--seq-len", "4096")
    flash = command.allocated("--model", EQUAL, "--gpu", "a100-80g", "--seq-len", "4096", "--precision", "fp16")
    # Memory-efficient attention pads the same sums to 32 tokens, and has seeds of 16 bytes.
    assert abs(old - flash) <= 32 * 1024


def test_flash_takes_16_bits(command: Command) -> None:
    code, _, err = command.run(
        "estimate", "--params", "7B", "--gpus", "8", "--precision", "fp32", "--attention", "flash"
    )
    assert code == 2
    assert err.startswith("error: flash attention takes 16-bit numbers")
    fp32 = command.estimate("--model", GROUPED, "--precision", "fp32")
    assert any("no flash kernel in fp32" in str(note) for note in fp32["assumptions"])


def test_masks_go_to_memory_efficient_attention_on_every_card() -> None:
    block = presets.load_model("gemma-3-1b").block_kinds[0]
    assert block.sliding_window is not None
    long, short = block.sliding_window, block.sliding_window - 1
    assert {kernel(kind, block, long) for kind in (Attention.SDPA, Attention.MATH)} == {Attention.SDPA}
    assert kernel(Attention.MATH, block, short) is Attention.MATH
    assert writes_scores(Attention.MATH, block, short)
    assert not writes_scores(Attention.MATH, block, long)


def test_math_kernel_holds_thirteen_bytes_a_score_at_its_peak() -> None:
    block = presets.load_model(GROUPED).block_kinds[0]
    piece = block_memory(
        block, micro_batch=2, seq_len=1024, attention=Attention.MATH, mode=ComputeMode.CAST, checkpointed=False
    )
    scores = 2 * 32 * 1024**2
    # Masked scores 4, softmax 4, where they are -inf 1, and the choice 4; the mask: 1 for allowed, 4 in fp32.
    assert max(one.score_bytes for one in piece.forward) == 13 * scores + 5 * 1024**2
    assert piece.kept_score_bytes == 4 * scores


def test_every_family_with_grouped_heads_has_such_tables() -> None:
    for path in sorted((Path(presets.__file__).parents[2] / "presets" / "models").glob("*.yaml")):
        model = presets.load_model(path.stem)
        for kind in model.block_kinds:
            sizes = dict(kind.dims)
            if sizes.get("a") != sizes.get("k") and module_of(kind.implementation) != "falcon":
                keys = tables_of(module_of(kind.implementation), ComputeMode.CAST)
                assert "stem math" in keys or "stem flash" not in keys, path.stem


@pytest.mark.parametrize(
    "words",
    [
        ("--model", "smollm2-135m", "--gpus", "4", "--gpu", "t4", "--stage", "3", "--seq-len", "1000"),
        ("--model", "smollm2-135m", "--engine", "single", "--precision", "fp32", "--checkpointing", "full"),
        ("--model", "qwen2.5-0.5b", "--gpus", "2", "--gpu", "v100-16g", "--engine", "ddp", "--lora", "8"),
    ],
)
def test_it_is_what_the_engine_allocates(command: Command, words: tuple[str, ...]) -> None:
    needs("deepspeed", "peft")
    code, out, err = command.run("verify", "--launch", "dryrun", *words, "--tolerance", "0.01%", "--json")
    assert code == 0, err
    assert abs(json.loads(out)["error"]["allocated_peak"]) <= 1e-4


def test_the_spelt_out_kernel_is_torchs_own() -> None:
    torch = pytest.importorskip("torch")
    from zplan.verify.dryrun.attention import math

    torch.manual_seed(0)
    inputs = tuple(torch.randn(2, heads, 16, 8, dtype=torch.bfloat16, requires_grad=True) for heads in (6, 2, 2))
    own = math(*inputs, 0.0, True, None)
    theirs = torch.ops.aten._scaled_dot_product_attention_math(*inputs, None, 0.0, True, None, enable_gqa=True)[0]
    assert torch.equal(own, theirs)
    gradients = (torch.autograd.grad(out.float().square().sum(), inputs) for out in (own, theirs))
    assert all(torch.equal(one, other) for one, other in zip(*gradients, strict=True))


def test_a_card_with_flash_attention_is_a_way_out(command: Command) -> None:
    words = ("--model", "llama-3-8b", "--gpus", "1", "--gpu", "t4", "--engine", "single", "--seq-len", "8192")
    code, out, err = command.run("recommend", *words, "--lora", "16", "--quantize", "nf4", "--json")
    assert code == 3, err
    ways = {way["name"]: way for way in json.loads(out)["if_nothing_fits"]["ways"]}
    assert ways["flash_attention"]["fits"]
    # 13 bytes for each of 8192^2 scores of 32 heads go: 26 GiB.
    assert ways["gpu_mem"]["value"] - ways["flash_attention"]["value"] > 13 * 32 * 8192**2


@pytest.mark.parametrize("kind", [Attention.FLASH, Attention.SDPA])
def test_a_plan_made_in_python_says_which_kernel(kind: Attention) -> None:
    card = presets.load_gpu("v100-32g")
    cluster = ClusterSpec(gpus=8, nodes=1, gpu=card, gpu_capacity_bytes=card.memory_bytes)
    plan = Plan(model=presets.load_model(GROUPED), cluster=cluster, job=Job(precision=Precision.FP16, attention=kind))
    with pytest.raises(ZplanError, match="another kernel on NVIDIA V100") as caught:
        zplan.estimate(plan)
    assert "Attention.MATH" in caught.value.hint
    assert zplan.estimate(replace(plan, job=replace(plan.job, attention=Attention.MATH))).verdict is not None
