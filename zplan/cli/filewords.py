"""A config file in place of options: what it says, completed and overridden by what was typed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace

from zplan.cli.configfile import complete_words
from zplan.cli.options import PlanOptions
from zplan.cli.parse import JobWords
from zplan.cli.plan import PlanSet, Request, plans_of, read_request
from zplan.errors import ZplanError
from zplan.inputs.cluster import supports
from zplan.inputs.deepspeed import DsReading, ds_reading
from zplan.inputs.settings import FileWords
from zplan.spec import Engine, Job, Plan, Precision

OPTION_NAMES = tuple(field.name for field in fields(PlanOptions))
_MODEL = ("params", "model")
_JOB_NAMES = {field.name for field in fields(JobWords)}


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePlan:
    """The one plan that a file makes with what was typed."""

    plan: Plan
    assumptions: tuple[str, ...]
    worst_rank: bool
    reading: DsReading | None
    """What its DeepSpeed config says, where it has one."""


def merged_options(options: PlanOptions, words: Mapping[str, str | bool], source: str) -> tuple[PlanOptions, list[str]]:
    """What was typed, then what a file says.

    Args:
        options: What was typed; it wins.
        words: What the file says, by option name.
        source: What the user called the file.

    Returns:
        The options together, and a note for each word of the file that was overridden.
    """
    found: dict[str, str | bool] = {}
    notes = []
    # Another card brings its own memory, and another number of GPUs its own number of nodes.
    stale = [
        other for one, other in (("gpu", "gpu_mem"), ("gpus", "nodes"), ("nodes", "gpus")) if getattr(options, one)
    ]
    words = {name: word for name, word in words.items() if name not in stale or getattr(options, name)}
    typed_model = any(getattr(options, name) for name in _MODEL)
    for name, word in words.items():
        said = getattr(options, name)
        overridden = said if said else typed_model if name in _MODEL else None
        if not overridden:
            found[name] = word
        elif said and said != word:
            notes.append(f"--{name.replace('_', '-')} {said} overrides {word} in {source}")
    return replace(options, **found), notes  # type: ignore[arg-type]


def with_planfile(options: PlanOptions, path: str) -> tuple[PlanSet, PlanOptions]:
    """The plans of a plan file, as far as nothing else was typed.

    Args:
        options: What was typed.
        path: ``zplan.yaml``, or the JSON of an estimate.

    Returns:
        The plans, and all words together.

    Raises:
        ZplanError: the file cannot be read, or what it says makes no plan.
    """
    from zplan.inputs.planfile import read_planfile

    found = read_planfile(path, options=OPTION_NAMES)
    merged, notes = merged_options(options, found.words, path)
    request = read_request(merged)
    if found.ds is not None and merged.ds_config is None:
        keys = ds_reading(found.ds, model=request.model, gpus=request.cluster.gpus, base=_base(request)).job[
            "deepspeed"
        ]
        request = request._replace(deepspeed=keys)  # type: ignore[arg-type]
    wanted = plans_of(request)
    return wanted._replace(assumptions=(*notes, *found.notes, *wanted.assumptions)), merged


def _base(request: Request) -> Job:
    """What a DeepSpeed config takes from the command line where it says "auto"."""
    words = request.words
    bf16, fp16 = (supports(request.cluster.gpu, name) for name in ("bf16", "fp16"))
    usual = Precision.BF16 if bf16 else Precision.FP16 if fp16 else Precision.FP32
    return Job(precision=words.precision or usual, micro_batch=words.micro_batch or 1, grad_accum=words.grad_accum or 1)


def file_plan(file: FileWords, options: PlanOptions) -> FilePlan:
    """The plan that a config file makes.

    Flags win, then the file's DeepSpeed config, then the rest of the file, then the defaults. What a DeepSpeed config
    asks for is priced even where the hardware cannot do it: that is for the lint to say.

    Args:
        file: The file's settings.
        options: What was typed.

    Returns:
        The plan and what was assumed.

    Raises:
        ZplanError: no plan, or more than one, comes of it.
    """
    if options.stage == "all":
        raise ZplanError("--stage all is many plans, and a file is one", "leave --stage out, or name one: --stage 3")
    if file.ds is not None and options.engine not in (None, Engine.DEEPSPEED.value):
        raise ZplanError(
            f"{file.name} configures DeepSpeed, not {options.engine}",
            "leave --engine out, or zplan estimate without the file",
        )
    merged, notes = merged_options(options, file.words, file.name)
    request = read_request(merged)
    reading = None
    if file.ds is not None:
        reading = ds_reading(file.ds, model=request.model, gpus=request.cluster.gpus, base=_base(request))
        request = _completed(request, reading, options, file.name)
    return _only(plans_of(request), file, notes, reading)


def _completed(request: Request, reading: DsReading, typed: PlanOptions, source: str) -> Request:
    """The request with what its DeepSpeed config says, except where something else was typed."""
    decided = [name for name in reading.job if name in _JOB_NAMES and not getattr(typed, name, None)]
    asked = replace(request.words, **dict.fromkeys(decided))  # type: ignore[arg-type]
    completed, keys, notes = complete_words(reading, asked, source=source)
    # The rules refuse a format that the card lacks and an hpZ that does not divide: a lint's business, not theirs.
    kept = {name: None for name in ("precision", "hpz") if name in decided}
    words = replace(completed, **kept)  # type: ignore[arg-type]
    return request._replace(words=words, deepspeed=keys, notes=(*notes, *request.notes))


def _only(wanted: PlanSet, file: FileWords, notes: list[str], reading: DsReading | None) -> FilePlan:
    if len(wanted.plans) != 1:
        raise ZplanError(f"{file.name} does not say which stage", "add --stage 2")
    plan = wanted.plans[0]
    assumptions = (*notes, *file.notes, *wanted.assumptions)
    if reading is not None and isinstance(reading.job["precision"], Precision):
        plan, assumptions = _as_asked(plan, assumptions, reading)
    return FilePlan(plan=plan, assumptions=assumptions, worst_rank=wanted.worst_rank, reading=reading)


def _as_asked(plan: Plan, assumptions: tuple[str, ...], reading: DsReading) -> tuple[Plan, tuple[str, ...]]:
    """Put in what :func:`_completed` kept from the rules: the number format, and hpZ where the ranks divide."""
    overridden = any(note.startswith("--precision") for note in assumptions)
    hpz = reading.job["hpz"]
    changes: dict[str, object] = {} if overridden else {"precision": reading.job["precision"]}
    if isinstance(hpz, int) and plan.job.hpz == 1 and plan.cluster.gpus % hpz == 0:
        changes["hpz"] = hpz
    job = replace(plan.job, **changes)  # type: ignore[arg-type]
    return replace(plan, job=job), tuple(note for note in assumptions if not note.endswith("(--precision)"))
