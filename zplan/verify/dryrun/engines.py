"""Which module runs which engine; a new engine is one file and one line here."""

from __future__ import annotations

from importlib import import_module
from typing import Protocol, cast

from zplan.verify.dryrun.bench import Bench
from zplan.verify.dryrun.steps import StepWork


class EngineModule(Protocol):
    """What an engine's file offers."""

    DEVICE: str
    """What stands for the GPU: ``meta``, or ``cpu`` in torch's fake mode for engines that need autocast (slower)."""
    PLAIN_TENSORS: bool
    """Whether no tensor of its dry run is of a subclass (DTensor, torch's fake ones)."""

    def prepare(self, bench: Bench) -> StepWork:
        """Build the model, hand it to the engine and return its step; everything allocated here is ``init``."""


ENGINES = {
    "deepspeed": "zplan.verify.dryrun.engine_deepspeed",
    "fsdp2": "zplan.verify.dryrun.engine_fsdp2",
    "fsdp1": "zplan.verify.dryrun.engine_fsdp1",
    "ddp": "zplan.verify.dryrun.engine_ddp",
    "single": "zplan.verify.dryrun.engine_single",
}


def engine_module(name: str) -> EngineModule:
    """The file of an engine.

    Args:
        name: As in a case.

    Returns:
        Its module.
    """
    return cast(EngineModule, import_module(ENGINES[name]))
