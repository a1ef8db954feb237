"""Why memory ran out: no room, room in pieces, somebody else on the card, a limit, or the host."""

from __future__ import annotations

from dataclasses import dataclass

from zplan.inputs.oommessage import OomKind, OomMessage, ProcessUse
from zplan.memory.moments import Estimate
from zplan.memory.runtime import CONTEXT, NCCL
from zplan.spec import Offload
from zplan.units import format_size

FRAGMENTATION, OTHER_PROCESS, TOO_LARGE, LIMIT, SPILL = "fragmentation", "other_process", "too_large", "limit", "spill"
REFUSED, FULL, HOST, DRIVER, UNKNOWN = "refused", "full", "host", "driver", "unknown"


@dataclass(frozen=True, slots=True)
class Cause:
    """One reason."""

    kind: str
    words: str
    """One sentence with the message's numbers."""
    bytes: int = 0
    """Memory that this is about: unused cache, other processes, what is missing."""


def find_causes(message: OomMessage, estimate: Estimate | None, *, pinned: bool = False) -> tuple[Cause, ...]:
    """Reasons, the most telling first.

    Args:
        message: What the log says.
        estimate: The plan's, for the host's side.
        pinned: The traceback ends where host memory is pinned, which fails with the driver's words.

    Returns:
        At least one.
    """
    if message.kind in (OomKind.KILLED, OomKind.HOST) or (message.kind is OomKind.DRIVER and pinned):
        return (_host(message, estimate),)
    if message.kind is OomKind.DRIVER:
        words = (
            "the driver or one of its libraries found no memory and says no size: torch's cache and the context filled "
            "the card, so nothing was left outside of the cache"
        )
        return (Cause(DRIVER, words),)
    found = [
        cause for cause in (_larger(message), _limit(message), _spill(message), _refused(message)) if cause is not None
    ]
    pieces, others = _fragmentation(message), other_processes(message)
    found += [cause for cause in (pieces, others) if cause is not None]
    shortage = _shortage(message)
    if shortage is not None and pieces is None and not any(cause.kind == REFUSED for cause in found):
        found.append(shortage)
    return tuple(found) or (Cause(UNKNOWN, "the message says too little: its numbers are missing"),)


def _larger(message: OomMessage) -> Cause | None:
    requested, total = message.requested, message.total
    if requested is None or total is None or requested.bytes <= total.bytes:
        return None
    words = f"one tensor of {format_size(requested.bytes)} does not fit on an empty card of {format_size(total.bytes)}"
    return Cause(TOO_LARGE, words, requested.bytes - total.bytes)


def _limit(message: OomMessage) -> Cause | None:
    allowed, total = message.allowed, message.total
    if allowed is None or total is None or message.device == "mps" or allowed.bytes >= total.bytes:
        return None
    words = (
        f"the process may use {format_size(allowed.bytes)} of {format_size(total.bytes)} "
        "(set_per_process_memory_fraction)"
    )
    return Cause(LIMIT, words, total.bytes - allowed.bytes)


def _spill(message: OomMessage) -> Cause | None:
    allocated, total = message.allocated, message.total
    if allocated is None or total is None or allocated.bytes <= total.bytes + allocated.within + total.within:
        return None
    words = (
        f"{format_size(allocated.bytes)} is allocated on a card of {format_size(total.bytes)}: the driver had moved "
        "the rest to host RAM, as Windows' does, which makes a run many times slower before it fails"
    )
    return Cause(SPILL, words, allocated.bytes - total.bytes)


def _refused(message: OomMessage) -> Cause | None:
    requested, free = message.requested, message.free
    if requested is None or free is None or free.bytes < requested.bytes or _limit(message) is not None:
        return None
    words = (
        f"the driver refused {format_size(requested.bytes)} although it says that {format_size(free.bytes)} is free: a "
        "limit of its own (Windows, WSL, integrated GPUs), or another process took it and let go of it again"
    )
    return Cause(REFUSED, words)


def _fragmentation(message: OomMessage) -> Cause | None:
    requested, loose, free = message.requested, message.unallocated, message.free
    if requested is None or loose is None or (free is not None and free.bytes >= requested.bytes):
        return None
    usable = loose.bytes + (free.bytes if free is not None else 0)
    # With less than half of the request in the cache, it is the free memory that is missing, not its shape.
    if usable < requested.bytes or loose.bytes < requested.bytes // 2:
        return None
    words = (
        f"the allocator holds {format_size(loose.bytes)} that no tensor uses, in pieces too small for one tensor of "
        f"{format_size(requested.bytes)}"
    )
    return Cause(FRAGMENTATION, words, loose.bytes)


