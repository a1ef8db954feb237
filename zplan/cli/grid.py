"""From options and axes to the plans of a grid: options are read once, cells replace values in what was read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from zplan.cli.axes import EXAMPLE, MOST_CELLS, TypedAxis, parse_axis, sample
from zplan.cli.options import PlanOptions
from zplan.cli.plan import Request, plans_of, read_request
from zplan.cli.rules import SHARDING
from zplan.errors import ZplanError
from zplan.spec import Engine, ModelSpec, Plan

MOST_AXES = 3
_MODEL = ("params", "model")
_FREE = ("micro_batch", "grad_accum")
"""Numbers of the job that no rule and no default depends on."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The plans to price, in order."""

    axes: tuple[TypedAxis, ...]
    plans: tuple[Plan | ZplanError, ...]
    """An error where the options contradict each other; the last axis runs fastest."""
    assumptions: tuple[str, ...]
    worst_rank: bool


def build_grid(options: PlanOptions, over: Sequence[str]) -> Grid:
    """Build the plans of a sweep.

    Args:
        options: What holds everywhere.
        over: One to three axes, as typed.

    Returns:
        The plans. Where no stage is said, a sharding engine gets its stages as the first axis.

    Raises:
        ZplanError: an axis or option that cannot be read, or a grid that is too large.
    """
    axes = _axes(options, over)
    base = _at_first(options, axes)
    if _is_stageless(base, axes):
        axes = _with_stages(axes, base)
        base = _at_first(options, axes)
    _check_size(axes)
    plans = tuple(_plans(options, axes))
    wanted = next((plan for plan in plans if isinstance(plan, Plan)), None)
    return Grid(
        axes=tuple(axes),
        plans=plans,
        assumptions=() if wanted is None else _assumptions(options, axes),
        worst_rank=base.words.worst_rank,
    )


def _axes(options: PlanOptions, over: Sequence[str]) -> list[TypedAxis]:
    if not over:
        raise ZplanError("a sweep needs something to go over", f"add {EXAMPLE} --over seq-len=2k..32k")
    axes = [parse_axis(text) for text in over]
    names = [axis.axis.name for axis in axes]
    for name in names:
        flag = name.replace("_", "-")
        if names.count(name) > 1:
            raise ZplanError(f"--over {flag} is given twice", f"put all values into one, as in {sample(flag)}")
        if getattr(options, name):
            raise ZplanError(f"--{flag} and --over {flag} contradict each other", f"leave --{flag} out")
    if len(axes) > MOST_AXES:
        raise ZplanError(f"{len(axes)} axes are too many to show", f"keep {MOST_AXES} of the --over options")
    return axes


def _check_size(axes: Sequence[TypedAxis]) -> None:
    cells = prod(len(axis.words) for axis in axes)
    if cells > MOST_CELLS:
        raise ZplanError(f"{cells:,} cells are more than the {MOST_CELLS:,} that a sweep prices", "take larger steps")


def _set(options: PlanOptions, words: dict[str, str | bool]) -> PlanOptions:
    if set(words) & set(_MODEL):
        words = {**dict.fromkeys(_MODEL), **words}  # type: ignore[dict-item]
    return replace(options, **words)  # type: ignore[arg-type]


def _at_first(options: PlanOptions, axes: Sequence[TypedAxis]) -> Request:
    """What is read with the first value of every axis."""
    return read_request(_set(options, {axis.axis.name: axis.words[0] for axis in axes}))


def _is_stageless(base: Request, axes: Sequence[TypedAxis]) -> bool:
    """No stage is said anywhere, and some engine of the grid has stages."""
    names = {axis.axis.name for axis in axes}
    engines = [axis.axis.values for axis in axes if axis.axis.name == "engine"]
    shards = any(Engine(engine) in SHARDING for engine in engines[0]) if engines else None
    if shards is None:
        shards = (base.words.engine or Engine.DEEPSPEED) in SHARDING
    return base.words.stage is None and "stage" not in names and shards


def _with_stages(axes: list[TypedAxis], base: Request) -> list[TypedAxis]:
    if len(axes) == MOST_AXES:
        raise ZplanError("which stage is not said, and three axes leave no room for it", "add --stage 3")
    fsdp = base.words.engine in (Engine.FSDP2, Engine.FSDP1) and all(axis.axis.name != "engine" for axis in axes)
    return [parse_axis("stage=2..3" if fsdp else "stage=0..3"), *axes]


def _plans(options: PlanOptions, axes: Sequence[TypedAxis]) -> Iterator[Plan | ZplanError]:
    """The plan of every cell, the last axis fastest.

    Options are read once per value outside of the job, and checked once per value that a rule looks at; what is left
    is replaced in the plan.
    """
    requests: dict[tuple[int, ...], Request | ZplanError] = {}
    checked: dict[tuple[int, ...], Plan | ZplanError] = {}
    models: dict[tuple[object, object], ModelSpec] = {}
    outer = [index for index, axis in enumerate(axes) if not axis.of_job]
    free = [index for index, axis in enumerate(axes) if axis.axis.name in _FREE]
    ruled = [index for index in range(len(axes)) if index not in free]
    for at in product(*(range(len(axis.words)) for axis in axes)):
        key = tuple([at[index] for index in ruled])
        plan = checked.get(key)
        if plan is None:
            outside = tuple([at[index] for index in outer])
            if outside not in requests:
                # Job axes are said too, at their first value, so that a config file does not fill them.
                words = {axis.axis.name: axis.words[at[i] if i in outer else 0] for i, axis in enumerate(axes)}
                requests[outside] = _read(_set(options, words), models)
            plan = checked[key] = _checked(requests[outside], axes, at)
        if free and isinstance(plan, Plan):
            job = replace(plan.job, **{axes[i].axis.name: axes[i].axis.values[at[i]] for i in free})  # type: ignore[arg-type]
            plan = Plan(model=plan.model, cluster=plan.cluster, job=job)
        yield plan


def _checked(request: Request | ZplanError, axes: Sequence[TypedAxis], at: Sequence[int]) -> Plan | ZplanError:
    """The plan at one place, or what contradicts it."""
    if isinstance(request, ZplanError):
        return request
    changes: dict[str, object] = {}
    for axis, index in zip(axes, at, strict=True):
        changes.update(axis.changes[index])
    try:
        return plans_of(request._replace(words=replace(request.words, **changes))).plans[0]  # type: ignore[arg-type]
    except ZplanError as error:
        return error


def _read(options: PlanOptions, models: dict[tuple[object, object], ModelSpec]) -> Request | ZplanError:
    key = (options.params, options.model)
    try:
        request = read_request(options, model=models.get(key))
    except ZplanError as error:
        return error
    models[key] = request.model
    return request


def _assumptions(options: PlanOptions, axes: Sequence[TypedAxis]) -> tuple[str, ...]:
    """What was assumed for every cell: nothing about the axes themselves."""
    for at in product(*(range(len(axis.words)) for axis in axes)):
        words = {axis.axis.name: axis.words[index] for axis, index in zip(axes, at, strict=True)}
        try:
            found = plans_of(read_request(_set(options, words))).assumptions
        except ZplanError:
            continue
        flags = [f"--{axis.axis.flag}" for axis in axes]
        if {"--gpu", "--node"} & set(flags):
            flags += ["--gpu-mem", "--host-mem"]
        return tuple(note for note in found if not any(f"({flag})" in note or note.startswith(flag) for flag in flags))
    return ()
