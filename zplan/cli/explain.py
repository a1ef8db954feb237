"""``zplan explain``: what a term is, or what an out-of-memory message means."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from zplan.cli.command import Command, takes_options
from zplan.cli.options import OUTPUT, PlanOptions
from zplan.cli.output import draw, emit
from zplan.cli.parse import parse_word, unknown
from zplan.cli.plan import PlanSet, build_plans
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit

if TYPE_CHECKING:
    from zplan.advice.oom import Decoded
    from zplan.inputs.oommessage import OomMessage
    from zplan.memory.moments import Estimate
    from zplan.spec import Plan

app = typer.Typer(add_completion=False)

SYNONYMS = {
    "weights": "params",
    "parameters": "params",
    "gradients": "grads",
    "adam": "optimizer",
    "moments": "optimizer",
    "states": "optimizer",
    "bucket": "reduce_bucket",
    "buckets": "reduce_bucket",
    "scores": "attention_scores",
    "context": "cuda_context",
    "cache": "fragmentation",
    "reserved": "fragmentation",
    "pinned": "pinned_rounding",
    "lora": "adapters",
    "temporaries": "optimizer_temporaries",
}
"""Words that people use -> term keys."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExplainOptions:
    """What to explain, and how to show it."""

    oom: Annotated[
        str | None,
        Option("--oom", metavar="FILE", help="A log with an out-of-memory message; - for standard input."),
    ] = None
    list: Annotated[bool, Option("--list", help="All terms, one line each.", show_default=False)] = False
    json: Annotated[
        bool, Option("--json", rich_help_panel=OUTPUT, help="One JSON object; sizes are bytes.", show_default=False)
    ] = False
    unit: Annotated[
        str | None,
        Option("--unit", metavar="UNIT", rich_help_panel=OUTPUT, help="GiB (2^30 bytes) or GB (10^9). Default: GiB."),
    ] = None


