"""Adapters as a term of their own: by arithmetic, and as the engines hold them in dry runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from warm import Warm, needs, processes

from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.inputs.model import resolve_model
from zplan.memory.estimate import estimate
from zplan.memory.explain import explain_term
from zplan.spec import ClusterSpec, Engine, Job, Lora, ModelSpec, Plan

H, F, V, LAYERS, S = 256, 512, 4096, 2, 256
CONFIG: dict[str, Any] = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": V, "hidden_size": H},
    **{"intermediate_size": F, "num_hidden_layers": LAYERS, "num_attention_heads": 4, "num_key_value_heads": 2},
}
ADAPTERS = LAYERS * 8 * (2 * (H + H) + 2 * (H + H // 2) + 2 * (H + F) + (F + H))
"""r x (fan-in + fan-out) of q, o, k, v, gate, up and down."""
JOBS = {
    "zero2": Job(stage=2, lora=Lora(rank=8), seq_len=S),
    "zero3": Job(stage=3, lora=Lora(rank=8), seq_len=S),
    "fsdp2": Job(engine=Engine.FSDP2, stage=3, lora=Lora(rank=8), seq_len=S),
    "ddp": Job(engine=Engine.DDP, lora=Lora(rank=8), seq_len=S),
}
BYTES = {"zero2": 2 * ADAPTERS, "zero3": 4 * ADAPTERS // 4, "fsdp2": 4 * ADAPTERS // 4, "ddp": 4 * ADAPTERS}
"""On each of 4 ranks; all sizes divide."""


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    path = tmp_path_factory.mktemp("model") / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return resolve_model(params=None, model=str(path))


@pytest.fixture(scope="module")
def measured(warm: Warm, model: ModelSpec) -> Iterator[dict[str, Future[dict[str, Any]]]]:
    needs("torch", "deepspeed", "peft")
    from zplan.verify.dryrun import plan_to_case

    with processes() as pool:
        yield {name: pool.submit(warm.run_case, plan_to_case(plan_of(model, name)).to_dict()) for name in JOBS}


def plan_of(model: ModelSpec, name: str) -> Plan:
    return Plan(model=model, cluster=ClusterSpec(gpus=4, nodes=1), job=JOBS[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", JOBS)
def test_engines_hold_the_adapters_that_are_predicted(
    measured: dict[str, Future[dict[str, Any]]], model: ModelSpec, name: str
) -> None:
    found = estimate(plan_of(model, name))
    terms = measured[name].result()["terms"]["step"]
    assert terms["adapters"] == found.steady["adapters"] == BYTES[name]
    # rotary frequencies are among the parameters that a run counts
    assert terms["params"] == pytest.approx(found.steady["params"], abs=1024)


@pytest.mark.parametrize("engine", ["deepspeed", "fsdp2", "fsdp1", "ddp"])
@pytest.mark.parametrize("quantize", [None, "nf4", "int8"])
def test_terms_still_sum_up(engine: str, quantize: str | None) -> None:
    for plan in build_plans(
        PlanOptions(model="llama-3.1-8b", gpus="8", engine=engine, lora="16", quantize=quantize)
    ).plans:
        found = estimate(plan)
        assert found.steady.get("adapters", 0) > 0 or plan.job.offload.value == "all"
        assert all(size >= 0 for size in found.steady.values())
        for moment in found.moments:
            assert sum(moment.terms.values()) == moment.total_bytes
            assert all(size > 0 for size in moment.terms.values())
            for key in ("adapters", "quantized_params"):
                if key in moment.terms:
                    assert "not modelled" not in explain_term(found, moment, key).formula


@pytest.mark.parametrize("engine", ["deepspeed", "fsdp2", "fsdp1", "ddp"])
def test_fewer_parameters_than_the_borrowed_shape_pack_as_much_less(engine: str) -> None:
    # 70M borrow the shape of smollm2-135m, whose packed weights alone would save more than 70M have.
    for plan in build_plans(PlanOptions(params="70M", gpus="8", engine=engine, lora="16", quantize="nf4")).plans:
        found = estimate(plan)
        assert all(size >= 0 for moment in found.moments for size in moment.terms.values())
        if engine == "ddp":
            # smollm2-135m: 30 layers of 2 x 576^2 + 2 x 576 x 192 + 3 x 576 x 1536 elements, half a byte each, and 4 bytes
            # for each block of 64; of these 70,000,000 / 134,515,008.
            linear = 30 * (2 * 576**2 + 2 * 576 * 192 + 3 * 576 * 1536)
            packed, constants = (size * 70_000_000 // 134_515_008 for size in (linear // 2, linear // 64 * 4))
            assert found.steady["quantized_params"] == packed + constants


def test_without_adapters_there_is_no_term() -> None:
    for plan in build_plans(PlanOptions(params="7B", gpus="8")).plans:
        assert all("adapters" not in moment.terms for moment in estimate(plan).moments)
