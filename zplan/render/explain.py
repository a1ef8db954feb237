"""Explanations of terms, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zplan.memory.summary import plan_label, term_title
from zplan.render.jsonout import SCHEMA_VERSION
from zplan.render.style import Style, plain_table
from zplan.render.text import plan_lines
from zplan.units import Unit, format_bytes

if TYPE_CHECKING:
    from rich.console import Console

    from zplan.memory.terms import TermAbout, TermInPlan
    from zplan.spec import Plan

LABEL_WIDTH = 12


def labelled(console: Console, rows: Sequence[tuple[str, str]], *, indent: int = 2) -> None:
    """Draws label and words, the words hanging beside the label; rows without words are left out."""
    from rich.text import Text

    table = plain_table(header=False)
    table.add_column(no_wrap=True, width=indent + LABEL_WIDTH)
    table.add_column(overflow="fold")
    for label, words in rows:
        if words:
            table.add_row(Text(" " * indent + label, style="dim"), Text(words))
    console.print(table)


def term_heading(key: str) -> str:
    """A term in words with its key, where the two differ."""
    title = term_title(key)
    return title if title == key else f"{title} ({key})"


def render_term(
    console: Console,
    about: TermAbout,
    found: TermInPlan | None,
    plan: Plan | None,
    *,
    origin: str | None = None,
    unit: Unit = Unit.GIB,
) -> None:
    """Draws one term.

    Args:
        console: Where to draw.
        about: The term without a plan.
        found: The term in the plan at hand, or None.
        plan: That plan, or None.
        origin: Where the plan comes from when it was not typed.
        unit: Unit of all sizes.
    """
    from rich.text import Text

    size = f"  {format_bytes(found.explanation.bytes, unit)}" if found is not None else ""
    console.print(Text.assemble((term_heading(about.key), "bold"), size))
    rows = [("what it is", about.what), ("where", about.place), ("in general", about.formula)]
    if found is not None:
        explanation = found.explanation
        if explanation.formula != about.formula:
            rows.append(("here", explanation.formula))
        rows.append(("in numbers", explanation.with_numbers))
        rows.append(("largest at", found.moment if explanation.bytes else ""))
        peaks = [f"{phase} {format_bytes(size, unit)}" for phase, size in found.peaks.items()]
        rows.append(("by phase", Style.of(console).dotted(peaks)))
        rows += [("source", explanation.source), ("to shrink it", explanation.how_to_shrink)]
    else:
        rows += [("source", about.source), ("to shrink it", about.shrink)]
    labelled(console, rows)
    console.print()
    if plan is None:
        command = f"zplan explain {about.key} --model llama-3.1-8b --gpus 8 --stage 2"
        console.print(Text(f"With your numbers: {command}", style="dim"))
        return
    for line in (*plan_lines(plan, Style.of(console), unit), plan_label(plan.job)):
        console.print(Text(line, style="dim"))
    if origin is not None:
        console.print(Text(f"The plan is {origin}.", style="dim"))


def render_terms(console: Console, terms: Sequence[TermAbout]) -> None:
    """Draws the list of all terms."""
    from rich.text import Text

    width = max(len(term.key) for term in terms)
    place = ""
    for term in terms:
        if term.place != place:
            console.print() if place else None
            console.print(Text(term.place, style="bold"))
            place = term.place
        table = plain_table(header=False)
        table.add_column(no_wrap=True, width=2 + width)
        table.add_column(overflow="fold")
        table.add_row(Text(f"  {term.key}"), Text(term.what))
        console.print(table)
    console.print()
    console.print(Text(f"More about one: zplan explain {terms[0].key}", style="dim"))


def about_object(about: TermAbout) -> dict[str, Any]:
    """One term without a plan."""
    return {
        "key": about.key,
        "title": term_title(about.key),
        "place": about.place,
        "what": about.what,
        "formula": about.formula,
        "source": about.source,
        "how_to_shrink": about.shrink,
    }


def term_object(about: TermAbout, found: TermInPlan | None, plan: Mapping[str, Any] | None) -> dict[str, Any]:
    """The whole answer of ``zplan explain TERM --json``.

    Args:
        about: The term without a plan.
        found: The term in the plan at hand, or None.
        plan: That plan as an object, or None.

    Returns:
        ``term`` and, with a plan, ``in_plan`` with bytes, formula, numbers and the most per phase.
    """
    value: dict[str, Any] = {"schema_version": SCHEMA_VERSION, "term": about_object(about), "plan": plan}
    value["in_plan"] = None
    if found is not None:
        explanation, spread = found.explanation, found.spread
        value["in_plan"] = {
            "bytes": explanation.bytes,
            "formula": explanation.formula,
            "with_numbers": explanation.with_numbers,
            "moment": found.moment,
            "phases": dict(found.peaks),
            "source": explanation.source,
            "how_to_shrink": explanation.how_to_shrink,
            "spread": None if spread is None else dict(zip(("low", "expected", "high"), spread, strict=True)),
        }
    return value


def terms_object(terms: Sequence[TermAbout]) -> dict[str, Any]:
    """The whole answer of ``zplan explain --list --json``."""
    return {"schema_version": SCHEMA_VERSION, "terms": [about_object(term) for term in terms]}
