"""The messages of `benchmarks/data/outside.yaml`: each keeps the rule of selection, and its amount is what was printed."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from statistics import median
from typing import Any

import pytest
import yaml

from zplan.memory import runtime
from zplan.units import GIB

BENCHMARKS = Path(__file__).parent.parent / "benchmarks"
DATA: dict[str, Any] = yaml.safe_load((BENCHMARKS / "data" / "outside.yaml").read_text(encoding="utf-8"))
ROWS: list[dict[str, Any]] = DATA["rows"]
DAY = re.compile(r"20\d\d-[01]\d(-[0-3]\d)?")
MOST_GIB = 8.0
AGREE_GIB = 0.3

sys.path.insert(0, str(BENCHMARKS))
from outside import era, outside_gib, ranges, ranks, table  # noqa: E402


def _rows() -> list[Any]:
    return [pytest.param(row, id=row["ref"]) for row in ROWS]


@pytest.mark.parametrize("row", _rows())
def test_amounts_follow_from_the_printed_numbers(row: dict[str, Any]) -> None:
    if row["form"] == "new":
        assert "reserved_gib" not in row
        assert abs(row["total_gib"] - row["free_gib"] - row["in_use_gib"]) <= AGREE_GIB
        again = row["in_use_gib"] - (row["allocated_gib"] + row["unallocated_gib"])
    else:
        assert row["form"] == "old"
        assert "in_use_gib" not in row
        assert row["allocated_gib"] <= row["reserved_gib"]
        again = row["total_gib"] - (row["free_gib"] + row["reserved_gib"])
    assert outside_gib(row) == pytest.approx(again, abs=1e-9)
    assert 0 < outside_gib(row) <= MOST_GIB


@pytest.mark.parametrize("row", _rows())
def test_rows_say_where_they_are_from(row: dict[str, Any]) -> None:
    assert row["url"].startswith("https://github.com/" + re.split(r"[#:]", row["ref"])[0])
    assert row["date"] is None or DAY.fullmatch(row["date"])
    assert (row["card"] is None) == (row["card_from"] is None)
    assert row["card_from"] in {None, "stated", "capacity"}
    assert row["engine"] in {None, "deepspeed-1", "deepspeed-2", "deepspeed-3", "fsdp", "ddp", "single"}
    assert row["engine"] != "single" or row["gpus"] == 1


def test_one_row_per_configuration() -> None:
    assert len({row["ref"] for row in ROWS}) == len(ROWS)
    assert not {row["ref"] for row in ROWS} & {row["ref"] for row in DATA["left_out"]}
    assert all(row["reason"] for row in DATA["left_out"])
    assert all(row["value"] and row["url"] for row in DATA["context_only"])


def test_era_and_ranks() -> None:
    row = {"torch": None, "form": "old", "date": None, "gpus": None}
    assert era(row) == "?"
    assert era({**row, "date": "2023-02-25"}) == "<2"
    assert era({**row, "date": "2023-03-17"}) == ">=2"
    assert era({**row, "date": "2023-04-13", "torch": "1.13.1"}) == "<2"
    assert era({**row, "form": "new"}) == ">=2"
    assert [ranks({**row, "gpus": gpus}) for gpus in (None, 1, 8)] == ["?", "1", "several"]


def test_table_of_two() -> None:
    row = {"card": "T4", "torch": None, "form": "old", "date": "2020-12-07", "gpus": 1}
    # 15.90 - 0.50 - 15.00 = 0.40; 15.90 - 0.30 - 14.60 = 1.00; the middle of both 0.70
    rows = [
        {**row, "total_gib": 15.90, "free_gib": 0.50, "reserved_gib": 15.00},
        {**row, "total_gib": 15.90, "free_gib": 0.30, "reserved_gib": 14.60},
    ]
    assert ("T4", "1", "<2", "2", "0.40", "0.70", "1.00") in table(rows)


@pytest.mark.parametrize(("kind", "of"), [("any", "ANY"), ("small", "SMALL"), ("large", "LARGE")])
def test_the_estimate_takes_its_ranges_from_here(kind: str, of: str) -> None:
    taken: runtime.Outside = getattr(runtime, of)
    found = ranges(ROWS)[kind]
    one, several = found["1"], found["several"]
    assert f"{one[0]} of one process and {several[0]} of several ranks" in taken.context.source
    # Printed to 0.01 GiB.
    assert [size / GIB for size in taken.context[:3]] == pytest.approx(one[1:], abs=0.0051)
    sums = [(before + after) / GIB for before, after in zip(taken.context[:3], taken.nccl[:3], strict=True)]
    assert sums == pytest.approx(several[1:], abs=0.0051)


def test_more_memory_is_never_less_room() -> None:
    for ranks_told in (1, 8):
        for which in range(3):
            rooms = []
            for size in range(8 * GIB, 100 * GIB, GIB // 16):
                outside = runtime.outside_of(size)
                held = outside.context_bytes[which] + (outside.nccl_bytes[which] if ranks_told > 1 else 0)
                rooms.append(size - held)
            assert rooms == sorted(rooms)
    assert runtime.outside_of(32 * GIB) is runtime.SMALL
    assert runtime.outside_of(39 * GIB) is runtime.LARGE
    assert runtime.outside_of(None) is runtime.ANY


@pytest.mark.parametrize(("several", "name"), [(True, "_FSDP1"), (False, "_SINGLE")])
def test_slack_is_what_is_left_of_nvidia_smi(several: bool, name: str) -> None:
    """Of the runs of fms-acceleration, all on A100-80GB, that print both figures.

    What an A100 holds beside: 0.47 GiB of context (stas00/ml-engineering), 544 MB of NCCL on two and 688 MB on more
    (NVIDIA/nccl#964).
    """
    measured = yaml.safe_load((BENCHMARKS / "data" / "measured.yaml").read_text(encoding="utf-8"))
    shares = []
    for row in measured:
        shown, counted = (row.get("extra") or {}).get("nvidia_smi_mib"), row["measured"] or {}
        if shown and counted.get("kind_class") == "allocated" and (row["n_gpus"] > 1) == several:
            nccl = 0 if not several else 544 * 2**20 if row["n_gpus"] == 2 else 688 * 2**20
            shares.append((shown * 2**20 - counted["value"] - 0.47 * GIB - nccl) / counted["value"])
    taken = getattr(runtime, name)
    assert f"{len(shares)} runs" in taken.source
    assert taken[:3] == pytest.approx((min(shares), median(shares), max(shares)), abs=0.0006)
