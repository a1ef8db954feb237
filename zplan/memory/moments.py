"""What an engine answers with: moments, and what an estimate is made of.

A moment is an instant of a training step that can be a peak. It maps term keys to bytes; the peak of a phase is its
largest moment, never a sum of terms that do not live at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, overload

from zplan.spec import Plan

if TYPE_CHECKING:
    from zplan.memory.needs import PhaseNeed

PHASES = ("init", "forward", "backward", "step")
BEYOND = ("load", "eval", "save")
"""Phases beside the training step, which are counted when they are asked for."""


class TermKey:
    """Public names of terms (contract: more may come, none is renamed)."""

    PARAMS = "params"
    GRADS = "grads"
    MASTER = "master"
    OPTIMIZER = "optimizer"
    GRADS_FP32 = "grads_fp32"
    FLAT_BUFFER = "flat_buffer"
    REDUCE_BUCKET = "reduce_bucket"
    GATHERED_PARAMS = "gathered_params"
    PREFETCHED_PARAMS = "prefetched_params"
    PERSISTENT_PARAMS = "persistent_params"
    SECONDARY_PARAMS = "secondary_params"
    UNSHARDED_GRADS = "unsharded_grads"
    ACTIVATIONS = "activations"
    CHECKPOINTS = "checkpoints"
    ATTENTION_SCORES = "attention_scores"
    LOGITS = "logits"
    LOGITS_GRAD = "logits_grad"
    OPTIMIZER_TEMPORARIES = "optimizer_temporaries"
    ADAPTERS = "adapters"
    QUANTIZED_PARAMS = "quantized_params"
    INPUTS = "inputs"
    UNEXPLAINED = "unexplained"
    CUDA_CONTEXT = "cuda_context"
    NCCL = "nccl"
    FRAGMENTATION = "fragmentation"
    KERNEL_SCRATCH = "kernel_scratch"
    PAGED_OPTIMIZER = "paged_optimizer"
    HOST_MASTER = "host_master"
    HOST_OPTIMIZER = "host_optimizer"
    HOST_GRADS = "host_grads"
    HOST_PARAMS = "host_params"
    HOST_STAGING = "host_staging"
    HOST_STATE_DICT = "host_state_dict"
    HOST_LOGITS = "host_logits"
    PINNED_ROUNDING = "pinned_rounding"


class Moment:
    """One instant that can be a peak.

    Its total is known at once; its terms are put together when somebody looks at them, since a sweep looks at few.
    """

    __slots__ = ("_build", "_look", "_name", "_terms", "phase", "total_bytes")

    def __init__(self, phase: str, name: str, terms: Mapping[str, int]) -> None:
        """A moment whose terms are at hand; zero terms are dropped."""
        self.phase = phase
        """``init``, ``forward``, ``backward`` or ``step``."""
        self._name = name
        self._look: Callable[[], tuple[str, Mapping[str, int]]] | None = None
        self._terms: Mapping[str, int] | None = {key: size for key, size in terms.items() if size}
        self._build: Callable[[], Mapping[str, int]] | None = None
        self.total_bytes = sum(self._terms.values())
        """Sum of the terms."""

    @classmethod
    def deferred(cls, phase: str, name: str, total_bytes: int, build: Callable[[], Mapping[str, int]]) -> Moment:
        """A moment whose terms are built on demand; they must add up to ``total_bytes``."""
        moment = cls.__new__(cls)
        moment.phase, moment._name, moment.total_bytes = phase, name, total_bytes
        moment._terms, moment._build, moment._look = None, build, None
        return moment

    @classmethod
    def unseen(cls, phase: str, total_bytes: int, look: Callable[[], tuple[str, Mapping[str, int]]]) -> Moment:
        """A moment of which only the size is known: name and terms, which must add up to it, are found on demand."""
        moment = cls.__new__(cls)
        moment.phase, moment.total_bytes, moment._look, moment._terms = phase, total_bytes, look, None
        return moment

    def _seen(self) -> None:
        if self._look is not None:
            self._name, terms = self._look()
            self._terms, self._look = {key: size for key, size in terms.items() if size}, None

    @property
    def name(self) -> str:
        """What happens then, in a few words: ``loss``, ``block backward``, ``optimizer step``."""
        self._seen()
        return self._name

    @property
    def terms(self) -> Mapping[str, int]:
        """Term key -> bytes on the GPU, allocated."""
        self._seen()
        if self._terms is None:
            assert self._build is not None
            self._terms = {key: size for key, size in self._build().items() if size}
        return self._terms

    def __eq__(self, other: object) -> bool:
        """Equal when phase, name and terms are."""
        if not isinstance(other, Moment):
            return NotImplemented
        return (self.phase, self.name, self.terms) == (other.phase, other.name, other.terms)

    def __hash__(self) -> int:
        """By what is cheap."""
        return hash((self.phase, self.total_bytes))

    def __repr__(self) -> str:
        """For tests."""
        return f"Moment({self.phase!r}, {self.name!r}, {self.terms!r})"


class Moments(Sequence[Moment]):
    """Moments that are put together when somebody looks at them."""

    __slots__ = ("_build", "_made")

    def __init__(self, build: Callable[[], Sequence[Moment]]) -> None:
        """From what makes them."""
        self._build = build
        self._made: Sequence[Moment] | None = None

    def _all(self) -> Sequence[Moment]:
        if self._made is None:
            self._made = self._build()
        return self._made

    @overload
    def __getitem__(self, index: int) -> Moment: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Moment]: ...

    def __getitem__(self, index: int | slice) -> Moment | Sequence[Moment]:
        """One, or several."""
        return self._all()[index]

    def __len__(self) -> int:
        """How many."""
        return len(self._all())

    def __eq__(self, other: object) -> bool:
        """Equal when all moments are."""
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        """By the moments."""
        return hash(tuple(self._all()))

    def __repr__(self) -> str:
        """For tests."""
        return repr(tuple(self._all()))


@dataclass(frozen=True, slots=True)
class HostMemory:
    """Host RAM of one rank and one node."""

    per_rank_bytes: int
    """Raw sum of host tensors between steps."""
    peak_per_rank_bytes: int
    pinned_per_rank_bytes: int
    """What the pinned tensors occupy after the allocator's rounding."""
    per_node_bytes: int
    """All ranks of a node, with rounding."""
    terms: Mapping[str, int]
    """Term key -> bytes per rank between steps; sums to ``per_rank_bytes``."""
    verdict: str | None
    """``fits``, ``tight``, ``oom``, or None without a capacity."""
    nvme_per_node_bytes: int = 0
    nvme_short: bool = False
    """The node's NVMe space is known and too small."""
    beyond: tuple[str, int] | None = None
    """The phase beside the step in which a node holds more RAM than in any step, and how much; None without one."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """From allocated bytes to what the driver shows, for the peak of the step."""

    reserved_peak_bytes: int
    """What the caching allocator is expected to hold."""
    device_low_bytes: int
    device_expected_bytes: int
    device_high_bytes: int
    terms: Mapping[str, tuple[int, int, int]]
    """``cuda_context``, ``nccl``, ``kernel_scratch``, ``fragmentation`` -> (low, expected, high)."""

    @property
    def reserved_low_bytes(self) -> int:
        """What the caching allocator holds at least."""
        return self.device_low_bytes - self._outside(0)

    @property
    def reserved_high_bytes(self) -> int:
        """What the caching allocator may hold."""
        return self.device_high_bytes - self._outside(2)

    def _outside(self, which: int) -> int:
        """What the driver shows that is not torch's."""
        keys = (TermKey.CUDA_CONTEXT, TermKey.NCCL, TermKey.PAGED_OPTIMIZER)
        return sum(self.terms[key][which] for key in keys if key in self.terms)


