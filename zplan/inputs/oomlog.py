"""Logs of training runs -> the out-of-memory messages in them, with the traceback before each.

A log may be gigabytes long, from many ranks at once, wrapped at the width of a terminal, framed by rich, or half
binary. It is read in pieces; only pieces that hold a word about memory, and the one before, are looked at line by line.
"""

from __future__ import annotations

import re
import stat
import sys
from collections import OrderedDict, deque
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from zplan.errors import ZplanError
from zplan.inputs.oommessage import (
    DRIVER,
    END,
    HOST_ALLOCATOR,
    HOST_ARRAY,
    HOST_ERRNO,
    KILLED,
    START,
    Frame,
    OomKind,
    OomMessage,
    parse_device,
    parse_other,
    split_messages,
)
from zplan.units import quote

PIECE_BYTES = 1024 * 1024
CONTEXT_BYTES = 64 * 1024
"""How much before a piece that matters is looked at too: tracebacks are long."""
LONGEST_ROW = 8192
"""Longer rows are looked at in parts: no message is as long."""
MOST_MESSAGES = 512
_MOST_STREAMS, _MOST_FRAMES, _MOST_LINES = 4096, 80, 12
EXAMPLE = "zplan explain --oom train.log, or: python train.py 2>&1 | zplan explain --oom -"


@dataclass(frozen=True, slots=True, kw_only=True)
class OomLog:
    """What a log says about memory."""

    name: str
    messages: tuple[OomMessage, ...]
    """Each different one once, in the order of the log; at most ``MOST_MESSAGES``."""

    @property
    def primary(self) -> OomMessage:
        """The message to explain: the first one that names a size; one failed rank makes launchers kill the others."""
        order = (OomKind.DEVICE, OomKind.HOST, OomKind.DRIVER, OomKind.KILLED)
        return min(
            self.messages, key=lambda m: (m.requested is None, order.index(m.kind), m.own_use is None, m.log_line)
        )


def read_oom_log(path: str) -> OomLog:
    """Every out-of-memory message of a log.

    Args:
        path: The file, or ``-`` for standard input.

    Returns:
        At least one message.

    Raises:
        ZplanError: there is no such file, it cannot be read, or nothing in it tells of memory.
    """
    if path == "-":
        if sys.stdin is None or sys.stdin.isatty():
            raise ZplanError("--oom - reads a log from standard input, and nothing is sent to it", EXAMPLE)
        return _read(sys.stdin.buffer, "standard input")
    if not path.strip():
        raise ZplanError("--oom names no file", EXAMPLE)
    name = quote(path)
    try:
        mode = Path(path).stat().st_mode
        if stat.S_ISDIR(mode):
            raise ZplanError(f"{name} is a folder, not a log", EXAMPLE)
        # Pipes are fine, as in <(journalctl -u train); a device such as /dev/zero has no end.
        if stat.S_ISCHR(mode) or stat.S_ISBLK(mode):
            raise ZplanError(f"{name} is a device, not a log", EXAMPLE)
        with Path(path).open("rb") as file:
            return _read(file, name)
    except FileNotFoundError:
        raise ZplanError(f"{name}: no such file", EXAMPLE) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or error
        raise ZplanError(f"{name} cannot be read: {reason}", EXAMPLE) from None


def oom_from_text(text: str) -> OomLog:
    """Every out-of-memory message in a text.

    Raises:
        ZplanError: there is none.
    """
    from io import BytesIO

    return _read(BytesIO(text.encode("utf-8", "replace")), "the text")


def _read(stream: BinaryIO, name: str) -> OomLog:
    reader, size = _Reader(), [0]
    for number, line in _lines(stream, name, size):
        reader.line(number, line)
    messages = reader.finish()
    if not messages:
        what = "is empty" if not size[0] else "holds no out-of-memory message that zplan knows"
        hint = f"send the whole output of the run, stderr included: {EXAMPLE.rpartition('or: ')[2]}"
        raise ZplanError(f"{name} {what}", hint)
    return OomLog(name=name, messages=tuple(messages))


_MARKS = (b"emory", b"ALLOC_FAILED", b"o allocate", b"bad_alloc", b"illed", b"SIGKILL", b"xit", b"oom")
"""Some part of every line that matters; few and short, since every byte of a log is searched for each."""


