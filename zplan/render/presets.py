"""Presets for people: one line each, or one in full."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zplan.render.style import COLUMN_GAP, Style, number_width, plain_table
from zplan.units import Unit, format_bytes, format_count, format_size

if TYPE_CHECKING:
    from rich.console import Console

    from zplan.spec import GpuSpec, ModelSpec, NodeSpec

_Column = tuple[str, bool]
"""Head, and whether it holds numbers."""


def _table(console: Console, columns: Sequence[_Column], rows: Sequence[Sequence[str]]) -> None:
    """Draw rows, each whole on one line; what a narrow terminal cannot hold goes over its edge, not into the words."""
    table = plain_table()
    widths = [number_width([head, *(row[index] for row in rows)]) for index, (head, _) in enumerate(columns)]
    for width, (head, is_number) in zip(widths, columns, strict=True):
        table.add_column(head, no_wrap=True, width=width, justify="right" if is_number else "left")
    for row in rows:
        table.add_row(*row)
    width = console.width
    console.width = max(width, sum(widths) + COLUMN_GAP * len(widths))
    console.print(table)
    console.width = width


def render_names(console: Console, names: Mapping[str, Sequence[str]]) -> None:
    """Draw all names by kind, as many on a line as fit."""
    from rich.text import Text

    for kind, each in names.items():
        console.print(Text(f"{kind} ({len(each)})", style="bold"))
        console.print(Text("  ".join(each)))
        console.print()
    console.print(Text("zplan presets ls KIND for a table, zplan presets show NAME for one of them", style="dim"))


def render_models(console: Console, models: Sequence[ModelSpec]) -> None:
    """Draw one line per model."""
    rows = [
        (
            model.name,
            format_count(model.params),
            str(model.num_layers),
            str(model.hidden_size),
            str(model.max_seq_len),
            model.family,
        )
        for model in models
    ]
    heads = (
        ("model", False),
        ("params", True),
        ("layers", True),
        ("width", True),
        ("positions", True),
        ("type", False),
    )
    _table(console, heads, rows)


def render_gpus(console: Console, cards: Sequence[GpuSpec]) -> None:
    """Draw one line per card."""
    rows = [
        (
            card.name,
            format_bytes(card.memory_bytes),
            f"{card.flops_16bit / 1e12:.0f}",
            format_size(int(card.memory_bandwidth), Unit.GB) + "/s",
            card.link,
            ", ".join(card.lacks),
        )
        for card in cards
    ]
    heads = (
        ("card", False),
        ("memory", True),
        ("TFLOP/s", True),
        ("bandwidth", True),
        ("link", False),
        ("lacks", False),
    )
    _table(console, heads, rows)
    _legend(
        console,
        "memory: what the driver reports; TFLOP/s: dense, 16 bits; bandwidth: of the memory; link: within a node",
    )


def _legend(console: Console, words: str) -> None:
    """What the heads mean, below a table."""
    from rich.text import Text

    console.print(Text(words, style="dim"))


def render_nodes(console: Console, machines: Sequence[NodeSpec]) -> None:
    """Draw one line per machine."""
    rows = [
        (
            machine.name,
            f"{machine.gpus_per_node} x {machine.gpu}",
            format_size(machine.host_memory_bytes),
            format_size(machine.nvme_bytes, Unit.GB) if machine.nvme_bytes else Style.of(console).glyph("rule"),
            format_size(int(machine.network_bandwidth), Unit.GB) + "/s",
            machine.intra_link,
        )
        for machine in machines
    ]
    heads = (("machine", False), ("cards", False), ("RAM", True), ("NVMe", True), ("network", True), ("link", False))
    _table(console, heads, rows)
    _legend(console, "network: of a node, to other nodes, one direction; link: between the cards of a node")


def _readable(key: str, value: object) -> str:
    """The same number for people, in parentheses, where the key says what it counts."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return ""
    if key.endswith("memory_bytes"):
        return f" ({format_size(int(value))})"
    if key == "nvme_bytes":
        return f" ({format_size(int(value), Unit.GB)})"
    if key.endswith("bandwidth"):
        return f" ({format_size(int(value), Unit.GB)}/s)"
    if key.startswith("flops_"):
        return f" ({value / 1e12:g} TFLOP/s)"
    return f" ({format_count(value)})" if key == "params" and isinstance(value, int) else ""


def _written(value: object) -> str:
    """A value as a person would write it: 2039000000000.0 is a whole number."""
    whole = isinstance(value, float) and value.is_integer() and abs(value) >= 1e6
    return f"{value:.0f}" if whole else str(value)


def _lines(content: Mapping[str, Any], indent: int = 0) -> list[tuple[str, str]]:
    lines: list[tuple[str, str]] = []
    for key, value in content.items():
        label = " " * indent + str(key)
        if isinstance(value, Mapping):
            lines += [(label, ""), *_lines(value, indent + 2)]
        else:
            words = ", ".join(str(item) for item in value) if isinstance(value, list) else _written(value)
            lines.append((label, words + _readable(str(key), value)))
    return lines


def render_preset(console: Console, source: str, content: Mapping[str, Any]) -> None:
    """Draw everything that one preset's file says.

    Args:
        console: Where to draw.
        source: The file.
        content: Its keys and values.
    """
    from rich.text import Text

    console.print(Text(source, style="dim"))
    table = plain_table(header=False)
    lines = _lines(content)
    table.add_column(no_wrap=True, min_width=number_width([label for label, _ in lines]))
    table.add_column(overflow="fold")
    for label, words in lines:
        table.add_row(Text(label, style="bold"), Text(words))
    console.print(table)
