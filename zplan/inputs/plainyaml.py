"""The plain part of YAML that presets are written in, read without importing a YAML library, which takes longer than the rest.

Nested mappings of ``key: value`` lines; values are numbers, ``true`` and ``false``, words and sentences, and lists of words and
numbers in brackets. Anything else is left to a YAML library: what is read here is what YAML 1.1 says, and nothing is guessed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_LINE = re.compile(r"( *)([A-Za-z_]\w*):(?: +(\S.*))?", re.ASCII)
_INT = re.compile(r"-?(?:0|[1-9][0-9]*)")
_FLOAT = re.compile(r"-?(?:0|[1-9][0-9]*)\.[0-9]+(?:[eE][-+][0-9]+)?")
_DATE = re.compile(r"[12][0-9]{3}-(?:(?:0[1-9]|1[0-2])-(?:0[1-9]|1[0-9]|2[0-8])|(?:0[13-9]|1[0-2])-(?:29|30))")
"""Days that are there in every year, and no 31st: enough to need no calendar."""
_TEXT = re.compile(r"(?:[A-Za-z]|[0-9](?=.*[g-su-wy]))[ -~]*")
"""What begins with a digit is no number and no time where it has a letter that neither is written with."""
_QUOTED = re.compile(r"'([ -&(-~]*)'")
_ITEM = re.compile(r"[^\[\]{}?]*")
_MEANING = {"true": True, "false": False, "null": None}
_OTHER_MEANINGS = frozenset({"yes", "no", "on", "off", "y", "n"})


class _NotPlain(Exception):
    """YAML beyond what is read here."""


def parse_plain_yaml(text: str) -> dict[str, Any] | None:
    """Reads a document.

    Args:
        text: Of the file.

    Returns:
        The mapping, with dates as the text that they are written as; None where a YAML library is needed.
    """
    lines = _Lines(text)
    try:
        found = _mapping(lines, 0)
    except (
        _NotPlain,
        ValueError,
        RecursionError,
    ):  # more digits or levels than Python takes: the library says so better
        return None
    return found if lines.over else None


class _Lines:
    """The lines that are left."""

    def __init__(self, text: str) -> None:
        self._lines = text.removesuffix("\n").split("\n")
        self._at = 0

    @property
    def over(self) -> bool:
        return self._at >= len(self._lines)

    @property
    def next(self) -> str:
        """The next line, nothing after the last."""
        return "" if self.over else self._lines[self._at]

    def drop(self) -> None:
        self._at += 1

    def continued(self, indent: int) -> Iterator[str]:
        """The lines that go on with a value, because they stand further in than its key.

        Raises:
            _NotPlain: a line of spaces alone, which ends a line of the value or is none of it.
        """
        while self.next.startswith(" " * (indent + 1)):
            more = self.next.strip(" ")
            if not more:
                raise _NotPlain
            yield more
            self.drop()


def _mapping(lines: _Lines, indent: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    while not lines.over:
        match = _LINE.fullmatch(lines.next)
        if match is None:
            raise _NotPlain
        spaces, key, value = match.groups()
        if len(spaces) < indent and found:
            break
        if len(spaces) != indent or key in found or key.lower() in _OTHER_MEANINGS or key.lower() in _MEANING:
            raise _NotPlain
        lines.drop()
        if value is None:
            deeper = len(lines.next) - len(lines.next.lstrip(" "))
            if deeper <= indent:
                raise _NotPlain
            found[key] = _mapping(lines, deeper)
        else:
            found[key] = _value(" ".join((value.rstrip(" "), *lines.continued(indent))), dated=key == "checked")
    return found


def _value(text: str, *, dated: bool = False) -> object:
    if text.startswith("[") and text.endswith("]"):
        inside = text[1:-1].strip(" ")
        if not _ITEM.fullmatch(inside):
            raise _NotPlain
        # A comma or a colon in quotes would end up in an item with a quote at one end, which is no scalar.
        return [_scalar(item.strip(" ")) for item in inside.split(",")] if inside else []
    return text if dated and _DATE.fullmatch(text) else _scalar(text)


def _scalar(text: str) -> object:
    if quoted := _QUOTED.fullmatch(text):
        return quoted[1]
    if _INT.fullmatch(text):
        return int(text)
    if _FLOAT.fullmatch(text):
        return float(text)
    if text in _MEANING:
        return _MEANING[text]
    word = text.lower()
    special = ": " in text or " #" in text or text.endswith(":") or word in _OTHER_MEANINGS or word in _MEANING
    if special or not _TEXT.fullmatch(text):
        raise _NotPlain
    return text
