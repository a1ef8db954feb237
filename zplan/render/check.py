"""Findings about a config, as text and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from zplan.advice.lint import COSTS, NOTE, STOPS, USELESS, counts
from zplan.render.style import Style

if TYPE_CHECKING:
    from rich.console import Console

    from zplan.advice.lint import Finding
    from zplan.inputs.settings import FileWords

_LOOKS = {STOPS: ("oom", "bold red"), COSTS: ("tight", "yellow"), USELESS: ("tight", "cyan"), NOTE: ("dot", "dim")}
"""Severity -> glyph and style."""
_HEADS = {STOPS: "stop the run", COSTS: "cost memory or speed", USELESS: "do nothing", NOTE: "to know"}


def check_object(file: FileWords, findings: Sequence[Finding], written: str | None) -> dict[str, Any]:
    """The keys that ``zplan check --json`` adds to those of an estimate.

    Args:
        file: The config.
        findings: What was found in it.
        written: Where the corrected copy was written, if one was.

    Returns:
        ``file``, ``kind``, ``findings``, ``counts``, ``ignored`` and ``fixed``.
    """
    return {
        "file": file.name,
        "kind": file.kind,
        "counts": dict(counts(findings)),
        "findings": [finding_object(finding) for finding in findings],
        "ignored": list(file.ignored),
        "fixed": written,
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    """One finding; sizes in bytes, places counted from 1."""
    at = finding.position
    return {
        "code": finding.code,
        "severity": finding.severity,
        "key": finding.key,
        "line": at.line if at else None,
        "column": at.column if at else None,
        "what": finding.what,
        "why": finding.why,
        "cost": finding.cost,
        "cost_bytes": finding.cost_bytes,
        "fix": finding.fix,
        "fixable": bool(finding.edits),
    }


def render_findings(
    console: Console,
    file: FileWords,
    findings: Sequence[Finding],
    *,
    verdict: str | None = None,
    unsaid: Sequence[str] = (),
    written: str | None = None,
) -> None:
    """Draw findings, the worst first.

    Args:
        console: Where to draw.
        file: The config.
        findings: What was found in it.
        verdict: Of the plan that the config makes.
        unsaid: Options that decide about it, which neither the file nor an option told.
        written: Where the corrected copy was written, if one was.
    """
    from rich.padding import Padding
    from rich.text import Text

    style = Style.of(console)
    console.print()
    console.print(_headline(file, findings, style, verdict))
    if verdict in ("oom", "tight") and unsaid:
        console.print(Text(f"The file does not say {' and '.join(unsaid)}: add what the training script sets."))
    for finding in findings:
        glyph, look = _LOOKS[finding.severity]
        at = finding.position
        place = f"  line {at.line}, column {at.column}" if at else ""
        console.print()
        console.print(
            Text.assemble(
                (f"{style.glyph(glyph)} {finding.what}", look), (place, "dim"), (f"  [{finding.code}]", "dim")
            )
        )
        for head, words in (("why", finding.why), ("cost", finding.cost), ("fix", finding.fix)):
            if words:
                console.print(Padding(Text.assemble((f"{head:<5}", "bold"), words), (0, 0, 0, 2)))
    if file.ignored:
        console.print()
        console.print(Text(f"Ignored, since memory does not depend on them: {', '.join(file.ignored)}.", style="dim"))
    if written is not None:
        console.print()
        console.print(Text(f"Written: {written}", style="bold"))


def _headline(file: FileWords, findings: Sequence[Finding], style: Style, verdict: str | None) -> Any:
    from rich.text import Text

    totals = counts(findings)
    parts = [f"{total} {_HEADS[severity]}" for severity, total in totals.items() if total]
    if not parts and verdict in ("oom", "tight"):
        words = "the plan does not fit" if verdict == "oom" else "the plan is tight"
        return Text(f"{file.name}: nothing to correct in the file, but {words}.", style="bold")
    if not parts:
        return Text(f"{style.glyph('fits')} {file.name}: nothing to correct.", style="bold green")
    return Text(f"{file.name}: {', '.join(parts)}.", style="bold red" if totals[STOPS] else "bold")
