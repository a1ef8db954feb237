"""Stage 3's host memory: what offload keeps in RAM, and on NVMe.

Source: DeepSpeed 0.19 ``runtime/zero/stage3.py``; for NVMe ``runtime/swap_tensor/optimizer_utils.py`` and
``partitioned_param_swapper.py``. The NVMe figures are read from the source; no run has been held against them.
"""

from __future__ import annotations

from zplan.memory.engines.base import HostTerms, StateBytes
from zplan.memory.moments import TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes
from zplan.spec import Job, Offload, OffloadTo, Precision


def zero3_host(
    sub_groups: tuple[int, ...],
    on_gpu: tuple[int, ...],
    params: int,
    trainable: int,
    job: Job,
    states: StateBytes,
    optimizer: OptimizerSpec,
    secondary_bytes: int = 0,
) -> HostTerms:
    """Host tensors of one rank.

    Formula: in RAM 18 bytes per offloaded element with the optimizer, 20 with parameters as well. On NVMe the fp32 states and
    gradients lie on disk, and RAM holds swap buffers: ``buffer_count`` times the largest sub-group in fp32, and for parameters
    ``buffer_count`` x ``buffer_size`` elements beside ``max_in_cpu`` of them.

    Args:
        sub_groups: Elements of each sub-group on this rank.
        on_gpu: Those whose states stay on the GPU.
        params: Elements of this rank's parameter partitions, frozen ones included.
        trainable: Elements of the trainable ones.
        job: Offload and its options.
        states: Bytes per element of each copy.
        optimizer: Its states.
        secondary_bytes: Secondary partitions of offloaded parameters (hpZ), which are dropped after the step.
    """
    if job.offload is Offload.NONE:
        return HostTerms()
    if job.offload_to is OffloadTo.NVME:
        return _nvme(sub_groups, params, trainable, job, states, optimizer)
    offloaded = sum(sub_groups) - sum(on_gpu)
    steady = {
        TermKey.HOST_MASTER: states.optimized * offloaded,
        TermKey.HOST_OPTIMIZER: state_bytes(optimizer, offloaded, states.optimized),
        TermKey.HOST_GRADS: states.optimized * offloaded + states.grad * trainable,
        TermKey.HOST_PARAMS: states.param * params if job.offload is Offload.ALL else 0,
    }
    pinned: tuple[int, ...] = ()
    if job.deepspeed.pin_memory:
        pinned = (states.grad * trainable, *(states.optimized * size for size in sub_groups))
        if job.offload is Offload.ALL:
            pinned += (states.param * params,)
    terms = {key: size for key, size in steady.items() if size}
    # fp16 looks for overflow in the whole gradient buffer: a byte per element (``has_overflow``).
    overflow = trainable if job.precision is Precision.FP16 else 0
    return HostTerms(terms, sum(terms.values()) + overflow + secondary_bytes, pinned)


def _nvme(
    sub_groups: tuple[int, ...], params: int, trainable: int, job: Job, states: StateBytes, optimizer: OptimizerSpec
) -> HostTerms:
    options = job.deepspeed
    swap = options.nvme_buffer_count * states.optimized * max(sub_groups)
    on_disk = 2 * states.optimized * trainable + state_bytes(optimizer, trainable, states.optimized)
    in_ram = buffers = 0
    if job.offload is Offload.ALL:
        kept = min(params, options.nvme_max_in_cpu)
        in_ram = states.param * kept
        buffers = states.param * options.nvme_param_buffer_count * options.nvme_param_buffer_size
        on_disk += states.param * (params - kept)
    steady = {
        TermKey.HOST_GRADS: states.grad * trainable,
        TermKey.HOST_PARAMS: in_ram,
        TermKey.HOST_STAGING: swap + buffers,
    }
    terms = {key: size for key, size in steady.items() if size}
    pinned = tuple(size for size in (states.grad * trainable, in_ram, swap, buffers) if size)
    return HostTerms(terms, sum(terms.values()), pinned, on_disk)
