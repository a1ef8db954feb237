"""The loss head: whole logits as the model computes them, or in another form."""

from __future__ import annotations

from typing import Any

import torch

from zplan.errors import ZplanError


def loss_of(kind: str, model: Any, ids: torch.Tensor) -> torch.Tensor:
    """The loss of one micro-batch; nothing but the loss is kept.

    Args:
        kind: ``standard``: ``model(input_ids, labels=...).loss``.
        model: A causal language model, wrapped by its engine or not.
        ids: Token ids, also the labels.

    Returns:
        A scalar that requires a gradient.

    Raises:
        ZplanError: If the form is not available.
    """
    if kind == "standard":
        loss: torch.Tensor = model(input_ids=ids, labels=ids).loss
        return loss
    raise ZplanError(f"the dry run cannot compute a {kind} loss yet", "use --loss standard, or ask zplan estimate")
