"""The three batch sizes of a ``ds_config.json``: train batch = micro-batch x accumulation x ranks, always.

Source: DeepSpeed ``runtime/config.py``, ``_set_batch_related_parameters`` and ``_batch_assertion``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from zplan.inputs.dsvalues import AUTO, whole
from zplan.spec import Job

if TYPE_CHECKING:
    from zplan.inputs.deepspeed import DsConfig

NAMES = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """The three batch sizes as the file has them (None: missing), and as DeepSpeed completes them."""

    train: int | None
    micro: int | None
    accum: int | None
    micro_batch: int
    grad_accum: int
    problem: str | None = None
    """Why DeepSpeed or the Trainer would refuse them."""


def read_batch(config: DsConfig, gpus: int, base: Job, notes: list[str]) -> Batch:
    """The batch sizes, completed as DeepSpeed completes them; "auto" as the Trainer fills it, from the base."""
    written = [config.get((name,)) for name in NAMES]
    train, micro, accum = (
        None if value in (AUTO, None) else whole(config.where((name,)), value, minimum=1)
        for name, value in zip(NAMES, written, strict=True)
    )
    missing = None
    if AUTO in written:
        micro_batch, grad_accum = micro or base.micro_batch, accum or base.grad_accum
        notes.append(f'micro-batch {micro_batch}, {grad_accum} micro-step(s): "auto" takes them from the command line')
    elif train is None and micro is None:
        missing = "neither train_batch_size nor train_micro_batch_size_per_gpu is given"
        micro_batch, grad_accum = base.micro_batch, accum or base.grad_accum
        notes.append(f"micro-batch {micro_batch}, since the file gives no batch size")
    else:
        micro_batch = micro or max(1, (train or 1) // gpus // (accum or 1))
        grad_accum = accum or (1 if train is None or micro is None else max(1, train // micro // gpus))
    problem = missing
    if train is not None and train != micro_batch * grad_accum * gpus:
        product = f"micro-batch {micro_batch} x {grad_accum} micro-steps x {gpus} GPUs"
        problem = f"train_batch_size {train} is not {product} = {micro_batch * grad_accum * gpus}"
    return Batch(train=train, micro=micro, accum=accum, micro_batch=micro_batch, grad_accum=grad_accum, problem=problem)
