"""How fast zplan starts, and how many plans it prices.

``cold_ratio``: whole process of ``zplan estimate --params 7B --gpus 8 --gpu-mem 80 --json`` over whole process of
importing what it is built with (typer, rich, pydantic), median of alternating runs; ``recommend_ratio`` the same of
``zplan recommend --params 7B --gpus 8 --gpu a100-80g --json``, and ``recommend_ratios`` of the questions in ``RECOMMEND``, each
beside the bar that none of them is to pass; ``..._cpu`` by processor time, which other work on the machine disturbs less.
``plans_per_second``: ``estimate``
over plans that all differ, per second of one core's time. ``search_seconds``: a whole search, with nothing cached, and
in ``search_plans`` how many plans it decides.

Run: ``python benchmarks/speed.py [--json]``
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from dataclasses import replace
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import TemporaryDirectory
from time import perf_counter, process_time
from typing import Any

RUNS = 20
FLOOR = ("-c", "import typer, rich.console, rich.table, pydantic")
ESTIMATE = ("estimate", "--params", "7B", "--gpus", "8", "--gpu-mem", "80", "--json")
_H100 = ("--gpu", "h100-80g")
RECOMMEND = {
    "one node": ("--params", "7B", "--gpus", "8", "--gpu", "a100-80g"),
    "one node, no card": ("--params", "7B", "--gpus", "8", "--gpu-mem", "80"),
    "one node, H100": ("--params", "7B", "--gpus", "8", *_H100),
    "two nodes": ("--params", "8B", "--gpus", "16", *_H100),
    "eight nodes": ("--params", "70B", "--gpus", "64", *_H100),
    "eight nodes, preset": ("--model", "llama-3-70b", "--gpus", "64", *_H100),
    "eight nodes, experts": ("--model", "mixtral-8x7b", "--gpus", "64", *_H100),
    "one card": ("--params", "7B", "--gpus", "1", "--gpu", "rtx-4090-24g"),
    "fewest cards": ("--params", "7B", *_H100, "--goal", "min-gpus"),
    "longest sequence": ("--params", "7B", "--gpus", "8", *_H100, "--goal", "max-seq"),
    "adapters": ("--params", "7B", "--gpus", "8", *_H100, "--lora", "16"),
    "adapters, nf4": ("--params", "70B", "--gpus", "8", *_H100, "--lora", "16", "--quantize", "nf4"),
}
"""What recommendations are asked for, cold."""
BAR = 2.5
"""What a cold recommendation may cost, in imports."""


def zplan_command() -> tuple[str, ...]:
    """The installed command, or the module where it is not installed as one."""
    script = Path(sys.executable).with_name("zplan")
    return (str(script),) if script.exists() else (sys.executable, "-m", "zplan")


def seconds(command: tuple[str, ...], environment: dict[str, str]) -> tuple[float, float]:
    """Wall and processor time of one whole process; it must succeed."""
    start, before = perf_counter(), getrusage(RUSAGE_CHILDREN)
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, env=environment)
    wall, after = perf_counter() - start, getrusage(RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def cold_start(runs: int = RUNS) -> dict[str, tuple[float, float]]:
    """Median wall and processor seconds of imports, estimate and recommendations, run in turns: a busy machine slows all."""
    zplan = zplan_command()
    commands = {"imports": (sys.executable, *FLOOR), "estimate": (*zplan, *ESTIMATE)}
    commands |= {name: (*zplan, "recommend", *words, "--json") for name, words in RECOMMEND.items()}
    with TemporaryDirectory() as bytecode:
        # As installed: pip compiles what it installs, an editable install compiles at the first run.
        environment = {**os.environ, "ZPLAN_NO_CACHE": "1", "PYTHONPYCACHEPREFIX": bytecode}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        for command in commands.values():
            seconds(command, environment)
        times = [[seconds(command, environment) for command in commands.values()] for _ in range(runs)]
    return {
        name: (median(wall for wall, _ in one), median(used for _, used in one))
        for name, one in zip(commands, zip(*times, strict=True), strict=True)
    }


def plans() -> list[Any]:
    """Plans that all differ: stages and offload, ranks, micro-batches, lengths, checkpointing, two models."""
    from zplan.inputs.model import resolve_model
    from zplan.spec import Checkpointing, ClusterSpec, Job, Offload, Plan

    variants = [(0, Offload.NONE), (1, Offload.NONE), (2, Offload.NONE), (2, Offload.OPTIMIZER), (3, Offload.NONE)]
    variants += [(3, Offload.OPTIMIZER), (3, Offload.ALL)]
    models = [resolve_model(params="7B", model=None), resolve_model(params=None, model="llama-3.1-8b")]
    clusters = [
        ClusterSpec(gpus=gpus, nodes=max(1, gpus // 8), gpu_capacity_bytes=80 * 2**30, host_capacity_bytes=2**40)
        for gpus in (2, 4, 8, 16, 32, 64, 128, 256)
    ]
    batches = product((1, 2, 3, 4, 6, 8, 12, 16), (512, 1024, 2048, 3072, 4096, 6144, 8192, 16384))
    shapes = product(batches, (Checkpointing(), Checkpointing(kind="full")))
    jobs = [
        Job(stage=stage, offload=offload, micro_batch=micro_batch, seq_len=seq_len, checkpointing=checkpointing)
        for ((micro_batch, seq_len), checkpointing), (stage, offload) in product(shapes, variants)
    ]
    return [Plan(model=model, cluster=cluster, job=job) for model, cluster, job in product(models, clusters, jobs)]


def throughput() -> tuple[float, int]:
    """Plans per second of one core's time, every plan priced once, and how many there were."""
    from zplan import estimate

    todo = plans()
    warm = replace(todo[0], job=replace(todo[0].job, seq_len=7))
    estimate(warm)
    start = process_time()
    for plan in todo:
        estimate(plan)
    return len(todo) / (process_time() - start), len(todo)


