"""The last plan that was estimated, so that ``zplan recommend`` and others can go on from it.

One small JSON file of option words in the user's cache folder. It is a convenience: a folder that cannot be written or
a file that cannot be read is no error. ``ZPLAN_NO_CACHE`` switches it off.
"""

from __future__ import annotations

import json
import os
from dataclasses import fields
from pathlib import Path

from zplan.cli.options import PlanOptions

_VERSION = 1
_LARGEST_FILE = 1_000_000
"""A few hundred bytes are written; anything large is somebody else's."""


def last_plan_path() -> Path | None:
    """Where the last plan is kept, or None when that is switched off."""
    if os.environ.get("ZPLAN_NO_CACHE"):
        return None
    base = os.environ.get("XDG_CACHE_HOME")
    try:
        folder = Path(base) if base and os.path.isabs(base) else Path.home() / ".cache"  # noqa: PTH117 (no Path is built yet)
    except RuntimeError:
        return None
    if not folder.is_absolute():  # HOME=. would put a folder wherever one stands
        return None
    return folder / "zplan" / "last.json"


def save_last_plan(options: PlanOptions) -> None:
    """Remember what was estimated.

    Args:
        options: The words of the command line; paths are kept absolute, so that they work from other folders.
    """
    path = last_plan_path()
    if path is None:
        return
    words = {f.name: getattr(options, f.name) for f in fields(options)}
    for name in ("model", "ds_config"):
        if words[name] is not None and os.path.exists(words[name]):  # noqa: PTH110 (usually a preset's name, no path)
            words[name] = os.path.abspath(words[name])  # noqa: PTH100
    content = json.dumps({"version": _VERSION, "options": {name: word for name, word in words.items() if word}})
    temporary = path.with_name(f"last.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_text(content, encoding="utf-8")
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True) if path.parent.is_dir() and os.access(path.parent, os.W_OK) else None


def load_last_plan() -> PlanOptions | None:
    """What was estimated last.

    Returns:
        The options, or None when there is nothing usable.
    """
    path = last_plan_path()
    if path is None:
        return None
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return None
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    options = content.get("options") if isinstance(content, dict) and content.get("version") == _VERSION else None
    if not isinstance(options, dict):
        return None
    kinds = {f.name: bool if f.default is False else str for f in fields(PlanOptions)}
    if not all(name in kinds and isinstance(word, kinds[name]) for name, word in options.items()):
        return None
    return PlanOptions(**options)
