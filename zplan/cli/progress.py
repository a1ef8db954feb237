"""How far a launch is, on stderr; silent when that is no terminal."""

from __future__ import annotations

from types import TracebackType
from typing import TextIO

_CELLS = 24


class Progress:
    """A line that is redrawn: phase, bar, share; a context manager that leaves nothing on the screen.

    Args:
        stream: Where to draw, None for nowhere.
        title: What is running.
    """

    def __init__(self, stream: TextIO | None, title: str) -> None:
        self._stream = stream if stream is not None and stream.isatty() else None
        self._title = title
        self._shown = ""

    def __call__(self, phase: str, share: float) -> None:
        """Show a phase and the share of the whole work that is done."""
        full = min(_CELLS, max(0, round(share * _CELLS)))
        self._draw(f"{self._title}  {phase:<9} {'#' * full}{'.' * (_CELLS - full)} {share:4.0%}")

    def _draw(self, line: str) -> None:
        if self._stream is None or line == self._shown:
            return
        self._shown = line
        try:
            self._stream.write(f"\r\x1b[2K{line}")
            self._stream.flush()
        except OSError:
            self._stream = None

    def __enter__(self) -> Progress:
        """Show that something has begun."""
        self._draw(f"{self._title}  start")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Wipe the line."""
        self._draw("")
