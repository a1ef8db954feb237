"""Writes a file whole or not at all, and over an existing file only when told to."""

from __future__ import annotations

import contextlib
import os
import secrets
import shlex
from pathlib import Path

from zplan.errors import ZplanError
from zplan.units import quote, visible


def save_text(path: str | Path, text: str, *, force: bool = False) -> Path:
    """Write a text file as UTF-8; see :func:`save_bytes`."""
    return save_bytes(path, visible(text).encode("utf-8", "replace"), force=force)


def save_bytes(path: str | Path, data: bytes, *, force: bool = False) -> Path:
    """Write a file.

    The content goes to a temporary file beside the target, which then takes the target's name in one step: whoever
    looks sees the old file or the new one, never half of one.

    Args:
        path: Where to; a link is followed.
        data: The whole content.
        force: Replace an existing file.

    Returns:
        The path that was written.

    Raises:
        ZplanError: the file exists and ``force`` is off, it is no regular file, or it cannot be written.
    """
    shown = quote(str(path))
    target = check_target(path, force=force)
    try:
        _write(target, data, force=force)
    except FileExistsError:
        raise _exists(shown) from None
    except (OSError, ValueError) as error:
        raise _unwritable(shown, error) from None
    return target


def check_target(path: str | Path, *, force: bool = False) -> Path:
    """Refuse what cannot be written, before anything is spent on its content.

    Args:
        path: Where to; a link is followed.
        force: Replace an existing file.

    Returns:
        The file that would be written.

    Raises:
        ZplanError: the file exists and ``force`` is off, it is no regular file, or its folder does not exist.
    """
    shown = quote(str(path))
    if not str(path).strip():
        raise ZplanError("the name of the file to write is empty", "name one, such as ./NAME")
    try:
        target = Path(os.path.realpath(path))
        if target.is_dir():
            raise ZplanError(f"{shown} is a folder", f"name a file in it: {shlex.quote(str(Path(path) / 'NAME'))}")
        if target.exists() and not target.is_file():
            raise ZplanError(f"{shown} is not a regular file", "name a file that can be replaced")
        if target.exists() and not force:
            raise _exists(shown)
        if not target.parent.is_dir():
            raise ZplanError(
                f"the folder of {shown} does not exist", f"make it: mkdir -p {shlex.quote(str(target.parent))}"
            )
    except (OSError, ValueError) as error:
        raise _unwritable(shown, error) from None
    return target


def _unwritable(shown: str, error: Exception) -> ZplanError:
    reason = getattr(error, "strerror", None) or str(error)  # a null byte in the path has no strerror
    return ZplanError(f"{shown} cannot be written: {reason}", "name a place that can be written to")


def _exists(shown: str) -> ZplanError:
    return ZplanError(f"{shown} exists", "add --force to replace it, or name another file")


def _write(target: Path, data: bytes, *, force: bool) -> None:
    temporary = target.with_name(f".{target.name[:80]}.{secrets.token_hex(8)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if force:
            temporary.replace(target)
            return
        try:
            # Unlike a rename, a link fails where somebody has made the file in the meantime.
            os.link(temporary, target)
        except (PermissionError, NotImplementedError, OSError) as error:
            if isinstance(error, FileExistsError) or target.exists():
                raise FileExistsError from None
            temporary.replace(target)  # a file system without links
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