def _lines(stream: BinaryIO, name: str, size: list[int]) -> Iterator[tuple[int, str]]:
    """Numbered lines of the pieces that matter; ``size`` becomes the bytes read."""
    number, context, context_number, warm = 1, b"", 1, False
    for piece in _pieces(stream, name):
        size[0] += len(piece)
        matters = any(mark in piece for mark in _MARKS)
        if matters and context:
            yield from _numbered(context, context_number)
        if matters or warm:
            yield from _numbered(piece, number)
            context = b""
        else:
            cut = max(0, len(piece) - CONTEXT_BYTES)
            cut = piece.find(b"\n", cut) + 1 if cut else 0
            context, context_number = piece[cut:], number + piece.count(b"\n", 0, cut)
        warm = matters
        number += piece.count(b"\n")


def _numbered(piece: bytes, number: int) -> Iterator[tuple[int, str]]:
    for row in piece.split(b"\n"):
        # A progress bar is one row that was written over many times.
        for part in row.split(b"\r") if b"\r" in row else (row,):
            for short in _cut(part) if len(part) > LONGEST_ROW else (part,):
                if short:
                    yield number, short.decode("utf-8", "replace")
        number += 1


def _cut(row: bytes) -> Iterator[bytes]:
    """A row as rows of bounded length, cut at spaces where there are any."""
    start = 0
    while start < len(row):
        end = start + LONGEST_ROW
        if end < len(row):
            end = row.rfind(b" ", start, end) + 1 or end
        yield row[start:end]
        start = end


def _pieces(stream: BinaryIO, name: str) -> Iterator[bytes]:
    """Pieces of whole rows; a row longer than a piece is cut at a space."""
    first = stream.read(PIECE_BYTES)
    if first.startswith(b"\x1f\x8b"):
        shown = "LOG.gz" if name == "standard input" else name
        raise ZplanError(f"{name} is compressed", f"zcat {shown} | zplan explain --oom -")
    wide = {b"\xff\xfe": "utf-16-le", b"\xfe\xff": "utf-16-be"}.get(first[:2])
    rest = b""
    chunk = first
    while chunk:
        data = rest + (chunk.decode(wide, "replace").encode() if wide else chunk)
        cut = data.rfind(b"\n") + 1
        if not cut and len(data) > 2 * PIECE_BYTES:
            cut = data.rfind(b" ") + 1 or len(data)
        if cut:
            yield data[:cut]
        rest = data[cut:]
        chunk = stream.read(PIECE_BYTES)
    if rest:
        yield rest


_ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_BOX = re.compile(r"^[\s│╭╰╮╯─❱|]*")
_PREFIX = re.compile(
    r"\s*(?:\[rank(?P<rank>[0-9]+)\]:?|\[default(?P<local>[0-9]+)\]:|\[[0-9]+,(?P<mpi>[0-9]+)\]<std(?:err|out)>:"
    r"|\((?P<actor>[\w.]+(?: rank=[0-9]+)?,? (?:pid|ip)=[^)]*)\)|(?P<slurm>[0-9]+):(?=\s)"
    r"|\[?[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}[,.0-9]*\]?"
    r"|(?P<host>[\w-]+(?:\.[\w-]+)*): (?=\s*(?:File \"|Traceback|\[rank|torch\.\w)))"
)
_FRAME = re.compile(r'File "([^"]+)", line [0-9]+, in (\S+)')
_RICH_FRAME = re.compile(r"(?<![\w./-])([\w./-]+\.py):[0-9]+\s+in\b\s*(\w*)")
_RICH_NAME = re.compile(r"│\s*(\w+)\s*│?\s*$")
"""A function's name that did not fit on its frame's row."""
_RICH_CODE = re.compile(r"❱\s*[0-9]+\s*[│|](.*)")
_CARETS = re.compile(r"^[\s^~]+$")
_TRACEBACK = "Traceback (most recent call last)"
_OTHER = re.compile("|".join(p.pattern for p in (HOST_ALLOCATOR, HOST_ARRAY, HOST_ERRNO, DRIVER, KILLED)))


