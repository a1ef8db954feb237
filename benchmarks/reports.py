"""Holds verdicts against public reports: ``python benchmarks/reports.py [--data FILE] [--json]``.

What a report leaves out (batch, sequence, checkpointing, a card's memory) is priced with the least and the most that is
usual. A setting that ran out of memory is right when neither is called ``fits``, wrong when both are, and not answered when it
depends on what is not said. A setting that ran proves that some of it runs: it is wrong when even the least is called ``oom``.
A report is right when all that it claims is.

``terms`` counts reports that quote the size of the failed allocation; ``term_first`` those where the first tensor named for it
is the one that the report's own words and arithmetic name. ``phases`` counts answered failures that say where they failed;
``phase_right`` those where that phase does not fit by the estimate. ``recommended_failures`` lists reports whose failed
setting `recommend` would advise. ``figures`` counts runs with a figure per GPU, ``figures_inside`` those between the low bound
of the least and the high bound of the most.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reportadvice import helped, missing, named
from reportclaims import Claim, claims
from reportplans import Meant, NotPricedError, meant, states_bytes
from reportwords import Report, failing_phase, quoted, reached_bytes, used_bytes
from rows import load_rows
from rowwords import UNREADABLE, NoPlanError, section, wrong_kind

from zplan.errors import ZplanError
from zplan.memory.beyond import with_phases
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.memory.runtime import runtime
from zplan.memory.verdict import host_need
from zplan.spec import Beyond, Plan
from zplan.units import GIB

Miss = dict[str, str]
"""``id`` and ``why``."""
DATA = Path(__file__).parent / "data" / "reports.yaml"
NOT_A_STEP = {
    "save_oom": "fails while saving, not in a step",
    "resume_oom": "fails while resuming, not in a step",
    "load_peak": "fails while loading the model",
    "eval_spike": "fails in evaluation",
}
"""Themes of failures outside of a step; the step may fail all the same."""
PRICED = {"save_oom": "save", "load_peak": "load", "eval_spike": "eval"}
"""Those that zplan prices, as today's libraries do them; a way of the past may have needed more."""
MORE = {
    "rl_multi_model": "several models share the cards",
    "tp_combo": "splits the model",
    "vlm": "a vision tower comes on top",
}
"""Themes of reports where something that zplan does not plan comes on top."""
EXPECTED_TERMS = (
    (r"logits|cross.entropy|vocab", ("logits", "logits_grad")),
    (
        r"adam state|exp_avg|optimizer-state|sqrt|moments?\b",
        ("optimizer", "optimizer_temporaries", "grads_fp32", "master"),
    ),
    (r"bucket", ("reduce_bucket",)),
    (r"all-gather|gathered", ("gathered_params",)),
    (r"attention (scores|matrix)|softmax of", ("attention_scores",)),
    (r"master|fp32 (copy|partition)", ("master", "grads_fp32", "optimizer")),
)
"""Words of a report -> term keys that they name; the first that is found counts."""


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
        found = meant(claim.setup, on_host=claim.on_host)
    except NotPricedError as error:
        return _judge_states(report, claim, error)
    if claim.on_host:
        return _judge_host(report, claim, found, because)
    phases = tuple(dict.fromkeys(PRICED[theme] for theme in themes if theme in PRICED))
    results = [with_phases(estimate(plan), Beyond(phases=phases)) for plan in found.plans]
    verdicts = [one.verdict for one in results]
    why = f"{'ran' if claim.ran else 'oom'}, but called {' to '.join(str(one) for one in verdicts)}: {numbers(results)}"
    if claim.ran:
        if verdicts[0] == "oom":
            _check_states(report, results[0].model_states.total_bytes)
        elif found.floor:
            raise NoPlanError(MORE["vlm"])
        return verdicts[0] != "oom", why, results
    _check_consistent(report, results)
    good = [verdict == "oom" if themes else verdict != "fits" for verdict in verdicts]
    if all(good):
        return True, why, results
    if themes:
        raise NoPlanError(because + (" (done as today's libraries do it, that fits)" if phases else ""))
    if found.floor:
        raise NoPlanError(MORE["vlm"])
    if any(good):
        if _reaches(report, results):
            return True, why, results[-1:]
        raise NoPlanError(f"depends on what the report does not give: {', '.join(found.unsaid)}")
    _check_which_memory(report, found, results)
    return False, why, results


def _judge_host(report: Report, claim: Claim, found: Meant, because: str) -> tuple[bool, str, list[Estimate]]:
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
    told = f"{numbers(results)}; loading {copies / GIB:.1f} where every process holds a copy of its own"
    why = f"oom, but called {' to '.join(str(one.host.verdict) for one in results)}: {told}"
    if not because and all(one.host.verdict == "oom" for one in results):
        return True, why, results
    if because and all(one.host.verdict == "oom" for one in whole):
        return True, why, whole
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
        states, room = states_bytes(claim.setup)
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
            f"used {used / GIB:.1f} GiB, of which model states alone are {states / GIB:.1f}: something (offload) is not said"
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
    run = runtime(job.engine, cluster.gpus, int(reached), room, stage=job.stage)
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
            f"trained in {used / GIB:.1f} GiB, of which its setting needs {least / GIB:.1f}: something (offload) is not said"
        )


