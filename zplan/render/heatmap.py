"""A sweep as a heat map: colour, pattern, mark and number in every cell."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from zplan.render.svg import (
    VERDICT_FILLS,
    VERDICT_MARKS,
    VERDICT_WORDS,
    element,
    picture,
    rect,
    text,
    text_width,
    verdict_class,
)
from zplan.render.sweep import cell_text, frontier_lines, frontier_title, heat_maps
from zplan.units import Unit

if TYPE_CHECKING:
    from zplan.advice.sweep import Cell, Frontier, Sweep
    from zplan.render.sweep import HeatMap


def sweep_svg(found: Sweep, edge_of: Frontier | None, *, unit: Unit, prefix: str = "sweep") -> str:
    """A sweep as a heat map, one block per value of the first of three axes.

    Args:
        found: The priced grid.
        edge_of: Its frontier, described to screen readers.
        unit: Unit of the numbers.
        prefix: Start of the ids.

    Returns:
        The picture, as wide as its columns need.
    """
    maps = list(heat_maps(found))
    texts = [cell_text(cell, unit) for cell in found.cells]
    columns = maps[0].column_axis
    heads = columns.labels if columns is not None else (unit.value,)
    row_axis = maps[0].row_axis
    wide = max(54.0, 24 + text_width(max((*texts, *heads), key=len), 12))
    left = max(text_width(max((row_axis.flag, *row_axis.labels), key=len), 12) + 16, 60.0)
    width = max(left + wide * len(heads) + 8, 420.0)
    parts, y = [_heat_patterns(prefix)], 18.0
    parts.append(text(0, y, f"{unit.value} per GPU, expected", font_weight="bold"))
    y += 12
    for heat in maps:
        drawn, y = _block(prefix, heat, left, y, wide, unit)
        parts += drawn
    parts += _key(y + 20)
    description = f"Expected memory per GPU over {' and '.join(axis.flag for axis in found.axes)}."
    if edge_of is not None:
        lines = frontier_lines(found, edge_of)[:40]
        description += f" {frontier_title(found, edge_of)}: {'; '.join(lines)}."
    return picture(prefix, width, y + 34, title="What fits", description=description, content=parts, kind="natural")


def _block(prefix: str, heat: HeatMap, left: float, y: float, wide: float, unit: Unit) -> tuple[list[str], float]:
    """One map, and the y below it."""
    parts = []
    if heat.title:
        y += 20
        parts.append(text(0, y, heat.title, font_weight="bold"))
    heads = (unit.value,) if heat.column_axis is None else heat.column_axis.labels
    if heat.column_axis is not None:
        y += 18
        parts.append(text(left, y, heat.column_axis.flag, font_size=11))
    y += 18
    parts.append(text(left - 8, y, heat.row_axis.flag, text_anchor="end", font_size=11))
    for column, head in enumerate(heads):
        parts.append(text(left + wide * (column + 0.5), y, head, text_anchor="middle", font_weight="bold"))
    y += 6
    for label, cells in zip(heat.row_axis.labels, heat.cells, strict=True):
        parts.append(text(left - 8, y + 17, label, text_anchor="end", font_weight="bold"))
        parts += [_heat_cell(prefix, cell, left + wide * i, y, wide, unit) for i, cell in enumerate(cells)]
        y += 26
    return parts, y


def _key(y: float) -> list[str]:
    """What the colours and marks mean."""
    parts = []
    for verdict, x in (("fits", 0.0), ("tight", 90.0), ("oom", 180.0)):
        parts.append(rect(x, y - 11, 14, 14, fill=VERDICT_FILLS[verdict], class_=verdict_class(verdict)))
        parts.append(text(x + 19, y, f"{VERDICT_MARKS[verdict]} {VERDICT_WORDS[verdict]}", font_size=11))
    return [*parts, text(310, y, "\u2013 cannot be run", font_size=11)]


def _heat_patterns(prefix: str) -> str:
    tiles = {"tight": "M3,3 h1", "oom": "M-1,1 l2,-2 M0,6 l6,-6 M5,7 l2,-2"}
    return element(
        "defs",
        [
            element(
                "pattern",
                element("path", d=path, stroke="#000000", stroke_opacity="0.16", stroke_width="1.2"),
                id=f"{prefix}-{verdict}",
                width=6,
                height=6,
                patternUnits="userSpaceOnUse",
            )
            for verdict, path in tiles.items()
        ],
    )


def _heat_cell(prefix: str, cell: Cell, x: float, y: float, wide: float, unit: Unit) -> str:
    box: dict[str, object] = {"x": x + 1, "y": y + 1, "width": wide - 2, "height": 24}
    if cell.plan is None:
        words = element("title", escape(cell.because or ""))
        return element("g", [words, text(x + wide / 2, y + 17, "\u2013", text_anchor="middle")])
    shapes = [element("rect", **box, fill=VERDICT_FILLS[cell.verdict], class_=verdict_class(cell.verdict))]
    if cell.verdict in ("tight", "oom"):
        shapes.append(element("rect", **box, fill=f"url(#{prefix}-{cell.verdict})"))
    mark = f" {VERDICT_MARKS[cell.verdict]}" if cell.verdict else ""
    return element("g", [*shapes, text(x + wide / 2, y + 17, cell_text(cell, unit) + mark, text_anchor="middle")])
