"""``python -m zplan`` and the ``zplan`` command."""

from __future__ import annotations

import gc
import sys

STARTUP_GC_THRESHOLD = 200_000
"""Starting up and a search make far more than a hundred thousand objects that nearly all stay: looking for garbage every 700 of
them finds none."""


def main() -> None:
    """Run the command line and exit with its code."""
    gc.set_threshold(STARTUP_GC_THRESHOLD)
    try:
        from zplan.cli.app import run

        code = run(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    # Shutting down, the interpreter looks for garbage twice more, which takes a sixth of an estimate's time. What is
    # frozen is left to the operating system.
    gc.freeze()
    sys.exit(code)


if __name__ == "__main__":
    main()
