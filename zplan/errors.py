"""The one exception that zplan raises on purpose.

Every layer raises :class:`ZplanError`; only ``zplan.cli`` catches it, prints ``error:`` and ``hint:`` and exits.
"""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """Exit codes of the command line (public contract)."""

    OK = 0
    INTERNAL = 1
    USAGE = 2
    DOES_NOT_FIT = 3
    OUTSIDE_TOLERANCE = 4
    MISSING = 5


class ZplanError(Exception):
    """A problem that the user can solve.

    Args:
        message: One sentence that says what is wrong, without a trailing full stop.
        hint: What to do instead, with a command that works.
        exit_code: What the process exits with.
    """

    def __init__(self, message: str, hint: str, exit_code: ExitCode = ExitCode.USAGE) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.exit_code = exit_code
