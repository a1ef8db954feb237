"""Tables that a public report tells as prose: "7B seq 65,536 mbs 1 (ckpt), 32,768 mbs 2; 13B 32,768 mbs 1" is three rows.

Parts between commas and semicolons are read one after the other. Each adds what it names to what was said before of the same
model; a part without a setting of its own, in a row with as many parts as an earlier one, has the setting of its column.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from reportmentions import BATCH
from reportwords import Report
from rowwords import NoPlanError

Row = dict[str, Any]
MODEL = re.compile(r"(?<![\w.-])((?:[a-z][a-z.\d]*-(?:\d(?:\.\d)?-)?)?)(\d+(?:\.\d+)?)b\b(?!/)")
LENGTH = re.compile(
    r"(?:\bseq(?:_len)? |\blength |\()(\d[\d,]*\d)\)?(?! ?(?:gi?b|x))|(?<![\w,.])(\d{1,3},\d{3})(?= (?:mbs|batch|bs)\b)"
)
ON = re.compile(r"(?:^|\s)(\d+) on (\d+)\b")
AT = re.compile(r"\bat (\d+)\b(?! ?(?:gi?b|tokens|k\b))")
TIMES = re.compile(
    r"\bx ?(\d+)\b|\bon (\d+)\b|\b(\d+) ?x(?= ?[a-z\d])(?! ?(?:slow|fast|more|less|long|larg|small))|\b(\d+) gpus\b"
)
SAVERS = (
    (r"\b(without|no) (ckpt|checkpointing|ac)\b", "none"),
    (r"\bselective(-op)? (ac|ckpt|checkpointing)\b", "selective-op"),
    (r"\b(full (ac|ckpt|checkpointing)|ckpt|checkpointing|with ac)\b", "full"),
)
FIGURE = re.compile(r"(?<![\w.,-])(\d+(?:\.\d+)?) ?(gi?b|mi?b)?(?=$|[ )/])")
FAILED = re.compile(r"\boom(s|ed)?\b|out of memory|does not fit")
RAN = re.compile(r"\bfits?\b|\bran\b|\bruns\b|\bworks?\b|\btrains?\b")
ALL_RAN = re.compile(r"\bthat (ran|fits?|runs)\b|\blargest micro-?batch\b|\bmax(imum)? (micro-?)?batch\b")
UNITS = {"gb": 10**9, "gib": 2**30, "mb": 10**6, "mib": 2**20}
OF_ROW = "row_used_bytes"
"""Key of a row's setting: what one GPU used."""


def rows(report: Report) -> list[tuple[Row, bool, bool]]:
    """Settings of a table in prose, whether each ran, and whether it was the host's RAM that it failed for.

    Raises:
        NoPlanError: no row can be read.
    """
    detail = str(report["outcome"].get("detail", "")).lower()
    base = {**report["setup"], "framework": report.get("framework")}
    base |= _header(detail, base)
    all_ran = ALL_RAN.search(detail) is not None
    found: list[tuple[Row, bool, bool]] = []
    columns: list[Row] = []
    said: Row = {}
    batches = False
    """Whether figures are told "at" a micro-batch."""
    for line in re.split(r";|\.(?=\s|$)", detail):
        told = []
        for part in _parts(line):
            here = _said(part, base)
            if "model" in here and here["model"] != said.get("model"):
                said = {}
            at = AT.search(part)
            if at is not None and batches:
                here["micro_batch"] = int(at[1])
            batches = batches or re.search(rf"\bat {BATCH.pattern}", part) is not None
            if here:
                said = {**said, **here}
            told.append((part, here, dict(said)))
        outcomes = [one for one in told if one[2] and _outcome(one[0], all_ran, one[2]) is not None]
        own = [
            {key: value for key, value in here.items() if key in ("stage", "offload", "method")}
            for _, here, _ in outcomes
        ]
        if len(outcomes) > 1 and all(own):
            columns = own
        elif columns and len(outcomes) == len(columns) and not any(own):
            outcomes = [
                (part, here, {**whole, **own}) for (part, here, whole), own in zip(outcomes, columns, strict=True)
            ]
        elif columns and not any(own):
            continue  # which of the columns it is about is not told
        found += [_row(base, part, whole, all_ran) for part, _, whole in outcomes]
    if not found:
        raise NoPlanError("a table in prose that no row can be read from")
    return found


