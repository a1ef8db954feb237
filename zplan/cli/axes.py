"""``--over NAME=VALUES``: one axis of a sweep, as typed and parsed."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, fields
from decimal import Decimal
from difflib import get_close_matches
from enum import Enum

from zplan.advice.sweep import Axis
from zplan.cli.options import PlanOptions
from zplan.cli.parse import (
    JobWords,
    parse_gpu_memory,
    parse_gpus,
    parse_host_memory,
    parse_job,
    parse_nodes,
    parse_nvme,
    unknown,
)
from zplan.errors import ZplanError
from zplan.units import parse_count, parse_tokens, quote

COUNTS_UP = ("stage", "rank")
"""Knobs whose ranges count up by one; all others double."""
MOST_CELLS = 100_000
EXAMPLE = "--over micro-batch=1..16"
SAMPLES = {
    "params": "1B,7B",
    "model": "gpt2,llama-2-7b",
    "gpus": "8,16",
    "nodes": "1,2",
    "gpu": "a100-80g,h100-80g",
    "gpu-mem": "40,80",
    "node": "dgx-a100-80g,dgx-h100",
    "host-mem": "512,1024",
    "nvme": "1000,4000",
    "engine": "deepspeed,fsdp2",
    "stage": "0..3",
    "precision": "bf16,fp16",
    "optimizer": "adamw,sgd",
    "micro-batch": "1..16",
    "seq-len": "2k..32k",
    "grad-accum": "1..8",
    "attention": "flash,eager",
    "loss": "standard,fused",
    "compile": "on,off",
    "zero-init": "on,off",
    "rank": "0..7",
    "ds-config": "ds_config.json",
    "offload": "none,optimizer",
    "offload-to": "cpu,nvme",
    "checkpointing": "none,full",
    "lora": "8,16",
    "quantize": "nf4,int8",
    "hpz": "1..8",
}
"""Option -> values of an axis, for hints."""

_NUMBER = r"(\d+(?:\.\d+)?)([A-Za-z]*)"
_RANGE = re.compile(rf"{_NUMBER}\.\.{_NUMBER}(?::{_NUMBER})?")
_SIZES: dict[str, Callable[[str], int | None]] = {
    "params": parse_count,
    "gpus": parse_gpus,
    "nodes": parse_nodes,
    "gpu_mem": parse_gpu_memory,
    "host_mem": parse_host_memory,
    "nvme": parse_nvme,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class TypedAxis:
    """One axis before any plan is built."""

    axis: Axis
    words: tuple[str | bool, ...]
    """What ``PlanOptions`` would hold."""
    changes: tuple[dict[str, object], ...]
    """What each value sets in ``JobWords``; empty for knobs of the model or the hardware."""

    @property
    def of_job(self) -> bool:
        """Whether values are set in the parsed job, rather than read again from options."""
        return self.axis.name in _JOB_NAMES


_JOB_NAMES = {field.name for field in fields(JobWords)}
NAMES = tuple(field.name.replace("_", "-") for field in fields(PlanOptions))


def parse_axis(text: str) -> TypedAxis:
    """Read ``stage=0..3``, ``micro-batch=1,2,4,8``, ``seq-len=2k..128k`` or ``seq-len=2k..16k:2k``.

    ``a..b`` counts up by one for ``stage`` and ``rank`` and doubles from ``a`` for everything else; ``b`` is always the
    last value. ``a..b:c`` goes in steps of ``c``.

    Args:
        text: What followed ``--over``.

    Returns:
        The axis, each of its words checked.

    Raises:
        ZplanError: an option that does not exist, no values, or a value that the option does not take.
    """
    name, equals, rest = text.partition("=")
    flag = name.strip().lstrip("-").replace("_", "-").lower()
    if not equals:
        raise ZplanError(f"--over {quote(text)} has no values", f"name an option and its values: {EXAMPLE}")
    if flag not in NAMES:
        near = get_close_matches(flag, NAMES, n=1, cutoff=0.6)
        hint = f"did you mean {sample(near[0])}?" if near else f"one of {', '.join(NAMES)}, as in {EXAMPLE}"
        raise ZplanError(f"unknown option to sweep over {quote(flag)}", hint)
    field = flag.replace("-", "_")
    labels: list[str] = []
    for part in rest.split(","):
        labels += _expand(part.strip(), field, flag)
    labels = list(dict.fromkeys(labels))
    try:
        parsed = [_parse(label, field) for label in labels]
    except ZplanError as error:
        # The option's own hint says what to type after the option; here that is said in the axis.
        hint = re.sub(rf"--{flag} (?=[\w.])", f"--over {flag}=", error.hint)
        raise ZplanError(error.message, hint, error.exit_code) from None
    return TypedAxis(
        axis=Axis(name=field, labels=tuple(labels), values=tuple(value for _, value, _ in parsed)),
        words=tuple(word for word, _, _ in parsed),
        changes=tuple(change for _, _, change in parsed),
    )


def sample(flag: str) -> str:
    """An axis that can be typed, for hints."""
    return f"--over {flag}={SAMPLES[flag]}"


def _expand(part: str, field: str, flag: str) -> list[str]:
    """One word, or the words of a range."""
    if not part:
        raise ZplanError(f"--over {flag} has an empty value", f"separate values by one comma: {EXAMPLE}")
    if ".." not in part or "/" in part:
        return [part]
    match = _RANGE.fullmatch(part)
    if match is None:
        raise ZplanError(
            f"--over {flag}={quote(part)} is no range of numbers",
            f"write two numbers, as in {EXAMPLE}, and a step if you like: --over seq-len=2k..16k:2k",
        )
    low, high, unit = _ends(match, field, flag, part)
    step = None
    if match[5]:
        step = Decimal(match[5]) * _factor(match[6], unit, field, flag, part)
    elif field in COUNTS_UP:
        step = Decimal(1)
    if high < low or (step is not None and step <= 0) or (step is None and low <= 0):
        raise ZplanError(f"--over {flag}={quote(part)} goes nowhere", f"write the smaller end first, as in {EXAMPLE}")
    if step is not None and (high - low) / step > MOST_CELLS:
        raise ZplanError(f"--over {flag}={quote(part)} has too many values", "take a larger step")
    values = [low]
    while (following := values[-1] * 2 if step is None else values[-1] + step) < high:
        values.append(following)
    if values[-1] != high:
        values.append(high)
    return [_label(value, unit, field) for value in values]


def _ends(match: re.Match[str], field: str, flag: str, part: str) -> tuple[Decimal, Decimal, str]:
    """Both ends in one unit: the first's, or plain tokens where the range mixes them."""
    low, low_unit, high, high_unit = match.group(1, 2, 3, 4)
    units = {low_unit, high_unit} | ({match[6]} if match[5] else set())
    unit = "" if len(units) > 1 and field == "seq_len" else low_unit
    return (
        Decimal(low) * _factor(low_unit, unit, field, flag, part),
        Decimal(high) * _factor(high_unit, unit, field, flag, part),
        unit,
    )


