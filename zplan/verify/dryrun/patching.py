"""Replaces an engine's internals for a dry run, and says so when they are no longer there."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from zplan.errors import ExitCode, ZplanError

if TYPE_CHECKING:
    from zplan.verify.tracker import Tracker

_MISSING = object()


def moved(owner: Any, name: str) -> ZplanError:
    """The error for an engine whose internals are not where this version of zplan knows them."""
    where = str(getattr(owner, "__module__", None) or getattr(owner, "__name__", owner))
    package = where.split(".", maxsplit=1)[0]
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


def labelled(owner: Any, name: str, tracker: Tracker, label: str) -> None:
    """Give storages that a function creates a label, for good.

    Args:
        owner: Class or module that holds the function.
        name: The function's name.
        tracker: Whose storages.
        label: Term key.

    Raises:
        ZplanError: If the function does not exist.
    """
    original = getattr(owner, name, None)
    if original is None:
        raise moved(owner, name)

    def run(*args: Any, **kwargs: Any) -> Any:
        with tracker.creating(label):
            return original(*args, **kwargs)

    setattr(owner, name, run)


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
