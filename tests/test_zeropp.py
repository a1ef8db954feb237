"""ZeRO++: secondary partitions and quantized collectives, by arithmetic and against DeepSpeed in dry runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from warm import Warm, needs, processes

from zplan.cli.app import run
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.inputs.model import resolve_model
from zplan.memory.engines.zero3_plus import quantized_reduction_bytes
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.spec import Checkpointing, ClusterSpec, DeepSpeedOptions, Job, Lora, ModelSpec, Offload, Plan

V, H, F, LAYERS, S, N, HPZ = 8000, 512, 1408, 4, 256, 16, 8
CONFIG: dict[str, Any] = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": V, "hidden_size": H},
    **{"intermediate_size": F, "num_hidden_layers": LAYERS, "num_attention_heads": 8, "num_key_value_heads": 4},
}
P = 2 * V * H + LAYERS * (3 * H * H + 3 * H * F + 2 * H) + H
OPTIONS = DeepSpeedOptions(
    max_live_parameters=2_000_000,
    max_reuse_distance=2_000_000,
    prefetch_bucket_size=1_000_000,
    param_persistence_threshold=10_000,
    reduce_bucket_size=1_000_000,
)
"""Limits that a model of 20 million parameters meets."""
JOBS = {
    "hpz": Job(stage=3, hpz=HPZ, deepspeed=OPTIONS),
    "hpz-lora": Job(stage=3, hpz=HPZ, deepspeed=OPTIONS, lora=Lora(rank=8)),
    "hpz-offload": Job(stage=3, hpz=HPZ, deepspeed=OPTIONS, offload=Offload.ALL),
    "quantized": Job(
        stage=3,
        deepspeed=replace(OPTIONS, quantized_weights=True, quantized_gradients=True),
        checkpointing=Checkpointing(kind="full"),
    ),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    path = tmp_path_factory.mktemp("model") / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return resolve_model(params=None, model=str(path))


def plan_of(model: ModelSpec, name: str) -> Plan:
    cluster = ClusterSpec(gpus=N, nodes=2)
    return Plan(model=model, cluster=cluster, job=replace(JOBS[name], seq_len=S, micro_batch=2))


@pytest.fixture(scope="module")
def measured(warm: Warm, model: ModelSpec) -> Iterator[dict[str, Future[dict[str, Any]]]]:
    needs("torch", "deepspeed", "peft")
    from zplan.verify.dryrun import plan_to_case

    with processes() as pool:
        yield {name: pool.submit(warm.run_case, plan_to_case(plan_of(model, name)).to_dict()) for name in JOBS}


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_a_run_agrees(measured: dict[str, Future[dict[str, Any]]], model: ModelSpec, name: str) -> None:
    found, truth = estimate(plan_of(model, name)), measured[name].result()
    # Adapters' activations at stage 3 are an upper bound, with or without hpZ.
    phases = ("init", "step") if "lora" in name else ("init", "forward", "backward", "step")
    for phase in phases:
        assert found.phases[phase] == pytest.approx(truth[phase], rel=2e-5, abs=1024), phase
    assert found.steady_bytes == pytest.approx(truth["steady"], abs=1024)
    assert found.host.per_rank_bytes == pytest.approx(truth["host"], abs=1024)
    assert found.host.peak_per_rank_bytes == pytest.approx(truth["host_peak"], rel=2e-3, abs=1024)


@pytest.mark.slow
def test_a_secondary_partition_by_arithmetic(measured: dict[str, Future[dict[str, Any]]], model: ModelSpec) -> None:
    # Everything divides by 16, so 2 bytes of P/8: measured as what the step holds more than the same run without hpZ.
    found = estimate(plan_of(model, "hpz"))
    step = next(moment for moment in found.moments if moment.name == "sub-group gradients flattened and cast")
    assert step.terms["secondary_params"] == 2 * P // HPZ
    without = estimate(replace(plan_of(model, "hpz"), job=replace(plan_of(model, "hpz").job, hpz=1)))
    assert found.phases["step"] - without.phases["step"] == 2 * P // HPZ
    assert found.steady_bytes == without.steady_bytes
    assert measured["hpz"].result()["step"] == pytest.approx(without.phases["step"] + 2 * P // HPZ, abs=1024)


def estimated(**options: str) -> Estimate:
    (plan,) = build_plans(PlanOptions(**options)).plans
    return estimate(plan)


def most(found: Estimate, key: str, phase: str) -> int:
    return max(moment.terms.get(key, 0) for moment in found.moments if moment.phase == phase)


def test_hpz_is_counted() -> None:
    # 2 x 6,738,415,616 / 8, and in backward the same once the last block is released
    found = estimated(model="llama-2-7b", gpus="16", stage="3", hpz="8")
    whole = 2 * 6_738_415_616 // 8
    assert most(found, "secondary_params", "step") == whole
    assert 0.9 * whole < most(found, "secondary_params", "backward") <= whole
    assert "secondary_params" not in found.steady
    assert found.host.per_node_bytes == 0
    # offloaded parameters have them in host RAM, and one twice while it is pinned
    offloaded = estimated(model="llama-2-7b", gpus="16", stage="3", hpz="8", offload="all")
    assert most(offloaded, "secondary_params", "step") == 0
    more = offloaded.host.peak_per_rank_bytes - offloaded.host.per_rank_bytes
    assert more == whole + 2 * 32_000 * 4096 // 8


def test_frozen_weights_keep_theirs() -> None:
    found = estimated(model="llama-2-7b", gpus="16", stage="3", hpz="8", lora="16")
    assert found.steady["secondary_params"] == 2 * 6_738_415_616 // 8


def test_quantized_gradients_by_arithmetic() -> None:
    # 16 ranks, 8 per node; a matrix of n = 3,200: int4 sent and received 1,600 each, 200 each between nodes, fp16 result 800;
    # the second matrix starts with 1,600 more while the first one's variables live, and its 400-byte partition is kept.
    n = 3200
    held = 2 * 1600 + 2 * 200 + 800
    assert quantized_reduction_bytes([n], [True], 16, 2) == held
    assert quantized_reduction_bytes([n, n], [True, True], 16, 2) == 2 * n // 16 + held + n // 2
    # a vector that 16 divides needs no copy, one that it does not is padded
    assert quantized_reduction_bytes([160], [False], 16, 2) == 0
    assert quantized_reduction_bytes([150], [False], 16, 2) == 2 * 160


def test_assumptions_say_what_was_not_run(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    zero = {"stage": 3, "zero_quantized_weights": True, "zero_quantized_gradients": True, "zero_hpz_partition_size": 8}
    config = {"zero_optimization": zero, "bf16": {"enabled": True}, "train_micro_batch_size_per_gpu": 1}
    path = tmp_path / "ds_config.json"
    path.write_text(json.dumps(config), encoding="utf-8")
    line = ["--model", "llama-2-7b", "--gpus", "16", "--ds-config", str(path), "--json"]
    assert run(["estimate", *line]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert any("ZeRO++" in note and "not run" in note for note in answer["assumptions"])
    assert not any("not counted" in note for note in answer["assumptions"])
    terms = {term["key"]: term for term in answer["plans"][0]["gpu"]["terms"]}
    assert terms["secondary_params"]["bytes"] > 0
    assert "qwZ, from source" in terms["gathered_params"]["formula"]


def test_one_node_does_not_quantize_gradients() -> None:
    quantized = DeepSpeedOptions(quantized_gradients=True)
    (plan,) = build_plans(PlanOptions(model="llama-2-7b", gpus="8", stage="3")).plans
    same = replace(plan, job=replace(plan.job, deepspeed=quantized))
    assert estimate(same).phases == estimate(plan).phases
