"""One out-of-memory message -> values, in every wording since torch 1.8 (and the builds for HIP, NPU, XPU and MPS).

All of them print sizes with two decimals in binary units, whatever the unit's name says: torch's ``format_size``
divides by powers of 1024 (``c10/cuda/CUDACachingAllocator.cpp``; MPS's in ``aten/src/ATen/mps/MPSAllocator.mm`` writes
GB and means GiB).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from enum import Enum


class OomKind(str, Enum):
    """Who ran out of what."""

    DEVICE = "device"
    """An allocator of device memory, which says how much it was asked for."""
    DRIVER = "driver"
    """The driver or one of its libraries (cuBLAS, NCCL), which says nothing but that it failed."""
    HOST = "host"
    """The allocator of host memory."""
    KILLED = "killed"
    """The operating system killed a process (SIGKILL), which most often means that host memory was used up."""


@dataclass(frozen=True, slots=True)
class Size:
    """A size as printed."""

    bytes: int
    within: int = 0
    """The true value is at most this many bytes away: half of the last digit printed."""


@dataclass(frozen=True, slots=True)
class ProcessUse:
    """What one process holds on the device, as the driver says."""

    pid: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Frame:
    """One line of a traceback."""

    file: str
    function: str
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OomMessage:
    """One message, as far as it can be read; None where it does not say."""

    kind: OomKind
    device: str
    """``cuda``, ``hip``, ``npu``, ``xpu``, ``mps`` or ``cpu``."""
    text: str
    """The message itself, shortened."""
    log_line: int = 0
    """Line of the log that it starts on, from 1."""
    rank: int | None = None
    """Whose it is, where the log marks its lines with ranks."""
    index: int | None = None
    """Which GPU."""
    requested: Size | None = None
    total: Size | None = None
    free: Size | None = None
    allocated: Size | None = None
    """Held by live tensors, private pools of CUDA graphs included."""
    reserved: Size | None = None
    """Held by the caching allocator, live or not."""
    unallocated: Size | None = None
    """Held by the caching allocator without a live tensor in it."""
    private_pools: Size | None = None
    allowed: Size | None = None
    """A limit below the card's memory (``set_per_process_memory_fraction``, MPS's high watermark)."""
    own_use: Size | None = None
    """The process as the driver sees it: reserved, context and libraries."""
    processes: tuple[ProcessUse, ...] = ()
    """Processes on the device that the message lists by number; inside a container the failing one is among them."""
    frames: tuple[Frame, ...] = field(default=())
    """The traceback before it, innermost last."""


_UNITS = {"byte": 1, "bytes": 1, "B": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SIZE = r"([0-9]+(?:\.[0-9]+)?)\s*(bytes?|[KMGT]i?B)"
START = re.compile(r"\b(?:(CUDA|HIP|NPU|XPU)|(MPS) backend)\s+out of memory", re.IGNORECASE)
"""Where a message of a device's allocator begins."""
END = re.compile(
    r"ALLOC_CONF|PyTorch but unallocated\.|reserved in total by PyTorch\)|GiB cached\)|MiB cached\)|bytes cached\)"
    r"|empty_cache|on (?:private|shared) pool",
    re.IGNORECASE,
)
"""What a whole message has said everything before."""
_FIELDS = {
    "requested": re.compile(r"Tried to allocate\s+" + _SIZE, re.IGNORECASE),
    "total": re.compile(rf"total capac?i?ty of\s+{_SIZE}|{_SIZE}\s+total capacity", re.IGNORECASE),
    "free": re.compile(rf"of which\s+{_SIZE}\s+is free|{_SIZE}\s+free\b", re.IGNORECASE),
    "allocated": re.compile(
        rf"{_SIZE}\s+already allocated|allocated memory\s+{_SIZE}\s+is allocated by PyTorch|MPS allocated:\s+{_SIZE}",
        re.IGNORECASE,
    ),
    "reserved": re.compile(_SIZE + r"\s+reserved in total", re.IGNORECASE),
    "unallocated": re.compile(
        rf"{_SIZE}\s+is\s+reserved by PyTorch but\s+unallocated|{_SIZE}\s+cached\)", re.IGNORECASE
    ),
    "private_pools": re.compile(_SIZE + r"\s+allocated in private pools", re.IGNORECASE),
    "allowed": re.compile(rf"{_SIZE}\s+allowed\b|max allowed:\s+{_SIZE}", re.IGNORECASE),
    "own_use": re.compile(r"this process has\s+" + _SIZE + r"\s+memory in use", re.IGNORECASE),
}
_PROCESS = re.compile(r"Process ([0-9]+) has\s+" + _SIZE + r"\s+memory in use", re.IGNORECASE)
_OTHER_ALLOCATIONS = re.compile(r"other allocations:\s+" + _SIZE, re.IGNORECASE)
_INDEX = re.compile(r"\b(?:GPU|NPU)[ :]([0-9]+)\b", re.IGNORECASE)
_LONGEST_TEXT = 700

