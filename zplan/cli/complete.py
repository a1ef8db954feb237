"""What a shell may offer for an option or an argument: presets and closed sets of words.

The shell's part is typer's (``zplan --install-completion``). Whatever has no words here is left to the shell, which
offers files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from zplan.errors import ZplanError

Words = Callable[[], Iterable[str]]


def _models() -> Iterable[str]:
    from zplan.inputs.presets import list_models

    return list_models()


def _gpus() -> Iterable[str]:
    from zplan.inputs.presets import list_gpus

    return list_gpus()


def _nodes() -> Iterable[str]:
    from zplan.inputs.presets import list_nodes

    return list_nodes()


def _presets() -> Iterable[str]:
    return [*_models(), *_gpus(), *_nodes()]


def _members(name: str) -> Words:
    def words() -> Iterable[str]:
        import zplan.spec

        return [member.value for member in getattr(zplan.spec, name)]

    return words


def _optimizers() -> Iterable[str]:
    from zplan.memory.optimizers import OPTIMIZERS

    return OPTIMIZERS


def _goals() -> Iterable[str]:
    from zplan.advice.goals import Goal

    return [goal.value for goal in Goal]


def _formats() -> Iterable[str]:
    from zplan.export.config import FORMATS

    return FORMATS


def _axes() -> Iterable[str]:
    from dataclasses import fields

    from zplan.cli.options import PlanOptions

    return [f"{item.name.replace('_', '-')}=" for item in fields(PlanOptions)]


def _terms() -> Iterable[str]:
    from zplan.memory.terms import TERMS

    return TERMS


def _fixed(*words: str) -> Words:
    return lambda: words


OFFERED: dict[str, Words] = {
    "--model": _models,
    "--gpu": _gpus,
    "--node": _nodes,
    "--engine": _members("Engine"),
    "--stage": _fixed("0", "1", "2", "3", "all"),
    "--precision": _members("Precision"),
    "--optimizer": _optimizers,
    "--attention": _members("Attention"),
    "--loss": _members("Loss"),
    "--zero-init": _fixed("on", "off"),
    "--rank": _fixed("worst"),
    "--offload": _members("Offload"),
    "--offload-to": _members("OffloadTo"),
    "--checkpointing": _fixed("none", "full", "selective", "every-2"),
    "--quantize": _members("Quantize"),
    "--unit": _fixed("GiB", "GB"),
    "--goal": _goals,
    "--format": _formats,
    "--launch": _fixed("dryrun", "single", "torchrun"),
    "--over": _axes,
    "KIND": _fixed("models", "gpus", "nodes"),
    "NAME": _presets,
    "TERM": _terms,
}
"""Flag, or metavar of an argument -> its words."""


def complete(ctx: Any, parameter: Any, incomplete: str) -> list[str]:
    """Words that go on from what was typed.

    Args:
        ctx: Typer's context; not looked at.
        parameter: The option or argument at hand.
        incomplete: What was typed of it.

    Returns:
        Whole words; after a comma, as in ``--gpu a100-80g,h100``, with what stands before it.
    """
    name = next((flag for flag in parameter.opts if flag in OFFERED), parameter.metavar)
    words = OFFERED.get(name)
    if words is None:
        return []
    before, comma, begun = incomplete.rpartition(",") if name == "--gpu" else ("", "", incomplete)
    try:
        known = list(words())
    except ZplanError:  # a broken folder of presets: told when a command runs, not while one is typed
        return []
    return [before + comma + word for word in known if word.lower().startswith(begun.lower())]
