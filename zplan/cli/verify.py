"""``zplan verify``: runs the step and shows what it measured beside what was predicted."""

import os
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import typer

from zplan.cli.command import Command, takes_options
from zplan.cli.estimate import explain_peak, price
from zplan.cli.options import PlanOptions
from zplan.cli.output import draw, emit
from zplan.cli.parse import parse_word
from zplan.cli.plan import build_plans
from zplan.cli.progress import Progress
from zplan.cli.start import with_start
from zplan.cli.verifyoptions import LaunchOptions, ReportOptions
from zplan.errors import ExitCode, ZplanError
from zplan.units import GIB, Unit, parse_int, parse_size, quote

if TYPE_CHECKING:
    from collections.abc import Mapping

    from zplan.memory.moments import Estimate
    from zplan.spec import Plan
    from zplan.verify.compare import Comparison
    from zplan.verify.launch.fit import Room
    from zplan.verify.launch.run import Request
    from zplan.verify.measurement import Measurement

app = typer.Typer(add_completion=False)

DEFAULT_TIMEOUT_S = 600
_RENDEZVOUS = ("rdzv_endpoint", "rdzv_id", "rdzv_backend", "rdzv_conf", "node_rank", "master_addr", "master_port")


@app.command(cls=Command)
@takes_options
def verify(plan: PlanOptions, how: LaunchOptions, report: ReportOptions) -> ExitCode:
    """Run the step with the real engine, and show what it measured beside what was predicted.

    Without a model it takes zplan.yaml or the last estimate. Nothing is trained, saved or downloaded.

    \b
    zplan verify --model llama-3.1-8b --gpus 64 --stage 3
    zplan verify --model smollm2-135m --gpus 8 --engine fsdp2 --launch single --max-memory-gib 8
    zplan verify --launch torchrun --tolerance 5% --save measured.json
    torchrun --nproc-per-node 8 -m zplan verify --model llama-3.2-1b --gpus 8 --stage 2
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    from zplan.verify.launch.run import missing_packages

    unit = Unit(parse_word(report.unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    tolerance = parse_tolerance(report.tolerance)
    if report.save is not None:
        _check_target(report.save, force=how.force)
    options, source = with_start(plan, verb="verify")
    chosen, estimate, assumptions = choose(options)
    request, room = read_launch(chosen, how)
    missing_packages(request)
    if request.launch == "torchrun" and estimate is not None and estimate.worst_rank != chosen.job.rank:
        estimate = price(chosen, worst_rank=True)
    if not how.force:
        check(estimate, request, room, chosen)
    measured = run(request)
    if measured is None:
        return ExitCode.OK
    from zplan.verify.compare import compare

    comparison = compare(estimate, measured)
    _show(comparison, chosen, assumptions, source=source, report=report, unit=unit)
    if report.save is not None:
        from zplan.export.files import save_text

        save_text(report.save, measured.to_json() + "\n", force=how.force)
    outside = tolerance is not None and not comparison.within(tolerance)
    return ExitCode.OUTSIDE_TOLERANCE if outside else ExitCode.OK


def parse_tolerance(text: str | None) -> float | None:
    """``5%`` or ``0.05`` as a fraction.

    Raises:
        ZplanError: neither, or not between 0 and 100 %.
    """
    if text is None:
        return None
    word = text.strip()
    try:
        share = float(word.removesuffix("%")) / (100 if word.endswith("%") else 1)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ZplanError(f"--tolerance {quote(text)} is not a share between 0 and 100 %", "try --tolerance 5%")
    return share


def choose(options: PlanOptions) -> "tuple[Plan, Estimate | None, tuple[str, ...]]":
    """One plan to run, its prediction and what was assumed.

    Args:
        options: The words, with a model.

    Returns:
        The plan that was named, or of several stages the mildest that is predicted to fit; its model is one that can
        be built, also where only a count was given.
    """
    wanted = build_plans(options)
    notes = list(wanted.assumptions)
    plans = [_buildable(one) for one in wanted.plans]
    if plans[0].model is not wanted.plans[0].model:
        model = plans[0].model
        notes.append(f"what runs, and what is predicted, is that shape with its own {model.params} parameters")
    priced = [_price(one, worst_rank=wanted.worst_rank) for one in plans]
    estimates = [one if not isinstance(one, str) else None for one in priced]
    index = 0
    if len(plans) > 1:
        from zplan.memory.summary import overall_verdict, plan_label

        fitting = [
            i for i, one in enumerate(estimates) if one is not None and overall_verdict(one) in ("fits", "tight")
        ]
        sharded = [i for i, one in enumerate(plans) if one.job.stage == 3]
        index = fitting[0] if fitting else sharded[0]
        why = "the mildest that is predicted to fit" if fitting else "no verdict names another"
        notes.append(f"{plan_label(plans[index].job)}, {why} (--stage)")
    estimate, answer = estimates[index], priced[index]
    if isinstance(answer, str):
        notes.append(f"nothing is predicted: {answer}")
    chosen = plans[index] if estimate is None else estimate.plan
    if estimate is None and wanted.worst_rank:
        raise ZplanError("only an estimate knows the worst rank, and there is no formula for this plan", "use --rank 0")
    return chosen, estimate, tuple(notes)


def _buildable(plan: "Plan") -> "Plan":
    """The plan with the parameters that its architecture really has."""
    model = plan.model
    if model.params == model.shape_params:
        return plan
    return replace(plan, model=replace(model, params=model.shape_params, active_params=model.shape_params))


def _price(plan: "Plan", *, worst_rank: bool) -> "Estimate | str":
    """The prediction, or why there is none: a run needs no formula."""
    try:
        return price(plan, worst_rank=worst_rank)
    except ZplanError as error:
        return error.message


def read_launch(plan: "Plan", how: LaunchOptions) -> "tuple[Request, Room]":
    """From options and this machine to what is to be run, and the room for it.

    Raises:
        ZplanError: a word that an option does not take, or a launch that this plan cannot have.
    """
    from zplan.inputs.machine import read_machine
    from zplan.verify.dryrun.case import plan_to_case
    from zplan.verify.launch.fit import Room, default_launch
    from zplan.verify.launch.run import LAUNCHES, TORCHRUN, Request
    from zplan.verify.launch.world import existing_world

    named = parse_word(how.launch, LAUNCHES, flag="--launch", what="launch")
    world = existing_world(os.environ) if named in (None, TORCHRUN) else None
    machine = read_machine()
    launch = named or default_launch(
        gpus_here=len(machine.gpus), world=plan.world_size, nodes=plan.cluster.nodes, in_a_job=world is not None
    )
    case = plan_to_case(plan).to_dict()
    device = "cuda" if machine.gpus and launch != "dryrun" else "cpu"
    if device == "cpu" and launch != "dryrun" and case["offload"] != "none":
        raise ZplanError(
            "without a GPU, offloaded state and the rest lie in the same memory: a real run cannot tell them apart",
            "use --launch dryrun, which can, or --offload none",
        )
    timeout = parse_int(how.timeout or str(DEFAULT_TIMEOUT_S), flag="--timeout", maximum=86_400, example="600")
    limit = None
    if how.max_memory_gib is not None:
        limit = parse_size(
            how.max_memory_gib, flag="--max-memory-gib", minimum=GIB // 4, maximum=1024 * GIB, example="16"
        )
    given = {name.replace("_", "-"): word for name in _RENDEZVOUS if (word := getattr(how, name)) is not None}
    request = Request(
        launch=launch,
        case=case,
        device=device,
        timeout_s=float(timeout),
        max_memory_bytes=limit,
        nodes=plan.cluster.nodes,
        rendezvous=given,
        world=world,
    )
    _check_job(request, given)
    cards = [gpu.usable_bytes for gpu in machine.gpus]
    # In a container the cgroup's limit counts, elsewhere what other processes have left.
    rams = [size for size in (machine.ram_available_bytes, machine.cgroup_limit_bytes) if size is not None]
    return request, Room(gpus=len(cards), card_bytes=min(cards, default=None), ram_bytes=min(rams, default=None))


def _check_job(request: "Request", given: "Mapping[str, str]") -> None:
    """Contradictions between the plan, the launcher and the rendezvous."""
    from zplan.verify.launch.world import DEFAULT_PORT, port_in_use

    if request.launch != "torchrun":
        if given:
            raise ZplanError(f"--{next(iter(given))} is torchrun's", "add --launch torchrun, or leave it out")
        return
    size = int(request.case["world"])
    if request.world is not None:
        if request.world.size != size:
            message = f"{request.world.launcher} started {request.world.size} processes, but the plan has {size} GPUs"
            raise ZplanError(message, f"use --gpus {request.world.size}, or start {size} processes")
        return
    meeting = given.get("rdzv-endpoint") or given.get("master-addr")
    if request.nodes > 1 and meeting is None:
        raise ZplanError(
            f"{request.nodes} nodes have to meet somewhere",
            "run it on each node with --rdzv-endpoint HOST:29500, HOST being one of them",
        )
    host, _, port = (given.get("rdzv-endpoint") or "").partition(":")
    if host and request.nodes == 1 and port_in_use(host, int(port) if port.isdecimal() else DEFAULT_PORT):
        raise ZplanError(
            f"port {port or DEFAULT_PORT} of {host} is in use", "choose another, or leave --rdzv-endpoint out"
        )


def check(estimate: "Estimate | None", request: "Request", room: "Room", plan: "Plan") -> None:
    """Refuse what is predicted not to fit here."""
    from zplan.spec import Precision
    from zplan.verify.launch.fit import check_room

    case = request.case
    sharded_first = case["engine"] == "deepspeed" and case["stage"] == 3 and plan.job.zero_init is not False
    wide = case["engine"] != "deepspeed" and plan.job.precision is not Precision.BF16_PURE
    each = 4 if wide or plan.job.precision is Precision.FP32 else 2
    check_room(estimate, request, room, build_bytes=0 if sharded_first else plan.model.shape_params * each)


def run(request: "Request") -> "Measurement | None":
    """Launch, with progress on a terminal."""
    from zplan.verify.launch.run import run_launch

    first = request.world is None or request.world.rank == 0
    with Progress(sys.stderr if first else None, request.launch) as progress:
        return run_launch(request, progress)


def _show(
    comparison: "Comparison",
    plan: "Plan",
    assumptions: tuple[str, ...],
    *,
    source: str | None,
    report: ReportOptions,
    unit: Unit,
) -> None:
    if report.case_line:
        import json

        from zplan.verify.launch.results import case_line

        emit(json.dumps(case_line(comparison.measured)) + "\n")
    elif report.json:
        from zplan.render.jsonout import dumps
        from zplan.render.verify import verify_object

        terms = [] if comparison.estimate is None else explain_peak(comparison.estimate)
        notes = assumptions if source is None else (f"the plan of {source}", *assumptions)
        emit(dumps(verify_object(comparison, plan, terms, notes)))
    else:

        def paint(console: Any) -> None:
            from zplan.render.verify import render_verify

            render_verify(console, comparison, plan, assumptions, source=source, unit=unit)

        draw(paint)


def _check_target(path: str, *, force: bool) -> None:
    """Refuse a target before a run is spent on it.

    Raises:
        ZplanError: It exists, or its folder does not.
    """
    from pathlib import Path

    try:
        target = Path(path)
        if target.exists() and not force:
            raise ZplanError(f"--save {quote(path)} exists already", "add --force to replace it, or name another file")
        if target.exists() and not target.is_file():
            raise ZplanError(f"--save {quote(path)} is not a regular file", "try --save measured.json")
        if not target.absolute().parent.is_dir():
            raise ZplanError(f"--save {quote(path)}: its folder does not exist", f"make it: mkdir -p {target.parent}")
    except (OSError, ValueError) as error:  # too long, a null byte
        raise ZplanError(f"--save {quote(path)} cannot be written", "try --save measured.json") from error