def _factor(unit: str, common: str, field: str, flag: str, part: str) -> int:
    """What turns a number in ``unit`` into one in the range's common unit."""
    if unit == common:
        return 1
    if field == "seq_len" and not common:
        return parse_tokens(f"1{unit}", flag=f"--over {flag}")
    raise ZplanError(
        f"--over {flag}={quote(part)} mixes units", f"give both ends and the step in one unit: --over {flag}=1k..8k:1k"
    )


def _label(value: Decimal, unit: str, field: str) -> str:
    whole = value == value.to_integral_value()
    if field == "seq_len" and not unit and whole and value >= 1024 and value % 1024 == 0:
        return f"{int(value) // 1024}k"
    return f"{int(value)}{unit}" if whole else f"{value.normalize():f}{unit}"


def _parse(label: str, field: str) -> tuple[str | bool, str | int | bool, dict[str, object]]:
    """A label as an option's word, as a value, and as what it sets in the job."""
    if field == "compile":
        if label.lower() not in ("on", "off"):
            raise unknown(label, ("on", "off"), what="setting of --compile", template="--over compile={}")
        on = label.lower() == "on"
        return on, on, {"compile": on}
    if field in _JOB_NAMES:
        if field == "stage" and label.lower() == "all":
            raise ZplanError("a sweep has one stage per cell, not all of them", "write --over stage=0..3")
        job = parse_job({field: label})
        change = {f.name: getattr(job, f.name) for f in fields(JobWords) if getattr(job, f.name) != f.default}
        value = change.get(field, label)
        plain = value.value if isinstance(value, Enum) else value
        return label, plain if isinstance(plain, int) else str(plain), change
    size = _SIZES[field](label) if field in _SIZES else None
    _check_name(field, label)
    return label, label if size is None else size, {}


def _check_name(field: str, label: str) -> None:
    """Refuse an unknown model, card or machine at once: in the grid it would be a cell that cannot be run."""
    from zplan.inputs.model import resolve_model
    from zplan.inputs.presets import load_gpu, load_node

    if field == "gpu" and label != "auto":
        load_gpu(label)
    elif field == "node":
        load_node(label)
    elif field == "model":
        resolve_model(params=None, model=label)
