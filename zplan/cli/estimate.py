"""``zplan estimate``: predicted memory of one plan, or of every stage side by side."""

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from zplan.cli.command import Command, takes_options
from zplan.cli.lastplan import save_last_plan
from zplan.cli.options import OutputOptions, PhaseOptions, PlanOptions
from zplan.cli.output import draw, emit
from zplan.cli.parse import parse_word
from zplan.cli.phases import parse_phases, with_notes
from zplan.cli.plan import PlanSet, build_plans
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from zplan.advice.timing import StepTime
    from zplan.memory.explain import TermExplanation
    from zplan.memory.moments import Estimate
    from zplan.spec import Beyond, Plan

app = typer.Typer(add_completion=False)


@app.command(cls=Command)
@takes_options
def estimate(
    plan: PlanOptions,
    phases: PhaseOptions,
    output: OutputOptions,
    file: Annotated[
        str | None, Argument(metavar="FILE", help="A plan file: zplan.yaml, or an estimate's JSON.")
    ] = None,
    measured: Annotated[
        str | None,
        Option(
            "--measured", metavar="FILE", help="Show what `zplan verify --save FILE` measured beside the prediction."
        ),
    ] = None,
) -> ExitCode:
    """Predict the memory of a training run, term by term, before it runs.

    Without --stage, all stages and the useful offload variants are shown side by side; with one, that plan in full.

    \b
    zplan estimate --params 7B --gpus 8 --gpu-mem 80
    zplan estimate --model llama-3.1-8b --gpus 8 --gpu h100-80g --seq-len 8k
    zplan estimate --params 13B --gpus 16 --gpu a100-40g --stage 3 --explain
    zplan estimate --model qwen2.5-7b --gpus 2 --gpu-mem 24 --lora 16 --json
    zplan estimate --params 7B --gpus 8 --gpu-mem 80 --phases all
    zplan estimate zplan.yaml --seq-len 16k
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    unit = Unit(parse_word(output.unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    beyond = parse_phases(phases)
    if file is None:
        wanted = build_plans(plan)
    else:
        from zplan.cli.filewords import with_planfile

        wanted, plan = with_planfile(plan, file)
    if measured is not None:
        from zplan.cli.measured import show_beside

        return show_beside(measured, wanted, json=output.json, unit=unit)
    if output.fail_if_oom and wanted.plans[0].cluster.gpu_capacity_bytes is None:
        raise ZplanError("--fail-if-oom needs to know how much memory a card has", "add --gpu-mem 80 or --gpu a100-80g")
    estimates = [price(one, worst_rank=wanted.worst_rank, beyond=beyond) for one in wanted.plans]
    wanted = wanted._replace(assumptions=with_notes(wanted.assumptions, estimates))
    times = [time_of(one) for one in wanted.plans]
    if output.json:
        _print_json(estimates, times, wanted)
    else:
        draw(lambda console: _draw(console, estimates, times, wanted, explain=output.explain, unit=unit))
    save_last_plan(plan)
    return verdict_code(estimates) if output.fail_if_oom else ExitCode.OK


def price(plan: "Plan", *, worst_rank: bool = False, beyond: "Beyond | None" = None) -> "Estimate":
    """Estimate a plan, for the rank that it names or for the one that holds most, with phases beside the step if any."""
    from zplan.memory.estimate import estimate as estimate_plan

    result = estimate_plan(plan)
    if worst_rank and result.worst_rank != plan.job.rank:
        result = estimate_plan(replace(plan, job=replace(plan.job, rank=result.worst_rank)))
    if beyond is None:
        return result
    from zplan.memory.beyond import with_phases

    return with_phases(result, beyond)


def time_of(plan: "Plan") -> "StepTime | None":
    """Step time, None where the card is not known."""
    if plan.cluster.gpu is None:
        return None
    from zplan.advice.timing import step_time

    return step_time(plan)


def explain_peak(result: "Estimate") -> list["TermExplanation"]:
    """One explanation per term of the peak moment, largest first."""
    from zplan.memory.explain import explain_term

    moment = result.peak_moment
    keys = sorted(moment.terms, key=lambda key: -moment.terms[key])
    return [explain_term(result, moment, key) for key in keys]


def verdict_code(estimates: "Sequence[Estimate]") -> ExitCode:
    """3 when none of the plans fits, tightly or otherwise."""
    from zplan.memory.summary import overall_verdict

    nothing_fits = all(overall_verdict(result) == "oom" for result in estimates)
    return ExitCode.DOES_NOT_FIT if nothing_fits else ExitCode.OK


def _print_json(estimates: "Sequence[Estimate]", times: "Sequence[StepTime | None]", wanted: PlanSet) -> None:
    from zplan.render.jsonout import dumps, estimate_object

    terms = [explain_peak(result) for result in estimates]
    emit(dumps(estimate_object(estimates, terms, wanted.assumptions, times)))


def _draw(
    console: "Console",
    estimates: "Sequence[Estimate]",
    times: "Sequence[StepTime | None]",
    wanted: PlanSet,
    *,
    explain: bool,
    unit: Unit,
) -> None:
    from zplan.memory.explain import symbols
    from zplan.memory.explain_host import host_terms
    from zplan.render.breakdown import render_plan
    from zplan.render.explanation import render_explanations, render_phases
    from zplan.render.text import render_comparison

    if len(estimates) == 1:
        render_plan(console, estimates[0], wanted.assumptions, unit=unit, time=times[0])
    else:
        render_comparison(console, estimates, wanted.assumptions, unit=unit, times=times)
    if explain:
        for result in estimates:
            render_explanations(
                console, result, explain_peak(result), symbols(result), on_host=host_terms(result), unit=unit
            )
            render_phases(console, result, unit=unit)
