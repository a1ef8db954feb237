"""Why a number is what it is: each term's formula, the formula with this plan's numbers, and its source."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from zplan.memory.summary import plan_label, runtime_sources, term_title
from zplan.render.style import plain_table
from zplan.units import Unit, format_bytes

if TYPE_CHECKING:
    from rich.console import Console

    from zplan.memory.explain import TermExplanation
    from zplan.memory.moments import Estimate

_INDENT, _LABEL_WIDTH = 2, 12


def _paragraph(console: Console, title: str, size: str, lines: Sequence[tuple[str, str]]) -> None:
    """A title with a size, and labelled lines that hang below it."""
    from rich.text import Text

    console.print()
    console.print(Text.assemble((title, "bold"), f"  {size}"))
    table = plain_table(header=False)
    table.add_column(no_wrap=True, width=_INDENT + _LABEL_WIDTH)
    table.add_column(overflow="fold")
    for label, words in lines:
        if words:
            table.add_row(Text(" " * _INDENT + label, style="dim"), Text(words))
    console.print(table)


def _lines(term: TermExplanation) -> tuple[tuple[str, str], ...]:
    """What is said of a term, with labels."""
    return (
        ("formula", term.formula),
        ("here", term.with_numbers),
        ("source", term.source),
        ("to shrink it", term.how_to_shrink),
    )


def _legend(symbols: Mapping[str, int], width: int) -> list[str]:
    """The symbols with their values in lines that never part the two."""
    lines = [""]
    for name, value in symbols.items():
        pair = f"{name} = {value:,}"
        if lines[-1] and len(lines[-1]) + len(pair) + 3 > width:
            lines[-1] += ","
            lines.append("")
        lines[-1] += f", {pair}" if lines[-1] else pair
    return lines


def render_explanations(
    console: Console,
    estimate: Estimate,
    terms: Sequence[TermExplanation],
    symbols: Mapping[str, int],
    *,
    on_host: Sequence[TermExplanation] = (),
    unit: Unit = Unit.GIB,
) -> None:
    """Draw the terms of a plan's peak, one paragraph each, then what lies between allocated and device, then the host.

    Args:
        console: Where to draw.
        estimate: The prediction.
        terms: Explanations, in the order to show them.
        symbols: Values of the symbols in the formulas.
        on_host: Explanations of what one rank keeps in host RAM.
        unit: Unit of all sizes.
    """
    from rich.text import Text

    moment = estimate.peak_moment
    at = f"{moment.phase}: {moment.name}" if moment.name else moment.phase
    console.print()
    console.print(Text(f"{plan_label(estimate.plan.job)}, at its peak ({at})", style="bold"))
    for line in _legend(symbols, console.width):
        console.print(Text(line, style="dim"))
    for term in terms:
        _paragraph(console, f"{term_title(term.key)} ({term.key})", format_bytes(term.bytes, unit), _lines(term))
    sources = runtime_sources(estimate.plan.job.engine, estimate.plan.job.stage)
    for key, bounds in estimate.runtime.terms.items():
        low, expected, high = (format_bytes(bound, unit) for bound in bounds)
        _paragraph(
            console,
            f"{term_title(key)} ({key})",
            f"{expected}, beyond allocated",
            (("range", f"{low} to {high}"), ("source", sources.get(key, ""))),
        )
    for term in on_host:
        _paragraph(
            console,
            f"{term_title(term.key)} ({term.key})",
            f"{format_bytes(term.bytes, unit)}, host, per rank",
            _lines(term),
        )


def render_phases(console: Console, estimate: Estimate, *, unit: Unit = Unit.GIB) -> None:
    """Draw the terms of phases beside the step, on the GPU and on the host; nothing where none was asked for.

    Args:
        console: Where to draw.
        estimate: The prediction.
        unit: Unit of all sizes.
    """
    from rich.text import Text

    for need in estimate.beyond:
        for place, moment in (("GPU", need.gpu), ("host", need.host)):
            if not moment.terms and not moment.node_bytes:
                continue
            console.print()
            node = f"; {format_bytes(moment.node_bytes, unit)} per node" if moment.node_bytes else ""
            head = f"{plan_label(estimate.plan.job)}, {need.phase} on the {place} ({moment.name}{node})"
            console.print(Text(head, style="bold"))
            for key, size in sorted(moment.terms.items(), key=lambda item: -item[1]):
                formula, source = moment.why[key]
                lines = (("formula", formula), ("here", f"{size:,}"), ("source", source))
                _paragraph(console, f"{term_title(key)} ({key})", format_bytes(size, unit), lines)
