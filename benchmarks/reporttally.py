"""What is counted of a public report: its verdict, phases, figures, the tensor that failed, and changes that helped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields

from reportadvice import helped, missing, named
from reportclaims import Claim, claims
from reportfigures import as_printed, used_by
from reportsettings import plans_of
from reportverdicts import judge
from reportways import priced
from reportwords import Report, failing_phase, quoted, used_bytes
from rowwords import UNREADABLE, NoPlanError

from zplan.errors import ZplanError
from zplan.memory.moments import Estimate
from zplan.memory.runtime import outside_of, runtime
from zplan.spec import Attention, Plan
from zplan.units import GIB

Miss = dict[str, str]
"""``id`` and ``why``."""
MOST_ADVISED = 8
"""Failed settings of one report that advice is asked for."""
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


def short_phases(one: Estimate) -> set[str]:
    """Phases whose own peak does not fit with its high bound."""
    job, cluster = one.plan.job, one.plan.cluster
    high = {
        phase: runtime(
            job.engine,
            cluster.gpus,
            size,
            cluster.gpu_capacity_bytes,
            stage=job.stage,
            outside=outside_of(cluster.gpu_capacity_bytes),
        ).device_high_bytes
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
    plan = _plan_of_failure(report, of_batch="logits" in keys or "attention_scores" in keys)
    message = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {quoted(report)}."
    found = decode(oom_from_text(message).messages[0], None, plan=plan, with_advice=False)
    return bool(found.candidates) and found.candidates[0].tensor.term in keys


def _plan_of_failure(report: Report, *, of_batch: bool) -> Plan:
    """The plan that failed; where the tensor grows with the batch, one whose batch is told."""
    failed = [claim for claim in claims(report) if not claim.ran]
    if not failed:
        raise NoPlanError("no setting failed")
    found = plans_of(report, failed[0])
    if of_batch and {"the micro-batch", "the sequence length"} & set(found.unsaid):
        raise NoPlanError("the batch that the tensor grows with is not told")
    return found.plans[-1]


def recommends_failure(claim: Claim, results: Sequence[Estimate]) -> bool:
    """Whether `recommend` would advise the very plan that failed, asked for the same batch, sequence and checkpointing.

    Where the report leaves something open, it counts when both ends of what it can mean would be advised.
    """
    return not claim.ran and not claim.on_host and bool(results) and all(_recommends(one.plan) for one in results)


def _recommends(plan: Plan) -> bool:
    from zplan.advice.recommend import recommend
    from zplan.advice.space import Pins, Question

    pins = Pins(micro_batch=plan.job.micro_batch, checkpointing=plan.job.checkpointing, loss=plan.job.loss)
    try:
        best = recommend([Question(base=plan, pins=pins)]).recommended
    except ZplanError:
        return False
    job = None if best is None else best.plan.job
    same = ("stage", "offload", "offload_to")
    return job is not None and all(getattr(job, key) == getattr(plan.job, key) for key in same)


@dataclass(slots=True)
class Tally:
    """What is counted beside verdicts."""

    right: int = 0
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
    wrong: list[Miss] = field(default_factory=list)
    open_claims: list[Miss] = field(default_factory=list)
    unanswered: list[Miss] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Takes over another's counts and lists."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


def count(report: Report, tally: Tally) -> None:
    """One report: its verdict, and what is counted beside it.

    Raises:
        NoPlanError: it is not answered.
    """
    try:
        verdict, why, answered, reasons = judge(report)
    except (NoPlanError, ZplanError):
        _aside(report, tally)
        raise
    more = Tally()
    with suppress(NoPlanError, ZplanError, *UNREADABLE):
        _count_more(report, answered, more)
        tally.add(more)
    tally.right += verdict == "right"
    tally.claims += len(answered)
    tally.open_claims += [{"id": report["id"], "why": reason} for reason in reasons]
    if verdict == "wrong":
        tally.wrong.append({"id": report["id"], "why": why})
    _aside(report, tally)


def _aside(report: Report, tally: Tally) -> None:
    """What is counted whether or not there is a verdict."""
    with suppress(NoPlanError, ZplanError, *UNREADABLE):
        _count_term(report, tally)
    with suppress(NoPlanError, ZplanError, *UNREADABLE):
        _count_advice(report, tally)


def _count_term(report: Report, tally: Tally) -> None:
    """Failed allocations whose tensor is known."""
    if quoted(report) is None:
        return
    first = names_the_term(report)
    tally.terms += 1
    if not first:
        why = f"another tensor than the report's fits {quoted(report)} better"
        tally.term_second.append({"id": report["id"], "why": why})


def _count_advice(report: Report, tally: Tally) -> None:
    """Changes that helped, or were said to, and those of them that zplan names."""
    found = claims(report)
    failed, ran = [one for one in found if not one.ran], [one for one in found if one.ran]
    changes = helped(report, failed, ran)
    offers = [offer for claim in failed[:MOST_ADVISED] for offer in _offers(report, claim)] if changes else []
    if not offers:
        return
    names: set[str] = set()
    for _ in ("at once", "after a search"):
        for offer in offers if missing(changes, names) else ():
            names |= next(offer)
    tally.changes += len(changes)
    for change in missing(changes, names):
        tally.advice_missing.append({"id": report["id"], "why": f"{change}: not among {', '.join(sorted(names))}"})


def _offers(report: Report, claim: Claim) -> list[Iterator[set[str]]]:
    """What zplan names for the plans that a failed setting can mean; nothing where it cannot be priced."""
    try:
        return [named(report, claim, *priced(report, plan)) for plan in plans_of(report, claim).plans]
    except (NoPlanError, ZplanError):
        return []


def _count_more(report: Report, answered: Sequence[tuple[Claim, list[Estimate]]], tally: Tally) -> None:
    """Phases that failed, and figures of runs."""
    phase, used = failing_phase(report), used_bytes(report)
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
        figure = used_by(report, claim) or (used if len(answered) == 1 else None)
        low, high = results[0].allocated_peak_bytes, results[-1].runtime.device_high_bytes
        if claim.ran and figure is not None and not (figure > high and _most_is_open(claim, results)):
            tally.figures += 1
            if not (figure <= high and low <= as_printed(figure)[1]):
                words = f"{figure / GIB:.1f} GiB used, {low / GIB:.1f} to {high / GIB:.1f} predicted"
                tally.figure_outside.append({"id": report["id"], "why": words})
        if recommends_failure(claim, results) and report["id"] not in tally.advised:
            tally.advised.append(report["id"])


def _most_is_open(claim: Claim, results: Sequence[Estimate]) -> bool:
    """Whether scores in full, which nobody rules out, have no table here, so that the most is not the most."""
    said = claim.setup.get("attn", claim.setup.get("attention"))
    return said is None and results[-1].plan.job.attention is not Attention.EAGER
