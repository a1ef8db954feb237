"""What an engine tells the estimate: everything that does not depend on the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zplan.memory.activations.base import ComputeMode
from zplan.memory.moments import Moment
from zplan.memory.timeline import Pass
from zplan.spec import Precision


@dataclass(frozen=True, slots=True)
class StateBytes:
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


def torch_bytes(precision: Precision, compute: ComputeMode) -> StateBytes:
    """Torch's own engines optimize the parameters themselves: fp32, or 16-bit for ``bf16-pure``."""
    if precision is Precision.BF16_PURE:
        return StateBytes(2, 2, 0, 2, ComputeMode.CAST)
    return StateBytes(4, 4, 0, 4, ComputeMode.FP32 if precision is Precision.FP32 else compute)


@dataclass(frozen=True, slots=True, eq=False)
class HostTerms:
    """Host tensors of one rank; compared by identity, as a cheap cache key."""

    steady: Mapping[str, int] = field(default_factory=dict)
    """Term key -> bytes between steps."""
    peak_bytes: int = 0
    """Largest sum of host tensors at any time of the step."""
    pinned_tensors: tuple[int, ...] = ()
    """Size of each pinned allocation, for the allocator's rounding."""
    nvme_bytes: int = 0
    """On disk, per rank."""


@dataclass(frozen=True, slots=True, eq=False)
class EngineMemory:
    """An engine's side of a plan; independent of micro-batch and sequence, so it is cached across a sweep."""

    steady: Mapping[str, int]
    passes: tuple[Pass, ...]
    """One, or the first and the last micro-step where they differ."""
    step: tuple[Moment, ...]
    init: tuple[Moment, ...]
    host: HostTerms
    states: StateBytes
    grad_bytes: int
    """Element size of a weight gradient at the instant when autograd hands it over."""
    init_bytes: int = field(init=False)
    """Largest of ``init``."""
    largest_step: Moment = field(init=False)
    """Of ``step``."""

    def __post_init__(self) -> None:
        """Looks up once what every batch shape needs."""
        object.__setattr__(self, "init_bytes", max((moment.total_bytes for moment in self.init), default=0))
        object.__setattr__(self, "largest_step", max(self.step, key=lambda moment: moment.total_bytes))
