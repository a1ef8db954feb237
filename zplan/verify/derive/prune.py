"""Drops instants that cannot be a peak, whatever the dimensions and whatever an engine adds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from zplan.verify.derive.forms import Poly, add, dominates
from zplan.verify.derive.pieces import Piece, Row

MATRIX = ("matrix",)
"""Stands for the size of a weight that is not a vector."""


def prune(piece: Piece, weights: Mapping[str, Poly], prefix: str) -> Piece:
    """Returns the piece with candidate instants only.

    A weight is *light* if it is a vector (norm, bias): its gradient and its gathering weigh nothing beside activations.
    Modules with light weights alone count as code outside of modules, and a light gradient in flight counts as
    an activation. An instant goes if another one has at least its bytes, gathers at least its module's weights, and has
    as many gradients ready; light gradients on top don't matter.

    Args:
        piece: As replayed.
        weights: Weight name -> number of elements in symbols, of every weight of the model.
        prefix: What weight names of this piece start with; taken off.
    """
    light = {name for name, size in weights.items() if MATRIX not in size}
    heavy_modules = {name.removeprefix(prefix).rpartition(".")[0] for name in weights if name not in light}
    order = piece.order
    forward = _candidates([_normal(row, light, heavy_modules, weights) for row in piece.forward], order, light, weights)
    backward = _candidates(
        [_normal(row, light, heavy_modules, weights) for row in piece.backward], order, light, weights
    )
    return replace(
        piece,
        forward=forward,
        backward=[replace(row, pending=row.pending.removeprefix(prefix)) for row in backward],
        order=[name.removeprefix(prefix) for name in order],
    )


def _normal(row: Row, light: set[str], heavy: set[str], weights: Mapping[str, Poly]) -> Row:
    module = row.module if row.module in heavy else ""
    if row.pending in light:
        return Row(module, row.ready, "", add([row.form, row.pending_form]), {})
    return replace(row, module=module)


def _candidates(rows: Sequence[Row], order: Sequence[str], light: set[str], weights: Mapping[str, Poly]) -> list[Row]:
    kept: list[Row] = []
    for index, row in enumerate(rows):
        others = kept + list(rows[index + 1 :])
        if not any(_covers(other, row, order, light, weights) for other in others):
            kept.append(row)
    return kept


def _covers(other: Row, row: Row, order: Sequence[str], light: set[str], weights: Mapping[str, Poly]) -> bool:
    """Whether ``other`` is a peak at least as high as ``row``."""
    if row.module not in ("", other.module) or row.pending not in ("", other.pending):
        return False
    first, last = sorted((row.ready, other.ready))
    between = order[first:last]
    if not light.issuperset(between):
        return False
    form = row.form
    if row.ready > other.ready:
        form = add([form, *({mono: 4 * c for mono, c in weights[name].items()} for name in between)])
    return dominates(other.form, form)
