"""DeepSpeed builds its flat buffer beside the model only where the card has room for both, through the host otherwise."""

from __future__ import annotations

import pytest

from zplan.inputs.presets import load_model
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.spec import Checkpointing, ClusterSpec, Engine, Job, Loss, Offload, Plan
from zplan.units import GIB

MODEL = load_model("llama-2-7b")
WEIGHTS = 2 * MODEL.params
"""13.5 GB in 16 bits."""


def priced(card: int | None, stage: int = 2, gpus: int = 1, host: int | None = None) -> Estimate:
    """Optimizer offload on a card of ``card`` GiB."""
    job = Job(stage=stage, offload=Offload.OPTIMIZER, checkpointing=Checkpointing(kind="full"), loss=Loss.FUSED)
    capacity = None if card is None else card * GIB
    ram = None if host is None else host * GIB
    cluster = ClusterSpec(gpus=gpus, nodes=1, gpu_capacity_bytes=capacity, host_capacity_bytes=ram)
    return estimate(Plan(model=MODEL, cluster=cluster, job=job))


@pytest.mark.parametrize("card", [None, 40, 80])
def test_with_room_the_buffer_is_made_beside_the_model(card: int | None) -> None:
    found = priced(card)
    assert found.phases["init"] == pytest.approx(2 * WEIGHTS, rel=1e-6)


@pytest.mark.parametrize("stage", [1, 2])
def test_without_room_the_weights_go_through_the_host(stage: int) -> None:
    """facebook/llama-7b on a 24 GB card: 27 GB at once would not fit, 13.5 do."""
    found = priced(24, stage)
    assert found.phases["init"] < 1.05 * WEIGHTS
    init = [moment for moment in found.moments if moment.phase == "init"]
    assert max(moment.total_bytes for moment in init) == found.phases["init"]
    assert any(moment.name == "flat buffer through the host" for moment in init)


def test_stage_2_offload_of_a_7b_model_fits_on_one_consumer_card() -> None:
    assert priced(24).verdict == "fits"


def test_the_host_holds_the_weights_of_each_rank_meanwhile() -> None:
    # Between steps a rank of eight holds 18 P/8 and a scratch, less than the 2 P that pass through.
    assert priced(24, gpus=8).host.peak_per_rank_bytes >= WEIGHTS
    assert priced(80, gpus=8).host.peak_per_rank_bytes < priced(24, gpus=8).host.peak_per_rank_bytes * 1.5


def test_a_card_that_cannot_hold_the_buffer_alone_is_too_small() -> None:
    assert priced(12).verdict == "oom"


def test_a_larger_card_is_never_worse() -> None:
    order = {"oom": 0, "tight": 1, "fits": 2}
    verdicts = [order[str(priced(card).verdict)] for card in range(10, 48)]
    assert verdicts == sorted(verdicts)


@pytest.mark.parametrize("ranks", [1, 2, 8])
def test_fsdp1_flattens_a_unit_beside_its_weights_also_on_one_gpu(ranks: int) -> None:
    """With everything offloaded nothing else is on the card: the root (embedding, last norm, head) twice in fp32.

    Source: torch ``fully_sharded_data_parallel`` moves a unit to the GPU (``_move_module_to_device``), flattens it into a copy and
    only then sends it back (``flat_param_to``); with one rank it was priced once.
    """
    root = 2 * 128256 * 4096 + 4096
    job = Job(engine=Engine.FSDP1, stage=3, offload=Offload.ALL)
    plan = Plan(model=load_model("llama-3-8b"), cluster=ClusterSpec(gpus=ranks, nodes=1), job=job)
    assert estimate(plan).phases["init"] == 2 * 4 * root
