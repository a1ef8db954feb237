"""What a machine has, and what that means for planning: rows of facts, each with its consequence."""

from __future__ import annotations

from dataclasses import dataclass

from zplan.inputs.machine import Machine
from zplan.inputs.machinegpus import MachineGpu, preset_of
from zplan.memory.runtime import NCCL
from zplan.units import GIB, format_count, format_size

OK, WARN, INFO = "ok", "warn", "info"
CHECKPOINT_BYTES = 14
"""Per parameter: 16-bit weights 2, fp32 master 4, two fp32 moments 8 (arXiv:1910.02054 section 3.1, no gradients)."""
OFFLOAD_BYTES = 18
"""Per parameter in host RAM, over all ranks: the fp32 master, moments and gradients 16, 16-bit gradients 2 (DeepSpeed
``runtime/zero/stage_1_and_2.py``, ``stage3.py``)."""
SHM_ADVISED = GIB
"""NVIDIA's advice for containers, ``--shm-size=1g`` (NCCL documentation, troubleshooting)."""
READ_FROM = {"torch": ("2.10", "2.11", "2.12", "2.13", "2.14"), "deepspeed": ("0.19",), "transformers": ("5",)}
"""Releases that the formulas and activation tables were read from and are checked against."""
_NEEDED_FOR = {
    "torch": "zplan verify needs it: pip install 'zplan[verify]'. Estimates do not.",
    "transformers": "zplan verify needs it: pip install 'zplan[verify]'. Estimates do not.",
    "deepspeed": "dry runs of DeepSpeed need it: pip install 'zplan[deepspeed]'. Estimates do not.",
    "accelerate": "only to launch with it",
    "peft": "only to run --lora for real",
    "bitsandbytes": "only to run 8-bit optimizers and --quantize for real",
    "flash-attn": "not needed: torch's own sdpa keeps the same tensors (--attention flash)",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One row."""

    key: str
    title: str
    value: str
    meaning: str
    level: str
    """``ok``, ``warn`` (a run here would suffer) or ``info`` (nothing to do)."""


def findings(machine: Machine) -> tuple[Finding, ...]:
    """Says what each thing that a machine has, or lacks, means.

    Args:
        machine: What was read.

    Returns:
        Rows in a fixed order; each kind of thing has one whether it is there or not.
    """
    rows = [*_gpus(machine), *_packages(machine), _nccl(machine), _ram(machine)]
    rows += [_cpus(machine), _memlock(machine), _shm(machine), _disk(machine), _libaio(machine)]
    return tuple(rows)


def _gpus(machine: Machine) -> list[Finding]:
    if not machine.gpus:
        meaning = "plan for another machine: --gpus 8 --gpu a100-80g. A dry run (zplan verify) needs no card."
        if machine.hidden_gpus:
            meaning = f"CUDA_VISIBLE_DEVICES hides {machine.hidden_gpus}. " + meaning
        return [Finding(key="gpus", title="GPUs", value="none", meaning=f"{machine.gpus_from}; {meaning}", level=INFO)]
    groups: dict[tuple[str, int], list[MachineGpu]] = {}
    for gpu in machine.gpus:
        groups.setdefault((gpu.name, gpu.memory_bytes), []).append(gpu)
    rows = [_cards(group, machine) for group in groups.values()]
    if len(groups) > 1:
        meaning = "ranks of one job wait for the slowest card, and the smallest decides what fits (--gpu auto takes it)"
        rows.append(Finding(key="gpus", title="GPUs", value="not all alike", meaning=meaning, level=WARN))
    value = machine.driver or "unknown"
    rows.append(Finding(key="driver", title="driver", value=value, meaning=f"from {machine.gpus_from}", level=OK))
    return rows


def _cards(group: list[MachineGpu], machine: Machine) -> Finding:
    """Cards of one kind."""
    first = group[0]
    preset = preset_of(first)
    size = format_size(first.memory_bytes)
    if first.reserved_bytes:
        size += f" ({format_size(first.reserved_bytes)} of it the driver's)"
    named = f"--gpu {preset.name}" if preset else f"--gpu-mem {format_size(first.usable_bytes).replace(' ', '')}"
    parts = [f"plan with --gpu auto, the same as --gpus {len(machine.gpus)} {named}"]
    if preset is None:
        parts.append("no preset has this name, so step times are not predicted")
    used = max((gpu.usable_bytes - gpu.free_bytes for gpu in group if gpu.free_bytes is not None), default=0)
    busy = used > first.memory_bytes // 20
    if busy:
        parts.append(f"other processes hold up to {format_size(used)} of a card now: a run gets the rest")
    major = (first.compute_capability or "").partition(".")[0]
    if major.isdecimal() and int(major) < 8:
        parts.append(f"compute capability {first.compute_capability} has no bf16: say --precision fp16")
    if machine.hidden_gpus:
        parts.append(f"CUDA_VISIBLE_DEVICES hides {machine.hidden_gpus} more")
    value = f"{len(group)} x {first.name}, {size} each"
    return Finding(key="gpus", title="GPUs", value=value, meaning="; ".join(parts), level=WARN if busy else OK)


def _packages(machine: Machine) -> list[Finding]:
    rows = []
    for name, version in machine.packages:
        if version is None:
            rows.append(
                Finding(key=name, title=name, value="not installed", meaning=_NEEDED_FOR.get(name, ""), level=INFO)
            )
            continue
        read = READ_FROM.get(name)
        known = read is None or any(version == release or version.startswith(release + ".") for release in read)
        meaning = (
            "" if known else f"formulas were read from {' and '.join(_ends(read))}: zplan verify shows what differs"
        )
        rows.append(Finding(key=name, title=name, value=version, meaning=meaning, level=OK if known else WARN))
    return rows


def _ends(releases: tuple[str, ...] | None) -> tuple[str, ...]:
    """The first and the last release."""
    return tuple(dict.fromkeys((releases or ("",))[:: max(1, len(releases or "") - 1)]))


def _nccl(machine: Machine) -> Finding:
    takes = f"takes {format_size(int(NCCL.low))} to {format_size(int(NCCL.high))} of each card from two GPUs on"
    if machine.nccl is None:
        meaning = f"comes with torch's CUDA wheels; it {takes}"
        return Finding(key="nccl", title="NCCL", value="not found", meaning=meaning, level=INFO)
    return Finding(key="nccl", title="NCCL", value=machine.nccl, meaning=takes, level=OK)


def _ram(machine: Machine) -> Finding:
    size = machine.host_bytes
    if size is None:
        meaning = "offload plans need it: say --host-mem 512"
        return Finding(key="host_ram", title="host RAM", value="unknown", meaning=meaning, level=INFO)
    value = format_size(size)
    if machine.ram_available_bytes is not None:
        value += f", {format_size(min(size, machine.ram_available_bytes))} free now"
    largest = format_count(size // OFFLOAD_BYTES)
    meaning = (
        f"--host-mem auto plans with it; optimizer offload takes {OFFLOAD_BYTES} bytes per parameter and more for "
    )
    meaning += f"pinned rounding, so at most {largest} parameters on one such node"
    limited = machine.cgroup_limit_bytes is not None and size == machine.cgroup_limit_bytes
    if limited and machine.ram_bytes is not None and machine.ram_bytes > size:
        value += f" (control group; the machine has {format_size(machine.ram_bytes)})"
        meaning = f"a job is killed at {format_size(size)}, whatever the machine has; {meaning}"
    return Finding(key="host_ram", title="host RAM", value=value, meaning=meaning, level=OK)


def _cpus(machine: Machine) -> Finding:
    value = "unknown" if machine.cpus is None else str(machine.cpus)
    return Finding(
        key="cpus", title="CPU cores", value=value, meaning="an offloaded optimizer steps on these", level=INFO
    )


def _memlock(machine: Machine) -> Finding:
    title, key = "locked memory", "memlock"
    if not machine.memlock_known:
        return Finding(key=key, title=title, value="unknown", meaning="no such limit here", level=INFO)
    if machine.memlock_bytes is None:
        return Finding(key=key, title=title, value="unlimited", meaning="", level=OK)
    meaning = (
        "InfiniBand buffers and DeepSpeed's native pinned buffers (mlock) count against it: unlimited is needed for "
    )
    meaning += "several nodes and for --offload-to nvme (ulimit -l unlimited; docker run --ulimit memlock=-1)"
    return Finding(key=key, title=title, value=format_size(machine.memlock_bytes), meaning=meaning, level=WARN)


def _shm(machine: Machine) -> Finding:
    title, key = "/dev/shm", "shm"
    if machine.shm_bytes is None:
        return Finding(key=key, title=title, value="not there", meaning="NCCL and data loaders use it", level=INFO)
    value = format_size(machine.shm_bytes)
    if machine.shm_free_bytes is not None:
        value += f", {format_size(machine.shm_free_bytes)} free"
    small = machine.shm_bytes < SHM_ADVISED
    meaning = "NCCL and data loaders pass data through it"
    if small:
        meaning += f": less than the {format_size(SHM_ADVISED)} that NVIDIA advises (docker run --shm-size=1g)"
    return Finding(key=key, title=title, value=value, meaning=meaning, level=WARN if small else OK)


def _disk(machine: Machine) -> Finding:
    if machine.disk_free_bytes is None:
        return Finding(key="disk", title="free disk", value="unknown", meaning="", level=INFO)
    value = f"{format_size(machine.disk_free_bytes)} at {machine.disk_path}"
    largest = format_count(machine.disk_free_bytes // CHECKPOINT_BYTES)
    meaning = (
        f"a full checkpoint of mixed-precision Adam takes {CHECKPOINT_BYTES} bytes per parameter: one of {largest} fits"
    )
    return Finding(key="disk", title="free disk", value=value, meaning=meaning, level=OK)


def _libaio(machine: Machine) -> Finding:
    if machine.libaio is None:
        meaning = "DeepSpeed's NVMe offload (--offload-to nvme) needs it: apt install libaio-dev"
        return Finding(key="libaio", title="libaio", value="not found", meaning=meaning, level=INFO)
    return Finding(key="libaio", title="libaio", value=machine.libaio, meaning="--offload-to nvme can be run", level=OK)
