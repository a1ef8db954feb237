"""Optimizers under their Hugging Face names, and stand-ins for those whose kernels need CUDA.

A stand-in holds what the real one holds between steps and allocates what the real one allocates while it steps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from zplan.errors import ZplanError

_ADAM_DEFAULTS = {
    "lr": 1e-4,
    "betas": (0.9, 0.999),
    "eps": 1e-8,
    "weight_decay": 0.0,
    "bias_correction": True,
    "amsgrad": False,
}


def fused_adam(
    base: type[torch.optim.Optimizer], params: Iterable[Any], moment_dtype: torch.dtype | None = None
) -> Any:
    """Adam in one kernel: two moments, no temporaries.

    Args:
        base: Class to derive from; DeepSpeed picks its wrapper by class.
        params: Parameters or groups.
        moment_dtype: Number format of the moments; the parameter's own when None.

    Returns:
        An optimizer whose step touches no data.
    """

    class HeldAdam(base):  # type: ignore[misc]
        def __init__(self) -> None:
            torch.optim.Optimizer.__init__(self, params, dict(_ADAM_DEFAULTS))

        def step(self, closure: Callable[[], float] | None = None) -> None:
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None and not self.state[param]:
                        self.state[param].update(
                            exp_avg=torch.zeros_like(param.data, dtype=moment_dtype),
                            exp_avg_sq=torch.zeros_like(param.data, dtype=moment_dtype),
                        )

        def __del__(self) -> None:
            """DeepSpeed's CPU optimizers free a native object here; there is none."""

    return HeldAdam()


def torch_optimizer(name: str, params: Iterable[Any], device: str) -> Any:
    """An optimizer as transformers' Trainer would build it for a torch engine.

    Args:
        name: Hugging Face ``optim`` name, or ``adamw`` for fused AdamW.
        params: Trainable parameters.
        device: Device type of the parameters: torch's foreach form is its default on a GPU, not on the host.

    Returns:
        The optimizer.

    Raises:
        ZplanError: If there is neither the optimizer nor a stand-in.
    """
    trainable = [param for param in params if param.requires_grad]
    foreach = device != "cpu" or None
    if name in ("adamw", "adamw_torch_fused"):
        if device == "cuda":
            return torch.optim.AdamW(trainable, lr=1e-4, fused=True)
        return fused_adam(torch.optim.Optimizer, trainable)
    if name == "adamw_torch":
        return torch.optim.AdamW(trainable, lr=1e-4, foreach=foreach)
    if name == "sgd":
        return torch.optim.SGD(trainable, lr=1e-4, foreach=foreach)
    if name == "adagrad":
        return torch.optim.Adagrad(trainable, lr=1e-4, foreach=foreach)
    if name == "rmsprop":
        return torch.optim.RMSprop(trainable, lr=1e-4, foreach=foreach)
    if name == "adafactor":
        from transformers.optimization import Adafactor

        return Adafactor(trainable, lr=1e-4, scale_parameter=False, relative_step=False)
    raise ZplanError(
        f"the dry run has no optimizer {name!r}",
        "use one of adamw, adamw_torch, adamw_torch_fused, sgd, adagrad, rmsprop, adafactor, or ask zplan estimate",
    )
