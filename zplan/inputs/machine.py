"""What this machine has: cards, software, RAM and its limits, shared memory, disk.

Everything is read lazily and on its own: what is missing or refuses is None or absent, never an error. Neither torch
nor an engine is imported.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zplan.inputs.machinegpus import MachineGpu, read_gpus, visible
from zplan.units import KIB

PACKAGES = ("torch", "deepspeed", "transformers", "accelerate", "peft", "bitsandbytes", "flash-attn")
"""Distributions whose version decides what can be run, or which memory a run takes."""
_NCCL_WHEELS = ("nvidia-nccl-cu13", "nvidia-nccl-cu12", "nvidia-nccl-cu11")
_NO_LIMIT = 1 << 60
"""cgroup v1 writes "no limit" as the largest multiple of a page; no machine has an exbibyte."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """What one machine has. None: could not be read."""

    gpus: tuple[MachineGpu, ...] = ()
    """The cards that a process started here would see."""
    gpus_from: str = ""
    """What reported them, or why there are none."""
    driver: str | None = None
    hidden_gpus: int = 0
    """Cards that ``CUDA_VISIBLE_DEVICES`` hides."""
    packages: tuple[tuple[str, str | None], ...] = ()
    """Each of :data:`PACKAGES` with its version."""
    nccl: str | None = None
    cpus: int | None = None
    """Cores that this process may use."""
    ram_bytes: int | None = None
    ram_available_bytes: int | None = None
    cgroup_limit_bytes: int | None = None
    """None: no limit found."""
    memlock_bytes: int | None = None
    """None: unlimited, or no such thing here."""
    memlock_known: bool = False
    shm_bytes: int | None = None
    shm_free_bytes: int | None = None
    disk_path: str = ""
    disk_free_bytes: int | None = None
    libaio: str | None = None

    @property
    def host_bytes(self) -> int | None:
        """RAM that a job here can have: the machine's, or less where a cgroup limits it."""
        known = [size for size in (self.ram_bytes, self.cgroup_limit_bytes) if size is not None]
        return min(known) if known else None


def read_machine(root: Path = Path("/"), environment: Mapping[str, str] | None = None) -> Machine:
    """Looks at this machine.

    Args:
        root: Where ``proc``, ``sys`` and ``dev`` stand.
        environment: Environment variables; this process's by default.

    Returns:
        What was found; nothing that is missing is an error.
    """
    environment = os.environ if environment is None else environment
    gpus, source, driver = read_gpus()
    shown = visible(gpus, environment.get("CUDA_VISIBLE_DEVICES"))
    ram, available = _ram(root)
    memlock, memlock_known = _memlock()
    shm = _space(root / "dev/shm")
    disk = _space(Path.cwd())
    return Machine(
        gpus=shown,
        gpus_from=source,
        driver=driver,
        hidden_gpus=len(gpus) - len(shown),
        packages=tuple((name, _version(name)) for name in PACKAGES),
        nccl=_nccl(),
        cpus=_cpus(),
        ram_bytes=ram,
        ram_available_bytes=available,
        cgroup_limit_bytes=cgroup_limit(root),
        memlock_bytes=memlock,
        memlock_known=memlock_known,
        shm_bytes=shm[0] if shm else None,
        shm_free_bytes=shm[1] if shm else None,
        disk_path=str(Path.cwd()),
        disk_free_bytes=disk[1] if disk else None,
        libaio=_library("aio"),
    )


def _version(distribution: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(distribution)
    except (PackageNotFoundError, ValueError):
        return None


def _nccl() -> str | None:
    """The version of NCCL's wheel, or that a system library is there."""
    for wheel in _NCCL_WHEELS:
        found = _version(wheel)
        if found is not None:
            return f"{found} ({wheel})"
    return _library("nccl")


def _library(name: str) -> str | None:
    from ctypes.util import find_library

    try:
        return find_library(name)
    except OSError:  # it asks ldconfig or a compiler, which may not be runnable
        return None


def _cpus() -> int | None:
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else os.cpu_count()


def _ram(root: Path) -> tuple[int | None, int | None]:
    """Total and available RAM: /proc where there is one, psutil elsewhere."""
    found: dict[str, int] = {}
    for line in _read(root / "proc/meminfo").splitlines():
        words = line.split()
        if len(words) == 3 and words[1].isdecimal() and words[2] == "kB":
            found[words[0]] = int(words[1]) * KIB
    if "MemTotal:" in found:
        return found["MemTotal:"], found.get("MemAvailable:")
    try:
        import psutil
    except ImportError:
        return None, None
    memory = psutil.virtual_memory()
    return int(memory.total), int(memory.available)


def cgroup_limit(root: Path = Path("/")) -> int | None:
    """The smallest memory limit among this process's control groups and those above them.

    Args:
        root: Where ``proc`` and ``sys`` stand.

    Returns:
        Bytes, None where nothing limits.
    """
    limits = []
    for line in _read(root / "proc/self/cgroup").splitlines():
        number, _, rest = line.partition(":")
        controllers, _, path = rest.partition(":")
        if number == "0" and not controllers:
            folder, name = root / "sys/fs/cgroup", "memory.max"
        elif "memory" in controllers.split(","):
            folder, name = root / "sys/fs/cgroup/memory", "memory.limit_in_bytes"
        else:
            continue
        # In a container the path may be the host's, which does not exist here: the mount itself is then the group.
        parts = [part for part in path.split("/") if part not in ("", ".", "..")]
        for depth in range(len(parts) + 1):
            text = _read(folder.joinpath(*parts[:depth], name)).strip()
            if text.isdecimal() and int(text) < _NO_LIMIT:
                limits.append(int(text))
    return min(limits) if limits else None


def _memlock() -> tuple[int | None, bool]:
    """The soft limit on locked memory, and whether there is such a thing."""
    try:
        import resource
    except ImportError:  # Windows
        return None, False
    soft, _ = resource.getrlimit(resource.RLIMIT_MEMLOCK)
    return (None if soft == resource.RLIM_INFINITY else soft), True


def _space(path: Path) -> tuple[int, int] | None:
    """Total and free bytes of the file system that holds a folder."""
    from shutil import disk_usage

    try:
        usage = disk_usage(path)
    except OSError:
        return None
    return usage.total, usage.free


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
