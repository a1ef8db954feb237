"""Writes what the documents quote: the command-line reference, output blocks, and the table of terms.

Run ``python docs/generate.py`` after a change; ``--check`` only compares, and says what is out of date.

A page that says ``<!-- run in order -->`` is run from top to bottom in one empty folder: its ``sh`` blocks by bash (but for
installations and ``zplan verify``, which needs torch), its output blocks as everywhere.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from typer.main import get_command

from zplan.cli.app import VERBS
from zplan.memory.terms import TERMS

ROOT = Path(__file__).resolve().parents[1]
REFERENCE = ROOT / "docs" / "cli.md"
README = ROOT / "README.md"
CHINESE = ROOT / "README.zh-CN.md"
QUOTING = tuple(ROOT / "docs" / name for name in ("out-of-memory.md", "tutorial.md", "claims.md", "extending.md"))
MODEL = ROOT / "docs" / "model.md"
WIDTH = 80

BLOCK = re.compile(
    r"(?P<head><!-- (?:output|(?P<which>first|last) (?P<lines>[0-9]+) lines) of: (?P<command>[^\n]+?) -->\n)"
    r"(?:```text\n.*?```\n)?(?P<end><!-- end -->)",
    re.DOTALL,
)
"""A marker with a command, a fenced block that this script writes, an end marker."""
STEP = re.compile(BLOCK.pattern + r"|^```sh\n(?P<shell>.*?)^```$", re.DOTALL | re.MULTILINE)
IN_ORDER = "<!-- run in order -->"
LEFT_OUT = ("pip ", "zplan verify")
"""Lines of such a page that are not run here: tests/test_docs_commands.py does."""
TABLE = re.compile(r"(?P<head><!-- table of terms -->\n).*?(?P<end><!-- end -->)", re.DOTALL)

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


def environment(home: Path | None = None) -> dict[str, str]:
    """What commands are run with: a fixed width, no colours, and for a page that is run in order a home of its own."""
    keep = ("PATH", "HOME", "SYSTEMROOT", "VIRTUAL_ENV", "PYTHONPATH")
    kept = {name: os.environ[name] for name in keep if name in os.environ}
    kept["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", os.defpath)])
    own = {"HOME": str(home)} if home else {"ZPLAN_NO_CACHE": "1"}
    return kept | own | {"COLUMNS": str(WIDTH), "PYTHONUTF8": "1", "TERM": "dumb"}


def run(command: str, folder: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """What a ``zplan`` command prints at a fixed width, without colours."""
    words = shlex.split(command)
    if words[0] != "zplan":
        raise ValueError(f"not a zplan command: {command}")
    done = subprocess.run(
        [sys.executable, "-m", "zplan", *words[1:]],
        env=dict(env or environment()),
        cwd=folder,
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


def _block(match: re.Match[str], folder: Path = ROOT, env: Mapping[str, str] | None = None) -> str:
    """One output block written anew."""
    command, text = match["command"], run(match["command"], folder, env)
    if match["which"]:
        lines, limit = text.splitlines(), int(match["lines"])
        chosen = [*lines[:limit], "…"] if match["which"] == "first" else ["…", *lines[-limit:]]
        text = "\n".join(chosen) + "\n"
    return f"{match['head']}```text\n$ {command}\n{text}```\n{match['end']}"


def with_blocks(text: str) -> str:
    """A document with every output block written anew."""
    if IN_ORDER not in text:
        return BLOCK.sub(_block, text)
    with TemporaryDirectory() as name:
        folder, env = Path(name), environment(Path(name))

        def step(match: re.Match[str]) -> str:
            if match["shell"] is None:
                return _block(match, folder, env)
            lines = match["shell"].replace("\\\n", " ").splitlines()
            script = "\n".join(line for line in lines if not line.startswith(LEFT_OUT))
            subprocess.run(["bash", "-euc", script], env=env, cwd=folder, check=True, stdout=subprocess.DEVNULL)
            return match[0]

        return STEP.sub(step, text)


def with_table(text: str) -> str:
    """A document with the table of terms written anew."""
    rows = "".join(
        "| "
        + " | ".join(cell.replace("|", "\\|") for cell in (f"`{key}`", about.what, about.formula, about.shrink))
        + " |\n"
        for key, about in TERMS.items()
    )
    table = "| term | what it is | formula (bf16, AdamW) | what makes it smaller |\n|---|---|---|---|\n" + rows
    return TABLE.sub(lambda match: match["head"] + table + match["end"], text)


def documents() -> dict[Path, str]:
    """Every generated document as it should be."""
    quoting = {path: with_blocks(path.read_text(encoding="utf-8")) for path in (README, CHINESE, *QUOTING)}
    return {REFERENCE: reference(), MODEL: with_table(MODEL.read_text(encoding="utf-8")), **quoting}


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