def other_processes(message: OomMessage) -> Cause | None:
    """What processes other than the failing one hold on the card."""
    reserved = message.reserved.bytes if message.reserved is not None else 0
    listed = list(message.processes)
    if message.own_use is None and listed:
        # Inside a container the process cannot find itself in the driver's list: it is one that holds what it reserved.
        listed.remove(min(listed, key=lambda process: (process.bytes < reserved * 0.98, abs(process.bytes - reserved))))
    if listed:
        return Cause(OTHER_PROCESS, _listed(listed), sum(process.bytes for process in listed))
    if message.total is None or message.free is None or message.reserved is None or message.processes:
        return None
    used = message.own_use.bytes if message.own_use is not None else reserved + int(CONTEXT.high + NCCL.high)
    outside = message.total.bytes - message.free.bytes - used
    # Whatever holds less than a context is no process: the driver itself, or a display.
    if outside <= CONTEXT.high or message.device == "mps":
        return None
    unknown, most = message.total.bytes - message.free.bytes - reserved, int(CONTEXT.high + NCCL.high)
    words = (
        f"{format_size(unknown)} of the card is in use outside of this process's tensors and cache, and a CUDA context "
        f"with NCCL takes at most {format_size(most)}: another process is on the card, or a library in this one that "
        "does not use torch's allocator"
    )
    if message.own_use is not None:
        words = f"other processes hold {format_size(outside)} of the card"
    return Cause(OTHER_PROCESS, words, outside)


def _listed(processes: list[ProcessUse]) -> str:
    total = sum(process.bytes for process in processes)
    pids = ", ".join(str(process.pid) for process in processes[:6]) + (", ..." if len(processes) > 6 else "")
    if len(processes) > 1 and all(process.bytes <= CONTEXT.high for process in processes):
        return (
            f"{len(processes)} other processes ({pids}) hold {format_size(total)} of this card, each no more than a "
            "bare CUDA context: other ranks touched this GPU before torch.cuda.set_device(local_rank)"
        )
    many = "other processes hold" if len(processes) > 1 else "another process holds"
    return f"{many} {format_size(total)} of the card (process {pids})"


def _shortage(message: OomMessage) -> Cause | None:
    requested, free = message.requested, message.free
    if requested is None:
        return None
    loose = message.unallocated.bytes if message.unallocated is not None else 0
    if free is None:
        room = (
            message.total.bytes - (message.own_use or message.allocated or message.total).bytes if message.total else 0
        )
        if message.total is None:
            return None
    else:
        room = free.bytes
    missing = max(0, requested.bytes - room - loose)
    held = f", with {format_size(message.allocated.bytes)} in live tensors" if message.allocated is not None else ""
    words = f"{format_size(requested.bytes)} was asked for where {format_size(max(0, room))} was free{held}"
    return Cause(FULL, words, missing)


def _host(message: OomMessage, estimate: Estimate | None) -> Cause:
    what = (
        f"host RAM: {format_size(message.requested.bytes)} could not be allocated"
        if message.requested is not None
        else "host RAM: the system killed the process (SIGKILL), which it does when memory runs out"
        if message.kind is OomKind.KILLED
        else "pinned host memory could not be allocated, which the driver reports in the words of the GPU: RAM is used "
        "up, or the limit of locked memory is reached (ulimit -l)"
        if message.kind is OomKind.DRIVER
        else "host RAM could not be allocated"
    )
    if message.own_use is not None:
        what += f"; it held {format_size(message.own_use.bytes)}"
    if estimate is None:
        return Cause(HOST, what)
    host, ranks = estimate.host, estimate.plan.cluster.gpus_per_node
    capacity = estimate.plan.cluster.host_capacity_bytes
    if estimate.plan.job.offload is Offload.NONE:
        whole = 2 * estimate.plan.model.params * ranks
        return Cause(
            HOST,
            f"{what}. The plan keeps nothing on the host, so it is loading or data: {ranks} ranks that each read the "
            f"whole checkpoint hold {format_size(whole)} per node in 16 bits, twice that in fp32",
            whole,
        )
    need = host.per_node_bytes + ranks * max(0, host.peak_per_rank_bytes - host.per_rank_bytes)
    of = f" of {format_size(capacity)}" if capacity is not None else ""
    per_rank = format_size(host.peak_per_rank_bytes)
    words = f"{what}. The plan's offload needs {format_size(need)}{of} per node ({per_rank} per rank)"
    return Cause(HOST, words, max(0, need - capacity) if capacity is not None else need)
