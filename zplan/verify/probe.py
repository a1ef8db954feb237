"""``python -m zplan.verify.probe``: what each process runs; measures its rank and tells the launcher through files.

The job is ``FOLDER/job.json``. Each rank keeps ``rank-K.status`` (pid, phase, share of the work) up to date, leaves
``rank-K.error`` when it fails, and rank 0 writes ``result.json`` with the results of all ranks. It trains nothing,
saves nothing and downloads nothing.
"""

from __future__ import annotations

import ctypes
import gc
import json
import logging
import os
import signal
import sys
import traceback
import warnings
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from zplan.errors import ExitCode, ZplanError
from zplan.verify.launch.processes import TOKEN
from zplan.verify.saying import first_words

_PR_SET_PDEATHSIG = 1


def die_with_parent(folder: Path) -> None:
    """Ask Linux to kill this process when the one that started it dies, and end it where that is dead already."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        if _orphaned(folder):
            os._exit(int(ExitCode.INTERNAL))


def _orphaned(folder: Path) -> bool:
    """Whether the launch's own elastic agent, which started this rank, was gone before the rank could ask to go with it.

    Whoever takes over an orphan does not carry the launch's token, which the agent does. Without an agent, or inside a job of
    somebody else's, the command itself is the parent and carries none.
    """
    token = os.environ.get(TOKEN)
    if token is None or not os.environ.get("TORCHELASTIC_ERROR_FILE", "").startswith(str(folder)):
        return False
    try:
        environ = Path(f"/proc/{os.getppid()}/environ").read_bytes()
    except OSError:
        return True
    return f"{TOKEN}={token}".encode() not in environ.split(b"\0")


class Status:
    """One rank's line to the launcher.

    Args:
        folder: The launch's folder.
        rank: This rank.
    """

    def __init__(self, folder: Path, rank: int) -> None:
        self._path = folder / f"rank-{rank}.status"
        self._error = folder / f"rank-{rank}.error"
        self.phase = "start"
        self.say("start", 0.0)

    def say(self, phase: str, share: float) -> None:
        """Note the phase that runs."""
        self.phase = phase
        self._path.write_text(f"{os.getpid()} {phase} {share:.3f}\n", encoding="utf-8")

    def fail(self, message: str, hint: str, code: int) -> None:
        """Note why this rank stops."""
        content = {"error": message, "hint": hint, "exit_code": code, "phase": self.phase}
        self._error.write_text(json.dumps(content), encoding="utf-8")


def main(folder: Path) -> int:
    """Measure this process's rank.

    Args:
        folder: The launch's folder.

    Returns:
        0, or the exit code of what went wrong.
    """
    die_with_parent(folder)
    rank = int(os.environ.get("RANK", "0"))
    status = Status(folder, rank)
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    try:
        job = json.loads((folder / "job.json").read_text(encoding="utf-8"))
        results = _run(job, status)
        if rank == 0:
            temporary = folder / "result.tmp"
            temporary.write_text(json.dumps(results), encoding="utf-8")
            temporary.replace(folder / "result.json")
        status.say("done", 1.0)
        return 0
    except ZplanError as error:
        status.fail(error.message, error.hint, int(error.exit_code))
        return int(error.exit_code)
    except BaseException as error:
        traceback.print_exc()
        status.fail(*explain(error))
        return int(ExitCode.INTERNAL)


def explain(error: BaseException) -> tuple[str, str, int]:
    """What an exception of torch or an engine means to the user: message, hint, exit code."""
    text = first_words(error)
    lower = str(error).lower()
    if "out of memory" in lower or "can't allocate memory" in lower or isinstance(error, MemoryError):
        return (
            f"out of memory: {text}",
            "try fewer tokens, a smaller --model, or --launch dryrun",
            ExitCode.DOES_NOT_FIT,
        )
    if "eaddrinuse" in lower or "address already in use" in lower:
        return f"the port is in use: {text}", "choose another: --rdzv-endpoint HOST:PORT", ExitCode.USAGE
    if "/dev/shm" in lower or "no space left on device" in lower:
        return (
            f"no room in /dev/shm or on disk: {text}",
            "give the container more: docker run --shm-size=1g",
            ExitCode.USAGE,
        )
    if isinstance(error, ImportError):
        from zplan.verify.dryrun.imports import unknown_version

        moved = unknown_version(error)
        if moved is not None:
            return moved.message, moved.hint, moved.exit_code
    return f"{type(error).__name__}: {text}", "the log has the traceback", ExitCode.INTERNAL


def _run(job: dict[str, Any], status: Status) -> list[dict[str, Any]]:
    """The results of all ranks on rank 0, of this one elsewhere."""
    from zplan.verify.dryrun.imports import leave_compiler_out, require

    case_words = job["case"]
    require("torch", "transformers", *(("deepspeed",) if case_words["engine"] == "deepspeed" else ()))
    status.say("import", 0.0)
    device = job["device"]
    if device == "cpu" or job["launch"] == "dryrun":
        leave_compiler_out()
    local_rank = int(os.environ.get("LOCAL_RANK", "0"))
    if job["launch"] == "dryrun":
        gc.disable()
        from zplan.verify.dryrun.runner import run_case

        return [run_case(case_words, status.say)]
    driver = _take_card(local_rank, job.get("max_memory_bytes")) if device == "cuda" else None
    import torch

    from zplan.verify.dryrun.case import case_from_dict

    torch.manual_seed(0)
    case = case_from_dict(case_words)
    if job["launch"] == "single":
        from zplan.verify.single import run_single

        return [run_single(case, device=device, driver=driver, progress=status.say)]
    return _run_rank(case, device, driver, timedelta(seconds=job["timeout_s"]), status)


def _take_card(local_rank: int, limit_bytes: int | None) -> Any:
    """Make a card this process's own; returns what its driver says, asked before CUDA was touched."""
    import torch

    from zplan.verify.cuda import Driver, limit_memory

    driver = Driver(local_rank)
    if local_rank >= torch.cuda.device_count():
        raise ZplanError(
            f"local rank {local_rank} has no GPU: torch sees {torch.cuda.device_count()} here",
            "start fewer processes per node, or use --launch dryrun",
            ExitCode.MISSING,
        )
    torch.cuda.set_device(local_rank)
    if limit_bytes:
        limit_memory(limit_bytes)
    return driver


def _run_rank(case: Any, device: str, driver: Any, timeout: timedelta, status: Status) -> list[dict[str, Any]]:
    import torch.distributed as dist

    from zplan.verify.realrun import measure

    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    if world != case.world:
        raise ZplanError(
            f"the launcher started {world} processes, the plan has {case.world} GPUs",
            f"use --gpus {world}, or start {case.world} processes",
        )
    status.say("connect", 0.0)
    dist.init_process_group("nccl" if device == "cuda" else "gloo", timeout=timeout)
    try:
        result = measure(replace(case, rank=rank), device=device, peers=True, driver=driver, progress=status.say)
        result["rank"] = rank
        status.say("gather", 1.0)
        everyone: list[Any] = [None] * world
        dist.all_gather_object(everyone, result)
        # Rank 0 hosts the store: it leaves last.
        dist.barrier()
    finally:
        if sys.exc_info()[0] is None:
            dist.destroy_process_group()
    return everyone


if __name__ == "__main__":
    code = main(Path(sys.argv[1]))
    sys.stdout.flush()
    sys.stderr.flush()
    # Threads of a broken process group can keep an interpreter from ending.
    os._exit(code)
