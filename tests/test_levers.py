"""Levers and ways out: each number is an estimate's."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zplan.advice.levers import Lever, levers
from zplan.advice.reach import fewest_gpus, gpu_counts, leanest, longest_sequence, more_gpus, something_fits
from zplan.advice.space import Pins, Question
from zplan.advice.ways import ways_out
from zplan.inputs.cluster import build_cluster
from zplan.inputs.presets import load_model
from zplan.memory.beyond import with_phases
from zplan.memory.estimate import estimate
from zplan.spec import Beyond, Checkpointing, DeepSpeedOptions, Engine, Job, Offload, Plan
from zplan.units import GIB, format_size

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


# Keys of ds_config.json, and how a checkpoint is written


def test_a_smaller_bucket_saves_its_difference() -> None:
    """Stage 3 holds one bucket of 2-byte elements from init on: 2 x (5e8 - 5e7) bytes less, before the allocator's share."""
    plan = _plan(stage=3, micro_batch=1)
    before = estimate(plan)
    (bucket,) = [lever for lever in levers(plan, before) if lever.name == "bucket"]
    assert bucket.plan is not None
    assert before.steady["reduce_bucket"] - estimate(bucket.plan).steady["reduce_bucket"] == 2 * (
        500_000_000 - 50_000_000
    )
    assert bucket.saves_bytes >= 900_000_000
    assert "bucket" not in _by_name(levers(bucket.plan))


def test_gradients_that_are_reduced_where_they_are_need_no_buffer() -> None:
    """Stage 1 where the bucket lies in the peak of backward: a buffer of 5e8 elements of 2 bytes is gone.

    Where the peak is the loss, before any gradient is there, it saves nothing and is not named.
    """
    saver = Checkpointing(kind="full")
    plan = _plan(stage=1, micro_batch=2, seq_len=4096, checkpointing=saver)
    before = estimate(plan)
    assert before.peak_moment.phase == "backward" and before.peak_moment.terms["reduce_bucket"] == 1_000_000_000
    lever = _by_name(levers(plan, before))["contiguous_gradients"]
    assert lever.plan is not None and not lever.plan.job.deepspeed.contiguous_gradients
    assert before.allocated_peak_bytes - estimate(lever.plan).allocated_peak_bytes == 1_000_000_000
    assert lever.saves_bytes >= 1_000_000_000
    assert "contiguous_gradients" not in _by_name(levers(lever.plan))
    assert "contiguous_gradients" not in _by_name(levers(_plan(stage=1, micro_batch=16, seq_len=4096)))
    assert "contiguous_gradients" not in _by_name(levers(_plan(stage=3, micro_batch=2, seq_len=4096)))


def test_unpinned_memory_saves_its_rounding() -> None:
    """RAM that is not pinned is not rounded up to powers of two; the GPU gains nothing."""
    plan = _plan(stage=3, offload=Offload.ALL)
    before = estimate(plan)
    lever = _by_name(levers(plan, before))["pin_memory"]
    ranks = plan.cluster.gpus_per_node
    assert lever.plan is not None
    after = estimate(lever.plan)
    assert lever.saves_bytes == 0
    assert lever.host_saves_bytes == before.host.per_node_bytes - after.host.per_node_bytes > 0
    assert before.host.per_node_bytes > ranks * before.host.per_rank_bytes
    assert not {"pin_memory"} & set(_by_name(levers(_plan(stage=2))))


@pytest.mark.parametrize("engine", [Engine.FSDP1, Engine.FSDP2])
def test_shards_save_what_a_whole_state_dict_takes(engine: Engine) -> None:
    """FSDP's own default clones the model on every GPU: 4 P; shards need the root and a block whole (FSDP1) or nothing."""
    plan = _plan(stage=3, engine=engine)
    size = plan.model.params
    whole = Beyond(phases=("save",), full_state_dict=True, state_dict_on_gpu=True)
    before = with_phases(estimate(plan), whole)
    assert before.phases["save"] >= 4 * size + sum(estimate(plan).steady.values()) - before_grads(plan)
    lever = _by_name(levers(plan, before, whole))["state_dict"]
    sharded = with_phases(estimate(plan), Beyond(phases=("save",), full_state_dict=False))
    assert lever.needs_bytes == sharded.runtime.device_high_bytes
    assert lever.saves_bytes == before.runtime.device_high_bytes - sharded.runtime.device_high_bytes > 0
    (note,) = before.beyond[0].notes
    assert "--state-dict sharded takes" in note and format_size(before.phases["save"] - sharded.phases["save"]) in note
    assert "state_dict" not in _by_name(levers(plan, sharded, Beyond(phases=("save",), full_state_dict=False)))


def before_grads(plan: Plan) -> int:
    """FSDP1 lets go of flat gradients before a state dict is read."""
    return estimate(plan).steady.get("grads", 0)


def test_a_whole_state_dict_on_rank_0_takes_its_ram() -> None:
    """FSDP2 collects 8 P of moments on rank 0; shards cross tensor by tensor."""
    plan = _plan(stage=3, engine=Engine.FSDP2)
    full = Beyond(phases=("save",))
    lever = _by_name(levers(plan, None, full))["state_dict"]
    assert lever.host_saves_bytes >= 0.99 * 8 * plan.model.params


def test_unpinned_memory_is_a_way_out_where_rounding_is_too_much() -> None:
    """7B with everything offloaded: RAM between what it holds and what pinning rounds that up to."""
    plan = _plan(8, 24, host_gib=300)
    question = Question(base=plan, pins=Pins(stage=3, offload=Offload.ALL))
    need = next(one.memory for one in leanest(question))
    raw = plan.cluster.gpus_per_node * need.host.per_rank_bytes
    assert raw < need.host.per_node_bytes
    between = replace(plan.cluster, host_capacity_bytes=(3 * raw + need.host.per_node_bytes) // 4)
    ways = ways_out(replace(question, base=replace(plan, cluster=between)))
    found = [way for way in ways if way.name == "pin_memory"]
    assert found and found[0].fits is not None and not found[0].fits.plan.job.deepspeed.pin_memory
    assert something_fits(replace(question, base=replace(plan, cluster=between))) is None


def test_pinned_buckets_are_a_way_out() -> None:
    """A config's own buckets of 2e9 elements (4 GB at stage 3) stand in the way of what fits with small ones."""
    plan = _plan(8, 24, host_gib=600)
    large = replace(plan.job, deepspeed=DeepSpeedOptions(reduce_bucket_size=6_000_000_000))
    question = Question(base=replace(plan, job=large), pins=Pins(buckets=True))
    assert something_fits(question) is None
    ways = {way.name: way for way in ways_out(question)}
    assert ways["bucket"].fits is not None
