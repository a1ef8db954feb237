"""What one GPU used in each of a public report's settings."""

from __future__ import annotations

import re

from reportclaims import LISTS, Claim
from reporttables import OF_ROW
from reportwords import UNIT_BYTES, USED, Report
from rowwords import section

OF_ONE = re.compile(
    r"(?:z(?P<stage>[0-3])_|(?P<off>off(?:load)?)_|(?P<card>[a-z]+\d+)_)"
    r"(?:(?:peak|reserved|used|max)_)?(?P<unit>gb|gib|mb|mib)"
)
"""Keys of ``measured`` that say whose figure they hold: a card's, a stage's, the offloaded run's."""


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
    found: list[float] = []
    for key, value in measured.items():
        match = OF_ONE.fullmatch(key)
        if match is not None and isinstance(value, int | float) and _is_of(match, claim):
            found.append(value * UNIT_BYTES[match["unit"]])
        if USED.match(key) and isinstance(value, list):
            lists = [name for name in LISTS if isinstance(setup.get(name), list) and len(setup[name]) == len(value)]
            places = {setup[name].index(claim.setup[name]) for name in lists if claim.setup.get(name) in setup[name]}
            own = value[places.pop()] if len(places) == 1 else None
            if isinstance(own, int | float):
                found.append(own * UNIT_BYTES[key.rpartition("_")[2]])
    return max(found) if found else None


def _is_of(match: re.Match[str], claim: Claim) -> bool:
    """Whether a figure's key names this setting, and no other of the report."""
    setup = claim.setup
    if match["stage"] is not None:
        return str(setup.get("stage")) == match["stage"]
    if match["off"] is not None:
        return str(setup.get("offload", "none")).lower() != "none"
    return str(setup.get("gpu", "")).lower().startswith(match["card"])
