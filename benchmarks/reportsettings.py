"""What a report's outcome adds to a setting: the card's total, what a run used, whose attention it was, how long rows were."""

from __future__ import annotations

import re
from typing import Any

from reportcards import HOLDS, TOTAL
from reportclaims import Claim
from reportfigures import used_by
from reportmodels import model_of
from reportplans import Meant, meant, plain
from reportwords import Report, quoted, total_bytes, used_bytes
from rowwords import UNREADABLE, NoPlanError

from zplan.errors import ZplanError

LOGITS = re.compile(r"logits|cross.entropy")
IN_FP32 = re.compile(r"\bfloat\(\)|fp32|upcast")
SCORES = re.compile(r"softmax (of|in|inside) (the )?attention|attention (scores|matrix|probabilities)|attn_weights")
UNIT = {"GiB": 2**30, "MiB": 2**20}
MORE = 1.02
"""A request that needs so many times a setting's tokens was made by more of them."""


def plans_of(report: Report, claim: Claim) -> Meant:
    """The plans that a claim's setting can mean, in the light of what the report says became of it.

    Raises:
        NoPlanError: too little is known.
    """
    return meant(setting_of(report, claim), on_host=claim.on_host)


def setting_of(report: Report, claim: Claim) -> dict[str, Any]:
    """A claim's setting with what follows from the report's outcome.

    Kernels that keep no scores have no softmax of attention to fail in; and logits in fp32 are 4 bytes per token and word,
    so that the size of a failed request for them is a number of tokens.
    """
    setup = dict(claim.setup)
    words = " ".join(str(part) for part in (report["outcome"].get("detail"), report.get("check"))).lower()
    themes = report.get("themes") or ()
    if setup.get("attn", setup.get("attention")) is None and (SCORES.search(words) or "eager_attention" in themes):
        setup["attn"] = "eager"
    total = total_bytes(report)
    if total is not None:
        setup[TOTAL] = total
    used = (used_by(report, claim) or used_bytes(report)) if claim.ran and not claim.on_host else None
    if used is not None:
        setup[HOLDS] = used
    if not claim.ran and not claim.on_host and LOGITS.search(words) and IN_FP32.search(words):
        setup |= _longer(report, setup)
    return setup


def _longer(report: Report, setup: dict[str, Any]) -> dict[str, int]:
    """The row that a failed request for logits was made by, where it is longer than the setting's."""
    size = re.match(r"([\d.]+) ([GM]iB)", quoted(report) or "")
    setup = plain(setup)
    batch, length = setup.get("micro_batch"), setup.get("seq_len")
    if size is None or not isinstance(batch, int) or not isinstance(length, int):
        return {}
    try:
        vocab = setup["vocab"] if isinstance(setup.get("vocab"), int) else model_of(setup).vocab_size
        tokens = int(float(size[1]) * UNIT[size[2]] / (4 * vocab))
    except (NoPlanError, ZplanError, *UNREADABLE):
        return {}
    return {"micro_batch": 1, "seq_len": tokens} if tokens > MORE * batch * length else {}
