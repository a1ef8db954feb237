"""Symbolic pieces as tables of whole coefficients."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from zplan.memory.activations.table import Row as Numbers
from zplan.memory.activations.table import Table
from zplan.verify.derive.forms import Monomial, Poly
from zplan.verify.derive.pieces import Piece

BATCH_ORDER = ("T", "b", "s", "r", "p", "c")


def column(mono: Monomial) -> str:
    """Returns a monomial as a column's name: b*s as T, batch symbols first."""
    left = Counter(mono)
    names = []
    while left["b"] and left["s"]:
        names.append("T")
        left.subtract("bs")
    for name in (*BATCH_ORDER[1:], *sorted(set(mono) - set(BATCH_ORDER), key=lambda x: (x.lower(), x))):
        names += [name] * left[name]
    return "*".join(names) or "1"


def table(piece: Piece) -> Table:
    """Returns a piece as a table."""
    forms = [piece.kept, piece.frame, piece.cache, piece.held, piece.input_grad]
    forms += [row.form for row in (*piece.forward, *piece.backward)]
    monos = sorted({mono for form in forms for mono in form}, key=lambda mono: (-_weight(mono), column(mono)))

    def row(form: Poly) -> Numbers:
        if any(c.denominator != 1 for c in form.values()):
            raise ValueError(f"half a byte in {form}")
        return tuple(int(form.get(mono, 0)) for mono in monos)

    return Table(
        columns=tuple(column(mono) for mono in monos),
        kept=row(piece.kept),
        forward=tuple((item.module, row(item.form)) for item in piece.forward),
        backward=tuple((item.ready, item.module, item.pending, row(item.form)) for item in piece.backward),
        order=tuple(piece.order),
        input_grad=row(piece.input_grad),
        frame=row(piece.frame) if piece.frame else (),
        cache=row(piece.cache) if piece.cache else (),
        held=row(piece.held) if piece.held else (),
    )


def _weight(mono: Monomial) -> int:
    """Sort key: columns of s x s tensors first, then per token, then the rest."""
    return (
        100 * (mono.count("s") + mono.count("p") + mono.count("r") + mono.count("c")) + 10 * mono.count("b") + len(mono)
    )


def formulas(table: Table) -> Iterator[str]:
    """Yields a table in words: what is kept, and each instant with its bytes as a sum of named products."""

    def total(row: Numbers) -> str:
        return " + ".join(f"{size} {name}" for size, name in zip(row, table.columns, strict=False) if size) or "0"

    yield f"kept: {total(table.kept)}"
    yield from (f"forward, {module or 'elsewhere'}: {total(row)}" for module, row in table.forward)
    for ready, module, pending, row in table.backward:
        waiting = f", gradient of {pending} pending" if pending else ""
        yield f"backward, {ready} gradients done, {module or 'elsewhere'}{waiting}: {total(row)}"
