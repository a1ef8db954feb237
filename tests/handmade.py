"""Estimates written by hand, so that views can be tested without the formulas."""

from __future__ import annotations

from dataclasses import replace

from zplan.memory.moments import Estimate, HostMemory, ModelStates, Moment, Runtime
from zplan.spec import (
    BlockSpec,
    ClusterSpec,
    Job,
    ModelSpec,
    Offload,
    Plan,
    Weight,
    WeightKind,
)
from zplan.units import GIB, MIB

MODEL = ModelSpec(
    name="tiny",
    source="presets/models/tiny.yaml",
    family="llama",
    params=7_000_000_000,
    hidden_size=64,
    num_layers=2,
    num_heads=4,
    num_kv_heads=4,
    head_dim=16,
    ffn_size=128,
    vocab_size=1000,
    max_seq_len=4096,
    tied_embeddings=False,
    pre=(Weight(name="model.embed_tokens.weight", shape=(1000, 64), kind=WeightKind.EMBEDDING),),
    block_kinds=(
        BlockSpec(
            implementation="llama",
            weights=(Weight(name="mlp.up_proj.weight", shape=(128, 64), kind=WeightKind.LINEAR),),
            dims=(("h", 64),),
        ),
    ),
    layers=(0, 0),
    post=(Weight(name="lm_head.weight", shape=(1000, 64), kind=WeightKind.HEAD),),
)
CLUSTER = ClusterSpec(gpus=8, nodes=1, gpu_capacity_bytes=80 * GIB, host_capacity_bytes=512 * GIB)
PLAN = Plan(model=MODEL, cluster=CLUSTER, job=Job(stage=2))


def an_estimate(
    *,
    stage: int = 2,
    offload: Offload = Offload.NONE,
    peak_gib: int = 30,
    capacity_gib: int | None = 80,
    verdict: str | None = "fits",
    because: str | None = None,
) -> Estimate:
    """``peak_gib`` at the peak: 13 of parameters, 7 of activations, 4 of logits, the rest in the bucket."""
    capacity = None if capacity_gib is None else capacity_gib * GIB
    cluster = replace(CLUSTER, gpu_capacity_bytes=capacity)
    job = replace(PLAN.job, stage=stage, offload=offload)
    peak = Moment(
        "backward",
        "loss",
        {
            "params": 13 * GIB,
            "activations": 7 * GIB,
            "logits": 4 * GIB,
            "reduce_bucket": (peak_gib - 24) * GIB,
        },
    )
    host = HostMemory(
        per_rank_bytes=10 * GIB if offload is not Offload.NONE else 0,
        peak_per_rank_bytes=11 * GIB if offload is not Offload.NONE else 0,
        pinned_per_rank_bytes=16 * GIB if offload is not Offload.NONE else 0,
        per_node_bytes=128 * GIB if offload is not Offload.NONE else 0,
        terms={"host_master": 10 * GIB} if offload is not Offload.NONE else {},
        verdict="fits",
    )
    runtime = Runtime(
        reserved_peak_bytes=peak_gib * GIB + 512 * MIB,
        device_low_bytes=peak_gib * GIB + GIB,
        device_expected_bytes=peak_gib * GIB + 2 * GIB,
        device_high_bytes=peak_gib * GIB + 3 * GIB,
        terms={
            "cuda_context": (GIB // 2, GIB, GIB),
            "nccl": (GIB // 4, GIB // 2, GIB),
            "fragmentation": (GIB // 4, GIB // 2, GIB),
        },
    )
    return Estimate(
        plan=Plan(model=MODEL, cluster=cluster, job=job),
        moments=(Moment("init", "model", {"params": 13 * GIB}), Moment("forward", "block", {"params": 13 * GIB}), peak),
        steady={"params": 13 * GIB, "master": 3 * GIB},
        model_states=ModelStates(14_000_000_000, 1_750_000_000, 10_500_000_000),
        host=host,
        runtime=runtime,
        phases={"init": 13 * GIB, "forward": 20 * GIB, "backward": peak_gib * GIB, "step": 18 * GIB},
        peak_moment=peak,
        worst_rank=7,
        worst_rank_peak_bytes=(peak_gib + 1) * GIB,
        verdict=verdict,
        why=lambda: because,
    )
