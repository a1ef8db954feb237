"""Finds the table of an implementation: exact where one was derived, else the nearest, which is said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.table import Table
from zplan.spec import Attention, Weight, WeightKind

Tables = Mapping[str, tuple[Table, ...]]


def module_of(implementation: str) -> str:
    """Returns the name of the table module of an implementation key such as ``falcon:two_norms+dropout=none``."""
    return implementation.split("+", maxsplit=1)[0].split(":", maxsplit=1)[0].removesuffix("_text")


def variation(implementation: str) -> str:
    """Returns what a config changes about the family's code: ``+dropout=none``, ``+act=relu`` or nothing."""
    return "".join(f"+{part}" for part in implementation.split("+")[1:])


@lru_cache(maxsize=256)
def tables_of(module: str, mode: ComputeMode, lora: bool = False) -> Tables:
    """Returns the tables of a family in one mode, with adapters on its linear layers or without.

    Raises:
        ZplanError: There are none.
    """
    try:
        loaded = import_module(f"zplan.memory.activations.tables.{module}_{mode.value}{'_lora' if lora else ''}")
    except ModuleNotFoundError:
        if mode is ComputeMode.MIXED:
            return tables_of(module, ComputeMode.CAST, lora)
        raise ZplanError(
            f"there are no activation tables for {module}{' with adapters' if lora else ''} in {mode.value} mode",
            "derive them: python benchmarks/derive_activations.py, or take a family that has them: zplan presets ls",
        ) from None
    tables: Tables = loaded.TABLES
    return tables


@lru_cache(maxsize=256)
def has_tables(implementation: str, mode: ComputeMode, lora: bool) -> bool:
    """Returns whether a family has tables of its own for one mode."""
    try:
        tables_of(module_of(implementation), mode, lora)
    except ZplanError:
        return False
    return True


def adapted_names(weights: Sequence[Weight]) -> list[str]:
    """Returns the names of a piece's weights, with two adapter matrices after each linear layer's as peft has them."""
    names: list[str] = []
    for weight in weights:
        names.append(weight.name)
        if weight.kind in ADAPTED and len(weight.shape) == 2:
            stem = weight.name.removesuffix(".weight")
            names += [f"{stem}.lora_A.default.weight", f"{stem}.lora_B.default.weight"]
    return names


ADAPTED = frozenset({WeightKind.LINEAR, WeightKind.CONV1D})
"""Kinds of weights that peft's ``all-linear`` puts adapters on."""


def way_key(attention: Attention, checkpointed: bool, tables: Tables | None = None) -> str:
    """Returns how a way of running is spelt in table keys.

    Args:
        attention: Kernel that was asked for; code that has an attention of its own alone (BLOOM, MPT) runs that.
        checkpointed: Whether blocks are.
        tables: The family's, to know whether it is such code.
    """
    own = f"stem {Attention.EAGER.value}"
    if tables is not None and own in tables and f"stem {Attention.FLASH.value}" not in tables:
        attention = Attention.EAGER
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
    for name in (piece, _without(piece, "+act="), piece.split("+", maxsplit=1)[0]):
        for key in (f"{name} {way}" if grouped else f"{name} {way} mha", f"{name} {way}"):
            if key in tables:
                return min(tables[key], key=lambda table: len(names.symmetric_difference(table.order)))
    raise KeyError(f"{piece} {way}")


def _without(piece: str, part: str) -> str:
    return "+".join(item for item in piece.split("+") if not f"+{item}".startswith(part))
