"""What ``--params`` and ``--model`` name -> a ModelSpec: a count, a preset, a path or a hub id."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from zplan.errors import ZplanError
from zplan.spec import ModelSpec
from zplan.units import quote

HUB_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,95}/[A-Za-z0-9][A-Za-z0-9_.-]{0,95}")
COUNT = re.compile(r"[0-9][0-9_.]*\s*[kKmMbBtT]?")
TRY = "zplan estimate --params 7B, or --model llama-2-7b; zplan presets ls lists the names"


def resolve_model(*, params: str | None, model: str | None) -> ModelSpec:
    """Returns the model that the options name.

    ``--params``: the nearest published shape, see :mod:`zplan.inputs.count`. ``--model``, in this order: a preset's
    name; an existing ``config.json`` or its folder; a hub id whose name is a preset's (no network); any other hub id
    (downloads its ``config.json``, with the extra ``hub``).

    Raises:
        ZplanError: Both or neither are given, or the name is none of these.
    """
    if params is not None and model is not None:
        raise ZplanError(
            "--params and --model both say what the model is",
            "leave --params out: a model that is named knows its own size",
        )
    if params is not None:
        from zplan.inputs.count import spec_of_count

        return spec_of_count(params)
    name = (model or "").strip()
    if not name:
        raise ZplanError("no model is named", TRY)
    return _by_name(name)


def _by_name(name: str) -> ModelSpec:
    """Returns the model of a preset, path or hub id."""
    from zplan.inputs.presets import is_model_preset, load_model

    path = _existing(name)
    if _is_bare(name) and is_model_preset(name):
        spec = load_model(name)
        if path is None:
            return spec
        return replace(spec, notes=(*spec.notes, f"{name} is read as the preset; for the path of that name: ./{name}"))
    if path is not None:
        from zplan.inputs.hf import read_config_file

        return read_config_file(path)
    if _looks_like_path(name):
        raise ZplanError(f"--model {quote(name)}: no such file or folder", TRY)
    if HUB_ID.fullmatch(name):
        if is_model_preset(name):
            spec = load_model(name)
            return replace(spec, notes=(*spec.notes, f"{name} is read as the preset {spec.name}, without the hub"))
        from zplan.inputs.hub import fetch_config

        return fetch_config(name)
    if COUNT.fullmatch(name):
        raise ZplanError(f"--model {quote(name)} is a size, not a name", f"zplan estimate --params {name}")
    return load_model(name)


def _is_bare(name: str) -> bool:
    """Tells whether the name can only be a preset's or a file's in the current folder."""
    return "/" not in name and "\\" not in name


def _looks_like_path(name: str) -> bool:
    """Tells whether the name cannot be a hub id's or a preset's."""
    return name.startswith((".", "/", "~")) or name.endswith(".json") or name.count("/") > 1 or "\\" in name


def _existing(name: str) -> Path | None:
    """Returns the path of that name if something is there."""
    try:
        path = Path(name).expanduser()
        return path if path.exists() else None
    except (OSError, ValueError, RuntimeError):  # too long, a NUL in it, an unknown ~user, or no access
        return None
