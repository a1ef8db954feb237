"""Downloads the ``config.json`` of a hub model, and nothing else; needs the extra ``hub``."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from zplan.errors import ExitCode, ZplanError
from zplan.spec import ModelSpec

T = TypeVar("T")

CONNECT_SECONDS = 3.0
"""The hub's client tries six times, with pauses, before it finds that there is no network; one connection tells too."""
ANSWER_SECONDS = 30.0
"""A hub that can be connected to but doesn't send a few kilobytes in this time is not waited for."""
BY_HAND = "download its config.json by other means and pass its path to --model"


def fetch_config(repo_id: str) -> ModelSpec:
    """Returns the architecture of a model on the hub.

    The cache, ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE`` are the library's own business and work as usual;
    where no connection to the hub can be made, the cache alone is asked.

    Args:
        repo_id: ``organisation/name``.

    Raises:
        ZplanError: The extra is not installed or the hub cannot be reached or refuses (exit code 5); there is no such
            model or it has no config (exit code 2); its config is not a supported model.
    """
    try:
        import huggingface_hub
    except ImportError:
        raise ZplanError(
            f"{repo_id} looks like a hub id, and huggingface_hub is not installed",
            f"pip install 'zplan[hub]', or {BY_HAND}",
            ExitCode.MISSING,
        ) from None
    from zplan.inputs.hf import EXPECTED, read_config
    from zplan.inputs.jsonfile import read_json_object

    asked = {"repo_id": repo_id, "filename": "config.json"}
    try:
        with _quiet():
            if not _reachable():
                path = huggingface_hub.hf_hub_download(**asked, local_files_only=True)
            else:
                path = _within(ANSWER_SECONDS, lambda: huggingface_hub.hf_hub_download(**asked))
    except Exception as error:
        raise _explain(repo_id, error) from None
    source = f"{repo_id} (hub)"
    return read_config(read_json_object(Path(path), source=source, hint=EXPECTED), name=repo_id, source=source)


def _within(seconds: float, call: Callable[[], T]) -> T:
    """Returns what a call returns, or raises what it raises, or TimeoutError once the time is over.

    The call runs in a thread of its own, since resolving a name cannot be given a timeout.
    """
    from threading import Thread

    results: list[T] = []
    failures: list[BaseException] = []

    def work() -> None:
        try:
            results.append(call())
        except BaseException as error:  # handed over to the caller, whatever it is
            failures.append(error)

    thread = Thread(target=work, daemon=True)
    thread.start()
    thread.join(seconds)
    if failures:
        raise failures[0]
    if not results:
        raise TimeoutError(f"no answer within {seconds:g} s")
    return results[0]


def _reachable() -> bool:
    """Tells whether the hub's host (or the proxy before it) takes a connection; what cannot be told is left to the client."""
    import socket
    from urllib.parse import urlsplit
    from urllib.request import getproxies, proxy_bypass

    from huggingface_hub import constants

    address = urlsplit(constants.ENDPOINT)
    if constants.HF_HUB_OFFLINE or not address.hostname:
        return True
    proxy = None if proxy_bypass(address.hostname) else getproxies().get(address.scheme)
    if proxy:
        address = urlsplit(proxy if "://" in proxy else f"http://{proxy}")
    try:
        host, port = address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
    except ValueError:
        return True
    try:
        _within(CONNECT_SECONDS, lambda: socket.create_connection((host, port), CONNECT_SECONDS).close())
    except OSError:  # TimeoutError is one
        return False
    return True


@contextmanager
def _quiet() -> Iterator[None]:
    """Keeps the client's log and progress bar off stderr, unless the user asked for them."""
    from huggingface_hub import constants
    from huggingface_hub.utils import disable_progress_bars, enable_progress_bars
    from huggingface_hub.utils import logging as log

    level, bars = log.get_verbosity(), constants.HF_HUB_DISABLE_PROGRESS_BARS is None
    if "HF_HUB_VERBOSITY" not in os.environ:
        log.set_verbosity(log.CRITICAL)
    if bars:
        disable_progress_bars()
    try:
        yield
    finally:
        log.set_verbosity(level)
        if bars:
            enable_progress_bars()


def _explain(repo_id: str, error: Exception) -> ZplanError:
    """Returns the error of a failed download; in this order, since the library's classes derive from one another."""
    from huggingface_hub import errors

    if isinstance(error, errors.GatedRepoError):
        return ZplanError(
            f"{repo_id} is gated: the hub asks for a login with access to it",
            f"accept its terms on the hub and set HF_TOKEN, or {BY_HAND}",
            ExitCode.MISSING,
        )
    if isinstance(error, errors.RepositoryNotFoundError | errors.HFValidationError):
        return ZplanError(
            f"there is no model {repo_id} on the hub, or it is private",
            "check the name; zplan presets ls lists what zplan knows without the hub",
        )
    if isinstance(error, errors.LocalEntryNotFoundError | errors.OfflineModeIsEnabled):
        return ZplanError(
            f"the hub cannot be reached, and the config.json of {repo_id} is not in the cache",
            f"check the network, HF_ENDPOINT and HF_HUB_OFFLINE, or {BY_HAND}",
            ExitCode.MISSING,
        )
    if isinstance(error, errors.EntryNotFoundError):
        return ZplanError(
            f"{repo_id} has no config.json on the hub",
            "name the transformers version of that model, or go by size alone: zplan estimate --params 7B",
        )
    return ZplanError(
        f"the config.json of {repo_id} cannot be downloaded ({type(error).__name__})",
        f"check the network, HF_ENDPOINT and HF_TOKEN, or {BY_HAND}",
        ExitCode.MISSING,
    )
