"""What a public report says happened, as claims: one setting each, with whether it ran.

Reports are prose with a few fields. A field that holds a list means several settings; which of them ran is then read clause
by clause from the report's own words, and a setting that no clause is about makes no claim.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from reportmentions import is_about, mentions_batch, mentions_gpus, mentions_length
from reporttables import rows
from reportwords import FAILED, Report, failing_phase, used_bytes
from rowwords import NoPlanError, section

MOST_SETTINGS = 64
LISTS = (
    "gpus",
    "gpu",
    "gpu_mem_gb",
    "host_ram_gb",
    "nodes",
    "stage",
    "offload",
    "params_b",
    "micro_batch",
    "seq_len",
    "method",
    "grad_ckpt",
    "precision",
)
"""Fields whose lists mean several settings."""
RAN = re.compile(
    r"\bworks?\b|\bruns?\b|\bran\b|\bfits?\b|\btrains?\b|\bstarts as expected\b|\btakes (about |~)?\d|\breserves?\b"
    r"|\bpeak|gb/gpu|\bsucce|\bonly \d|\bfine\b(?![- ]?tun)|\bok(ay)?\b"
)
NO_FAILURE = re.compile(r"\b(no|without|not|never|avoids?) (an? )?(oom(s|ing)?|out of memory)\b")
NO_ANSWER = re.compile(r"\bminimum\b|doubled")
ON_HOST = re.compile(r"host oom|exit -9|killed|cpu ram|host ram|ram (is )?always exhausted|ram fills")
BEYOND = ("save", "resume", "eval")
"""Phases that come after training has begun."""
UNTIL_THEN = re.compile(
    r"\b(run|epochs?|training)\b.*\b(finish(es|ed)?|completes?d?|fits?|works?)\b|^\s*(it )?train(s|ed)\b"
)
"""Words of a clause that says that training itself ran."""
TOLD = ("surprise", "slowdown", "no_effect", "mixed")
"""Kinds of reports that compare settings without being about one outcome: their words tell, or nothing does."""
MORE_OF_IT = re.compile(r"\b(longer|larger|more|above|bigger|higher|beyond|over|twice|double)\b")
CEILING = re.compile(r"cannot (?:raise|increase) (?:the )?(?:micro-?)?batch(?: size)? above (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One setting of a report, and what became of it."""

    setup: Mapping[str, Any]
    ran: bool
    on_host: bool
    """The failure was the host's RAM, not the card's."""
    until: bool = False
    """It is about the steps before a failure outside of them."""


def claims(report: Report) -> list[Claim]:
    """What a report claims.

    Raises:
        NoPlanError: it reports nothing that a verdict could be held against.
    """
    kind, detail = str(report["outcome"]["type"]), str(report["outcome"].get("detail", ""))
    setup = {**report["setup"], "framework": report.get("framework")}
    setup |= _nodes_of_ranks(report, setup)
    if kind == "measured_table":
        return [Claim(setup=row, ran=ran, on_host=on_host) for row, ran, on_host in rows(report)]
    varied = [key for key in LISTS if isinstance(setup.get(key), list)]
    used = used_bytes(report) is not None
    failures = kind in ("gpu_oom", "host_oom")
    if (
        not failures
        and kind != "measured"
        and not (kind in TOLD and varied)
        and not (kind == "wrong_estimate" and used)
    ):
        if kind == "mixed" and (own := _own_outcome(_clauses(detail), setup)) is not None:
            return [Claim(setup=setup, ran=own, on_host=not own and bool(ON_HOST.search(detail.lower())))]
        if kind == "mixed":
            raise NoPlanError("reports runs and failures of one setting")
        raise NoPlanError(f"reports neither a run nor a failure, but: {kind.replace('_', ' ')}")
    if not varied:
        return _of_one_setting(report, setup, kind, detail)
    settings = list(_expanded(setup, varied))
    quiet = not FAILED.search(detail.lower()) and not NO_ANSWER.search(detail.lower())
    if quiet and (kind == "measured" or (kind in TOLD and used)):
        return [Claim(setup=one, ran=True, on_host=False) for one in settings]  # what was measured ran
    if failures and _all_failed(report, detail):
        return [Claim(setup=one, ran=False, on_host=kind == "host_oom") for one in settings]
    found = [claim for one in settings for claim in _told(one, settings, detail, kind)]
    if not found:
        raise NoPlanError(f"several settings in one report ({', '.join(varied)}); which of them failed is not told")
    return found


def _nodes_of_ranks(report: Report, setup: Mapping[str, Any]) -> dict[str, int]:
    """The number of nodes, where a figure per rank and one per node tell how many ranks share one."""
    measured, gpus = section(report["outcome"], "measured"), setup.get("gpus")
    rank = measured.get("per_rank_gb")
    node = measured.get(
        "total_gb", 1000 * measured["total_tb"] if isinstance(measured.get("total_tb"), int | float) else None
    )
    if (
        "nodes" in setup
        or not isinstance(gpus, int)
        or not isinstance(rank, int | float)
        or not isinstance(node, int | float)
    ):
        return {}
    return {"nodes": max(1, round(gpus * rank / node))}