@dataclass(frozen=True, slots=True)
class ModelStates:
    """The accounting of the ZeRO paper, bytes per GPU, whatever the engine adds."""

    params_bytes: int
    grads_bytes: int
    optimizer_bytes: int

    @property
    def total_bytes(self) -> int:
        """Sum of the three."""
        return self.params_bytes + self.grads_bytes + self.optimizer_bytes


def _no_reason() -> None:
    return None


@dataclass(frozen=True, slots=True)
class Estimate:
    """Predicted memory of one plan."""

    plan: Plan
    moments: Sequence[Moment]
    """At least one per phase; the peak of a phase is the largest."""
    steady: Mapping[str, int]
    """Term key -> bytes allocated between two steps, after gradients are cleared."""
    model_states: ModelStates
    host: HostMemory
    runtime: Runtime
    phases: Mapping[str, int]
    """Phase -> peak allocated bytes."""
    peak_moment: Moment
    """The largest moment of forward, backward and step."""
    worst_rank: int
    worst_rank_peak_bytes: int
    verdict: str | None
    why: Callable[[], str | None] = field(default=_no_reason, compare=False, repr=False)
    """Puts ``verdict_because`` into words; few of a sweep's are read."""
    beyond: tuple[PhaseNeed, ...] = ()
    """Phases beside the step, where they were asked for."""

    @property
    def verdict_because(self) -> str | None:
        """What is short, with the numbers that were compared; None for a plan that fits."""
        return self.why()

    @property
    def steady_bytes(self) -> int:
        """Allocated between two steps."""
        return sum(self.steady.values())

    @property
    def allocated_peak_bytes(self) -> int:
        """Largest of forward, backward and step."""
        return self.peak_moment.total_bytes
