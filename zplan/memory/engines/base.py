"""What an engine tells the estimate: everything that does not depend on the batch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from zplan.memory.formats import StateBytes, deepspeed_bytes, torch_bytes
from zplan.memory.moments import Moment
from zplan.memory.timeline import Pass

__all__ = ["EngineMemory", "HostTerms", "StateBytes", "deepspeed_bytes", "torch_bytes"]


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
