"""What a launch measured, as a value; imports no torch."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

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
            limits = values.get("limits", [])
            values["limits"] = tuple(limits) if isinstance(limits, list) else limits
            return cls(**values)
        except (ValueError, TypeError, AttributeError) as error:
            raise ZplanError(
                f"not a saved measurement: {error}",
                "save one with: zplan verify --model llama-3.1-8b --gpus 8 --save measured.json",
            ) from error


LAUNCHES = ("dryrun", "single", "torchrun")


def misshapen(measured: Measurement) -> str | None:
    """The first field of a measurement from a file that no launch has written like that.

    Args:
        measured: What :meth:`Measurement.from_json` made of the file.

    Returns:
        The field's name, or None when all are as they should be.
    """
    hints = get_type_hints(Measurement)
    for item in fields(Measurement):
        if not _is(getattr(measured, item.name), hints[item.name]):
            return item.name
    if measured.launch not in LAUNCHES:
        return "launch"
    if not set(PHASES) <= set(measured.phases):
        return "phases"
    return "spread" if any(len(bounds) != 2 for bounds in measured.spread.values()) else None


def _is(value: Any, hint: Any) -> bool:
    """Whether a value from JSON is of a field's type."""
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return not isinstance(value, float) or math.isfinite(value)
    if origin in (Union, UnionType):
        return any(_is(value, one) for one in args)
    if origin is tuple:
        return isinstance(value, tuple) and all(_is(one, args[0]) for one in value)
    if origin is Mapping:
        return isinstance(value, dict) and all(_is(each, args[1]) for each in value.values())
    if origin is Sequence:
        return isinstance(value, list | tuple) and all(_is(one, args[0]) for one in value)
    if hint is int:
        return type(value) is int and abs(value) < 2**63
    if hint is float:
        return type(value) in (int, float) and math.isfinite(value)
    return type(value) is hint
