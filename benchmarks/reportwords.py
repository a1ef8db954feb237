"""What a public report says happened, as claims: one setting each, with whether it ran.

Reports are prose with a few fields. A field that holds a list means several settings; which of them ran is then read clause
by clause from the report's own words, and a setting that no clause is about makes no claim.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from typing import Any

from rowwords import NoPlanError, section

Report = Mapping[str, Any]
LISTS = ("gpus", "gpu", "gpu_mem_gb", "host_ram_gb", "nodes", "stage", "offload", "params_b", "micro_batch", "seq_len")
"""Fields whose lists mean several settings."""
FAILED = re.compile(r"\boom(s|ed|ing)?\b|out of memory|killed|exit -9|exhaust|does not fit|do not fit|\bfail|\bdies?\b")
RAN = re.compile(r"\bworks?\b|\bruns?\b|\bran\b|\bfits?\b|\btrains?\b|\breserves?\b|\bpeak|gb/gpu|\bsucce|\bonly \d")
NO_ANSWER = re.compile(r"\bminimum\b|doubled")
USED = re.compile(r"^((train|measured|seen|actual|used|after)_)?(mem_|peak_)?(gb|gib|mb|mib)$")
"""Keys of ``measured`` that hold what one GPU used."""
UNIT_BYTES = {"gb": 10**9, "gib": 2**30, "mb": 10**6, "mib": 2**20}
ON_HOST = re.compile(r"host oom|exit -9|killed|cpu ram|host ram|ram (is )?always exhausted|ram fills")


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """One setting of a report, and what became of it."""

    setup: Mapping[str, Any]
    ran: bool
    on_host: bool
    """The failure was the host's RAM, not the card's."""


def claims(report: Report) -> list[Claim]:
    """What a report claims.

    Raises:
        NoPlanError: it reports nothing that a verdict could be held against.
    """
    kind, detail = str(report["outcome"]["type"]), str(report["outcome"].get("detail", ""))
    setup = {**report["setup"], "framework": report.get("framework")}
    varied = [key for key in LISTS if isinstance(setup.get(key), list)]
    failures = kind in ("gpu_oom", "host_oom")
    used = used_bytes(report) is not None
    if not failures and kind not in ("measured", "mixed") and not (kind == "wrong_estimate" and used):
        raise NoPlanError(f"reports neither a run nor a failure, but: {kind.replace('_', ' ')}")
    if not varied and kind == "mixed":
        raise NoPlanError("reports runs and failures of one setting")
    if not varied:
        if not failures and (FAILED.search(detail.lower()) or NO_ANSWER.search(detail.lower())):
            raise NoPlanError("reports a failure and a figure; which setting ran is not clear")
        return [Claim(setup=setup, ran=not failures, on_host=kind == "host_oom")]
    settings = list(_expanded(setup, varied))
    if kind == "measured" and not FAILED.search(detail.lower()) and not NO_ANSWER.search(detail.lower()):
        return [Claim(setup=one, ran=True, on_host=False) for one in settings]  # what was measured ran
    found = [claim for one in settings for claim in _told(one, settings, detail, kind)]
    if not found:
        raise NoPlanError(f"several settings in one report ({', '.join(varied)}); which of them failed is not told")
    return found


def _expanded(setup: Mapping[str, Any], varied: list[str]) -> Iterator[dict[str, Any]]:
    """One setting per value: lists of one length go together (2 GPUs with 64 GB, 8 with 256), others are combined."""
    lengths = {len(setup[key]) for key in varied}
    rows = zip(*(setup[key] for key in varied), strict=True) if len(lengths) == 1 else product(*map(setup.get, varied))
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
    said = {_outcome(words) for words in _clauses(detail) if _is_about(words, setup, settings)} - {None}
    if len(said) != 1:
        return []
    ran, on_host = said.pop() == "ran", kind == "host_oom" or bool(ON_HOST.search(detail.lower()))
    return [Claim(setup=setup, ran=ran, on_host=not ran and on_host and kind != "gpu_oom")]


def _clauses(detail: str) -> list[str]:
    """Parts of a sentence that say one thing each; a comma within a number does not part them."""
    return [
        part
        for part in re.split(r";|:|,(?!\d)|\.(?=\s|$)|\bthough\b|\bwhile\b|\bbut\b", detail.lower())
        if part.strip()
    ]


def _outcome(words: str) -> str | None:
    return "failed" if FAILED.search(words) else "ran" if RAN.search(words) else None


def _is_about(words: str, setup: Mapping[str, Any], settings: list[dict[str, Any]]) -> bool:
    """Whether a clause names a setting by what tells it from the others, and nothing that contradicts it."""
    named = [
        mention
        for key, mention in (
            ("gpus", _mentions_gpus(words, setup)),
            ("stage", _mentions_stage(words, setup)),
            ("offload", _mentions_offload(words, setup)),
        )
        if len({str(one.get(key)) for one in settings}) > 1
    ]
    sizes = _mentions_gpus(words, setup)
    return True in named and False not in named and sizes is not False


def _mentions_gpus(words: str, setup: Mapping[str, Any]) -> bool | None:
    """``8x24 GB``, ``4x A100``, ``2 gpus``: None where no number of GPUs is named."""
    found = re.findall(r"\b(\d+)\s?x\s?(?:(\d+)\s?g|[a-z])|(?:num_gpus[ =]|with )(\d+)(?: gpus?\b| cards?\b|$)", words)
    if not found:
        return None
    memory = setup.get("gpu_mem_gb")
    return any(
        int(times or count) == setup.get("gpus") and (not size or memory is None or abs(int(size) - memory) <= 1)
        for times, size, count in found
    )


def _mentions_stage(words: str, setup: Mapping[str, Any]) -> bool | None:
    found = re.findall(r"(?:zero-?|z|stage )([0-3])\b", words)
    return any(int(stage) == setup.get("stage") for stage in found) if found else None


def _mentions_offload(words: str, setup: Mapping[str, Any]) -> bool:
    """Offload that a clause does not name is off."""
    on = "offload" in words and not re.search(r"(without|no|than) (any )?offload", words)
    return on == (str(setup.get("offload", "none")).lower() != "none")


def used_bytes(report: Report) -> float | None:
    """What one GPU used in the run that the report is about, if it gives one figure."""
    measured = section(report["outcome"], "measured")
    found = [
        float(value) * UNIT_BYTES[key.rpartition("_")[2]]
        for key, value in measured.items()
        if USED.match(key) and isinstance(value, int | float)
    ]
    return max(found) if found else None


def quoted(report: Report) -> str | None:
    """The allocation that failed, as the message prints it."""
    measured = section(report["outcome"], "measured")
    for unit, printed in (("gib", "GiB"), ("mib", "MiB"), ("gb", "GiB"), ("mb", "MiB")):
        value = measured.get(f"tried_{unit}")
        if isinstance(value, int | float):
            return f"{float(value):.2f} {printed}"
    match = re.search(r"tried (?:to allocate )?([\d.]+) ?([GM]i?B)", str(report["outcome"].get("detail", "")))
    return f"{float(match[1]):.2f} {match[2][0]}iB" if match else None


PHASES = (
    ("save", r"\bsav(e|ing)\b|state_dict"),
    ("resume", r"\bresum"),
    ("eval", r"\beval(uation)? "),
    ("load", r"\bload|constructor|initiali[sz]e a|init(ial)? copies|fsdp\(model\)"),
    ("step", r"\badam|optimizer[- ](step|state)|exp_avg|\bat step\b"),
    ("backward", r"\bbackward"),
    ("forward", r"\bforward\b|logits"),
)
"""Words of a report -> where it failed; the first that is found counts."""


def failing_phase(report: Report) -> str | None:
    """Where a report says that it failed; None where it does not say."""
    setup = report["setup"]
    words = f"{setup.get('phase') or ''} {report['outcome'].get('detail') or ''}".lower()
    return next((name for name, pattern in PHASES if re.search(pattern, words)), None)
