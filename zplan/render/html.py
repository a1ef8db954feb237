"""One HTML file that says everything about a plan: no scripts, nothing from outside, readable on paper and by ear.

Everything that comes from a file, a name or a number is escaped where it is put into the page; markup is only ever made
by this file and by ``zplan.render.svg``.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

from zplan.render.charts import host_svg, levers_svg, stages_svg, timeline_svg
from zplan.render.heatmap import sweep_svg
from zplan.render.pagestyle import STYLE
from zplan.render.pagetables import (
    comparison_table,
    decision_list,
    host_table,
    levers_table,
    moments_table,
    paragraph,
    sweep_tables,
    terms_table,
)
from zplan.render.style import Style
from zplan.render.svg import VERDICT_MARKS
from zplan.render.text import plan_lines
from zplan.units import Unit, format_bytes

if TYPE_CHECKING:
    from zplan.advice.decision import Step
    from zplan.advice.levers import Lever
    from zplan.advice.sweep import Frontier, Sweep
    from zplan.advice.timing import StepTime
    from zplan.memory.explain import TermExplanation
    from zplan.memory.moments import Estimate

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""Lets a browser refuse what should not be there anyway: scripts, images, fonts and requests."""
_HEADLINES = {"fits": "Fits", "tight": "Tight", "oom": "Out of memory", None: "No verdict"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a page shows."""

    estimates: tuple[Estimate, ...]
    """Every plan side by side."""
    times: tuple[StepTime | None, ...]
    chosen: Estimate
    """The plan that is shown in full."""
    chosen_because: str
    time: StepTime | None
    label: str
    """Of the chosen plan: ``stage 2``."""
    verdict: str | None
    """Of the chosen plan, GPU and host together."""
    terms: tuple[TermExplanation, ...]
    symbols: Mapping[str, int]
    sources: Mapping[str, str]
    """Of what lies beyond allocated bytes: key -> source."""
    levers: tuple[Lever, ...]
    decision: tuple[Step, ...]
    recommended: str
    """The command that runs the recommended plan, empty where nothing fits or was searched."""
    sweep: Sweep | None
    frontier: Frontier | None
    assumptions: tuple[str, ...]
    json: str
    """What ``zplan estimate --json`` prints for the same plans."""
    version: str


def report_page(report: Report, *, unit: Unit = Unit.GIB) -> str:
    """The whole page.

    Args:
        report: What to show.
        unit: Unit of all sizes.

    Returns:
        An HTML document.
    """
    name = report.chosen.plan.model.name
    title = f"{_HEADLINES[report.verdict]}: {name}, {report.label}"
    sections = (
        ("stages", "Every stage against the card", _stages(report, unit)),
        ("step", f"A step of {report.label}, moment by moment", _step(report, unit)),
        ("levers", "What would save memory", _levers(report, unit)),
        ("decision", "Which plan to run, and why", _decision(report)),
        ("host", "Host RAM", _host(report, unit)),
        ("sweep", "Micro-batch and sequence length", _sweep(report, unit)),
        ("assumptions", "Assumptions", _assumptions(report)),
        ("formulas", "Formulas and sources", _formulas(report, unit)),
        ("data", "The same as JSON", _json(report)),
    )
    shown = [(anchor, head, body) for anchor, head, body in sections if body]
    contents = "".join(f'<li><a href="#{anchor}">{escape(head)}</a></li>' for anchor, head, _ in shown)
    body = "".join(
        f'<section aria-labelledby="{anchor}"><h2 id="{anchor}">{escape(head)}</h2>{part}</section>'
        for anchor, head, part in shown
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f'<meta name="generator" content="zplan {escape(report.version)}">\n'
        f"<title>{escape(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        f'<header>{_header(report, unit)}</header>\n<nav aria-label="Contents"><ul>{contents}</ul></nav>\n'
        f"<main>{body}</main>\n<footer><p>Written by zplan {escape(report.version)}. GB is 10<sup>9</sup> and GiB "
        "2<sup>30</sup> bytes. Predicted from formulas; <code>zplan verify</code> measures.</p></footer>\n"
        "</body>\n</html>\n"
    )


def _header(report: Report, unit: Unit) -> str:
    run, capacity = report.chosen.runtime, report.chosen.plan.cluster.gpu_capacity_bytes
    of = f" of {format_bytes(capacity, unit)}" if capacity is not None else ""
    mark = VERDICT_MARKS[report.verdict]
    verdict = report.verdict or "none"
    lines = plan_lines(report.chosen.plan, Style(ascii_only=False, width=80), unit)
    because = report.chosen.verdict_because
    return (
        f'<h1><span class="verdict z-{verdict}"><span aria-hidden="true">{mark}</span> '
        f"{_HEADLINES[report.verdict]}</span> {escape(report.label)}: "
        f"{escape(format_bytes(run.device_expected_bytes, unit))}{escape(of)} per GPU</h1>"
        + "".join(paragraph(words, kind="facts") for words in lines)
        + (paragraph(because) if because else "")
        + paragraph(report.chosen_because, kind="facts")
    )


def _figure(drawing: str, caption: str) -> str:
    """A picture in a box that scrolls on narrow screens, with what to see in it."""
    return (
        f'<figure><div class="scroll" role="region" aria-label="{escape(caption)}" tabindex="0">{drawing}</div>'
        f"<figcaption>{escape(caption)}</figcaption></figure>"
    )


def _stages(report: Report, unit: Unit) -> str:
    caption = "Expected memory per GPU. The line below a bar spans the low and the high bound; "
    caption += "a bar with two strokes goes on."
    drawing = stages_svg(report.estimates, unit=unit)
    return _figure(drawing, caption) + comparison_table(report.estimates, report.times, unit)


def _step(report: Report, unit: Unit) -> str:
    estimate = report.chosen
    caption = "Allocated bytes at each moment that can be a peak, in the order of a step. "
    caption += "Categories as in PyTorch's memory profiler."
    worst = ""
    if estimate.worst_rank_peak_bytes != estimate.allocated_peak_bytes:
        size = format_bytes(estimate.worst_rank_peak_bytes, unit)
        worst = paragraph(f"Rank {estimate.worst_rank} holds most: {size} allocated at its peak.")
    return _figure(timeline_svg(estimate, unit=unit), caption) + worst + moments_table(estimate, unit)


def _levers(report: Report, unit: Unit) -> str:
    if not report.levers:
        return ""
    caption = "What single changes to this plan save per GPU at the high bound."
    table = levers_table(report.levers, unit)
    if all(lever.saves_bytes <= 0 for lever in report.levers):
        return table
    return _figure(levers_svg(report.levers, unit=unit), caption) + table


def _decision(report: Report) -> str:
    if not report.decision:
        return ""
    run = f"<p>To see it: <code>{escape(report.recommended)}</code></p>" if report.recommended else ""
    return decision_list(report.decision) + run


def _host(report: Report, unit: Unit) -> str:
    host = report.chosen.host
    if not host.per_node_bytes and not host.nvme_per_node_bytes:
        return paragraph("This plan keeps nothing of the model in host RAM: --offload would.")
    caption = "Host RAM of one rank, and of a node with the rounding of pinned memory."
    return _figure(host_svg(report.chosen, unit=unit), caption) + host_table(report.chosen, unit)


def _sweep(report: Report, unit: Unit) -> str:
    if report.sweep is None:
        return ""
    caption = "Expected memory per GPU of the same plan with other micro-batches and sequence lengths."
    drawing = sweep_svg(report.sweep, report.frontier, unit=unit)
    return _figure(drawing, caption) + sweep_tables(report.sweep, report.frontier, unit)


def _assumptions(report: Report) -> str:
    items = "".join(f"<li>{escape(words)}</li>" for words in report.assumptions)
    return f"<p>Not said, so assumed; the flag in brackets changes it.</p><ul>{items}</ul>"


def _formulas(report: Report, unit: Unit) -> str:
    symbols = ", ".join(f"{name} = {value:,}" for name, value in report.symbols.items())
    return paragraph(symbols, kind="facts") + terms_table(report.terms, report.chosen, report.sources, unit)


def _json(report: Report) -> str:
    head = "<summary>What <code>zplan estimate --json</code> prints for these plans; sizes are bytes</summary>"
    return f'<details>{head}<pre id="estimate-json" tabindex="0">{escape(report.json, quote=False)}</pre></details>'