def judge(report: Report) -> tuple[str, str, list[tuple[Claim, list[Estimate]]], list[str]]:
    """``right`` or ``wrong``, why, the claims with what was priced for them, and why others of its claims are open.

    Raises:
        NoPlanError: no claim is answered.
    """
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


def numbers(results: Sequence[Estimate]) -> str:
    """What was predicted, for the least and the most that the report can mean."""
    cluster = results[0].plan.cluster
    if cluster.gpu_capacity_bytes is None:
        ram = " to ".join(f"{host_need(one)[0] / GIB:.1f}" for one in results)
        return f"{ram} GiB of RAM per node, of {(cluster.host_capacity_bytes or 0) / GIB:.1f}"
    high = " to ".join(f"{one.runtime.device_high_bytes / GIB:.1f}" for one in results)
    text = f"{high} GiB per GPU at most, of {(cluster.gpu_capacity_bytes or 0) / GIB:.1f}"
    if cluster.host_capacity_bytes is not None:
        ram = " to ".join(f"{host_need(one)[0] / GIB:.1f}" for one in results)
        text += f"; {ram} GiB of RAM per node, of {cluster.host_capacity_bytes / GIB:.1f}"
    return text


def short_phases(one: Estimate) -> set[str]:
    """Phases whose own peak does not fit with its high bound."""
    job, cluster = one.plan.job, one.plan.cluster
    high = {
        phase: runtime(job.engine, cluster.gpus, size, cluster.gpu_capacity_bytes, stage=job.stage).device_high_bytes
        for phase, size in one.phases.items()
    }
    return {phase for phase, size in high.items() if size > (cluster.gpu_capacity_bytes or 0)}


def names_the_term(report: Report) -> bool:
    """Whether the first tensor named for the failed allocation is the one that the report names.

    Raises:
        NoPlanError: the report names none, or is no plan.
    """
    from zplan.advice.oom import decode
    from zplan.inputs.oomlog import oom_from_text

    words = " ".join(str(part) for part in (report["outcome"].get("detail"), report.get("check"))).lower()
    keys = next((keys for pattern, keys in EXPECTED_TERMS if re.search(pattern, words)), None)
    if keys is None:
        raise NoPlanError("the report names no tensor")
    plan = _plan_of_failure(report)
    message = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {quoted(report)}."
    found = decode(oom_from_text(message).messages[0], None, plan=plan, with_advice=False)
    return bool(found.candidates) and found.candidates[0].tensor.term in keys


def _plan_of_failure(report: Report) -> Plan:
    failed = [claim for claim in claims(report) if not claim.ran]
    if not failed:
        raise NoPlanError("no setting failed")
    return meant(failed[0].setup).plans[-1]


def recommends_failure(claim: Claim, results: Sequence[Estimate]) -> bool:
    """Whether `recommend` would advise the very plan that failed, asked for the same batch, sequence and checkpointing.

    Where the report leaves something open, it counts when both ends of what it can mean would be advised.
    """
    return not claim.ran and not claim.on_host and all(_recommends(one.plan) for one in results)


def _recommends(plan: Plan) -> bool:
    from zplan.advice.recommend import recommend
    from zplan.advice.space import Pins, Question

    pins = Pins(micro_batch=plan.job.micro_batch, checkpointing=plan.job.checkpointing, loss=plan.job.loss)
    try:
        best = recommend([Question(base=plan, pins=pins)]).recommended
    except ZplanError:
        return False
    job = None if best is None else best.plan.job
    same = ("stage", "offload", "offload_to", "deepspeed")
    return job is not None and all(getattr(job, key) == getattr(plan.job, key) for key in same)


@dataclass(slots=True)
class Tally:
    """What is counted beside verdicts."""

    claims: int = 0
    phases: int = 0
    figures: int = 0
    terms: int = 0
    changes: int = 0
    phase_wrong: list[Miss] = field(default_factory=list)
    figure_outside: list[Miss] = field(default_factory=list)
    term_second: list[Miss] = field(default_factory=list)
    advice_missing: list[Miss] = field(default_factory=list)
    advised: list[str] = field(default_factory=list)


