"""What one GPU used in each of a public report's settings."""

from __future__ import annotations

import re

from reportclaims import LISTS, Claim
from reporttables import OF_ROW
from reportwords import UNIT_BYTES, USED, Report
from rowwords import section

GENERIC = {
    "peak",
    "reserved",
    "used",
    "max",
    "mem",
    "memory",
    "gpu",
    "vram",
    "per",
    "train",
    "measured",
    "actual",
    "seen",
}
"""Words of a key that do not say whose figure it is."""
NUMBERED = (
    (r"(?:z|zero|stage)([0-3])", "stage"),
    (r"(?:g|gpus?|n)(\d+)|(\d+)gpus?", "gpus"),
    (r"(?:mbs|bs|batch)(\d+)", "micro_batch"),
    (r"(?:s|seq|len)(\d+)|(\d+)tokens", "seq_len"),
    (r"b(\d+)|(\d+)b", "params_b"),
)
"""Words of a key that hold a setting's number, and its field."""


def as_printed(size: float) -> tuple[float, float]:
    """A figure in GB or MB, as 10^9 and as 2^30: torch's and DeepSpeed's own counters print the latter under that name."""
    return size, size * 2**30 / 10**9


def used_by(report: Report, claim: Claim) -> float | None:
    """What one GPU used in a run, where the report tells it of each of its settings.

    A list as long as the list of what varied goes with it; a key may name a card, a stage or the offload.
    """
    if isinstance(claim.setup.get(OF_ROW), int | float):
        return float(claim.setup[OF_ROW])
    measured, setup = section(report["outcome"], "measured"), report["setup"]
    found: list[tuple[int, float]] = []
    for key, value in measured.items():
        *words, unit = str(key).lower().split("_")
        own = [word for word in words if word not in GENERIC]
        usual = isinstance(value, int | float) and not isinstance(value, bool) and unit in UNIT_BYTES
        if usual and own and all(_is_of(word, claim) for word in own):
            found.append((len(own), value * UNIT_BYTES[unit]))
        if USED.match(key) and isinstance(value, list):
            lists = [name for name in LISTS if isinstance(setup.get(name), list) and len(setup[name]) == len(value)]
            places = {setup[name].index(claim.setup[name]) for name in lists if claim.setup.get(name) in setup[name]}
            mine = value[places.pop()] if len(places) == 1 else None
            if isinstance(mine, int | float):
                found.append((0, mine * UNIT_BYTES[key.rpartition("_")[2]]))
    return max(found)[1] if found else None


def _is_of(word: str, claim: Claim) -> bool:
    """Whether a word of a figure's key is about this setting: a stage, a card, a batch, the offload, a method."""
    setup = claim.setup
    for pattern, field in NUMBERED:
        match = re.fullmatch(pattern, word)
        if match is not None:
            number, own = float(next(one for one in match.groups() if one)), setup.get(field)
            return isinstance(own, int | float | str) and _near(own, number)
    if re.fullmatch(r"off(load)?", word):
        return str(setup.get("offload", "none")).lower() != "none"
    if re.fullmatch(r"[a-z]+\d+|\d{4}", word):
        return word in str(setup.get("gpu", "")).lower()
    return word in re.split(r"\W+", str(setup.get("method") or "").lower())


def _near(own: float | str, number: float) -> bool:
    try:
        return abs(float(own) / number - 1) < 0.05 if number else float(own) == number
    except ValueError:
        return False
