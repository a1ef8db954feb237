"""What all text views share: glyphs beside colours, number columns that never shrink, bars."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

VERDICT_STYLES = {"fits": "green", "tight": "yellow", "oom": "red", None: "dim"}
_UNICODE = {
    "fits": "✓",
    "tight": "!",
    "oom": "✗",
    None: "?",
    "full": "█",
    "limit": "│",
    "over": "»",
    "rule": "─",
    "dot": "·",
}
_ASCII = {
    "fits": "+",
    "tight": "!",
    "oom": "x",
    None: "?",
    "full": "#",
    "limit": "|",
    "over": ">",
    "rule": "-",
    "dot": "|",
}
_EIGHTHS = "▏▎▍▌▋▊▉"

COLUMN_GAP = 2
"""Cells between two columns of a :func:`plain_table`: the padding and the divider of its box."""


NARROW = 60
"""Below this many columns tables are fitted; below ``_NARROWEST`` of the command line nothing is promised."""
_SHORTEST_LABEL = 8


class Style(NamedTuple):
    """What this console can show."""

    ascii_only: bool
    width: int

    @classmethod
    def of(cls, console: Console) -> Style:
        """Ask a console."""
        return cls(not console.encoding.lower().startswith("utf"), console.width)

    def glyph(self, name: str | None) -> str:
        """A sign that reads without colour."""
        return (_ASCII if self.ascii_only else _UNICODE)[name]

    def dotted(self, parts: Sequence[str]) -> str:
        """Parts of a line with a dot between them."""
        return f" {self.glyph('dot')} ".join(part for part in parts if part)

    def verdict(self, verdict: str | None) -> Text:
        """A verdict as glyph, word and colour."""
        from rich.text import Text

        return Text(f"{self.glyph(verdict)} {verdict or 'unknown'}", style=VERDICT_STYLES[verdict])

    def bar(self, size: int, limit: int, cells: int) -> str:
        """A bar of ``size`` against ``limit``, which is a line at its end, or an arrow for what goes beyond it.

        Anything above zero shows: down to an eighth of a cell, or a whole one in ASCII.
        """
        inner = cells - 1
        if size > limit:
            return self.glyph("full") * inner + self.glyph("over")
        steps = 1 if self.ascii_only else 8
        filled = max((size * inner * steps + limit // 2) // limit, 1 if size else 0)
        whole, part = divmod(filled, steps)
        bar = self.glyph("full") * whole + (_EIGHTHS[part - 1] if part else "")
        return bar.ljust(inner) + self.glyph("limit")


def plain_table(*, header: bool = True) -> Table:
    """A table without borders: a rule below the head, and columns that keep their width."""
    from rich import box
    from rich.table import Table

    return Table(
        box=box.SIMPLE_HEAD if header else None,
        show_header=header,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
        expand=False,
    )


def number_column(table: Table, head: str, *, width: int) -> None:
    """Add a right-aligned column that never wraps, shrinks or truncates."""
    table.add_column(head, justify="right", no_wrap=True, width=width)


def narrow(console: Console) -> bool:
    """Whether there is no room for a label, three columns of numbers and what stands between them."""
    return console.width < NARROW


def fit(console: Console, table: Table) -> Table:
    """Make a filled table fit a narrow console: numbers take what they need and stay whole, labels wrap.

    Args:
        console: Where it will be drawn; a wide one changes nothing.
        table: Labels in the first column, numbers in the others.

    Returns:
        The table.
    """
    if not narrow(console):
        return table
    label, *numbers = table.columns
    for column in numbers:
        column.width = number_width([str(column.header), *(str(cell) for cell in column.cells)])
    left = console.width - sum(COLUMN_GAP + (column.width or 0) for column in numbers)
    label.no_wrap, label.overflow, label.min_width = False, "fold", None
    label.width = max(_SHORTEST_LABEL, min(left, number_width([str(label.header), *(str(c) for c in label.cells)])))
    return table


def number_width(cells: Sequence[str]) -> int:
    """Width that shows all of a column's numbers whole."""
    return max((len(cell) for cell in cells), default=0)
