"""The tables of the HTML report: every number of every picture, with captions and row heads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING

from zplan.memory.moments import PHASES
from zplan.memory.summary import overall_verdict, plan_label, term_title
from zplan.render.charts import swatch_svg
from zplan.render.svg import VERDICT_MARKS, VERDICT_WORDS, category_of
from zplan.render.sweep import cell_text, frontier_lines, frontier_title, heat_maps
from zplan.units import Unit, format_bytes, format_in, format_seconds

if TYPE_CHECKING:
    from zplan.advice.decision import Step
    from zplan.advice.levers import Lever
    from zplan.advice.sweep import Frontier, Sweep
    from zplan.advice.timing import StepTime
    from zplan.memory.explain import TermExplanation
    from zplan.memory.moments import Estimate


def paragraph(words: str, *, kind: str = "") -> str:
    """A paragraph of escaped text."""
    return f'<p class="{kind}">{escape(words)}</p>' if kind else f"<p>{escape(words)}</p>"


def _table(caption: str, heads: Sequence[str], rows: Sequence[str], *, words: Sequence[int] = ()) -> str:
    """A table in a box that scrolls; columns are numbers except the first and ``words``."""
    head = "".join(
        f'<th scope="col"{"" if index == 0 or index in words else _NUMBER}>{escape(name)}</th>'
        for index, name in enumerate(heads)
    )
    return (
        f'<div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0"><table>'
        f"<caption>{escape(caption)}</caption><thead><tr>{head}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>"
    )


_NUMBER = ' class="number"'


def _row(head: str, cells: Sequence[str], *, words: Sequence[int] = (), kind: str = "", mark: str = "") -> str:
    """A row; ``head`` and cells are text, ``mark`` is markup before the head."""
    shown = "".join(
        f"<td{'' if index in words else _NUMBER}>{escape(cell)}</td>" for index, cell in enumerate(cells, 1)
    )
    return f'<tr class="{kind}"><th scope="row">{mark}{escape(head)}</th>{shown}</tr>'


def _verdict(verdict: str | None) -> str:
    return f"{VERDICT_MARKS[verdict]} {VERDICT_WORDS[verdict]}"


def comparison_table(estimates: Sequence[Estimate], times: Sequence[StepTime | None], unit: Unit) -> str:
    """One row per plan."""
    heads = ["plan", "model states", "allocated peak", "device low", "expected", "high", "host per node"]
    timed = any(time is not None for time in times)
    heads += ["s per step", "tokens/s per GPU"] if timed else []
    heads += ["verdict", "because"]
    rows = []
    for estimate, time in zip(estimates, times, strict=True):
        run = estimate.runtime
        sizes = (
            estimate.model_states.total_bytes,
            estimate.allocated_peak_bytes,
            run.device_low_bytes,
            run.device_expected_bytes,
            run.device_high_bytes,
            estimate.host.per_node_bytes,
        )
        cells = [format_in(size, unit) for size in sizes]
        if timed:
            cells += ["", ""] if time is None else _speed(time)
        cells += [_verdict(overall_verdict(estimate)), estimate.verdict_because or ""]
        rows.append(_row(plan_label(estimate.plan.job), cells, words=(len(cells) - 1, len(cells))))
    caption = f"Memory per GPU in {unit.value}; model states as the ZeRO paper counts them"
    return _table(caption, heads, rows, words=(len(heads) - 2, len(heads) - 1))


def _speed(time: StepTime) -> list[str]:
    return [format_seconds(time.step_seconds), f"{time.tokens_per_second_per_gpu:,.0f}"]


def moments_table(estimate: Estimate, unit: Unit) -> str:
    """One row per term, one column per phase (its largest moment) and one for between steps."""
    largest = {
        phase: max((m for m in estimate.moments if m.phase == phase), key=lambda m: m.total_bytes, default=None)
        for phase in PHASES
    }
    columns = [(f"{phase}: {m.name}" if m.name else phase, m.terms) for phase, m in largest.items() if m is not None]
    columns.append(("between steps", estimate.steady))
    keys = dict.fromkeys(key for _, terms in columns for key in terms)
    rows = []
    for number, key in enumerate(sorted(keys, key=lambda k: -max(terms.get(k, 0) for _, terms in columns))):
        cells = [format_in(terms.get(key, 0), unit) for _, terms in columns]
        head = f"{term_title(key)} ({category_of(key).name})"
        rows.append(_row(head, cells, mark=swatch_svg(key, f"moment{number}")))
    totals = [estimate.phases[phase] for phase, m in largest.items() if m is not None]
    rows.append(_row("allocated", [format_in(t, unit) for t in (*totals, estimate.steady_bytes)], kind="total"))
    caption = f"The largest moment of each phase, allocated, in {unit.value}"
    return _table(caption, ["term", *(head for head, _ in columns)], rows)


def levers_table(levers: Sequence[Lever], unit: Unit) -> str:
    """One row per change."""
    heads = ["change", "saves", "then needs at most", "fits", "time per token", "options"]
    rows = [
        _row(
            lever.change,
            [
                _saved(lever, unit),
                format_bytes(lever.needs_bytes, unit),
                _verdict("fits") if lever.fits else _verdict("oom"),
                "" if lever.slower is None else f"x {lever.slower:.2f}",
                lever.flags,
            ],
            words=(3, 5),
        )
        for lever in levers
    ]
    return _table("Single changes, the largest saving first; sizes at the high bound", heads, rows, words=(3, 5))


def _saved(lever: Lever, unit: Unit) -> str:
    """On the GPU, and in the node's RAM where the change is made for that."""
    host = f"{format_bytes(lever.host_saves_bytes, unit)} of RAM per node" if lever.host_saves_bytes else ""
    return host if lever.saves_bytes <= 0 and host else format_bytes(lever.saves_bytes, unit)


