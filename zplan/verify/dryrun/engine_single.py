"""One GPU, no engine: fp32 parameters under autocast, or 16-bit parameters (``bf16-pure``), or fp32 throughout."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from zplan.verify.dryrun.bench import Bench
from zplan.verify.dryrun.beyond import evaluation, gathered
from zplan.verify.dryrun.loss import loss_of
from zplan.verify.dryrun.optimizers import torch_optimizer
from zplan.verify.dryrun.steps import StepWork
from zplan.verify.model import DTYPES

DEVICE = "cpu"
"""Autocast needs tensors of a device that it knows."""
PLAIN_TENSORS = False


def master_dtype(precision: str, lora: bool = False) -> torch.dtype:
    """Number format in which a torch engine's parameters are loaded.

    Args:
        precision: As in a case.
        lora: Frozen base weights have no optimizer, so they stay in the 16 bits of their checkpoint.

    Returns:
        fp32 for weights that are trained in mixed precision, else the precision itself.
    """
    if precision == "bf16-pure" or lora:
        return DTYPES[precision]
    return torch.float32


def autocast(precision: str, device: str) -> Callable[[], AbstractContextManager[Any]]:
    """The context that the forward pass runs in, as accelerate sets it up for ``mixed_precision``."""
    if precision in ("bf16", "fp16"):
        dtype = torch.bfloat16 if precision == "bf16" else torch.float16
        return lambda: torch.autocast(device, dtype=dtype)
    return nullcontext


def prepare(bench: Bench) -> StepWork:
    """Build the model and its optimizer."""
    case = bench.case
    model = bench.build(master_dtype(case.precision, case.lora is not None))
    bench.arrive_whole(model)
    return torch_step(bench, model, model.parameters(), autocast(case.precision, bench.device))


def torch_step(
    bench: Bench,
    model: Any,
    params: Any,
    context: Callable[[], AbstractContextManager[Any]] = nullcontext,
    before: Callable[[bool], None] | None = None,
    offloaded: bool = False,
) -> StepWork:
    """A plain torch training step, shared by the torch engines.

    Args:
        bench: The bench.
        model: What to call.
        params: What to optimize.
        context: Forward context (autocast).
        before: Called before each micro-step with whether it is the last.
        offloaded: Whether the parameters live on the host.

    Returns:
        The step.
    """
    case = bench.case
    optimizer = torch_optimizer(
        case.optimizer, params, notes=bench.notes, on_host=offloaded, on_cuda=bench.device == "cuda" and not offloaded
    )
    bench.optimizers.append(optimizer)
    ids = bench.input_ids()

    def forward() -> Any:
        with context():
            return loss_of(model, ids)

    def backward(loss: Any, last: bool) -> None:
        loss.backward()

    def step(last: bool) -> None:
        if last:
            if case.clip and hasattr(model, "clip_grad_norm_"):
                model.clip_grad_norm_(case.clip)
            elif case.clip:
                torch.nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], case.clip)
            optimizer.step()
            optimizer.zero_grad()

    return StepWork(
        forward, backward, step, before, {"eval": evaluation(bench, model, context), "save": gathered(case, model)}
    )
