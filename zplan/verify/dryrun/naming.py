"""Names live bytes: which term of the estimate a storage belongs to.

A storage is named when it is created, by what runs (an engine's gather or reduce), by the phase, the operator and its shape;
and again at the end of each phase by what it turned out to be: a parameter, its gradient, an optimizer state, a buffer that an
engine holds. What has no name of its own in a phase has the phase's: activations in forward and backward.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from zplan.memory.moments import TermKey
from zplan.verify.dryrun.case import Case
from zplan.verify.model import decoder_blocks
from zplan.verify.tracker import Tracker

aten = torch.ops.aten

_BATCHED = (aten.bmm.default, aten.baddbmm.default)
"""Make attention scores of three dimensions, batch and heads in one."""
WHOLE_GRADS = ("ddp", "single")
"""Engines whose gradients are never sharded."""
SMALL_ROWS = 64
"""A tensor with fewer rows than this and the vocabulary's width is not logits."""


ADAPTER = ".lora_"
"""In the name of every adapter's weight, as peft makes it."""


class Namer:
    """Gives storages their term keys.

    Args:
        case: The case that runs.
    """

    def __init__(self, case: Case) -> None:
        self._case = case
        self._tokens = case.micro_batch * case.seq_len
        self._vocab = -1
        self._weights: set[tuple[int, ...]] = set()
        self._tracker: Tracker | None = None
        whole = case.engine in WHOLE_GRADS or (case.engine == "deepspeed" and case.stage == 0)
        self._grads = TermKey.GRADS if whole else TermKey.UNSHARDED_GRADS

    def learn(self, model: Any) -> None:
        """Learn the shapes of a model before its engine shards it, and watch the inputs of its checkpointed blocks."""
        config = model.config.get_text_config()
        self._vocab = int(getattr(config, "vocab_size", -1))
        for param in model.parameters():
            shape = tuple(getattr(param, "ds_shape", param.shape))
            if len(shape) > 1 and self._tokens not in shape:
                self._weights.add(shape)
                self._weights.add(shape[::-1])
        if self._case.checkpointing != "none":
            for block in decoder_blocks(model)[1]:
                if getattr(block, "gradient_checkpointing", False):
                    block.register_forward_pre_hook(self._block_input)

    def _block_input(self, module: Any, args: tuple[Any, ...]) -> None:
        tracker = self._tracker
        if tracker is not None and tracker.phase == "forward" and args and isinstance(args[0], torch.Tensor):
            tracker.adopt(args[0].detach(), TermKey.CHECKPOINTS)

    def classify(self, tensor: torch.Tensor, op: Any, phase: str, label: str) -> str:
        """The term key of a storage that was just created."""
        shape = tensor.shape
        if phase in ("init", "step") and self._case.engine == "deepspeed":
            # Parameters are flattened when the engine starts, gradients in each step, which then casts them to fp32.
            if op is aten.cat.default and len(shape) == 1:
                return TermKey.FLAT_BUFFER
            cast = phase == "step" and op is aten._to_copy.default and tensor.dtype == torch.float32
            return TermKey.GRADS_FP32 if cast else label
        if label != TermKey.ACTIVATIONS or not shape:
            return label
        if shape[-1] == self._vocab and tensor.numel() >= self._vocab * min(self._tokens, SMALL_ROWS):
            return TermKey.LOGITS if phase == "forward" else TermKey.LOGITS_GRAD
        if len(shape) >= 3 and shape[-1] == shape[-2] == self._case.seq_len and (len(shape) > 3 or op in _BATCHED):
            return TermKey.ATTENTION_SCORES
        if phase == "backward" and tuple(shape) in self._weights:
            return self._grads
        return label

    def name(self, phase: str, tracker: Tracker, bench: Any) -> None:
        """Name storages by identity at the end of a phase."""
        self._tracker = tracker
        if bench.model is None:
            return
        for name, param in bench.model.named_parameters():
            key = TermKey.ADAPTERS if ADAPTER in name else TermKey.PARAMS
            if param.grad is not None:
                tracker.adopt(param.grad, TermKey.GRADS)
            if not hasattr(param, "ds_id"):
                tracker.adopt(param.detach(), key)
                continue
            if param.ds_tensor is not None:
                tracker.adopt(param.ds_tensor, key)
            if getattr(param, "ds_persist", False) and param.numel():
                tracker.adopt(param.data, TermKey.PERSISTENT_PARAMS)
        for optimizer in bench.optimizers:
            for state in optimizer.state.values():
                for tensor in tensors_in(state):
                    tracker.adopt(tensor, TermKey.OPTIMIZER)
        for held in bench.held:
            for tensor, key in held():
                # With adapters only they are trained, and so only they are in flat buffers.
                flat = key == TermKey.PARAMS and self._case.lora is not None
                tracker.adopt(tensor, TermKey.ADAPTERS if flat else key)


def tensors_in(value: Any) -> Iterator[torch.Tensor]:
    """Tensors in nested lists, dicts and gradient buckets."""
    if isinstance(value, torch.Tensor):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from tensors_in(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from tensors_in(item)
    elif hasattr(value, "buffer"):
        yield from tensors_in(value.buffer)


def held_in(owner: Any, table: dict[str, str]) -> Iterator[tuple[torch.Tensor, str]]:
    """Tensors that an engine holds in attributes.

    Args:
        owner: The engine's object.
        table: Attribute -> term key; attributes that it does not have are skipped.

    Yields:
        Tensors and their keys.
    """
    for name, key in table.items():
        for tensor in tensors_in(getattr(owner, name, None)):
            yield tensor, key
