"""Names live bytes: which term of the estimate a storage belongs to.

A storage is named when it is created, by the phase, the operator and its shape, and again at the end of each phase by what
it turned out to be (a parameter, its gradient, an optimizer state).
"""

from __future__ import annotations

from typing import Any

import torch

from zplan.memory.moments import TermKey
from zplan.verify.dryrun.case import Case
from zplan.verify.tracker import Tracker


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

    def learn(self, model: Any) -> None:
        """Learn the shapes of a model before its engine shards it."""
        config = model.config.get_text_config()
        self._vocab = int(getattr(config, "vocab_size", -1))
        for param in model.parameters():
            shape = tuple(getattr(param, "ds_shape", param.shape))
            if len(shape) > 1 and self._tokens not in shape:
                self._weights.add(shape)
                self._weights.add(shape[::-1])

    def classify(self, tensor: torch.Tensor, op: Any, phase: str, label: str) -> str:
        """The term key of a storage that was just created."""
        if label != TermKey.ACTIVATIONS:
            return label
        shape = tensor.shape
        if not shape:
            return label
        if shape[-1] == self._vocab and tensor.numel() >= self._vocab * min(self._tokens - 1, 64):
            return TermKey.LOGITS if phase == "forward" else TermKey.LOGITS_GRAD
        if len(shape) >= 2 and shape[-1] == shape[-2] == self._case.seq_len:
            return TermKey.ATTENTION_SCORES
        if phase == "backward" and tuple(shape) in self._weights:
            return TermKey.UNSHARDED_GRADS
        return label

    def name(self, phase: str, tracker: Tracker, bench: Any) -> None:
        """Name storages by identity at the end of a phase."""
        model = bench.model
        if model is None or phase == "forward":
            return
        for param in model.parameters():
            grad = param.grad
            if grad is not None:
                tracker.adopt(grad, TermKey.GRADS)
            tracker.adopt(param.detach(), TermKey.PARAMS)
