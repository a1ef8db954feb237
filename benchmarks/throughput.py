"""Holds predicted step times against published throughput: ``python benchmarks/throughput.py [--data FILE] [--json]``.

Errors are |predicted / measured - 1| on tokens per second per GPU. A pair is two answered rows of one ``sweep_group``;
it is right when the faster one (tokens per second per GPU) is predicted to be the faster one. Pairs measured within 1
% of each other have no order and do not count.
"""

from __future__ import annotations

import argparse
import json
import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from statistics import median
from typing import Any

from fit import Known, leave_one_source_out
from rows import Skipped, load_rows, row_plan
from rowwords import UNREADABLE, section, wrong_kind

from zplan.advice.timing import step_time
from zplan.advice.work import Kernels
from zplan.spec import Plan

SAME_SPEED = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One row, predicted."""

    id: str
    source: str
    publisher: str
    """Its repository: sources of one publisher have no say in each other's constants."""
    group: str | None
    measured: float
    predicted: float
    bound_by: str
    plan: Plan
    replicas: int
    kernels: Kernels

    @property
    def error(self) -> float:
        """Signed relative error."""
        return self.predicted / self.measured - 1


def measured_rate(row: Mapping[str, Any], plan: Plan) -> float | str:
    """Tokens per second per GPU that a row reports, or why it cannot be told."""
    value, unit = float(row["throughput"]["value"]), str(row["throughput"]["unit"])
    tokens = plan.job.micro_batch * plan.job.seq_len * plan.job.grad_accum
    samples = re.fullmatch(r"s per (\d+) samples", unit)
    if unit == "tokens/s/gpu":
        return value
    if unit == "samples/s" or samples:
        if "truncated" in str(row.get("note")):
            return "tokens per sample are not known: samples of all lengths, cut at the sequence length"
        per_second = int(samples[1]) / value if samples else value
        return per_second * plan.job.seq_len / int(row["n_gpus"])
    if re.match(r"s/(step|iteration)", unit):
        return tokens / value
    if re.match(r"ms/(step|iteration)", unit):
        return tokens / value * 1000
    return f"unit {unit} is not known"


def answer(row: Mapping[str, Any]) -> Answer | Skipped:
    """Predicts one row; a row that cannot be read is skipped, and says so."""
    try:
        return _answer(row)
    except UNREADABLE as error:
        return Skipped(id=str(row["id"]), why=wrong_kind(error))


def publisher_of(row: Mapping[str, Any]) -> str:
    """The repository that a row's figure comes from; its source's name where it is no repository."""
    repository = re.match(r"[\w.-]+/([\w.-]+)", str(row.get("source")))
    return str(row.get("source_id")) if repository is None else repository[1].lower()


def _answer(row: Mapping[str, Any]) -> Answer | Skipped:
    made = row_plan(row)
    if isinstance(made, Skipped):
        return made
    measured = measured_rate(row, made.plan)
    if isinstance(measured, str):
        return Skipped(id=made.id, why=measured)
    if not 0 < measured < math.inf:
        return Skipped(id=made.id, why="its throughput is no positive number")
    time = step_time(made.plan, replicas=made.replicas, kernels=made.kernels)
    if time is None:
        return Skipped(id=made.id, why="no card")
    if not 0 < time.tokens_per_second_per_gpu < math.inf:
        return Skipped(id=made.id, why="a field is out of range: no speed comes of it")
    share = time.hardware_flops_share * measured / time.tokens_per_second_per_gpu
    if share > 1:
        why = f"the row's own figure needs {share:.1f} times the card's peak FLOP/s"
        return Skipped(id=made.id, why=why)
    return Answer(
        id=made.id,
        source=str(row.get("source_id")),
        publisher=publisher_of(row),
        group=str(row["sweep_group"]) if row.get("sweep_group") else None,
        measured=measured,
        predicted=time.tokens_per_second_per_gpu,
        bound_by=time.bound_by,
        plan=made.plan,
        replicas=made.replicas,
        kernels=made.kernels,
    )


def count_pairs(answers: list[Answer]) -> tuple[int, int]:
    """Pairs within sweep groups, and how many come out in the measured order."""
    groups: dict[str, list[Answer]] = defaultdict(list)
    for one in answers:
        if one.group:
            groups[one.group].append(one)
    pairs = right = 0
    for members in groups.values():
        for a, b in combinations(members, 2):
            if abs(a.measured / b.measured - 1) <= SAME_SPEED:
                continue
            pairs += 1
            right += (a.measured > b.measured) == (a.predicted > b.predicted) and a.predicted != b.predicted
    return pairs, right


