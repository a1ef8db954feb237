"""Verdicts on the claims of public reports: whether what zplan says of a setting agrees with what became of it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from reportcards import UNKNOWN_CARD, card_is_known
from reportclaims import Claim, claims
from reportmodels import NotPricedError
from reportplans import Meant, splits, states_bytes
from reportsettings import plans_of, setting_of
from reportways import PRICED, copies_per_node, ways
from reportwords import Report, quoted, reached_bytes, used_bytes
from rowwords import NoPlanError, section

from zplan.errors import ZplanError
from zplan.memory.beyond import with_phases
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.memory.runtime import outside_of, runtime
from zplan.memory.verdict import host_need
from zplan.spec import Beyond, Plan
from zplan.units import GIB

NOT_A_STEP = {
    "save_oom": "fails while saving, not in a step",
    "resume_oom": "fails while resuming, not in a step",
    "load_peak": "fails while loading the model",
    "eval_spike": "fails in evaluation",
}
"""Themes of failures outside of a step; the step may fail all the same."""
MORE = {
    "rl_multi_model": "several models share the cards",
    "tp_combo": "splits the model",
    "vlm": "a vision tower comes on top",
}
"""Themes of reports where something that zplan does not plan comes on top."""


def judge_claim(report: Report, claim: Claim) -> tuple[bool, str, list[Estimate]]:
    """Whether zplan's verdict on one setting is right, why, and what was priced.

    Raises:
        NoPlanError: not answered.
    """
    themes = [theme for theme in report.get("themes", ()) if theme in MORE or (theme in NOT_A_STEP and not claim.until)]
    because = "; ".join({**NOT_A_STEP, **MORE}[theme] for theme in themes)
    if claim.ran and any(theme in MORE for theme in themes):
        raise NoPlanError(because)
    try:
        found = plans_of(report, claim)
    except NotPricedError as error:
        return _judge_states(report, claim, error)
    if claim.on_host:
        return _judge_host(report, found, because)
    phases = tuple(dict.fromkeys(PRICED[theme] for theme in themes if theme in PRICED))
    results = [_largest(report, plan, phases) for plan in found.plans]
    verdicts = [one.verdict for one in results]
    why = f"{'ran' if claim.ran else 'oom'}, but called {' to '.join(str(one) for one in verdicts)}: {numbers(results)}"
    if claim.ran:
        return _judge_run(report, claim, found, results), why, results
    _check_consistent(report, results)
    if themes:
        least = [_priced(plan, way) for plan in found.plans for way in ways(report, plan, phases)]
        if all(one.verdict == "oom" for one in least):
            return True, why, results
        raise NoPlanError(because + _how(least, phases))
    good = [verdict != "fits" for verdict in verdicts]
    if all(good):
        return True, why, results
    if found.floor:
        raise NoPlanError(MORE["vlm"])
    if any(good):
        if _reaches(report, results):
            return True, why, results[-1:]
        raise NoPlanError(f"depends on what the report does not give: {', '.join(found.unsaid)}")
    _check_which_memory(report, found, results)
    return False, why, results


def _how(found: Sequence[Estimate], phases: tuple[str, ...]) -> str:
    """In which ways a phase fits."""
    if not phases:
        return ""
    if "save" in phases and found[0].verdict != "oom" and any(one.verdict == "oom" for one in found[1:2]):
        return " (collected on the host, as today's libraries do it, that fits; left on every GPU it does not)"
    return " (done as today's libraries do it, that fits)"


def _priced(plan: Plan, way: Beyond) -> Estimate:
    return with_phases(estimate(plan), way) if way.phases else estimate(plan)


def _largest(report: Report, plan: Plan, phases: tuple[str, ...]) -> Estimate:
    """A plan with the phase that failed, in the way that needs most."""
    found = [_priced(plan, way) for way in ways(report, plan, phases)]
    return max(found, key=lambda one: one.runtime.device_high_bytes)


def _judge_run(report: Report, claim: Claim, found: Meant, results: Sequence[Estimate]) -> bool:
    """A run proves that some of what its report can mean runs."""
    if results[0].verdict != "oom":
        if found.floor:
            raise NoPlanError(MORE["vlm"])
        return True
    if not card_is_known(setting_of(report, claim)):
        raise NoPlanError(UNKNOWN_CARD)
    _check_states(report, results[0].model_states.total_bytes)
    return False


def _judge_host(report: Report, found: Meant, because: str) -> tuple[bool, str, list[Estimate]]:
    """A process killed for want of RAM: the steps, and, where they have room, what comes before and after them.

    Formula: a copy of the weights of its own in every process of a node, in fp32, is what ``from_pretrained`` made before
    version 5 where neither a dtype nor ``zero.Init`` was given (huggingface/transformers#25107): 4 P each.
    """
    results = [estimate(plan) for plan in found.plans]
    whole = [with_phases(one, Beyond(phases=("load", "save"))) for one in results]
    needs = [host_need(one)[0] for one in results]
    most = results[-1].plan
    copies = 4 * most.model.params * most.cluster.gpus_per_node
    room = most.cluster.host_capacity_bytes or 0
    told = f"{numbers(results, on_host=True)}; loading {copies / GIB:.1f} where every process holds a copy of its own"
    why = f"oom, but called {' to '.join(str(one.host.verdict) for one in results)}: {told}"
    if not because and all(one.host.verdict != "fits" for one in results):
        return True, why, results
    if because and all(one.host.verdict == "oom" for one in whole):
        return True, why, whole
    own = copies_per_node(report, results[-1])
    if own and min(own) > room:
        return True, why, results
    short = any(one.host.verdict == "oom" for one in whole) or max(needs) > room or copies > room
    if because and (not short or any(theme in MORE for theme in report.get("themes", ()))):
        raise NoPlanError(because + ("" if short else " (done as today's libraries do it, that fits)"))
    if short:
        sizes = [word for word in found.unsaid if word in ("which model it was", "the number of nodes")]
        how = ["how the weights were loaded" if because else "when it failed, and how the weights were loaded"]
        raise NoPlanError(f"depends on what the report does not give: {', '.join([*sizes, *how])} ({told})")
    return False, why, results


def _judge_states(report: Report, claim: Claim, error: NotPricedError) -> tuple[bool, str, list[Estimate]]:
    """A failure of a model that is not priced: right where its states alone do not fit; nothing else can be said."""
    if claim.ran or claim.on_host:
        raise error
    try:
        states, room = states_bytes(setting_of(report, claim))
    except NoPlanError:
        raise error from None
    _check_states(report, states)
    if states <= room:
        raise error
    return True, f"states alone need {states / GIB:.1f} of {room / GIB:.1f} GiB", []


def _check_states(report: Report, states: int) -> None:
    """A run that used less than the model states of its setting was another setting (pure arithmetic, no model of ours).

    Raises:
        NoPlanError: it was.
    """
    used = used_bytes(report)
    if used is not None and used < 0.9 * states:
        raise NoPlanError(
            f"used {used / GIB:.1f} GiB, of which model states alone are {states / GIB:.1f}: something (offload, say) is not said"
        )


def _reaches(report: Report, results: Sequence[Estimate]) -> bool:
    """Whether what lived on the card when it failed tells which end of the range it was.

    A setting in the range has to explain it, and no setting that needs as much may be called ``fits``.
    """
    reached = reached_bytes(report)
    if reached is None or results[-1].allocated_peak_bytes < reached:
        return False
    job, cluster = results[-1].plan.job, results[-1].plan.cluster
    room = cluster.gpu_capacity_bytes
    run = runtime(job.engine, cluster.gpus, int(reached), room, stage=job.stage, outside=outside_of(room))
    return room is not None and run.device_high_bytes > room


def _check_which_memory(report: Report, found: Meant, results: Sequence[Estimate]) -> None:
    """Offload without the node's RAM: where the message is not quoted, it may have been the RAM that ran out.

    Raises:
        NoPlanError: it may.
    """
    quotes = quoted(report) is not None or reached_bytes(report) is not None or used_bytes(report) is not None
    words = str(report["outcome"].get("detail")).lower()
    need = results[-1].host.per_node_bytes
    if (
        need
        and found.plans[0].cluster.host_capacity_bytes is None
        and not quotes
        and not re.search(r"cuda|gpu|vram", words)
    ):
        raise NoPlanError(
            f"which memory ran out is not told: it takes {need / GIB:.1f} GiB of RAM per node, not known here"
        )


def _check_consistent(report: Report, results: Sequence[Estimate]) -> None:
    """A failure whose run until then used less than the least that its setting needs was another setting.

    Raises:
        NoPlanError: it was.
    """
    used, least = used_bytes(report), results[0].runtime.device_low_bytes
    measured = section(report["outcome"], "measured")
    if used is not None and "tried_gib" not in measured and used < 0.9 * least:
        raise NoPlanError(
            f"trained in {used / GIB:.1f} GiB, of which its setting needs {least / GIB:.1f}: something (offload, say) is not said"
        )


def judge(report: Report) -> tuple[str, str, list[tuple[Claim, list[Estimate]]], list[str]]:
    """``right`` or ``wrong``, why, the claims with what was priced for them, and why others of its claims are open.

    Raises:
        NoPlanError: no claim is answered.
    """
    if splits({**report["setup"], "framework": report.get("framework")}) and report["outcome"].get("type") != "gpu_oom":
        raise NoPlanError("splits the model or the sequence")
    answered: list[tuple[Claim, list[Estimate]]] = []
    wrong: list[str] = []
    reasons: list[str] = []
    for claim in claims(report):
        try:
            right, why, results = judge_claim(report, claim)
        except (NoPlanError, ZplanError) as error:
            reasons.append(str(error))
            continue
        answered.append((claim, results))
        if not right:
            wrong.append(why)
    if not answered:
        raise NoPlanError("; ".join(dict.fromkeys(reasons)))
    return "wrong" if wrong else "right", "; ".join(wrong), answered, list(dict.fromkeys(reasons))


def numbers(results: Sequence[Estimate], *, on_host: bool = False) -> str:
    """What was predicted, for the least and the most that the report can mean; RAM alone where the claim is about that."""
    cluster = results[0].plan.cluster
    if on_host:
        ram = " to ".join(f"{host_need(one)[0] / GIB:.1f}" for one in results)
        return f"{ram} GiB of RAM per node, of {(cluster.host_capacity_bytes or 0) / GIB:.1f}"
    high = " to ".join(f"{one.runtime.device_high_bytes / GIB:.1f}" for one in results)
    text = f"{high} GiB per GPU at most, of {(cluster.gpu_capacity_bytes or 0) / GIB:.1f}"
    if cluster.host_capacity_bytes is not None:
        ram = " to ".join(f"{host_need(one)[0] / GIB:.1f}" for one in results)
        text += f"; {ram} GiB of RAM per node, of {cluster.host_capacity_bytes / GIB:.1f}"
    return text
