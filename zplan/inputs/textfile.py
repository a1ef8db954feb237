"""Reads a config file that anybody may have written: small, regular, UTF-8; or one error that says what it is."""

from __future__ import annotations

import stat
from pathlib import Path

from zplan.errors import ZplanError
from zplan.units import format_size, quote

MAX_BYTES = 10_000_000
"""Configs are a few kilobytes; a larger file is something else and is not read."""


def read_text(path: str | Path, *, name: str, expected: str) -> str:
    """The text of a small file.

    Args:
        path: The file.
        name: What the user called it; errors start with it.
        expected: What the file should have been, for the hint, e.g. ``a DeepSpeed config``.

    Returns:
        UTF-8 text without the byte order mark that some editors put in front.

    Raises:
        ZplanError: not there, not a regular file, unreadable, above ``MAX_BYTES``, not UTF-8, or empty.
    """
    hint = f"expected {expected}"
    if not str(path).strip():
        raise ZplanError("the name of a file is empty", hint)
    try:
        # Looked at before it is opened: opening a pipe blocks, and a huge file need not be read to be refused.
        status = Path(path).stat()
        if stat.S_ISDIR(status.st_mode):
            raise ZplanError(f"{quote(name)} is a folder, not a file", hint)
        if not stat.S_ISREG(status.st_mode):
            raise ZplanError(f"{quote(name)} is not a regular file", hint)
        if status.st_size > MAX_BYTES:
            raise ZplanError(f"{quote(name)} has {format_size(status.st_size)}, which is too large for a config", hint)
        with Path(path).open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise ZplanError(f"{quote(name)}: no such file", hint) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or error
        raise ZplanError(f"{quote(name)} cannot be read: {reason}", hint) from None
    return decode(data, name=name, expected=expected)


def decode(data: bytes, *, name: str, expected: str) -> str:
    """Text from bytes.

    Raises:
        ZplanError: too large, empty, UTF-16, or not UTF-8.
    """
    hint = f"expected {expected}"
    if len(data) > MAX_BYTES:
        raise ZplanError(f"{quote(name)} has more than {format_size(MAX_BYTES)}, which is too large for a config", hint)
    if not data.strip():
        raise ZplanError(f"{quote(name)} is empty", hint)
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ZplanError(f"{quote(name)} is UTF-16, not UTF-8", "save it again as UTF-8")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ZplanError(f"{quote(name)} is not UTF-8 text (byte {error.start})", "save it again as UTF-8") from None
