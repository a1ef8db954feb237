"""Every term on the host explains itself in ``--explain`` and ``zplan explain``, with numbers that make up its size."""

from __future__ import annotations

import re

import pytest

from zplan.cli.app import run
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.memory.estimate import estimate
from zplan.memory.explain_host import explain_host, host_terms
from zplan.memory.moments import Estimate

PLANS = {
    "stage 1": {"stage": "1", "offload": "optimizer"},
    "stage 2": {"stage": "2", "offload": "optimizer"},
    "stage 2, accumulating": {"stage": "2", "offload": "optimizer", "grad_accum": "4"},
    "stage 3": {"stage": "3", "offload": "optimizer"},
    "stage 3, all": {"stage": "3", "offload": "all"},
    "stage 3, adapters": {"stage": "3", "offload": "all", "lora": "16"},
    "stage 3, NVMe": {"stage": "3", "offload": "all", "offload_to": "nvme"},
    "fsdp2": {"engine": "fsdp2", "stage": "3", "offload": "all"},
    "fsdp1": {"engine": "fsdp1", "stage": "3", "offload": "all", "optimizer": "adamw_torch"},
}


def _estimate(name: str) -> Estimate:
    return estimate(build_plans(PlanOptions(model="llama-3.2-1b", gpus="8", gpu_mem="80", **PLANS[name])).plans[0])


@pytest.mark.parametrize("name", PLANS)
def test_terms_on_the_host_add_up(name: str) -> None:
    plan = _estimate(name)
    found = host_terms(plan)
    sizes = {term.key: term.bytes for term in found}
    rounding = sizes.pop("pinned_rounding", 0)
    assert sizes == dict(plan.host.terms)
    assert sum(sizes.values()) == plan.host.per_rank_bytes
    assert 8 * (plan.host.per_rank_bytes + rounding) == plan.host.per_node_bytes
    for term in found:
        assert term.source and term.how_to_shrink and "not modelled" not in term.formula and "none" not in term.formula
        product = re.match(r"([0-9]+) x ([0-9,]+) = ([0-9,]+) per rank$", term.with_numbers)
        if product:
            each, elements, size = (int(part.replace(",", "")) for part in product.groups())
            assert each * elements == size == term.bytes


def test_formulas_are_of_the_engine() -> None:
    # 1B parameters in fp32 on 8 ranks under FSDP2; 16-bit ones and an fp32 copy under DeepSpeed.
    assert explain_host(_estimate("fsdp2"), "host_params").formula == "4 P/N"
    assert explain_host(_estimate("stage 3, all"), "host_params").formula == "2 P/N"
    assert explain_host(_estimate("stage 3, all"), "host_master").formula == "4 P/N"
    assert explain_host(_estimate("stage 3, adapters"), "host_master").formula == "4 (weights of adapters)/N"
    # 4 + 2 bytes per element: DeepSpeed's fp32 gradients for the step and its 16-bit buffer (stage3.py).
    plan = _estimate("stage 3")
    assert explain_host(plan, "host_grads").bytes == 6 * plan.plan.model.params // 8


def test_explain_shows_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    plan = ["--params", "7B", "--gpus", "8", "--gpu-mem", "80", "--stage", "2", "--offload", "optimizer"]
    assert run(["estimate", *plan, "--explain"]) == 0
    out = capsys.readouterr().out
    for key in ("host_master", "host_optimizer", "host_grads", "host_staging", "pinned_rounding"):
        assert f"({key})" in out
        assert run(["explain", key, *plan]) == 0
        assert "none in this plan" not in capsys.readouterr().out
    assert "4 x 875,000,000 = 3,500,000,000 per rank" in out
