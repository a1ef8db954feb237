"""The dry run: the real engine and the real model code run one rank of N on tensors without data, on the CPU.

:func:`run_dryrun` starts a fresh process, since engines patch global state; this module imports no torch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from zplan.errors import ExitCode, ZplanError
from zplan.spec import Plan
from zplan.verify.dryrun.case import Case, case_from_dict, plan_to_case
from zplan.verify.measurement import PHASES, Measurement

__all__ = ["Case", "case_from_dict", "measurement_of", "plan_to_case", "run_case_in_child", "run_dryrun"]

Progress = Callable[[str, float], None]


def run_dryrun(plan: Plan, *, progress: Progress | None = None) -> Measurement:
    """Measure one rank of a plan without a GPU.

    Args:
        plan: Any plan whose model carries its Hugging Face config.
        progress: Told the phase that runs and the share of the work done, 0 to 1.

    Returns:
        Bytes by phase and by term on the plan's rank.

    Raises:
        ZplanError: If the plan cannot be run dry, something is not installed (exit code 5), or the engine fails.
    """
    case = plan_to_case(plan)
    return measurement_of(case, run_case_in_child(case.to_dict(), progress=progress))


def measurement_of(case: Case, result: Mapping[str, Any]) -> Measurement:
    """A child's result as a value.

    Args:
        case: What ran.
        result: What :func:`run_case_in_child` returned.

    Returns:
        The measurement.
    """
    return Measurement(
        launch="dryrun",
        rank=case.rank,
        world_size=case.world,
        phases={phase: result[phase] for phase in PHASES},
        steady_bytes=result["steady"],
        allocated_peak_bytes=result["peak"],
        host_per_rank_bytes=result["host"],
        host_peak_per_rank_bytes=result["host_peak"],
        pinned_per_rank_bytes=result["pinned"],
        terms=result["terms"],
        environment=result["versions"],
        seconds=result["seconds"],
        limits=tuple(result["limits"]),
        params=result["params"],
    )


def run_case_in_child(case: Mapping[str, Any], *, progress: Progress | None = None) -> dict[str, Any]:
    """Run one case in a fresh process.

    Args:
        case: A case as a JSON object.
        progress: As for :func:`run_dryrun`.

    Returns:
        The result as a JSON object: see :func:`zplan.verify.dryrun.runner.run_case`.

    Raises:
        ZplanError: With the child's own message, or with the place of the log if it died.
    """
    with tempfile.TemporaryDirectory(prefix="zplan-dryrun-") as folder:
        out = Path(folder) / "result.json"
        descriptor, log_name = tempfile.mkstemp(prefix="zplan-dryrun-", suffix=".log")
        with os.fdopen(descriptor, "wb") as log:
            code = _run_child(json.dumps(dict(case)), out, log, progress)
        log_path = Path(log_name)
        result = _read(out)
    if result is not None and "error" not in result:
        log_path.unlink(missing_ok=True)
        return result
    if result is not None and result["exit_code"] != ExitCode.INTERNAL:
        log_path.unlink(missing_ok=True)
        raise ZplanError(result["error"], result["hint"], ExitCode(result["exit_code"]))
    why = result["error"] if result is not None else f"its process ended with code {code}"
    raise ZplanError(f"the dry run failed: {why}", f"what the engine printed: less {log_path}", ExitCode.INTERNAL)


def _run_child(text: str, out: Path, log: Any, progress: Progress | None) -> int:
    read_end, write_end = os.pipe()
    command = [sys.executable, "-m", "zplan.verify.dryrun", "--out", str(out), "--progress-fd", str(write_end)]
    # A session of its own: Ctrl-C reaches this process first, which then ends the child.
    child = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=log, stderr=log, pass_fds=(write_end,), start_new_session=True
    )
    os.close(write_end)
    try:
        assert child.stdin is not None
        child.stdin.write(text.encode())
        child.stdin.close()
        with os.fdopen(read_end, "r") as lines:
            for line in lines:
                phase, share = line.split()
                if progress is not None:
                    progress(phase, float(share))
        return child.wait()
    except BrokenPipeError:
        return child.wait()
    finally:
        if child.poll() is None:
            child.kill()
            child.wait()


def _read(path: Path) -> dict[str, Any] | None:
    try:
        result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return result
