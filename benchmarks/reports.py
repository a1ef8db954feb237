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
from pathlib import Path
from typing import Any

from reportplans import Meant, meant
from reportwords import Claim, Report, claims, failing_phase, quoted, used_bytes
from rows import load_rows
from rowwords import UNREADABLE, NoPlanError, section, wrong_kind

from zplan.errors import ZplanError
from zplan.memory.beyond import with_phases
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.memory.runtime import runtime
from zplan.spec import Beyond, Plan
from zplan.units import GIB

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
    themes = [theme for theme in report.get("themes", ()) if theme in NOT_A_STEP or theme in MORE]
    because = "; ".join({**NOT_A_STEP, **MORE}[theme] for theme in themes)
    if claim.ran and any(theme in MORE for theme in themes):
        raise NoPlanError(because)
    found = meant(claim.setup, on_host=claim.on_host)
    phases = tuple(dict.fromkeys(PRICED[theme] for theme in themes if theme in PRICED))
    results = [with_phases(estimate(plan), Beyond(phases=phases)) for plan in found.plans]
    verdicts = [one.host.verdict if claim.on_host else one.verdict for one in results]
    why = f"{'ran' if claim.ran else 'oom'}, but called {' to '.join(str(one) for one in verdicts)}: {numbers(results)}"
    if claim.ran:
        if found.floor and verdicts[0] != "oom":
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
        raise NoPlanError(f"depends on what the report does not give: {', '.join(_deciding(found))}")
    return False, why, results


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


def _deciding(found: Meant) -> tuple[str, ...]:
    return found.unsaid or ("nothing",)


def judge(report: Report) -> tuple[str, str, list[tuple[Claim, list[Estimate]]]]:
    """``right`` or ``wrong``, why, and the claims with what was priced for them.

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
    return "wrong" if wrong else "right", "; ".join(wrong), answered


def numbers(results: Sequence[Estimate]) -> str:
    """What was predicted, for the least and the most that the report can mean."""
    cluster = results[0].plan.cluster
    high = " to ".join(f"{one.runtime.device_high_bytes / GIB:.1f}" for one in results)
    text = f"{high} GiB per GPU at most, of {(cluster.gpu_capacity_bytes or 0) / GIB:.1f}"
    if cluster.host_capacity_bytes is not None:
        ram = " to ".join(f"{one.host.per_node_bytes / GIB:.1f}" for one in results)
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
    """Whether `recommend` would advise the very plan that failed, asked for the same batch, sequence and checkpointing."""
    from zplan.advice.recommend import recommend
    from zplan.advice.space import Pins, Question

    if claim.ran or claim.on_host or len(results) > 1:
        return False
    plan = results[0].plan
    pins = Pins(micro_batch=plan.job.micro_batch, checkpointing=plan.job.checkpointing, loss=plan.job.loss)
    try:
        best = recommend([Question(base=plan, pins=pins)]).recommended
    except ZplanError:
        return False
    job = None if best is None else best.plan.job
    return job is not None and (job.stage, job.offload, job.offload_to) == (
        plan.job.stage,
        plan.job.offload,
        plan.job.offload_to,
    )


def run(path: Path | None) -> dict[str, Any]:
    """The whole answer."""
    reports = load_rows(path or DATA)
    count = {"right": 0, "terms": 0, "first": 0, "phases": 0, "phase_right": 0, "figures": 0, "inside": 0, "claims": 0}
    wrong, unanswered, advised = [], [], []
    for report in reports:
        try:
            verdict, why, answered = judge(report)
        except (NoPlanError, ZplanError) as error:
            unanswered.append({"id": report["id"], "why": str(error)})
        except UNREADABLE as error:
            unanswered.append({"id": report["id"], "why": wrong_kind(error)})
            continue
        else:
            count["right"] += verdict == "right"
            count["claims"] += len(answered)
            if verdict == "wrong":
                wrong.append({"id": report["id"], "why": why})
            _count_more(report, answered, count)
            if any(recommends_failure(claim, results) for claim, results in answered):
                advised.append(report["id"])
        try:
            if quoted(report) is not None:
                count["first"] += names_the_term(report)
                count["terms"] += 1
        except (NoPlanError, ZplanError, *UNREADABLE):
            continue
    return {
        "reports": len(reports),
        "answered": count["right"] + len(wrong),
        "verdict_right": count["right"],
        "verdict_wrong": wrong,
        "claims": count["claims"],
        "terms": count["terms"],
        "term_first": count["first"],
        "phases": count["phases"],
        "phase_right": count["phase_right"],
        "figures": count["figures"],
        "figures_inside": count["inside"],
        "recommended_failures": advised,
        "unanswered": unanswered,
    }


def _count_more(report: Report, answered: Sequence[tuple[Claim, list[Estimate]]], count: dict[str, int]) -> None:
    """Phases that failed, and figures of runs."""
    phase, used = failing_phase(report), used_bytes(report)
    for claim, results in answered:
        if not claim.ran and not claim.on_host and phase in ("forward", "backward", "step"):
            count["phases"] += 1
            count["phase_right"] += all(phase in short_phases(one) for one in results)
        if claim.ran and used is not None and len(answered) == 1:
            count["figures"] += 1
            count["inside"] += results[0].runtime.device_low_bytes <= used <= results[-1].runtime.device_high_bytes


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
    print(f"failed settings that would be recommended: {', '.join(result['recommended_failures']) or 'none'}")
    for one in result["verdict_wrong"]:
        print(f"  wrong {one['id']}: {one['why']}")
    for one in result["unanswered"]:
        print(f"  not answered {one['id']}: {one['why']}")


if __name__ == "__main__":
    main()
