"""How fast a large sweep is: whole processes of ``zplan sweep`` over 10,000 cells that all differ.

Run: ``python benchmarks/sweep_speed.py [--json]``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from time import perf_counter

SWEEP = ["sweep", "--params", "7B", "--gpus", "8", "--gpu-mem", "80", "--over", "stage=0..3"]
SWEEP += ["--over", "micro-batch=1..50:1", "--over", "seq-len=512..25600:512"]
CELLS = 4 * 50 * 50


def seconds(view: str) -> tuple[float, float]:
    """Wall and processor time of one process; it must print every cell."""
    command = [sys.executable, "-m", "zplan", *SWEEP, *([view] if view else [])]
    start, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
    done = subprocess.run(command, check=True, capture_output=True, env={**os.environ, "ZPLAN_NO_CACHE": "1"})
    wall, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    if view == "--csv" and done.stdout.count(b"\n") != CELLS + 1:
        raise RuntimeError("cells are missing")
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--runs", type=int, default=3, help="processes of each kind")
    arguments = parser.parse_args()
    result: dict[str, object] = {"cells": CELLS}
    for name, view in (("csv", "--csv"), ("json", "--json"), ("text", "")):
        times = [seconds(view) for _ in range(arguments.runs)]
        result[f"{name}_seconds"] = round(median(wall for wall, _ in times), 3)
        result[f"{name}_cpu_seconds"] = round(median(cpu for _, cpu in times), 3)
    if arguments.json:
        print(json.dumps(result))
        return
    for name in ("csv", "json", "text"):
        wall, cpu = result[f"{name}_seconds"], result[f"{name}_cpu_seconds"]
        print(f"{CELLS:,} cells as {name}: {wall} s ({cpu} s of processor time)")


if __name__ == "__main__":
    main()
