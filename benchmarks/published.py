"""Holds predicted memory against published runs: ``python benchmarks/published.py [--data FILE] [--json] [--all]``.

Core rows that split no model count. Like is compared with like: what torch had allocated (or active) with the allocated
peak, what it had reserved with the reserved one, what nvidia-smi showed (or a counter that is not named) with the device
total. Errors are |predicted / measured - 1|; ``inside_bounds`` is the share of rows whose measured value lies between the low
and the high bound. A row that ran out of memory must not be called ``fits``, one that ran must not be called ``oom``.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import median
from typing import Any

from rows import DEFAULT_CHECKPOINTING, UNSAID_ADAMW, UNSAID_CHECKPOINTING, RowPlan, Skipped, load_rows, row_plan
from rowwords import UNREADABLE, section, wrong_kind

from zplan.errors import ZplanError
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.memory.runtime import WORKSPACE, kernel_scratch_bytes
from zplan.spec import Attention, Checkpointing, Engine, Plan
from zplan.units import GIB

KINDS = ("allocated", "active", "reserved", "nvidia_smi", "unknown")
SPLITS = ("tp", "pp", "cp", "ep", "sp")
CLOSE = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row, predicted."""

    id: str
    source: str
    engine: str
    category: str
    kind: str | None
    """Which counter measured it; None where nothing but the outcome is known."""
    measured: float
    """Bytes; 0 where nothing was measured."""
    span: tuple[float, float]
    """What the figure can mean where its unit is not certain."""
    low: int
    expected: int
    high: int
    ran_out: bool
    verdict: str | None
    notes: tuple[str, ...]
    peak: str
    """Phase and instant of the predicted peak."""

    @property
    def error(self) -> float:
        """Signed relative error."""
        return self.expected / self.measured - 1

    @property
    def inside(self) -> bool:
        """Whether what was measured, as far as it is certain, meets the bounds."""
        return self.low <= self.span[1] and self.span[0] <= self.high


def is_counted(row: Mapping[str, Any]) -> bool:
    """Core rows without tensor, pipeline or context parallelism."""
    parallel = section(row, "parallel")
    return bool(row.get("core")) and not any(str(parallel.get(name) or 1) not in ("0", "1") for name in SPLITS)


def answer(row: Mapping[str, Any]) -> Answer | Skipped:
    """Predicts one row; a row that cannot be read is skipped, and says so."""
    try:
        return _answer(row)
    except UNREADABLE as error:
        return Skipped(id=str(row["id"]), why=wrong_kind(error))


def _answer(row: Mapping[str, Any]) -> Answer | Skipped:
    made = row_plan(row, memory=True)
    if isinstance(made, Skipped):
        return made
    try:
        made, found = _estimated(made)
        without = [estimate(plan) for plan in _alternatives(made)]
    except ZplanError as error:
        return Skipped(id=made.id, why=str(error))
    measured = section(row, "measured")
    kind = str(measured.get("kind_class")) if measured.get("kind_class") else None
    value = row.get("measured_gib_per_gpu")
    if not isinstance(value, int | float):
        kind, value = None, 0.0
    low, expected, high = _predicted(kind, found, without)
    span = row.get("measured_gib_range") or (value, value)
    return Answer(
        id=made.id,
        source=str(row.get("source_id")),
        engine=str(row.get("engine")),
        category=str(row.get("category")),
        kind=kind,
        measured=float(value) * GIB,
        span=(float(span[0]) * GIB, float(span[-1]) * GIB),
        low=low,
        expected=expected,
        high=high,
        ran_out=str(row.get("outcome")).lower() == "oom",
        verdict=_verdict([found, *without]),
        notes=made.notes,
        peak=f"{found.peak_moment.phase}: {found.peak_moment.name}",
    )


def _estimated(made: RowPlan) -> tuple[RowPlan, Estimate]:
    """The estimate; without attention's scores where there is no table with them, which is then a lower bound."""
    try:
        return made, estimate(made.plan)
    except ZplanError:
        if made.plan.job.attention is not Attention.EAGER:
            raise
    plan = replace(made.plan, job=replace(made.plan.job, attention=Attention.FLASH))
    return replace(made, plan=plan, notes=(*made.notes, "eager attention's scores not counted")), estimate(plan)


def _alternatives(made: RowPlan) -> list[Plan]:
    """Other plans that the row can mean, for its bounds.

    Compiled code may hold as much as eager code; AdamW whose form is not told may be torch's foreach form; whether FSDP
    reduces gradients in every micro-step (less memory) or in the last one (accelerate's default) is told by no row; and
    checkpointing that is not told may be on, and where a framework's default is told it may be off.
    """
    plan, job = made.plan, made.plan.job
    found = [replace(job, compile=False)] if job.compile else []
    if UNSAID_CHECKPOINTING in made.notes:
        found.append(replace(job, checkpointing=Checkpointing(kind="full")))
    if DEFAULT_CHECKPOINTING in made.notes:
        found.append(replace(job, checkpointing=Checkpointing()))
    if UNSAID_ADAMW in made.notes:
        found.append(replace(job, optimizer="adamw_torch"))
    if job.engine in (Engine.FSDP1, Engine.FSDP2) and job.grad_accum > 1 and job.lora is None:
        found.append(replace(job, grad_accum=1))
    return [replace(plan, job=other) for other in found]


def _verdict(every: Sequence[Estimate]) -> str | None:
    """``fits`` or ``oom`` only where all that the row can mean agree."""
    verdicts = {one.verdict for one in every}
    return verdicts.pop() if len(verdicts) == 1 else "tight"


