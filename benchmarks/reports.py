"""Holds verdicts against public reports: ``python benchmarks/reports.py [--data FILE] [--json]``.

What a report leaves out (batch, sequence, checkpointing, a card's memory) is priced with the least and the most that is
usual. A setting that ran out of memory is right when neither is called ``fits``, wrong when both are, and not answered when it
depends on what is not said. A setting that ran proves that some of it runs: it is wrong when even the least is called ``oom``.
A report is right when all that it claims is.

``terms`` counts reports that quote the size of the failed allocation; ``term_first`` those where the first tensor named for it
is the one that the report's own words and arithmetic name. ``phases`` counts answered failures that say where they failed;
``phase_right`` those where that phase does not fit by the estimate. ``recommended_failures`` lists reports whose failed
setting `recommend` would advise. ``figures`` counts runs with a figure per GPU, ``figures_inside`` those between the allocated
peak of the least and the high bound of the most. ``changes`` counts what helped or was advised in a failure,
``changes_advised`` what zplan names, too.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import sys
from pathlib import Path
from typing import Any

from reportfile import BadFileError, load_reports, name_of, one_line, report_of
from reporttally import Tally, count
from rowwords import NoPlanError, wrong_kind

from zplan.errors import ZplanError

DATA = Path(__file__).parent / "data" / "reports.yaml"


def run(path: Path | None) -> dict[str, Any]:
    """The whole answer."""
    items = load_reports(path or DATA)
    tally = Tally()
    for number, item in enumerate(items, start=1):
        name = name_of(item, number)
        try:
            count(report_of(item, name), tally)
        except (NoPlanError, ZplanError) as error:
            tally.unanswered.append({"id": name, "why": one_line(error, 600)})
        except Exception as error:  # a report that nobody can read ends no run
            tally.unanswered.append({"id": name, "why": wrong_kind(error)})
    return {
        "reports": len(items),
        "answered": tally.right + len(tally.wrong),
        "verdict_right": tally.right,
        "verdict_wrong": tally.wrong,
        "claims": tally.claims,
        "terms": tally.terms,
        "term_first": tally.terms - len(tally.term_second),
        "term_not_first": tally.term_second,
        "phases": tally.phases,
        "phase_right": tally.phases - len(tally.phase_wrong),
        "phase_wrong": tally.phase_wrong,
        "figures": tally.figures,
        "figures_inside": tally.figures - len(tally.figure_outside),
        "figures_outside": tally.figure_outside,
        "changes": tally.changes,
        "changes_advised": tally.changes - len(tally.advice_missing),
        "changes_not_advised": tally.advice_missing,
        "recommended_failures": tally.advised,
        "claims_unanswered": tally.open_claims,
        "unanswered": tally.unanswered,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="YAML with reports like benchmarks/data/reports.yaml")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    try:
        result = run(options.data)
    except BadFileError as error:
        if options.json:
            print(json.dumps({"error": one_line(error, 400)}))
        raise SystemExit(f"error: {one_line(error, 400)}") from None
    try:
        _show(result, as_json=options.json)
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _show(result: dict[str, Any], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['answered']} of {result['reports']} reports answered, {result['verdict_right']} verdicts right")
    print(f"{result['terms']} failed allocations with a named tensor, {result['term_first']} named first")
    print(f"{result['phases']} failures in a named phase, {result['phase_right']} of them in a phase that does not fit")
    print(f"{result['figures']} runs with a figure per GPU, {result['figures_inside']} inside the bounds")
    print(
        f"{result['changes']} changes that helped or were advised, {result['changes_advised']} of them named by zplan too"
    )
    print(f"failed settings that would be recommended: {', '.join(result['recommended_failures']) or 'none'}")
    for key, words in (
        ("verdict_wrong", "wrong"),
        ("term_not_first", "another tensor"),
        ("phase_wrong", "another phase"),
        ("figures_outside", "outside the bounds"),
        ("changes_not_advised", "not advised"),
        ("claims_unanswered", "a setting not answered"),
        ("unanswered", "not answered"),
    ):
        for one in result[key]:
            print(f"  {words} {one['id']}: {one['why']}")


if __name__ == "__main__":
    main()