def decision_list(steps: Sequence[Step]) -> str:
    """Questions and answers in order."""
    items = "".join(
        f"<li>{escape(step.question)} <strong>{escape(step.answer)}</strong> {escape(step.because)}</li>"
        for step in steps
    )
    return f"<ol>{items}</ol>"


def host_table(estimate: Estimate, unit: Unit) -> str:
    """Host terms per rank, then totals."""
    host, capacity = estimate.host, estimate.plan.cluster.host_capacity_bytes
    rows = [
        _row(f"{term_title(key)}, per rank", [format_in(size, unit)], mark=swatch_svg(key, f"host{number}"))
        for number, (key, size) in enumerate(host.terms.items())
    ]
    totals = [
        ("per rank, between steps", host.per_rank_bytes),
        ("per rank, peak", host.peak_per_rank_bytes),
        ("pinned per rank, rounded", host.pinned_per_rank_bytes),
        ("RAM per node", host.per_node_bytes),
    ]
    totals += [("NVMe per node", host.nvme_per_node_bytes)] if host.nvme_per_node_bytes else []
    totals += [("RAM of a node", capacity)] if capacity is not None else []
    rows += [_row(name, [format_in(size, unit)], kind="total") for name, size in totals]
    return _table(f"Host memory in {unit.value}", ["what", unit.value], rows)


def sweep_tables(found: Sweep, edge_of: Frontier | None, unit: Unit) -> str:
    """The heat map's numbers, and the edge of what fits."""
    parts = []
    for heat in heat_maps(found):
        columns = heat.column_axis
        heads = [heat.row_axis.flag, *((unit.value,) if columns is None else columns.labels)]
        rows = [
            _row(
                label, [f"{cell_text(c, unit)} {VERDICT_MARKS[c.verdict] if c.verdict else ''}".strip() for c in cells]
            )
            for label, cells in zip(heat.row_axis.labels, heat.cells, strict=True)
        ]
        over = "" if columns is None else f", {columns.flag} in columns"
        parts.append(_table(f"{heat.title} {heat.row_axis.flag} in rows{over}; {unit.value}".strip(), heads, rows))
    edges = ""
    if edge_of is not None:
        items = "".join(f"<li>{escape(words)}</li>" for words in frontier_lines(found, edge_of))
        edges = f"<p>{escape(frontier_title(found, edge_of))}:</p><ul>{items}</ul>"
    return f"{edges}<details><summary>The numbers as a table</summary>{''.join(parts)}</details>"


def terms_table(terms: Sequence[TermExplanation], estimate: Estimate, sources: Mapping[str, str], unit: Unit) -> str:
    """Formula, numbers and source of every term of the peak, then of what lies beyond allocated bytes."""
    heads = ["term", "size", "formula", "with this plan's numbers", "source", "to shrink it"]
    rows = [
        _row(
            f"{term_title(term.key)} ({term.key})",
            [format_bytes(term.bytes, unit), term.formula, term.with_numbers, term.source, term.how_to_shrink],
            words=(2, 3, 4, 5),
            mark=swatch_svg(term.key, f"term{number}"),
        )
        for number, term in enumerate(terms)
    ]
    for number, (key, (low, expected, high)) in enumerate(estimate.runtime.terms.items()):
        span = f"{format_bytes(low, unit)} to {format_bytes(high, unit)}"
        cells = [format_bytes(expected, unit), "beyond allocated", span, sources.get(key, ""), ""]
        rows.append(
            _row(f"{term_title(key)} ({key})", cells, words=(2, 3, 4, 5), mark=swatch_svg(key, f"beyond{number}"))
        )
    moment = estimate.peak_moment
    caption = f"Terms at the peak ({moment.phase}: {moment.name})" if moment.name else "Terms at the peak"
    return _table(caption, heads, rows, words=(2, 3, 4, 5))
