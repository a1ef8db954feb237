"""Reads a file of public reports, whatever it holds: what is no report is one that is not answered, with the reason."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rowwords import NoPlanError

MOST_BYTES = 64 * 2**20
MOST_VALUES, MOST_DEPTH, MOST_TEXT = 2_000, 8, 20_000
"""Of one report: values in it, levels, characters of a text."""


class BadFileError(Exception):
    """Why a file is none of reports."""


def load_reports(path: Path) -> list[Any]:
    """The items of a file, as they are.

    Raises:
        BadFileError: it cannot be read, is no YAML, or holds no list.
    """
    import yaml

    try:
        if path.stat().st_size > MOST_BYTES:
            raise BadFileError(f"{path} is larger than {MOST_BYTES // 2**20} MiB")
        text = path.read_text(encoding="utf-8-sig")
        found = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    except OSError as error:
        raise BadFileError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        raise BadFileError(f"{path} is no UTF-8 text: byte {error.start}") from None
    except (yaml.YAMLError, ValueError, TypeError, RecursionError, OverflowError) as error:
        raise BadFileError(f"{path} is no YAML that can be read: {one_line(error)}") from None
    if not isinstance(found, list):
        raise BadFileError(f"{path} holds no list of reports")
    return found


def one_line(value: object, most: int = 160) -> str:
    """Text on one line, cut."""
    words = " ".join(str(value).split())
    return words if len(words) <= most else words[: most - 1] + "\u2026"


def name_of(item: object, number: int) -> str:
    """A report's id as text; its place in the file where it has none."""
    found = item.get("id") if isinstance(item, Mapping) else None
    return f"#{number}" if found is None or isinstance(found, Mapping | list) else one_line(found, 60)


def report_of(item: object, name: str) -> dict[str, Any]:
    """A report whose sections are mappings of plain values.

    Raises:
        NoPlanError: it is none.
    """
    if not isinstance(item, Mapping):
        raise NoPlanError("is no report: not a mapping")
    report: dict[str, Any] = _plain(item, [0], 0)
    report["id"] = name
    for key in ("setup", "outcome"):
        if not isinstance(report.get(key), dict):
            raise NoPlanError(f"a field is missing or of the wrong kind ({key} is no mapping)")
    outcome, setup = report["outcome"], report["setup"]
    if not isinstance(outcome.get("type"), str):
        raise NoPlanError("a field is missing or of the wrong kind (outcome.type is no text)")
    if not isinstance(outcome.get("detail"), str):
        outcome["detail"] = "" if outcome.get("detail") is None else one_line(outcome["detail"], MOST_TEXT)
    themes = report.get("themes")
    report["themes"] = [one for one in themes if isinstance(one, str)] if isinstance(themes, list) else []
    for key in ("gpu", "model", "framework"):
        if isinstance(setup.get(key), dict):
            raise NoPlanError(f"a field is missing or of the wrong kind ({key} is a mapping)")
    return report


def _plain(value: Any, count: list[int], depth: int) -> Any:
    """Numbers, texts, lists and mappings with texts for keys; what is neither (dates, say) becomes text.

    Raises:
        NoPlanError: more of it than a report has.
    """
    count[0] += 1
    if count[0] > MOST_VALUES or depth > MOST_DEPTH:
        raise NoPlanError("holds more than a report: too many values, or too deeply nested")
    if isinstance(value, Mapping):
        return {str(key)[:200]: _plain(one, count, depth + 1) for key, one in value.items()}
    if isinstance(value, list | tuple | set):
        return [_plain(one, count, depth + 1) for one in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, int) and abs(value) >= 10**30:
        return float("1e30") if value > 0 else float("-1e30")
    if value is None or isinstance(value, bool | int):
        return value
    return str(value)[:MOST_TEXT]
