"""JSON with positions, for files that people write by hand.

Comments and trailing commas are read and reported, since DeepSpeed's own reader (hjson) takes them where ``json.load``
in transformers and accelerate stops. What no two readers agree on (a key given twice, NaN) is refused, with the place.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NoReturn

from zplan.errors import ZplanError
from zplan.units import quote

MAX_DEPTH = 64
"""A config nests three or four levels."""
MAX_KEYS = 5_000
"""A config of every engine at once has a few hundred; list items count."""
MAX_KEY_LENGTH = 256
_LONGEST_NUMBER = 400

_SPACE = re.compile(r"[ \t\r\n\ufeff]+")
_COMMENT = re.compile(r"//[^\n]*|#[^\n]*|/\*.*?\*/", re.DOTALL)
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_STRING = re.compile(r'"((?:[^"\\\x00-\x1f]|\\.)*)"')
_WORD = re.compile(r"[-+]?[A-Za-z_][A-Za-z0-9_]*")
_NEXT = re.compile(r"\S{1,12}")
_WORDS: dict[str, object] = {"true": True, "false": False, "null": None}

KeyPath = tuple[str, ...]
"""Keys from the top of the file; list indices as words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A place in a file, counted from 1."""

    line: int
    column: int

    def __str__(self) -> str:
        """As errors say it."""
        return f"line {self.line}, column {self.column}"


def refuse_too_many(positions: Mapping[KeyPath, Position], *, name: str, expected: str) -> None:
    """Refuse a file that nobody wrote by hand: each of its keys would be looked up, and every unknown one reported.

    Raises:
        ZplanError: more than ``MAX_KEYS`` keys, or one of more than ``MAX_KEY_LENGTH`` characters.
    """
    if len(positions) > MAX_KEYS:
        message = f"{quote(name)} has {len(positions):,} keys, which is too many for a config"
        raise ZplanError(message, f"expected {expected}")
    for path, position in positions.items():
        if len(path[-1]) > MAX_KEY_LENGTH:
            message = (
                f"{quote(name)}: the key {quote(path[-1])} at line {position.line} has {len(path[-1]):,} characters"
            )
            raise ZplanError(message, f"expected {expected}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Irregularity:
    """Something that is not JSON but has one obvious meaning."""

    kind: str
    """``comment`` or ``trailing comma``."""
    position: Position


@dataclass(frozen=True, slots=True, kw_only=True)
class JsonText:
    """A parsed file, with where everything stands."""

    value: object
    positions: Mapping[KeyPath, Position]
    """Where each key's name stands."""
    irregularities: tuple[Irregularity, ...]


def parse_json_text(text: str, *, name: str, expected: str) -> JsonText:
    """Parse JSON, with comments and trailing commas allowed and reported.

    Args:
        text: The file's text.
        name: What the user called the file.
        expected: What the file should have been, for the hint.

    Returns:
        The value with positions.

    Raises:
        ZplanError: not JSON, a key given twice, NaN or Infinity, or nested too deeply; with line and column.
    """
    reader = _Reader(text, name, expected)
    value = reader.value((), 0)
    reader.skip()
    if reader.at < len(text):
        reader.fail(f"unexpected {reader.what_is_next()} after the end")
    return JsonText(value=value, positions=reader.positions, irregularities=tuple(reader.irregularities))


