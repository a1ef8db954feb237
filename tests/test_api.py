"""The Python API: what is wrong in a plan is told in a ZplanError, whatever type it has; nothing wrong is priced."""

from __future__ import annotations

import math
import shlex
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

import zplan
from zplan.memory.estimate import estimate as priced
from zplan.spec import (
    Attention,
    DeepSpeedOptions,
    Lora,
    Loss,
    OffloadTo,
    Precision,
    Quantize,
)

MODEL = zplan.resolve_model(model="gpt2")
CLUSTER, _ = zplan.build_cluster(gpus=8, gpu="a100-80g")
JOB = zplan.Job(stage=2, seq_len=512)
PLAN = zplan.Plan(model=MODEL, cluster=CLUSTER, job=JOB)
JUNK: tuple[Any, ...] = ("x", "", -1, 1.5, math.nan, math.inf, 10**30, [], {}, b"1", object(), ("x",))
"""None of these is right anywhere in a job but in its words."""


def _other(value: Any, **changes: Any) -> Any:
    """The value with fields that their annotations forbid."""
    return replace(value, **changes)


def _job(**changes: Any) -> zplan.Plan:
    return replace(PLAN, job=replace(JOB, **changes))


@pytest.mark.parametrize("name", [item.name for item in fields(zplan.Job)])
@pytest.mark.parametrize("junk", JUNK, ids=lambda junk: "an object" if type(junk) is object else repr(junk))
def test_junk_in_any_field_of_a_job_is_refused(name: str, junk: Any) -> None:
    with pytest.raises(zplan.ZplanError) as error:
        zplan.estimate(_job(**{name: junk}))
    assert "\n" not in error.value.message and len(error.value.message) < 400
    assert error.value.hint


@pytest.mark.parametrize("name", [item.name for item in fields(DeepSpeedOptions)])
@pytest.mark.parametrize("junk", ["x", -1, math.nan, [], {}], ids=repr)
def test_junk_in_any_of_deepspeeds_keys_is_refused(name: str, junk: Any) -> None:
    with pytest.raises(zplan.ZplanError, match=rf"job\.deepspeed\.{name} is "):
        zplan.estimate(_job(deepspeed=DeepSpeedOptions(**{name: junk})))


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"stage": True}, "job.stage is True"),
    ({"stage": 4}, "from 0 to 3"),
    ({"stage": 2.0}, "not a whole number"),
    ({"micro_batch": 0}, "from 1 to"),
    ({"engine": "fsdp2"}, "zplan.spec.Engine: DEEPSPEED"),
    ({"precision": "bf16"}, "zplan.spec.Precision: BF16"),
    ({"offload": "all"}, "zplan.spec.Offload"),
    ({"checkpointing": "full"}, "zplan.spec.Checkpointing"),
    ({"checkpointing": zplan.Checkpointing(kind="ful")}, "one of none, full"),
    ({"checkpointing": zplan.Checkpointing(kind="every-k", every=0)}, "checkpointing.every is 0"),
    ({"checkpointing": zplan.Checkpointing(kind="every-k", every=99)}, "12 layers"),
    ({"lora": 16}, "zplan.spec.Lora, or None"),
    ({"lora": Lora(rank=0)}, "job.lora.rank is 0"),
    ({"lora": Lora(rank=8, targets=("q_proj", "v_proj"))}, "no layer of gpt2 is called"),
    ({"lora": Lora(rank=8, targets=())}, "no layer of gpt2 is called"),
    ({"optimizer": "AdamW"}, "unknown optimizer"),
    ({"implementation": "megatron"}, "one of transformers, litgpt"),
    ({"quantize": Quantize.NF4}, "something else has to train"),
    ({"engine": zplan.Engine.DDP}, "no stage 2"),
    ({"engine": zplan.Engine.FSDP2, "stage": 1}, "no stage 1"),
    ({"engine": zplan.Engine.SINGLE, "stage": 0}, "runs on one GPU"),
    ({"offload": zplan.Offload.ALL}, "only stage 3"),
    ({"stage": 0, "offload": zplan.Offload.OPTIMIZER}, "stage 0 offloads nothing"),
    ({"offload": zplan.Offload.OPTIMIZER, "offload_to": OffloadTo.NVME}, "NVMe"),
    ({"hpz": 8}, "stage 3"),
    ({"stage": 3, "hpz": 5}, "does not divide"),
    ({"zero_init": True}, "stage 3"),
    ({"rank": 8}, "does not exist among 8 GPUs"),
    ({"seq_len": 4096}, "1024 positions"),
]


@pytest.mark.parametrize(("changes", "says"), WRONG, ids=lambda value: str(value)[:60])
def test_what_contradicts_itself_is_refused(changes: dict[str, Any], says: str) -> None:
    with pytest.raises(zplan.ZplanError) as error:
        zplan.estimate(_job(**changes))
    assert says in error.value.message


