"""``zplan diff``: what changed between two estimates."""

from typing import TYPE_CHECKING, Annotated

import typer

from zplan.cli.command import Command
from zplan.cli.options import OUTPUT
from zplan.cli.output import draw, emit
from zplan.cli.parse import parse_word
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit

if TYPE_CHECKING:
    from rich.console import Console

app = typer.Typer(add_completion=False)


@app.command(cls=Command)
def diff(
    before: Annotated[
        str | None, typer.Argument(metavar="A.json", help="What `zplan estimate --json` printed before.")
    ] = None,
    after: Annotated[str | None, typer.Argument(metavar="B.json", help="And after.")] = None,
    json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUTPUT, help="One JSON object; sizes are bytes.")
    ] = False,
    unit: Annotated[
        str | None,
        typer.Option(
            "--unit", metavar="UNIT", rich_help_panel=OUTPUT, help="GiB (2^30 bytes) or GB (10^9). Default: GiB."
        ),
    ] = None,
) -> ExitCode:
    """Show what changed between two plans: settings, terms, phases, totals and verdict.

    \b
    zplan estimate --params 7B --gpus 8 --gpu-mem 80 --stage 2 --json > a.json
    zplan estimate --params 7B --gpus 8 --gpu-mem 80 --stage 3 --json > b.json
    zplan diff a.json b.json
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    from zplan.advice.diff import diff as compare
    from zplan.inputs.estimatefile import read_estimate

    size_unit = Unit(parse_word(unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    if before is None or after is None:
        raise ZplanError("zplan diff compares two files", "name both: zplan diff a.json b.json")
    found = compare(read_estimate(before), read_estimate(after))
    if json:
        from zplan.render.diff import diff_object
        from zplan.render.jsonout import dumps

        emit(dumps(diff_object(found)))
        return ExitCode.OK

    def paint(console: "Console") -> None:
        from zplan.render.diff import render_diff

        render_diff(console, found, unit=size_unit)

    draw(paint)
    return ExitCode.OK
