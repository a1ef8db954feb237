"""``zplan recommend``: the plan to run, the reasons, and its config."""

from dataclasses import dataclass, fields, replace
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from zplan.cli.command import Command, takes_options
from zplan.cli.options import PlanOptions
from zplan.cli.output import draw, emit
from zplan.cli.parse import parse_word
from zplan.cli.plan import Request, plans_of, read_request
from zplan.cli.start import with_start
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit, parse_int, quote

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from zplan.advice.goals import Goal
    from zplan.advice.recommend import Recommendation
    from zplan.advice.space import Question
    from zplan.spec import ModelSpec, Plan

app = typer.Typer(add_completion=False)

GOAL, CONFIG, OUTPUT = "Goal", "Config", "Output"
_PLAN_NAMES = {f.name for f in fields(PlanOptions)}
_SEARCHED = ("micro-batch 1", "no gradient accumulation", "activation checkpointing off", "standard loss", "zero.Init")
"""Assumptions of an estimate that a search decides instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalOptions:
    """What to look for, and what to do with the answer."""

    goal: Annotated[
        str | None,
        Option(
            "--goal",
            metavar="GOAL",
            rich_help_panel=GOAL,
            help="fastest, min-gpus, max-micro-batch, max-seq, largest-model or cheapest. Default: fastest.",
        ),
    ] = None
    price: Annotated[
        str | None,
        Option(
            "--price",
            metavar="P",
            rich_help_panel=GOAL,
            help="Per GPU-hour: 2.50, or one per card of --gpu: 1.80,3.20. Default: the preset's, if it has one.",
        ),
    ] = None
    global_batch: Annotated[
        str | None,
        Option(
            "--global-batch",
            metavar="B",
            rich_help_panel=GOAL,
            help="Sequences per optimizer step over all GPUs, kept exactly.",
        ),
    ] = None
    write: Annotated[
        str | None,
        Option("--write", metavar="FILE", rich_help_panel=CONFIG, help="Write the plan's config, e.g. ds_config.json."),
    ] = None
    format: Annotated[
        str | None,
        Option(
            "--format",
            metavar="FORMAT",
            rich_help_panel=CONFIG,
            help="deepspeed, accelerate, fsdp or trainer. Default: what the engine reads.",
        ),
    ] = None
    force: Annotated[bool, Option("--force", rich_help_panel=CONFIG, help="Replace an existing file.")] = False
    json: Annotated[bool, Option("--json", rich_help_panel=OUTPUT, help="One JSON object; sizes are bytes.")] = False
    unit: Annotated[
        str | None,
        Option("--unit", metavar="UNIT", rich_help_panel=OUTPUT, help="GiB (2^30 bytes) or GB (10^9). Default: GiB."),
    ] = None


@app.command(cls=Command)
@takes_options
def recommend(plan: PlanOptions, goal: GoalOptions) -> ExitCode:
    """Pick stage, offload, checkpointing and micro-batch, say why, and write the config.

    Whatever is named stays as it is; everything else is searched. Without a model it goes on from zplan.yaml, the last
    estimate, or asks.

    \b
    zplan recommend --params 7B --gpus 8 --gpu a100-80g --seq-len 4096
    zplan recommend --model llama-3.1-70b --gpus 16 --gpu h100-80g --global-batch 512 --write ds_config.json
    zplan recommend --model qwen2.5-7b --gpu rtx-4090-24g --goal min-gpus
    zplan recommend --model llama-3.1-8b --gpus 8 --gpu a100-80g,h100-80g --goal cheapest --price 1.80,3.20
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    from zplan.advice.recommend import recommend as pick

    unit = Unit(parse_word(goal.unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    aim = _goal(goal.goal)
    _contradiction(aim.value, plan, goal)
    options, source = with_start(plan, verb="recommend")
    forgotten = set(_PINNED_BY_GOAL.get(aim.value, ())) & _PLAN_NAMES
    options = replace(options, **dict.fromkeys(forgotten))  # type: ignore[arg-type]
    questions, notes = _questions(options, goal)
    if source is not None:
        notes = (f"the plan of {source}", *notes)
    models = _family(questions[0].base.model, options) if aim.value == "largest-model" else ()
    gpus_given = options.gpus is not None or options.nodes is not None
    found = pick(questions, aim, prices=_prices(goal.price, questions), models=models, gpus_given=gpus_given, unit=unit)
    config = _config(found, goal)
    if goal.json:
        from zplan.render.jsonout import dumps
        from zplan.render.recommend import recommendation_object

        emit(dumps(recommendation_object(found, notes, config)))
    else:
        commands = _commands(found, options, config, goal.write)

        def paint(console: Any) -> None:
            from zplan.render.recommend import render_recommendation

            render_recommendation(console, found, notes, commands, unit=unit)

        draw(paint)
    return ExitCode.OK if found.recommended is not None else ExitCode.DOES_NOT_FIT


_PINNED_BY_GOAL = {
    "max-seq": ("seq_len",),
    "max-micro-batch": ("micro_batch", "global_batch"),
}
"""Options that say what a goal is to find."""


def _contradiction(aim: str, plan: PlanOptions, goal: GoalOptions) -> None:
    """Refuse a goal whose answer was typed as well; what a file or the last plan says is overridden."""
    for name in _PINNED_BY_GOAL.get(aim, ()):
        if getattr(goal if name == "global_batch" else plan, name) is not None:
            flag = "--" + name.replace("_", "-")
            raise ZplanError(f"--goal {aim} looks for what {flag} fixes", f"leave {flag} or --goal {aim} out")


def _goal(word: str | None) -> "Goal":
    from zplan.advice.goals import Goal

    return Goal(parse_word(word, [g.value for g in Goal], flag="--goal", what="goal") or Goal.FASTEST)


def _questions(options: PlanOptions, goal: GoalOptions) -> "tuple[list[Question], tuple[str, ...]]":
    """One question per card, and what was assumed."""
    from zplan.advice.space import Question

    cards = [word.strip() for word in options.gpu.split(",")] if options.gpu else [None]
    if len(cards) > 1 and options.gpu_mem is not None:
        raise ZplanError("--gpu-mem gives one card's memory, but --gpu names several", "leave --gpu-mem out")
    batch = None
    if goal.global_batch is not None:
        batch = parse_int(goal.global_batch, flag="--global-batch", minimum=1, maximum=10_000_000, example="256")
    model = None
    questions: list[Question] = []
    notes: tuple[str, ...] = ()
    for card in cards:
        request = read_request(replace(options, gpu=card), model=model)
        model = request.model
        wanted = plans_of(request)
        base = _open(wanted.plans[0], request)
        questions.append(Question(base=base, pins=_pins(request, options), global_batch=batch))
        notes = notes or wanted.assumptions
    kept = tuple(note for note in notes if not note.startswith(_SEARCHED))
    return questions, kept


def _open(plan: "Plan", request: Request) -> "Plan":
    """The plan to start from: what is searched stands at its default."""
    from zplan.spec import Engine, Offload

    job = replace(plan.job, stage=0, offload=Offload.NONE, hpz=1)
    if job.engine in (Engine.FSDP2, Engine.FSDP1):
        job = replace(job, stage=3)
    return replace(plan, job=replace(job, zero_init=request.words.zero_init))


def _pins(request: Request, options: PlanOptions) -> "Any":
    from zplan.advice.space import Pins

    words = request.words
    return Pins(
        stage=words.stage,
        offload=words.offload,
        offload_to=words.offload_to,
        micro_batch=words.micro_batch,
        checkpointing=words.checkpointing,
        loss=words.loss,
        hpz=words.hpz,
        grad_accum=words.grad_accum,
        attention=words.attention,
        buckets=options.ds_config is not None,
    )


def _prices(text: str | None, questions: "Sequence[Question]") -> list[float | None]:
    """Price per GPU-hour of each card."""
    if text is None:
        return [one.base.cluster.gpu.price_per_hour if one.base.cluster.gpu else None for one in questions]
    words = text.split(",")
    if len(words) not in (1, len(questions)):
        raise ZplanError(
            f"--price gives {len(words)} prices, and --gpu names {len(questions)}",
            "give one price, or one per card of --gpu",
        )
    prices: list[float | None] = [_price(word) for word in words]
    return prices * len(questions) if len(prices) == 1 else prices


def _price(word: str) -> float:
    try:
        value = float(word)
    except ValueError:
        value = -1.0
    if not 0 < value < 1e6:
        raise ZplanError(f"--price must be a positive number, not {quote(word)}", "try --price 2.50")
    return value


_LADDER = (
    "0.5B",
    "1B",
    "1.5B",
    "3B",
    "7B",
    "8B",
    "13B",
    "14B",
    "20B",
    "30B",
    "34B",
    "40B",
    "65B",
    "70B",
    "110B",
    "175B",
)


def _family(model: "ModelSpec", options: PlanOptions) -> "list[ModelSpec]":
    """Models of the same family, smallest first: presets, or published shapes for ``--params``."""
    from zplan.inputs.model import resolve_model
    from zplan.inputs.presets import list_models, load_model

    if options.params is not None:
        return [resolve_model(params=size, model=None) for size in _LADDER]
    word = model.name.split("-")[0].rstrip("0123456789.")
    found = [load_model(name) for name in list_models() if name.startswith(word)]
    same = [one for one in found if one.family == model.family]
    if not same:
        raise ZplanError(
            f"there are no presets of the family of {quote(model.name)}", "name one: zplan presets ls models"
        )
    return sorted(same, key=lambda one: one.params)


def _config(found: "Recommendation", goal: GoalOptions) -> dict[str, Any]:
    """The config of the recommended plan, written where ``--write`` says."""
    from zplan.export.config import FORMATS, default_format, explain_config, write_config

    fmt = parse_word(goal.format, FORMATS, flag="--format", what="format")
    if found.recommended is None:
        return {}
    plan = found.recommended.plan
    fmt = fmt or default_format(plan)
    try:
        content = write_config(plan, fmt, as_json=(goal.write or "").lower().endswith(".json"))
    except ZplanError:
        if goal.write is not None or goal.format is not None:
            raise
        return {}
    path = None
    if goal.write is not None:
        path = str(_save(plan, goal.write, fmt, content, force=goal.force))
    return {"format": fmt, "content": content, "path": path, "notes": list(explain_config(plan, fmt))}


def _save(plan: "Plan", path: str, fmt: str, content: str, *, force: bool) -> "Path":
    """Writes a config and what it names beside it; nothing where one of them exists and is not to be replaced."""
    from pathlib import Path

    from zplan.export.config import beside_config
    from zplan.export.files import check_target, save_text

    check_target(path, force=force)
    beside = {Path(path).with_name(name): text for name, text in beside_config(plan, fmt).items()}
    for other in beside:
        check_target(other, force=force)
    for other, text in beside.items():
        if other != Path(path):
            save_text(other, text, force=force)
    return save_text(path, content, force=force)


def _commands(found: "Recommendation", options: PlanOptions, config: dict[str, Any], written: str | None) -> list[str]:
    """What to run next, as it can be typed; ``written``: what --write named."""
    best = found.recommended
    if best is None:
        return []
    flags = partial(_flags, best.plan, other_model=found.goal.value == "largest-model")
    line = flags(options)
    name = {"deepspeed": "ds_config.json", "accelerate": "accelerate.yaml"}.get(config.get("format", ""), "config.json")
    # No option says buckets and ratios: without the file another plan would be verified.
    tuned = config.get("format") == "deepspeed" and best.plan.job.deepspeed != found.question.base.job.deepspeed
    told = flags(replace(options, ds_config=written or name)) if tuned else line
    commands = [f"zplan verify {told}"]
    if config.get("path"):
        return [f"# {config['path']} written ({config['format']})", *(f"# {n}" for n in config["notes"]), *commands]
    if config:
        commands.insert(0, f"zplan recommend {line} --write {name}")
    return commands


def _flags(plan: "Plan", options: PlanOptions, *, other_model: bool) -> str:
    """The recommended plan in the words of the options: what was typed, and what was found.

    ``other_model``: the model was found, too.
    """
    import shlex

    job, cluster = plan.job, plan.cluster
    words = {f.name: getattr(options, f.name) for f in fields(PlanOptions)}
    if other_model:
        words["params" if options.params is not None else "model"] = plan.model.name
    words.update(
        gpus=str(cluster.gpus),
        nodes=words["nodes"] if options.gpus is not None and options.gpus == str(cluster.gpus) else None,
        gpu=cluster.gpu.name if cluster.gpu is not None and options.gpu is not None else words["gpu"],
        stage=None if job.engine.value in ("ddp", "single") else str(job.stage),
        offload=job.offload.value if job.offload.value != "none" else None,
        offload_to=job.offload_to.value if job.offload_to.value != "cpu" else None,
        micro_batch=str(job.micro_batch),
        seq_len=str(job.seq_len),
        grad_accum=str(job.grad_accum) if job.grad_accum > 1 else None,
        checkpointing=str(job.checkpointing) if job.checkpointing.kind != "none" else None,
        loss=job.loss.value if job.loss.value != "standard" else None,
        hpz=str(job.hpz) if job.hpz > 1 else None,
    )
    parts = []
    for name, word in words.items():
        flag = "--" + name.replace("_", "-")
        parts += [flag] if word is True else [f"{flag} {shlex.quote(word)}"] if word else []
    return " ".join(parts)