def search_speed(runs: int = 3) -> tuple[float, int, int]:
    """Seconds of a whole search in a fresh process (the best of ``runs``), plans decided, and of them priced."""
    code = (
        "from time import perf_counter\n"
        "from zplan.advice.search import search\n"
        "from zplan.advice.space import Question\n"
        "from zplan.inputs.cluster import build_cluster\n"
        "from zplan.inputs.model import resolve_model\n"
        "from zplan.spec import Job, Plan\n"
        "cluster, _ = build_cluster(gpus=16, gpu='a100-80g', host_mem_bytes=2**40)\n"
        "plan = Plan(model=resolve_model(params=None, model='llama-3.1-8b'), cluster=cluster, job=Job(seq_len=4096))\n"
        "start = perf_counter()\n"
        "found = search(Question(base=plan))\n"
        "print(perf_counter() - start, found.plans_decided, found.plans_priced)\n"
    )
    command = (sys.executable, "-c", code)
    outputs = [subprocess.run(command, check=True, capture_output=True, text=True).stdout.split() for _ in range(runs)]
    best = min(outputs, key=lambda words: float(words[0]))
    return float(best[0]), int(best[1]), int(best[2])


def dryrun() -> dict[str, Any]:
    """Seconds and real memory of the dry runs of ``dryrun_speed.py``; nothing where torch is not installed."""
    if find_spec("torch") is None or find_spec("deepspeed") is None:
        return {}
    command = (sys.executable, str(Path(__file__).with_name("dryrun_speed.py")), "--json")
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(done.stdout)["dryrun"]
    return found


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    parser.add_argument("--runs", type=int, default=RUNS, help="processes of each kind")
    arguments = parser.parse_args()
    took = cold_start(arguments.runs)
    (ours, _), (floor, least) = took["estimate"], took["imports"]
    advice = took["one node"][0]
    per_second, priced = throughput()
    searched, decided, looked_at = search_speed()
    result: dict[str, Any] = {
        "cold_ratio": round(ours / floor, 3),
        "recommend_ratio": round(advice / floor, 3),
        "recommend_bar": BAR,
        "recommend_ratios": {name: round(took[name][0] / floor, 3) for name in RECOMMEND},
        "recommend_ratios_cpu": {name: round(took[name][1] / least, 3) for name in RECOMMEND},
        "plans_per_second": round(per_second),
        "search_seconds": round(searched, 4),
        "search_plans": decided,
        "search_plans_priced": looked_at,
        "dryrun": dryrun(),
        "cold_seconds": {
            "zplan": round(ours, 4),
            "recommend": round(advice, 4),
            "imports": round(floor, 4),
            "runs": arguments.runs,
        },
        "plans_priced": priced,
    }
    if arguments.json:
        print(json.dumps(result))
        return
    cold = f"{result['cold_ratio']:.2f} of importing typer, rich and pydantic ({floor * 1000:.0f} ms)"
    print(f"start:  {ours * 1000:.0f} ms, {cold}")
    for name, ratio in result["recommend_ratios"].items():
        used = result["recommend_ratios_cpu"][name]
        print(
            f"recommend, {name}: {took[name][0] * 1000:.0f} ms, {ratio:.2f} of it ({used:.2f} by processor time), bar {BAR}"
        )
    print(f"search: {searched * 1000:.0f} ms for {decided:,} plans, {looked_at:,} of them priced")
    for name, run in result["dryrun"].items():
        print(f"dry run of {name}: {run['seconds']:.1f} s, {run['peak_gib']:.2f} GiB")
    print(f"plans:  {per_second:,.0f} per second on one core ({priced:,} different plans)")


if __name__ == "__main__":
    main()
