"""Processes that can be found and ended: every process of a launch carries the launch's token in its environment.

Torchrun starts its workers in sessions of their own, so a process group does not reach them; the token does.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

TOKEN = "ZPLAN_RUN"
_PROC = Path("/proc")
_KILL_ROUNDS = 50
_ROUND_SECONDS = 0.02
_PR_SET_PDEATHSIG = 1


def start(command: Sequence[str], *, env: Mapping[str, str], log: IO[bytes], stdin: IO[bytes] | None = None,
          pass_fds: Sequence[int] = ()) -> subprocess.Popen[bytes]:  # fmt: skip
    """Start a process in a session of its own that dies when this one does (on Linux).

    Args:
        command: Program and arguments.
        env: Its whole environment, with :data:`TOKEN`.
        log: Where both of its outputs go.
        stdin: What it reads.
        pass_fds: File descriptors that it inherits.

    Returns:
        The process.
    """
    return subprocess.Popen(
        command,
        env=dict(env),
        stdin=stdin if stdin is not None else subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=tuple(pass_fds),
        preexec_fn=_die_with_parent() if sys.platform.startswith("linux") else None,  # noqa: PLW1509 (no threads here)
    )


def _die_with_parent() -> Callable[[], object]:
    # Looked up before the fork: between fork and exec nothing may be imported.
    prctl = ctypes.CDLL(None).prctl
    return lambda: prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def of_token(token: str) -> Iterator[int]:
    """Processes that carry a token, except this one."""
    wanted = f"{TOKEN}={token}".encode()
    for entry in _PROC.iterdir() if _PROC.is_dir() else ():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0"):
                yield int(entry.name)
        except OSError:
            continue


def end(token: str, process: subprocess.Popen[bytes] | None) -> None:
    """Kill every process of a launch and wait until all are gone.

    Args:
        token: The launch's.
        process: The one that was started here, None when it is not known to have started.
    """
    with _undisturbed():
        if process is not None and process.poll() is None:
            _kill_group(process.pid)
        for _ in range(_KILL_ROUNDS):
            left = list(of_token(token))
            for pid in left:
                _kill(pid)
            if process is not None:
                process.poll()
            if not left:
                break
            time.sleep(_ROUND_SECONDS)
        if process is not None:
            process.wait()


def _kill(pid: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.kill(pid, signal.SIGKILL)


def _kill_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        _kill(pid)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Let nobody interrupt the clean-up."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:  # not the main thread: no signal arrives here
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn a request to end (SIGTERM, SIGHUP) into KeyboardInterrupt, so that it cleans up like Ctrl-C."""

    def stop(number: int, frame: object) -> None:
        raise KeyboardInterrupt

    saved = {}
    try:
        for name in ("SIGTERM", "SIGHUP"):
            if hasattr(signal, name):
                number = getattr(signal, name)
                saved[number] = signal.signal(number, stop)
    except ValueError:  # not the main thread
        pass
    try:
        yield
    finally:
        for number, handler in saved.items():
            signal.signal(number, handler)


def resident_bytes(pid: int) -> int:
    """Memory that a process has to itself and in files, 0 when it is gone."""
    try:
        return int((_PROC / str(pid) / "statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return 0
