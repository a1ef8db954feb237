"""``zplan doctor``: what this machine has, and what it means for planning."""

from typing import Annotated

import typer

from zplan.cli.command import Command
from zplan.cli.options import OUTPUT
from zplan.cli.output import draw, emit
from zplan.errors import ExitCode

app = typer.Typer(add_completion=False)


@app.command(cls=Command)
def doctor(
    json: Annotated[
        bool, typer.Option("--json", rich_help_panel=OUTPUT, help="One JSON object; sizes are bytes.")
    ] = False,
) -> ExitCode:
    """Show what this machine has: cards, software, RAM and its limits, shared memory, disk.

    Nothing is changed, nothing is imported that takes long, and nothing fails because something is missing.
    Other commands take the same from `--gpu auto` and `--host-mem auto`.

    \b
    zplan doctor
    zplan doctor --json
    zplan estimate --params 7B --gpu auto --host-mem auto
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    from zplan.advice.doctor import findings
    from zplan.inputs.machine import read_machine

    machine = read_machine()
    rows = findings(machine)
    if json:
        from zplan.render.doctor import doctor_object
        from zplan.render.jsonout import dumps

        emit(dumps(doctor_object(machine, rows)))
        return ExitCode.OK

    from zplan.render.doctor import render_doctor

    draw(lambda console: render_doctor(console, rows))
    return ExitCode.OK
