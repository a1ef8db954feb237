"""Derives the activation tables of ``zplan/memory/activations/tables`` from transformers' model code.

    python benchmarks/derive_activations.py                    # all families
    python benchmarks/derive_activations.py llama gemma2       # some
    python benchmarks/derive_activations.py llama cast lora    # one mode; with adapters only
    python benchmarks/derive_activations.py --only math        # one kernel's tables, added to those that are there
    python benchmarks/derive_activations.py --show llama cast  # what the file says, as formulas

Each family's model runs forward and backward without data at several sets of dimensions; every storage is named by a
formula in those dimensions; instants that cannot be a peak are dropped. Needs torch, transformers and peft, no GPU.
"""

from __future__ import annotations

import argparse
import sys
import time

from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.find import module_of
from zplan.memory.activations.store import FOLDER, section, stored
from zplan.spec import Attention
from zplan.verify.derive.families import FAMILIES
from zplan.verify.derive.generate import family_file, family_tables
from zplan.verify.derive.write import formulas


def show(family: str, modes: list[ComputeMode], lora: bool) -> None:
    """Prints a family's tables as formulas."""
    found = stored(module_of(family))
    for mode in modes:
        name = section(mode, lora)
        for key, tables in found.shelf(name).items() if found is not None and name in found.sections else ():
            for table in tables:
                print(f"{name}, {key}", *formulas(table), sep="\n    ")


def write(family: str, modes: list[ComputeMode], adapters: list[bool], only: Attention | None) -> bool:
    """Derives some modes of a family and writes its file; returns whether all went well."""
    derived, good = {}, True
    old = stored(module_of(family))
    for mode in modes:
        for lora in adapters:
            if only is not None and (old is None or section(mode, lora) not in old.sections):
                continue  # a section of its own would hide the one that stands in for it
            start = time.perf_counter()
            try:
                tables = family_tables(FAMILIES[family], mode, lora=lora, only=only)
            except (ValueError, LookupError, RuntimeError) as error:
                good = False
                print(f"{family} {section(mode, lora)}: {error}", flush=True)
                continue
            derived[section(mode, lora)] = tables
            print(
                f"{family} {section(mode, lora)}: {len(tables)} keys, {time.perf_counter() - start:.0f} s", flush=True
            )
    text = family_file(FAMILIES[family], derived, add_to=only is not None)
    (FOLDER / f"{module_of(family)}.txt").write_text(text, encoding="utf-8")
    return good


def main() -> None:
    """Writes one file per family."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    choices = (*FAMILIES, *(mode.value for mode in ComputeMode), "lora")
    parser.add_argument("what", nargs="*", metavar="FAMILY|MODE|lora", help=f"any of: {', '.join(choices)}")
    parser.add_argument("--show", action="store_true", help="print formulas instead of deriving")
    parser.add_argument(
        "--only", type=Attention, choices=tuple(Attention), help="one kernel's tables, added to the rest"
    )
    options = parser.parse_args()
    asked = options.what
    if unknown := [word for word in asked if word not in choices]:
        parser.error(f"unknown: {', '.join(unknown)}")
    modes = [ComputeMode(word) for word in asked if word in set(ComputeMode)] or list(ComputeMode)
    good = True
    for name in [word for word in asked if word in FAMILIES] or FAMILIES:
        if options.show:
            show(name, modes, "lora" in asked)
        else:
            good = write(name, modes, [True] if "lora" in asked else [False, True], options.only) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