def run(path: Path | None) -> dict[str, Any]:
    """The whole answer."""
    reports = load_rows(path or DATA)
    tally = Tally()
    right = 0
    wrong: list[Miss] = []
    unanswered: list[Miss] = []
    open_claims: list[Miss] = []
    for report in reports:
        try:
            verdict, why, answered, reasons = judge(report)
        except (NoPlanError, ZplanError) as error:
            unanswered.append({"id": report["id"], "why": str(error)})
        except UNREADABLE as error:
            unanswered.append({"id": report["id"], "why": wrong_kind(error)})
            continue
        else:
            right += verdict == "right"
            open_claims += [{"id": report["id"], "why": reason} for reason in reasons]
            if verdict == "wrong":
                wrong.append({"id": report["id"], "why": why})
            _count_more(report, answered, tally)
        _count_term(report, tally)
        _count_advice(report, tally)
    return {
        "reports": len(reports),
        "answered": right + len(wrong),
        "verdict_right": right,
        "verdict_wrong": wrong,
        "claims": tally.claims,
        "terms": tally.terms,
        "term_first": tally.terms - len(tally.term_second),
        "term_not_first": tally.term_second,
        "phases": tally.phases,
        "phase_right": tally.phases - len(tally.phase_wrong),
        "phase_wrong": tally.phase_wrong,
        "figures": tally.figures,
        "figures_inside": tally.figures - len(tally.figure_outside),
        "figures_outside": tally.figure_outside,
        "changes": tally.changes,
        "changes_advised": tally.changes - len(tally.advice_missing),
        "changes_not_advised": tally.advice_missing,
        "recommended_failures": tally.advised,
        "claims_unanswered": open_claims,
        "unanswered": unanswered,
    }


def _count_term(report: Report, tally: Tally) -> None:
    """Failed allocations whose tensor is known."""
    try:
        if quoted(report) is None:
            return
        first = names_the_term(report)
    except (NoPlanError, ZplanError, *UNREADABLE):
        return
    tally.terms += 1
    if not first:
        tally.term_second.append(
            {"id": report["id"], "why": f"another tensor than the report's fits {quoted(report)} better"}
        )


def _count_advice(report: Report, tally: Tally) -> None:
    """Changes that helped, or were said to, and those of them that zplan names."""
    try:
        found = claims(report)
        failed, ran = [one for one in found if not one.ran], [one for one in found if one.ran]
        changes = helped(report, failed, ran)
        if not failed or not changes:
            return
        names: set[str] = set()
        for claim in failed:
            for plan in meant(claim.setup, on_host=claim.on_host).plans:
                names |= named(report, claim, estimate(plan))
    except (NoPlanError, ZplanError, *UNREADABLE):
        return
    tally.changes += len(changes)
    for change in missing(changes, names):
        tally.advice_missing.append({"id": report["id"], "why": f"{change}: not among {', '.join(sorted(names))}"})


def _count_more(report: Report, answered: Sequence[tuple[Claim, list[Estimate]]], tally: Tally) -> None:
    """Phases that failed, and figures of runs."""
    phase, used = failing_phase(report), used_bytes(report)
    tally.claims += len(answered)
    for claim, results in answered:
        if not results:
            continue
        if not claim.ran and not claim.on_host and phase in ("forward", "backward", "step"):
            tally.phases += 1
            short = [short_phases(one) for one in results]
            if not all(phase in one for one in short):
                words = " or ".join(", ".join(sorted(one)) or "none" for one in short)
                tally.phase_wrong.append(
                    {"id": report["id"], "why": f"failed in {phase}; phases that do not fit: {words}"}
                )
        if claim.ran and used is not None and len(answered) == 1:
            tally.figures += 1
            low, high = results[0].runtime.device_low_bytes, results[-1].runtime.device_high_bytes
            if not low <= used <= high:
                words = f"{used / GIB:.1f} GiB used, {low / GIB:.1f} to {high / GIB:.1f} predicted"
                tally.figure_outside.append({"id": report["id"], "why": words})
        if recommends_failure(claim, results) and report["id"] not in tally.advised:
            tally.advised.append(report["id"])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="YAML with reports like benchmarks/data/reports.yaml")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    result = run(options.data)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['answered']} of {result['reports']} reports answered, {result['verdict_right']} verdicts right")
    print(f"{result['terms']} failed allocations with a named tensor, {result['term_first']} named first")
    print(f"{result['phases']} failures in a named phase, {result['phase_right']} of them in a phase that does not fit")
    print(f"{result['figures']} runs with a figure per GPU, {result['figures_inside']} inside the bounds")
    print(
        f"{result['changes']} changes that helped or were advised, {result['changes_advised']} of them named by zplan too"
    )
    print(f"failed settings that would be recommended: {', '.join(result['recommended_failures']) or 'none'}")
    for key, words in (
        ("verdict_wrong", "wrong"),
        ("term_not_first", "another tensor"),
        ("phase_wrong", "another phase"),
        ("figures_outside", "outside the bounds"),
        ("changes_not_advised", "not advised"),
        ("claims_unanswered", "a setting not answered"),
        ("unanswered", "not answered"),
    ):
        for one in result[key]:
            print(f"  {words} {one['id']}: {one['why']}")


if __name__ == "__main__":
    main()
