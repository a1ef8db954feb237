"""What training processes hold on a card outside torch's allocator: `python benchmarks/outside.py [--data FILE]`.

Reads `data/outside.yaml`, the messages of public threads, and prints for each card, one or several GPUs and torch before 2
or since: how many there are, and the least, the middle and the most in GiB.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import yaml

DATA = Path(__file__).parent / "data" / "outside.yaml"
LAZY_SINCE = "2023-03"  # torch 2.0, whose builds for CUDA 11.7 and later load kernels when they are first called
HEAD = ("card", "GPUs", "torch", "count", "min", "median", "max")


def outside_gib(row: Mapping[str, Any]) -> float:
    """What the process held outside torch's allocator, in GiB.

    Formula: in use - allocated - unallocated (torch >= 2.1), else total - free - reserved, an upper bound. Source: the words
    of torch's message, `c10/cuda/CUDACachingAllocator.cpp`.
    """
    if row["form"] == "new":
        return float(row["in_use_gib"] - row["allocated_gib"] - row["unallocated_gib"])
    return float(row["total_gib"] - row["free_gib"] - row["reserved_gib"])


def era(row: Mapping[str, Any]) -> str:
    """`<2` or `>=2`: by the version, else by the form of the message, else by the day; `?` where none tells."""
    if row["torch"]:
        return ">=2" if int(str(row["torch"]).split(".")[0]) >= 2 else "<2"
    if row["form"] == "new":
        return ">=2"
    if row["date"]:
        return ">=2" if str(row["date"]) >= LAZY_SINCE else "<2"
    return "?"


def ranks(row: Mapping[str, Any]) -> str:
    """`1`, `several`, or `?` where the thread does not tell."""
    return "?" if row["gpus"] is None else "1" if row["gpus"] == 1 else "several"


SMALL_BELOW_GIB = 36
"""Between the largest card of 32 GB and the smallest of 40."""


def ranges(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, tuple[int, float, float, float]]]:
    """What the estimate takes from the messages of torch 2, by size of card and `1` or `several` ranks.

    Returns:
        Count, least, median and most in GiB, of ``any`` card, ``small`` and ``large``.
    """
    groups: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if era(row) != ">=2" or ranks(row) == "?" or row.get("own_allocations"):
            continue
        for kind in ("any", "small" if row["total_gib"] < SMALL_BELOW_GIB else "large"):
            groups[kind, ranks(row)].append(outside_gib(row))
    found: dict[str, dict[str, tuple[int, float, float, float]]] = defaultdict(dict)
    for (kind, count), held in groups.items():
        found[kind][count] = (len(held), min(held), median(held), max(held))
    return found


def table(rows: Iterable[Mapping[str, Any]]) -> list[tuple[str, ...]]:
    """One line per card, number of GPUs and torch, then one per card; amounts in GiB."""
    groups: dict[tuple[str, str, str], list[float]] = defaultdict(list)
    for row in rows:
        card = str(row["card"] or "(not told)")
        groups[card, ranks(row), era(row)].append(outside_gib(row))
        groups[card, "any", "any"].append(outside_gib(row))
        groups["(all)", ranks(row), era(row)].append(outside_gib(row))
    return [
        (*key, str(len(held)), *(f"{amount:.2f}" for amount in (min(held), median(held), max(held))))
        for key, held in sorted(groups.items())
    ]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=DATA, help="another file of the same form")
    rows = yaml.safe_load(parser.parse_args().data.read_text(encoding="utf-8"))["rows"]
    print("Held outside torch's allocator, GiB")
    for line in (HEAD, *table(rows)):
        print(f"{line[0]:<12} {line[1]:<8} {line[2]:<5}" + "".join(f"{cell:>8}" for cell in line[3:]))


if __name__ == "__main__":
    main()