def _header(detail: str, base: Row) -> Row:
    """A card and a number of GPUs before the first row ("H100-80 x8:"); lists say nothing of a single row."""
    found: Row = {key: None for key, value in base.items() if isinstance(value, list)}
    card = re.search(
        r"\b([ahvl]\d{1,3}[a-z]?(?:-\d{2,3})?) ?x ?(\d+)\b|\b(\d+) ?x ?([ahvl]\d{1,3}[a-z]?(?:-\d{2,3})?)\b", detail
    )
    if card is not None:
        name, count = (card[1], card[2]) if card[1] else (card[4], card[3])
        found |= {"gpu": name, "gpus": int(count), **({"gpu_mem_gb": int(name.split("-")[1])} if "-" in name else {})}
    return found


def _parts(line: str) -> Iterator[str]:
    """Parts of a row; a comma within a number or in brackets does not part them."""
    for part in re.split(r",(?!\d{3})(?![^(]*\))|:(?=\s)", line):
        ons = list(ON.finditer(part))
        if len(ons) > 1 and " and " in part:
            yield from part.split(" and ")
        elif part.strip():
            yield part


def _said(part: str, base: Row) -> Row:
    """What a part says of its setting."""
    found: Row = {}
    model = MODEL.search(part)
    if model is not None:
        family = model[1] or _family(base)
        found |= {"params_b": float(model[2]), "model": f"{family}{model[2]}b"}
    length = LENGTH.search(part)
    if length is not None:
        found["seq_len"] = int((length[1] or length[2]).replace(",", ""))
    batch, on = BATCH.search(part), ON.search(part)
    if batch is not None or on is not None:
        found["micro_batch"] = int(batch[1] if batch is not None else on[1] if on is not None else 1)
    times = TIMES.search(part)
    if times is not None:
        found["gpus"] = int(next(group for group in times.groups() if group))
    saver = next((name for pattern, name in SAVERS if re.search(pattern, part)), None)
    if saver is not None:
        found["grad_ckpt"] = saver
    stage = re.search(r"zero-?([0-3])|\bstage ([0-3])|\bz([0-3])\b", part)
    if stage is not None:
        found |= {"stage": int(next(group for group in stage.groups() if group)), "offload": "none"}
    elif re.search(r"\bddp\b", part):
        found |= {"stage": "none", "offload": "none"}
    if "offload" in part:
        found["offload"] = "optimizer cpu" if "optimizer" in part else "optimizer+param cpu"
    method = re.search(r"\bq?lora\b", part)
    return {**found, **({"method": method[0]} if method is not None else {})}


def _family(base: Row) -> str:
    """The first word of the field that names the models."""
    word = re.match(r"[a-z][a-z-]*", str(base.get("models") or base.get("model") or "").lower())
    return f"{word[0].strip('-')}-" if word is not None and len(word[0]) > 1 else ""


def _figure(part: str) -> float | None:
    """What one GPU used: a number with a unit, or one that stands alone before a bracket or the end."""
    for match in FIGURE.finditer(part):
        alone = match.start() == len(part) - len(part.lstrip())
        if match[2] or (alone and "." in match[1]) or (alone and re.match(r"\s*(\(|$)", part[match.end() :])):
            return float(match[1]) * UNITS[match[2] or "gb"]
    return None


def _outcome(part: str, all_ran: bool, whole: Row) -> bool | None:
    if FAILED.search(part):
        return False
    if RAN.search(part) or _figure(part) is not None:
        return True
    return True if all_ran and "micro_batch" in whole and (BATCH.search(part) or ON.search(part)) else None


def _row(base: Row, part: str, whole: Row, all_ran: bool) -> tuple[Row, bool, bool]:
    ran = bool(_outcome(part, all_ran, whole))
    used = _figure(part) if ran else None
    setup = {key: value for key, value in {**base, **whole}.items() if value is not None}
    return {**setup, **({OF_ROW: used} if used is not None else {})}, ran, not ran and "host" in part
