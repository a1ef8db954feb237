"""What phases beside the training step need."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class BeyondMoment(NamedTuple):
    """The largest instant of a phase beside the step, on the GPU or on the host."""

    phase: str
    name: str
    """What happens then, in a few words."""
    terms: Mapping[str, int]
    """Term key -> bytes of this rank."""
    why: Mapping[str, tuple[str, str]]
    """Term key -> formula and source; all of ``terms``."""
    node_bytes: int = 0
    """On the host: what all ranks of the node hold then, with pinned rounding; of the node that holds most."""

    @property
    def total_bytes(self) -> int:
        """Sum of the terms."""
        return sum(self.terms.values())


class PhaseNeed(NamedTuple):
    """What one phase beside the step needs."""

    phase: str
    gpu: BeyondMoment
    host: BeyondMoment
    notes: tuple[str, ...] = ()
    """What is assumed about it, in the user's words."""
