"""Finds the table of an implementation: exact where one was derived, else the nearest, which is said."""

from __future__ import annotations

from collections.abc import Sequence

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.store import Shelf, Tables, section, shelf
from zplan.memory.activations.table import Table
from zplan.spec import Attention

WITH_ADAPTERS = " with adapters"
MEASURE = (
    "zplan verify --launch dryrun with the same options measures it instead: it runs any decoder that transformers has"
)


def module_of(implementation: str) -> str:
    """Returns the name of the table module of an implementation key such as ``falcon:two_norms+dropout=none``."""
    return implementation.split("+", maxsplit=1)[0].split(":", maxsplit=1)[0].removesuffix("_text")


def variation(implementation: str) -> str:
    """Returns what a config changes about the family's code: ``+dropout=none``, ``+act=relu`` or nothing."""
    return "".join(f"+{part}" for part in implementation.split("+")[1:])


def code_kind(implementation: str) -> str:
    """Returns which of a family's several codes a block is: ``:post_norm`` or nothing."""
    _, colon, kind = implementation.split("+", maxsplit=1)[0].partition(":")
    return colon + kind


def tables_of(module: str, mode: ComputeMode, lora: bool = False) -> Shelf:
    """Returns the tables of a family in one mode, with adapters on its linear layers or without.

    Raises:
        ZplanError: There are none.
    """
    found = shelf(module, section(mode, lora))
    if found is None and mode is ComputeMode.MIXED:
        found = shelf(module, section(ComputeMode.CAST, lora))
    if found is None:
        raise ZplanError(
            f"there are no activation tables for {module}{WITH_ADAPTERS if lora else ''} in {mode.value} mode", MEASURE
        )
    return found


def way_key(attention: Attention, checkpointed: bool, tables: Shelf | None = None) -> str:
    """Returns how a way of running is spelt in table keys.

    Args:
        attention: Kernel that was asked for. Code that has an attention of its own alone (BLOOM, MPT) runs that; code without
            sliding windows never passes sdpa a mask, which makes it flash attention.
        checkpointed: Whether blocks are.
        tables: The family's, to know whether it is such code.
    """
    flash, own = (f"stem {kind.value}" for kind in (Attention.FLASH, Attention.EAGER))
    if tables is not None and own in tables and flash not in tables:
        attention = Attention.EAGER
    elif tables is not None and attention is Attention.SDPA and not tables.masks:
        attention = Attention.FLASH
    return attention.value + (" checkpointed" if checkpointed else "")


def has_tables(implementation: str, mode: ComputeMode, lora: bool, attention: Attention) -> bool:
    """Returns whether a family has tables of its own for one mode and kernel."""
    found = shelf(module_of(implementation), section(mode, lora))
    return found is not None and f"stem {way_key(attention, False, found)}" in found


def find(tables: Tables, piece: str, way: str, weights: Sequence[str], *, grouped: bool) -> Table:
    """Returns the table of a piece.

    Args:
        tables: Of the family.
        piece: Implementation key, ``stem`` or ``head``.
        way: As ``way_key`` gives it.
        weights: Names of the piece's weights: with and without biases the code is the same, the tables are not.
        grouped: Fewer KV heads than heads: only then are they repeated where a kernel needs it.

    Raises:
        KeyError: No table comes near.
    """
    names = set(weights)
    for name in (piece, _without(piece, "+act="), piece.split("+", maxsplit=1)[0]):
        for key in (f"{name} {way}" if grouped else f"{name} {way} mha", f"{name} {way}"):
            if key in tables:
                return min(tables[key], key=lambda table: len(names.symmetric_difference(table.order)))
    raise KeyError(f"{piece} {way}")


def _without(piece: str, part: str) -> str:
    return "+".join(item for item in piece.split("+") if not f"+{item}".startswith(part))
