"""Predicted beside measured: joins, errors and what no term explains, on hand-made values."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import an_estimate

from zplan.errors import ZplanError
from zplan.units import GIB
from zplan.verify.compare import compare, largest_moment
from zplan.verify.launch.results import case_line, measurement_of
from zplan.verify.measurement import Measurement

MEASURED = Measurement(
    launch="dryrun",
    rank=0,
    world_size=8,
    phases={"init": 13 * GIB, "forward": 16 * GIB, "backward": 32 * GIB, "step": 18 * GIB},
    steady_bytes=16 * GIB,
    allocated_peak_bytes=32 * GIB,
    terms={
        "init": {"params": 13 * GIB},
        "forward": {"params": 13 * GIB, "activations": 3 * GIB},
        "backward": {"params": 13 * GIB, "activations": 8 * GIB, "reduce_bucket": 6 * GIB, "grads": 2 * GIB},
        "step": {},
    },
)
"""Beside ``an_estimate()``: 30 GiB predicted at the peak, 32 measured, of which 29 have a name."""


def test_phases_and_peak_are_joined_by_name() -> None:
    found = compare(an_estimate(), MEASURED)
    assert found.peak_phase == "backward"
    assert (found.peak.predicted_bytes, found.peak.measured_bytes) == (30 * GIB, 32 * GIB)
    # 30 / 32 - 1 = -1/16
    assert found.peak.error == -0.0625
    assert found.peak.difference_bytes == -2 * GIB
    assert {row.name: row.error for row in found.phases} == {
        "init": 0.0,  # 13 / 13 - 1
        "forward": 0.25,  # 20 / 16 - 1
        "backward": -0.0625,
        "step": 0.0,  # 18 / 18 - 1
        "steady": 0.0,  # (13 + 3) / 16 - 1
    }


def test_terms_are_joined_and_the_rest_is_unexplained() -> None:
    found = compare(an_estimate(), MEASURED)
    rows = {row.name: (row.predicted_bytes, row.measured_bytes) for row in found.terms["backward"]}
    assert rows == {
        "params": (13 * GIB, 13 * GIB),
        "activations": (7 * GIB, 8 * GIB),
        "reduce_bucket": (6 * GIB, 6 * GIB),
        "logits": (4 * GIB, 0),
        "grads": (0, 2 * GIB),
        "unexplained": (None, 3 * GIB),  # 32 - 13 - 8 - 6 - 2
    }
    assert found.unexplained_bytes == 3 * GIB
    assert found.terms["backward"][-1].name == "unexplained"


@pytest.mark.parametrize("phase", ["init", "forward", "backward", "step"])
def test_measured_terms_sum_to_their_phase(phase: str) -> None:
    rows = compare(an_estimate(), MEASURED).terms[phase]
    assert sum(row.measured_bytes or 0 for row in rows) == MEASURED.phases[phase]


def test_without_a_formula_there_is_no_error_and_no_tolerance() -> None:
    found = compare(None, MEASURED)
    assert set(found.errors().values()) == {None}
    assert not found.within(1.0)
    assert found.unexplained_bytes == 3 * GIB


@pytest.mark.parametrize(("tolerance", "inside"), [(0.0, False), (0.0624, False), (0.0625, True), (0.5, True)])
def test_tolerance_is_about_the_allocated_peak(tolerance: float, inside: bool) -> None:
    assert compare(an_estimate(), MEASURED).within(tolerance) is inside


def test_a_measured_zero_has_no_relative_error() -> None:
    found = compare(an_estimate(), replace(MEASURED, phases={**MEASURED.phases, "init": 0}))
    assert found.errors()["init"] is None


def test_figures_of_a_gpu_are_differences() -> None:
    measured = replace(
        MEASURED,
        reserved_peak_bytes=33 * GIB,
        device_peak_bytes=35 * GIB,
        beyond={"cuda_context": GIB, "nccl": GIB // 2, "cublas_workspace": 1, "allocation_retries": 0},
    )
    rows = {row.name: (row.predicted_bytes, row.measured_bytes) for row in compare(an_estimate(), measured).device}
    assert rows == {
        "reserved": (30 * GIB + GIB // 2, 33 * GIB),
        "device": (32 * GIB, 35 * GIB),
        "cuda_context": (GIB, GIB),
        "nccl": (GIB // 2, GIB // 2),
        "fragmentation": (GIB // 2, GIB),  # 33 - 32
    }
    assert compare(an_estimate(), MEASURED).device == ()


def test_the_largest_moment_of_a_phase() -> None:
    found = largest_moment(an_estimate(), "backward")
    assert found is not None
    assert found.name == "loss"
    assert largest_moment(an_estimate(), "step") is None


def _result(rank: int, forward: int, backward: int) -> dict[str, object]:
    return {
        **{"rank": rank, "init": 1, "forward": forward, "backward": backward, "step": 5, "steady": 4},
        **{"peak": max(forward, backward, 5), "params": 7, "limits": ["same"], "versions": {"torch": "2"}},
        "terms": {"forward": {"params": forward}, "backward": {"grads": backward}},
    }


def test_ranks_are_joined_phase_by_phase() -> None:
    case = {"engine": "ddp", "world": 2}
    found = measurement_of([_result(0, 10, 6), _result(1, 9, 20)], launch="torchrun", case=case, seconds=1.234)
    assert found.phases == {"init": 1, "forward": 10, "backward": 20, "step": 5}
    assert (found.rank, found.ranks_measured, found.world_size) == (1, 2, 2)
    assert found.allocated_peak_bytes == 20
    assert found.spread["allocated_peak"] == (10, 20)
    assert found.terms["forward"] == {"params": 10}
    assert found.terms["backward"] == {"grads": 20}
    assert found.limits == ("same",)
    assert found.seconds == 1.23


def test_one_rank_has_no_spread() -> None:
    assert measurement_of([_result(0, 1, 2)], launch="single", case={}, seconds=0.0).spread == {}


def test_a_measurement_survives_its_file_and_becomes_a_benchmark_line() -> None:
    found = measurement_of([_result(0, 10, 6)], launch="dryrun", case={"engine": "ddp", "world": 1}, seconds=2.0)
    again = Measurement.from_json(found.to_json())
    assert again == found
    line = case_line(again)
    assert line["case"] == {"engine": "ddp", "world": 1}
    assert {key: line["result"][key] for key in ("init", "forward", "backward", "step", "steady", "peak")} == {
        **{"init": 1, "forward": 10, "backward": 6, "step": 5, "steady": 4, "peak": 10},
    }


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", '{"launch": "dryrun"}', "{"])
def test_other_files_are_no_measurements(text: str) -> None:
    with pytest.raises(ZplanError):
        Measurement.from_json(text)
