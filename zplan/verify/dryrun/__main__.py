"""``python -m zplan.verify.dryrun``: a case on stdin, its result on stdout or in ``--out FILE``.

With ``--out`` the result goes to the file alone, so that what engines print cannot mix with it; progress goes to the file
descriptor ``--progress-fd`` as ``phase share`` lines.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import os
import sys
import traceback
import warnings
from pathlib import Path
from typing import Any

from zplan.errors import ExitCode, ZplanError


def main() -> int:
    """Run one case.

    Returns:
        0, or the exit code of the error, which is in the result as ``{"error", "hint"}``.
    """
    parser = argparse.ArgumentParser(prog="python -m zplan.verify.dryrun", description=__doc__)
    parser.add_argument("--out", type=Path, help="file for the result")
    parser.add_argument("--progress-fd", type=int, help="file descriptor for progress lines")
    args = parser.parse_args()
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    # Engines print to stdout, also from C: it goes to stderr until the result is there.
    sys.stdout.flush()
    answer = os.dup(1)
    os.dup2(2, 1)
    code, result = _answer(args.progress_fd)
    text = json.dumps(result) + "\n"
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")
    else:
        with os.fdopen(answer, "w", encoding="utf-8") as stream:
            stream.write(text)
    return code


def _answer(progress_fd: int | None) -> tuple[int, dict[str, Any]]:
    def progress(phase: str, share: float) -> None:
        if progress_fd is not None:
            os.write(progress_fd, f"{phase} {share:.3f}\n".encode())

    from zplan.verify.dryrun import imports

    try:
        try:
            raw = json.load(sys.stdin)
        except ValueError as error:
            raise ZplanError(f"the case is not JSON: {error}", "give one JSON object on stdin") from error
        imports.require("torch", "transformers")
        gc.disable()
        imports.leave_compiler_out()
        return 0, imports.runner().run_case(raw, progress)
    except ZplanError as error:
        return int(error.exit_code), {"error": error.message, "hint": error.hint, "exit_code": int(error.exit_code)}
    except Exception as error:  # the engine's own failures: the log has the traceback, the caller one line
        traceback.print_exc()
        moved = imports.unknown_version(error) if isinstance(error, ImportError) else None
        if moved is not None:
            return int(moved.exit_code), {"error": moved.message, "hint": moved.hint, "exit_code": int(moved.exit_code)}
        first = (str(error).strip() or "no message").splitlines()[0]
        internal = int(ExitCode.INTERNAL)
        return internal, {"error": f"{type(error).__name__}: {first}", "hint": "", "exit_code": internal}
    except KeyboardInterrupt:
        return int(ExitCode.INTERNAL), {
            "error": "interrupted",
            "hint": "run it again",
            "exit_code": int(ExitCode.INTERNAL),
        }


if __name__ == "__main__":
    sys.exit(main())
