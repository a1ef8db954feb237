"""The ZeRO paper's accounting, to the byte; goldens with the arithmetic above them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zplan.inputs.hf import read_config
from zplan.memory.activations.base import ComputeMode
from zplan.memory.engines.base import deepspeed_bytes, torch_bytes
from zplan.memory.estimate import estimate
from zplan.memory.optimizers import OPTIMIZERS, optimizer_spec, state_bytes
from zplan.memory.sharding import (
    fsdp2_padded_shard_numel,
    fsdp2_shard_numel,
    zero3_partition_numel,
    zero12_flat_numel,
    zero12_partition_numel,
)
from zplan.memory.states import model_states
from zplan.spec import ClusterSpec, Engine, Job, Plan, Precision

GB = 10**9
ADAM = optimizer_spec("adamw")
BF16 = deepspeed_bytes(Precision.BF16)


def states_gb(params: int, ranks: int, stage: int) -> float:
    return model_states(params, params, BF16, ADAM, stage, ranks).total_bytes / GB


# arXiv:1910.02054, figure 1: P = 7.5e9, N = 64, K = 12.
#   stage 0: (2 + 2 + 12) * 7.5 = 120
#   stage 1: 2 * 7.5 + 2 * 7.5 + 12 * 7.5 / 64 = 31.40625
#   stage 2: 2 * 7.5 + 14 * 7.5 / 64 = 16.640625
#   stage 3: 16 * 7.5 / 64 = 1.875
# and the same sums for P = 7e9 on 8 ranks.
@pytest.mark.parametrize(
    ("params", "ranks", "expected"),
    [
        (7_000_000_000, 8, (112.0, 38.5, 26.25, 14.0)),
        (7_500_000_000, 64, (120.0, 31.40625, 16.640625, 1.875)),
    ],
)
def test_the_paper_s_table(params: int, ranks: int, expected: tuple[float, ...]) -> None:
    assert tuple(states_gb(params, ranks, stage) for stage in range(4)) == expected


# 1.5e9 parameters: 2*1.5 + 2*1.5 + 12*1.5 = 24 GB, not the 18 GB that circulate (fp32 states are 4 B each):
#   stage 1 on 64: 6 + 18/64 = 6.28125; stage 2: 3 + 21/64 = 3.328125; stage 3: 24/64 = 0.375
def test_a_claim_that_circulates_and_is_wrong() -> None:
    assert states_gb(1_500_000_000, 64, 0) == 24.0
    assert [states_gb(1_500_000_000, 64, stage) for stage in (1, 2, 3)] == [6.28125, 3.328125, 0.375]


@given(
    params=st.integers(1, 10**13),
    ranks=st.integers(1, 4096),
    name=st.sampled_from(sorted(OPTIMIZERS)),
    precision=st.sampled_from(list(Precision)),
)
def test_a_higher_stage_never_holds_more_states(params: int, ranks: int, name: str, precision: Precision) -> None:
    totals = [
        model_states(params, params, deepspeed_bytes(precision), optimizer_spec(name), stage, ranks).total_bytes
        for stage in range(4)
    ]
    assert totals == sorted(totals, reverse=True)
    if ranks == 1:
        assert len(set(totals)) == 1


@given(numel=st.integers(1, 10**12), ranks=st.integers(1, 4096))
def test_partitions_cover_the_tensor(numel: int, ranks: int) -> None:
    assert zero12_flat_numel(numel, ranks) % (2 * ranks) == 0
    assert 0 <= zero12_partition_numel(numel, ranks) * ranks - numel < 2 * ranks
    assert 0 <= zero3_partition_numel(numel, ranks) * ranks - numel < ranks


@given(rows=st.integers(1, 10**6), columns=st.integers(1, 4096), ranks=st.integers(1, 64))
def test_fsdp2_rows_add_up(rows: int, columns: int, ranks: int) -> None:
    shards = [fsdp2_shard_numel((rows, columns), ranks, rank) for rank in range(ranks)]
    assert sum(shards) == rows * columns
    assert max(shards) == shards[0] <= fsdp2_padded_shard_numel((rows, columns), ranks)


# bf16 under DeepSpeed: 2 + 2 + (4 + 8); torch's engines: 4 + 4 + 8; bf16-pure: 2 + 2 + 4.
@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (deepspeed_bytes(Precision.BF16), (2, 2, 12)),
        (deepspeed_bytes(Precision.FP16), (2, 2, 12)),
        (deepspeed_bytes(Precision.FP32), (4, 4, 8)),
        (torch_bytes(Precision.BF16, ComputeMode.CAST), (4, 4, 8)),
        (torch_bytes(Precision.BF16_PURE, ComputeMode.CAST), (2, 2, 4)),
    ],
)
def test_bytes_per_parameter(states: object, expected: tuple[int, int, int]) -> None:
    found = model_states(1000, 1000, states, ADAM, 0, 1)  # type: ignore[arg-type]
    assert (found.params_bytes, found.grads_bytes, found.optimizer_bytes) == tuple(1000 * each for each in expected)


# Two 8-bit moments and one fp32 maximum per block of 256 values and moment: 2 * (1 + 4/256) = 2.03125 B.
def test_eight_bit_states() -> None:
    assert state_bytes(optimizer_spec("adamw_8bit"), 256, 4) == 520


@pytest.mark.parametrize(("stage", "engine"), [(0, Engine.SINGLE), (3, Engine.DEEPSPEED)])
def test_gpt_bigcode_holds_a_causal_mask_from_the_start(stage: int, engine: Engine) -> None:
    """One byte for each pair of positions (modeling_gpt_bigcode.py, buffer ``bias``): 2048^2 = 4,194,304.

    A dry run with 4 layers, SGD and 2048 positions held 4,194,304 bytes more between steps than weights and inputs, one with 512
    positions 262,144.
    """

    def steady(positions: int) -> tuple[int, int]:
        config = {
            "model_type": "gpt_bigcode",
            "n_embd": 64,
            "n_head": 4,
            "n_layer": 2,
            "n_inner": 256,
            "vocab_size": 128,
        }
        model = read_config({**config, "n_positions": positions}, name="t", source="t")
        ranks = 1 if engine is Engine.SINGLE else 8
        job = Job(engine=engine, stage=stage, optimizer="sgd", seq_len=64)
        found = estimate(Plan(model=model, cluster=ClusterSpec(gpus=ranks, nodes=1), job=job))
        return found.steady_bytes, found.phases["init"]

    less, more = steady(512), steady(2048)
    weights = 64 * (2048 - 512)  # what the longer table of positions has more
    for before, after in zip(less, more, strict=True):
        assert 0 <= after - before - (2048**2 - 512**2) <= 8 * weights
