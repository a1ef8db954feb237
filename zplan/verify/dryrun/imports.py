"""Opens torch and the engines: tells what is missing, and leaves out what a dry run never uses."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

from zplan.errors import ExitCode, ZplanError

HINTS = {
    "torch": "pip install 'torch==2.13.0'",
    "transformers": "pip install 'transformers==5.24.0'",
    "deepspeed": "pip install 'deepspeed==0.19.8'",
    "peft": "pip install 'peft==0.21.2'",
}


def require(*packages: str) -> None:
    """Check that packages are installed, without importing them.

    Raises:
        ZplanError: Naming the first that is missing and how to install it.
    """
    for package in packages:
        if find_spec(package) is None:
            raise ZplanError(f"the dry run needs {package}", HINTS[package], ExitCode.MISSING)


def runner() -> Any:
    """The module that runs cases; importing it imports torch.

    Raises:
        ZplanError: If torch or transformers is missing.
    """
    require("torch", "transformers")
    return import_module("zplan.verify.dryrun.runner")
