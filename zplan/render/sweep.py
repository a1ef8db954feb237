"""A grid of plans as a heat map in the terminal, as CSV and as JSON."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING, Any

from zplan.render.style import COLUMN_GAP, Style
from zplan.render.text import assumptions_text, plan_lines
from zplan.units import Unit, format_in

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from zplan.advice.sweep import Axis, Cell, Frontier, Sweep

SCHEMA_VERSION = 1
HEAT_STYLES = {"fits": "black on green", "tight": "black on yellow", "oom": "white on red", None: ""}
_MEASURES = ("verdict", "device_expected_bytes", "device_high_bytes", "allocated_peak_bytes", "host_per_node_bytes")


@dataclass(frozen=True, slots=True)
class HeatMap:
    """One two-dimensional map of a sweep; a sweep over three knobs has several, over one knob a single column."""

    title: str
    """What is the same on the whole map, empty where it is the only one."""
    row_axis: Axis
    column_axis: Axis | None
    cells: tuple[tuple[Cell, ...], ...]
    """By rows."""


def heat_maps(found: Sweep) -> Iterator[HeatMap]:
    """The sweep as maps: the last axis in columns, the one before it in rows, the first of three as maps."""
    axes = found.axes
    if len(axes) == 1:
        yield HeatMap("", axes[0], None, tuple((cell,) for cell in found.cells))
        return
    rows, columns = axes[-2], axes[-1]
    width, height = len(columns.labels), len(rows.labels)
    titles = [f"{axes[0].flag} {label}" for label in axes[0].labels] if len(axes) == 3 else [""]
    for number, title in enumerate(titles):
        start = number * width * height
        cells = tuple(tuple(found.cells[start + row * width :][:width]) for row in range(height))
        yield HeatMap(title, rows, columns, cells)


def cell_text(cell: Cell, unit: Unit) -> str:
    """The number of a cell, in the map's unit; empty where there is no plan."""
    return "" if cell.expected_bytes is None else format_in(cell.expected_bytes, unit)


def _mark(cell: Cell, style: Style) -> str:
    """A sign that reads without colour."""
    if cell.plan is None:
        return "-"
    return style.glyph(cell.verdict) if cell.verdict is not None else " "


def _draw_map(console: Console, heat: HeatMap, style: Style, unit: Unit) -> None:
    """One map, in as many blocks of columns as the width needs."""
    from rich.text import Text

    texts = [[cell_text(cell, unit) for cell in row] for row in heat.cells]
    heads = [unit.value] if heat.column_axis is None else list(heat.column_axis.labels)
    widths = [max(len(head), *(len(row[i]) + 2 for row in texts)) for i, head in enumerate(heads)]
    label_width = max(len(heat.row_axis.flag), *(len(label) for label in heat.row_axis.labels))
    start = 0
    while start < len(heads):
        stop, used = start, label_width
        while stop < len(heads) and (stop == start or used + COLUMN_GAP + widths[stop] <= console.width):
            used += COLUMN_GAP + widths[stop]
            stop += 1
        shown = range(start, stop)
        console.print()
        if heat.title:
            console.print(Text(heat.title, style="bold"))
        if heat.column_axis is not None:
            console.print(Text(f"{'':{label_width}}  {heat.column_axis.flag}", style="dim"))
        head = "".join(f"{'':{COLUMN_GAP}}{heads[i]:>{widths[i]}}" for i in shown)
        console.print(Text(f"{heat.row_axis.flag:{label_width}}{head}", style="bold"))
        for label, cells, words in zip(heat.row_axis.labels, heat.cells, texts, strict=True):
            line = Text(f"{label:>{label_width}}")
            for i in shown:
                gap = COLUMN_GAP - 1
                line.append(" " * gap)
                line.append(
                    f" {words[i]:>{widths[i] - 2}} {_mark(cells[i], style)}", style=HEAT_STYLES[cells[i].verdict]
                )
            console.print(line)
        start = stop


def frontier_lines(found: Sweep, edge_of: Frontier) -> list[str]:
    """The edge of what fits, one sentence per place on the other axes."""
    along = found.axes[edge_of.axis]
    others = [axis for index, axis in enumerate(found.axes) if index != edge_of.axis]
    lines = []
    for edge in edge_of.edges:
        place = ", ".join(f"{axis.flag} {axis.labels[i]}" for axis, i in zip(others, edge.at, strict=True))
        fits = "none" if edge.fits is None else along.labels[edge.fits]
        tight = "" if edge.tight is None else f" ({along.labels[edge.tight]} is tight)"
        lines.append(f"{place}: {fits}{tight}" if place else f"{fits}{tight}")
    return lines


def frontier_title(found: Sweep, edge_of: Frontier) -> str:
    """What the frontier's lines tell."""
    return f"{edge_of.direction.capitalize()} {found.axes[edge_of.axis].flag} that fits"


