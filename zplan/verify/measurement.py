"""What a launch measured, as a value; imports no torch."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from zplan.errors import ZplanError

PHASES = ("init", "forward", "backward", "step")


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """Memory of one rank, or the maximum over the measured ranks, phase by phase."""

    launch: str
    """``dryrun``, ``single`` or ``torchrun``."""
    rank: int
    """Whose memory this is; with several measured ranks, the one with the largest peak."""
    world_size: int
    ranks_measured: int = 1
    phases: Mapping[str, int]
    """Phase -> peak allocated bytes: ``init`` before the first step, the others from the second step on."""
    steady_bytes: int
    """Allocated between two steps, gradients cleared."""
    allocated_peak_bytes: int
    """Largest of forward, backward and step."""
    reserved_peak_bytes: int | None = None
    device_peak_bytes: int | None = None
    host_per_rank_bytes: int | None = None
    """Host tensors between two steps."""
    host_peak_per_rank_bytes: int | None = None
    pinned_per_rank_bytes: int | None = None
    """Raw bytes of the pinned host tensors, before the allocator's rounding."""
    terms: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    """Phase -> term key -> bytes live at that phase's peak; sums to the phase."""
    environment: Mapping[str, str] = field(default_factory=dict)
    """Versions of what ran."""
    seconds: float = 0.0
    limits: tuple[str, ...] = ()
    """What this launch cannot see or had to assume, one sentence each."""
    params: int = 0
    """Parameters of the model that ran, tied weights once."""
    spread: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Phase, ``steady`` or ``allocated_peak`` -> (least, most) over the measured ranks; empty when one was measured."""
    beyond: Mapping[str, int] = field(default_factory=dict)
    """On a GPU: bytes of ``cuda_context``, ``nccl`` and ``cublas_workspace``, and the count ``allocation_retries``."""
    case: Mapping[str, Any] = field(default_factory=dict)
    """What ran, as the dry run's case object; empty where it was not kept."""

    def to_json(self) -> str:
        """As one line of JSON.

        Returns:
            A JSON object whose keys are the field names.
        """
        return json.dumps(asdict(self), sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Measurement:
        """Read what :meth:`to_json` wrote; unknown keys are ignored, so that older versions read newer files.

        Args:
            text: A JSON object.

        Returns:
            The measurement.

        Raises:
            ZplanError: If the text is not JSON or lacks a required key.
        """
        try:
            raw = json.loads(text)
            known = {item.name for item in fields(cls)}
            values = {key: value for key, value in raw.items() if key in known}
            values["limits"] = tuple(values.get("limits", ()))
            return cls(**values)
        except (ValueError, TypeError, AttributeError) as error:
            raise ZplanError(
                f"not a saved measurement: {error}",
                "save one with: zplan verify --model llama-3.1-8b --gpus 8 --save measured.json",
            ) from error
