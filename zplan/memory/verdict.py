"""Whether a plan fits, and why not: the card at the high and the expected bound, the node's RAM with and without rounding."""

from __future__ import annotations

from zplan.memory.moments import Estimate, HostMemory, Runtime
from zplan.spec import ClusterSpec
from zplan.units import Unit, format_size


def judge(cluster: ClusterSpec, run: Runtime, host: HostMemory) -> str | None:
    """Everything that must pass: the device's bounds (of the largest of init, all phases and all ranks) and host RAM.

    Returns:
        ``fits`` when the high bound does, ``tight`` when only the expected one does, ``oom`` otherwise; the host's verdict
        where that is worse; None where the card's memory is unknown and the host has room.
    """
    gpu = _gpu(cluster, run)
    if host.verdict == "oom" or gpu == "oom":
        return "oom"
    return "tight" if host.verdict == "tight" else gpu


def _gpu(cluster: ClusterSpec, run: Runtime) -> str | None:
    capacity = cluster.gpu_capacity_bytes
    if capacity is None:
        return None
    return "fits" if run.device_high_bytes <= capacity else "tight" if run.device_expected_bytes <= capacity else "oom"


def because(cluster: ClusterSpec, phase: str, run: Runtime, host: HostMemory, *, unit: Unit = Unit.GIB) -> str | None:
    """What is short, with the numbers that were compared.

    Args:
        cluster: The card's memory and the node's RAM.
        phase: Where the largest peak is, init included.
        run: The device's bounds.
        host: What the ranks of a node hold.
        unit: The family of units to print.

    Returns:
        Half a sentence, None for a plan that fits; the card's shortage goes before the host's.
    """
    gpu, capacity = _gpu(cluster, run), cluster.gpu_capacity_bytes or 0
    if gpu == "oom":
        return (
            f"{phase} needs {format_size(run.device_expected_bytes, unit)}, the GPU has {format_size(capacity, unit)}"
        )
    if host.verdict in ("tight", "oom"):
        needed, ram = format_size(peak_per_node_bytes(cluster, host), unit), cluster.host_capacity_bytes or 0
        if host.nvme_short:
            there = format_size(cluster.nvme_capacity_bytes or 0, unit)
            return f"NVMe: a node needs {format_size(host.nvme_per_node_bytes, unit)} and has {there}"
        if host.beyond is not None:
            return f"host RAM: {host.beyond[0]} needs {needed} on a node, which has {format_size(ram, unit)}"
        rounded = " once pinned memory is rounded up" if host.verdict == "tight" else ""
        return f"host RAM: a node needs {needed}{rounded} and has {format_size(ram, unit)}"
    if gpu == "tight":
        return f"{phase} may need {format_size(run.device_high_bytes, unit)}, the GPU has {format_size(capacity, unit)}"
    return None


def peak_per_node_bytes(cluster: ClusterSpec, host: HostMemory) -> int:
    """Host RAM that all ranks of a node hold at once at their peak, with pinned rounding, in any phase that is counted."""
    if host.beyond is not None:
        return host.beyond[1]
    return host.per_node_bytes + cluster.gpus_per_node * (host.peak_per_rank_bytes - host.per_rank_bytes)


def short_of_host_ram(estimate: Estimate) -> bool:
    """Whether the node's RAM, and not the card, is why a plan is out of memory."""
    return (
        estimate.host.verdict == "oom"
        and not estimate.host.nvme_short
        and _gpu(estimate.plan.cluster, estimate.runtime) != "oom"
    )


def host_need(estimate: Estimate) -> tuple[int, int]:
    """Bytes of RAM that a node needs at its peak, and that it has (0 when unknown)."""
    cluster = estimate.plan.cluster
    return peak_per_node_bytes(cluster, estimate.host), cluster.host_capacity_bytes or 0


def reason(estimate: Estimate, unit: Unit = Unit.GIB) -> str | None:
    """Why a plan does not fit with room to spare, in the unit that the rest of a view is in."""
    if unit is Unit.GIB or estimate.verdict in ("fits", None):
        return estimate.verdict_because
    phase = deciding_phase(estimate)
    return because(estimate.plan.cluster, phase, estimate.runtime, estimate.host, unit=unit)


def peak_phase(init_bytes: int, worst_bytes: int, phase: str) -> str:
    """The phase that decides: init where nothing later holds more."""
    return "init" if init_bytes > worst_bytes else phase


def deciding_phase(estimate: Estimate) -> str:
    """The phase that holds most on the GPU, init and phases beside the step included."""
    phase = peak_phase(estimate.phases["init"], estimate.worst_rank_peak_bytes, estimate.peak_moment.phase)
    known = max(estimate.worst_rank_peak_bytes, estimate.phases["init"])
    for need in estimate.beyond:
        if need.gpu.total_bytes > known:
            phase, known = need.phase, need.gpu.total_bytes
    return phase
