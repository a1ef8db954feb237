"""How far the estimate is from the dry run: ``python benchmarks/accuracy.py [--cases FILE] [--json]``.

Without ``--cases`` a seeded grid of random plans is drawn and every plan is run by the real engine without data, which takes
a few seconds a plan; ``--save FILE`` keeps the cases with their results as JSON lines. With ``--cases FILE`` such a file is
scored. Errors are |predicted / measured - 1| as fractions; bias is the median of predicted / measured - 1.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases import case_to_plan, draw_cases, run_cases

from zplan.errors import ZplanError
from zplan.memory.estimate import estimate

PHASES = ("init", "forward", "backward", "step", "steady")
STANDARD_GRID = Path(__file__).resolve().parent / "data" / "grid.jsonl"


def predict(case: Mapping[str, Any]) -> dict[str, int]:
    """The estimate's answer in the shape of a dry run's result."""
    answer = estimate(case_to_plan(case))
    return {
        **answer.phases,
        "steady": answer.steady_bytes,
        "peak": answer.allocated_peak_bytes,
        "host": answer.host.per_rank_bytes,
        "host_peak": answer.host.peak_per_rank_bytes,
    }


def percentile(values: list[float], share: float) -> float:
    """The smallest value that at least ``share`` of the values don't exceed (nearest rank)."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 1000) * len(ordered) // 1000) - 1))]


def summary(errors: list[float]) -> dict[str, float | int | None]:
    """Median, 95th percentile and maximum of |error|, and the bias."""
    if not errors:
        return {"n": 0, "median": None, "p95": None, "max": None, "bias": None}
    sizes = [abs(error) for error in errors]
    return {
        "n": len(errors),
        "median": statistics.median(sizes),
        "p95": percentile(sizes, 0.95),
        "max": max(sizes),
        "bias": statistics.median(errors),
    }


def score(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Compares every row; rows that cannot be answered say why."""
    errors: dict[str, list[float]] = {key: [] for key in (*PHASES, "peak", "host", "host_peak")}
    unanswered, worst, count = [], [], 0
    for row in rows:
        count += 1
        case, result = row["case"], row["result"]
        if "error" in result:
            unanswered.append({"case": case, "why": f"no measurement: {result['error']}"})
            continue
        try:
            predicted = predict(case)
        except (ZplanError, KeyError, TypeError, ValueError) as problem:
            unanswered.append({"case": case, "why": str(problem) or type(problem).__name__})
            continue
        for key, values in errors.items():
            if result.get(key) and (not key.startswith("host") or case.get("offload", "none") != "none"):
                values.append(predicted[key] / result[key] - 1)
        worst.append((abs(predicted["peak"] / result["peak"] - 1), case, predicted, result))
    worst.sort(key=lambda entry: -entry[0])
    return {
        "cases": count,
        "answered": len(worst),
        "peak": summary(errors["peak"]),
        "phases": {key: summary(errors[key]) for key in PHASES},
        "host": summary(errors["host"]),
        "host_peak": summary(errors["host_peak"]),
        "unanswered": unanswered,
        "worst": [{"error": error, "case": case, "predicted": p, "measured": m} for error, case, p, m in worst[:10]],
    }


def show(report: Mapping[str, Any]) -> None:
    """Prints the report as a table."""
    print(f"{report['answered']} of {report['cases']} cases answered")
    print(f"{'':10} {'n':>5} {'median':>9} {'p95':>9} {'max':>9} {'bias':>9}")
    rows = {"peak": report["peak"], **report["phases"], "host": report["host"], "host_peak": report["host_peak"]}
    for name, row in rows.items():
        cells = " ".join(
            f"{row[key]:9.4%}" if row[key] is not None else f"{'-':>9}" for key in ("median", "p95", "max", "bias")
        )
        print(f"{name:10} {row['n']:5d} {cells}")


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Cases with results, one JSON object a line."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, help="score this file instead of running a grid")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--save", type=Path, help="write the grid's cases and results here")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.cases:
        rows = read_rows(options.cases)
    else:
        rows = []
        drawn = list(draw_cases(options.seed, options.count))
        for number, row in enumerate(run_cases(drawn, options.jobs), 1):
            rows.append(row)
            if sys.stderr.isatty():
                print(f"\r{number} of {len(drawn)} plans run", end="", file=sys.stderr, flush=True)
        if options.save:
            options.save.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    report = score(rows)
    if options.json:
        print(json.dumps(report))
    else:
        show(report)


if __name__ == "__main__":
    main()
