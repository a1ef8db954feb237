"""Reads a JSON file that anybody may have written: small, regular, UTF-8, strict; or one error that says what it is."""

from __future__ import annotations

import json
import stat
from collections.abc import Sequence
from pathlib import Path

from zplan.errors import ZplanError

MAX_BYTES = 10_000_000
"""Configs are a few kilobytes; a larger file is something else and is not read."""


class _Junk(ValueError):
    """What is wrong with the text, as the end of a sentence."""


def read_json_object(path: Path, *, source: str, hint: str) -> dict[str, object]:
    """Returns the JSON object in a file.

    Args:
        path: The file.
        source: What the user called it; errors start with it.
        hint: What to do instead.

    Raises:
        ZplanError: The file is not there, not a regular file, unreadable, above ``MAX_BYTES``, or not a JSON object.
    """
    try:
        parsed = _parse(_decode(_read(path)))
    except _Junk as junk:
        raise ZplanError(f"{source}: {junk}", hint) from None
    except FileNotFoundError:
        raise ZplanError(f"{source}: no such file", hint) from None
    except OSError as error:
        raise ZplanError(f"{source}: cannot be read ({error.strerror or error})", hint) from None
    except ValueError:  # a NUL in the name
        raise ZplanError(f"{source}: cannot be the name of a file", hint) from None
    if not isinstance(parsed, dict):
        raise ZplanError(f"{source}: holds {_kind(parsed)}, not a JSON object", hint)
    return parsed


def _read(path: Path) -> bytes:
    """Returns the file's bytes; looks at what it is before opening it, since opening a pipe blocks."""
    status = path.stat()
    if stat.S_ISDIR(status.st_mode):
        raise _Junk("is a folder, not a file")
    if not stat.S_ISREG(status.st_mode):
        raise _Junk("is not a regular file")
    if status.st_size > MAX_BYTES:
        raise _Junk(f"has {status.st_size:_} bytes, which is too large for a config")
    with path.open("rb") as file:
        return file.read(MAX_BYTES)


def _decode(data: bytes) -> str:
    """Returns UTF-8 text without the byte order mark that some editors put in front."""
    if not data.strip():
        raise _Junk("is empty")
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise _Junk("is UTF-16, not UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _Junk(f"is not UTF-8 text (byte {error.start})") from None


def _parse(text: str) -> object:
    """Returns the parsed text."""
    try:
        parsed: object = json.loads(text, object_pairs_hook=_object, parse_constant=_constant)
    except json.JSONDecodeError as error:
        raise _Junk(f"is not valid JSON: {error.msg} at line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise _Junk("is nested too deeply") from None
    except _Junk:
        raise
    except ValueError:  # Python refuses to parse numbers of more than a few thousand digits
        raise _Junk("holds a number with too many digits") from None
    return parsed


def _object(pairs: Sequence[tuple[str, object]]) -> dict[str, object]:
    """Returns the pairs as a dict; a repeated key with another value has no one meaning."""
    found: dict[str, object] = {}
    for key, value in pairs:
        if key in found and found[key] != value:
            raise _Junk(f"has the key {key[:40]!r} twice with different values")
        found[key] = value
    return found


def _constant(text: str) -> object:
    """Refuses NaN and Infinity, which Python's parser would take."""
    raise _Junk(f"holds {text}, which is not valid JSON")


def _kind(value: object) -> str:
    """Returns what a parsed JSON value is."""
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return "a string"
    return "null" if value is None else "true or false" if isinstance(value, bool) else "a number"
