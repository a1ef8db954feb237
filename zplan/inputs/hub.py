"""Downloads the ``config.json`` of a hub model, and nothing else; needs the extra ``hub``."""

from __future__ import annotations

from pathlib import Path

from zplan.errors import ExitCode, ZplanError
from zplan.spec import ModelSpec

BY_HAND = "download its config.json by other means and pass its path to --model"


def fetch_config(repo_id: str) -> ModelSpec:
    """Returns the architecture of a model on the hub.

    The cache, ``HF_ENDPOINT``, ``HF_TOKEN`` and ``HF_HUB_OFFLINE`` are the library's own business and work as usual.

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

    try:
        path = huggingface_hub.hf_hub_download(repo_id=repo_id, filename="config.json")
    except Exception as error:
        raise _explain(repo_id, error) from None
    source = f"{repo_id} (hub)"
    return read_config(read_json_object(Path(path), source=source, hint=EXPECTED), name=repo_id, source=source)


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
