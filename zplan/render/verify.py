"""Predicted beside measured, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zplan.memory.summary import plan_label, term_title
from zplan.render.jsonout import SCHEMA_VERSION, cluster_object, model_object, plan_object
from zplan.render.style import Style, fit, number_column, plain_table
from zplan.render.text import assumptions_text, plan_lines
from zplan.units import Unit, format_size

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from zplan.memory.explain import TermExplanation
    from zplan.spec import Plan
    from zplan.verify.compare import Comparison, Row
    from zplan.verify.measurement import Measurement

_LABEL_WIDTH = 22
_SIZE_WIDTH = 12
_ERROR_WIDTH = 8
_TITLES = {
    "logits": "logits, their gradient",
    "steady": "between two steps",
    "host": "host, between steps",
    "host_peak": "host, at most",
    "reserved": "reserved",
    "device": "device (NVML)",
    "allocated_peak": "allocated peak",
}
_LAUNCHES = {"dryrun": "dry run", "single": "one real process", "torchrun": "real job"}


def verify_object(
    comparison: Comparison, plan: Plan, terms: Sequence[TermExplanation], assumptions: Sequence[str]
) -> dict[str, Any]:
    """The whole answer of ``zplan verify --json``.

    Args:
        comparison: Predicted beside measured.
        plan: What was run.
        terms: Explanations of the predicted peak moment's terms; empty where nothing was predicted.
        assumptions: What was assumed for the user.

    Returns:
        The object of the contract, with more keys.
    """
    measured, estimate = comparison.measured, comparison.estimate
    return {
        "schema_version": SCHEMA_VERSION,
        "launch": measured.launch,
        "ranks_measured": measured.ranks_measured,
        "world_size": measured.world_size,
        "rank": measured.rank,
        "model": model_object(plan.model, plan.job.lora),
        "cluster": cluster_object(plan.cluster),
        "assumptions": list(assumptions),
        "predicted": None if estimate is None else plan_object(estimate, terms),
        "measured": measured_object(measured),
        "error": comparison.errors(),
        "peak_phase": comparison.peak_phase,
        "terms": {phase: [_row_object(row) for row in rows] for phase, rows in comparison.terms.items()},
        "unexplained_bytes": comparison.unexplained_bytes,
        "limits": list(measured.limits),
        "environment": dict(measured.environment),
        "seconds": measured.seconds,
    }


def measured_object(measured: Measurement) -> dict[str, Any]:
    """The ``measured`` key."""
    return {
        "phases": dict(measured.phases),
        "steady_bytes": measured.steady_bytes,
        "allocated_peak_bytes": measured.allocated_peak_bytes,
        "reserved_peak_bytes": measured.reserved_peak_bytes,
        "device_peak_bytes": measured.device_peak_bytes,
        "host_per_rank_bytes": measured.host_per_rank_bytes,
        "host_peak_per_rank_bytes": measured.host_peak_per_rank_bytes,
        "pinned_per_rank_bytes": measured.pinned_per_rank_bytes,
        "spread": {name: list(bounds) for name, bounds in measured.spread.items()},
        "beyond": dict(measured.beyond),
    }


def _row_object(row: Row) -> dict[str, Any]:
    return {"key": row.name, "predicted_bytes": row.predicted_bytes, "measured_bytes": row.measured_bytes}


def format_error(error: float | None) -> str:
    """A relative error for a column: ``exact``, ``+0.02 %``, ``-12.3 %``; a dash where there is none."""
    if error is None:
        return "-"
    if error == 0:
        return "exact"
    share = abs(error) * 100
    shown = f"{share:.2f}" if share < 9.995 else f"{share:.1f}" if share < 999.95 else ">999"
    return "<0.01 %" if shown == "0.00" else f"{'+' if error > 0 else '-'}{shown} %"


def _table(title: str) -> Table:
    table = plain_table()
    table.add_column(title, no_wrap=True, width=_LABEL_WIDTH)
    number_column(table, "predicted", width=_SIZE_WIDTH)
    number_column(table, "measured", width=_SIZE_WIDTH)
    number_column(table, "off by", width=_ERROR_WIDTH)
    return table


def _add(table: Table, row: Row, unit: Unit, *, title: str | None = None, style: str = "") -> None:
    sizes = ["-" if size is None else _signed(size, unit) for size in (row.predicted_bytes, row.measured_bytes)]
    table.add_row(title or _TITLES.get(row.name) or term_title(row.name), *sizes, format_error(row.error), style=style)


def _signed(size: int, unit: Unit) -> str:
    return f"-{format_size(-size, unit)}" if size < 0 else format_size(size, unit)


def comparison_headline(comparison: Comparison, style: Style, unit: Unit) -> Text:
    """The answer in one line: what was measured and how far the prediction is off."""
    from rich.text import Text

    measured = format_size(comparison.measured.allocated_peak_bytes, unit)
    error = comparison.peak.error
    if error is None or comparison.peak.predicted_bytes is None:
        return Text(style.dotted([f"measured {measured}", "no formula for this plan"]), style="bold")
    predicted = format_size(comparison.peak.predicted_bytes, unit)
    off = "exact" if error == 0 else f"{format_error(error)} off"
    return Text(style.dotted([f"measured {measured}", f"predicted {predicted}", off]), style="bold")


def render_measured(console: Console, comparison: Comparison, *, unit: Unit = Unit.GIB) -> None:
    """Draw the tables of a comparison: phases, terms at the measured peak, host, device, and what was not seen.

    Args:
        console: Where to draw.
        comparison: Predicted beside measured.
        unit: Family of the units of sizes.
    """
    from rich.text import Text

    measured = comparison.measured
    table = _table("peak of a phase")
    for row in comparison.phases:
        _add(table, row, unit, style="bold" if row.name == comparison.peak_phase else "")
    console.print()
    console.print(fit(console, table))
    table = _table(f"at the peak ({comparison.peak_phase})")
    for row in comparison.terms[comparison.peak_phase]:
        _add(table, row, unit)
    if comparison.terms[comparison.peak_phase]:
        console.print()
        console.print(fit(console, table))
    for title, rows in (("host, per rank", comparison.host), ("device", comparison.device)):
        if rows:
            table = _table(title)
            for row in rows:
                _add(table, row, unit)
            console.print()
            console.print(fit(console, table))
    console.print()
    if "allocated_peak" in measured.spread:
        least, most = (format_size(int(size), unit) for size in measured.spread["allocated_peak"])
        console.print(
            Text(f"Peaks of the {measured.ranks_measured} ranks: {least} to {most}; rank {measured.rank} holds most.")
        )
    if measured.beyond.get("allocation_retries"):
        console.print(Text(f"The allocator retried {measured.beyond['allocation_retries']} times: the card was full."))
    for limit in measured.limits:
        console.print(Text(limit, style="dim"))


def render_verify(
    console: Console, comparison: Comparison, plan: Plan, assumptions: Sequence[str], *, source: str | None, unit: Unit
) -> None:
    """Draw the whole answer of ``zplan verify``.

    Args:
        console: Where to draw.
        comparison: Predicted beside measured.
        plan: What was run.
        assumptions: What was assumed for the user.
        source: Where the plan came from, None where it was typed.
        unit: Family of the units of sizes.
    """
    from rich.text import Text

    style, measured = Style.of(console), comparison.measured
    if source is not None:
        console.print(Text(f"Plan: {source}.", style="dim"))
    console.print(comparison_headline(comparison, style, unit))
    ranks = (
        f"all {measured.world_size} ranks"
        if measured.ranks_measured > 1
        else f"rank {measured.rank} of {measured.world_size}"
    )
    how = [_LAUNCHES[measured.launch], plan_label(plan.job), ranks, f"{measured.seconds:.1f} s"]
    console.print(Text(style.dotted(how)))
    for line in plan_lines(plan, style, unit):
        console.print(Text(line, style="dim"))
    versions = style.dotted([f"{name} {version}" for name, version in measured.environment.items()])
    console.print(Text(versions, style="dim"))
    render_measured(console, comparison, unit=unit)
    console.print()
    console.print(assumptions_text(assumptions))
