"""From what the processes wrote to a :class:`Measurement`, and to a line of the accuracy benchmark."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from zplan.verify.measurement import PHASES, Measurement

_KEYS = (*PHASES, "steady", "peak")
_SPREAD = {**{phase: phase for phase in PHASES}, "steady": "steady", "peak": "allocated_peak"}


def measurement_of(
    results: Sequence[Mapping[str, Any]], *, launch: str, case: Mapping[str, Any], seconds: float
) -> Measurement:
    """Join the results of all measured ranks.

    Args:
        results: One object per rank, as a dry run or a probe returns it; ``rank`` where there are several.
        launch: ``dryrun``, ``single`` or ``torchrun``.
        case: What ran.
        seconds: How long the launch took.

    Returns:
        Maxima phase by phase, each with the terms of the rank that reached it; its rank is that of the largest peak.
    """
    worst = max(results, key=lambda result: result["peak"])
    holders = {phase: max(results, key=lambda result, phase=phase: result[phase]) for phase in PHASES}  # type: ignore[misc]

    def most(key: str) -> int | None:
        values = [result[key] for result in results if result.get(key) is not None]
        return max(values) if values else None

    limits = dict.fromkeys(limit for result in results for limit in result.get("limits", ()))
    spread = {name: (min(r[key] for r in results), max(r[key] for r in results)) for key, name in _SPREAD.items()}
    return Measurement(
        launch=launch,
        rank=int(worst.get("rank", case.get("rank", 0))),
        world_size=int(case.get("world", 1)),
        ranks_measured=len(results),
        phases={phase: int(holders[phase][phase]) for phase in PHASES},
        steady_bytes=most("steady") or 0,
        allocated_peak_bytes=int(worst["peak"]),
        reserved_peak_bytes=most("reserved"),
        device_peak_bytes=most("device"),
        host_per_rank_bytes=most("host"),
        host_peak_per_rank_bytes=most("host_peak"),
        pinned_per_rank_bytes=most("pinned"),
        terms={phase: dict(holders[phase].get("terms", {}).get(phase, {})) for phase in PHASES},
        environment=dict(worst.get("versions", {})),
        seconds=round(seconds, 2),
        limits=tuple(limits),
        params=int(worst.get("params", 0)),
        spread=spread if len(results) > 1 else {},
        beyond={key: most_of(results, key) for key in worst.get("beyond", {})},
        case=dict(case),
    )


def most_of(results: Sequence[Mapping[str, Any]], key: str) -> int:
    """The largest value of one of the figures beyond allocated bytes."""
    return max(int(result.get("beyond", {}).get(key, 0)) for result in results)


def case_line(measured: Measurement) -> dict[str, Any]:
    """The object of ``--case-line``: what ran, and its result in a dry run's form.

    Args:
        measured: A measurement that keeps its case.

    Returns:
        ``{"case": ..., "result": ...}``.
    """
    result: dict[str, Any] = {
        "params": measured.params,
        **measured.phases,
        "steady": measured.steady_bytes,
        "peak": measured.allocated_peak_bytes,
        "host": measured.host_per_rank_bytes or 0,
        "host_peak": measured.host_peak_per_rank_bytes or 0,
        "pinned": measured.pinned_per_rank_bytes or 0,
        "launch": measured.launch,
        "terms": {phase: dict(terms) for phase, terms in measured.terms.items()},
        "versions": dict(measured.environment),
        "seconds": measured.seconds,
    }
    return {"case": dict(measured.case), "result": result}