def render_sweep(
    console: Console,
    found: Sweep,
    edge_of: Frontier | None,
    assumptions: Sequence[str],
    *,
    unit: Unit = Unit.GIB,
) -> None:
    """Draw a sweep.

    Args:
        console: Where to draw.
        found: The priced grid.
        edge_of: Its frontier, if it has one.
        assumptions: What was assumed for every cell.
        unit: Unit of all sizes.
    """
    from rich.text import Text

    style = Style.of(console)
    plan = found.first_plan
    console.print(Text(f"{unit.value} per GPU as the driver would show it (expected)", style="bold"))
    swept = {axis.name for axis in found.axes}
    if not swept & {"params", "model", "gpus", "nodes", "gpu", "gpu_mem", "node"}:
        console.print(Text(plan_lines(plan, style, unit)[0], style="dim"))
    if all(cell.verdict is None for cell in found.cells):
        console.print(Text("No verdicts: how much memory a card has was not given (--gpu-mem 80 or --gpu a100-80g)."))
    for heat in heat_maps(found):
        _draw_map(console, heat, style, unit)
    console.print()
    console.print(_legend(found, style))
    for reason in dict.fromkeys(cell.because for cell in found.cells if cell.plan is None and cell.because):
        console.print(Text(f"- {reason}", style="dim"))
    if edge_of is not None:
        console.print()
        lines = frontier_lines(found, edge_of)
        title = frontier_title(found, edge_of)
        if len(lines) == 1:
            console.print(Text.assemble((f"{title}: ", "bold"), lines[0]))
        else:
            console.print(Text(title, style="bold"))
            for line in lines:
                console.print(Text(f"  {line}"))
    console.print()
    console.print(assumptions_text(assumptions))


def _legend(found: Sweep, style: Style) -> Text:
    """The marks that this sweep uses."""
    from rich.text import Text

    names = {"fits": "fits", "tight": "tight", "oom": "out of memory"}
    used = {cell.verdict for cell in found.cells}
    parts = [(f" {style.glyph(v)} {words} ", HEAT_STYLES[v]) for v, words in names.items() if v in used]
    if any(cell.plan is None for cell in found.cells):
        parts.append((" - cannot be run ", ""))
    return Text.assemble(*(piece for part in parts for piece in (part, " ")))


def _measures(cell: Cell) -> tuple[str | int | None, ...]:
    return (
        cell.verdict,
        cell.expected_bytes,
        cell.high_bytes,
        cell.allocated_peak_bytes,
        cell.host_per_node_bytes,
        cell.peak_phase,
        cell.because,
    )


def sweep_csv(found: Sweep) -> str:
    """One line per cell: the axes as numbers, then verdict, sizes in bytes, peak phase and reason."""
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*(axis.name for axis in found.axes), *_MEASURES, "peak_phase", "because"])
    for at, cell in zip(found.places(), found.cells, strict=True):
        place = [axis.values[index] for axis, index in zip(found.axes, at, strict=True)]
        writer.writerow([*place, *("" if value is None else value for value in _measures(cell))])
    return out.getvalue()


def sweep_object(
    found: Sweep, edge_of: Frontier | None, assumptions: Sequence[str], model: Any, cluster: Any
) -> dict[str, Any]:
    """The whole answer of ``zplan sweep --json``.

    Args:
        found: The priced grid.
        edge_of: Its frontier, if it has one.
        assumptions: What was assumed for every cell.
        model: The ``model`` key, None where models are swept over.
        cluster: The ``cluster`` key, None where hardware is swept over.

    Returns:
        Sizes are integers in bytes; ``at`` holds the values of the axes.
    """
    axes = found.axes
    names = (*_MEASURES, "peak_phase", "because")

    def values(at: Sequence[int], skip: int | None = None) -> dict[str, str | int | bool]:
        kept = [axis for index, axis in enumerate(axes) if index != skip]
        return {axis.name: axis.values[index] for axis, index in zip(kept, at, strict=True)}

    edges = None
    if edge_of is not None:
        along = axes[edge_of.axis]
        edges = {
            "along": along.name,
            "direction": edge_of.direction,
            "edges": [
                {
                    "at": values(edge.at, edge_of.axis),
                    "fits": None if edge.fits is None else along.values[edge.fits],
                    "tight": None if edge.tight is None else along.values[edge.tight],
                }
                for edge in edge_of.edges
            ],
        }
    return {
        "schema_version": SCHEMA_VERSION,
        "model": model,
        "cluster": cluster,
        "assumptions": list(assumptions),
        "axes": [{"name": axis.name, "labels": list(axis.labels), "values": list(axis.values)} for axis in axes],
        "frontier": edges,
        "cells": [
            {"at": values(at), **dict(zip(names, _measures(cell), strict=True))}
            for at, cell in zip(found.places(), found.cells, strict=True)
        ],
    }
