"""Paged optimizer states: managed memory, which torch does not count and the driver moves to host RAM when the card is full."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zplan.inputs.presets import load_model
from zplan.memory.beyond import with_phases
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate, TermKey
from zplan.spec import Beyond, Checkpointing, ClusterSpec, Engine, Job, Plan, Precision
from zplan.units import GIB

MODEL = load_model("llama-2-7b")
P = MODEL.params
FULL = Checkpointing(kind="full")


def priced(optimizer: str, *, card: int | None = 80, host: int | None = None, gpus: int = 1) -> Estimate:
    """A 7B model in 16 bits, on cards of ``card`` GiB."""
    job = Job(
        engine=Engine.SINGLE if gpus == 1 else Engine.FSDP2,
        stage=0 if gpus == 1 else 3,
        precision=Precision.BF16_PURE,
        optimizer=optimizer,
        checkpointing=FULL,
    )
    cluster = ClusterSpec(
        gpus=gpus,
        nodes=1,
        gpu_capacity_bytes=None if card is None else card * GIB,
        host_capacity_bytes=None if host is None else host * GIB,
    )
    return estimate(Plan(model=MODEL, cluster=cluster, job=job))


def test_torch_does_not_count_them() -> None:
    # Two fp32 moments would be 8 P; sgd without momentum has no states at all.
    assert priced("paged_adamw").phases == priced("sgd").phases
    assert TermKey.OPTIMIZER not in priced("paged_adamw").steady


def test_maxima_of_blocks_are_ordinary_tensors() -> None:
    # Two fp32 maxima per 256 values: 2 * 4 P / 256.
    assert priced("paged_adamw_8bit").steady[TermKey.OPTIMIZER] == 2 * 4 * P // 256


def test_they_count_as_model_states() -> None:
    assert priced("paged_adamw").model_states.optimizer_bytes == 8 * P


@pytest.mark.parametrize("card", [24, 40, 60, 80, 160])
def test_they_fill_what_room_is_left_and_never_more(card: int) -> None:
    without, found = priced("sgd", card=card), priced("paged_adamw", card=card)
    room = max(0, card * GIB - without.runtime.device_expected_bytes)
    on_card = found.runtime.terms[TermKey.PAGED_OPTIMIZER][1]
    assert on_card == min(8 * P, room)
    assert found.runtime.device_expected_bytes == without.runtime.device_expected_bytes + on_card
    assert found.verdict == without.verdict
    # What has no room on the card is in host RAM.
    assert found.host.per_node_bytes == 8 * P - on_card


def test_the_host_must_hold_what_is_moved_there() -> None:
    # 56 GB of states; 60 GiB of card less about 30 GiB of weights, gradients and activations.
    assert priced("paged_adamw", card=60, host=512).verdict == "fits"
    small = priced("paged_adamw", card=60, host=8)
    assert small.verdict == "oom" and "host RAM" in (small.verdict_because or "")


def test_they_are_divided_by_ranks_where_the_optimizer_is() -> None:
    found = priced("paged_adamw", gpus=8, card=None)
    assert found.runtime.terms[TermKey.PAGED_OPTIMIZER][1] == 8 * P // 8
    assert found.verdict is None


def test_a_70b_model_trains_on_eight_cards_with_a_paged_optimizer() -> None:
    """meta-pytorch/torchtune#987: about 51 GB per GPU on 8 x A100-80 GB, pure bf16, PagedAdamW."""
    plan = priced("paged_adamw", gpus=8).plan
    model = load_model("llama-2-70b")
    assert estimate(replace(plan, model=model)).verdict == "fits"
    assert estimate(replace(plan, model=model, job=replace(plan.job, optimizer="adamw"))).verdict != "fits"


def test_phases_beside_the_step_leave_them_where_they_are() -> None:
    alone = priced("paged_adamw", card=60)
    covered = with_phases(alone, Beyond(phases=("load",)))
    assert covered.runtime.terms[TermKey.PAGED_OPTIMIZER] == alone.runtime.terms[TermKey.PAGED_OPTIMIZER]
