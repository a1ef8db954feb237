"""Modules that a dry run's imports ask for and its run never uses: stand-ins take their place until they are really used.

A stand-in opens the real module as soon as something is asked of it that is not in its table; what is in a table either does
what the real thing does where there is no compiler, or refuses to be used at all.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec, spec_from_loader
from types import ModuleType
from typing import Any, cast

Table = Mapping[str, Mapping[str, Any]]


class _Light(ModuleType):
    """Stands for a module until something is asked of it that is not in its table."""

    def __getattr__(self, name: str) -> Any:
        """Another light module, a part that imports alone, or the real thing from now on."""
        child = f"{self.__name__}.{name}"
        if name.startswith("__"):
            raise AttributeError(name)
        if isinstance(sys.modules.get(child), _Light) or child in self.alone:
            return import_module(child)
        return getattr(self.open(self.__name__), name)

    alone: tuple[str, ...] = ()
    open: Callable[[str], Any]


class LightModules:
    """Stand-ins for a package of torch and some of its modules.

    Args:
        root: The package, as ``torch._dynamo``.
        table: Module -> name -> what stands for it; the root is one of them.
        alone: Parts of the package that import without the rest.
    """

    def __init__(self, root: str, table: Table, alone: tuple[str, ...] = ()) -> None:
        self._root = root
        self._table = table
        self._alone = alone

    def install(self) -> None:
        """Put the stand-ins where imports find them, unless the real package is there already."""
        spec = find_spec(self._root)
        if self._root in sys.modules or spec is None:
            return
        for name, attributes in self._table.items():
            light = sys.modules[name] = _Light(name)
            vars(light).update(attributes, alone=self._alone, open=self.open)
        package = sys.modules[self._root]
        package.__path__ = list(spec.submodule_search_locations or ())
        package.__spec__ = spec
        self._set_in_parent(package)
        sys.meta_path.insert(0, cast(Any, self))

    def _set_in_parent(self, package: ModuleType) -> None:
        parent, _, name = self._root.rpartition(".")
        vars(sys.modules[parent])[name] = package

    def open(self, name: str) -> Any:
        """Import the real package in place of the stand-ins, and one of its modules."""
        for light in self._table:
            if isinstance(sys.modules.get(light), _Light):
                del sys.modules[light]
        parent, _, own = self._root.rpartition(".")
        if isinstance(vars(sys.modules[parent]).get(own), _Light):
            del vars(sys.modules[parent])[own]
        return import_module(name)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Called for every import; opens the real package when a part of it is imported that does not import alone."""
        alone = name in self._table or name in self._alone or not name.startswith(f"{self._root}.")
        if alone or not isinstance(sys.modules.get(self._root), _Light):
            return None
        self.open(self._root)
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


def as_is(fn: Any = None, *args: Any, **kwargs: Any) -> Any:
    """A decorator that does nothing, with or without arguments."""
    return fn if callable(fn) else lambda inner: inner


def unused(name: str) -> type:
    """A class or function that may be named, subclassed and asked for with ``isinstance``, and cannot be called."""

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise RuntimeError(f"{name} was left out of this dry run, and is used after all")

    return type(name, (), {"__init__": refuse})


def named(name: str) -> type:
    """A class whose objects may be made and held, as tables of placements do, and can do nothing."""

    def take(self: Any, *args: Any, **kwargs: Any) -> None:
        pass

    return type(name, (), {"__init__": take})


COMPILER = LightModules(
    "torch._dynamo",
    {
        "torch._dynamo": {
            "disable": as_is,
            "assume_constant_result": as_is,
            "allow_in_graph": as_is,
            "graph_break": lambda *args, **kwargs: None,
        },
        "torch._dynamo.trace_rules": {"clear_lru_cache": lambda: None},
        "torch._dynamo.utils": {"get_optimize_ddp_mode": lambda: "ddp_optimizer"},
    },
    ("torch._dynamo.config", "torch._dynamo._trace_wrapped_higher_order_op"),
)
"""What torch's own eager code asks of its compiler, which takes seconds to import and has nothing to do in a dry run."""

_SHARD = named("Shard")
SHARDED_TENSORS = (
    LightModules(
        "torch.distributed.tensor",
        {
            "torch.distributed.tensor": {
                **{name: unused(name) for name in ("DTensor", "distribute_tensor")},
                **{name: named(name) for name in ("Replicate", "Partial")},
                "Shard": _SHARD,
            },
            "torch.distributed.tensor._utils": {
                "compute_local_shape_and_global_offset": unused("compute_local_shape_and_global_offset")
            },
            "torch.distributed.tensor.placement_types": {"Shard": _SHARD, "_StridedShard": named("_StridedShard")},
        },
    ),
    LightModules(
        "torch.distributed.fsdp",
        {
            "torch.distributed.fsdp": {
                name: unused(name) for name in ("CPUOffloadPolicy", "MixedPrecisionPolicy", "FullyShardedDataParallel")
            }
        },
    ),
    LightModules(
        "torch.distributed.checkpoint",
        {
            "torch.distributed.checkpoint": {},
            "torch.distributed.checkpoint.hf_storage": {
                name: unused(name) for name in ("HuggingFaceStorageReader", "HuggingFaceStorageWriter")
            },
        },
    ),
    LightModules(
        "torch.distributed._composable.fsdp",
        {"torch.distributed._composable.fsdp": {"fully_shard": unused("fully_shard")}},
    ),
)
"""What transformers imports of torch's sharding and its checkpoints, which DeepSpeed does without."""
