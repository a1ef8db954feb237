"""The throughput benchmark: rows of offloaded activations, reasons by kind, and constants chosen without a source."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

from zplan.advice import rates
from zplan.advice.timing import step_time
from zplan.advice.traffic import checkpoint_copies, traffic
from zplan.inputs.cluster import build_cluster
from zplan.inputs.presets import load_model
from zplan.spec import Checkpointing, Engine, Job, Plan

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import fit
import throughput


def _plan(micro_batch: int = 4, gpu: str = "a100-80g", **words: object) -> Plan:
    cluster, _ = build_cluster(gpus=1, gpu=gpu)
    job = Job(engine=Engine.SINGLE, micro_batch=micro_batch, checkpointing=Checkpointing(kind="full"))
    return Plan(model=load_model("tinyllama-1.1b"), cluster=cluster, job=replace(job, **words))  # type: ignore[arg-type]


def _rate(plan: Plan) -> float:
    time = step_time(plan)
    assert time is not None
    return time.tokens_per_second_per_gpu


def test_other_constants_hold_for_a_while_and_no_longer() -> None:
    plan = _plan()
    before = _rate(plan)
    with fit.constants({"IN_TRAINING": 0.5}):
        assert rates.IN_TRAINING == 0.5
        assert _rate(plan) < before
    assert _rate(plan) == before


def test_constants_that_explain_the_other_sources_are_found() -> None:
    """Rows made with constants of the grid: whichever source is left out, the others bring them back, and it comes out exact."""
    true = {"IN_TRAINING": 0.80, "TILE": 256.0, "MEMORY_SHARE": 0.7}
    plans = [_plan(micro, card) for micro in (1, 4, 16) for card in ("a100-80g", "h100-80g", "rtx-4090-24g")]
    with fit.constants(true):
        rows = [fit.Known(f"source {i % 3}", plan, 1, _rate(plan)) for i, plan in enumerate(plans)]
    found = fit.leave_one_source_out(rows)
    assert found["n"] == len(plans)
    assert found["median"] == pytest.approx(0, abs=1e-9)
    for source in found["sources"].values():
        assert {name: source["constants"][name] for name in true} == true


def test_a_source_has_no_say_in_its_own_constants() -> None:
    plans = [_plan(micro) for micro in (1, 2, 4, 8)]
    rows = [fit.Known("honest", plan, 1, _rate(plan)) for plan in plans]
    odd = [fit.Known("odd", plan, 1, 10 * _rate(plan)) for plan in plans]
    with_odd, without = (
        fit.leave_one_source_out(rows + odd),
        fit.leave_one_source_out([*rows, fit.Known("odd", plans[0], 1, 1.0)]),
    )
    assert with_odd["sources"]["odd"]["constants"] == without["sources"]["odd"]["constants"]
    assert with_odd["sources"]["odd"]["median"] > 0.8


def test_checkpoints_on_the_host_cross_pcie_twice() -> None:
    plan = _plan(checkpointing=Checkpointing(kind="full", offloaded=True))
    # 22 blocks, 4 x 2048 tokens of 2048 elements of 2 bytes, out and in, over PCIe 4 x16 at 88 %.
    size = 2 * 22 * 4 * 2048 * 2048 * 2
    assert plan.cluster.gpu is not None
    copied = checkpoint_copies(plan.model, plan.cluster.gpu, plan.job, (4, 2048, 1))
    assert copied == pytest.approx(size / (16 * 1.969e9 * 0.88))
    assert traffic(plan).host_overlapped == traffic(_plan()).host_overlapped == 0
    beside, alone = step_time(plan), step_time(_plan(checkpointing=Checkpointing(kind="full")))
    assert beside is not None
    assert alone is not None
    assert beside.hidden_seconds > alone.hidden_seconds
    assert _rate(plan) <= _rate(_plan())


@pytest.mark.parametrize(
    ("why", "kind"),
    [
        ("splits the model or the sequence (tp, cp)", "splits the model or the sequence"),
        ("which card it was is not certain: A/B", "which card it was is not certain"),
        (
            "the row's own figure needs 1.2 times the card's peak FLOP/s",
            "the row's own figure needs several times the card's peak FLOP/s",
        ),
    ],
)
def test_reasons_are_counted_by_kind(why: str, kind: str) -> None:
    assert throughput.why_kind(why) == kind
