"""Offload to NVMe: DeepSpeed's swappers in a dry run with a stand-in for the I/O handle, arithmetic, and verdicts."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future
from typing import Any

import pytest
from warm import Warm, needs, processes

from zplan.cli.app import run
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.inputs.model import resolve_model
from zplan.memory.engines.base import deepspeed_bytes
from zplan.memory.engines.zero3_nvme import nvme_host
from zplan.memory.estimate import estimate
from zplan.memory.optimizers import optimizer_spec
from zplan.spec import ClusterSpec, DeepSpeedOptions, Job, ModelSpec, Offload, OffloadTo, Plan, Precision

H, F, V, LAYERS, N = 1024, 2816, 8000, 3, 2
CONFIG: dict[str, Any] = {
    **{"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": V, "hidden_size": H},
    **{"intermediate_size": F, "num_hidden_layers": LAYERS, "num_attention_heads": 8, "num_key_value_heads": 4},
}
P = 2 * V * H + LAYERS * (3 * H * H + 3 * H * F + 2 * H) + H
OPTIONS = {
    "optimizer": DeepSpeedOptions(reduce_bucket_size=1_000_000, sub_group_size=10_000_000),
    "all": DeepSpeedOptions(reduce_bucket_size=1_000_000, nvme_param_buffer_size=5_000_000, nvme_param_buffer_count=20),
}


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> ModelSpec:
    path = tmp_path_factory.mktemp("model") / "config.json"
    path.write_text(json.dumps(CONFIG), encoding="utf-8")
    return resolve_model(params=None, model=str(path))


@pytest.fixture(scope="module")
def measured(warm: Warm, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[dict[str, Any]]]]:
    needs("deepspeed")

    path = str(tmp_path_factory.mktemp("nvme"))
    disk = {"device": "nvme", "nvme_path": path, "pin_memory": True}
    base = {"engine": "deepspeed", "stage": 3, "world": N, "seq_len": 128, "model": CONFIG}
    runs = {
        "optimizer": {"reduce_bucket_size": 1_000_000, "sub_group_size": 10_000_000, "offload_optimizer": disk},
        "all": {
            **{"reduce_bucket_size": 1_000_000, "offload_optimizer": disk},
            "offload_param": {**disk, "buffer_size": 5_000_000, "buffer_count": 20},
        },
    }
    with processes() as pool:
        yield {name: pool.submit(warm.run_case, {**base, "offload": name, "zero": zero}) for name, zero in runs.items()}


@pytest.mark.slow
@pytest.mark.parametrize("name", OPTIONS)
def test_swappers_in_a_dry_run(measured: dict[str, Future[dict[str, Any]]], model: ModelSpec, name: str) -> None:
    job = Job(stage=3, seq_len=128, offload=Offload(name), offload_to=OffloadTo.NVME, deepspeed=OPTIONS[name])
    found = estimate(Plan(model=model, cluster=ClusterSpec(gpus=N, nodes=1), job=job))
    truth = measured[name].result()
    assert found.host.per_rank_bytes == pytest.approx(truth["host"], abs=64)
    assert found.host.peak_per_rank_bytes == pytest.approx(truth["host_peak"], abs=64)
    assert found.host.nvme_per_node_bytes == N * truth["nvme"]
    assert found.phases["init"] == pytest.approx(truth["init"], abs=1024)
    assert found.steady_bytes == pytest.approx(truth["steady"], abs=1024)


def test_files_by_arithmetic(model: ModelSpec) -> None:
    # Per rank: master copy and two moments of everything; gradients but for norms (512 elements each are under 1 MiB);
    # 16-bit partitions of q and o (524,288 elements: 1 MiB), gate, up, down, embedding and head, not of k and v (262,144).
    mine = P // N
    norms = (2 * LAYERS + 1) * H // N
    swapped = LAYERS * (2 * H * H + 3 * H * F) // N + 2 * V * H // N
    job = Job(stage=3, offload=Offload.ALL, offload_to=OffloadTo.NVME)
    found = estimate(Plan(model=model, cluster=ClusterSpec(gpus=N, nodes=1), job=job))
    assert found.host.nvme_per_node_bytes == N * (12 * mine + 4 * (mine - norms) + 2 * swapped)


def test_what_does_not_stay_in_ram() -> None:
    # Three sub-groups of 4e6 elements, of which 5e6 may stay: one does. 1e6 elements are 2 MB, 4e5 are 0.8 MB and are not swapped.
    partitions = [(1_000_000, True)] * 10 + [(400_000, True)] * 5
    options = DeepSpeedOptions(nvme_max_in_cpu=5_000_000, nvme_param_buffer_count=1, nvme_param_buffer_size=1024)
    job = Job(stage=3, offload=Offload.ALL, offload_to=OffloadTo.NVME, deepspeed=options)
    states = deepspeed_bytes(Precision.BF16)
    found = nvme_host((4_000_000,) * 3, partitions, job, states, optimizer_spec("adamw"))
    assert found.steady["host_params"] == 2 * 5_000_000 + 5 * 2 * 400_000
    swap, reserve = 4 * 16_000_000, 8_000_512
    assert 8_000_512 == -(-8_000_000 // 1024) * 1024 and 16_000_000 == -(-16_000_000 // 1024) * 1024
    assert found.steady["host_staging"] == swap + reserve + 2048
    # torch pins gradients and the flat buffer; swap buffers are DeepSpeed's own and are not rounded
    assert found.pinned_tensors == (2 * 12_000_000, 2 * 5_000_000)


def test_rounding_leaves_swap_buffers_alone() -> None:
    (plan,) = build_plans(PlanOptions(params="7B", gpus="8", stage="3", offload="optimizer", offload_to="nvme")).plans
    host = estimate(plan).host
    # 1.75 GB of 16-bit gradients take 2 GiB; four swap buffers of 3.5 GB take 3.5 GB each, to the next KiB
    swap = 4 * 3_500_000_256
    assert host.per_rank_bytes == 1_750_000_000 + swap
    assert host.per_node_bytes == 8 * (2**31 + swap)


@pytest.mark.parametrize(("nvme", "code", "verdict"), [("4TB", 0, "fits"), ("100GB", 3, "oom")])
def test_a_disk_that_is_too_small(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, nvme: str, code: int, verdict: str
) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    line = (
        "--params 7B --gpus 8 --gpu-mem 80 --host-mem 512 --stage 3 --offload optimizer --offload-to nvme --fail-if-oom"
    )
    assert run(["estimate", *line.split(), "--nvme", nvme, "--json"]) == code
    plan = json.loads(capsys.readouterr().out)["plans"][0]
    assert plan["gpu"]["verdict"] == plan["host"]["verdict"] == verdict
    if verdict == "oom":
        # 16 bytes per parameter, less the gradients of partitions under 1 MiB: here the norms'
        assert plan["gpu"]["verdict_because"].startswith("NVMe: a node needs 104.3")
        assert run(["estimate", *line.split(), "--nvme", nvme]) == code
        assert "NVMe" in capsys.readouterr().out
