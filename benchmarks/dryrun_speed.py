"""How long a dry run takes, imports and all, and how much real memory it needs.

Each line is a fresh process, as a user starts it: ``python benchmarks/dryrun_speed.py [--json] [--only 8b]``.
The limits are those of a machine with two cores that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from zplan.inputs.cluster import build_cluster
from zplan.inputs.model import resolve_model
from zplan.spec import Checkpointing, Job, Plan
from zplan.verify.dryrun import plan_to_case

GIB = 1 << 30
CASES = (("llama-3.1-8b", 64, 8, 1), ("llama-3.1-70b", 512, 30, 1), ("llama-3.1-405b", 1024, 60, 2))
"""Model, ranks, limit in seconds, limit of real memory in GiB."""


def measure(model: str, ranks: int) -> dict[str, float]:
    """Run DeepSpeed stage 3 with checkpointing once.

    Args:
        model: Preset name.
        ranks: World size.

    Returns:
        Wall seconds, processor seconds and the peak of resident memory in GiB.
    """
    cluster, _ = build_cluster(gpus=ranks, gpu="h100-80g")
    job = Job(stage=3, seq_len=4096, checkpointing=Checkpointing(kind="full"))
    case = plan_to_case(Plan(model=resolve_model(params=None, model=model), cluster=cluster, job=job))
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "result.json"
        command = [sys.executable, "-m", "zplan.verify.dryrun", "--out", str(out)]
        start = time.perf_counter()
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        assert child.stdin is not None
        child.stdin.write(json.dumps(case.to_dict()).encode())
        child.stdin.close()
        _, status, used = os.wait4(child.pid, 0)
        seconds = time.perf_counter() - start
        result = json.loads(out.read_text())
    if status or "error" in result:
        raise SystemExit(f"{model} on {ranks}: {result.get('error', 'no result')}")
    cpu = used.ru_utime + used.ru_stime
    return {
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "peak_gib": round(used.ru_maxrss * 1024 / GIB, 3),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--only", default="", help="only models with this in their name")
    arguments = parser.parse_args()
    found: dict[str, Any] = {}
    for model, ranks, seconds, gib in CASES:
        if arguments.only not in model:
            continue
        name = f"{model}@{ranks}"
        found[name] = measure(model, ranks)
        if not arguments.json:
            took = found[name]
            print(
                f"{name:20} {took['seconds']:7.2f} s (at most {seconds})  {took['peak_gib']:6.3f} GiB (at most {gib})"
            )
    if arguments.json:
        print(json.dumps({"dryrun": found}))


if __name__ == "__main__":
    main()
