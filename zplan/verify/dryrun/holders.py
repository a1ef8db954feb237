"""Names storages by who holds them: an optimizer's states, DeepSpeed's flat groups and buckets, FSDP2's gathered parameters.

Attribute names are those of DeepSpeed 0.19 and torch 2.13. A name that has moved costs a term its name and no byte its place:
what nobody claims keeps the name that it got when it was created.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import torch

from zplan.memory.moments import TermKey
from zplan.verify.tracker import Tracker

_DEEPSPEED = (
    (("bit16_groups_flat", "fp16_groups_flat", "fp16_partitioned_groups_flat"), TermKey.PARAMS),
    (
        ("single_partition_of_fp32_groups", "fp32_partitioned_groups_flat", "fp32_groups_flat", "fp32_groups"),
        TermKey.MASTER,
    ),
    (("averaged_gradients", "grad_partitions_flat_buffer"), TermKey.GRADS),
    (("ipg_buckets", "_DeepSpeedZeroOptimizer_Stage3__ipg_bucket_flat_buffer"), TermKey.REDUCE_BUCKET),
)
"""Attributes of DeepSpeed's optimizer wrappers (``runtime/zero/stage_1_and_2.py``, ``stage3.py``, ``runtime/fp16``)."""
_DEEPEST = 4


def name_holders(tracker: Tracker, model: Any, optimizer: Any) -> None:
    """Give held storages their term keys.

    Args:
        tracker: Whose storages.
        model: The model as its engine left it.
        optimizer: The optimizer, or an engine's wrapper around it; None where there is none yet.
    """
    for param in model.parameters():
        if hasattr(param, "ds_id"):
            # Stage 3: the parameter itself is empty, gathered, or whole for good; its shard hangs beside it.
            whole = TermKey.PERSISTENT_PARAMS if param.ds_persist else TermKey.GATHERED_PARAMS
            tracker.adopt(param.detach(), whole)
            if param.ds_tensor is not None:
                tracker.adopt(param.ds_tensor.detach(), TermKey.PARAMS)
    for gathered in _gathered(model):
        tracker.adopt(gathered, TermKey.GATHERED_PARAMS)
    seen: list[Any] = []
    while optimizer is not None and all(optimizer is not other for other in seen):
        seen.append(optimizer)
        if isinstance(optimizer, torch.optim.Optimizer):
            for tensor in _tensors(optimizer.state):
                tracker.adopt(tensor.detach(), TermKey.OPTIMIZER)
        else:
            _name_deepspeed(tracker, optimizer)
        optimizer = vars(optimizer).get("optimizer")


def _name_deepspeed(tracker: Tracker, wrapper: Any) -> None:
    for names, label in _DEEPSPEED:
        for name in names:
            for tensor in _tensors(vars(wrapper).get(name)):
                tracker.adopt(tensor.detach(), label)


def _gathered(model: Any) -> Iterator[torch.Tensor]:
    """FSDP2's unsharded parameters: storages that live on and are resized between nothing and whole."""
    for module in model.modules():
        state = getattr(module, "_get_fsdp_state", None)
        group = getattr(state(), "_fsdp_param_group", None) if callable(state) else None
        for param in getattr(group, "fsdp_params", ()):
            yield from _tensors(getattr(param, "all_gather_outputs", ()))


def _tensors(value: Any, depth: int = 0) -> Iterator[torch.Tensor]:
    """Tensors in nested lists, dicts and plain objects."""
    if isinstance(value, torch.Tensor):
        yield value
    elif depth >= _DEEPEST or value is None or isinstance(value, (str, int, float, bool, torch.dtype)):
        return
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _tensors(item, depth + 1)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _tensors(item, depth + 1)
    elif type(value).__name__.startswith("IPGBucket"):
        yield from _tensors(getattr(value, "buffer", None), depth + 1)
