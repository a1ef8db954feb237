"""From allocated bytes to what the driver shows: context, communicators, and the caching allocator's slack."""

from __future__ import annotations

from dataclasses import dataclass

from zplan.memory.moments import Runtime, TermKey
from zplan.spec import Engine

GIB = 2**30
MIB = 2**20


@dataclass(frozen=True, slots=True)
class Range:
    """A measured spread, with where it was measured."""

    low: float
    expected: float
    high: float
    source: str


CONTEXT = Range(
    140.9 * MIB,
    0.47 * GIB,
    0.92 * GIB,
    "CUDA context: 140.9 MiB on a T4 (fitcheck-llm 0.3.1), 0.47 GiB lazy and 0.92 GiB eager on an A100 "
    "(stas00/ml-engineering training/performance/README.md)",
)
NCCL = Range(
    544 * MIB,
    688 * MIB,
    1.45 * GIB,
    "first communicator: 544 MB on 2 and 688 MB on more A100 (NVIDIA/nccl#864), 1.45 GiB after the first barrier "
    "(stas00/ml-engineering training/performance/README.md)",
)
SLACK: dict[Engine, Range] = {
    Engine.DEEPSPEED: Range(
        0.006,
        0.047,
        0.093,
        "reserved over allocated: +0.6 % with ZeRO-2's flat buffers (TensorAuto/OpenTau#273); median +4.7 % and at most +9.3 % "
        "over 15 runs with flat ZeRO-1 buffers (MooreThreads/SimuMax, B200)",
    ),
    Engine.FSDP2: Range(
        0.006,
        0.047,
        0.313,
        "no published pairs for FSDP2: low and expected as for flat buffers, high is the median of FSDP1",
    ),
    Engine.FSDP1: Range(
        0.126,
        0.313,
        0.689,
        "nvidia-smi less context and NCCL over allocated, 32 runs on A100-80GB (foundation-model-stack/fms-acceleration@876e2ed)",
    ),
    Engine.SINGLE: Range(
        0.006,
        0.248,
        0.427,
        "nvidia-smi less context over allocated, 23 runs on A100-80GB (foundation-model-stack/fms-acceleration@876e2ed)",
    ),
    Engine.DDP: Range(
        0.006,
        0.248,
        0.427,
        "as a single process: 23 runs on A100-80GB (foundation-model-stack/fms-acceleration@876e2ed)",
    ),
}
"""What the caching allocator holds beyond live tensors, as a share of the allocated peak."""


def runtime(engine: Engine, world_size: int, allocated_bytes: int, capacity_bytes: int | None) -> Runtime:
    """Reserved and device totals for an allocated peak, as low / expected / high.

    The allocator's slack is elastic: before it reports out of memory, it returns cached blocks to the driver and tries again
    (torch ``c10/cuda/CUDACachingAllocator.cpp``, ``release_cached_blocks``). So on a card of known size the expected total
    is never above the capacity as long as the low bound fits.

    Args:
        engine: Decides the slack.
        world_size: Ranks; one rank has no communicator.
        allocated_bytes: Peak of live tensors.
        capacity_bytes: Memory of the card, or None.

    Returns:
        The totals and the three causes.
    """
    slack = SLACK[engine]
    nccl = (int(NCCL.low), int(NCCL.expected), int(NCCL.high)) if world_size > 1 else (0, 0, 0)
    context = (int(CONTEXT.low), int(CONTEXT.expected), int(CONTEXT.high))
    loose = (int(allocated_bytes * slack.low), int(allocated_bytes * slack.expected), int(allocated_bytes * slack.high))
    low = allocated_bytes + context[0] + nccl[0] + loose[0]
    room = None if capacity_bytes is None else capacity_bytes - allocated_bytes - context[1] - nccl[1]
    expected_slack = loose[1] if room is None else max(loose[0], min(loose[1], room))
    return Runtime(
        reserved_peak_bytes=allocated_bytes + expected_slack,
        device_low_bytes=low,
        device_expected_bytes=allocated_bytes + context[1] + nccl[1] + expected_slack,
        device_high_bytes=allocated_bytes + context[2] + nccl[2] + loose[2],
        terms={
            TermKey.CUDA_CONTEXT: context,
            TermKey.NCCL: nccl,
            TermKey.FRAGMENTATION: (loose[0], expected_slack, loose[2]),
        },
    )
