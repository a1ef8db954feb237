"""Clusters: what the hardware options say together, and how they can contradict one another."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.inputs.cluster import build_cluster, supports
from zplan.inputs.presets import load_gpu, load_node
from zplan.units import GIB


@pytest.fixture(autouse=True)
def only_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ZPLAN_PRESETS", raising=False)


@pytest.mark.parametrize(
    ("gpus", "nodes", "expected"),
    [
        (1, None, 1),
        (3, None, 1),
        (8, None, 1),
        (16, None, 2),
        (64, None, 8),
        (8, 2, 2),
        (12, 3, 3),
        (16, 1, 1),
        (5, 5, 5),
    ],
)
def test_layout(gpus: int, nodes: int | None, expected: int) -> None:
    cluster, _ = build_cluster(gpus=gpus, nodes=nodes)
    assert (cluster.gpus, cluster.nodes, cluster.gpus_per_node) == (gpus, expected, gpus // expected)
    assert cluster.gpu is None
    assert cluster.gpu_capacity_bytes is None


@pytest.mark.parametrize(
    ("gpus", "nodes", "message", "hint"),
    [
        (12, None, "12 GPUs do not fill nodes of 8", "--gpus 12 --nodes 2"),
        (13, None, "13 GPUs do not fill nodes of 8", "--gpus 13 --nodes 13"),
        (12, 5, "12 GPUs cannot be spread evenly over 5 nodes", "--gpus 10 --nodes 5, or --gpus 12 --nodes 2"),
        (2, 4, "2 GPUs cannot be spread evenly over 4 nodes", "--gpus 4 --nodes 4, or --gpus 2 --nodes 1"),
        (0, None, "--gpus must be at least 1, not 0", "--gpus 8"),
        (-8, None, "--gpus must be at least 1, not -8", "--gpus 8"),
        (8, 0, "--nodes must be at least 1, not 0", "--nodes 1"),
    ],
)
def test_layouts_that_do_not_work(gpus: int, nodes: int | None, message: str, hint: str) -> None:
    with pytest.raises(ZplanError) as caught:
        build_cluster(gpus=gpus, nodes=nodes)
    assert caught.value.message == message
    assert hint in caught.value.hint


@given(gpus=st.integers(1, 5000), nodes=st.none() | st.integers(1, 600))
def test_a_cluster_is_even_or_its_hint_gives_one_that_is(gpus: int, nodes: int | None) -> None:
    try:
        cluster, notes = build_cluster(gpus=gpus, nodes=nodes)
    except ZplanError as error:
        suggestions = re.findall(r"--gpus (\d+) --nodes (\d+)", error.hint)
        assert suggestions
        for suggestion in suggestions:
            build_cluster(gpus=int(suggestion[0]), nodes=int(suggestion[1]))
    else:
        assert cluster.gpus == gpus
        assert cluster.nodes * cluster.gpus_per_node == gpus
        assert cluster.nodes == (nodes or cluster.nodes)
        assert nodes is not None or cluster.gpus_per_node <= 8
        assert bool(notes) == (nodes is None and cluster.nodes > 1)


def test_capacity_is_what_the_user_says_or_the_driver_reports() -> None:
    card = load_gpu("a100-80g")
    cluster, notes = build_cluster(gpus=8, gpu="a100-80g")
    assert (cluster.gpu, cluster.gpu_capacity_bytes) == (card, card.memory_bytes)
    assert any("as the driver reports for NVIDIA A100" in note for note in notes)
    cluster, notes = build_cluster(gpus=8, gpu="a100", gpu_mem_bytes=70 * GIB, host_mem_bytes=2**40, nvme_bytes=2**42)
    assert (cluster.gpu, cluster.gpu_capacity_bytes) == (card, 70 * GIB)
    assert (cluster.host_capacity_bytes, cluster.nvme_capacity_bytes) == (2**40, 2**42)
    assert notes == ()
    cluster, notes = build_cluster(gpus=8, gpu_mem_bytes=80 * GIB)
    assert (cluster.gpu, cluster.gpu_capacity_bytes, notes) == (None, 80 * GIB, ())


def test_more_memory_than_the_card_has_is_told() -> None:
    cluster, notes = build_cluster(gpus=1, gpu="a100-40g", gpu_mem_bytes=80 * GIB)
    assert cluster.gpu_capacity_bytes == 80 * GIB
    assert notes == ("--gpu-mem 80 GiB is more than NVIDIA A100 SXM4 40 GB has, 40 GiB",)


def test_machine_fills_in_what_is_not_said() -> None:
    machine = load_node("dgx-h100")
    cluster, notes = build_cluster(gpus=None, nodes=2, node="dgx-h100")
    assert (cluster.gpus, cluster.nodes, cluster.node) == (16, 2, machine)
    assert cluster.gpu == load_gpu("h100-80g")
    assert cluster.host_capacity_bytes == machine.host_memory_bytes
    assert cluster.nvme_capacity_bytes == machine.nvme_bytes
    assert any(note.startswith("16 GPUs") and note.endswith("(--gpus)") for note in notes)
    cluster, _ = build_cluster(gpus=4, node="dgx-h100", host_mem_bytes=GIB, nvme_bytes=0)
    assert (cluster.gpus, cluster.nodes, cluster.host_capacity_bytes, cluster.nvme_capacity_bytes) == (4, 1, GIB, 0)


def test_machine_smaller_than_eight() -> None:
    cluster, _ = build_cluster(gpus=8, node="box-4x-l40s")
    assert (cluster.nodes, cluster.gpus_per_node) == (2, 4)
    with pytest.raises(ZplanError, match="has 4 GPUs, not 8") as caught:
        build_cluster(gpus=8, nodes=1, node="box-4x-l40s")
    assert "--gpus 8 --nodes 2" in caught.value.hint


def test_own_card_in_a_machine() -> None:
    cluster, _ = build_cluster(gpus=8, node="box-8x-rtx-4090", gpu="rtx-5090-32g")
    assert cluster.gpu == load_gpu("rtx-5090-32g")


def test_nothing_said() -> None:
    with pytest.raises(ZplanError, match="the number of GPUs is not known"):
        build_cluster(gpus=None)


def test_unknown_presets() -> None:
    with pytest.raises(ZplanError, match="no card preset is called 'a10000'"):
        build_cluster(gpus=1, gpu="a10000")
    with pytest.raises(ZplanError, match="no machine preset is called 'dgx'"):
        build_cluster(gpus=1, node="dgx")


@pytest.mark.parametrize(
    ("card", "dtype", "does"),
    [("v100-16g", "bf16", False), ("v100-16g", "fp16", True), ("a100-80g", "bf16", True), (None, "bf16", True)],
)
def test_supports(card: str | None, dtype: str, does: bool) -> None:
    assert supports(load_gpu(card) if card else None, dtype) is does
