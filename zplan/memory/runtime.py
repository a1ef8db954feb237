"""From allocated bytes to what the driver shows: context, communicators, kernels' own scratch, the allocator's slack."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from zplan.memory.activations import efficient_backward_scratch_bytes, flash_backward_scratch_bytes
from zplan.memory.attention import asked, kernel, writes_scores
from zplan.memory.moments import Runtime, TermKey
from zplan.spec import Attention, Engine, ModelSpec, Plan

GIB = 2**30
MIB = 2**20


class Range(NamedTuple):
    """A measured spread, with where it was measured."""

    low: float
    expected: float
    high: float
    source: str


def _bytes(spread: Range) -> tuple[int, int, int]:
    return int(spread.low), int(spread.expected), int(spread.high)


class Outside(NamedTuple):
    """What a process holds on a card outside of torch's allocator."""

    context: Range
    """Alone on one card: driver, kernels, libraries."""
    nccl: Range
    """What several ranks hold beyond that."""
    context_bytes: tuple[int, int, int]
    nccl_bytes: tuple[int, int, int]


def _outside(one: tuple[float, float, float], several: tuple[float, float, float], cards: str) -> Outside:
    """Ranges in GiB from what one process, and one of several ranks, held: least, median and most.

    What several hold beyond one is NCCL's.
    """
    source = (
        f"least, median and most of what public out-of-memory messages of torch 2 show outside of its allocator, {cards} "
        "(benchmarks/data/outside.yaml)"
    )
    beyond = (several[0] - one[0], several[1] - one[1], several[2] - one[2])
    context, nccl = (Range(low * GIB, expected * GIB, high * GIB, source) for low, expected, high in (one, beyond))
    return Outside(context, nccl, _bytes(context), _bytes(nccl))


def _between(less: Range, more: Range, share: float) -> Range:
    low, expected, high = (a + share * (b - a) for a, b in zip(less[:3], more[:3], strict=True))
    return Range(low, expected, high, more.source)


ANY = _outside((0.12, 0.52, 1.70), (0.32, 1.30, 4.42), "15 of one process and 21 of several ranks")
SMALL = _outside(
    (0.12, 0.44, 1.16), (0.32, 0.60, 1.52), "8 of one process and 11 of several ranks on cards up to 32 GiB"
)
LARGE = _outside(
    (0.31, 0.52, 1.70), (0.64, 2.10, 4.42), "7 of one process and 10 of several ranks on cards from 39 GiB on"
)
SMALL_GIB, LARGE_GIB = 32, 39
"""The largest and the smallest card of either kind."""
CONTEXT, NCCL = ANY.context, ANY.nccl


@lru_cache(maxsize=256)
def outside_of(capacity_bytes: int | None) -> Outside:
    """What was measured on cards of this size; on any where the size is not known.

    Larger cards have faster links, and NCCL's buffers are linear in its channels, of which those have more (NVIDIA/nccl#986):
    12 MiB for each channel and peer (NCCL ``src/transport/p2p.cc``). Between 32 and 39 GiB, where there is no card, it goes up
    in a straight line, so that more memory is never less room.
    """
    if capacity_bytes is None:
        return ANY
    share = (capacity_bytes / GIB - SMALL_GIB) / (LARGE_GIB - SMALL_GIB)
    if not 0 < share < 1:
        return SMALL if share <= 0 else LARGE
    context, nccl = _between(SMALL.context, LARGE.context, share), _between(SMALL.nccl, LARGE.nccl, share)
    return Outside(context, nccl, _bytes(context), _bytes(nccl))


WORKSPACE = Range(
    2 * (2 * 4096 + 8 * 16) * 1024,
    2 * (2 * 4096 + 8 * 16) * 1024,
    2 * 8 * 4096 * 1024,
    "cuBLAS workspaces, one for the forward and one for the backward thread: :4096:2:16:8 (8.1 MiB), on compute capability 9 "
    ":4096:8 (32 MiB); torch aten/src/ATen/cuda/CublasHandlePool.cpp",
)
PAGED_SOURCE = (
    "CUDA managed memory (bitsandbytes functional.py get_paged, cudaMallocManaged); arXiv:2305.14314, section 3"
)
_FLAT = Range(
    0.006,
    0.047,
    0.093,
    "reserved over allocated: +0.6 % with ZeRO-2's flat buffers (TensorAuto/OpenTau#273); median +4.7 % and at most +9.3 % "
    "over 15 runs with flat ZeRO-1 buffers (MooreThreads/SimuMax, B200)",
)
_FSDP1 = Range(
    0.042,
    0.294,
    0.710,
    "nvidia-smi less an A100's own context (0.47 GiB) and NCCL (544 MB on 2, 688 MB on more) over allocated, 36 runs on A100-80GB "
    "(foundation-model-stack/fms-acceleration@876e2ed; stas00/ml-engineering; NVIDIA/nccl#964); "
    "low: those that filled the card",
)
_SINGLE = Range(
    0.006,
    0.244,
    0.428,
    "nvidia-smi less an A100's own context (0.47 GiB) over allocated, 25 runs on A100-80GB "
    "(foundation-model-stack/fms-acceleration@876e2ed; stas00/ml-engineering)",
)
_ZERO3 = Range(
    0.006,
    0.233,
    0.304,
    "ZeRO-3, two published pairs: 69.21 reserved over 56.12 allocated, +23 %, in a run that trained (deepspeedai/DeepSpeed#3734, "
    "13B on 8 A100; its ZeRO-2 +9 %); 17.62 unusable beside 57.88 allocated, +30 %, when one failed (hiyouga/LLaMA-Factory#5590); "
    "low as for flat buffers",
)
_FSDP2 = Range(
    0.006,
    0.047,
    0.294,
    "no published pairs for FSDP2: low and expected as for flat buffers, high is the median of FSDP1",
)


