"""Stage 3's host memory: what offload keeps in RAM; for NVMe see ``zero3_nvme.py``.

Source: DeepSpeed 0.19 ``runtime/zero/stage3.py``.
"""

from __future__ import annotations

from zplan.memory.engines.base import HostTerms, StateBytes
from zplan.memory.formats import accumulated_bytes
from zplan.memory.moments import TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes
from zplan.spec import Job, Offload, Precision


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

    Formula: 18 bytes per offloaded element with the optimizer, 20 with parameters as well.

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
    offloaded, grad = sum(sub_groups) - sum(on_gpu), accumulated_bytes(job, states)
    steady = {
        TermKey.HOST_MASTER: states.optimized * offloaded,
        TermKey.HOST_OPTIMIZER: state_bytes(optimizer, offloaded, states.optimized),
        TermKey.HOST_GRADS: states.optimized * offloaded + grad * trainable,
        TermKey.HOST_PARAMS: states.param * params if job.offload is Offload.ALL else 0,
    }
    pinned: tuple[int, ...] = ()
    if job.deepspeed.pin_memory:
        pinned = (grad * trainable, *(states.optimized * size for size in sub_groups))
        if job.offload is Offload.ALL:
            pinned += (states.param * params,)
    terms = {key: size for key, size in steady.items() if size}
    # fp16 looks for overflow in the whole gradient buffer: a byte per element (``has_overflow``).
    overflow = trainable if job.precision is Precision.FP16 else 0
    return HostTerms(terms, sum(terms.values()) + overflow + secondary_bytes, pinned)
