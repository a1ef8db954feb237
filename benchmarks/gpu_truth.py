"""Held against a GPU: ``python benchmarks/gpu_truth.py [--out FILE] [--seconds N] [--device auto|cuda|cpu]``.

Runs a list of plans for real on one card (``--launch single``: rank 0 of N ranks), each beside its dry run and its estimate,
and writes one JSON object: allocated, reserved and device bytes of every plan, and how far dry run and estimate are off.
Dry runs use the CPU meanwhile. Plans that are predicted not to fit on the card are left out and listed with the numbers.
Without a GPU the same list runs with a tiny model on the CPU, which tests this script and not the numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent))

from cases import case_to_plan

from zplan.errors import ZplanError
from zplan.inputs.machine import Machine, read_machine
from zplan.inputs.presets import load_model
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.verify.launch.run import Request, run_launch
from zplan.verify.measurement import PHASES, Measurement

SIZES = ("llama-3.2-1b", "llama-3.2-3b")
TINY = {
    **{"model_type": "llama", "vocab_size": 2048, "hidden_size": 128, "intermediate_size": 384, "num_hidden_layers": 3},
    **{"num_attention_heads": 4, "num_key_value_heads": 2, "max_position_embeddings": 2048},
}
GRID = (
    ("deepspeed", 3, (8, 1, 64)),
    ("fsdp2", 3, (8, 1, 64)),
    ("deepspeed", 2, (8, 64)),
    ("deepspeed", 1, (8, 64)),
    ("ddp", 0, (8,)),
    ("single", 0, (1,)),
)
"""Engine, stage, ranks. DDP holds the same on any number of ranks."""
FIGURES = (*PHASES, "steady", "peak")
PLAN_SECONDS = 240.0
"""Longest that one plan may take."""


def draw(device: str) -> Iterator[dict[str, Any]]:
    """The plans, the most telling first, so that running out of time costs the least."""
    models = [json.loads(load_model(name).config_json or "{}") for name in SIZES] if device == "cuda" else [TINY]
    for nth in range(3):
        for model in models:
            for checkpointing in ("none", "full"):
                for engine, stage, ranks in GRID:
                    if nth < len(ranks):
                        case = {"engine": engine, "stage": stage, "world": ranks[nth], "checkpointing": checkpointing}
                        if device == "cpu" and engine == "deepspeed":
                            case["zero"] = {"reduce_bucket_size": 200_000}
                        yield {**case, "micro_batch": 1, "seq_len": 2048 if device == "cuda" else 128, "model": model}


def figures(measured: Measurement) -> dict[str, int]:
    """The figures that both sides have."""
    return {**measured.phases, "steady": measured.steady_bytes, "peak": measured.allocated_peak_bytes}


def predicted(answer: Estimate) -> dict[str, int]:
    """The same of an estimate."""
    return {**answer.phases, "steady": answer.steady_bytes, "peak": answer.allocated_peak_bytes}


def attempt(request: Request) -> Measurement | str:
    """A measurement, or why there is none."""
    try:
        return run_launch(request) or "no result"
    except ZplanError as error:
        return f"{error.message} ({error.hint})"


def run(device: str, machine: Machine, seconds: float, workers: int) -> dict[str, Any]:
    """Run the list within a time limit."""
    began = time.monotonic()
    rows: list[dict[str, Any]] = []
    left_out: list[dict[str, Any]] = []
    card = min((gpu.usable_bytes for gpu in machine.gpus), default=None)
    with ThreadPoolExecutor(workers) as pool:
        for case in draw(device):
            label = {key: value for key, value in case.items() if key != "model"}
            label["params"] = case_to_plan(case).model.params
            try:
                answer = estimate(case_to_plan(case))
            except ZplanError as error:
                answer = None
                label["no_estimate"] = error.message
            if answer is not None and card is not None and answer.runtime.device_expected_bytes > card:
                left_out.append({**label, "why": f"needs {answer.runtime.device_expected_bytes} of {card} bytes"})
                continue
            if time.monotonic() - began > seconds:
                left_out.append({**label, "why": "no time left"})
                continue
            dry = pool.submit(attempt, Request(launch="dryrun", case=case, timeout_s=PLAN_SECONDS))
            real = attempt(Request(launch="single", case=case, device=device, timeout_s=PLAN_SECONDS))
            rows.append({"case": label, "real": real, "dry": dry, "estimate": answer})
            print(f"{time.monotonic() - began:5.0f} s  {label}", file=sys.stderr, flush=True)
        finished = [row_object(row) for row in rows]
    return {
        "device": device,
        "card": machine.gpus[0].name if machine.gpus else None,
        "driver": machine.driver,
        "seconds": round(time.monotonic() - began, 1),
        "summary": {name: summary(finished, name) for name in ("dryrun", "estimate")},
        "rows": finished,
        "left_out": left_out,
    }


def row_object(row: Mapping[str, Any]) -> dict[str, Any]:
    """One plan: what was measured, and what dry run and estimate say."""
    real: Measurement | str = row["real"]
    dry_future: Future[Measurement | str] = row["dry"]
    dry = dry_future.result()
    answer: Estimate | None = row["estimate"]
    out: dict[str, Any] = {"case": row["case"]}
    out["measured"] = {"why": real} if isinstance(real, str) else measured_object(real)
    out["dryrun"] = {"why": dry} if isinstance(dry, str) else figures(dry)
    out["estimate"] = None
    if answer is not None:
        out["estimate"] = {
            **predicted(answer),
            "reserved": answer.runtime.reserved_peak_bytes,
            "device": [getattr(answer.runtime, f"device_{bound}_bytes") for bound in ("low", "expected", "high")],
            "beyond": {key: list(bounds) for key, bounds in answer.runtime.terms.items()},
        }
    return out


def measured_object(real: Measurement) -> dict[str, Any]:
    """Everything that was measured."""
    values = asdict(real)
    extra = {key: values[key] for key in ("beyond", "terms", "environment", "limits", "seconds")}
    return {**figures(real), "reserved": real.reserved_peak_bytes, "device": real.device_peak_bytes, **extra}


def summary(rows: list[dict[str, Any]], side: str) -> dict[str, Any]:
    """Median and maximum of |predicted / measured - 1| over the plans that both sides answered, by figure."""
    found: dict[str, Any] = {}
    for name in FIGURES:
        errors = [
            abs(row[side][name] / row["measured"][name] - 1)
            for row in rows
            if row[side] and name in row[side] and row["measured"].get(name)
        ]
        found[name] = {
            "n": len(errors),
            "median": statistics.median(errors) if errors else None,
            "max": max(errors, default=None),
        }
    return found


def main() -> int:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, help="write the object here; stdout by default")
    parser.add_argument("--seconds", type=float, default=420.0, help="start no plan after this long")
    parser.add_argument("--device", choices=("auto", "cuda", "cpu"), default="auto")
    options = parser.parse_args()
    machine = read_machine()
    device = options.device if options.device != "auto" else "cuda" if machine.gpus else "cpu"
    if device == "cuda" and not machine.gpus:
        print(f"error: no GPU: {machine.gpus_from}\nhint: --device cpu tests this script", file=sys.stderr)
        return 5
    workers = max(1, min(6, (os.cpu_count() or 2) // 2 - 1))
    report = json.dumps(run(device, machine, options.seconds, workers), indent=1) + "\n"
    if options.out is None:
        sys.stdout.write(report)
    else:
        temporary = options.out.with_suffix(".tmp")
        temporary.write_text(report, encoding="utf-8")
        temporary.replace(options.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
