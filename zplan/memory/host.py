"""Host RAM per rank and per node, with the pinned allocator's rounding."""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.engines.base import HostTerms
from zplan.memory.moments import HostMemory
from zplan.spec import ClusterSpec


def pinned_size(size_bytes: int) -> int:
    """Bytes that one pinned allocation occupies: the next power of two.

    Source: torch ``aten/src/ATen/core/CachingHostAllocator.h`` (``PowerOf2Ceil``); blocks are never split.
    """
    return 1 << (size_bytes - 1).bit_length() if size_bytes > 1 else size_bytes


def host_memory(terms: HostTerms, cluster: ClusterSpec) -> HostMemory:
    """Host bytes of one rank and of one node; no batch shape changes them.

    Args:
        terms: What the engine keeps on the host.
        cluster: Ranks per node and the node's RAM.

    Returns:
        Per rank as the sum of tensors; per node with pinned rounding. The verdict counts
        the peak of all ranks of a node, and their files on NVMe.
    """
    return _host_memory(terms, cluster.gpus_per_node, cluster.host_capacity_bytes, cluster.nvme_capacity_bytes)


@lru_cache(maxsize=8192)
def _host_memory(terms: HostTerms, ranks: int, capacity: int | None, room: int | None) -> HostMemory:
    steady = sum(terms.steady.values())
    pinned_raw = sum(terms.pinned_tensors)
    pinned = sum(pinned_size(size) for size in terms.pinned_tensors)
    per_node = ranks * (steady - pinned_raw + pinned)
    peak_per_node = ranks * (terms.peak_bytes - pinned_raw + pinned)
    verdict = None
    if capacity is not None:
        verdict = "fits" if peak_per_node <= capacity else "oom"
        if verdict == "oom" and ranks * terms.peak_bytes <= capacity:
            # Only the rounding is too much: newer torch can be told to round less (pinned_max_round_threshold_mb).
            verdict = "tight"
    nvme = ranks * terms.nvme_bytes
    nvme_short = room is not None and nvme > room
    if nvme_short:
        verdict = "oom"
    return HostMemory(
        per_rank_bytes=steady,
        peak_per_rank_bytes=terms.peak_bytes,
        pinned_per_rank_bytes=pinned,
        per_node_bytes=per_node,
        terms=terms.steady,
        verdict=verdict,
        nvme_per_node_bytes=nvme,
        nvme_short=nvme_short,
    )