@dataclass(slots=True)
class _Stream:
    """Lines of one rank."""

    rank: int | None
    frames: deque[Frame] = field(default_factory=lambda: deque(maxlen=_MOST_FRAMES))
    wants_code: bool = False
    recent: deque[str] = field(default_factory=lambda: deque(maxlen=3))
    """Last lines outside of a traceback: people paste the line of code and the message, and leave the rest out."""
    open_text: list[str] = field(default_factory=list)
    open_line: int = 0


class _Reader:
    """Puts lines together, rank by rank."""

    def __init__(self) -> None:
        self.streams: OrderedDict[tuple[str, ...], _Stream] = OrderedDict()
        self.found: dict[tuple[object, ...], OomMessage] = {}

    def line(self, number: int, raw: str) -> None:
        """Take in the next line."""
        text = _ANSI.sub("", raw) if "\x1b" in raw else raw
        key: tuple[str, ...] = ()
        rank: int | None = None
        while (match := _PREFIX.match(text)) is not None:
            mark = next((value for value in match.groups() if value is not None), None)
            if mark is not None:
                key = (*key, mark)
                numbered = match["rank"] or match["slurm"] or match["mpi"] or match["local"]
                rank = int(numbered) if numbered and len(numbered) < 8 else rank
            text = text[match.end() :]
        stream = self.streams.get(key)
        if stream is None:
            stream = self.streams[key] = _Stream(rank)
            if len(self.streams) > _MOST_STREAMS:
                self._close(self.streams.popitem(last=False)[1])
        self._feed(stream, number, text)

    def _feed(self, stream: _Stream, number: int, text: str) -> None:
        starts = START.search(text) is not None or (not stream.open_text and "OutOfMemoryError" in text)
        if stream.open_text:
            another = starts and any(START.search(line) for line in stream.open_text)
            if another or _TRACEBACK in text or _FRAME.search(text) or len(stream.open_text) >= _MOST_LINES:
                self._close(stream)
        if starts or stream.open_text:
            stream.open_line = stream.open_line if stream.open_text else number
            stream.open_text.append(_BOX.sub("", text).rstrip(" │|\n"))
            if END.search(" ".join(stream.open_text[-2:])):
                self._close(stream)
            return
        if _TRACEBACK in text:
            stream.frames.clear()
        elif self._frame(stream, text):
            return
        elif _OTHER.search(text):
            message = parse_other(text)
            if message is not None:
                self._keep(stream, number, message)
        elif text.strip():
            stream.recent.append(text.strip()[:200])

    def _frame(self, stream: _Stream, text: str) -> bool:
        """Take in a line of a traceback."""
        match = _FRAME.search(text) or _RICH_FRAME.search(text) if ".py" in text or 'File "' in text else None
        if match is not None:
            stream.frames.append(Frame(match[1], match[2]))
            stream.wants_code = True
            return True
        if stream.frames and not stream.frames[-1].function and (name := _RICH_NAME.match(text)) is not None:
            stream.frames[-1] = replace(stream.frames[-1], function=name[1])
            return True
        code = _RICH_CODE.search(text)
        if stream.wants_code and stream.frames and (code is not None or "│" not in text) and not _CARETS.match(text):
            words = (code[1] if code else text).strip(" │")
            if _OTHER.search(words):
                return False
            stream.frames[-1] = replace(stream.frames[-1], code=words[:200])
            stream.wants_code = False
            return True
        return False

    def _close(self, stream: _Stream) -> None:
        """A device's message is complete, or will not be."""
        text, number = " ".join(stream.open_text), stream.open_line
        stream.open_text = []
        for part in split_messages(text):
            self._keep(stream, number, parse_device(part))

    def _keep(self, stream: _Stream, number: int, message: OomMessage) -> None:
        same = (message.kind, stream.rank, message.text)
        if same in self.found or len(self.found) >= MOST_MESSAGES:
            return
        frames = tuple(stream.frames) or tuple(Frame("", "", line) for line in stream.recent)
        self.found[same] = replace(message, log_line=number, rank=stream.rank, frames=frames)

    def finish(self) -> list[OomMessage]:
        """All messages, in the order of the log."""
        for stream in self.streams.values():
            if stream.open_text:
                self._close(stream)
        return sorted(self.found.values(), key=lambda message: message.log_line)
