"""Writes symbolic pieces as Python tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

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


def text(name: str, value: Table) -> str:
    """Returns a table as Python source."""
    lines = [f"{name} = Table(", f"    columns={value.columns!r},", f"    kept={value.kept!r},"]
    lines += [f"    {key}={getattr(value, key)!r}," for key in ("frame", "cache", "held") if getattr(value, key)]
    lines += [f"    input_grad={value.input_grad!r},", f"    order={value.order!r},", "    forward=("]
    lines += [f"        ({module!r}, {row!r})," for module, row in value.forward]
    lines += ["    ),", "    backward=("]
    lines += [
        f"        ({ready!r}, {module!r}, {pending!r}, {row!r})," for ready, module, pending, row in value.backward
    ]
    lines += ["    ),", ")"]
    return "\n".join(lines).replace('"', "'")


def module_text(header: str, tables: Mapping[str, str], names: Mapping[str, str]) -> str:
    """Returns a module: tables by name, and the dictionary that finds them.

    Args:
        header: Docstring.
        tables: Variable -> source text.
        names: Key -> variable.
    """
    parts = [
        f'"""{header}"""',
        "",
        "from zplan.memory.activations.table import Table",
        "",
        "# ruff: noqa: E501",
        "# fmt: off",
    ]
    parts += [text for _, text in tables.items()]
    parts += ["TABLES = {", *(f"    {key!r}: {variable}," for key, variable in names.items()), "}", ""]
    return "\n".join(parts).replace("'", '"')
