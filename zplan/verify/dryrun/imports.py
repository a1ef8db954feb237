"""Opens torch and the engines: tells what is missing, and leaves out what a dry run never uses."""

from __future__ import annotations

import gc
import sys
from importlib import import_module
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
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


def _as_is(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator that does nothing, with or without arguments."""
    return fn if callable(fn) else lambda inner: inner


_LIGHT: dict[str, dict[str, Any]] = {
    "torch._dynamo": {
        "disable": _as_is,
        "assume_constant_result": _as_is,
        "allow_in_graph": _as_is,
        "graph_break": lambda *args, **kwargs: None,
    },
    "torch._dynamo.trace_rules": {"clear_lru_cache": lambda: None},
    "torch._dynamo.utils": {"get_optimize_ddp_mode": lambda: "ddp_optimizer"},
}
"""What torch's own eager code asks of its compiler, which takes seconds to import and has nothing to do in a dry run."""


class _Light(ModuleType):
    """Stands for a module of the compiler until something is asked of it that is not in the table above."""

    def __getattr__(self, name: str) -> Any:
        """Another light module, a part that imports alone, or the real thing from now on."""
        child = f"{self.__name__}.{name}"
        if name.startswith("__"):
            raise AttributeError(name)
        if child in _LIGHT or child == "torch._dynamo.config":
            return import_module(child)
        return getattr(_open_compiler(self.__name__), name)


class _Opener:
    """Opens the real compiler when a part of it is imported that does not import alone."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Called for every import; only concerned with the compiler's."""
        alone = name in _LIGHT or name in _IMPORT_ALONE or not name.startswith("torch._dynamo.")
        if alone or not isinstance(sys.modules.get("torch._dynamo"), _Light):
            return None
        _open_compiler("torch._dynamo")
        module = sys.modules.get(name)
        return None if module is None else spec_from_loader(name, cast(Any, _Loaded(module)))


class _Loaded:
    """A loader for a module that is there already."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module

    def create_module(self, spec: Any) -> ModuleType:
        """The module."""
        return self.module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing is left to do."""


_IMPORT_ALONE = ("torch._dynamo.config", "torch._dynamo._trace_wrapped_higher_order_op")


def leave_compiler_out() -> None:
    """Keep ``torch._dynamo`` and what ``torch.compile`` imports out of this process, unless they are really used."""
    import torch

    spec = find_spec("torch._dynamo")
    if "torch._dynamo" in sys.modules or spec is None:
        return
    for name, attributes in _LIGHT.items():
        light = sys.modules[name] = _Light(name)
        vars(light).update(attributes)
    package = sys.modules["torch._dynamo"]
    package.__path__ = list(spec.submodule_search_locations or ())
    package.__spec__ = spec
    vars(torch)["_dynamo"] = package
    torch.compile = _as_is
    sys.meta_path.insert(0, _Opener())


def _open_compiler(name: str) -> Any:
    """Import the real compiler in place of the light modules."""
    import torch

    for light in _LIGHT:
        if isinstance(sys.modules.get(light), _Light):
            del sys.modules[light]
    if isinstance(vars(torch).get("_dynamo"), _Light):
        del vars(torch)["_dynamo"]
    return import_module(name)


def settle() -> None:
    """What was imported stays: leave it out of garbage collections."""
    gc.collect()
    gc.freeze()


def runner() -> Any:
    """The module that runs cases; importing it imports torch.

    Raises:
        ZplanError: If torch or transformers is missing.
    """
    require("torch", "transformers")
    return import_module("zplan.verify.dryrun.runner")
