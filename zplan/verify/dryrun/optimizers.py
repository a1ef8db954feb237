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


MIN_8BIT_NUMEL = 4096
"""Smaller tensors keep fp32 states (``min_8bit_size``)."""
BLOCK = 256
"""Values that share one fp32 maximum."""
PAGED_NUMEL = 100_000
"""Smaller states are ordinary tensors even in a paged optimizer (``get_state_buffer``)."""


def bitsandbytes_optimizer(params: Iterable[Any], states: int, bits: int, paged: bool, notes: list[str]) -> Any:
    """Holds what bitsandbytes' optimizers hold (``bitsandbytes/optim/optimizer.py``, ``Optimizer2State.init_state``).

    Args:
        params: Trainable parameters.
        states: 2 for AdamW, 1 for Lion.
        bits: 8 or 32.
        paged: States live in CUDA's managed memory, which is not torch's: they are not counted.
        notes: Where to say so.

    Returns:
        An optimizer whose step touches no data.
    """
    if paged:
        notes.append("Paged optimizer states live in CUDA managed memory, which torch's allocator does not count.")

    class Held(torch.optim.Optimizer):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__(list(params), dict(_ADAM_DEFAULTS))
            self.maps: dict[str, torch.Tensor] = {}

        def step(self, closure: Callable[[], float] | None = None) -> None:
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None and not self.state[param]:
                        self.state[param].update(self._states(param))

        def _states(self, param: torch.Tensor) -> dict[str, Any]:
            small = bits == 32 or param.numel() < MIN_8BIT_NUMEL
            made: dict[str, Any] = {"step": 0}
            for index in range(1, states + 1):
                if not (paged and param.numel() >= PAGED_NUMEL):
                    dtype = torch.float32 if small else torch.uint8
                    made[f"state{index}"] = torch.zeros_like(param.data, dtype=dtype)
                if not small:
                    made[f"absmax{index}"] = param.new_zeros(-(-param.numel() // BLOCK), dtype=torch.float32)
                    name = f"qmap{index}"
                    if name not in self.maps:
                        self.maps[name] = param.new_zeros(BLOCK, dtype=torch.float32)
                    made[name] = self.maps[name]
            return made

    return Held()


_BITSANDBYTES = {
    "adamw_8bit": (2, 8, False),
    "adamw_bnb_8bit": (2, 8, False),
    "paged_adamw_8bit": (2, 8, True),
    "paged_adamw": (2, 32, True),
    "paged_adamw_32bit": (2, 32, True),
    "lion": (1, 32, False),
    "lion_32bit": (1, 32, False),
    "lion_8bit": (1, 8, False),
    "paged_lion": (1, 32, True),
    "paged_lion_32bit": (1, 32, True),
    "paged_lion_8bit": (1, 8, True),
}
"""States, bits, paged."""


_FOREACH: dict[str, tuple[Any, dict[str, Any]]] = {
    "adamw_torch": (torch.optim.AdamW, {}),
    "sgd": (torch.optim.SGD, {}),
    "sgd_momentum": (torch.optim.SGD, {"momentum": 0.9}),
    "adagrad": (torch.optim.Adagrad, {}),
    "rmsprop": (torch.optim.RMSprop, {}),
}
"""torch's own optimizers, whose default form on a GPU works on all tensors at once."""


def torch_optimizer(name: str, params: Iterable[Any], *, notes: list[str], on_host: bool, on_cuda: bool) -> Any:
    """An optimizer as transformers' Trainer would build it for a torch engine.

    Args:
        name: Hugging Face ``optim`` name, or ``adamw`` for fused AdamW.
        params: Trainable parameters.
        notes: Where to say what is not counted.
        on_host: Whether the parameters are offloaded: torch's foreach form is its default on a GPU only.
        on_cuda: Whether CUDA's kernels can run; where not, a stand-in for fused AdamW touches no data.

    Returns:
        The optimizer.

    Raises:
        ZplanError: If there is neither the optimizer nor a stand-in.
    """
    trainable = [param for param in params if param.requires_grad]
    if name in ("adamw", "adamw_torch_fused"):
        if on_cuda:
            return torch.optim.AdamW(trainable, lr=1e-4, fused=True)
        return fused_adam(torch.optim.Optimizer, trainable)
    if name in _FOREACH:
        kind, options = _FOREACH[name]
        return kind(trainable, lr=1e-4, foreach=not on_host, **options)
    if name == "adafactor":
        from transformers.optimization import Adafactor

        return Adafactor(trainable, lr=1e-4, scale_parameter=False, relative_step=False)
    if name in _BITSANDBYTES:
        states, bits, paged = _BITSANDBYTES[name]
        return bitsandbytes_optimizer(trainable, states, bits, paged, notes)
    raise ZplanError(
        f"the dry run has no optimizer {name!r}",
        "use one of adamw, adamw_torch, adamw_torch_fused, adamw_8bit, paged_adamw_8bit, lion, sgd, adagrad, rmsprop, adafactor",
    )