def percentile(values: list[float], share: float) -> float | None:
    """Nearest-rank percentile."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, max(0, -(-int(share * 100) * len(ordered) // 100) - 1))] if ordered else None


def timed_rows(*paths: Path) -> list[dict[str, Any]]:
    """Rows with a throughput."""
    rows = [row for path in paths or (None,) for row in load_rows(path)]
    return [row for row in rows if section(row, "throughput").get("value")]


def report(*paths: Path) -> dict[str, Any]:
    """The whole answer, over the rows of some files; over the project's own where none is named."""
    rows = timed_rows(*paths)
    results = [answer(row) for row in rows]
    answers = [one for one in results if isinstance(one, Answer)]
    errors = [abs(one.error) for one in answers]
    pairs, right = count_pairs(answers)
    core = {str(row["id"]) for row in rows if row.get("core")}
    sources: dict[str, list[Answer]] = defaultdict(list)
    for one in answers:
        sources[one.source].append(one)
    return {
        "rows": len(rows),
        "answered": len(answers),
        "median": median(errors) if errors else None,
        "p90": percentile(errors, 0.9),
        "pairs": pairs,
        "pairs_right": right,
        "leave_one_source_out": leave_one_source_out(
            [Known(one.publisher, one.plan, one.replicas, one.measured, one.kernels) for one in answers]
        ),
        "why_unanswered": dict(Counter(why_kind(one.why) for one in results if isinstance(one, Skipped)).most_common()),
        "core": _figures([one for one in answers if one.id in core]),
        "sources": {name: _figures(members) for name, members in sorted(sources.items())},
        "publishers": {name: members[0].publisher for name, members in sorted(sources.items())},
        "unanswered": [{"id": one.id, "why": one.why} for one in results if isinstance(one, Skipped)],
        "worst": [
            {"id": one.id, "error": round(one.error, 3), "bound_by": one.bound_by}
            for one in sorted(answers, key=lambda one: -abs(one.error))[:12]
        ],
    }


def why_kind(why: str) -> str:
    """A reason without the particulars of its row."""
    return re.sub(r"[\d.]+ times", "several times", re.sub(r"( \(.*\)|: .*)$", "", why))


def _figures(answers: list[Answer]) -> dict[str, Any]:
    errors = [one.error for one in answers]
    pairs, right = count_pairs(answers)
    return {
        "n": len(errors),
        "median": median(map(abs, errors)) if errors else None,
        "bias": median(errors) if errors else None,
        "pairs": pairs,
        "pairs_right": right,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--data", type=Path, nargs="+", default=[], help="YAML files with rows like benchmarks/data/measured.yaml"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--all", action="store_true", help="also every row")
    options = parser.parse_args()
    result = report(*options.data)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['answered']} of {result['rows']} rows answered: median error {_percent(result['median'])}, 90th")
    print(f"percentile {_percent(result['p90'])}; order right in {result['pairs_right']} of {result['pairs']} pairs")
    print(f"core rows: {result['core']['n']}, median {_percent(result['core']['median'])}")
    for name, figures in result["sources"].items():
        line = f"  {name:18s} n {figures['n']:3d}  median {_percent(figures['median']):>6s}  bias"
        print(f"{line} {_percent(figures['bias']):>7s}  pairs {figures['pairs_right']}/{figures['pairs']}")
    out = result["leave_one_source_out"]
    print(f"leave one publisher out: median {_percent(out['median'])}, 90th percentile {_percent(out['p90'])}")
    for name, figures in out["sources"].items():
        print(f"  {name:18s} n {figures['n']:3d}  median {_percent(figures['median']):>6s}  when left out")
    for why, count in result["why_unanswered"].items():
        print(f"  {count:3d} not answered: {why}")
    if options.all:
        for row in timed_rows(*options.data):
            one = answer(row)
            if isinstance(one, Answer):
                print(f"  {one.error:+7.1%}  {one.predicted:9.0f}  {one.measured:9.0f}  {one.bound_by:8s} {one.id}")
    for one in result["unanswered"] if options.all else []:
        print(f"  skipped {one['id']}: {one['why']}")


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


if __name__ == "__main__":
    main()
