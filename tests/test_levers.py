"""Levers and ways out: each number is an estimate's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zplan.advice.levers import Lever, levers
from zplan.advice.reach import fewest_gpus, gpu_counts, longest_sequence, more_gpus, something_fits
from zplan.advice.space import Pins, Question
from zplan.advice.ways import ways_out
from zplan.inputs.cluster import build_cluster
from zplan.inputs.presets import load_model
from zplan.memory.estimate import estimate
from zplan.spec import Checkpointing, Job, Offload, Plan
from zplan.units import GIB

MODEL = load_model("llama-2-7b")


def _plan(gpus: int = 8, gib: int = 80, host_gib: int | None = 1024, **words: object) -> Plan:
    host = None if host_gib is None else host_gib * GIB
    cluster, _ = build_cluster(gpus=gpus, gpu="a100-80g", gpu_mem_bytes=gib * GIB, host_mem_bytes=host)
    return Plan(model=MODEL, cluster=cluster, job=Job(**words))  # type: ignore[arg-type]


def _by_name(found: tuple[Lever, ...]) -> dict[str, Lever]:
    return {lever.name: lever for lever in found}


def test_each_lever_saves_what_the_estimates_say() -> None:
    plan = _plan(stage=0, micro_batch=8, seq_len=4096)
    before = estimate(plan)
    found = levers(plan, before)
    assert {"checkpointing", "micro_batch", "stage", "offload_optimizer"} <= set(_by_name(found))
    for lever in found:
        assert lever.plan is not None
        after = estimate(lever.plan).runtime.device_high_bytes
        assert lever.needs_bytes == after
        assert lever.saves_bytes == before.runtime.device_high_bytes - after > 0
    assert list(found) == sorted(found, key=lambda lever: -lever.saves_bytes)


def test_levers_say_what_they_cost() -> None:
    found = _by_name(levers(_plan(stage=2, micro_batch=8, seq_len=4096)))
    slower = found["checkpointing"].slower
    assert slower is not None
    # One more forward of the blocks: 8 instead of 6 FLOPs per weight.
    assert 1.2 < slower < 1.4


def test_without_a_card_levers_have_no_time() -> None:
    plan = _plan(stage=2, micro_batch=8)
    plan = replace(plan, cluster=replace(plan.cluster, gpu=None))
    assert all(lever.slower is None for lever in levers(plan))


def test_no_lever_that_is_pulled_already() -> None:
    plan = _plan(stage=3, offload=Offload.ALL, checkpointing=Checkpointing(kind="full"))
    assert not {"checkpointing", "stage", "offload_all", "micro_batch"} & set(_by_name(levers(plan)))


@pytest.mark.parametrize(
    ("now", "wanted", "nodes"), [(8, 4, 1), (8, 8, 1), (8, 16, 2), (8, 64, 8), (16, 8, 1), (8, 12, None)]
)
def test_more_gpus_fill_nodes(now: int, wanted: int, nodes: int | None) -> None:
    cluster = more_gpus(_plan(now).cluster, wanted)
    assert (cluster.nodes if cluster is not None else None) == nodes


def test_fewest_gpus_is_the_first_that_fits() -> None:
    question = Question(base=_plan(1, 24), pins=Pins(offload=Offload.NONE))
    found = fewest_gpus(question)
    assert found is not None
    gpus, fitting = found
    assert gpus > 1
    assert fitting.plan.cluster.gpus == gpus
    smaller = more_gpus(question.base.cluster, gpus // 2 if gpus <= 8 else gpus - 8)
    assert smaller is not None
    assert something_fits(replace(question, base=replace(question.base, cluster=smaller))) is None


def _counts(question: Question, most: int) -> list[int]:
    """Numbers of GPUs, tried one by one, on which something fits."""
    fitting = []
    for gpus in range(1, most + 1):
        cluster = more_gpus(question.base.cluster, gpus)
        if cluster is not None and something_fits(replace(question, base=replace(question.base, cluster=cluster))):
            fitting.append(gpus)
    return fitting


@pytest.mark.parametrize(
    ("gib", "most", "batch"), [(40, 8, None), (30, 8, None), (40, 5, None), (24, 24, None), (30, 8, 12), (24, 24, 24)]
)
def test_fewest_gpus_leaves_no_count_out(gib: int, most: int, batch: int | None) -> None:
    """Between powers of two, up to a limit that is none, and counts that divide a global batch."""
    question = Question(base=_plan(1, gib), pins=Pins(offload=Offload.NONE), global_batch=batch)
    found, fitting = fewest_gpus(question, most=most), _counts(question, most)
    assert (None if found is None else found[0]) == (fitting[0] if fitting else None)


def test_counts_of_gpus_to_try() -> None:
    cluster = _plan(1, 24).cluster
    assert [one.gpus for one in gpu_counts(cluster, most=40)] == [1, 2, 4, 8, 16, 32, 40]
    assert [one.gpus for one in gpu_counts(cluster, above=2, most=6)] == [4, 6]
    assert [one.gpus for one in gpu_counts(cluster, most=64, batch=48)] == [1, 2, 3, 4, 6, 8, 16, 24, 48]


def test_longest_sequence_is_the_last_that_fits() -> None:
    question = Question(base=_plan(1, 24, checkpointing=Checkpointing(kind="full")), pins=Pins())
    length = longest_sequence(question, 2**20)
    assert length is not None

    def at(seq: int) -> Question:
        return replace(question, base=replace(question.base, job=replace(question.base.job, seq_len=seq)))

    assert something_fits(at(length)) is not None
    assert something_fits(at(length + 256)) is None


def test_ways_out_work() -> None:
    question = Question(base=_plan(1, 24, host_gib=16), pins=Pins())
    assert something_fits(question) is None
    ways = ways_out(question)
    names = {way.name for way in ways if way.fits is not None}
    assert {"gpus", "gpu_mem", "host_mem"} <= names
    fits = [way.fits is not None for way in ways]
    assert fits == sorted(fits, reverse=True)
    for way in ways:
        if way.fits is not None:
            assert way.fits.memory.verdict == "fits"
        else:
            assert way.needs_bytes is not None


def test_a_pin_in_the_way_is_named_first() -> None:
    question = Question(base=_plan(8, 40), pins=Pins(stage=0))
    ways = ways_out(question)
    assert ways[0].name == "stage"
    assert ways[0].fits is not None
