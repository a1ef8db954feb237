"""The JSON of ``zplan estimate``: every key and type that others rely on, for many engines and clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from zplan.cli.app import run

POSITIVE, COUNT = ("an int above 0", lambda v: _int(v) and v > 0), ("an int from 0", lambda v: _int(v) and v >= 0)
TEXT = ("a non-empty str", lambda v: isinstance(v, str) and v != "")
NUMBER = ("a float above 0", lambda v: isinstance(v, float) and v > 0)


def _int(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def one_of(*values: object) -> tuple[str, Any]:
    return (f"one of {values}", lambda value: value in values)


def maybe(kind: Any) -> tuple[str, Any]:
    return (f"{kind[0]} or null", lambda value: value is None or kind[1](value))


PHASES = ("init", "forward", "backward", "step")
VERDICTS = ("fits", "tight", "oom", None)
TERM = {"key": TEXT, "bytes": POSITIVE, "phase": one_of(*PHASES[1:]), "formula": TEXT, "source": TEXT}
GPU = {
    "phases": dict.fromkeys(PHASES, COUNT),
    "steady_bytes": POSITIVE,
    "allocated_peak_bytes": POSITIVE,
    "reserved_peak_bytes": POSITIVE,
    "device_peak_bytes": dict.fromkeys(("low", "expected", "high"), POSITIVE),
    "model_states": dict.fromkeys(("params", "grads", "optimizer"), COUNT),
    "terms": [TERM],
    "peak_phase": one_of(*PHASES[1:]),
    "worst_rank": {"rank": COUNT, "allocated_peak_bytes": POSITIVE},
    "verdict": one_of(*VERDICTS),
    "verdict_because": maybe(TEXT),
}
PLAN = {
    "engine": one_of("deepspeed", "fsdp2", "fsdp1", "ddp", "single"),
    "stage": one_of(0, 1, 2, 3),
    "offload": one_of("none", "optimizer", "all"),
    "checkpointing": TEXT,
    "precision": one_of("bf16", "fp16", "fp32", "bf16-pure"),
    "optimizer": TEXT,
    "micro_batch": POSITIVE,
    "seq_len": POSITIVE,
    "grad_accum": POSITIVE,
    "world_size": POSITIVE,
    "gpu": GPU,
    "host": {
        "per_rank_bytes": COUNT,
        "peak_per_rank_bytes": COUNT,
        "pinned_per_rank_bytes": COUNT,
        "per_node_bytes": COUNT,
        "verdict": one_of(*VERDICTS),
    },
    "nvme": {"per_node_bytes": COUNT},
    "time": maybe(("an object", lambda value: isinstance(value, dict))),
}
TIME = {"step_seconds": NUMBER, "tokens_per_second_per_gpu": NUMBER, "bound_by": TEXT}
ANSWER = {
    "schema_version": one_of(1),
    "model": {"name": TEXT, "params": POSITIVE, "trainable_params": POSITIVE, "source": TEXT},
    "cluster": {
        "gpus": POSITIVE,
        "nodes": POSITIVE,
        "gpu": maybe(TEXT),
        "gpu_capacity_bytes": maybe(POSITIVE),
        "host_capacity_bytes": maybe(POSITIVE),
    },
    "assumptions": [TEXT],
    "plans": [PLAN],
}


def violations(value: Any, schema: Any, path: str = "$") -> list[str]:
    """What of a schema a value doesn't keep; keys that the schema doesn't name are allowed."""
    if isinstance(schema, dict):
        if not isinstance(value, dict):
            return [f"{path} is no object"]
        missing = [f"{path}.{key} is missing" for key in schema if key not in value]
        inner = [violations(value[key], each, f"{path}.{key}") for key, each in schema.items() if key in value]
        return missing + [each for found in inner for each in found]
    if isinstance(schema, list):
        if not isinstance(value, list):
            return [f"{path} is no list"]
        inner = [violations(each, schema[0], f"{path}[{index}]") for index, each in enumerate(value)]
        return [each for found in inner for each in found]
    what, holds = schema
    return [] if holds(value) else [f"{path} is {value!r}, not {what}"]


QUESTIONS = [
    "--params 7B --gpus 8 --gpu-mem 80",
    "--params 7B --gpus 1",
    "--params 10K --gpus 2 --gpu-mem 256MiB --host-mem 1",
    "--params 100T --gpus 1000000 --gpu-mem 4TiB --micro-batch 65536",
    "--params 1.3B --gpus 3 --gpu v100-32g --seq-len 1",
    "--params 13B --gpus 12 --nodes 3 --host-mem 512 --stage 3 --offload all",
    "--params 13B --gpus 8 --node dgx-a100-80g --stage 2 --offload optimizer --rank worst",
    "--params 70B --gpus 64 --gpu h100-80g --host-mem 2TB --nvme 30TB --offload-to nvme",
    "--model llama-3.1-8b --gpus 8 --gpu h100-80g --engine fsdp2 --checkpointing full --seq-len 8k",
    "--model llama-3.1-8b --gpus 8 --gpu h100-80g --engine fsdp1 --grad-accum 4",
    "--model gpt2 --gpus 8 --gpu rtx-3090-24g --engine ddp --micro-batch 8",
    "--model gpt2 --gpu t4-16g --engine single --checkpointing every-2",
    "--model qwen2.5-7b --gpus 2 --gpu-mem 24 --lora 16",
    "--model mixtral-8x7b --gpus 16 --gpu-mem 80 --checkpointing selective --optimizer adamw_8bit",
    "--model gemma-2-9b --gpus 8 --gpu-mem 80 --precision bf16-pure --grad-accum 2 --stage 1",
    "--model deepseek-v2-lite --gpus 8 --gpu b200-192g --optimizer sgd --engine fsdp2 --offload all",
]


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    monkeypatch.chdir(tmp_path)


def _answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["estimate", *arguments, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    value = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is no JSON"))
    assert isinstance(value, dict)
    return value


def test_the_schema_can_fail() -> None:
    assert violations({"a": 1.5}, {"a": POSITIVE, "b": TEXT}) == ["$.b is missing", "$.a is 1.5, not an int above 0"]
    assert violations({"a": [True]}, {"a": [COUNT]}) == ["$.a[0] is True, not an int from 0"]
    assert violations([], {"a": TEXT}) == ["$ is no object"]


@pytest.mark.parametrize("question", QUESTIONS)
def test_answers_keep_the_contract(capsys: pytest.CaptureFixture[str], question: str) -> None:
    value = _answer(capsys, *question.split())
    assert violations(value, ANSWER) == []
    assert value["plans"]
    cluster = value["cluster"]
    assert cluster["gpus"] % cluster["nodes"] == 0
    for plan in value["plans"]:
        assert plan["world_size"] == cluster["gpus"]
        assert (plan["time"] is None) == (cluster["gpu"] is None)
        if plan["time"] is not None:
            assert violations(plan["time"], TIME) == []
        _check_gpu(plan["gpu"], plan["host"], cluster)
        _check_host(plan, cluster)


def _check_gpu(gpu: dict[str, Any], host: dict[str, Any], cluster: dict[str, Any]) -> None:
    phases, device, capacity = gpu["phases"], gpu["device_peak_bytes"], cluster["gpu_capacity_bytes"]
    assert gpu["allocated_peak_bytes"] == max(phases["forward"], phases["backward"], phases["step"])
    assert gpu["allocated_peak_bytes"] == phases[gpu["peak_phase"]] == sum(term["bytes"] for term in gpu["terms"])
    assert {term["phase"] for term in gpu["terms"]} == {gpu["peak_phase"]}
    assert len({term["key"] for term in gpu["terms"]}) == len(gpu["terms"])
    assert all(phases[phase] > 0 for phase in ("forward", "backward", "step"))
    assert gpu["steady_bytes"] <= gpu["allocated_peak_bytes"] <= gpu["worst_rank"]["allocated_peak_bytes"]
    assert gpu["worst_rank"]["rank"] < cluster["gpus"]
    held = max(phases["init"], gpu["worst_rank"]["allocated_peak_bytes"])
    assert held <= gpu["reserved_peak_bytes"] and held <= device["low"] <= device["expected"] <= device["high"]
    if capacity is None:
        assert gpu["verdict"] is None and gpu["verdict_because"] is None
        return
    own = 0 if device["high"] <= capacity else 1 if device["expected"] <= capacity else 2
    rank = {"fits": 0, "tight": 1, "oom": 2, None: 0}
    assert rank[gpu["verdict"]] == max(own, rank[host["verdict"]])
    assert (gpu["verdict_because"] is None) == (gpu["verdict"] == "fits")


def _check_host(plan: dict[str, Any], cluster: dict[str, Any]) -> None:
    host = plan["host"]
    assert host["per_rank_bytes"] <= host["peak_per_rank_bytes"]
    assert (host["verdict"] is None) == (cluster["host_capacity_bytes"] is None)
    if plan["offload"] == "none" and plan["optimizer"] != "paged_adamw":
        assert host["per_node_bytes"] == plan["nvme"]["per_node_bytes"] == 0
    else:
        assert host["per_node_bytes"] >= cluster["gpus"] // cluster["nodes"] * host["per_rank_bytes"] > 0


@pytest.mark.parametrize("question", QUESTIONS)
def test_an_answer_of_one_plan_is_a_question(capsys: pytest.CaptureFixture[str], question: str) -> None:
    words = question.split()
    if "--stage" not in words and not {"ddp", "single"} & set(words):
        words += ["--stage", "3", *(["--offload", "all"] if "--offload-to" in words else [])]
    first = _answer(capsys, *words)
    Path("plan.json").write_text(json.dumps(first), encoding="utf-8")
    again = _answer(capsys, "plan.json")
    assert [again["cluster"], again["plans"]] == [first["cluster"], first["plans"]]
    assert again["model"] == first["model"]
