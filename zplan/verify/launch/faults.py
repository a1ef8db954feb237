"""What went wrong in a launch, in one sentence: from what the ranks left behind, and from the log."""

from __future__ import annotations

import json
import re
import signal
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from zplan.errors import ExitCode, ZplanError

_ROOT_CAUSE = re.compile(
    r"Root Cause.*?rank\s*:\s*(\d+).*?exitcode\s*:\s*(-?\d+)\s*\(pid:\s*(\d+)\)", re.DOTALL | re.IGNORECASE
)
"""Torchrun's summary of the first process that failed (``torch/distributed/elastic/multiprocessing/errors``)."""
_LOG_SIGNS = (
    ("/dev/shm", "no room in /dev/shm", "give the container more: docker run --shm-size=1g", ExitCode.USAGE),
    (
        "No space left on device",
        "no space left on the disk or in /dev/shm",
        "free some, or docker run --shm-size=1g",
        ExitCode.USAGE,
    ),
    ("EADDRINUSE", "the port is in use", "choose another: --rdzv-endpoint HOST:PORT", ExitCode.USAGE),
    ("address already in use", "the port is in use", "choose another: --rdzv-endpoint HOST:PORT", ExitCode.USAGE),
    ("RendezvousTimeoutError", "not all nodes came to the rendezvous", "start it on every node", ExitCode.USAGE),
    ("RendezvousConnectionError", "the rendezvous cannot be reached", "check --rdzv-endpoint", ExitCode.USAGE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class RankStatus:
    """What a rank last said of itself."""

    rank: int
    pid: int
    phase: str
    share: float


def read_statuses(folder: Path) -> dict[int, RankStatus]:
    """The last word of every rank on this machine."""
    found = {}
    for path in folder.glob("rank-*.status"):
        try:
            pid, phase, share = path.read_text(encoding="utf-8").split()
            rank = int(path.stem.removeprefix("rank-"))
            found[rank] = RankStatus(rank=rank, pid=int(pid), phase=phase, share=float(share))
        except (OSError, ValueError):  # noqa: PERF203 (being written right now)
            continue
    return found


def read_errors(folder: Path) -> dict[int, dict[str, Any]]:
    """What ranks said of their failure, the earliest first."""
    paths = sorted(folder.glob("rank-*.error"), key=lambda path: path.stat().st_mtime_ns)
    found = {}
    for path in paths:
        try:
            found[int(path.stem.removeprefix("rank-"))] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError):  # noqa: PERF203 (as above)
            continue
    return found


_BEFORE_STEPS = ("start", "import", "connect", "init")


def _order(phase: str) -> int:
    """How far along a phase is among those that do no share of the steps' work."""
    return _BEFORE_STEPS.index(phase) if phase in _BEFORE_STEPS else len(_BEFORE_STEPS)


def hung(statuses: Mapping[int, RankStatus], timeout_s: float, what: str) -> ZplanError:
    """The error for a launch that took too long: the rank that is furthest behind, and where it is."""
    hint = "raise it with --timeout SECONDS, or see the log"
    waited = f"{what} did not end within {timeout_s:g} s"
    if not statuses:
        return ZplanError(f"{waited}: no process came as far as its first line", hint, ExitCode.INTERNAL)
    last = min(statuses.values(), key=lambda status: (status.share, _order(status.phase), status.rank))
    others = {status.phase for status in statuses.values()} - {last.phase}
    rest = f", the others in {' and '.join(sorted(others))}" if others else ""
    return ZplanError(f"{waited}: rank {last.rank} was in {last.phase}{rest}", hint, ExitCode.INTERNAL)


def died(
    returncode: int,
    statuses: Mapping[int, RankStatus],
    errors: Mapping[int, Mapping[str, Any]],
    log: str,
    first: int | None,
) -> ZplanError:
    """The error for a launch that ended without a result.

    Args:
        returncode: Of the process that was started; negative for a signal.
        statuses: Last words of the ranks.
        errors: What ranks said of their failure, earliest first.
        log: What all of them printed.
        first: The rank that was seen to be gone first, None when none was.

    Returns:
        One sentence with the rank and its last phase, and what to do.
    """
    root = _ROOT_CAUSE.search(log)
    # A peer's death makes the others fail in their next collective: their errors are consequences.
    killed = root is not None and int(root[2]) < 0 and int(root[1]) not in errors
    if errors and not killed:
        loser, said = next(iter(errors.items()))
        where = f" (rank {loser}, in {said['phase']})" if len(statuses) > 1 else f" (in {said['phase']})"
        return ZplanError(said["error"] + where, said["hint"], ExitCode(said["exit_code"]))
    if root is None:
        for sign, message, hint, code in _LOG_SIGNS:
            if sign in log:
                return ZplanError(message, hint, code)
    rank: int | None = int(root[1]) if root is not None else first
    number = int(root[2]) if root is not None else returncode
    how = f"was killed by {_signal(-number)}" if number < 0 else f"ended with exit code {number}"
    hint = "out of RAM? the kernel's log says so; try a smaller --model" if number == -signal.SIGKILL else "see the log"
    if rank is None:
        return ZplanError(f"the process {how} without a result", hint, ExitCode.INTERNAL)
    phase = statuses[rank].phase if rank in statuses else "start"
    return ZplanError(f"rank {rank} {how} in {phase}", hint, ExitCode.INTERNAL)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
