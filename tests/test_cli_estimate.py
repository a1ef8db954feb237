"""``zplan estimate`` as typed: which plans it prices, what it assumes, what it prints and how it exits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zplan.cli.app import VERBS, run
from zplan.cli.lastplan import last_plan_path, load_last_plan, save_last_plan
from zplan.cli.options import PlanOptions
from zplan.cli.plan import PlanSet, build_plans
from zplan.errors import ZplanError
from zplan.inputs.trainer import HF_OPTIMIZERS
from zplan.memory.estimate import estimate
from zplan.spec import (
    Attention,
    Checkpointing,
    Engine,
    Lora,
    Loss,
    Offload,
    OffloadTo,
    Precision,
    Quantize,
)
from zplan.units import GB, GIB, TB

BASE = ("--params", "7B", "--gpus", "8", "--gpu-mem", "80")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ZPLAN_NO_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)


def _options(**words: Any) -> PlanOptions:
    return replace(PlanOptions(params="7B", gpus="8", gpu_mem="80"), **words)


def _plans(**words: Any) -> PlanSet:
    return build_plans(_options(**words))


def _json(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert run(["estimate", *args, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


NONE, OPTIMIZER, ALL = Offload.NONE, Offload.OPTIMIZER, Offload.ALL


@pytest.mark.parametrize(
    ("words", "variants"),
    [
        ({}, [(0, NONE), (1, NONE), (2, NONE), (2, OPTIMIZER), (3, NONE), (3, OPTIMIZER), (3, ALL)]),
        ({"stage": "all"}, [(0, NONE), (1, NONE), (2, NONE), (2, OPTIMIZER), (3, NONE), (3, OPTIMIZER), (3, ALL)]),
        ({"offload": "none"}, [(0, NONE), (1, NONE), (2, NONE), (3, NONE)]),
        ({"offload": "optimizer"}, [(1, OPTIMIZER), (2, OPTIMIZER), (3, OPTIMIZER)]),
        ({"offload": "all"}, [(3, ALL)]),
        ({"offload_to": "nvme"}, [(0, NONE), (1, NONE), (2, NONE), (3, NONE), (3, OPTIMIZER), (3, ALL)]),
        ({"stage": "2"}, [(2, NONE)]),
        ({"stage": "1", "offload": "optimizer"}, [(1, OPTIMIZER)]),
        ({"stage": "3", "offload": "all"}, [(3, ALL)]),
        ({"engine": "fsdp2"}, [(2, NONE), (3, NONE)]),
        ({"engine": "fsdp2", "stage": "3"}, [(3, NONE)]),
        ({"engine": "ddp"}, [(0, NONE)]),
        ({"engine": "ddp", "stage": "0"}, [(0, NONE)]),
        ({"engine": "single", "gpus": "1"}, [(0, NONE)]),
    ],
)
def test_which_plans_are_priced(words: dict[str, str], variants: list[tuple[int, Offload]]) -> None:
    assert [(plan.job.stage, plan.job.offload) for plan in _plans(**words).plans] == variants


def test_defaults_when_nothing_is_said() -> None:
    wanted = _plans()
    job = wanted.plans[-1].job
    assert (job.engine, job.precision, job.optimizer) == (Engine.DEEPSPEED, Precision.BF16, "adamw")
    assert (job.micro_batch, job.seq_len, job.grad_accum) == (1, 2048, 1)
    assert (job.checkpointing, job.attention, job.loss) == (Checkpointing(), Attention.FLASH, Loss.STANDARD)
    assert (job.zero_init, job.lora, job.quantize, job.hpz, job.rank) == (None, None, None, 1, 0)
    flags = ("engine", "precision", "optimizer", "micro-batch", "seq-len", "grad-accum", "checkpointing")
    for flag in (*flags, "attention", "loss", "zero-init"):
        assert sum(f"(--{flag})" in assumption for assumption in wanted.assumptions) == 1, flag
    assert any("shape of llama-2-7b" in assumption for assumption in wanted.assumptions)


def test_what_is_said_is_not_assumed() -> None:
    said = {
        "engine": "deepspeed",
        "precision": "bf16",
        "optimizer": "adamw",
        "micro_batch": "1",
        "seq_len": "2048",
        "grad_accum": "1",
        "checkpointing": "none",
        "attention": "flash",
        "loss": "standard",
        "zero_init": "on",
    }
    assert not [assumption for assumption in _plans(**said).assumptions if "(--" in assumption]


def test_every_option_reaches_the_plan() -> None:
    words = {
        "gpus": "16",
        "nodes": "2",
        "gpu": "h100-80g",
        "gpu_mem": "70GB",
        "host_mem": "2TB",
        "nvme": "30TB",
        "stage": "3",
        "offload": "optimizer",
        "offload_to": "nvme",
        "precision": "fp16",
        "optimizer": "lion",
        "micro_batch": "4",
        "seq_len": "4k",
        "grad_accum": "8",
        "checkpointing": "every-2",
        "attention": "eager",
        "loss": "fused",
        "compile": True,
        "lora": "16",
        "quantize": "nf4",
        "hpz": "8",
        "zero_init": "off",
        "rank": "15",
    }
    (plan,) = _plans(**words).plans
    cluster, job = plan.cluster, plan.job
    assert (cluster.gpus, cluster.nodes, cluster.gpu_capacity_bytes) == (16, 2, 70 * GB)
    assert cluster.gpu is not None and cluster.gpu.name == "h100-80g"
    assert (cluster.host_capacity_bytes, cluster.nvme_capacity_bytes) == (2 * TB, 30 * TB)
    assert (job.stage, job.offload, job.offload_to) == (3, Offload.OPTIMIZER, OffloadTo.NVME)
    assert (job.precision, job.optimizer, job.micro_batch, job.seq_len) == (Precision.FP16, "lion", 4, 4096)
    assert (job.grad_accum, job.checkpointing) == (8, Checkpointing(kind="every-k", every=2))
    assert (job.attention, job.loss, job.compile) == (Attention.EAGER, Loss.FUSED, True)
    assert (job.lora, job.quantize) == (Lora(rank=16), Quantize.NF4)
    assert (job.hpz, job.zero_init, job.rank) == (8, False, 15)


def test_what_only_stage_3_has_is_left_out_below() -> None:
    plans = _plans(hpz="8", zero_init="on").plans
    assert [(plan.job.stage, plan.job.hpz, plan.job.zero_init) for plan in plans if plan.job.offload is NONE] == [
        (0, 1, None),
        (1, 1, None),
        (2, 1, None),
        (3, 8, True),
    ]


def test_a_short_model_gets_its_own_maximum() -> None:
    wanted = _plans(params=None, model="gpt2")
    assert wanted.plans[0].job.seq_len == 1024
    assert "1024 tokens per sequence, the model's maximum (--seq-len)" in wanted.assumptions


@pytest.mark.parametrize(
    ("words", "note"),
    [
        (
            {"offload_to": "nvme"},
            "NVMe offload as DeepSpeed's swappers do it in a dry run; parameters beyond max_in_cpu from source (--offload-to)",
        ),
        ({"compile": True}, "torch.compile: fewer bytes kept by blocks, the loss as without it (--compile)"),
    ],
)
def test_what_is_not_counted_is_said(words: dict[str, Any], note: str) -> None:
    assert note in _plans(**words).assumptions
    assert note not in _plans().assumptions


def test_beyond_the_models_maximum_is_said() -> None:
    wanted = _plans(params=None, model="llama-2-7b", seq_len="8k")
    assert "8192 tokens is beyond the 4096 that llama-2-7b was made for" in wanted.assumptions


def test_a_card_without_bf16_gets_fp16_and_says_so() -> None:
    wanted = _plans(gpu="v100-32g", gpu_mem=None)
    assert {plan.job.precision for plan in wanted.plans} == {Precision.FP16}
    assert any("has no bf16 (--precision)" in assumption for assumption in wanted.assumptions)


def test_one_gpu_is_assumed_and_said() -> None:
    wanted = _plans(gpus=None)
    assert wanted.plans[0].cluster.gpus == 1
    assert "1 GPU (--gpus)" in wanted.assumptions


def test_a_machine_brings_its_gpus() -> None:
    wanted = _plans(gpus=None, gpu_mem=None, node="dgx-h100")
    assert wanted.plans[0].cluster.gpus == 8
    assert wanted.plans[0].cluster.host_capacity_bytes == 2 * 2**40


CONFIG = {
    "zero_optimization": {"stage": 2, "reduce_bucket_size": 200_000_000, "offload_optimizer": {"device": "cpu"}},
    "fp16": {"enabled": True},
    "train_micro_batch_size_per_gpu": 4,
    "gradient_accumulation_steps": 2,
}


@pytest.fixture
def config(tmp_path: Path) -> str:
    (tmp_path / "ds.json").write_text(json.dumps(CONFIG))
    return "ds.json"


def test_a_file_wins_over_defaults(config: str) -> None:
    wanted = _plans(ds_config=config)
    (job,) = [plan.job for plan in wanted.plans]
    assert (job.stage, job.offload, job.precision) == (2, Offload.OPTIMIZER, Precision.FP16)
    assert (job.micro_batch, job.grad_accum, job.deepspeed.reduce_bucket_size) == (4, 2, 200_000_000)
    assert not [assumption for assumption in wanted.assumptions if "(--micro-batch)" in assumption]


def test_a_flag_wins_over_the_file_and_says_so(config: str) -> None:
    wanted = _plans(ds_config=config, micro_batch="8", precision="fp16", stage="3", offload="none")
    (job,) = [plan.job for plan in wanted.plans]
    assert (job.stage, job.offload, job.micro_batch, job.grad_accum) == (3, Offload.NONE, 8, 2)
    assert [assumption for assumption in wanted.assumptions if "overrides" in assumption] == [
        "--stage 3 overrides 2 in ds.json",
        "--offload none overrides optimizer in ds.json",
        "--micro-batch 8 overrides 4 in ds.json",
    ]


def test_all_stages_of_a_file(config: str) -> None:
    plans = _plans(ds_config=config, stage="all").plans
    assert [plan.job.stage for plan in plans] == [0, 1, 2, 2, 3, 3, 3]
    assert {plan.job.deepspeed.reduce_bucket_size for plan in plans} == {200_000_000}


def test_batch_sizes_that_do_not_multiply_are_said(tmp_path: Path) -> None:
    (tmp_path / "ds.json").write_text(json.dumps({**CONFIG, "train_batch_size": 65}))
    assert any("ds.json: train_batch_size 65 is not" in words for words in _plans(ds_config="ds.json").assumptions)


@pytest.mark.parametrize("words", [("--gpu", "h100-80g"), ("--gpu", "h100-80g", "--stage", "3")])
def test_a_known_card_gives_a_time(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    for plan in _json(capsys, "--params", "7B", "--gpus", "8", *words)["plans"]:
        assert plan["time"]["step_seconds"] > 0 and plan["time"]["bound_by"]
        tokens = plan["micro_batch"] * plan["seq_len"] * plan["grad_accum"]
        assert plan["time"]["tokens_per_second_per_gpu"] == pytest.approx(tokens / plan["time"]["step_seconds"])
    assert run(["estimate", "--params", "7B", "--gpus", "8", *words]) == 0
    assert "tokens/s per GPU" in capsys.readouterr().out


def test_without_a_card_there_is_no_time(capsys: pytest.CaptureFixture[str]) -> None:
    assert {plan["time"] for plan in _json(capsys, *BASE)["plans"]} == {None}


def test_words_are_taken_in_any_case() -> None:
    said = {"engine": "DeepSpeed", "stage": "ALL", "precision": "BF16", "optimizer": "AdamW", "rank": " Worst "}
    wanted = _plans(**said)
    assert wanted.worst_rank and wanted.plans == _plans(rank="worst").plans


def test_rank_worst_is_the_rank_that_holds_most(capsys: pytest.CaptureFixture[str]) -> None:
    words = ("--params", "7B", "--gpus", "7", "--nodes", "1", "--stage", "2", "--precision", "bf16")
    first = _json(capsys, *words)["plans"][0]
    worst = _json(capsys, *words, "--rank", "worst")["plans"][0]
    assert worst["rank"] == first["gpu"]["worst_rank"]["rank"]
    assert worst["gpu"]["allocated_peak_bytes"] == first["gpu"]["worst_rank"]["allocated_peak_bytes"]
    assert worst["gpu"]["allocated_peak_bytes"] >= first["gpu"]["allocated_peak_bytes"]


# 7B on 8 GPUs, in bytes: 2P + 2P + 12P; stage 1 shards the 12P by 8, stage 2 also the second 2P, stage 3 everything.
# 14 + 14 + 84 = 112 | 14 + 14 + 10.5 = 38.5 | 14 + 1.75 + 10.5 = 26.25 | 1.75 + 1.75 + 10.5 = 14 (10^9)
MODEL_STATES = {0: 112_000_000_000, 1: 38_500_000_000, 2: 26_250_000_000, 3: 14_000_000_000}


def test_json_of_the_first_command_of_the_readme(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, *BASE)
    assert value["model"]["params"] == value["model"]["trainable_params"] == 7_000_000_000
    assert value["cluster"]["gpu_capacity_bytes"] == 80 * GIB
    assert [(plan["stage"], plan["offload"]) for plan in value["plans"]] == [
        *((0, "none"), (1, "none"), (2, "none"), (2, "optimizer")),
        *((3, "none"), (3, "optimizer"), (3, "all")),
    ]
    for plan in value["plans"]:
        gpu = plan["gpu"]
        assert sum(gpu["model_states"].values()) == MODEL_STATES[plan["stage"]] or plan["offload"] != "none"
        assert sum(term["bytes"] for term in gpu["terms"]) == gpu["allocated_peak_bytes"]
        assert gpu["allocated_peak_bytes"] == max(gpu["phases"][phase] for phase in ("forward", "backward", "step"))
        assert all(term["formula"] and term["source"] for term in gpu["terms"]), gpu["terms"]
        device = gpu["device_peak_bytes"]
        assert device["low"] <= device["expected"] <= device["high"]
        assert gpu["verdict"] in ("fits", "tight", "oom")
    assert all(leaf is None or isinstance(leaf, int) for leaf in _leaves(value, "bytes"))


def test_reasons_are_in_the_unit_of_the_view(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["estimate", "--params", "7B", "--gpus", "8", "--gpu-mem", "36", "--host-mem", "100"]
    for unit, other in (("GiB", " GB"), ("GB", " GiB")):
        for stage in ([], ["--stage", "2"], ["--stage", "3", "--offload", "all"]):
            assert run([*words, *stage, "--unit", unit]) == 0
            said = capsys.readouterr().out.partition("Assumed:")[0]
            assert "the GPU has" in said or "a node needs" in said
            assert other not in said


def test_too_little_host_ram_is_in_the_headline(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["estimate", "--params", "7B", "--gpus", "8", "--host-mem", "100"]
    for card in (["--gpu-mem", "80"], []):
        assert run([*words, *card, "--stage", "3", "--offload", "all"]) == 0
        first = " ".join(capsys.readouterr().out.split("\n7B")[0].split())
        assert first.startswith("✗ OUT OF MEMORY stage 3 + full offload · GPU ")
        assert first.endswith("GiB of 100 GiB per node") and "free" not in first
        assert run([*words, *card]) == 0
        assert "Out of memory: stage" in capsys.readouterr().out


@pytest.mark.parametrize("columns", ["40", "60", "72", "300"])
@pytest.mark.parametrize("words", [("--stage", "3", "--offload", "optimizer"), ()])
def test_numbers_stay_whole_in_any_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, columns: str, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    arguments = ("--params", "175B", "--gpus", "8", "--gpu", "a100-80g", *words)
    gib = 2**30
    gpu = _json(capsys, *arguments)["plans"][0]["gpu"]
    assert run(["estimate", *arguments]) == 0
    out = capsys.readouterr().out
    assert "…" not in out
    for size in gpu["device_peak_bytes"]["expected"], gpu["device_peak_bytes"]["high"], gpu["allocated_peak_bytes"]:
        shown = f"{size / gib:.2f}" if size < 1000 * gib else f"{size / gib:,.0f}"
        assert any(line.split()[-1] == shown or f" {shown} " in line for line in out.splitlines() if line), shown


@pytest.mark.parametrize("kind", ["models", "gpus", "nodes"])
def test_a_preset_keeps_its_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    assert run(["presets", "ls", kind, "--json"]) == 0
    count = len(json.loads(capsys.readouterr().out)[kind])
    rows = []
    for columns in ("40", "80", "300"):
        monkeypatch.setenv("COLUMNS", columns)
        assert run(["presets", "ls", kind]) == 0
        rows.append(capsys.readouterr().out.splitlines()[2 : 2 + count])
    assert [line.split() for line in rows[0]] == [line.split() for line in rows[2]]
    assert rows[1] == rows[2] and all(max(map(len, each)) <= 80 for each in rows)


def test_without_a_capacity_there_is_no_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    for plan in _json(capsys, "--params", "7B", "--gpus", "8", "--host-mem", "2TB")["plans"]:
        assert (plan["gpu"]["verdict"], plan["gpu"]["verdict_because"]) == (None, None)
        assert plan["host"]["verdict"] == "fits"


def _leaves(value: Any, ending: str) -> list[Any]:
    """Every number below a key with this ending."""
    if isinstance(value, dict):
        below = [leaf for inner in value.values() for leaf in _leaves(inner, ending)]
        return below + [leaf for key, leaf in value.items() if key.endswith(ending) and not isinstance(leaf, dict)]
    return [leaf for inner in value for leaf in _leaves(inner, ending)] if isinstance(value, list) else []


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("--stage", "3"),
        ("--stage", "3", "--offload", "optimizer"),
        ("--engine", "fsdp2"),
        ("--engine", "ddp"),
        ("--unit", "GB"),
        ("--stage", "2", "--explain"),
        ("--lora", "16"),
    ],
)
def test_every_view_is_drawn_with_every_assumption(capsys: pytest.CaptureFixture[str], words: tuple[str, ...]) -> None:
    assert run(["estimate", *BASE, *words]) == 0
    out, err = capsys.readouterr()
    assert err == "" and "\x1b" not in out
    flat = " ".join(out.split())
    for assumption in _json(capsys, *BASE, *words)["assumptions"]:
        assert " ".join(assumption.split()) in flat


def test_explain_gives_formula_numbers_and_source_for_each_term(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", *BASE, "--stage", "2", "--explain"]) == 0
    text = capsys.readouterr().out
    (plan,) = _json(capsys, *BASE, "--stage", "2")["plans"]
    flat = " ".join(text.split())
    for term in plan["gpu"]["terms"]:
        assert f"({term['key']})" in text
        assert " ".join(term["formula"].split()) in flat
        assert " ".join(term["source"].split()) in flat


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--stage", "3", "--gpu-mem", "80"), 0),
        (("--stage", "0", "--gpu-mem", "80"), 3),
        (("--gpu-mem", "80"), 0),  # some stage fits
        (("--gpu-mem", "2"), 3),  # none does
    ],
)
def test_fail_if_oom(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], code: int) -> None:
    arguments = ["estimate", "--params", "7B", "--gpus", "8", *words]
    assert run([*arguments, "--fail-if-oom"]) == code
    assert run(arguments) == 0
    assert capsys.readouterr().err == ""


def test_the_verdict_of_the_command_is_the_librarys(capsys: pytest.CaptureFixture[str]) -> None:
    plans = _plans().plans
    assert [plan["gpu"]["allocated_peak_bytes"] for plan in _json(capsys, *BASE)["plans"]] == [
        estimate(plan).allocated_peak_bytes for plan in plans
    ]


def test_the_last_plan_is_kept(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert load_last_plan() is None
    assert run(["estimate", *BASE, "--stage", "3", "--compile", "--json"]) == 0
    assert load_last_plan() == _options(stage="3", compile=True)
    assert last_plan_path() == tmp_path / "cache" / "zplan" / "last.json"
    assert [path.name for path in (tmp_path / "cache" / "zplan").iterdir()] == ["last.json"]
    capsys.readouterr()


def test_a_refused_plan_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", *BASE, "--stage", "9"]) == 2
    assert load_last_plan() is None
    capsys.readouterr()


def test_no_cache_when_switched_off(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    save_last_plan(_options())
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    assert last_plan_path() is None
    assert load_last_plan() is None
    save_last_plan(_options(stage="1"))
    monkeypatch.delenv("ZPLAN_NO_CACHE")
    assert load_last_plan() == _options()


def test_a_cache_that_cannot_be_written_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    save_last_plan(_options())
    assert load_last_plan() is None


@pytest.mark.parametrize(
    "content",
    [
        "",
        "null",
        "[]",
        '{"version": 0, "options": {"params": "7B"}}',
        '{"version": 1, "options": {"params": 7}}',
        '{"version": 1, "options": {"nonesuch": "7B"}}',
        '{"version": 1, "options": ["7B"]}',
        '{"version": 1}',
        "\udcff",
    ],
)
def test_a_cache_that_cannot_be_used_is_ignored(content: str) -> None:
    save_last_plan(_options())
    path = last_plan_path()
    assert path is not None
    path.write_text(content, encoding="utf-8", errors="surrogateescape")
    assert load_last_plan() is None


def test_a_path_to_a_model_is_kept_absolute(tmp_path: Path) -> None:
    (tmp_path / "here").mkdir()
    save_last_plan(PlanOptions(model="here"))
    assert load_last_plan() == PlanOptions(model=str(tmp_path / "here"))


def test_neither_model_is_an_error_of_build_plans() -> None:
    with pytest.raises(ZplanError, match="no model was named"):
        build_plans(PlanOptions(gpus="8"))


@pytest.mark.parametrize("arguments", [(), ("-h",), ("--help",), *((verb, "--help") for verb in VERBS)])
def test_help_is_on_stdout(capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    assert run(list(arguments)) == 0
    out, err = capsys.readouterr()
    assert "Usage: zplan" in out and err == ""


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    import zplan

    assert run(["--version"]) == 0
    assert capsys.readouterr().out == f"zplan {zplan.__version__}\n"


def _examples(capsys: pytest.CaptureFixture[str], verb: str) -> list[str]:
    assert run([verb, "--help"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if line.startswith(f"zplan {verb}")]


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_examples(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    assert _examples(capsys, verb)


@pytest.mark.parametrize("verb", ["estimate", "presets"])
def test_examples_run_as_they_stand(capsys: pytest.CaptureFixture[str], verb: str) -> None:
    for example in _examples(capsys, verb):
        if ".yaml" in example:
            continue
        assert run(example.split()[1:]) == 0, example
        assert capsys.readouterr().err == ""


@pytest.mark.parametrize("kind", ["models", "gpus", "nodes"])
def test_presets_are_listed(capsys: pytest.CaptureFixture[str], kind: str) -> None:
    assert run(["presets", "ls", kind, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)[kind]
    assert run(["presets", "ls", kind]) == 0
    text = capsys.readouterr().out
    assert all(preset["name"] in text and preset["source"] for preset in listed)
    assert run(["presets", "ls", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)[kind] == [preset["name"] for preset in listed]


def test_a_preset_is_shown_by_alias(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["presets", "show", "a100", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert (value["kind"], value["name"], value["file"]) == ("gpus", "a100-80g", "presets/gpus/a100-80g.yaml")
    assert run(["presets", "show", "llama-3.1-8b"]) == 0
    assert "8030261248" in capsys.readouterr().out


def _process(*args: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: word for name, word in os.environ.items() if name not in ("NO_COLOR", "FORCE_COLOR", "COLUMNS")}
    command = [sys.executable, "-m", "zplan", "estimate", *BASE, *args]
    return subprocess.run(
        command, capture_output=True, env={**clean, **environment}, timeout=60, check=True, encoding="utf-8"
    )


def test_piped_output_has_no_colour_and_80_columns() -> None:
    out = _process().stdout
    assert "\x1b" not in out
    assert max(len(line) for line in out.splitlines()) <= 80


def test_colour_on_demand_and_never_with_no_color() -> None:
    assert "\x1b[" in _process(FORCE_COLOR="1").stdout
    assert "\x1b[3" not in _process(FORCE_COLOR="1", NO_COLOR="1").stdout


def test_a_terminal_without_unicode_gets_ascii() -> None:
    assert _process(PYTHONIOENCODING="ascii").stdout.isascii()


@pytest.mark.parametrize(("name", "known"), sorted(HF_OPTIMIZERS.items()))
def test_hugging_faces_names_of_optimizers_are_taken(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, name: str, known: str
) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    assert run(["estimate", "--model", "gpt2", "--gpus", "2", "--stage", "2", "--optimizer", name, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plans"][0]["optimizer"] == known
