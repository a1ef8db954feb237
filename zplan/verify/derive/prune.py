"""Drops instants that cannot be a peak, whatever the dimensions and whatever an engine adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zplan.memory.activations.base import AFTER_MODULE, AT_HOOK
from zplan.verify.derive.forms import Poly, add, dominates
from zplan.verify.derive.pieces import Piece, Row

MATRIX = ("matrix",)
"""Stands for the size of a weight that is not a vector."""


def prune(piece: Piece, weights: Mapping[str, Poly], prefix: str, *, between: bool = False) -> Piece:
    """Returns the piece with candidate instants only.

    A weight is *light* if it is a vector (norm, bias): its gradient and its gathering weigh nothing beside activations.
    Modules with light weights alone count as code outside of modules, and a light gradient in flight counts as
    an activation. An instant goes if another one has at least its bytes, gathers at least its module's weights, and has
    as many gradients ready; light gradients on top don't matter. Code between modules of a block goes by the module that ran
    before it, and gathers no more than the one that follows.

    Args:
        piece: As replayed.
        weights: Weight name -> number of elements in symbols, of every weight of the model.
        prefix: What weight names of this piece start with; taken off.
        between: Tell code between modules apart by the module before it.
    """
    light = {name for name, size in weights.items() if MATRIX not in size}
    heavy_modules = {name.removeprefix(prefix).rpartition(".")[0] for name in weights if name not in light}
    order = piece.order
    passes = []
    for rows, trail in zip((piece.forward, piece.backward), piece.trails, strict=True):
        known = [_normal(row, light, heavy_modules) for row in rows]
        around = [_around(row, trail, heavy_modules) if between and not row.module else ("", None) for row in known]
        named = [replace(row, module=row.module or before) for row, (before, _) in zip(known, around, strict=True)]
        passes.append(_candidates(named, [after for _, after in around], order, light, weights))
    forward, backward = passes
    return replace(
        piece,
        forward=forward,
        backward=[replace(row, pending=_without(row.pending, prefix)) for row in backward],
        order=[name.removeprefix(prefix) for name in order],
    )


def _without(pending: str, prefix: str) -> str:
    name = pending.removeprefix(AT_HOOK)
    return pending[: len(pending) - len(name)] + name.removeprefix(prefix)


def _around(row: Row, trail: Sequence[str], heavy: set[str]) -> tuple[str, str | None]:
    """What code between modules goes by, and the module that follows it."""
    before = next((name for name in reversed(trail[: row.place]) if name in heavy), None)
    return "" if before is None else AFTER_MODULE + before, next(
        (name for name in trail[row.place :] if name in heavy), None
    )


def _normal(row: Row, light: set[str], heavy: set[str]) -> Row:
    module = row.module if row.module in heavy else ""
    if row.pending.removeprefix(AT_HOOK) in light:
        return Row(module, row.ready, "", add([row.form, row.pending_form]), {}, row.place)
    return replace(row, module=module)


def _candidates(
    rows: Sequence[Row], after: Sequence[str | None], order: Sequence[str], light: set[str], weights: Mapping[str, Poly]
) -> list[Row]:
    kept: list[Row] = []
    for index, (row, following) in enumerate(zip(rows, after, strict=True)):
        others = kept + list(rows[index + 1 :])
        if not any(_covers(other, row, following, order, light, weights) for other in others):
            kept.append(row)
    return kept


def _covers(
    other: Row, row: Row, following: str | None, order: Sequence[str], light: set[str], weights: Mapping[str, Poly]
) -> bool:
    """Whether ``other`` is a peak at least as high as ``row``, which the module ``following`` comes after."""
    between = row.module.startswith(AFTER_MODULE) or following is not None
    covering = (row.module, following) if between else (row.module or other.module,)
    if other.module not in covering or row.pending not in ("", other.pending):
        return False
    first, last = sorted((row.ready, other.ready))
    passed = order[first:last]
    if not light.issuperset(passed):
        return False
    form = row.form
    if row.ready > other.ready:
        form = add([form, *({mono: 4 * c for mono, c in weights[name].items()} for name in passed)])
    return dominates(other.form, form)
