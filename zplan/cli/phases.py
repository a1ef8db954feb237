"""``--phases`` and what belongs to it: words -> the phases to count beside the training step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields

from zplan.cli.options import PhaseOptions
from zplan.cli.parse import parse_word, unknown
from zplan.errors import ZplanError
from zplan.memory.moments import BEYOND, Estimate
from zplan.spec import Beyond
from zplan.units import parse_int

ALL = "all"
_NEEDS = {"eval_batch": "eval", "eval_logits": "eval", "state_dict": "save", "load_once": "load"}
"""Option -> the phase that it is about."""


def parse_phases(options: PhaseOptions) -> Beyond | None:
    """The phases that were asked for, None without any.

    Args:
        options: The words of the command line.

    Returns:
        The phases and how they run.

    Raises:
        ZplanError: a phase that does not exist, a value out of range, or an option whose phase was not asked for.
    """
    phases = _list(options.phases)
    for name in (field.name for field in fields(options)):
        phase = _NEEDS.get(name)
        if phase is not None and phase not in phases and getattr(options, name):
            flag = "--" + name.replace("_", "-")
            raise ZplanError(f"{flag} is about the phase {phase}", f"add --phases {','.join((*phases, phase))}")
    if not phases:
        return None
    kind = parse_word(
        options.state_dict, ("full", "full-gpu", "sharded"), flag="--state-dict", what="kind of state dict"
    )
    return Beyond(
        phases=phases,
        eval_batch=_whole(options.eval_batch, "--eval-batch", 1, 8),
        eval_logits=_whole(options.eval_logits, "--eval-logits", 0, 0),
        full_state_dict=None if kind is None else kind != "sharded",
        state_dict_on_gpu=kind == "full-gpu",
        load_once=options.load_once,
    )


def _whole(text: str | None, flag: str, minimum: int, default: int) -> int:
    return default if text is None else parse_int(text, flag=flag, minimum=minimum, maximum=65_536, example="8")


def _list(text: str | None) -> tuple[str, ...]:
    """Names between commas, in the order of a job."""
    if text is None:
        return ()
    words = [word.strip().lower() for word in text.split(",") if word.strip()]
    if not words:
        raise ZplanError("--phases names no phase", "try --phases load,eval,save")
    for word in words:
        if word not in (*BEYOND, ALL):
            raise unknown(word, (*BEYOND, ALL), what="phase", template="--phases {}")
    return BEYOND if ALL in words else tuple(phase for phase in BEYOND if phase in words)


def with_notes(assumptions: Sequence[str], estimates: Sequence[Estimate]) -> tuple[str, ...]:
    """Assumptions with those of the phases; once each."""
    notes = [note for estimate in estimates for need in estimate.beyond for note in need.notes]
    return tuple(dict.fromkeys((*assumptions, *notes)))
