"""Other people's exceptions as one line."""

from __future__ import annotations


def first_words(error: BaseException) -> str:
    """What an exception says: its first line, and the next where the first only announces it.

    Args:
        error: Any exception.

    Returns:
        One line; the exception's type where it says nothing.
    """
    lines = [line.strip() for line in str(error).splitlines() if line.strip()] or [type(error).__name__]
    return " ".join(lines[:2]) if lines[0].endswith(":") else lines[0]
