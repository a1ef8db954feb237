"""Step time: work, traffic and their sum, against arithmetic by hand and laws."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.advice import rates, work
from zplan.advice.timing import step_time
from zplan.advice.traffic import ring_seconds, traffic
from zplan.inputs.cluster import build_cluster
from zplan.inputs.presets import load_gpu, load_model
from zplan.spec import (
    Attention,
    Checkpointing,
    ClusterSpec,
    DeepSpeedOptions,
    Engine,
    Job,
    Lora,
    Offload,
    OffloadTo,
    Plan,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

MODEL = load_model("llama-2-7b")
A100 = load_gpu("a100-80g")
FULL = Checkpointing(kind="full")


def _cluster(gpus: int = 8, gpu: str = "a100-80g", nodes: int | None = None) -> ClusterSpec:
    return build_cluster(gpus=gpus, gpu=gpu, nodes=nodes, host_mem_bytes=2**40)[0]


def _plan(cluster: ClusterSpec | None = None, **words: object) -> Plan:
    return Plan(model=MODEL, cluster=cluster or _cluster(), job=Job(**words))  # type: ignore[arg-type]


def _seconds(plan: Plan) -> float:
    time = step_time(plan)
    assert time is not None
    return time.step_seconds


def test_matmul_flops_are_six_per_parameter_and_eight_with_recomputation() -> None:
    # Llama-2-7B: 6,738,415,616 parameters, less the input embedding (131,072,000) and the norms (65 x 4096 = 266,240):
    # 6,607,077,376 in matmuls, head included. 6 FLOPs each per token, and 2 more for the blocks with recomputation.
    weights = 6_738_415_616 - 131_072_000 - 266_240
    shape = work.model_shape(MODEL, None)
    assert sum(m.fan_in * m.fan_out * m.times for m in shape.matmuls) == weights
    tokens = 2 * 2048
    time, again = (step_time(_plan(micro_batch=2, checkpointing=one)) for one in (Checkpointing(), FULL))
    assert time is not None
    assert again is not None
    # Attention: 4 T s/2 a d L forward = 2 x 4096 x 2048 x 4096 x 32, three times with backward.
    scores = 2 * tokens * 2048 * 4096 * 32
    flops = 6 * weights * tokens + 3 * scores
    assert time.model_flops_share * time.step_seconds * 312e12 == pytest.approx(flops)
    blocks = weights - 32_000 * 4096
    repeated = 2 * blocks * tokens + scores
    assert again.hardware_flops_share * again.step_seconds * 312e12 == pytest.approx(flops + repeated)


def test_frozen_weights_have_no_weight_gradient() -> None:
    full = step_time(_plan(_cluster(1)))
    lora = step_time(_plan(_cluster(1), lora=Lora(rank=8)))
    assert full is not None
    assert lora is not None
    # 4 of 6 FLOPs per weight; attention as before.
    assert lora.parts["matmul"] == pytest.approx(full.parts["matmul"] * 4 / 6)
    assert lora.parts["attention"] == full.parts["attention"]


def test_flash_attention_is_half_of_what_eager_computes() -> None:
    flash, eager = (work.attention_work(MODEL, Job(attention=kind)) for kind in (Attention.FLASH, Attention.EAGER))
    assert eager.score_flops == 2 * flash.fused_flops
    assert (flash.score_flops, flash.scores, eager.fused_flops) == (0, 0, 0)


@pytest.mark.parametrize(
    ("words", "volume"),
    [
        ({"stage": 0}, 2),
        ({"engine": Engine.DDP}, 2),
        ({"stage": 1}, 2),
        ({"stage": 2}, 2),
        ({"stage": 3}, 3),
        ({"engine": Engine.FSDP2, "stage": 3}, 3),
        ({"engine": Engine.FSDP2, "stage": 2}, 2),
        ({"stage": 1, "grad_accum": 4}, 2),
        ({"stage": 2, "grad_accum": 4}, 5),  # 4 reductions and one gather
        ({"stage": 3, "grad_accum": 4}, 12),  # everything four times
    ],
)
def test_communication_volume(words: dict[str, object], volume: int) -> None:
    assert traffic(_plan(**words)).volume_elements == volume


def test_ring_of_one_node_by_hand() -> None:
    # 8 GB over 8 ranks: 7 GB into each at 300 GB/s x 0.80, and one collective of 20 + 7 x 2 us.
    assert ring_seconds(_cluster(8), 8e9, 1) == pytest.approx(7e9 / (300e9 * 0.80) + 34e-6)
    assert ring_seconds(_cluster(1), 8e9, 1) == 0


def test_ring_of_two_nodes_waits_for_the_network() -> None:
    # 16 GB over 2 nodes: 8 GB into each node at 50 GB/s x 0.80.
    assert ring_seconds(_cluster(16), 16e9, 0) == pytest.approx(8e9 / 40e9)
    assert traffic(_plan(_cluster(16), stage=3)).over == "network"
    assert traffic(_plan(_cluster(8), stage=3)).over == "nvlink"
    assert traffic(_plan(_cluster(8, "rtx-4090-24g"), stage=3)).over == "pcie"


def test_zero_plus_plus_moves_less() -> None:
    cluster = _cluster(32)
    plain = traffic(_plan(cluster, stage=3)).forward_backward
    assert traffic(_plan(cluster, stage=3, hpz=8)).forward_backward < plain
    for option in ("quantized_weights", "quantized_gradients"):
        options = replace(DeepSpeedOptions(), **{option: True})
        assert traffic(_plan(cluster, stage=3, deepspeed=options)).forward_backward < plain


def test_cpu_adam_is_shared_by_the_ranks_of_a_node() -> None:
    # 6.74e9 parameters on one node at 4e9 per second, whatever the number of ranks.
    for gpus in (1, 8):
        plan = _plan(_cluster(gpus), stage=2, offload=Offload.OPTIMIZER)
        assert traffic(plan).cpu_optimizer == pytest.approx(6_738_415_616 / 4e9, rel=1e-6)


def test_nvme_is_read_and_written() -> None:
    plan = _plan(_cluster(1), stage=3, offload=Offload.OPTIMIZER, offload_to=OffloadTo.NVME)
    moved = traffic(plan).nvme
    # 12 B of states and 4 B of gradients read, 12 B written, per parameter.
    expected = 6_738_415_616 * (16 / rates.NVME_READ + 12 / rates.NVME_WRITE)
    assert moved == pytest.approx(expected)
    time = step_time(plan)
    assert time is not None
    assert time.bound_by == "nvme"


def test_no_card_no_time() -> None:
    cluster = replace(_cluster(), gpu=None)
    assert step_time(_plan(cluster)) is None


def test_parts_are_the_step() -> None:
    time = step_time(_plan(stage=3, offload=Offload.ALL, grad_accum=3, checkpointing=FULL))
    assert time is not None
    assert sum(time.parts.values()) == pytest.approx(time.step_seconds)
    assert time.tokens_per_second_per_gpu == pytest.approx(3 * 2048 / time.step_seconds)
    assert min(time.parts.values()) >= 0


def test_accumulation_hides_the_boundary() -> None:
    one, many = (step_time(_plan(stage=2, offload=Offload.OPTIMIZER, micro_batch=4, grad_accum=n)) for n in (1, 16))
    assert one is not None
    assert many is not None
    assert many.tokens_per_second_per_gpu > one.tokens_per_second_per_gpu


@settings(max_examples=25, deadline=None)
@given(
    micro=st.integers(1, 16),
    seq=st.sampled_from([512, 2048, 4096]),
    stage=st.integers(0, 3),
    gpus=st.sampled_from([1, 2, 8, 16, 64]),
)
def test_more_work_takes_longer(micro: int, seq: int, stage: int, gpus: int) -> None:
    plan = _plan(_cluster(gpus), micro_batch=micro, seq_len=seq, stage=stage)
    base = _seconds(plan)
    assert _seconds(replace(plan, job=replace(plan.job, micro_batch=micro + 1))) > base
    assert _seconds(replace(plan, job=replace(plan.job, seq_len=2 * seq))) > base
    assert _seconds(replace(plan, job=replace(plan.job, checkpointing=FULL))) > base
    assert _seconds(replace(plan, job=replace(plan.job, grad_accum=2))) > base


def test_order_of_habit_on_a_slow_link() -> None:
    """On PCIe with small batches and everything overlapped: stage 1, then 3, then 3 with offload."""
    cluster = _cluster(8, "rtx-4090-24g")
    times = [
        _seconds(_plan(cluster, stage=1, deepspeed=DeepSpeedOptions(overlap_comm=True))),
        _seconds(_plan(cluster, stage=3)),
        _seconds(_plan(cluster, stage=3, offload=Offload.ALL)),
    ]
    assert times == sorted(times)


def test_published_throughput_stays_within_the_aim() -> None:
    """Median error at most 15 % and 85 % of pairs in order, over the project's own rows."""
    from throughput import report

    result = report()
    assert result["answered"] >= 100
    assert result["median"] <= 0.15
    assert result["pairs_right"] >= 0.85 * result["pairs"]


