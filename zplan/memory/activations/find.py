"""Finds the table of an implementation: exact where one was derived, else the nearest, which is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.table import Table
from zplan.spec import Attention

Tables = Mapping[str, tuple[Table, ...]]


def module_of(implementation: str) -> str:
    """Returns the name of the table module of an implementation key such as ``falcon:two_norms+dropout=none``."""
    return implementation.split("+")[0].split(":")[0].removesuffix("_text")


def variation(implementation: str) -> str:
    """Returns what a config changes about the family's code: ``+dropout=none``, ``+act=relu`` or nothing."""
    return "".join(f"+{part}" for part in implementation.split("+")[1:])


@lru_cache(maxsize=256)
def tables_of(module: str, mode: ComputeMode) -> Tables:
    """Returns the tables of a family in one mode.

    Raises:
        ZplanError: There are none.
    """
    try:
        loaded = import_module(f"zplan.memory.activations.tables.{module}_{mode.value}")
    except ModuleNotFoundError:
        raise ZplanError(
            f"there are no activation tables for {module}",
            "derive them: python benchmarks/derive_activations.py, or take a family that has them: zplan presets ls",
        ) from None
    tables: Tables = loaded.TABLES
    return tables


def way_key(attention: Attention, checkpointed: bool) -> str:
    """Returns how a way of running is spelt in table keys."""
    return attention.value + (" checkpointed" if checkpointed else "")


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
    for name in (piece, _without(piece, "+act="), piece.split("+")[0]):
        for key in (f"{name} {way}" if grouped else f"{name} {way} mha", f"{name} {way}"):
            if key in tables:
                return min(tables[key], key=lambda table: len(names.symmetric_difference(table.order)))
    raise KeyError(f"{piece} {way}")


def _without(piece: str, part: str) -> str:
    return "+".join(item for item in piece.split("+") if not f"+{item}".startswith(part))
