"""Fields of a public report: what it used, what it asked for when it failed, where it failed."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from rowwords import section

FAILED = re.compile(
    r"\boom(s|ed|ing)?\b|out of memory|killed|exit -9|exhaust|does not fit|do not fit|does not hold|\bfail|\bdies?\b"
)
"""Words of a clause that tells of a failure."""
Report = Mapping[str, Any]
USED = re.compile(
    r"^((train|measured|seen|actual|used|after)_)?(mem_|peak_|max_|gpu_|vram_|reserved_|per_gpu_)*(gb|gib|mb|mib)$"
)
"""Keys of ``measured`` that hold what one GPU used."""
OF_RAM = re.compile(r"\b(host|cpu|system|node) (ram|memory)\b|\brss\b")
OF_CARD = re.compile(r"\bvram\b|gpu memory|(/|per |each |a )(gpu|card)\b")
HELD = re.compile(r"^(allocated|held)_(gb|gib|mb|mib)$")
"""Keys of ``measured`` that hold what lived on the GPU when an allocation failed."""
UNIT_BYTES = {"gb": 10**9, "gib": 2**30, "mb": 10**6, "mib": 2**20}


def used_bytes(report: Report) -> float | None:
    """What one GPU used in the run that the report is about, if it gives one figure; one of the host's RAM is none."""
    words = str(report["outcome"].get("detail") or "").lower()
    if OF_RAM.search(words) and not OF_CARD.search(words):
        return None
    measured = section(report["outcome"], "measured")
    found = [
        float(value) * UNIT_BYTES[key.rpartition("_")[2]]
        for key, value in measured.items()
        if USED.match(key) and isinstance(value, int | float)
    ]
    return max(found) if found else None


def reached_bytes(report: Report) -> float | None:
    """What lived on the GPU when an allocation failed, and the allocation: the run needed at least this much."""
    measured = section(report["outcome"], "measured")
    held = [
        float(value) * UNIT_BYTES[match[2]]
        for key, value in measured.items()
        if (match := HELD.match(key)) is not None and isinstance(value, int | float)
    ]
    if not held:
        return None
    asked = re.match(r"([\d.]+) (GiB|MiB)", quoted(report) or "")
    return max(held) + (float(asked[1]) * UNIT_BYTES[asked[2].lower()] if asked else 0)


def total_bytes(report: Report) -> float | None:
    """What the card has by the message of a failure: "77.1 GiB allocated of 79.35", "79.35 GiB total"."""
    detail = str(report["outcome"].get("detail", ""))
    found = re.search(r"\d GiB allocated of (\d+\.\d+)\b|\b(\d+\.\d+) GiB total", detail)
    value = section(report["outcome"], "measured").get("total_gib")
    if isinstance(value, int | float) and value > 0:
        return float(value) * UNIT_BYTES["gib"]
    return float(found[1] or found[2]) * UNIT_BYTES["gib"] if found else None


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
    """Where a report says that it failed, in the parts that say so first; None where it does not say."""
    detail = str(report["outcome"].get("detail") or "").lower()
    parts = [part for part in re.split(r";|,(?!\d)|:|\.(?=\s|$)", detail) if FAILED.search(part)]
    for words in (str(report["setup"].get("phase") or "").lower(), " ".join(parts), detail):
        found = next((name for name, pattern in PHASES if re.search(pattern, words)), None)
        if found is not None:
            return found
    return None
