"""Where answers go: whole, to stdout, whatever is at the other end of it."""

from __future__ import annotations

import os
import sys
from io import StringIO
from typing import TYPE_CHECKING, Any, TextIO

from zplan.errors import ZplanError
from zplan.units import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from rich.console import Console

_LONGEST_LINE = 400
_NARROWEST = 40


def one_line(text: str) -> str:
    """Any text as one printable line of bounded length."""
    line = " ".join(text.split())
    line = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in line)
    return line if len(line) <= _LONGEST_LINE else line[: _LONGEST_LINE - 1] + "…"


def discard(stream: TextIO) -> None:
    """Let what a stream still holds, and the interpreter's last flush of it, go nowhere."""
    devnull = os.open(os.devnull, os.O_WRONLY)
    os.dup2(devnull, stream.fileno())
    os.close(devnull)


def closed_pipe() -> None:
    """The reader has gone (``zplan ... | head -1``)."""
    discard(sys.stdout)


def emit(text: str, *, drawn: bool = False) -> None:
    """Write an answer to stdout; a reader that has gone is no error.

    Args:
        text: The whole answer.
        drawn: Its control characters are ours; otherwise there are none.

    Raises:
        ZplanError: stdout cannot be written to, say because the disk is full.
    """
    if sys.stdout is None:
        return
    text = text if drawn else visible(text)
    try:
        try:
            sys.stdout.write(text)
        except UnicodeEncodeError:
            encoding = sys.stdout.encoding or "ascii"
            sys.stdout.write(text.encode(encoding, "replace").decode(encoding))
        sys.stdout.flush()
    except BrokenPipeError:
        closed_pipe()
    except OSError as error:
        closed_pipe()
        reason = error.strerror or str(error)
        raise ZplanError(
            f"cannot write to standard output: {reason}", "send it somewhere that can be written to"
        ) from None


class _Memory(StringIO):
    """Text in memory that claims another stream's encoding, which decides the glyphs that can be drawn."""

    def __init__(self, like: TextIO | None) -> None:
        super().__init__()
        self._encoding = getattr(like, "encoding", None) or "utf-8"

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """The other stream's encoding."""
        return self._encoding


def draw(paint: Callable[[Console], None]) -> None:
    """Run a renderer against a console that looks like stdout, then write what it drew in one go.

    Args:
        paint: Draws on the console it is given.
    """
    from rich.console import Console
    from rich.segment import Segment

    class Guarded(Console):
        """A console on which no name can steer the terminal."""

        def render(self, renderable: Any, options: Any = None) -> Iterator[Segment]:
            for text, style, control in super().render(renderable, options):
                yield Segment(text if control else visible(text), style, control)

    stdout = sys.stdout
    # The real console knows the terminal (width, colours, NO_COLOR, FORCE_COLOR); the drawing goes to memory, so that
    # an answer is written whole or not at all.
    terminal = Console(file=stdout, highlight=False)
    console = Guarded(
        file=_Memory(sys.stdout),
        width=max(terminal.width, _NARROWEST),
        force_terminal=terminal.is_terminal,
        color_system=terminal.color_system,  # type: ignore[arg-type]
        no_color=terminal.no_color,
        legacy_windows=False,
        highlight=False,
        markup=False,
        emoji=False,
        soft_wrap=False,
    )
    with console.capture() as capture:
        paint(console)
    text = capture.get()
    if not terminal.is_terminal:
        text = "".join(line.rstrip() + "\n" for line in text.splitlines())
    emit(text, drawn=True)
