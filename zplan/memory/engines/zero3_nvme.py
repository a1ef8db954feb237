"""Stage 3's offload to NVMe: swap buffers in RAM, what is too small to be swapped, files on disk.

Source: DeepSpeed 0.19 ``runtime/swap_tensor/optimizer_utils.py``, ``partitioned_optimizer_swapper.py``,
``partitioned_param_swapper.py``, ``utils.py`` and ``runtime/zero/stage3.py`` (``_create_param_groups_fp16_flat_cpu_memory``,
``_create_fp16_partitions_with_defragmentation``). DeepSpeed's swappers were run dry with a stand-in for the I/O handle; parameters
beyond ``max_in_cpu`` are from source, not run.
"""

from __future__ import annotations

from collections.abc import Sequence

from zplan.memory.engines.base import HostTerms, StateBytes
from zplan.memory.moments import TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes
from zplan.memory.sharding import round_up
from zplan.spec import Job, Offload

MIN_SWAPPED_BYTES = 1 << 20
"""``MIN_AIO_BYTES``, and the default block size: smaller tensors are not swapped."""
ALIGNED_BYTES = 1024
"""``AIO_ALIGNED_BYTES``, for one thread per request (``intra_op_parallelism`` 1)."""


def _aligned(size: int) -> int:
    return round_up(size, ALIGNED_BYTES)


def nvme_host(
    sub_groups: tuple[int, ...],
    partitions: Sequence[tuple[int, bool]],
    job: Job,
    states: StateBytes,
    optimizer: OptimizerSpec,
) -> HostTerms:
    """Host tensors and files of one rank.

    Formula: RAM holds the 16-bit gradients, pinned by torch; ``buffer_count`` swap buffers of the largest sub-group in the
    optimizer's dtype; with parameters offloaded, ``buffer_count`` x ``buffer_size`` of them, a flat buffer of those that
    ``max_in_cpu`` lets stay, the largest sub-group once more where some do not, and every partition under 1 MiB that is not in
    the flat buffer. Swap buffers are locked by DeepSpeed itself, not by torch: nothing is rounded up. Files: master copy,
    moments and gradients in fp32 (gradients of at least 1 MiB), and every 16-bit partition of at least 1 MiB, since files are
    written before ``max_in_cpu`` is looked at.

    Args:
        sub_groups: Elements of each sub-group on this rank.
        partitions: Elements of each tensor's partition, and whether it trains.
        job: Offload and its options.
        states: Bytes per element of each copy.
        optimizer: Its states.
    """
    options, wide = job.deepspeed, states.optimized
    trained = [numel for numel, trains in partitions if trains]
    trainable, largest = sum(trained), max(sub_groups)
    swap = options.nvme_buffer_count * _aligned(wide * largest)
    on_disk = wide * trainable + state_bytes(optimizer, trainable, wide)
    on_disk += sum(wide * numel for numel in trained if wide * numel >= MIN_SWAPPED_BYTES)
    in_ram = flat = buffers = reserve = 0
    if job.offload is Offload.ALL:
        flat = states.param * min(trainable, options.nvme_max_in_cpu)
        stays = _stays(sub_groups, options.nvme_max_in_cpu)
        small = _small(partitions, stays, states.param)
        in_ram = flat + small
        reserve = _aligned(states.param * largest) if stays < trainable else 0
        buffers = options.nvme_param_buffer_count * _aligned(states.param * options.nvme_param_buffer_size)
        on_disk += sum(
            _aligned(states.param * numel) for numel, _ in partitions if states.param * numel >= MIN_SWAPPED_BYTES
        )
    steady = {
        TermKey.HOST_GRADS: states.grad * trainable,
        TermKey.HOST_PARAMS: in_ram,
        TermKey.HOST_STAGING: swap + buffers + reserve,
    }
    terms = {key: size for key, size in steady.items() if size}
    pinned = tuple(size for size in (states.grad * trainable, flat) if size)
    return HostTerms(terms, sum(terms.values()), pinned, on_disk)


def _stays(sub_groups: Sequence[int], limit: int) -> int:
    """Elements of the first sub-groups that fit into the flat buffer whole."""
    held = 0
    for numel in sub_groups:
        if held + numel > limit:
            return held
        held += numel
    return held


def _small(partitions: Sequence[tuple[int, bool]], stays: int, element_bytes: int) -> int:
    """Bytes of partitions too small to be swapped that are not in the flat buffer: later ones, and frozen ones."""
    held = total = 0
    for numel, trains in partitions:
        inside = trains and held < stays
        held += numel if trains else 0
        if not inside and element_bytes * numel < MIN_SWAPPED_BYTES:
            total += element_bytes * numel
    return total