def _predicted(kind: str | None, found: Estimate, others: Sequence[Estimate]) -> tuple[int, int, int]:
    """Low, expected and high of the counter that measured the row."""
    every = (found, *others)
    peaks = [max(one.allocated_peak_bytes, one.phases["init"]) for one in every]
    if kind in ("allocated", "active"):
        # Torch counts the workspaces that cuBLAS gets from its allocator.
        scratch, workspaces = max(kernel_scratch_bytes(one.plan) for one in every), int(WORKSPACE.expected)
        return min(peaks) + workspaces, peaks[0] + workspaces, max(peaks) + scratch
    if kind == "reserved":
        return (
            min(one.runtime.reserved_low_bytes for one in every),
            found.runtime.reserved_peak_bytes,
            max(one.runtime.reserved_high_bytes for one in every),
        )
    high = max(one.runtime.device_high_bytes for one in every)
    low = min(peaks) if kind == "unknown" else min(one.runtime.device_low_bytes for one in every)
    return low, found.runtime.device_expected_bytes, high


def percentile(values: Sequence[float], share: float) -> float | None:
    """Nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[max(0, -(-int(share * 100) * len(ordered) // 100) - 1)] if ordered else None


def figures(answers: Sequence[Answer]) -> dict[str, Any]:
    """Errors of some rows with a measured value."""
    errors = [abs(one.error) for one in answers]
    count = len(errors)
    return {
        "n": count,
        "median": median(errors) if errors else None,
        "p90": percentile(errors, 0.9),
        "within_10pct": sum(error <= CLOSE for error in errors) / count if count else None,
        "inside_bounds": sum(one.inside for one in answers) / count if count else None,
        "bias": median(one.error for one in answers) if answers else None,
    }


def _grouped(answers: Sequence[Answer], key: str) -> dict[str, dict[str, Any]]:
    groups: dict[str, list[Answer]] = defaultdict(list)
    for one in answers:
        groups[str(getattr(one, key))].append(one)
    return {name: figures(members) for name, members in sorted(groups.items())}


def run(path: Path | None = None) -> dict[str, Any]:
    """The whole answer."""
    rows = [row for row in load_rows(path) if is_counted(row)]
    results = [answer(row) for row in rows]
    answers = [one for one in results if isinstance(one, Answer)]
    measured = [one for one in answers if one.kind is not None and one.measured > 0]
    failed, ran = [one for one in answers if one.ran_out], [one for one in answers if not one.ran_out]
    wrong = {
        "oom_called_fits": [one.id for one in failed if one.verdict == "fits"],
        "fits_called_oom": [one.id for one in ran if one.verdict == "oom"],
    }
    worst = sorted(measured, key=lambda one: -abs(one.error))[:15]
    return {
        "core_rows": len(rows),
        "answered": len(answers),
        "kinds": {kind: figures([one for one in measured if one.kind == kind]) for kind in KINDS},
        "categories": _grouped(measured, "category"),
        "sources": _grouped(measured, "source"),
        "engines": _grouped(measured, "engine"),
        "oom_rows": len(failed),
        "oom_called_fits": len(wrong["oom_called_fits"]),
        "fits_rows": len(ran),
        "fits_called_oom": len(wrong["fits_called_oom"]),
        "wrong_verdicts": wrong,
        "unanswered": [{"id": one.id, "why": one.why} for one in results if isinstance(one, Skipped)],
        "worst": [{"id": one.id, "error": round(one.error, 4), "why": _why(one)} for one in worst],
    }


def _why(one: Answer) -> str:
    """What was compared, at which instant, and what was read into the row."""
    where = "inside" if one.inside else "outside"
    said = f"{one.kind}: predicted {one.expected / GIB:.1f}, measured {one.measured / GIB:.1f} GiB"
    bounds = f"{where} {one.low / GIB:.1f} to {one.high / GIB:.1f}"
    return "; ".join((said, bounds, one.peak, *one.notes))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="YAML with rows like benchmarks/data/measured.yaml")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--all", action="store_true", help="also every row")
    options = parser.parse_args()
    result = run(options.data)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    _print(result)
    if options.all:
        for row in load_rows(options.data):
            one = answer(row) if is_counted(row) else None
            if isinstance(one, Answer):
                print(_line(one))


def _print(result: Mapping[str, Any]) -> None:
    print(f"{result['answered']} of {result['core_rows']} core rows answered")
    for title in ("kinds", "categories", "sources", "engines"):
        print(f"{title:32s}   n  median    p90  within 10 %  inside    bias")
        for name, found in result[title].items():
            if found["n"]:
                cells = (found["median"], found["p90"], found["within_10pct"], found["inside_bounds"], found["bias"])
                print(f"  {name:30s} {found['n']:3d} " + "  ".join(f"{cell:7.1%}" for cell in cells))
    print(f"ran out of memory: {result['oom_rows']}, called fits {result['oom_called_fits']}")
    print(f"ran: {result['fits_rows']}, called oom {result['fits_called_oom']}")
    for name, rows in result["wrong_verdicts"].items():
        for row in rows:
            print(f"  {name}: {row}")
    for one in result["unanswered"]:
        print(f"  not answered {one['id']}: {one['why']}")
    for one in result["worst"]:
        print(f"  {one['error']:+7.1%} {one['id']}: {one['why']}")


def _line(one: Answer) -> str:
    outcome = "oom" if one.ran_out else "ran"
    error = f"{one.error:+7.1%}" if one.measured else "       "
    sizes = "  ".join(f"{size / GIB:6.2f}" for size in (one.measured, one.low, one.expected, one.high))
    mark = " " if not one.measured or one.inside else "!"
    return f"{mark} {error} {one.kind or '-':10s} {sizes}  {outcome} {one.verdict}  {one.id}  [{one.peak}]"


if __name__ == "__main__":
    main()