@app.command(cls=Command)
@takes_options
def explain(
    plan: PlanOptions,
    options: ExplainOptions,
    term: Annotated[str | None, Argument(metavar="TERM", help="A term, as estimate shows it: logits, master.")] = None,
) -> ExitCode:
    """Explain a term of an estimate, or an out-of-memory message.

    With a plan (typed, zplan.yaml, or the last estimate) in its numbers. Of a log it says which tensor did not fit, why
    there was no room for it, and what to change.

    \b
    zplan explain logits --model llama-3.1-8b --gpus 8 --micro-batch 4
    zplan explain --list
    zplan explain --oom train.log --model llama-2-7b --gpus 8 --stage 2
    python train.py 2>&1 | zplan explain --oom -
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    unit = Unit(parse_word(options.unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    if sum((options.list, options.oom is not None, term is not None)) > 1:
        raise ZplanError("a term, --list and --oom are three different questions", "ask one: zplan explain logits")
    if options.list:
        _list(options.json)
    elif options.oom is not None:
        _oom(options.oom, plan, options.json, unit)
    elif term is not None:
        _term(term, plan, options.json, unit)
    else:
        raise ZplanError(
            "explain what?", "zplan explain logits, zplan explain --oom train.log, or zplan explain --list"
        )
    return ExitCode.OK


def _list(as_json: bool) -> None:
    from zplan.memory.terms import TERMS
    from zplan.render.explain import render_terms, terms_object
    from zplan.render.jsonout import dumps

    terms = list(TERMS.values())
    if as_json:
        emit(dumps(terms_object(terms)))
    else:
        draw(lambda console: render_terms(console, terms))


def term_key(word: str) -> str:
    """The term that a word means.

    Raises:
        ZplanError: no term; the hint names the nearest.
    """
    from zplan.memory.summary import TERM_TITLES
    from zplan.memory.terms import TERMS

    plain = word.strip().lower().replace("-", "_").replace(" ", "_")
    titles = {title.lower().replace(" ", "_"): key for key, title in reversed(list(TERM_TITLES.items()))}
    for names in (TERMS, SYNONYMS, titles):
        if plain in names:
            return plain if names is TERMS else str(names[plain])
    raise unknown(plain, TERMS, what="term", template="zplan explain {}", otherwise="list them: zplan explain --list")


def _at_hand(options: PlanOptions) -> tuple[PlanOptions | None, str | None]:
    """Options that name a model, and where from; None when nothing does."""
    from zplan.cli.lastplan import load_last_plan
    from zplan.cli.start import PLAN_FILE, with_start

    if options.model is None and options.params is None and not Path(PLAN_FILE).exists() and load_last_plan() is None:
        return None, None
    return with_start(options, verb="explain")


def _term(word: str, options: PlanOptions, as_json: bool, unit: Unit) -> None:
    from zplan.cli.estimate import explain_peak, price
    from zplan.memory.terms import TERMS, explain_in_plan
    from zplan.render.explain import render_term, term_object
    from zplan.render.jsonout import dumps, plan_object

    about = TERMS[term_key(word)]
    named, origin = _at_hand(options)
    if named is None:
        if as_json:
            emit(dumps(term_object(about, None, None)))
        else:
            draw(lambda console: render_term(console, about, None, None, unit=unit))
        return
    wanted = build_plans(named)
    # Without a stage there are several plans: the first that has the term shows it.
    estimates = [price(plan, worst_rank=wanted.worst_rank) for plan in wanted.plans]
    found = [explain_in_plan(estimate, about.key) for estimate in estimates]
    index = next((i for i, one in enumerate(found) if one.explanation.bytes), 0)
    if as_json:
        emit(dumps(term_object(about, found[index], plan_object(estimates[index], explain_peak(estimates[index])))))
    else:
        plan = wanted.plans[index]
        draw(lambda console: render_term(console, about, found[index], plan, origin=origin, unit=unit))


def _oom(path: str, options: PlanOptions, as_json: bool, unit: Unit) -> None:
    from zplan.inputs.oomlog import read_oom_log
    from zplan.render.jsonout import dumps
    from zplan.render.oom import oom_object, render_oom

    named, origin = _at_hand(options)
    wanted = None if named is None else build_plans(named)  # refused before a long log is read
    log = read_oom_log(path)
    message = log.primary
    if named is None or wanted is None:
        from zplan.advice.oom import decode

        decoded, plan, estimate, assumptions = decode(message, None), None, None, []
    else:
        completed, more = _from_log(named, message)
        wanted = build_plans(completed) if more else wanted
        decoded, plan, estimate, which = _best(message, wanted)
        assumptions = [*([f"the plan is {origin}"] if origin else []), *more, *which, *wanted.assumptions]
    if as_json:
        emit(dumps(oom_object(log, decoded, None if estimate is None else _object(estimate), assumptions)))
    else:
        draw(lambda console: render_oom(console, log, decoded, plan, assumptions, command=path, unit=unit))


def _object(estimate: "Estimate") -> dict[str, Any]:
    from zplan.cli.estimate import explain_peak
    from zplan.render.jsonout import plan_object

    return plan_object(estimate, explain_peak(estimate))


def _from_log(options: PlanOptions, message: "OomMessage") -> tuple[PlanOptions, list[str]]:
    """What the traceback and the message say where the options don't."""
    from zplan.advice.oom_stack import engine_of

    notes = []
    engine, stage = engine_of(message.frames)
    said = options.ds_config is not None or options.stage is not None
    if not said and stage is not None and options.engine in (None, engine):
        options = replace(options, stage=str(stage), engine=engine)
        notes.append(f"{engine} stage {stage}, from the traceback (--stage)")
    open_card = options.gpu is None and options.gpu_mem is None and options.node is None
    if open_card and message.total is not None and message.device != "mps":
        options = replace(options, gpu_mem=f"{message.total.bytes}B")
        notes.append("the card's memory from the message (--gpu-mem)")
    return options, notes


def _best(message: "OomMessage", wanted: PlanSet) -> "tuple[Decoded, Plan, Estimate | None, list[str]]":
    """The plan that explains the message best, where the options leave several."""
    from zplan.advice.oom import decode
    from zplan.memory.estimate import estimate as estimate_plan

    def score(plan: "Plan") -> float:
        found = decode(message, None, plan=plan, with_advice=False).candidates
        return found[0].score if found else 0.0

    plan = max(wanted.plans, key=score)  # the first of equals
    notes = []
    if len(wanted.plans) > 1:
        from zplan.memory.summary import plan_label

        notes.append(f"{plan_label(plan.job)}, which matches the message best (--stage)")
    estimate: Estimate | None = None
    try:
        estimate = estimate_plan(plan)
    except ZplanError as error:
        notes.append(f"nothing is priced, since {error.message}")
    return decode(message, estimate, plan=plan), plan, estimate, notes
