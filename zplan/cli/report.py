"""``zplan report``: everything about a plan in one HTML file."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from zplan.cli.command import Command, takes_options
from zplan.cli.options import OUTPUT, PlanOptions
from zplan.cli.output import emit, one_line
from zplan.cli.parse import parse_word
from zplan.cli.plan import PlanSet, build_plans
from zplan.cli.start import with_start
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from zplan.advice.decision import Step
    from zplan.advice.levers import Lever
    from zplan.advice.sweep import Frontier, Sweep
    from zplan.memory.moments import Estimate
    from zplan.render.html import Report
    from zplan.spec import Plan

app = typer.Typer(add_completion=False)

DEFAULT_FILE = "zplan-report.html"
_BATCHES = (1, 2, 4, 8, 16)
_LENGTHS = (1024, 2048, 4096, 8192, 16384, 32768)


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportOptions:
    """Where the report goes."""

    output: Annotated[
        str | None,
        Option(
            "--output", "-o", metavar="FILE", rich_help_panel=OUTPUT,
            help=f"Where to; - is standard output. Default: {DEFAULT_FILE}.",
        ),
    ] = None  # fmt: skip
    force: Annotated[bool, Option("--force", rich_help_panel=OUTPUT, help="Replace an existing file.")] = False
    unit: Annotated[
        str | None,
        Option("--unit", metavar="UNIT", rich_help_panel=OUTPUT, help="GiB (2^30 bytes) or GB (10^9). Default: GiB."),
    ] = None


@app.command(cls=Command)
@takes_options
def report(plan: PlanOptions, output: ReportOptions) -> ExitCode:
    """Write one HTML file: verdict, every stage against the card, a step as a timeline, levers, reasons, sources.

    The file needs nothing else: no scripts, no network. It prints, follows the system's light or dark mode, and holds
    every number of every picture in a table. With --stage, that plan is shown in full; without, the mildest that fits.

    \b
    zplan report --params 7B --gpus 8 --gpu a100-80g -o report.html
    zplan report --model llama-3.1-8b --gpus 8 --gpu h100-80g --stage 3 --offload optimizer -o report.html --force
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    from zplan.render.html import report_page

    unit = Unit(parse_word(output.unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    options, source = with_start(plan, verb="report")
    page = report_page(build_report(options, source=source, unit=unit), unit=unit)
    if output.output == "-":
        emit(page)
        return ExitCode.OK
    from zplan.export.files import save_text

    saved = save_text(DEFAULT_FILE if output.output is None else output.output, page, force=output.force)
    typer.echo(one_line(f"{saved} written"), err=True)
    return ExitCode.OK


def build_report(options: PlanOptions, *, source: str | None = None, unit: Unit = Unit.GIB) -> "Report":
    """Gather what the page shows.

    Args:
        options: The words of the command line.
        source: Where the plan comes from, if it was not typed.
        unit: Unit of sizes in sentences.

    Returns:
        The values of the page.

    Raises:
        ZplanError: the options make no plan.
    """
    from zplan import __version__
    from zplan.cli.estimate import explain_peak, price, time_of
    from zplan.memory.explain import symbols
    from zplan.memory.summary import overall_verdict, plan_label, runtime_sources
    from zplan.render.html import Report
    from zplan.render.jsonout import dumps, estimate_object

    wanted = build_plans(options)
    compared = wanted if len(wanted.plans) > 1 else _side_by_side(options, wanted)
    estimates = [price(one, worst_rank=compared.worst_rank) for one in compared.plans]
    times = [time_of(one) for one in compared.plans]
    chosen, because = _choose(estimates, wanted)
    index = estimates.index(chosen)
    decision, command = _decision(options, unit)
    found, edge = _batches(chosen.plan)
    terms = [explain_peak(result) for result in estimates]
    notes = wanted.assumptions if source is None else (f"the plan of {source}", *wanted.assumptions)
    return Report(
        estimates=tuple(estimates),
        times=tuple(times),
        chosen=chosen,
        chosen_because=because,
        time=times[index],
        label=plan_label(chosen.plan.job),
        verdict=overall_verdict(chosen),
        terms=tuple(terms[index]),
        symbols=symbols(chosen),
        sources=runtime_sources(chosen.plan.job.engine, chosen.plan.job.stage),
        levers=_levers(chosen),
        decision=decision,
        recommended=command,
        sweep=found,
        frontier=edge,
        assumptions=notes,
        json=dumps(estimate_object(estimates, terms, notes, times)),
        version=__version__,
    )


def _side_by_side(options: PlanOptions, wanted: PlanSet) -> PlanSet:
    """The plan that was asked for among all stages; alone where its engine has none."""
    try:
        everything = build_plans(replace(options, stage="all", offload=None, hpz=None))
    except ZplanError:
        return wanted
    if wanted.plans[0].job.stage == 0 and len(everything.plans) == 1:
        return wanted
    asked = wanted.plans[0]
    others = [one for one in everything.plans if _key(one) != _key(asked)]
    plans = sorted([*others, asked], key=_key)
    return wanted._replace(plans=tuple(plans))


def _key(plan: "Plan") -> tuple[int, int, int]:
    from zplan.spec import Offload, OffloadTo

    job = plan.job
    where = list(OffloadTo).index(job.offload_to) if job.offload is not Offload.NONE else 0
    return job.stage, list(Offload).index(job.offload), where


def _choose(estimates: "Sequence[Estimate]", wanted: PlanSet) -> "tuple[Estimate, str]":
    """The plan that is shown in full: the one that was asked for, or the mildest that fits, and why."""
    from zplan.memory.summary import overall_verdict

    if len(wanted.plans) == 1:
        asked = _key(wanted.plans[0])
        return next(one for one in estimates if _key(one.plan) == asked), "Shown in full as asked for."
    for verdict, why in (
        ("fits", "Shown in full: the mildest plan that fits."),
        ("tight", "Shown in full: the mildest plan that fits by its expected value; none fits for certain."),
    ):
        for one in estimates:
            if overall_verdict(one) == verdict:
                return one, why
    smallest = min(estimates, key=lambda one: one.runtime.device_expected_bytes)
    if all(overall_verdict(one) is None for one in estimates):
        return smallest, "Shown in full: the plan that needs least; how much memory a card has was not given."
    return smallest, "Shown in full: the plan that comes closest; none fits."


def _levers(chosen: "Estimate") -> "tuple[Lever, ...]":
    from zplan.advice.levers import levers

    return levers(chosen.plan, chosen)


def _decision(options: PlanOptions, unit: Unit) -> "tuple[tuple[Step, ...], str]":
    """The decision path of ``zplan recommend`` and the command that shows it; nothing where it has no answer."""
    from zplan.advice.recommend import recommend
    from zplan.cli.recommend import GoalOptions, _questions

    # Which stage to run is the question here, also where one is asked for.
    options = replace(options, stage=None, offload=None, offload_to=None, hpz=None, zero_init=None)
    try:
        questions, _ = _questions(options, GoalOptions())
        found = recommend(questions, gpus_given=options.gpus is not None or options.nodes is not None, unit=unit)
    except ZplanError:
        return (), ""
    return found.decision, "zplan recommend " + _typed(options)


def _typed(options: PlanOptions) -> str:
    """The options as they can be typed again."""
    import shlex
    from dataclasses import fields

    words = []
    for field in fields(options):
        value = getattr(options, field.name)
        if value:
            flag = "--" + field.name.replace("_", "-")
            words.append(flag if value is True else f"{flag} {shlex.quote(value)}")
    return " ".join(words)


def _batches(plan: "Plan") -> "tuple[Sweep, Frontier | None]":
    """The chosen plan with other micro-batches and sequence lengths."""
    from zplan.advice.sweep import Axis, frontier, sweep
    from zplan.spec import Plan as AnyPlan

    job, longest = plan.job, max(plan.model.max_seq_len, plan.job.seq_len)
    batches = sorted({*_BATCHES, job.micro_batch})
    lengths = sorted({*(length for length in _LENGTHS if length <= longest), job.seq_len})
    axes = (
        Axis(name="micro_batch", labels=tuple(map(str, batches)), values=tuple(batches)),
        Axis(name="seq_len", labels=tuple(map(str, lengths)), values=tuple(lengths)),
    )
    plans = [
        AnyPlan(model=plan.model, cluster=plan.cluster, job=replace(job, micro_batch=batch, seq_len=length))
        for batch in batches
        for length in lengths
    ]
    found = sweep(axes, plans)
    return found, frontier(found)
