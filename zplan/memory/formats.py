"""Number formats: how many bytes each copy of a parameter takes that an engine keeps."""

from __future__ import annotations

from typing import NamedTuple

from zplan.memory.activations.base import ComputeMode
from zplan.spec import Job, Precision

FP32_BYTES = 4


class StateBytes(NamedTuple):
    """Bytes per parameter of each copy that an engine keeps."""

    param: int
    grad: int
    """As autograd produces and the engine accumulates it."""
    master: int
    """Separate optimized copy; 0 where the parameters themselves are optimized."""
    optimized: int
    """Element size of the tensors that the optimizer updates: the master copy, or the parameters."""
    compute: ComputeMode


def deepspeed_bytes(precision: Precision) -> StateBytes:
    """DeepSpeed keeps parameters and gradients in the model's dtype and an fp32 master partition beside 16-bit ones.

    Source: arXiv:1910.02054 section 3.1; ``runtime/zero/stage_1_and_2.py`` (``single_partition_of_fp32_groups``). With
    ``bf16-pure`` the master partition is bf16 (``bf16_master_weights_and_grads``, ``bf16_optimizer_states``).
    """
    if precision is Precision.FP32:
        return StateBytes(4, 4, 4, 4, ComputeMode.FP32)
    if precision is Precision.BF16_PURE:
        return StateBytes(2, 2, 2, 2, ComputeMode.CAST)
    return StateBytes(2, 2, 4, 4, ComputeMode.CAST)


def accumulated_bytes(job: Job, states: StateBytes) -> int:
    """Bytes per element of the gradients that DeepSpeed keeps for the step: fp32 where ``data_types.grad_accum_dtype`` says so.

    Source: DeepSpeed ``runtime/engine.py`` (``get_data_types``).
    """
    return FP32_BYTES if job.deepspeed.grad_accum_dtype == "fp32" else states.grad


def torch_bytes(precision: Precision, compute: ComputeMode) -> StateBytes:
    """Torch's own engines optimize the parameters themselves: fp32, or 16-bit for ``bf16-pure``."""
    if precision is Precision.BF16_PURE:
        return StateBytes(2, 2, 0, 2, ComputeMode.CAST)
    return StateBytes(4, 4, 0, 4, ComputeMode.FP32 if precision is Precision.FP32 else compute)