HOST_ALLOCATOR = re.compile(
    r"DefaultCPUAllocator: (?:can't allocate memory|not enough memory): you tried to allocate ([0-9]+)\s*(bytes|GB)?"
)
HOST_ARRAY = re.compile(r"Unable to allocate " + _SIZE + r" for an array")
HOST_ERRNO = re.compile(r"\[Errno 12\] Cannot allocate memory|std::bad_alloc|^\s*MemoryError\b")
DRIVER = re.compile(
    r"(?:CUDA|HIP) error: out of memory|cudaErrorMemoryAllocation|hipErrorOutOfMemory"
    r"|CU(?:BLAS|DNN|SPARSE|SOLVER)_STATUS_ALLOC_FAILED|(?:Cuda|CUDA|HIP|Hip) failure (?:2 )?'?out of memory"
    r"|NCCL.{0,80}out of memory"
)
KILLED = re.compile(
    r"exits with return code = -9\b|exit ?code\s*:\s*-9\b|exitcode=-9\b|exit (?:code|status) (?:137|-9)\b"
    r"|Signal 9 \(SIGKILL\)|Signals\.SIGKILL|killed by signal: Killed|signal 9 \(Killed\)"
    r"|[Oo]ut of memory: Kill(?:ed)? process|oom-kill:|oom_kill event|OOMKilled|^\s*Killed\s*$"
    r"|line [0-9]+:\s+[0-9]+ Killed\b|\bexit -9\b"
)
_KERNEL_RSS = re.compile(r"anon-rss:([0-9]+)kB")


def size(number: str, unit: str) -> Size:
    """A size from its two words; ``1.20`` GiB is known to half a hundredth."""
    factor = _UNITS[unit.lower()] if unit.lower() in ("byte", "bytes") else _UNITS[unit[0].upper()]
    whole, _, decimals = number.partition(".")
    scale = 10 ** len(decimals)
    value = int(whole + decimals) * factor
    return Size((value + scale // 2) // scale, 0 if factor == 1 else -(-factor // (2 * scale)))


def _first(pattern: re.Pattern[str], text: str) -> Size | None:
    match = pattern.search(text)
    if match is None:
        return None
    words = [group for group in match.groups() if group is not None]
    return size(words[0], words[1])


def split_messages(text: str) -> list[str]:
    """The device messages in a piece of log: ranks that share a terminal write several into one line."""
    starts = [match.start() for match in START.finditer(text)]
    return [text[start:end] for start, end in zip(starts, [*starts[1:], len(text)], strict=True)]


def parse_device(text: str) -> OomMessage:
    """One message of a device's allocator.

    Args:
        text: From its first word on, on one line.

    Returns:
        The values it states, and those that follow from them: reserved = allocated + unallocated.
    """
    start = START.match(text)
    device = ((start[1] or start[2]) if start else "CUDA").lower()
    found = {name: _first(pattern, text) for name, pattern in _FIELDS.items()}
    allocated, reserved, loose, own = (found[name] for name in ("allocated", "reserved", "unallocated", "own_use"))
    if allocated is not None and reserved is None and loose is not None:
        reserved = Size(allocated.bytes + loose.bytes, allocated.within + loose.within)
    elif allocated is not None and reserved is not None and loose is None:
        # Two rounded numbers can cross by their last digits.
        loose = Size(max(0, reserved.bytes - allocated.bytes), allocated.within + reserved.within)
    if own is not None and own.bytes == 0:
        # What the driver answers where it cannot see processes (containers, WSL).
        own = None
    other = _first(_OTHER_ALLOCATIONS, text)
    if device == "mps" and allocated is not None and other is not None:
        own = Size(allocated.bytes + other.bytes, allocated.within + other.within)
    index = _INDEX.search(text)
    return OomMessage(
        kind=OomKind.DEVICE,
        device=device,
        text=shortened(text),
        index=int(index[1]) if index else None,
        requested=found["requested"],
        total=found["allowed"] if device == "mps" else found["total"],
        free=found["free"],
        allocated=allocated,
        reserved=reserved,
        unallocated=loose,
        private_pools=found["private_pools"],
        allowed=found["allowed"],
        own_use=own,
        processes=tuple(ProcessUse(int(pid), size(*words).bytes) for pid, *words in _PROCESS.findall(text)),
    )


def parse_other(line: str) -> OomMessage | None:
    """A line of another kind that tells of memory (driver, host allocator, kernel), or None if it is none."""
    match = HOST_ALLOCATOR.search(line)
    if match is not None:
        requested = Size(int(match[1]) * (2**30 if match[2] == "GB" else 1), 2**30 if match[2] == "GB" else 0)
        return OomMessage(kind=OomKind.HOST, device="cpu", text=shortened(line), requested=requested)
    match = HOST_ARRAY.search(line)
    if match is not None:
        return OomMessage(kind=OomKind.HOST, device="cpu", text=shortened(line), requested=size(match[1], match[2]))
    if HOST_ERRNO.search(line):
        return OomMessage(kind=OomKind.HOST, device="cpu", text=shortened(line))
    if DRIVER.search(line):
        device = "hip" if re.search(r"\bhip", line, re.IGNORECASE) else "cuda"
        return OomMessage(kind=OomKind.DRIVER, device=device, text=shortened(line))
    if KILLED.search(line):
        used = _KERNEL_RSS.search(line)
        resident = Size(int(used[1]) * 1024) if used else None
        return OomMessage(kind=OomKind.KILLED, device="cpu", text=shortened(line), own_use=resident)
    return None


def shortened(text: str) -> str:
    """Text on one line, printable and of bounded length."""
    line = "".join(c if c.isprintable() else " " for c in " ".join(text.split()))
    return line if len(line) <= _LONGEST_TEXT else line[: _LONGEST_TEXT - 1] + "…"
