"""Writes what the documents quote: the command-line reference and the output blocks of the README.

Run ``python docs/generate.py`` after a change; ``--check`` only compares, and says what is out of date.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any

from typer.main import get_command

from zplan.cli.app import VERBS

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "cli.md"
README = ROOT / "README.md"
OUT_OF_MEMORY = ROOT / "docs" / "out-of-memory.md"
WIDTH = 80

BLOCK = re.compile(r"(<!-- output of: (?P<command>[^\n]+?) -->\n)(?:```text\n.*?```\n)?(<!-- end -->)", re.DOTALL)
"""A marker with a command, a fenced block that this script writes, an end marker."""

HEAD = """<!-- Written by docs/generate.py from the options themselves; do not edit. -->

# Command line

Data goes to stdout, everything else to stderr. A bad input is answered by one `error:` and one `hint:` line.

| exit code | meaning |
|---|---|
| 0 | answered |
| 1 | internal error |
| 2 | bad usage or bad input |
| 3 | does not fit: `estimate --fail-if-oom`; `recommend` when nothing fits |
| 4 | `verify`: measured outside of the tolerance |
| 5 | something that the command needs is not installed or not there |

Sizes: `GB` is 10^9 and `GiB` 2^30 bytes. A memory size without a unit is in GiB, as on the label of a card; a bare
`80G` could be either and is refused. Parameters: `7B`, `350M`, `1.8T`. Tokens: `4k` is 4096, as model cards write it.

| environment variable | meaning |
|---|---|
| `ZPLAN_PRESETS` | folders with presets of your own, which win over the built-in ones |
| `ZPLAN_NO_CACHE` | do not remember the last plan |
| `ZPLAN_DEBUG` | print the traceback of an internal error |
| `NO_COLOR`, `FORCE_COLOR`, `COLUMNS` | as everywhere |
"""


def run(command: str) -> str:
    """What a ``zplan`` command prints at a fixed width, without colours."""
    words = shlex.split(command)
    if words[0] != "zplan":
        raise ValueError(f"not a zplan command: {command}")
    keep = ("PATH", "HOME", "SYSTEMROOT", "VIRTUAL_ENV")
    environment = {name: os.environ[name] for name in keep if name in os.environ}
    environment |= {"COLUMNS": str(WIDTH), "ZPLAN_NO_CACHE": "1", "PYTHONUTF8": "1", "TERM": "dumb"}
    done = subprocess.run(
        [sys.executable, "-m", "zplan", *words[1:]],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return "\n".join(line.rstrip() for line in done.stdout.splitlines()) + "\n"


def _row(parameter: Any) -> str:
    """One option or argument as a row of a table."""
    names = [f"`{name}`" for name in parameter.opts if name.startswith("-")]
    value = [f"`{parameter.metavar}`"] if parameter.metavar else []
    cells = (", ".join(names + value) if not names else " ".join([", ".join(names), *value]), parameter.help or "")
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def _command(name: str, command: Any) -> list[str]:
    """One command with its text, examples and options by panel."""
    text, _, examples = cleandoc(command.help or "").partition("\b\n")
    lines = [f"## `{name}`", ""]
    for paragraph in re.split(r"\n\s*\n", text.strip()):
        lines += [" ".join(paragraph.split()), ""]
    if examples:
        lines += ["```", examples.strip(), "```", ""]
    panels: dict[str, list[str]] = {}
    for parameter in command.params:
        panels.setdefault(getattr(parameter, "rich_help_panel", None) or "Options", []).append(_row(parameter))
    for panel, rows in panels.items():
        lines += [f"| {panel} | |", "|---|---|", *rows, ""]
    for inner, subcommand in (getattr(command, "commands", None) or {}).items():
        lines += _command(f"{name} {inner}", subcommand)
    return lines


def reference() -> str:
    """The whole of docs/cli.md."""
    lines = [HEAD]
    for verb, module in VERBS.items():
        lines += _command(f"zplan {verb}", get_command(import_module(module).app))
    return "\n".join(lines).rstrip() + "\n"


def with_blocks(text: str) -> str:
    """A document with every output block written anew."""

    def block(match: re.Match[str]) -> str:
        command = match["command"]
        return f"{match[1]}```text\n$ {command}\n{run(command)}```\n{match[3]}"

    return BLOCK.sub(block, text)


def documents() -> dict[Path, str]:
    """Every generated document as it should be."""
    quoting = {path: with_blocks(path.read_text(encoding="utf-8")) for path in (README, OUT_OF_MEMORY)}
    return {REFERENCE: reference(), **quoting}


def main() -> int:
    """Write the documents, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="change nothing; exit with 1 if something is out of date")
    check = parser.parse_args().check
    stale = []
    for path, wanted in documents().items():
        if path.exists() and path.read_text(encoding="utf-8") == wanted:
            continue
        stale.append(path.relative_to(ROOT))
        if not check:
            path.write_text(wanted, encoding="utf-8")
    for path in stale:
        print(f"{path} {'is out of date: run python docs/generate.py' if check else 'written'}", file=sys.stderr)
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
