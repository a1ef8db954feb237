"""The throughput benchmark: rows of offloaded activations, reasons by kind, and constants chosen without a source."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from zplan.advice import rates
from zplan.advice.timing import step_time
from zplan.advice.traffic import checkpoint_copies, traffic
from zplan.advice.work import Kernels
from zplan.inputs.cluster import build_cluster
from zplan.inputs.presets import load_model
from zplan.spec import Checkpointing, Engine, Job, Plan

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import fit
import throughput
from rows import RowPlan, load_rows, row_plan
from rowwords import kernels_of


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


ODD = (None, "", "x", -1, 0, 1e300, [], {}, [1], {"a": 1}, True, math.nan, math.inf, 10**30, "7", 3.5)


def _row() -> dict[str, Any]:
    rows = load_rows(Path(throughput.__file__).parent / "data" / "fresh_rows.yaml")
    return next(row for row in rows if row["id"] == "kempner-13b-n8")


def test_rows_with_any_field_missing_or_odd_are_answered_or_skipped() -> None:
    """No traceback, and no figure that is none."""
    row, changed = _row(), []
    for key in row:
        changed += [{**row, key: value} for value in ODD] + [
            {name: value for name, value in row.items() if name != key}
        ]
    for key in ("arch", "throughput", "extra"):
        changed += [{**row, key: {**row[key], name: value}} for name in row[key] for value in ODD]
    answered = 0
    for one in changed:
        if "id" not in one or not throughput.section(one, "throughput").get("value"):
            continue
        result = throughput.answer(one)
        if isinstance(result, throughput.Answer):
            answered += 1
            assert 0 < result.measured < math.inf
            assert 0 < result.predicted < math.inf
            assert result.group is None or isinstance(result.group, str)
        else:
            assert result.why
    assert answered > 100


@pytest.mark.parametrize(
    "content", ["", "a: 1", "- x\n- y", "- {model: x}", "{[: \x00", "- !!python/object:os.system {id: 1}"]
)
def test_files_that_are_no_rows_end_with_one_line(tmp_path: Path, content: str) -> None:
    path = tmp_path / "rows.yaml"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SystemExit) as stop:
        load_rows(path)
    assert str(stop.value.code).startswith("error: ")
    assert "\n" not in str(stop.value.code)
    with pytest.raises(SystemExit, match="cannot be read"):
        load_rows(tmp_path / "none.yaml")


def test_kernels_are_read_from_a_rows_words() -> None:
    assert kernels_of(
        {"flash": "FA (triton/flash1)", "optimizer": "decoupled_adamw (for-loop)", "ce": "fused CE"}
    ) == Kernels(flash=1, fused_loss=True, loose_optimizer=True)
    assert kernels_of({"flash": "sdpa-flash", "note": "liger kernels"}) == Kernels(flash=2, fused=True)
    assert kernels_of({"flash": "TE flash", "lora": {"quant": "gptq int4"}}) == Kernels(flash=3, unpacked_gptq=True)
    assert kernels_of({"flash": "not stated", "ce": "standard HF"}) == Kernels()


def test_a_network_and_nodes_that_a_row_names_are_taken() -> None:
    row = _row()
    two, fast = (row_plan({**row, "extra": extra}) for extra in ({"nodes": 2}, {"nodes": 2, "network_gbps": 800}))
    assert isinstance(two, RowPlan)
    assert isinstance(fast, RowPlan)
    assert two.plan.cluster.nodes == fast.plan.cluster.nodes == 2
    assert fast.plan.cluster.node is not None
    assert fast.plan.cluster.node.network_bandwidth == 100e9
