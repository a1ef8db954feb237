"""What the lists of a plan's tensors are made of."""

from __future__ import annotations

from dataclasses import dataclass

from zplan.memory.engines.base import StateBytes
from zplan.memory.optimizers import OptimizerSpec
from zplan.memory.params import Layout
from zplan.spec import Job, ModelSpec, Offload

INIT, FORWARD, BACKWARD, STEP = "init", "forward", "backward", "step"
GATHER = "DeepSpeed runtime/zero/partition_parameters.py"
FSDP2 = "torch distributed/fsdp/_fully_shard/_fsdp_collectives.py"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTensor:
    """One tensor that the run asks for in one piece."""

    term: str
    """Term key."""
    title: str
    phases: tuple[str, ...]
    elements: int
    element_bytes: int
    formula: str
    """In the symbols of docs/model.md."""
    source: str
    scales: str = ""
    """``P`` where the size follows the number of parameters, ``T`` where it follows tokens."""
    per_token: int = 0
    """Elements per token, where it follows tokens."""
    follows: int = 0
    """Elements that move it when P is another; 0: its own. What is left over for a last sub-group moves with all."""
    host: bool = False
    unlikely: str = ""
    """What must have been otherwise than planned for it to exist, as the end of "only if"."""

    @property
    def bytes(self) -> int:
        """Size of the tensor."""
        return self.elements * self.element_bytes

    @property
    def with_numbers(self) -> str:
        """The formula with the plan's numbers."""
        return f"{self.element_bytes} x {self.elements:,} = {self.bytes:,}"


@dataclass(frozen=True, slots=True)
class PlanFacts:
    """What all the lists below need."""

    model: ModelSpec
    job: Job
    ranks: int
    groups: Layout
    states: StateBytes
    optimizer: OptimizerSpec

    @property
    def offloaded(self) -> str:
        """What puts states on the GPU against the plan."""
        if self.job.offload is Offload.NONE:
            return ""
        return "the offload that the plan has was not in effect"

    @property
    def temporaries(self) -> str:
        """What makes a temporary of the step against the plan."""
        if self.optimizer.step_temporary_copies or self.optimizer.tensor_by_tensor:
            return ""
        return f"the run had another optimizer: {self.optimizer.name} as planned works in place"
