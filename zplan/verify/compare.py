"""Estimate x Measurement -> Comparison: predicted, measured and the difference, by phase and by term. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from zplan.memory.moments import PHASES, Estimate, Moment, TermKey
from zplan.verify.measurement import Measurement


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One figure, predicted and measured, in bytes; None where one side says nothing."""

    name: str
    predicted_bytes: int | None
    measured_bytes: int | None

    @property
    def difference_bytes(self) -> int | None:
        """Predicted minus measured."""
        if self.predicted_bytes is None or self.measured_bytes is None:
            return None
        return self.predicted_bytes - self.measured_bytes

    @property
    def error(self) -> float | None:
        """Formula: predicted / measured - 1; None where nothing was measured, or zero."""
        if self.predicted_bytes is None or not self.measured_bytes:
            return None
        return self.predicted_bytes / self.measured_bytes - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A prediction beside a measurement of the same plan."""

    estimate: Estimate | None
    """None where there is no formula for the plan."""
    measured: Measurement
    peak: Row
    """The allocated peak of the step."""
    peak_phase: str
    """The phase in which it was measured."""
    phases: tuple[Row, ...]
    """init, forward, backward, step, steady."""
    terms: Mapping[str, tuple[Row, ...]]
    """Phase -> one row per term at that phase's peak, largest first, then ``unexplained``."""
    host: tuple[Row, ...]
    """Between steps, peak and pinned, in bytes per rank; empty where nothing was measured or predicted."""
    device: tuple[Row, ...]
    """Reserved, device, CUDA context, NCCL and fragmentation; empty off GPUs."""

    @property
    def unexplained_bytes(self) -> int:
        """Bytes at the measured peak that no term explains."""
        row = next((row for row in self.terms[self.peak_phase] if row.name == TermKey.UNEXPLAINED), None)
        return (row.measured_bytes or 0) if row else 0

    def errors(self) -> dict[str, float | None]:
        """Figure -> predicted / measured - 1."""
        rows = {"allocated_peak": self.peak, **{row.name: row for row in (*self.phases, *self.host, *self.device)}}
        return {name: row.error for name, row in rows.items()}

    def within(self, tolerance: float) -> bool:
        """Whether the allocated peak is predicted to within a fraction; False where nothing was predicted."""
        return self.peak.error is not None and abs(self.peak.error) <= tolerance


def compare(estimate: Estimate | None, measured: Measurement) -> Comparison:
    """Put a measurement beside a prediction.

    Args:
        estimate: The prediction of the same plan, for the rank that was measured; None where there is none.
        measured: What a launch measured.

    Returns:
        The comparison.
    """
    peak_phase = max(PHASES[1:], key=lambda phase: measured.phases[phase])
    predicted = {} if estimate is None else {**estimate.phases, "steady": estimate.steady_bytes}
    figures = {**measured.phases, "steady": measured.steady_bytes}
    return Comparison(
        estimate=estimate,
        measured=measured,
        peak=Row(
            name="allocated_peak",
            predicted_bytes=None if estimate is None else estimate.allocated_peak_bytes,
            measured_bytes=measured.allocated_peak_bytes,
        ),
        peak_phase=peak_phase,
        phases=tuple(
            Row(name=name, predicted_bytes=predicted.get(name), measured_bytes=figures[name])
            for name in (*PHASES, "steady")
        ),
        terms={phase: _terms(estimate, measured, phase) for phase in PHASES},
        host=_host(estimate, measured),
        device=_device(estimate, measured),
    )


_JOINED = {TermKey.LOGITS_GRAD: TermKey.LOGITS}
"""Keys that are shown as one: while the loss runs backward, who holds what is kept of the logits is a matter of view."""


def _joined(terms: Mapping[str, int]) -> dict[str, int]:
    sums: dict[str, int] = {}
    for key, size in terms.items():
        name = _JOINED.get(key, key)
        sums[name] = sums.get(name, 0) + size
    return sums


def largest_moment(estimate: Estimate, phase: str) -> Moment | None:
    """The moment that is a phase's peak; None where the estimate has none in it."""
    moments = [moment for moment in estimate.moments if moment.phase == phase]
    return max(moments, key=lambda moment: moment.total_bytes) if moments else None


def _terms(estimate: Estimate | None, measured: Measurement, phase: str) -> tuple[Row, ...]:
    """Terms of both sides under one name each; what was measured and has no name is ``unexplained``."""
    moment = None if estimate is None else largest_moment(estimate, phase)
    predicted = _joined(moment.terms) if moment is not None else {}
    found = _joined(measured.terms.get(phase, {}))
    nameless = found.pop(TermKey.UNEXPLAINED, 0)
    nameless += measured.phases[phase] - nameless - sum(found.values())
    names = sorted(
        {*predicted, *found} - {TermKey.UNEXPLAINED}, key=lambda key: -max(predicted.get(key, 0), found.get(key, 0))
    )
    rows = [
        Row(
            name=name,
            predicted_bytes=None if estimate is None else predicted.get(name, 0),
            measured_bytes=found.get(name, 0) if found else None,
        )
        for name in names
        if predicted.get(name) or found.get(name)
    ]
    if nameless:
        rows.append(
            Row(name=TermKey.UNEXPLAINED, predicted_bytes=predicted.get(TermKey.UNEXPLAINED), measured_bytes=nameless)
        )
    return tuple(rows)


def _host(estimate: Estimate | None, measured: Measurement) -> tuple[Row, ...]:
    host = None if estimate is None else estimate.host
    rows = (
        ("host", None if host is None else host.per_rank_bytes, measured.host_per_rank_bytes),
        ("host_peak", None if host is None else host.peak_per_rank_bytes, measured.host_peak_per_rank_bytes),
    )
    offloads = measured.case.get("offload", "none") != "none"
    if not offloads and not any(predicted for _, predicted, _ in rows):
        # Without offload the host holds a few scalars, which nobody predicts.
        return ()
    return tuple(Row(name=name, predicted_bytes=ours, measured_bytes=theirs) for name, ours, theirs in rows)


def _device(estimate: Estimate | None, measured: Measurement) -> tuple[Row, ...]:
    if measured.reserved_peak_bytes is None:
        return ()
    runtime = None if estimate is None else estimate.runtime
    expected = {} if runtime is None else {key: bounds[1] for key, bounds in runtime.terms.items()}
    rows = [
        Row(
            name="reserved",
            predicted_bytes=None if runtime is None else runtime.reserved_peak_bytes,
            measured_bytes=measured.reserved_peak_bytes,
        )
    ]
    if measured.device_peak_bytes is not None:
        predicted = None if runtime is None else runtime.device_expected_bytes
        rows.append(Row(name="device", predicted_bytes=predicted, measured_bytes=measured.device_peak_bytes))
    rows += [
        Row(name=key, predicted_bytes=expected.get(key), measured_bytes=measured.beyond[key])
        for key in (TermKey.CUDA_CONTEXT, TermKey.NCCL)
        if key in measured.beyond
    ]
    gap = measured.reserved_peak_bytes - measured.allocated_peak_bytes
    rows.append(
        Row(name=TermKey.FRAGMENTATION, predicted_bytes=expected.get(TermKey.FRAGMENTATION), measured_bytes=gap)
    )
    return tuple(rows)
