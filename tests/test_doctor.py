"""``zplan doctor``: what a machine shows, what it means, and ``--gpu auto``; nothing fails because it is missing."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from zplan.advice.doctor import Finding, findings
from zplan.cli import auto
from zplan.cli.app import run
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.errors import ExitCode, ZplanError
from zplan.inputs import machine as machine_module
from zplan.inputs import machinegpus
from zplan.inputs.machine import Machine, cgroup_limit, read_machine
from zplan.inputs.machinegpus import MachineGpu, parse_smi, preset_of, read_gpus, visible
from zplan.render.doctor import render_doctor
from zplan.units import GIB, MIB

A100 = MachineGpu(
    index=0,
    name="NVIDIA A100-SXM4-80GB",
    memory_bytes=80 * GIB,
    free_bytes=79 * GIB,
    reserved_bytes=GIB,
    compute_capability="8.0",
)
BARE = Machine(gpus_from="no NVIDIA driver found (neither pynvml nor nvidia-smi)")
EIGHT = Machine(
    gpus=tuple(replace(A100, index=index) for index in range(8)),
    gpus_from="NVML",
    driver="580.95.05",
    packages=(("torch", "2.13.0"), ("deepspeed", "0.18.2"), ("peft", None)),
    nccl="2.27.5 (nvidia-nccl-cu13)",
    cpus=128,
    ram_bytes=2048 * GIB,
    ram_available_bytes=2000 * GIB,
    cgroup_limit_bytes=1800 * GIB,
    memlock_bytes=None,
    memlock_known=True,
    shm_bytes=64 * MIB,
    shm_free_bytes=64 * MIB,
    disk_path="/data",
    disk_free_bytes=1400 * GIB,
    libaio="libaio.so.1",
)


def _files(root: Path, **content: str) -> Path:
    for name, text in content.items():
        path = root / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def _row(machine: Machine, key: str) -> Finding:
    return next(row for row in findings(machine) if row.key == key)


def test_an_empty_machine_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setitem(sys.modules, "psutil", None)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = read_machine(tmp_path, {})
    assert (found.gpus, found.ram_bytes, found.cgroup_limit_bytes, found.host_bytes) == ((), None, None, None)
    assert "neither pynvml nor nvidia-smi" in found.gpus_from
    assert {row.level for row in findings(found)} <= {"ok", "info", "warn"}


def test_ram_is_read_from_proc(tmp_path: Path) -> None:
    meminfo = "MemTotal:       16384 kB\nMemFree:  1 kB\nMemAvailable:    8192 kB\nHugePages_Total:       0\n"
    found = read_machine(_files(tmp_path, proc__meminfo=meminfo), {})
    assert (found.ram_bytes, found.ram_available_bytes) == (16 * MIB, 8 * MIB)


@pytest.mark.parametrize(
    ("files", "limit"),
    [
        ({}, None),
        ({"proc__self__cgroup": "0::/\n", "sys__fs__cgroup__memory.max": "max\n"}, None),
        ({"proc__self__cgroup": "0::/\n", "sys__fs__cgroup__memory.max": "1073741824\n"}, GIB),
        # The group above may be the tighter one.
        (
            {
                "proc__self__cgroup": "0::/job/step\n",
                "sys__fs__cgroup__job__memory.max": "2147483648",
                "sys__fs__cgroup__job__step__memory.max": "4294967296",
            },
            2 * GIB,
        ),
        # In a container the path is the host's: only the mount itself is there.
        ({"proc__self__cgroup": "0::/../other\n", "sys__fs__cgroup__memory.max": "3221225472"}, 3 * GIB),
        (
            {
                "proc__self__cgroup": "5:cpu,cpuacct:/\n4:memory:/docker/x\n",
                "sys__fs__cgroup__memory__memory.limit_in_bytes": "5368709120",
            },
            5 * GIB,
        ),
        # cgroup v1 writes "no limit" as a huge number.
        (
            {
                "proc__self__cgroup": "4:memory:/\n",
                "sys__fs__cgroup__memory__memory.limit_in_bytes": "9223372036854771712",
            },
            None,
        ),
        ({"proc__self__cgroup": "junk\n0::/\n", "sys__fs__cgroup__memory.max": "junk"}, None),
    ],
)
def test_the_tightest_control_group_counts(tmp_path: Path, files: dict[str, str], limit: int | None) -> None:
    assert cgroup_limit(_files(tmp_path, **files)) == limit


def test_a_limit_is_what_a_job_can_have() -> None:
    assert EIGHT.host_bytes == 1800 * GIB
    assert replace(EIGHT, cgroup_limit_bytes=None).host_bytes == 2048 * GIB
    assert replace(EIGHT, cgroup_limit_bytes=4096 * GIB).host_bytes == 2048 * GIB


def test_nvidia_smi_is_read() -> None:
    text = (
        "0, NVIDIA H200, 143771, 143161, 580.95.05, 9.0, 610\n"
        "1, NVIDIA H200, 143771, 1024, 580.95.05, 9.0, [N/A]\n"
        "junk\n2, broken, [N/A], 1, 1, 1, 1\n"
    )
    cards, driver = parse_smi(text)
    assert driver == "580.95.05"
    assert [(card.index, card.memory_bytes // MIB, card.reserved_bytes) for card in cards] == [
        (0, 143771, 610 * MIB),
        (1, 143771, None),
    ]
    assert cards[0].usable_bytes == (143771 - 610) * MIB
    assert cards[0].compute_capability == "9.0"
    # An old driver knows fewer fields.
    assert parse_smi("0, Tesla V100-SXM2-32GB, 32480, 32000, 418.87\n")[0][0].compute_capability is None


def _smi(folder: Path, script: str) -> None:
    program = folder / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    program.chmod(0o755)


@pytest.mark.parametrize(
    ("script", "source", "count"),
    [
        ("echo '0, NVIDIA L4, 23034, 22000, 550.1, 8.9, 500'", "nvidia-smi", 1),
        # Fields that an old program does not know are asked for no more.
        (
            'case "$1" in *reserved*|*compute*) echo bad field; exit 2;; esac\necho "0, Tesla T4, 15109, 15000, 418.87"',
            "nvidia-smi",
            1,
        ),
        ("echo NVIDIA-SMI has failed because it could not talk to the driver; exit 9", "could not talk", 0),
        ("exit 0", "lists no card", 0),
    ],
)
def test_nvidia_smi_where_there_is_no_binding(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str, source: str, count: int
) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    _smi(tmp_path, script)
    cards, told, _ = read_gpus()
    assert len(cards) == count
    assert source in told


def _pynvml(**overrides: Any) -> ModuleType:
    """A binding with one card."""
    binding = ModuleType("pynvml")
    failure = type("NVMLError", (Exception,), {})

    def memory(handle: object, version: object = None) -> SimpleNamespace:
        return SimpleNamespace(total=80 * GIB, free=70 * GIB, reserved=GIB if version else 0)

    names: dict[str, Any] = {
        "NVMLError": failure,
        "nvmlMemory_v2": 2,
        "nvmlInit": lambda: None,
        "nvmlShutdown": lambda: None,
        "nvmlDeviceGetCount": lambda: 1,
        "nvmlDeviceGetHandleByIndex": lambda index: index,
        "nvmlDeviceGetMemoryInfo": memory,
        "nvmlDeviceGetName": lambda handle: b"NVIDIA A100-SXM4-80GB",
        "nvmlDeviceGetCudaComputeCapability": lambda handle: (8, 0),
        "nvmlSystemGetDriverVersion": lambda: "550.1",
    }
    for name, value in (names | overrides).items():
        setattr(binding, name, value)
    return binding


def test_the_binding_is_asked_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", _pynvml())
    cards, source, driver = read_gpus()
    assert (source, driver) == ("NVML", "550.1")
    assert cards == (
        MachineGpu(
            index=0,
            name="NVIDIA A100-SXM4-80GB",
            memory_bytes=80 * GIB,
            free_bytes=70 * GIB,
            reserved_bytes=GIB,
            compute_capability="8.0",
        ),
    )


def test_a_binding_that_fails_is_an_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binding = _pynvml()

    def fail() -> None:
        raise binding.NVMLError("Driver Not Loaded")

    binding.nvmlInit = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pynvml", binding)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert read_gpus() == ((), "NVML: Driver Not Loaded", None)


def test_an_old_binding_has_no_reserved_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    def memory(handle: object) -> SimpleNamespace:
        return SimpleNamespace(total=80 * GIB, free=70 * GIB)

    monkeypatch.setitem(sys.modules, "pynvml", _pynvml(nvmlDeviceGetMemoryInfo=memory))
    assert read_gpus()[0][0].reserved_bytes is None


@pytest.mark.parametrize(
    ("variable", "indices"),
    [(None, [0, 1, 2]), ("2,0", [2, 0]), ("1", [1]), ("", []), ("-1", []), ("7", []), ("GPU-8932f937", [0, 1, 2])],
)
def test_hidden_cards(variable: str | None, indices: list[int]) -> None:
    cards = tuple(replace(A100, index=index) for index in range(3))
    assert [card.index for card in visible(cards, variable)] == indices


@pytest.mark.parametrize(
    ("name", "mib", "preset"),
    [
        ("NVIDIA A100-SXM4-80GB", 81920, "a100-80g"),
        ("NVIDIA A100-SXM4-40GB", 40960, "a100-40g"),
        ("A100-SXM4-40GB", 40960, "a100-40g"),
        ("NVIDIA A100 80GB PCIe", 81920, "a100-pcie-80g"),
        ("NVIDIA A100-PCIE-40GB", 40960, "a100-pcie-40g"),
        ("NVIDIA H100 80GB HBM3", 81559, "h100-80g"),
        ("NVIDIA H100 PCIe", 81559, "h100-pcie-80g"),
        ("NVIDIA H100 NVL", 95830, "h100-nvl-94g"),
        ("NVIDIA H200", 143771, "h200-141g"),
        ("Tesla V100-SXM2-32GB", 32768, "v100-32g"),
        ("Tesla V100-SXM2-16GB", 16384, "v100-16g"),
        ("Tesla T4", 15360, "t4-16g"),
        ("NVIDIA L40S", 46068, "l40s-48g"),
        ("NVIDIA A10G", 23028, "a10g-24g"),
        ("NVIDIA GeForce RTX 4090", 24564, "rtx-4090-24g"),
        ("NVIDIA GeForce RTX 2080 Ti", 11264, "rtx-2080ti-11g"),
        ("NVIDIA RTX A6000", 49140, "rtx-a6000-48g"),
        ("NVIDIA RTX 6000 Ada Generation", 49140, "rtx-6000-ada-48g"),
        # The same name with other memory is another card.
        ("NVIDIA GeForce RTX 3080", 12288, None),
        ("NVIDIA A100-SXM4-80GB MIG 1g.10gb", 9728, None),
        ("Quadro K620", 2048, None),
    ],
)
def test_drivers_names_of_cards(name: str, mib: int, preset: str | None) -> None:
    found = preset_of(MachineGpu(index=0, name=name, memory_bytes=mib * MIB))
    assert (found.name if found else None) == preset


def test_each_thing_has_a_row_and_a_meaning() -> None:
    keys = {row.key for row in findings(BARE)}
    assert {"gpus", "nccl", "host_ram", "memlock", "shm", "disk", "libaio", "cpus"} <= keys
    assert "no card" in _row(BARE, "gpus").meaning
    gpus = _row(EIGHT, "gpus")
    assert gpus.value == "8 x NVIDIA A100-SXM4-80GB, 80 GiB (1 GiB of it the driver's) each"
    assert "--gpus 8 --gpu a100-80g" in gpus.meaning
    assert (gpus.level, _row(EIGHT, "memlock").level, _row(EIGHT, "shm").level) == ("ok", "ok", "warn")
    assert "--shm-size=1g" in _row(EIGHT, "shm").meaning
    assert _row(EIGHT, "torch").level == "ok"
    assert _row(EIGHT, "deepspeed").level == "warn"
    assert "0.19" in _row(EIGHT, "deepspeed").meaning
    # 1800 GiB / 18 B = 107.4e9; 1400 GiB / 14 B = 107.4e9.
    assert "107.37B" in _row(EIGHT, "host_ram").meaning
    assert "killed at 1.76 TiB" in _row(EIGHT, "host_ram").meaning
    assert "107.37B" in _row(EIGHT, "disk").meaning
    limited = replace(EIGHT, memlock_bytes=64 * 1024)
    assert _row(limited, "memlock").level == "warn"


def test_busy_old_and_mixed_cards_are_told() -> None:
    busy = replace(A100, free_bytes=40 * GIB)
    assert "hold up to 39 GiB" in _row(replace(EIGHT, gpus=(busy,)), "gpus").meaning
    old = MachineGpu(index=0, name="Tesla T4", memory_bytes=15360 * MIB, compute_capability="7.5")
    assert "no bf16" in _row(replace(EIGHT, gpus=(old,)), "gpus").meaning
    rows = [row for row in findings(replace(EIGHT, gpus=(A100, replace(old, index=1)))) if row.key == "gpus"]
    assert len(rows) == 3
    assert "smallest" in rows[-1].meaning
    assert "hides 4" in _row(replace(BARE, hidden_gpus=4), "gpus").meaning


@pytest.mark.parametrize("width", [60, 80, 140])
@pytest.mark.parametrize("machine", [BARE, EIGHT], ids=["bare", "eight cards"])
def test_rows_fit_and_are_whole(machine: Machine, width: int) -> None:
    console = Console(width=width, highlight=False, markup=False, record=True, force_terminal=False)
    with console.capture() as capture:
        render_doctor(console, findings(machine))
    text = capture.get()
    assert max(len(line.rstrip()) for line in text.splitlines()) <= width
    squeezed = "".join(text.split())
    for row in findings(machine):
        assert "".join(row.value.split()) in squeezed
        assert row.title in text
    assert "…" not in text


def test_the_command_answers_here(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["doctor"]) == 0
    out, err = capsys.readouterr()
    assert "host RAM" in out and err == ""
    assert run(["doctor", "--json"]) == 0
    value = json.loads(capsys.readouterr().out)
    assert value["schema_version"] == 1
    assert {"gpus", "packages", "nccl", "host", "disk", "libaio", "findings"} <= set(value)
    assert set(value["packages"]) >= {"torch", "deepspeed", "transformers"}


@pytest.fixture
def _eight(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "read_machine", lambda: EIGHT)


@pytest.mark.usefixtures("_eight")
def test_auto_takes_what_is_here() -> None:
    wanted = build_plans(PlanOptions(params="7B", gpu="auto", host_mem="auto", stage="2"))
    cluster = wanted.plans[0].cluster
    assert (cluster.gpus, cluster.gpu and cluster.gpu.name) == (8, "a100-80g")
    assert (cluster.gpu_capacity_bytes, cluster.host_capacity_bytes) == (79 * GIB, 1800 * GIB)
    told = "; ".join(wanted.assumptions)
    assert "NVIDIA A100-SXM4-80GB with 79 GiB, as on this machine (--gpu)" in told
    assert "a control group's limit" in told


@pytest.mark.usefixtures("_eight")
def test_what_is_said_wins_over_auto() -> None:
    cluster = build_plans(PlanOptions(params="7B", gpu="auto", gpu_mem="40", gpus="16", stage="2")).plans[0].cluster
    assert (cluster.gpus, cluster.gpu_capacity_bytes) == (16, 40 * GIB)
    cluster = build_plans(PlanOptions(params="7B", gpu="auto", nodes="2", stage="2")).plans[0].cluster
    assert (cluster.gpus, cluster.nodes) == (16, 2)


def test_the_smallest_card_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    small = MachineGpu(index=1, name="Unheard Of", memory_bytes=24 * GIB)
    monkeypatch.setattr(auto, "read_machine", lambda: replace(EIGHT, gpus=(A100, small)))
    cluster = build_plans(PlanOptions(params="7B", gpu="auto", stage="2")).plans[0].cluster
    assert (cluster.gpus, cluster.gpu, cluster.gpu_capacity_bytes) == (2, None, 24 * GIB)


def test_without_the_drivers_share_the_preset_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auto, "read_machine", lambda: replace(EIGHT, gpus=(replace(A100, reserved_bytes=None),)))
    cluster = build_plans(PlanOptions(params="7B", gpu="auto", stage="2")).plans[0].cluster
    assert cluster.gpu is not None
    assert cluster.gpu_capacity_bytes == cluster.gpu.memory_bytes


@pytest.mark.parametrize(
    ("options", "message"),
    [({"gpu": "auto"}, "--gpu auto found no card here"), ({"host_mem": "auto"}, "does not tell how much RAM")],
)
def test_auto_without_anything_is_an_error(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, str], message: str
) -> None:
    monkeypatch.setattr(auto, "read_machine", lambda: BARE)
    with pytest.raises(ZplanError, match=message) as raised:
        build_plans(replace(PlanOptions(params="7B"), **options))
    assert raised.value.exit_code == ExitCode.MISSING


def test_no_module_is_imported_that_takes_long() -> None:
    for module in (machine_module, machinegpus, auto):
        assert not {"torch", "psutil", "pynvml"} & set(vars(module))
