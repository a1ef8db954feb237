"""How many processes the tests of one file may have at work."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor


def processes() -> ThreadPoolExecutor:
    """Threads that each wait for a process: two, or one where pytest's workers already share the cores."""
    return ThreadPoolExecutor(1 if "PYTEST_XDIST_WORKER" in os.environ else 2)
