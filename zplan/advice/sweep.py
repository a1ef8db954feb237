"""A grid of plans over one to three knobs: what each takes, and the edge of what fits.

A sweep is a value; how the grid's plans come about is the caller's business, how it looks the renderers'.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from zplan.errors import ZplanError
from zplan.memory.estimate import estimate
from zplan.memory.summary import overall_verdict
from zplan.spec import Plan

LARGEST, SMALLEST = "largest", "smallest"
DIRECTIONS = {
    **dict.fromkeys(("micro_batch", "seq_len", "params", "lora"), LARGEST),
    **dict.fromkeys(("gpus", "nodes", "stage", "gpu_mem", "host_mem", "nvme"), SMALLEST),
}
"""Knobs with a better end: as much load, or as little hardware and sharding, as fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Axis:
    """One knob and the values it takes."""

    name: str
    """As in ``PlanOptions`` and JSON: ``micro_batch``."""
    labels: tuple[str, ...]
    """As typed: ``2k``."""
    values: tuple[str | int | bool, ...]
    """The same, parsed: ``2048``."""

    @property
    def flag(self) -> str:
        """As on the command line, without the dashes in front."""
        return self.name.replace("_", "-")


@dataclass(frozen=True, slots=True)
class Cell:
    """One plan of the grid, priced; or why there is none."""

    plan: Plan | None
    verdict: str | None
    """``fits``, ``tight`` or ``oom``; None where there is no plan, or no capacity to hold it against."""
    because: str | None
    """The estimate's reason, or why the plan cannot be run."""
    expected_bytes: int | None = None
    """What the driver is expected to show per GPU."""
    high_bytes: int | None = None
    allocated_peak_bytes: int | None = None
    host_per_node_bytes: int | None = None
    peak_phase: str | None = None
    error: ZplanError | None = None
    """Why there is no plan, with its hint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edge:
    """The last value along an axis that fits, at one place on the other axes."""

    at: tuple[int, ...]
    """Indices on the other axes."""
    fits: int | None
    """Index of the best value that fits."""
    tight: int | None
    """Index of a better one that fits by its expected value alone."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Frontier:
    """The edge of what fits."""

    axis: int
    """Index of the axis it is found along."""
    direction: str
    """``largest`` or ``smallest``."""
    edges: tuple[Edge, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sweep:
    """A priced grid."""

    axes: tuple[Axis, ...]
    cells: tuple[Cell, ...]
    """The last axis runs fastest."""

    def index(self, at: Sequence[int]) -> int:
        """Position in ``cells`` of a place given by its index on each axis."""
        position = 0
        for axis, index in zip(self.axes, at, strict=True):
            position = position * len(axis.labels) + index
        return position

    def cell(self, at: Sequence[int]) -> Cell:
        """The cell at a place given by its index on each axis."""
        return self.cells[self.index(at)]

    def places(self) -> Iterator[tuple[int, ...]]:
        """Every place, in the order of ``cells``."""
        return product(*(range(len(axis.labels)) for axis in self.axes))

    @property
    def first_plan(self) -> Plan:
        """Any plan of the grid; there is at least one."""
        return next(cell.plan for cell in self.cells if cell.plan is not None)


def sweep(axes: Sequence[Axis], plans: Iterable[Plan | ZplanError], *, worst_rank: bool = False) -> Sweep:
    """Prices a grid.

    Args:
        axes: One to three.
        plans: One per place, the last axis fastest; an error where the options contradict each other.
        worst_rank: Show the allocated bytes of the rank that holds most. Verdicts and device totals always cover it.

    Returns:
        The priced grid.

    Raises:
        ZplanError: not one of the plans can be run or priced; the first reason whose way out leaves the axes alone.
    """
    cells = [_cell(plan, worst_rank) for plan in plans]
    if len(cells) != prod(len(axis.labels) for axis in axes):
        raise ValueError(f"{len(cells)} plans do not fill the grid")
    if all(cell.plan is None for cell in cells):
        raise _why_none(axes, [cell.error for cell in cells if cell.error is not None])
    return Sweep(axes=tuple(axes), cells=tuple(cells))


def _why_none(axes: Sequence[Axis], errors: Sequence[ZplanError]) -> ZplanError:
    """The first reason whose way out leaves the axes alone; else the first, with its way out in the axes' words."""
    flags = "|".join(axis.flag for axis in axes)
    for error in errors:
        if not re.search(rf"--({flags})\b(?!-)", error.hint):
            return error
    hint = re.sub(rf"--({flags}) (?!out\b)(?=[\w.])", r"--over \1=", errors[0].hint)
    hint = re.sub(rf"leave --({flags}) out", r"leave --over \1 out", hint)
    return ZplanError(errors[0].message, hint, errors[0].exit_code)


def _cell(plan: Plan | ZplanError, worst_rank: bool) -> Cell:
    try:
        if isinstance(plan, ZplanError):
            raise plan
        memory = estimate(plan)
    except ZplanError as error:
        return Cell(None, None, error.message, error=error)
    run = memory.runtime
    allocated = memory.allocated_peak_bytes
    return Cell(
        plan,
        overall_verdict(memory),
        memory.verdict_because,
        run.device_expected_bytes,
        run.device_high_bytes,
        max(allocated, memory.worst_rank_peak_bytes) if worst_rank else allocated,
        memory.host.per_node_bytes,
        memory.peak_moment.phase,
    )


def frontier(found: Sweep) -> Frontier | None:
    """The edge of what fits, along the last axis that has a better end.

    Args:
        found: A priced grid.

    Returns:
        For each place on the other axes the best value that fits; None where no axis has a better end, or no card's
        memory was given.
    """
    known = any(cell.verdict is not None for cell in found.cells)
    along = [index for index, axis in enumerate(found.axes) if axis.name in DIRECTIONS]
    if not along or not known:
        return None
    axis = along[-1]
    direction = DIRECTIONS[found.axes[axis].name]
    others = [range(len(each.labels)) for index, each in enumerate(found.axes) if index != axis]
    edges = tuple(edge for at in product(*others) if (edge := _edge(found, axis, at, direction)) is not None)
    return Frontier(axis=axis, direction=direction, edges=edges)


def _edge(found: Sweep, axis: int, at: tuple[int, ...], direction: str) -> Edge | None:
    """Walks from the better end to the first value that fits; None where nothing can be run."""
    order = _order(found.axes[axis])
    line = {index: found.cell((*at[:axis], index, *at[axis:])) for index in order}
    if all(cell.plan is None for cell in line.values()):
        return None
    tight = None
    for index in reversed(order) if direction == LARGEST else order:
        verdict = line[index].verdict
        if verdict == "fits":
            return Edge(at=at, fits=index, tight=tight)
        if verdict == "tight" and tight is None:
            tight = index
    return Edge(at=at, fits=None, tight=tight)


def _order(axis: Axis) -> list[int]:
    """Indices by value, smallest first; words (sizes, parameters) are taken as typed, smallest first."""
    numbers = [value for value in axis.values if isinstance(value, int)]
    if len(numbers) != len(axis.values):
        return list(range(len(axis.values)))
    return sorted(range(len(numbers)), key=numbers.__getitem__)