@pytest.mark.parametrize("plan", [None, {}, JOB, "plan", _other(PLAN, model="gpt2"), _other(PLAN, cluster=8)], ids=str)
def test_what_is_no_plan_is_refused(plan: Any) -> None:
    with pytest.raises(zplan.ZplanError):
        zplan.estimate(plan)


@pytest.mark.parametrize(
    "changes",
    [
        {"gpus": 0},
        {"gpus": "8"},
        {"gpus": 8.0},
        {"nodes": 3},
        {"gpu_capacity_bytes": -1},
        {"gpu_capacity_bytes": "80GB"},
        {"host_capacity_bytes": 1.5},
        {"gpu": "a100-80g"},
        {"node": 5},
    ],
    ids=str,
)
def test_a_cluster_that_cannot_be_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(zplan.ZplanError):
        zplan.estimate(replace(PLAN, cluster=replace(CLUSTER, **changes)))


@pytest.mark.parametrize(
    "words",
    [
        {},
        {"gpus": "8"},
        {"gpus": True},
        {"gpus": 10**30},
        {"gpus": 8, "nodes": 2.5},
        {"gpus": 8, "gpu": 5},
        {"gpus": 8, "gpu_mem_bytes": 0},
        {"gpus": 8, "gpu_mem_bytes": "80GB"},
        {"gpus": 8, "host_mem_bytes": -1},
        {"gpus": 8, "nvme_bytes": math.nan},
    ],
    ids=str,
)
def test_build_cluster_refuses(words: dict[str, Any]) -> None:
    with pytest.raises(zplan.ZplanError):
        zplan.build_cluster(**words)


@pytest.mark.parametrize(
    "words",
    [{}, {"params": 7e9}, {"params": True}, {"model": 5}, {"model": b"gpt2"}, {"model": Path("/no/such")}],
    ids=str,
)
def test_resolve_model_refuses(words: dict[str, Any]) -> None:
    with pytest.raises(zplan.ZplanError):
        zplan.resolve_model(**words)


def test_counts_and_paths_are_taken(tmp_path: Path) -> None:
    assert zplan.resolve_model(params=7_000_000_000).params == 7 * 10**9
    assert MODEL.config_json is not None
    (tmp_path / "config.json").write_text(MODEL.config_json, encoding="utf-8")
    assert zplan.resolve_model(model=tmp_path).params == MODEL.params


@pytest.mark.parametrize(
    "questions",
    [None, [], PLAN, [None], [PLAN], [_other(zplan.Question(base=PLAN), base=None)]],
    ids=lambda q: repr(q)[:30],
)
def test_recommend_refuses(questions: Any) -> None:
    with pytest.raises(zplan.ZplanError):
        zplan.recommend(questions)


RIGHT: list[dict[str, Any]] = [
    {},
    {"stage": 3, "hpz": 4, "zero_init": True, "offload": zplan.Offload.ALL},
    {"stage": 3, "offload": zplan.Offload.OPTIMIZER, "offload_to": OffloadTo.NVME},
    {"engine": zplan.Engine.FSDP2, "stage": 3, "precision": Precision.BF16_PURE, "loss": Loss.CHUNKED},
    {"engine": zplan.Engine.DDP, "stage": 0, "attention": Attention.SDPA, "rank": 7},
    {"lora": Lora(rank=8), "quantize": Quantize.NF4, "deepspeed": DeepSpeedOptions(reduce_bucket_size=1000)},
    {"checkpointing": zplan.Checkpointing(kind="every-k", every=2), "compile": True, "grad_accum": 4},
]


@pytest.mark.parametrize("changes", RIGHT, ids=str)
def test_what_is_right_is_priced_as_within(changes: dict[str, Any]) -> None:
    plan = _job(**changes)
    assert zplan.estimate(plan).allocated_peak_bytes == priced(plan).allocated_peak_bytes


def test_every_bound_names_a_field() -> None:
    from zplan.checked import _BOUNDS, _WORDS

    for table in (_BOUNDS, _WORDS):
        for kind, named in table.items():
            assert set(named) <= {item.name for item in fields(kind)}


@pytest.mark.parametrize(
    "name", ["Plan", "Job", "ClusterSpec", "Checkpointing", "spec.Lora", "spec.DeepSpeedOptions", "Question"]
)
def test_the_hint_is_a_command_that_works(name: str) -> None:
    from zplan.checked import SEE

    command = shlex.split(SEE.format(name).partition(": ")[2])
    assert command[0] == "python"
    done = subprocess.run(
        [sys.executable, *command[1:]],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert name.rpartition(".")[2] in done.stdout
