"""``zplan estimate --measured FILE``: an old measurement beside a new prediction."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from zplan.cli.estimate import explain_peak, price, time_of
from zplan.cli.output import draw, emit
from zplan.cli.plan import PlanSet
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit, quote

if TYPE_CHECKING:
    from rich.console import Console

    from zplan.spec import Plan
    from zplan.verify.measurement import Measurement

_SAVE = "zplan verify --model llama-3.1-8b --gpus 8 --save measured.json"
_HINT = f"save one with: {_SAVE}"
_EXPECTED = f"a measurement, as {_SAVE} saves one"
_NOT_COMPARED = ("rank", "steps", "explain")


def show_beside(path: str, wanted: PlanSet, *, json: bool, unit: Unit) -> ExitCode:
    """Show a saved measurement beside the prediction of the plan that was named.

    Args:
        path: What ``zplan verify --save`` wrote.
        wanted: The plans; of several stages, the measured one is taken.
        json: Write the estimate's object with ``measured``, ``error`` and ``differs`` added.
        unit: Family of the units of sizes.

    Returns:
        0.

    Raises:
        ZplanError: The file is no measurement, or of none of these plans.
    """
    from zplan.verify.compare import compare

    measured = read_measurement(path)
    plan = _matching(wanted, measured.case)
    estimate = price(plan, worst_rank=wanted.worst_rank)
    comparison = compare(estimate, measured)
    differs = differences(plan, measured.case)
    if json:
        from zplan.render.jsonout import dumps, estimate_object
        from zplan.render.verify import measured_object

        answer = estimate_object([estimate], [explain_peak(estimate)], wanted.assumptions, [time_of(plan)])
        answer.update(measured=measured_object(measured), error=comparison.errors(), differs=differs)
        emit(dumps(answer))
    else:
        notes = (*wanted.assumptions, *(f"the measurement had {words}" for words in differs))

        def paint(console: Console) -> None:
            from zplan.render.verify import render_verify

            render_verify(console, comparison, plan, notes, source=f"the measurement is {path}", unit=unit)

        draw(paint)
    return ExitCode.OK


def read_measurement(path: str) -> Measurement:
    """A measurement from its file.

    Raises:
        ZplanError: It cannot be read or is something else.
    """
    from zplan.inputs.textfile import read_text
    from zplan.verify.measurement import Measurement, misshapen

    text = read_text(path, name=path, expected=_EXPECTED)
    try:
        measured = Measurement.from_json(text)
    except RecursionError:
        raise ZplanError(f"--measured {quote(path)} is not a saved measurement", _HINT) from None
    wrong = misshapen(measured)
    if wrong is not None:
        raise ZplanError(f"--measured {quote(path)} is not a saved measurement: {wrong} is not what was saved", _HINT)
    return measured


def _matching(wanted: PlanSet, case: Mapping[str, Any]) -> Plan:
    """The plan of the measured engine, stage and offload."""
    if len(wanted.plans) == 1:
        return wanted.plans[0]
    for plan in wanted.plans:
        job = plan.job
        if (job.engine.value, job.stage, job.offload.value) == tuple(
            case.get(k) for k in ("engine", "stage", "offload")
        ):
            return plan
    raise ZplanError(
        f"the measurement is of {case.get('engine', 'an unknown engine')}, stage {case.get('stage', '?')}: none of these plans",
        f"name it: --engine {case.get('engine', 'deepspeed')} --stage {case.get('stage', 3)}",
    )


def differences(plan: Plan, case: Mapping[str, Any]) -> list[str]:
    """What was different when it was measured, in the words of a case."""
    from zplan.verify.dryrun.case import plan_to_case

    if not case:
        return ["no record of what ran"]
    now = plan_to_case(plan).to_dict()
    changed = [key for key in sorted({*now, *case} - set(_NOT_COMPARED)) if now.get(key) != case.get(key)]
    return ["another model" if key == "model" else f"{key} {case.get(key)}, not {now.get(key)}" for key in changed]
