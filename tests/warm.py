"""Dry runs in forks of a process that has imported torch and transformers: the imports are two thirds of a small run's time.

Each case still runs in a process of its own, with the code that a fresh process runs, and ``test_dryrun.py`` holds the one
against the other. Faults, signals and output are tested on fresh processes alone.
"""

from __future__ import annotations

import contextlib
import gc
import io
import json
import logging
import os
import select
import socket
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

import zplan
from zplan.verify.dryrun import run_case_in_child


def needs(*packages: str) -> None:
    """Skip a test where a package is missing that its processes import; this one does without."""
    import pytest

    for package in packages:
        if find_spec(package) is None:
            pytest.skip(f"needs {package}")


def processes() -> ThreadPoolExecutor:
    """Threads that each wait for a process: two, or one where pytest's workers already share the cores."""
    return ThreadPoolExecutor(1 if "PYTEST_XDIST_WORKER" in os.environ else 2)


class Warm:
    """Processes to fork from, started when they are first needed and ended at the end of the block."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._open = contextlib.ExitStack()
        self._places: dict[bool, Path] = {}

    def __enter__(self) -> Warm:
        return self

    def __exit__(self, *error: object) -> None:
        self._open.close()

    def run_case(self, case: Mapping[str, Any]) -> dict[str, Any]:
        """What :func:`zplan.verify.dryrun.run_case_in_child` returns for a case that works."""
        if not sys.platform.startswith("linux"):
            return run_case_in_child(case)
        # For DeepSpeed a dry run leaves sharded tensors out, which has to be done before transformers is imported.
        plain = case["engine"] == "deepspeed"
        with self._lock:
            if plain not in self._places:
                self._places[plain] = self._start(plain)
        place = self._places[plain]
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(300)
            line.connect(str(place / "socket"))
            line.sendall(json.dumps(dict(case)).encode() + b"\n")
            with line.makefile("rb") as stream:
                answer = stream.read()
        result: dict[str, Any] = json.loads(answer or '{"error": "the process died"}')
        if "error" in result:
            log = (place / "log").read_text(encoding="utf-8", errors="replace")
            raise AssertionError(f"{case}: {result['error']}: {log[-4000:]}")
        return result

    def _start(self, plain: bool) -> Path:
        place = Path(self._open.enter_context(tempfile.TemporaryDirectory(prefix="zplan-warm-")))
        path = os.pathsep.join(
            [str(Path(zplan.__file__).parents[1]), *os.environ.get("PYTHONPATH", "").split(os.pathsep)]
        )
        with socket.socket(socket.AF_UNIX) as listening, (place / "log").open("wb") as log:
            listening.bind(str(place / "socket"))
            listening.listen(16)
            process = subprocess.Popen(
                [sys.executable, __file__, str(listening.fileno()), *(["plain"] if plain else [])],
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                pass_fds=(listening.fileno(),),
                start_new_session=True,
                env={**os.environ, "PYTHONPATH": path.strip(os.pathsep)},
            )
        self._open.callback(process.communicate)  # closes its standard input, at which it ends
        return place


def _serve(listening: socket.socket, plain: bool) -> None:
    """Fork for every case, until standard input ends."""
    from zplan.verify.dryrun import imports

    # As a fresh process does.
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    gc.disable()
    imports.leave_compiler_out()
    imports.runner()
    imports.read_models_once()
    if plain:
        imports.leave_sharded_tensors_out()
    import transformers.models.llama.modeling_llama  # noqa: F401

    threads = sum(1 for _ in Path("/proc/self/task").iterdir())
    assert threads == 1, f"{threads} threads: none but this one would go on in a fork"
    while True:
        ready, _, _ = select.select([listening, sys.stdin], [], [])
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass
        if sys.stdin in ready:
            return
        line, _ = listening.accept()
        if os.fork() == 0:
            try:
                _answer(line)
            finally:
                os._exit(0)
        line.close()


def _answer(line: socket.socket) -> None:
    from zplan.verify.dryrun import __main__ as fresh

    with line, line.makefile("rw", encoding="utf-8") as stream:
        sys.stdin = io.StringIO(stream.readline())
        _, result = fresh._answer(None)
        stream.write(json.dumps(result))
    sys.stderr.flush()


if __name__ == "__main__":
    _serve(socket.socket(fileno=int(sys.argv[1])), "plain" in sys.argv)
