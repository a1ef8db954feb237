"""What a machine has, as rows for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from zplan.render.style import Style

if TYPE_CHECKING:
    from rich.console import Console

    from zplan.advice.doctor import Finding
    from zplan.inputs.machine import Machine

SCHEMA_VERSION = 1
_MARKS = {"ok": ("fits", "green"), "warn": ("tight", "yellow"), "info": ("dot", "dim")}
_INDENT = "  "


def render_doctor(console: Console, rows: Sequence[Finding]) -> None:
    """Draw one row per thing, with what it means below it.

    Args:
        console: Where to draw.
        rows: What was found.
    """
    from rich.padding import Padding
    from rich.text import Text

    style = Style.of(console)
    width = max(len(row.title) for row in rows)
    indent = len(_INDENT) + width + 2
    for row in rows:
        name, colour = _MARKS[row.level]
        head = Text.assemble((style.glyph(name), colour), " ", (row.title.ljust(width + 2), "bold"))
        value = Text(row.value, overflow="fold")
        lines = value.wrap(console, max(20, console.width - indent))
        for number, line in enumerate(lines):
            console.print(Text.assemble(head if number == 0 else " " * indent, line))
        if row.meaning:
            console.print(Padding(Text(row.meaning, style="dim"), (0, 0, 0, indent)))
    warned = [row.title for row in rows if row.level == "warn"]
    console.print()
    console.print(Text(f"Worth a look: {', '.join(warned)}." if warned else "Nothing stands in the way of a run."))


def doctor_object(machine: Machine, rows: Sequence[Finding]) -> dict[str, Any]:
    """The whole answer of ``zplan doctor --json``.

    Args:
        machine: What was read.
        rows: What it means.

    Returns:
        Sizes are integers in bytes; null where something could not be read.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "gpus": [asdict(gpu) for gpu in machine.gpus],
        "gpus_from": machine.gpus_from,
        "driver": machine.driver,
        "hidden_gpus": machine.hidden_gpus,
        "packages": dict(machine.packages),
        "nccl": machine.nccl,
        "cpus": machine.cpus,
        "host": {
            "ram_bytes": machine.ram_bytes,
            "ram_available_bytes": machine.ram_available_bytes,
            "cgroup_limit_bytes": machine.cgroup_limit_bytes,
            "usable_bytes": machine.host_bytes,
            "memlock_bytes": machine.memlock_bytes,
            "memlock_unlimited": machine.memlock_known and machine.memlock_bytes is None,
            "shm_bytes": machine.shm_bytes,
            "shm_free_bytes": machine.shm_free_bytes,
        },
        "disk": {"path": machine.disk_path, "free_bytes": machine.disk_free_bytes},
        "libaio": machine.libaio,
        "findings": [asdict(row) for row in rows],
    }
