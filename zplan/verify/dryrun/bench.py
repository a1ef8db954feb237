"""The bench that an engine is put on: the case, the device, the tracker, and the meter around each phase."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any

import torch

from zplan.memory.moments import TermKey
from zplan.verify.dryrun.case import Case
from zplan.verify.dryrun.imports import imported
from zplan.verify.dryrun.loss import install_loss
from zplan.verify.dryrun.steps import PHASE_LABEL
from zplan.verify.model import add_lora, build_model, checkpoint_blocks, fill_weights
from zplan.verify.tracker import PhasePeak, Tracker

_IDS = 100
"""Different tokens in a batch, where the vocabulary has as many."""


@dataclass(slots=True)
class Bench:
    """What an engine's ``prepare`` gets."""

    case: Case
    tracker: Tracker
    device: str
    """``meta`` in a dry run, else the real device type."""
    ghost: bool
    """Whether tensors carry no data; False when the same engine runs for real."""
    attention: str = "sdpa"
    """``attn_implementation`` for transformers."""
    model: Any = None
    params: int = 0
    notes: list[str] = field(default_factory=list)
    """What this run cannot see or had to assume."""
    on_model: Callable[[Any], None] | None = None
    """Called with the model before the engine wraps it."""
    optimizers: list[Any] = field(default_factory=list)
    """Optimizers whose states are named."""
    held: list[Callable[[], Iterable[tuple[torch.Tensor, str]]]] = field(default_factory=list)
    """Where the engine keeps buffers, with the term that each belongs to."""
    peers: bool = False
    """Whether the other ranks are real processes; otherwise a fake process group stands for them."""

    @property
    def stays(self) -> bool:
        """Whether moving to the device moves nothing, so that arrivals have to be told to the tracker."""
        return self.ghost or self.device == "cpu"

    def build(self, dtype: torch.dtype, inside: AbstractContextManager[Any] | None = None) -> Any:
        """The case's model; unless built ``inside`` a sharding context, it stands on the host until :meth:`arrive`."""
        case = self.case
        if self.ghost:
            imported()
        self.tracker.as_host = self.stays and inside is None
        try:
            model = build_model(
                case.model,
                attention=self.attention,
                dtype=dtype,
                device=self.device if self.stays or inside is not None else "cpu",
                inside=inside,
                notes=self.notes if case.attention == "flash" else None,
            )
            install_loss(model, case.loss)
            self.params = sum(getattr(p, "ds_numel", p.numel()) for p in model.parameters())
            checkpoint_blocks(model, case.checkpointing)
            if case.lora is not None:
                cast = case.precision != "bf16-pure"
                model = add_lora(model, case.lora, case.lora_targets, device=self.device, cast=cast)
            if not self.ghost:
                fill_weights(model)
        finally:
            self.tracker.as_host = False
        self.model = model
        if self.on_model is not None:
            self.on_model(model)
        return model

    def arrive(self, tensors: Iterable[torch.Tensor]) -> None:
        """Tensors that stood on the host are on the device from now on: what ``module.to(device)`` does."""
        for tensor in tensors:
            self.tracker.adopt(tensor.detach(), TermKey.PARAMS, host=False)

    def arrive_whole(self, model: Any) -> None:
        """Move a whole model from the host to the device."""
        if self.stays:
            self.arrive(model.parameters())
            self.arrive(model.buffers())
        else:
            model.to(self.device)

    @property
    def vocab(self) -> int:
        """Rows of the model's embedding."""
        return int(getattr(self.model.config.get_text_config(), "vocab_size", _IDS))

    def input_ids(self) -> torch.Tensor:
        """A batch of token ids."""
        shape = (self.case.micro_batch, self.case.seq_len)
        with self.tracker.creating(TermKey.INPUTS):
            return torch.randint(0, min(_IDS, self.vocab), shape, device=self.device)


@dataclass(slots=True)
class PhaseMeter:
    """Keeps the peaks of the last step, the maximum over its micro-steps."""

    tracker: Tracker
    inventory: bool = True
    on_end: Callable[[str], None] | None = None
    """Called with the phase before its inventory is taken, to name storages by what they turned out to be."""
    peaks: dict[str, PhasePeak] = field(default_factory=dict)
    host_peak: int = 0

    def new_step(self) -> None:
        """Forget what an earlier step measured."""
        self.peaks = {phase: peak for phase, peak in self.peaks.items() if phase == "init"}
        self.host_peak = 0

    def begin(self, phase: str) -> None:
        """A phase starts."""
        self.tracker.begin(phase, PHASE_LABEL[phase])

    def end(self, phase: str) -> None:
        """A phase ends."""
        if self.on_end is not None:
            self.on_end(phase)
        peak = self.tracker.end(self.inventory)
        # Collections are rare within a phase; what died in a cycle (torch's foreach Adam leaves one) must not reach the next.
        gc.collect()
        best = self.peaks.get(phase)
        if best is None or peak.device_bytes > best.device_bytes:
            self.peaks[phase] = peak
        self.host_peak = max(self.host_peak, peak.host_bytes)
