"""Leave-one-source-out: how far off step times are on sources that had no part in choosing the constants.

The fitted constants of ``zplan/advice/rates.py`` are chosen again, on a coarse grid, for all sources but one, and the one that
was left out is predicted with them; every source is left out once. The product's own constants are not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from statistics import median
from typing import Any

from zplan.advice import rates, timing
from zplan.advice.timing import step_time
from zplan.spec import Plan

GRID: Mapping[str, tuple[float, ...]] = {
    "IN_TRAINING": (0.74, 0.80, 0.86, 0.92, 0.98),
    "TILE": (32.0, 64.0, 128.0, 256.0),
    "MEMORY_SHARE": (0.70, 0.85, 1.0),
    "OVERLAP": (0.5, 0.8, 1.0),
}
"""Scanned together."""
LAUNCHES: Mapping[str, tuple[float, ...]] = {
    "LAYER_LAUNCH": (0.25e-3, 0.5e-3, 1e-3),
    "FSDP1_UNIT": (1e-3, 2e-3, 4e-3),
    "STAGE3_HOOK": (0.18e-3, 0.36e-3, 0.72e-3),
}
"""Scanned one by one after the others."""
Settings = dict[str, float]


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

    def __init__(self, rows: Sequence[tuple[str, Plan, int, float]]) -> None:
        self.rows = rows
        self.known: dict[tuple[tuple[str, float], ...], list[float]] = {}

    def errors(self, settings: Settings) -> list[float]:
        """Absolute relative errors, in the order of the rows."""
        key = tuple(sorted(settings.items()))
        if key not in self.known:
            with constants(settings):
                self.known[key] = [_error(plan, replicas, rate) for _, plan, replicas, rate in self.rows]
        return self.known[key]

    def score(self, settings: Settings, without: str) -> float:
        """Median error over all sources but one."""
        errors = self.errors(settings)
        return median(error for error, row in zip(errors, self.rows, strict=True) if row[0] != without)


def _error(plan: Plan, replicas: int, rate: float) -> float:
    time = step_time(plan, replicas=replicas)
    assert time is not None
    return abs(time.tokens_per_second_per_gpu / rate - 1)


def _fitted(table: _Table, without: str) -> Settings:
    """The constants that bring down the median error of all sources but one."""
    names = tuple(GRID)
    candidates = [dict(zip(names, values, strict=True)) for values in product(*GRID.values())]
    best = min(candidates, key=lambda one: table.score(one, without))
    for name, values in LAUNCHES.items():
        best = min(({**best, name: value} for value in values), key=lambda one: table.score(one, without))
    return best


def leave_one_source_out(rows: Sequence[tuple[str, Plan, int, float]]) -> dict[str, Any]:
    """Errors on each source with constants that never saw it.

    Args:
        rows: Source, plan, copies of its cluster and measured tokens per second per GPU.

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
