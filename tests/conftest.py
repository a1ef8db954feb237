"""How the tests are run: in two processes where there are two cores and more than one file, the longest files first."""

from __future__ import annotations

import gc
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from warm import Warm

# The tests' tensors are small or hold no data, and several processes share the cores. Set before torch is imported; processes
# that tests start inherit it.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# How long an example takes by the clock says how busy the machine is.
settings.register_profile("tests", deadline=None)
settings.load_profile("tests")


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Workers of ``-n auto``: 0 runs the tests in this process.

    More than two would each import torch and start processes that do, which small machines have no memory for; who has it
    says ``-n 4``.
    """
    files = {arg.partition("::")[0] for arg in config.args}
    if len(files) == 1 and Path(*files).is_file():
        return 0
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return 2 if cores > 1 else 0


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files with slow tests first, so that no worker begins a long one when the other is about to end."""
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: item.path not in slow)


@pytest.fixture(autouse=True, scope="module")
def _garbage() -> Iterator[None]:
    """Garbage of a file's tests is collected, and found fault with, at its end.

    What is there before, modules and caches, stays anyway: without looking at a gigabyte of it again and again the collector
    takes a tenth of the time.
    """
    gc.freeze()
    yield
    gc.collect()


@pytest.fixture(scope="session")
def warm() -> Iterator[Warm]:
    """Runs cases dry without importing torch for each."""
    with Warm() as found:
        yield found
