"""Derives the activation tables of ``zplan/memory/activations/tables`` from transformers' model code.

    python benchmarks/derive_activations.py                # all families
    python benchmarks/derive_activations.py llama gemma2   # some
    python benchmarks/derive_activations.py cast lora      # one mode; with adapters

Each family's model runs forward and backward without data at several sets of dimensions; every storage is named by a
formula in those dimensions; instants that cannot be a peak are dropped. Needs torch and transformers, no GPU.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

from zplan.memory.activations.base import ComputeMode
from zplan.verify.derive.families import FAMILIES
from zplan.verify.derive.generate import family_module

TARGET = Path(__file__).resolve().parent.parent / "zplan" / "memory" / "activations" / "tables"


def main() -> None:
    """Writes one module per family and mode."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = (*FAMILIES, *(mode.value for mode in ComputeMode), "lora")
    parser.add_argument("what", nargs="*", metavar="FAMILY|MODE|lora", help=f"any of: {', '.join(choices)}")
    asked, failed = parser.parse_args().what, False
    if unknown := [word for word in asked if word not in choices]:
        parser.error(f"unknown: {', '.join(unknown)}")
    lora = "lora" in asked
    modes = [ComputeMode(word) for word in asked if word in set(ComputeMode)]
    # Wide is a way of running adapters.
    modes = modes or [mode for mode in ComputeMode if lora or mode is not ComputeMode.WIDE]
    for name in [word for word in asked if word in FAMILIES] or FAMILIES:
        for mode in modes:
            start = time.perf_counter()
            try:
                text, count = family_module(FAMILIES[name], mode, lora=lora)
            except (ValueError, LookupError, RuntimeError) as error:
                failed = True
                print(f"{name} {mode.value}: {error}", flush=True)
                continue
            path = TARGET / f"{name.removesuffix('_text')}_{mode.value}{'_lora' if lora else ''}.py"
            path.write_text(text, encoding="utf-8")
            print(f"{path.name}: {count} tables, {time.perf_counter() - start:.0f} s", flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
