"""Leave-one-source-out: how far off step times are on sources that had no part in choosing the constants.

The fitted constants of ``zplan/advice/rates.py`` are chosen again, on a coarse grid, for all sources but one, and the one that
was left out is predicted with them; every source is left out once. The product's own constants are not touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from statistics import median
from typing import Any, NamedTuple

from zplan.advice import rates, timing
from zplan.advice.timing import step_time
from zplan.advice.work import PLAIN, Kernels
from zplan.spec import Plan

GRID: Mapping[str, tuple[float, ...]] = {
    "IN_TRAINING": (0.80, 0.86, 0.92, 0.95, 0.98),
    "TILE": (32.0, 64.0, 128.0, 256.0),
    "MEMORY_SHARE": (0.70, 0.78, 0.86, 1.0),
    "OVERLAP": (0.5, 0.8, 1.0),
}
"""Scanned together."""
ALONE: Mapping[str, tuple[float, ...]] = {
    "IN_TRAINING_HOPPER": (0.68, 0.74, 0.80, 0.86, 0.92, 0.98),
    "LAYER_LAUNCH": (0.25e-3, 0.5e-3, 1e-3),
    "ADAPTER_LAUNCH": (0.1e-3, 0.2e-3, 0.4e-3),
    "FSDP1_UNIT": (1e-3, 2e-3, 4e-3),
    "STAGE3_HOOK": (0.18e-3, 0.36e-3, 0.72e-3),
    "STAGE3_GATHER": (0.0, 0.1e-3, 0.2e-3, 0.3e-3),
}
"""Scanned one by one after the others."""
CAP = 0.25
"""What a row can add at most: a row that is further off is off by something else, and no constant is bent to mend it."""
Settings = dict[str, float]


class Known(NamedTuple):
    """A published run."""

    source: str
    plan: Plan
    replicas: int
    rate: float
    """Tokens per second and GPU."""
    kernels: Kernels = PLAIN


@contextmanager
def constants(values: Mapping[str, float]) -> Iterator[None]:
    """Predicts with other constants for a while."""
    before = {name: getattr(rates, name) for name in values}
    try:
        for name, value in values.items():
            setattr(rates, name, value)
        timing.forget()
        yield
    finally:
        for name, value in before.items():
            setattr(rates, name, value)
        timing.forget()


class _Table:
    """Errors of every row under settings that were asked for, computed once."""

    def __init__(self, rows: Sequence[Known]) -> None:
        self.rows = rows
        self.weight = {source: count**-0.5 for source, count in Counter(row.source for row in rows).items()}
        self.known: dict[tuple[tuple[str, float], ...], list[float]] = {}

    def errors(self, settings: Settings) -> list[float]:
        """Absolute relative errors, in the order of the rows."""
        key = tuple(sorted(settings.items()))
        if key not in self.known:
            with constants(settings):
                self.known[key] = [_error(row) for row in self.rows]
        return self.known[key]

    def score(self, settings: Settings, without: str) -> float:
        """Mean error over all sources but one, of each row at most CAP; a source weighs as much as the root of its rows."""
        total = weights = 0.0
        for error, row in zip(self.errors(settings), self.rows, strict=True):
            if row.source != without:
                total += self.weight[row.source] * min(error, CAP)
                weights += self.weight[row.source]
        return total / weights


def _error(row: Known) -> float:
    time = step_time(row.plan, replicas=row.replicas, kernels=row.kernels)
    assert time is not None
    return abs(time.tokens_per_second_per_gpu / row.rate - 1)


def _fitted(table: _Table, without: str) -> Settings:
    """The constants that bring down the error of all sources but one."""
    names = tuple(GRID)
    candidates = [dict(zip(names, values, strict=True)) for values in product(*GRID.values())]
    best = min(candidates, key=lambda one: table.score(one, without))
    for name, values in ALONE.items():
        best = min(({**best, name: value} for value in values), key=lambda one: table.score(one, without))
    return best


def leave_one_source_out(rows: Sequence[Known]) -> dict[str, Any]:
    """Errors on each source with constants that never saw it.

    Args:
        rows: Published runs.

    Returns:
        ``n``, ``median`` and ``p90`` over all rows out of sample, and the same with the constants per source.
    """
    table = _Table(rows)
    sources: dict[str, Any] = {}
    every: list[float] = []
    for source in sorted({row[0] for row in rows}):
        settings = _fitted(table, source) if len({row[0] for row in rows}) > 1 else {}
        errors = [e for e, row in zip(table.errors(settings), rows, strict=True) if row[0] == source]
        every += errors
        sources[source] = {"n": len(errors), "median": median(errors), "constants": settings}
    ordered = sorted(every)
    p90 = ordered[-(-9 * len(ordered) // 10) - 1] if ordered else None
    return {"n": len(every), "median": median(every) if every else None, "p90": p90, "sources": sources}
