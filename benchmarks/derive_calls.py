"""Derives in which order modules are called under stage 3, for every family: ``zplan/memory/engines/call_orders.py``.

    python benchmarks/derive_calls.py                # all families
    python benchmarks/derive_calls.py llama gemma2   # some; the others are kept

The real engine runs a small model of each family without data and its hooks are written down. Needs torch, transformers,
DeepSpeed and peft, no GPU.
"""

from __future__ import annotations

import argparse
import logging
import sys
import time
import warnings
from pathlib import Path

from zplan.verify.derive.calls import hooks_in_child, module_text, orders, runs
from zplan.verify.derive.families import FAMILIES
from zplan.verify.dryrun import imports

TARGET = Path(__file__).resolve().parent.parent / "zplan" / "memory" / "engines" / "call_orders.py"


def main() -> None:
    """Writes the module."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("family", nargs="*", help=f"any of: {', '.join(FAMILIES)}")
    asked = parser.parse_args().family
    if unknown := [word for word in asked if word not in FAMILIES]:
        parser.error(f"unknown: {', '.join(unknown)}")
    warnings.filterwarnings("ignore")
    logging.disable(logging.WARNING)
    imports.require("torch", "transformers", "deepspeed", "peft")
    imports.leave_compiler_out()
    imports.runner()
    import deepspeed
    import peft
    import transformers

    from zplan.memory.engines.call_orders import ORDERS

    found = {key: dict(one) for key, one in ORDERS.items()}
    failed = False
    for name in asked or FAMILIES:
        start = time.perf_counter()
        for run in runs(FAMILIES[name]):
            try:
                new = orders(run, hooks_in_child(run))
            except (ValueError, RuntimeError) as error:
                failed = True
                print(f"{name}{' lora' if run.lora else ''}: {error}", flush=True)
                continue
            for key, one in new.items():
                found.setdefault(key, {}).update(one)
        print(f"{name}: {time.perf_counter() - start:.0f} s", flush=True)
    versions = f"transformers {transformers.__version__}, DeepSpeed {deepspeed.__version__} and peft {peft.__version__}"
    TARGET.write_text(module_text(dict(sorted(found.items())), versions), encoding="utf-8")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
