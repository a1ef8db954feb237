"""Tables on disk: one text file per family, of which a plan reads the lines that it needs.

Lines have fields parted by tabs. First what names stand for, then keys, then tables, each written once however many keys share it::

    # what it is and what it was derived from
    names  lm_head model.norm.weight ...
    cast   llama flash  2 3 4
    T      columns  order  kept  input_grad  frame  cache  held  forward  backward

A key line tells a section (mode, with ``_lora`` where there are adapters), the key, and numbers of tables, counted from 0.
Fields of a table are as in :class:`Table`; a row is its coefficients parted by commas, zeros empty and left out at the end; a
name is a number in the list of names, or nothing; instants are parted by semicolons and their fields by spaces.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path

from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.table import Row, Table

FOLDER = Path(__file__).resolve().parent / "tables"
TABLE = "T\t"
NAMES = "names\t"

Tables = Mapping[str, tuple[Table, ...]]
"""Key -> tables that differ in which biases there are."""


def section(mode: ComputeMode, lora: bool) -> str:
    """Returns the name of the tables of one mode, with adapters or without."""
    return f"{mode.value}_lora" if lora else mode.value


class Shelf(Tables):
    """The tables of one section, read when they are asked for."""

    def __init__(self, stored: Stored, keys: Mapping[str, str]) -> None:
        self._stored = stored
        self._keys = keys

    @property
    def masks(self) -> bool:
        """Whether the family's code ever passes sdpa a mask, as code with sliding windows does."""
        return any("stem sdpa" in keys for keys in self._stored.sections.values())

    def __getitem__(self, key: str) -> tuple[Table, ...]:
        return tuple(self._stored.table(int(number)) for number in self._keys[key].split(" "))

    def __contains__(self, key: object) -> bool:
        return key in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


class Stored:
    """One family's file."""

    def __init__(self, text: str) -> None:
        self.names: list[str] = []
        self.sections: dict[str, dict[str, str]] = {}
        self._lines: list[str] = []
        self._read: dict[int, Table] = {}
        for line in text.split("\n"):
            if line.startswith(TABLE):
                self._lines.append(line)
            elif line.startswith(NAMES):
                self.names = line.removeprefix(NAMES).split(" ")
            elif line and not line.startswith("#"):
                name, key, numbers = line.split("\t")
                self.sections.setdefault(name, {})[key] = numbers

    def shelf(self, name: str) -> Shelf:
        """Returns the tables of one section."""
        return Shelf(self, self.sections[name])

    def table(self, number: int) -> Table:
        """Returns a table by its number."""
        if number not in self._read:
            self._read[number] = self._parsed(self._lines[number])
        return self._read[number]

    def _parsed(self, line: str) -> Table:
        _, columns, order, *rows, forward, backward = line.split("\t")
        names, width = self.names, len(columns.split(" "))
        kept, input_grad, frame, cache, held = (_row(row, width) for row in rows)

        def name(number: str) -> str:
            return names[int(number)] if number else ""

        instants = [item.split(" ") for item in forward.split(";")]
        later = [item.split(" ") for item in backward.split(";")] if backward else []
        return Table(
            columns=tuple(columns.split(" ")),
            kept=kept,
            forward=tuple((name(module), _row(row, width)) for module, row in instants),
            backward=tuple((int(r), name(module), name(which), _row(row, width)) for r, module, which, row in later),
            order=tuple(names[int(number)] for number in order.split(" ")) if order else (),
            input_grad=input_grad,
            frame=frame if any(frame) else (),
            cache=cache if any(cache) else (),
            held=held if any(held) else (),
        )


def _row(text: str, width: int) -> Row:
    numbers = [int(number) if number else 0 for number in text.split(",")]
    return tuple(numbers + [0] * (width - len(numbers)))


@lru_cache(maxsize=64)
def stored(family: str) -> Stored | None:
    """Returns a family's file, or None where there is none."""
    path = FOLDER / f"{family}.txt"
    return Stored(path.read_text(encoding="utf-8")) if path.is_file() else None


@lru_cache(maxsize=256)
def shelf(family: str, name: str) -> Shelf | None:
    """Returns a family's tables of one section, or None where there are none."""
    found = stored(family)
    return None if found is None or name not in found.sections else found.shelf(name)


def file_text(header: str, sections: Mapping[str, Mapping[str, Sequence[Table]]]) -> str:
    """Returns a family's file: equal tables once, names in the order in which they are first used."""
    names: dict[str, int] = {}
    numbers: dict[str, int] = {}
    keys: list[str] = []

    def number(name: str) -> str:
        return "" if not name else str(names.setdefault(name, len(names)))

    for name, tables in sections.items():
        for key, values in tables.items():
            found = [numbers.setdefault(_table_text(value, number), len(numbers)) for value in values]
            keys.append(f"{name}\t{key}\t{' '.join(map(str, found))}")
    return "\n".join([f"# {header}", NAMES + " ".join(names), *keys, *numbers, ""])


def _table_text(table: Table, number: Callable[[str], str]) -> str:
    order = " ".join(number(name) for name in table.order)
    forward = ";".join(f"{number(module)} {_row_text(row)}" for module, row in table.forward)
    backward = ";".join(
        f"{ready} {number(module)} {number(which)} {_row_text(row)}" for ready, module, which, row in table.backward
    )
    rows = (table.kept, table.input_grad, table.frame, table.cache, table.held)
    return TABLE + "\t".join((" ".join(table.columns), order, *map(_row_text, rows), forward, backward))


def _row_text(row: Row) -> str:
    return ",".join(str(number) if number else "" for number in row).rstrip(",")