_WORKSPACE = _bytes(WORKSPACE)


def slack(engine: Engine, stage: int) -> Range:
    """What the caching allocator holds beyond live tensors, as a share of the allocated peak."""
    if engine is Engine.DEEPSPEED:
        return _ZERO3 if stage == 3 else _FLAT
    if engine is Engine.FSDP1:
        return _FSDP1
    return _FSDP2 if engine is Engine.FSDP2 else _SINGLE


@lru_cache(maxsize=64)
def _shares(engine: Engine, stage: int) -> tuple[float, float, float]:
    spread = slack(engine, stage)
    return spread.low, spread.expected, spread.high


@lru_cache(maxsize=16384)
def attention_scratch_bytes(model: ModelSpec, attention: Attention, micro_batch: int, seq_len: int) -> int:
    """Largest scratch of a fused kernel's backward over the blocks (see ``flash_backward_scratch_bytes`` and its sibling)."""
    sizes = [0]
    for kind in model.block_kinds:
        if writes_scores(attention, kind, seq_len) or not {"a", "k", "d"} <= {name for name, _ in kind.dims}:
            continue
        flash = kernel(attention, kind, seq_len) is Attention.FLASH
        scratch = flash_backward_scratch_bytes if flash else efficient_backward_scratch_bytes
        sizes.append(scratch(kind, micro_batch=micro_batch, seq_len=seq_len))
    return max(sizes)


def kernel_scratch_bytes(plan: Plan) -> int:
    """What CUDA kernels allocate for themselves at most: workspaces, and flash attention's accumulators in backward.

    Torch counts both as allocated; no dry run sees them.
    """
    job = plan.job
    return int(WORKSPACE.high) + attention_scratch_bytes(plan.model, asked(job), job.micro_batch, job.seq_len)


def runtime(
    engine: Engine,
    world_size: int,
    allocated_bytes: int,
    capacity_bytes: int | None,
    *,
    stage: int = 0,
    outside: Outside = ANY,
    scratch_bytes: int = 0,
    paged_bytes: int = 0,
) -> Runtime:
    """Reserved and device totals for an allocated peak, as low / expected / high.

    The allocator's slack is elastic: before it reports out of memory, it returns cached blocks to the driver and tries again
    (torch ``c10/cuda/CUDACachingAllocator.cpp``, ``release_cached_blocks``). So on a card of known size the expected total
    is never above the capacity as long as the low bound fits.

    Args:
        engine: Decides the slack.
        world_size: Ranks; one rank has no communicator.
        allocated_bytes: Peak of live tensors.
        capacity_bytes: Memory of the card, or None.
        stage: Decides the slack of DeepSpeed.
        outside: What such cards hold outside of the allocator (:func:`outside_of`).
        scratch_bytes: Flash attention's accumulators; they count where they may meet the peak, in the high bound.
        paged_bytes: Managed memory, which the driver moves to the host when the card is full: it takes what room is left.

    Returns:
        The totals and their causes.
    """
    low, expected, high = _shares(engine, stage)
    context, nccl = outside.context_bytes, outside.nccl_bytes if world_size > 1 else (0, 0, 0)
    kernels = (_WORKSPACE[0], _WORKSPACE[1], _WORKSPACE[2] + scratch_bytes)
    loose = (int(allocated_bytes * low), int(allocated_bytes * expected), int(allocated_bytes * high))
    fixed = context[1] + nccl[1] + kernels[1]
    room = None if capacity_bytes is None else capacity_bytes - allocated_bytes - fixed
    expected_slack = loose[1] if room is None else max(loose[0], min(loose[1], room))
    low = allocated_bytes + context[0] + nccl[0] + kernels[0] + loose[0]
    expected = allocated_bytes + fixed + expected_slack
    high = allocated_bytes + context[2] + nccl[2] + kernels[2] + loose[2]
    terms = {
        TermKey.CUDA_CONTEXT: context,
        TermKey.NCCL: nccl,
        TermKey.KERNEL_SCRATCH: kernels,
        TermKey.FRAGMENTATION: (loose[0], expected_slack, loose[2]),
    }
    if paged_bytes:
        left = [paged_bytes if capacity_bytes is None else max(0, capacity_bytes - size) for size in (expected, high)]
        paged = (0, min(paged_bytes, left[0]), min(paged_bytes, left[1]))
        expected, high, terms[TermKey.PAGED_OPTIMIZER] = expected + paged[1], high + paged[2], paged
    return Runtime(
        reserved_peak_bytes=allocated_bytes + kernels[1] + expected_slack,
        device_low_bytes=low,
        device_expected_bytes=expected,
        device_high_bytes=high,
        terms=terms,
    )


@lru_cache(maxsize=1024)
def most_allocated_bytes(
    engine: Engine, world_size: int, capacity_bytes: int, stage: int, *, sure: bool, outside: Outside = ANY
) -> int:
    """The largest peak of live tensors that a card has room for; below 0 where it has none for what is always there.

    Args:
        engine: Decides the slack.
        world_size: Ranks.
        capacity_bytes: Memory of the card.
        stage: Decides the slack of DeepSpeed.
        sure: By the high bound of :func:`runtime`, else by the expected value.
        outside: What such cards hold outside of the allocator.
    """
    low, high = -1, capacity_bytes + 1
    while high - low > 1:
        middle = (low + high) // 2
        run = runtime(engine, world_size, middle, capacity_bytes, stage=stage, outside=outside)
        needed = run.device_high_bytes if sure else run.device_expected_bytes
        low, high = (middle, high) if needed <= capacity_bytes else (low, middle)
    return low