class _Reader:
    """A recursive-descent parser over one text."""

    def __init__(self, text: str, name: str, expected: str) -> None:
        self.text, self.name, self.expected = text, name, expected
        self.at = 0
        self.newlines = [match.start() for match in re.finditer("\n", text)]
        self.positions: dict[KeyPath, Position] = {}
        self.irregularities: list[Irregularity] = []

    def position(self, at: int) -> Position:
        """Line and column of an offset."""
        before = bisect_left(self.newlines, at)
        return Position(line=before + 1, column=at - (self.newlines[before - 1] if before else -1))

    def fail(self, problem: str, at: int | None = None) -> NoReturn:
        """Raise the error for a place."""
        where = self.position(self.at if at is None else at)
        raise ZplanError(
            f"{quote(self.name)} is not valid JSON: {problem} at {where}",
            f"correct line {where.line}, or see {self.expected}",
        )

    def what_is_next(self) -> str:
        """The next characters, for an error."""
        match = _NEXT.match(self.text, self.at)
        return quote(match[0]) if match else "end of the file"

    def skip(self) -> None:
        """Go over space and comments."""
        while True:
            space = _SPACE.match(self.text, self.at)
            if space:
                self.at = space.end()
            if self.text.startswith("/*", self.at) and self.text.find("*/", self.at + 2) < 0:
                self.fail("a comment that does not end")
            comment = _COMMENT.match(self.text, self.at)
            if comment:
                self.irregularities.append(Irregularity(kind="comment", position=self.position(self.at)))
                self.at = comment.end()
            elif not space:
                return

    def value(self, path: KeyPath, depth: int) -> object:
        """The value that starts here."""
        if depth > MAX_DEPTH:
            raise ZplanError(
                f"{quote(self.name)} is nested more than {MAX_DEPTH} levels deep", f"expected {self.expected}"
            )
        self.skip()
        character = self.text[self.at : self.at + 1]
        if character == "{":
            return self.mapping(path, depth)
        if character == "[":
            return self.sequence(path, depth)
        if character == '"':
            return self.string()
        number = _NUMBER.match(self.text, self.at)
        if number and not _WORD.match(self.text, number.end()):
            return self.number(number)
        return self.word()

    def number(self, match: re.Match[str]) -> object:
        """An int where it is written as one, else a float."""
        if match.end() - match.start() > _LONGEST_NUMBER:
            self.fail("a number with too many digits")
        if match[1] is None and match[2] is None:
            self.at = match.end()
            return int(match[0])
        found = float(match[0])
        if found in (float("inf"), float("-inf")):
            self.fail(f"{match[0][:20]}, which is too large for a number")
        self.at = match.end()
        return found

    def word(self) -> object:
        """true, false or null."""
        word = _WORD.match(self.text, self.at)
        if word is None:
            self.fail(f"expected a value, not {self.what_is_next()}")
        lower = word[0].lower()
        if word[0] not in _WORDS:
            problem = f"{quote(word[0])} without quotes"
            if lower.lstrip("+-") in ("nan", "inf", "infinity"):
                problem = f"{word[0]}, which is no JSON number,"
            elif lower in ("true", "false", "none"):
                problem = f"{word[0]}, which JSON writes as {'null' if lower == 'none' else lower},"
            self.fail(problem)
        self.at = word.end()
        return _WORDS[word[0]]

    def string(self) -> str:
        """A string in double quotes."""
        match = _STRING.match(self.text, self.at)
        if match is None:
            self.fail("a string that does not end on its line")
        raw = match[1]
        if "\\" in raw:
            import json

            try:
                raw = json.loads(match[0])
            except ValueError:
                self.fail("a string with a bad escape")
        self.at = match.end()
        return str(raw)

    def sequence(self, path: KeyPath, depth: int) -> list[object]:
        """A list."""
        items: list[object] = []
        self.at += 1
        while not self.closes("]", after_item=bool(items)):
            here = (*path, str(len(items)))
            items.append(self.value(here, depth + 1))
        return items

    def mapping(self, path: KeyPath, depth: int) -> dict[str, object]:
        """An object; a key given twice has no one meaning."""
        found: dict[str, object] = {}
        self.at += 1
        while not self.closes("}", after_item=bool(found)):
            start = self.at
            if self.text[start : start + 1] != '"':
                self.fail(f"expected a key in double quotes, not {self.what_is_next()}")
            key = self.string()
            here = (*path, key)
            if key in found:
                first = self.positions[here]
                self.fail(f"the key {quote(key)} twice, first at line {first.line} and again", start)
            self.positions[here] = self.position(start)
            self.skip()
            if self.text[self.at : self.at + 1] != ":":
                self.fail(f"expected ':' after {quote(key)}, not {self.what_is_next()}")
            self.at += 1
            found[key] = self.value(here, depth + 1)
        return found

    def closes(self, bracket: str, *, after_item: bool) -> bool:
        """Whether the list or object ends here; otherwise goes on to the next item."""
        self.skip()
        comma = None
        if after_item and self.text[self.at : self.at + 1] == ",":
            comma = self.at
            self.at += 1
            self.skip()
        if self.text[self.at : self.at + 1] == bracket:
            if comma is not None:
                self.irregularities.append(Irregularity(kind="trailing comma", position=self.position(comma)))
            self.at += 1
            return True
        if self.at >= len(self.text):
            self.fail(f"the file ends before '{bracket}'")
        if after_item and comma is None:
            self.fail(f"expected ',' or '{bracket}', not {self.what_is_next()}")
        return False
