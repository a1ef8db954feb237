"""Two estimates side by side: what was changed, and what that changed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from zplan.memory.summary import term_title
from zplan.render.style import Style, fit, number_column, plain_table
from zplan.units import Unit, format_bytes, format_in, format_seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from zplan.advice.diff import Change, EstimateDiff, PlanDiff, SizeChange

SCHEMA_VERSION = 1
_LABEL_WIDTH, _NUMBER_WIDTH = 26, 9
_TOTALS = {
    "allocated_peak": "allocated peak",
    "steady": "steady (between steps)",
    "device_low": "device, low",
    "device_expected": "device, expected",
    "device_high": "device, high",
    "host_per_node": "host RAM per node",
    "nvme_per_node": "NVMe per node",
}
_STATES = {"params": "parameters", "grads": "gradients", "optimizer": "optimizer"}


def signed(change_bytes: int, unit: Unit) -> str:
    """A change with its sign, ``=`` where there is none."""
    if change_bytes == 0:
        return "="
    return ("+" if change_bytes > 0 else "-") + format_in(abs(change_bytes), unit)


def render_diff(console: Console, found: EstimateDiff, *, unit: Unit = Unit.GIB) -> None:
    """Draw what differs; sizes that are the same in both are left out, except totals.

    Args:
        console: Where to draw.
        found: The comparison.
        unit: Unit of all sizes.
    """
    from rich.text import Text

    style = Style.of(console)
    console.print(Text(f"A  {found.before}"))
    console.print(Text(f"B  {found.after}"))
    if not _differs(found):
        console.print(Text("Nothing differs.", style="bold"))
        return
    _settings(console, found.settings, unit)
    for plan in found.plans:
        console.print()
        _plan(console, plan, style, unit)
    for title, notes in (
        ("Assumed in A only", found.assumptions_gone),
        ("Assumed in B only", found.assumptions_new),
        ("Plans in A only", found.only_before),
        ("Plans in B only", found.only_after),
    ):
        if notes:
            console.print()
            console.print(Text.assemble((f"{title}: ", "bold"), "; ".join(notes)))


def _differs(found: EstimateDiff) -> bool:
    beside = (found.settings, found.assumptions_gone, found.assumptions_new, found.only_before, found.only_after)
    return any(beside) or any(_plan_differs(plan) for plan in found.plans)


def _plan_differs(plan: PlanDiff) -> bool:
    sizes = (*plan.terms, *plan.phases, *plan.totals, *plan.model_states)
    pairs = (plan.verdict, plan.because, plan.peak_phase, plan.step_seconds, plan.tokens_per_second)
    return bool(plan.settings) or any(size.change_bytes for size in sizes) or any(a != b for a, b in pairs)


def _settings(console: Console, changes: Sequence[Change], unit: Unit) -> None:
    from rich.text import Text

    for change in changes:
        before, after = (_value(change.name, value, unit) for value in (change.before, change.after))
        console.print(Text.assemble((change.name.replace("_bytes", ""), "bold"), f"  {before} -> {after}"))


def _value(name: str, value: object, unit: Unit) -> str:
    if value is None:
        return "not given"
    if name.endswith("_bytes") and isinstance(value, int):
        return format_bytes(value, unit)
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _plan(console: Console, plan: PlanDiff, style: Style, unit: Unit) -> None:
    from rich.text import Text

    before, after = plan.verdict
    verdict = (
        style.verdict(after) if before == after else Text.assemble(style.verdict(before), " -> ", style.verdict(after))
    )
    console.print(Text.assemble((plan.label, "bold"), "  ", verdict))
    if not _plan_differs(plan):
        console.print(Text("  the same in both", style="dim"))
        return
    _settings(console, plan.settings, unit)
    if plan.peak_phase[0] != plan.peak_phase[1]:
        console.print(Text(f"the peak moves from {plan.peak_phase[0]} to {plan.peak_phase[1]}"))
    table = _table(unit)
    _rows(table, [term for term in plan.terms if term.change_bytes], term_title, unit)
    _rows(table, plan.phases, lambda name: f"{name} peak", unit)
    _rows(table, plan.model_states, lambda name: f"{_STATES.get(name, name)} (ZeRO)", unit, changed=True)
    _rows(table, plan.totals, lambda name: _TOTALS.get(name, name), unit, kind="bold")
    console.print(fit(console, table))
    if plan.step_seconds[0] is not None and plan.step_seconds[1] is not None:
        times = " -> ".join(f"{format_seconds(seconds)} s" for seconds in plan.step_seconds if seconds is not None)
        speeds = " -> ".join(f"{speed:,.0f}" for speed in plan.tokens_per_second if speed is not None)
        console.print(Text(f"{times} per step; {speeds} tokens/s per GPU"))


def _table(unit: Unit) -> Table:
    table = plain_table()
    table.add_column(unit.value, no_wrap=True, min_width=_LABEL_WIDTH)
    for head in ("A", "B", "B - A"):
        number_column(table, head, width=_NUMBER_WIDTH)
    return table


def _rows(
    table: Table, sizes: Sequence[SizeChange], title: Any, unit: Unit, *, kind: str = "", changed: bool = False
) -> None:
    """Rows of one kind, with a blank line below them; sizes that are nothing in both are left out."""
    kept = [size for size in sizes if (size.change_bytes if changed else size.before_bytes or size.after_bytes)]
    for size in kept:
        cells = (format_in(size.before_bytes, unit), format_in(size.after_bytes, unit), signed(size.change_bytes, unit))
        table.add_row(title(size.name), *cells, style=kind)
    if kept and kind != "bold":
        table.add_row()


def diff_object(found: EstimateDiff) -> dict[str, Any]:
    """The whole answer of ``zplan diff --json``; sizes are integers in bytes."""

    def sizes(changes: Sequence[SizeChange]) -> dict[str, dict[str, int]]:
        return {
            size.name: {"before": size.before_bytes, "after": size.after_bytes, "change": size.change_bytes}
            for size in changes
        }

    return {
        "schema_version": SCHEMA_VERSION,
        "before": found.before,
        "after": found.after,
        "same": not _differs(found),
        "settings": [asdict(change) for change in found.settings],
        "assumptions": {"gone": list(found.assumptions_gone), "new": list(found.assumptions_new)},
        "plans": [
            {
                "label": plan.label,
                "settings": [asdict(change) for change in plan.settings],
                "verdict": {"before": plan.verdict[0], "after": plan.verdict[1]},
                "verdict_because": {"before": plan.because[0], "after": plan.because[1]},
                "peak_phase": {"before": plan.peak_phase[0], "after": plan.peak_phase[1]},
                "terms": sizes(plan.terms),
                "phases": sizes(plan.phases),
                "totals": sizes(plan.totals),
                "model_states": sizes(plan.model_states),
                "step_seconds": {"before": plan.step_seconds[0], "after": plan.step_seconds[1]},
                "tokens_per_second_per_gpu": {"before": plan.tokens_per_second[0], "after": plan.tokens_per_second[1]},
            }
            for plan in found.plans
        ],
        "only_before": list(found.only_before),
        "only_after": list(found.only_after),
    }
