"""The changes that helped in a public report, and whether zplan names them for the setting that failed.

What helped is read from the report: how a setting of it that ran differs from one that failed, and clauses that say what to
use, what was changed, or after what it ran. What zplan names: the levers of the plan that failed, what `explain --oom` says
about it, what `recommend` changes, and its ways out where nothing fits.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from reportclaims import Claim
from reportwords import FAILED, Report, quoted

from zplan.advice.levers import levers
from zplan.advice.oom import decode
from zplan.advice.recommend import recommend
from zplan.advice.space import Question
from zplan.errors import ZplanError
from zplan.inputs.oomlog import oom_from_text
from zplan.inputs.oommessage import OomKind, OomMessage
from zplan.memory.moments import Estimate
from zplan.spec import Beyond, Offload, Plan

SAYS_WHAT_HELPS = re.compile(
    r"\buse\b|\bafter\b|\bcut\b|\bturn (it|them|this)\b|\badd\b|\bthen ran\b|\bworks?\b|advice was|un-?pinn|\bset\b|\breduc"
    r"|\blower\b|\bswitch|\bsmaller\b|\bunder zero\.init|\bshrink\b|\bmissing\b|\bloads? on rank 0 only|\bsucceeds?\b"
)
"""Words of a clause that names a change."""
CHANGES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "more GPUs": (r"\b(more|two|four|\d+\+?) (gpus|cards|nodes)\b", ("gpus",)),
    "offload": (r"\boffload\b", ("offload_optimizer", "offload_all", "stage_or_offload", "engine")),
    "stage 3": (r"\b(stage|zero-?) ?3\b", ("stage", "stage_or_offload")),
    "activation checkpointing": (r"\bcheckpointing\b", ("checkpointing",)),
    "adapters": (r"\bq?lora\b", ("lora", "qlora")),
    "shorter sequences": (r"\b(length|block size|shorter)\b", ("seq_len",)),
    "a smaller batch": (r"\bbatch\b", ("micro_batch",)),
    "smaller buckets": (r"\bbuckets?\b|\bbuffers\b", ("bucket",)),
    "unpinned memory": (r"pin_memory|un-?pinn", ("pin_memory",)),
    "more RAM": (r"\bram\b|-\d+ gb\b", ("host_mem",)),
    "loading once": (r"zero\.init|rank 0 only", ("load_once",)),
    "a leaner loss": (r"\bchunked\b|\bfused ce|\btiling\b|\bliger\b", ("loss",)),
    "8-bit or paged states": (r"\b8-?bit\b|\bpaged\b", ("optimizer_8bit", "bf16_pure_paged")),
    "16-bit states": (r"\bpure[- ]bf16\b", ("bf16_pure", "bf16_pure_paged")),
    "contiguous_gradients off": (r"\bturn it off\b", ("contiguous_gradients",)),
    "a sharded state dict": (r"\bsharded dict\b|rank0_only", ("state_dict",)),
}
"""What a report can say that helped -> words, and names of zplan's changes that are the same."""

HAS: Mapping[str, tuple[str, str]] = {
    "stage 3": ("stage", "3"),
    "offload": ("offload", "cpu"),
    "adapters": ("method", "lora"),
    "activation checkpointing": ("grad_ckpt", "true"),
}
"""Field and words of a setting that has a change already."""


def helped(report: Report, failed: Sequence[Claim], ran: Sequence[Claim]) -> list[str]:
    """What made it run, or was said to, in the terms of ``CHANGES``."""
    found = [change for one in failed for other in ran for change in _differences(one.setup, other.setup)]
    for field in ("detail", "root_cause"):
        text = str((report["outcome"] if field == "detail" else report).get(field) or "")
        for words in _saying(text.lower()):
            found += [change for change, (pattern, _) in CHANGES.items() if re.search(pattern, words)]
    has = {
        change
        for one in failed
        for change, (key, value) in HAS.items()
        if str(value) in str(one.setup.get(key)).lower()
    }
    if failed and not any(one.on_host for one in failed):
        has.add("more RAM")  # is no help to a card
    return [change for change in dict.fromkeys(found) if change not in has]


def _saying(text: str) -> Iterator[str]:
    """Clauses that say what helps; "use more cards, offload, or adapters" says it in all of its parts."""
    for sentence in re.split(r";|\.(?=\s|$)", text):
        listed = False
        for words in re.split(r":|,(?!\d)", sentence):
            says = SAYS_WHAT_HELPS.search(words) is not None
            if FAILED.search(words) is None and (says or (listed and len(words.split()) <= 4)):
                yield words
            listed = listed or says


def _differences(failed: Mapping[str, Any], ran: Mapping[str, Any]) -> Iterator[str]:
    """How a setting that ran differs from one that failed, where it is the leaner one."""
    for key, change, sign in (
        ("gpus", "more GPUs", 1),
        ("seq_len", "shorter sequences", -1),
        ("micro_batch", "a smaller batch", -1),
    ):
        one, other = failed.get(key), ran.get(key)
        if isinstance(one, int) and isinstance(other, int) and sign * (other - one) > 0:
            yield change
    if str(failed.get("offload", "none")).lower() == "none" != str(ran.get("offload", "none")).lower():
        yield "offload"


def named(report: Report, claim: Claim, found: Estimate, beyond: Beyond | None = None) -> Iterator[set[str]]:
    """Names of the changes that zplan offers for a plan that failed: at once, and after a search."""
    message = OomMessage(kind=OomKind.KILLED if claim.on_host else OomKind.DEVICE, device="cuda", text="out of memory")
    size = quoted(report)
    if size is not None:
        message = oom_from_text(f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {size}.").messages[0]
    yield {one.name for one in levers(found.plan, found, beyond)} | {one.name for one in decode(message, found).advice}
    yield _searched(found.plan)


def _searched(plan: Plan) -> set[str]:
    """What `recommend` changes, or its ways out where nothing fits."""
    try:
        answer = recommend([Question(base=plan)])
    except ZplanError:
        return set()
    found = {"stage_or_offload" if way.name == "stage" else way.name for way in answer.if_nothing_fits}
    if any(way.name == "engine" and way.fits and way.fits.plan.job.stage == 3 for way in answer.if_nothing_fits):
        found.add("stage")
    if answer.recommended is None:
        return found
    best, job = answer.recommended.plan.job, plan.job
    changes = {
        "stage": best.stage > job.stage,
        "offload_all": best.offload is Offload.ALL and job.offload is not Offload.ALL,
        "offload_optimizer": best.offload is Offload.OPTIMIZER and job.offload is Offload.NONE,
        "checkpointing": best.checkpointing.kind != "none" and job.checkpointing.kind == "none",
        "micro_batch": best.micro_batch < job.micro_batch,
        "loss": best.loss is not job.loss,
        "bucket": best.deepspeed.reduce_bucket_size < job.deepspeed.reduce_bucket_size,
    }
    return found | {name for name, changed in changes.items() if changed}


def missing(changes: Sequence[str], names: set[str]) -> list[str]:
    """What helped and zplan does not name."""
    return [change for change in changes if not names & set(CHANGES[change][1])]
