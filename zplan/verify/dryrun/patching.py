"""Replaces an engine's internals for a dry run, and says so when they are no longer there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from zplan.errors import ExitCode, ZplanError

_MISSING = object()


def moved(owner: Any, name: str) -> ZplanError:
    """The error for an engine whose internals are not where this version of zplan knows them."""
    where = getattr(owner, "__module__", None) or getattr(owner, "__name__", str(owner))
    package = where.split(".")[0]
    pins = {"torch": "torch==2.13.0", "deepspeed": "deepspeed==0.19.8", "transformers": "transformers==5.24.0"}
    return ZplanError(
        f"{package} has moved {where}.{name}, which the dry run stands on",
        f"pip install '{pins.get(package, package)}'",
        ExitCode.MISSING,
    )


def replace(owner: Any, name: str, value: Any) -> None:
    """Replace an attribute for good; the process runs one case and ends.

    Raises:
        ZplanError: If the attribute does not exist.
    """
    if getattr(owner, name, _MISSING) is _MISSING:
        raise moved(owner, name)
    setattr(owner, name, value)


@contextmanager
def patched(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Replace an attribute for a while.

    Raises:
        ZplanError: If the attribute does not exist.
    """
    before = getattr(owner, name, _MISSING)
    if before is _MISSING:
        raise moved(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)
