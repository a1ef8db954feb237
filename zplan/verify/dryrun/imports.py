"""Opens torch and the engines: tells what is missing, and leaves out what a dry run never uses."""

from __future__ import annotations

import gc
import sys
from functools import lru_cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, cast

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


def unknown_version(error: ImportError) -> ZplanError | None:
    """The error for an engine that has no longer what is asked of it; None where no engine is to blame."""
    hint = HINTS.get((error.name or "").partition(".")[0])
    if hint is None:
        return None
    first = (str(error).strip() or "no message").splitlines()[0]
    return ZplanError(f"this version is not known to the dry run: {first}", hint, ExitCode.MISSING)


GC_THRESHOLDS = (100_000, 10, 10)
"""Objects that are new before they are looked at, and how many such looks before older ones are."""


def leave_compiler_out() -> None:
    """Keep ``torch._dynamo`` and what ``torch.compile`` imports out of this process, unless they are really used."""
    import torch

    from zplan.verify.dryrun.lightmodules import COMPILER, as_is

    if "torch._dynamo" not in sys.modules:
        COMPILER.install()
        torch.compile = as_is


def leave_sharded_tensors_out() -> None:
    """Keep DTensor and FSDP out of this process, unless they are really used: for engines that do without."""
    from zplan.verify.dryrun.lightmodules import SHARDED_TENSORS

    for modules in SHARDED_TENSORS:
        modules.install()


class _ReadOnce:
    """Lets transformers read the files of its models once: its own memory of them is too short, and it starts anew."""

    _NAME = "transformers.utils.import_utils"

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Called for every import; only concerned with the module that reads them."""
        if name != self._NAME:
            return None
        sys.meta_path.remove(cast(Any, self))
        spec = find_spec(name)
        loader: Any = None if spec is None else spec.loader
        if loader is not None:
            execute = loader.exec_module

            def run(module: Any) -> None:
                execute(module)
                scan = getattr(module.__dict__.get("create_import_structure_from_path"), "__wrapped__", None)
                if scan is not None:
                    module.create_import_structure_from_path = lru_cache(maxsize=None)(scan)

            loader.exec_module = run
        return spec


def read_models_once() -> None:
    """Make importing transformers faster by half a second; what it imports stays the same."""
    if _ReadOnce._NAME not in sys.modules:
        sys.meta_path.insert(0, cast(Any, _ReadOnce()))


def imported() -> None:
    """What was imported stays: leave it out of garbage collections, which were off until now."""
    gc.freeze()
    gc.enable()


def settle() -> None:
    """What an engine built stays as well; from now on collections are rare, for few objects die in cycles."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


def runner() -> Any:
    """The module that runs cases; importing it imports torch.

    Raises:
        ZplanError: If torch or transformers is missing.
    """
    require("torch", "transformers")
    return import_module("zplan.verify.dryrun.runner")
