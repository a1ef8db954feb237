"""``zplan check``: prices an existing config, and says what is wrong, useless or costly in it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from zplan.cli.command import Command, takes_options
from zplan.cli.estimate import explain_peak, price, time_of, verdict_code
from zplan.cli.options import OUTPUT, OutputOptions, PhaseOptions, PlanOptions
from zplan.cli.output import draw, emit
from zplan.cli.parse import parse_word
from zplan.cli.phases import parse_phases, with_notes
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zplan.advice.lint import Finding
    from zplan.cli.filewords import FilePlan
    from zplan.inputs.settings import FileWords
    from zplan.memory.moments import Estimate

app = typer.Typer(add_completion=False)
_SCRIPT = ("--checkpointing", "--loss")
"""What a training script sets, and a ds_config.json does not know."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FixOptions:
    """Writing a corrected copy."""

    fix: Annotated[
        bool,
        Option("--fix", rich_help_panel=OUTPUT, help="Write a corrected copy beside the file.", show_default=False),
    ] = False
    output: Annotated[
        str | None,
        Option(
            "--output",
            metavar="FILE",
            rich_help_panel=OUTPUT,
            help="Where --fix writes to. Default: NAME.fixed.json.",
            show_default=False,
        ),
    ] = None
    force: Annotated[
        bool,
        Option("--force", rich_help_panel=OUTPUT, help="Let --fix replace an existing file.", show_default=False),
    ] = False


@app.command(cls=Command)
@takes_options
def check(
    plan: PlanOptions,
    phases: PhaseOptions,
    output: OutputOptions,
    fix: FixOptions,
    file: Annotated[str | None, Argument(metavar="FILE", help="A ds_config.json, or a config of another kind.")] = None,
) -> ExitCode:
    """Price exactly what a config says, and list what is wrong, useless or costly in it.

    FILE is a ds_config.json; or an accelerate YAML, a TrainingArguments JSON, a LLaMA-Factory or an axolotl YAML.

    \b
    zplan check ds_config.json --model llama-3.1-8b --gpus 8 --gpu a100-80g
    zplan check ds_config.json --params 7B --gpus 8 --gpu-mem 80 --fix
    zplan check accelerate.yaml --model qwen2.5-7b --gpu-mem 40 --json
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    from zplan.cli.filewords import file_plan
    from zplan.inputs.configfile import read_config_file

    if file is None:
        raise ZplanError("no file was named", "try zplan check ds_config.json --params 7B --gpus 8 --gpu-mem 80")
    unit = Unit(parse_word(output.unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    found = read_config_file(file)
    wanted = file_plan(found, plan)
    if output.fail_if_oom and wanted.plan.cluster.gpu_capacity_bytes is None:
        raise ZplanError("--fail-if-oom needs to know how much memory a card has", "add --gpu-mem 80 or --gpu a100-80g")
    priced = price(wanted.plan, worst_rank=wanted.worst_rank, beyond=parse_phases(phases))
    wanted = replace(wanted, assumptions=with_notes(wanted.assumptions, [priced]))
    findings = _findings(found, wanted, priced)
    written = _write(found, findings, file, fix, plan)
    if output.json:
        _print_json(found, wanted, priced, findings, written)
    else:
        _draw(found, wanted, priced, findings, written, explain=output.explain, unit=unit)
    return verdict_code([priced]) if output.fail_if_oom else ExitCode.OK


def _findings(file: "FileWords", wanted: "FilePlan", priced: "Estimate") -> "tuple[Finding, ...]":
    from zplan.advice.lint import lint
    from zplan.advice.lint_files import lint_file

    beside = lint_file(file, wanted.reading)
    if file.ds is None or wanted.reading is None:
        return beside
    return (*beside, *lint(file.ds, wanted.reading, priced.plan, priced))


def _write(
    file: "FileWords", findings: "Sequence[Finding]", path: str, fix: FixOptions, plan: PlanOptions
) -> str | None:
    """Write the corrected copy that was asked for; returns where it is."""
    if not fix.fix:
        if fix.output is not None or fix.force:
            raise ZplanError(
                f"{'--output' if fix.output else '--force'} belongs to --fix", "add --fix, or leave it out"
            )
        return None
    from zplan.inputs.settings import DEEPSPEED

    if file.kind != DEEPSPEED or file.ds is None:
        raise ZplanError(
            f"--fix corrects a ds_config.json, and {file.name} is of another kind",
            "leave --fix out, or name the ds_config.json",
        )
    from zplan.export.files import save_text

    target = str(Path(path).with_name(f"{Path(path).stem}.fixed.json")) if fix.output is None else fix.output
    save_text(target, _corrected(file, findings, plan), force=fix.force)
    return target


_ROUNDS = 8
"""A key that is moved or renamed may be wrong where it comes to stand; more than two rounds were never seen."""


def _corrected(file: "FileWords", findings: "Sequence[Finding]", plan: PlanOptions) -> str:
    """The file with all edits made, and those that they lead to."""
    import json

    from zplan.advice.lint import fixed_value
    from zplan.cli.filewords import file_plan
    from zplan.inputs.deepspeed import parse_ds_config

    for _ in range(_ROUNDS):
        assert file.ds is not None
        text = json.dumps(fixed_value(file.ds, findings), indent=2) + "\n"
        file = replace(file, ds=parse_ds_config(text, name=file.name))
        try:
            wanted = file_plan(file, plan)
            findings = _findings(file, wanted, price(wanted.plan, worst_rank=wanted.worst_rank))
        except ZplanError:
            break  # what is left is no plan; the edits made so far were asked for
        if not any(finding.edits for finding in findings):
            break
    return text


def _print_json(
    file: "FileWords", wanted: "FilePlan", priced: "Estimate", findings: "Sequence[Finding]", written: str | None
) -> None:
    from zplan.render.check import check_object
    from zplan.render.jsonout import dumps, estimate_object

    times = [time_of(priced.plan)]
    answer = estimate_object([priced], [explain_peak(priced)], wanted.assumptions, times)
    emit(dumps(answer | check_object(file, findings, written)))


def _draw(
    file: "FileWords",
    wanted: "FilePlan",
    priced: "Estimate",
    findings: "Sequence[Finding]",
    written: str | None,
    *,
    explain: bool,
    unit: Unit,
) -> None:
    from rich.console import Console

    from zplan.memory.explain import symbols
    from zplan.memory.explain_host import host_terms
    from zplan.memory.summary import overall_verdict
    from zplan.render.breakdown import render_plan
    from zplan.render.check import render_findings
    from zplan.render.explanation import render_explanations, render_phases

    def paint(console: Console) -> None:
        render_plan(console, priced, wanted.assumptions, unit=unit, time=time_of(priced.plan))
        if explain:
            render_explanations(
                console, priced, explain_peak(priced), symbols(priced), on_host=host_terms(priced), unit=unit
            )
            render_phases(console, priced, unit=unit)
        unsaid = [flag for flag in _SCRIPT if any(f"({flag})" in words for words in wanted.assumptions)]
        verdict = overall_verdict(priced)
        render_findings(console, file, findings, verdict=verdict, unsaid=unsaid, written=written)

    draw(paint)
