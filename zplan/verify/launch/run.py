"""Runs a case by one of the launches and brings its measurement home; whatever happens, nothing is left running."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from zplan.errors import ExitCode, ZplanError
from zplan.verify.launch.faults import died, hung, read_errors, read_statuses
from zplan.verify.launch.processes import TOKEN, end, of_token, resident_bytes, start, stoppable
from zplan.verify.launch.results import measurement_of
from zplan.verify.launch.world import World
from zplan.verify.measurement import Measurement

DRYRUN, SINGLE, TORCHRUN = "dryrun", "single", "torchrun"
LAUNCHES = (DRYRUN, SINGLE, TORCHRUN)
_POLL_SECONDS = 0.05
_FOREIGN = ("RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "GROUP_RANK",
            "TORCHELASTIC_RUN_ID", "TORCHELASTIC_USE_AGENT_STORE")  # fmt: skip
"""Another launcher's variables, which a launch of our own must not inherit."""

Progress = Callable[[str, float], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to run and how."""

    launch: str
    case: Mapping[str, Any]
    """As :meth:`zplan.verify.dryrun.case.Case.to_dict` gives it."""
    device: str = "cpu"
    """``cpu`` or ``cuda``."""
    timeout_s: float = 600.0
    max_memory_bytes: int | None = None
    """What one process may take: of the card on a GPU, of RAM elsewhere."""
    nodes: int = 1
    rendezvous: Mapping[str, str] | None = None
    """``--rdzv-endpoint`` and friends for torchrun, without dashes: ``{"rdzv-endpoint": "host:29500"}``."""
    world: World | None = None
    """The job that another launcher has started."""


def missing_packages(request: Request) -> None:
    """Check, without importing anything, that everything a launch needs is installed.

    Raises:
        ZplanError: Exit code 5, with the ``pip install`` that helps.
    """
    extra = "deepspeed" if request.case["engine"] == "deepspeed" else "verify"
    needs = ["torch", "transformers"]
    if extra == "deepspeed":
        needs.append("deepspeed")
    if request.case.get("lora") is not None:
        needs.append("peft")
    absent = [name for name in needs if find_spec(name) is None]
    if absent:
        hint = "pip install peft" if absent == ["peft"] else f"pip install 'zplan[{extra}]'"
        raise ZplanError(f"zplan verify needs {' and '.join(absent)}", hint, ExitCode.MISSING)


def run_launch(request: Request, progress: Progress | None = None) -> Measurement | None:
    """Measure a case.

    Args:
        request: What to run and how.
        progress: Told the phase that runs and the share of the work done.

    Returns:
        The measurement; None in a process of an existing job, or on a node, that does not hold rank 0.

    Raises:
        ZplanError: It could not be measured; what was printed is in a log file that the hint names.
        KeyboardInterrupt: Somebody wants it to stop; everything has been stopped.
    """
    missing_packages(request)
    folder = Path(tempfile.mkdtemp(prefix="zplan-verify-"))
    began = time.monotonic()
    try:
        with stoppable():
            results = _measured(request, folder, progress)
        if results is None:
            return None
        seconds = time.monotonic() - began
        return measurement_of(results, launch=request.launch, case=request.case, seconds=seconds)
    except ZplanError as error:
        raise ZplanError(error.message, error.hint + _kept_log(folder), error.exit_code) from None
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _kept_log(folder: Path) -> str:
    """Keep what was printed; a sentence that says where."""
    log = folder / "log"
    if not log.exists() or not log.stat().st_size:
        return ""
    place = Path(tempfile.gettempdir()) / f"{folder.name}.log"
    try:
        shutil.move(log, place)
    except OSError:
        return ""
    return f"; log: {place}"


def _measured(request: Request, folder: Path, progress: Progress | None) -> list[dict[str, Any]] | None:
    token = uuid.uuid4().hex
    # Inside an existing job its variables stay: torchrun's own store may be the one to meet at.
    env = {key: value for key, value in os.environ.items() if request.world is not None or key not in _FOREIGN}
    env.update({TOKEN: token, "HF_HUB_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "PYTHONUNBUFFERED": "1"})
    # What torchrun and the engines leave in temporary folders goes with ours.
    env["TMPDIR"] = str(folder)
    job = {
        "case": dict(request.case),
        "launch": request.launch,
        "device": request.device,
        "timeout_s": request.timeout_s,
        "max_memory_bytes": request.max_memory_bytes,
    }
    (folder / "job.json").write_text(json.dumps(job), encoding="utf-8")
    if request.world is not None:
        env.update(request.world.environment())
    if request.device == "cpu":
        # The backward of a CPU run starts as many threads as there are cores, in every rank.
        env.setdefault("OMP_NUM_THREADS", "1")
    process = None
    with (folder / "log").open("wb") as log:
        try:
            process = start(command(request, folder), env=env, log=log)
            return _watch(request, folder, process, token, progress)
        finally:
            end(token, process)


def command(request: Request, folder: Path) -> list[str]:
    """The program to start.

    Args:
        request: What to run and how.
        folder: The launch's folder, with its ``job.json``.

    Returns:
        Program and arguments.
    """
    probe = ["-m", "zplan.verify.probe", str(folder)]
    if request.launch != TORCHRUN or request.world is not None:
        return [sys.executable, *probe]
    given = dict(request.rendezvous or {})
    per_node = request.case["world"] // request.nodes
    if request.nodes == 1 and "rdzv-endpoint" not in given and "master-addr" not in given:
        options = ["--standalone"]
    else:
        if "rdzv-endpoint" in given:
            given.setdefault("rdzv-backend", "c10d")
        options = [f"--{name}={value}" for name, value in given.items()]
    return [sys.executable, "-m", "torch.distributed.run", f"--nnodes={request.nodes}",
            f"--nproc-per-node={per_node}", *options, *probe]  # fmt: skip


def _watch(
    request: Request, folder: Path, process: Any, token: str, progress: Progress | None
) -> list[dict[str, Any]] | None:
    """Wait for the result, within the limits of time and memory."""
    deadline = time.monotonic() + request.timeout_s
    first_gone: int | None = None
    while process.poll() is None:
        statuses = read_statuses(folder)
        if statuses and progress is not None:
            slowest = min(statuses.values(), key=lambda status: status.share)
            progress(slowest.phase, slowest.share)
        if first_gone is None:
            gone = [s.rank for s in statuses.values() if s.phase != "done" and not _alive(s.pid)]
            first_gone = gone[0] if gone else None
        if time.monotonic() > deadline:
            raise hung(statuses, request.timeout_s, f"--launch {request.launch}")
        if request.max_memory_bytes is not None and request.device == "cpu":
            _bounded(token, request.max_memory_bytes, statuses)
        time.sleep(_POLL_SECONDS)
    result = folder / "result.json"
    if process.returncode == 0 and result.exists():
        return list(json.loads(result.read_text(encoding="utf-8")))
    if process.returncode == 0 and request.launch == TORCHRUN and read_statuses(folder):
        return None
    log = (folder / "log").read_text(encoding="utf-8", errors="replace")
    raise died(process.returncode, read_statuses(folder), read_errors(folder), log, first_gone)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] != "Z"
    except (OSError, IndexError):
        return True


def _bounded(token: str, limit_bytes: int, statuses: Mapping[int, Any]) -> None:
    by_pid = {status.pid: status for status in statuses.values()}
    for pid in of_token(token):
        if resident_bytes(pid) > limit_bytes:
            status = by_pid.get(pid)
            who = f"rank {status.rank} in {status.phase}" if status else "a process"
            raise ZplanError(
                f"{who} took more than --max-memory-gib {limit_bytes / 2**30:g}",
                "raise it, or use --launch dryrun or a smaller --model",
                ExitCode.DOES_NOT_FIT,
            )