def _of_one_setting(report: Report, setup: Mapping[str, Any], kind: str, detail: str) -> list[Claim]:
    """Claims of a report without lists."""
    words = detail.lower()
    failures = kind in ("gpu_oom", "host_oom")
    if not failures:
        if FAILED.search(words) or NO_ANSWER.search(words):
            raise NoPlanError("reports a failure and a figure; which setting ran is not clear")
        return [Claim(setup=setup, ran=True, on_host=False)]
    cut = re.fullmatch(r"(.*)->\s*([\d,]+)\s*", str(setup.get("seq_len")))
    if cut is not None:
        shorter = {**setup, "seq_len": int(cut[2].replace(",", ""))}
        if any(_outcome(part) == "ran" and mentions_length(part, shorter) for part in _clauses(detail)):
            return [Claim(setup=shorter, ran=True, on_host=False)]
    if _only_more_failed(_clauses(detail), setup):
        return [Claim(setup=setup, ran=True, on_host=False)]
    if failing_phase(report) == "step" and kind == "gpu_oom" and "reported" in str(setup.get("offload")):
        setup = {**setup, "offload": "none"}  # offloaded states are not stepped on the card
    failed = Claim(setup=setup, ran=False, on_host=kind == "host_oom")
    if failing_phase(report) in BEYOND and any(_ran_until_then(part) for part in _clauses(detail)):
        return [Claim(setup=setup, ran=True, on_host=False, until=True), failed]
    return [failed]


def _only_more_failed(parts: list[str], setup: Mapping[str, Any]) -> bool:
    """As in "4,000 tokens are fine, longer OOMs": the setting's own number ran, and what failed is more, or another."""

    def own(part: str) -> bool | None:
        told = (mentions_length(part, setup), mentions_batch(part, setup))
        return True if True in told else False if False in told else None

    said = {_outcome(part) for part in parts if own(part)}
    failed = [part for part in parts if _outcome(part) == "failed"]
    return said == {"ran"} and any(MORE_OF_IT.search(part) or own(part) is False for part in failed)


def _own_outcome(parts: list[str], setup: Mapping[str, Any]) -> bool | None:
    """What the clauses say of the setting's own numbers, as in "2 GPUs OOM, 8 GPUs train" with 8 in it."""
    own = (mentions_gpus, mentions_length, mentions_batch)
    said = {_outcome(part) == "ran" for part in parts if _outcome(part) and _agrees([one(part, setup) for one in own])}
    return said.pop() if len(said) == 1 else None


def _agrees(named: list[bool | None]) -> bool:
    return True in named and False not in named


def _ran_until_then(words: str) -> bool:
    """Whether a clause says that training ran; not "runs after", which is another setting."""
    return (
        UNTIL_THEN.search(words) is not None and not FAILED.search(words) and not re.search(r"\b(after|once)\b", words)
    )


def _all_failed(report: Report, detail: str) -> bool:
    """A report of a failure that says of no setting that it ran is about all of them."""
    if CEILING.search(detail.lower()):
        return False
    return failing_phase(report) not in BEYOND and all(_outcome(part) != "ran" for part in _clauses(detail))


def _expanded(setup: Mapping[str, Any], varied: list[str]) -> Iterator[dict[str, Any]]:
    """One setting per value: lists of one length go together (2 GPUs with 64 GB, 8 with 256), others are combined."""
    lengths = {len(setup[key]) for key in varied}
    count = lengths.pop() if len(lengths) == 1 else math.prod(len(setup[key]) for key in varied)
    if not 0 < count <= MOST_SETTINGS:
        raise NoPlanError(f"{count} settings in one report")
    lengths = {len(setup[key]) for key in varied}
    rows = (
        zip(*(setup[key] for key in varied), strict=True)
        if len(lengths) == 1
        else product(*(setup[key] for key in varied))
    )
    for values in rows:
        yield offload_apart({**setup, **dict(zip(varied, values, strict=True))})


def offload_apart(setup: dict[str, Any]) -> dict[str, Any]:
    """``stage: 3 offload`` as a stage and an offload."""
    match = re.fullmatch(r"\s*(?:zero-?)?([0-3])\s*(?:\+\s*)?(offload)?\s*", str(setup.get("stage")).lower())
    if match is None:
        return setup
    offload = "optimizer+param cpu" if match[2] and match[1] == "3" else "optimizer cpu"
    return {**setup, "stage": int(match[1]), **({"offload": offload} if match[2] else {})}


def _told(setup: Mapping[str, Any], settings: list[dict[str, Any]], detail: str, kind: str) -> list[Claim]:
    """The claim about one setting, if the clauses about it agree."""
    said = {_outcome(words) for words in _clauses(detail) if is_about(words, setup, settings)} - {None}
    ceiling = CEILING.search(detail.lower())
    if ceiling is not None and isinstance(setup.get("micro_batch"), int):
        said.add("ran" if setup["micro_batch"] <= int(ceiling[1]) else "failed")
    if len(said) != 1:
        return []
    ran, on_host = said.pop() == "ran", kind == "host_oom" or bool(ON_HOST.search(detail.lower()))
    return [Claim(setup=setup, ran=ran, on_host=not ran and on_host and kind != "gpu_oom")]


def _clauses(detail: str) -> list[str]:
    """Parts of a sentence that say one thing each; a comma within a number does not part them.

    What stands before a colon and says nothing by itself ("Single node: 10k works, 20k OOMs") belongs to each part after it.
    """
    found = []
    for sentence in re.split(r";|\.(?=\s|$)", detail.lower()):
        head, colon, rest = sentence.partition(": ")
        if not colon:
            head, rest = "", sentence
        if head and _outcome(head) is not None:
            found += _parts(head)
            head = ""
        found += [f"{head} {part}" if head else part for part in _parts(rest)]
    return found


def _parts(sentence: str) -> list[str]:
    found = re.split(r":|,(?!\d)|\bthough\b|\bwhile\b|\bbut\b|\bthen\b", sentence)
    return [part for part in found if part.strip()]


def _outcome(words: str) -> str | None:
    words = NO_FAILURE.sub("runs", words)
    return "failed" if FAILED.search(words) else "ran" if RAN.search(words) else None
