"""The cards of this machine, as NVIDIA's driver reports them: through NVML, or else through ``nvidia-smi``.

CUDA is not initialised and torch not imported; a driver that is missing or refuses is an answer, never an error.
"""

from __future__ import annotations

import csv
import re
from dataclasses import dataclass
from typing import Any

from zplan.errors import ZplanError
from zplan.spec import GpuSpec
from zplan.units import MIB

_SMI_FIELDS = ("index", "name", "memory.total", "memory.free", "driver_version", "compute_cap", "memory.reserved")
_SMI_SECONDS = 20
_DECORATION = re.compile(r"-(?:hbm\de?|generation|blackwell|server|workstation|edition)(?=-|$)")
_MEMORY_FIRST = re.compile(r"^(.+)-(\d+gb)-(pcie|nvl)$")
_SAME_CARD = 0.1
"""Largest share by which the memory of a card and of its preset differ: drivers differ by 2 %, ECC on GDDR memory takes a
sixteenth, variants of a card differ by a fifth or more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MachineGpu:
    """One card as its driver reports it."""

    index: int
    name: str
    memory_bytes: int
    """All of it."""
    free_bytes: int | None = None
    reserved_bytes: int | None = None
    """What the driver keeps for itself; a process can use the rest."""
    compute_capability: str | None = None

    @property
    def usable_bytes(self) -> int:
        """What processes can have of it, context included."""
        return self.memory_bytes - (self.reserved_bytes or 0)


def read_gpus() -> tuple[tuple[MachineGpu, ...], str, str | None]:
    """Asks NVIDIA's driver, through its Python binding or else through ``nvidia-smi``.

    Returns:
        All cards, who reported them (or why there are none), and the driver's version.
    """
    try:
        import pynvml
    except ImportError:
        return _from_smi()
    try:
        pynvml.nvmlInit()
    except pynvml.NVMLError as error:
        cards, source, driver = _from_smi()
        return cards, source if cards else f"NVML: {error}", driver
    try:
        cards = tuple(_from_nvml(pynvml, index) for index in range(pynvml.nvmlDeviceGetCount()))
        return cards, "NVML", _text(pynvml.nvmlSystemGetDriverVersion())
    except pynvml.NVMLError as error:
        return (), f"NVML: {error}", None
    finally:
        pynvml.nvmlShutdown()


def _from_nvml(nvml: Any, index: int) -> MachineGpu:
    """One card through the binding; older bindings lack the second version of the memory query."""
    handle = nvml.nvmlDeviceGetHandleByIndex(index)
    try:
        memory = nvml.nvmlDeviceGetMemoryInfo(handle, version=nvml.nvmlMemory_v2)
        reserved = int(memory.reserved)
    except (AttributeError, TypeError, nvml.NVMLError):
        memory, reserved = nvml.nvmlDeviceGetMemoryInfo(handle), None
    try:
        capability = ".".join(str(part) for part in nvml.nvmlDeviceGetCudaComputeCapability(handle))
    except nvml.NVMLError:
        capability = None
    return MachineGpu(
        index=index,
        name=_text(nvml.nvmlDeviceGetName(handle)),
        memory_bytes=int(memory.total),
        free_bytes=int(memory.free),
        reserved_bytes=reserved,
        compute_capability=capability,
    )


def _from_smi() -> tuple[tuple[MachineGpu, ...], str, str | None]:
    """All cards through ``nvidia-smi``; an old one does not know every field."""
    import subprocess
    from shutil import which

    program = which("nvidia-smi")
    if program is None:
        return (), "no NVIDIA driver found (neither pynvml nor nvidia-smi)", None
    why = "nvidia-smi: no answer"
    for fields in (_SMI_FIELDS, _SMI_FIELDS[:-1], _SMI_FIELDS[:-2]):
        command = [program, f"--query-gpu={','.join(fields)}", "--format=csv,noheader,nounits"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SMI_SECONDS, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return (), f"nvidia-smi: {type(error).__name__}", None
        if done.returncode == 0:
            cards, driver = parse_smi(done.stdout)
            return cards, "nvidia-smi" if cards else "nvidia-smi: lists no card", driver
        why = "nvidia-smi: " + (" ".join((done.stdout or done.stderr).split())[:160] or f"exit {done.returncode}")
    return (), why, None


def parse_smi(text: str) -> tuple[tuple[MachineGpu, ...], str | None]:
    """Reads ``nvidia-smi --query-gpu=... --format=csv,noheader,nounits``.

    Args:
        text: One line per card: index, name, total and free MiB, driver, on newer ones capability and reserved MiB.

    Returns:
        The cards (lines without a memory size are left out) and the driver's version.
    """
    cards, driver = [], None
    for row in csv.reader(text.splitlines(), skipinitialspace=True):
        cells = [cell.strip() for cell in row] + [""] * len(_SMI_FIELDS)
        index, total = _mib(cells[0]), _mib(cells[2])
        if index is None or not total:
            continue
        free, reserved = _mib(cells[3]), _mib(cells[6])
        driver = cells[4] or driver
        cards.append(
            MachineGpu(
                index=index,
                name=cells[1],
                memory_bytes=total * MIB,
                free_bytes=None if free is None else free * MIB,
                reserved_bytes=None if reserved is None else reserved * MIB,
                compute_capability=cells[5] if cells[5][:1].isdigit() else None,
            )
        )
    return tuple(cards), driver


def _mib(cell: str) -> int | None:
    return int(cell) if cell.isdecimal() else None


def _text(value: object) -> str:
    """Old bindings answer in bytes."""
    return value.decode(errors="replace") if isinstance(value, bytes) else str(value)


def visible(gpus: tuple[MachineGpu, ...], variable: str | None) -> tuple[MachineGpu, ...]:
    """The cards that CUDA would show.

    Args:
        gpus: All cards.
        variable: ``CUDA_VISIBLE_DEVICES``, None when it is not set.

    Returns:
        Those that plain indices name, in that order; all of them where the variable holds other names, which only
        CUDA can resolve.
    """
    if variable is None:
        return gpus
    words = [word.strip() for word in variable.split(",") if word.strip()]
    if any(not word.isdecimal() for word in words):
        return () if words == ["-1"] else gpus
    by_index = {gpu.index: gpu for gpu in gpus}
    return tuple(by_index[int(word)] for word in words if int(word) in by_index)


def preset_of(gpu: MachineGpu) -> GpuSpec | None:
    """The preset of a card, by the name that its driver gives it.

    Args:
        gpu: A card.

    Returns:
        The preset, None where no preset has that name or its memory is another variant's.
    """
    from zplan.inputs.presets import GPUS, find, load_gpu, normalise

    name = _DECORATION.sub("", re.sub(r"[\s_]+", "-", gpu.name.strip().lower()))
    name = _MEMORY_FIRST.sub(r"\1-\3-\2", name)
    try:
        if find(GPUS, normalise(GPUS, name)) is None:
            return None
        preset = load_gpu(name)
    except ZplanError:  # a broken preset of the user's
        return None
    return preset if abs(gpu.memory_bytes / preset.memory_bytes - 1) <= _SAME_CARD else None