def test_selective_op_recomputes_half_of_the_products_and_all_elementwise_work() -> None:
    # With full recomputation 8 FLOPs per weight in the blocks, with none 6, with every second product kept 7.
    none, half, full = (
        step_time(_plan(_cluster(1), micro_batch=4, checkpointing=Checkpointing(kind=kind)))
        for kind in ("none", "selective-op", "full")
    )
    assert none is not None
    assert half is not None
    assert full is not None
    assert half.parts["matmul"] == pytest.approx((none.parts["matmul"] + full.parts["matmul"]) / 2)
    assert half.parts["attention"] == none.parts["attention"]
    assert half.parts["elementwise"] == full.parts["elementwise"]


def test_flash_attention_of_the_first_generation_is_slower() -> None:
    plan = _plan(_cluster(1), micro_batch=1, seq_len=4096)
    known = [step_time(plan, kernels=work.Kernels(flash=generation)) for generation in (1, 2)]
    first, second = (time.parts["attention"] for time in known if time is not None)
    assert first == pytest.approx(second * 0.55 / 0.32)


def test_nodes_of_hopper_cards_have_an_adapter_per_card() -> None:
    assert rates.network_rate(_cluster(16)) == 50e9 * 0.80
    assert rates.network_rate(_cluster(16, "h100-80g")) == 8 * 50e9 * 0.80


def test_adapters_cost_launches_of_their_own() -> None:
    """A few tokens on one GPU: 32 layers of three passes, with seven adapters each."""
    time = step_time(_plan(_cluster(1), seq_len=16, checkpointing=FULL, lora=Lora(rank=8)))
    assert time is not None
    busy = time.parts["matmul"] + time.parts["attention"] + time.parts["elementwise"]
    assert time.parts["launch"] + busy == pytest.approx(32 * 3 * (rates.LAYER_LAUNCH + 7 * rates.ADAPTER_LAUNCH))
