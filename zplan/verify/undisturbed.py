"""Undoes what watching changes: autograd adds and scatters in place, unless a dispatch mode is on.

``at::isTensorSubclassLike`` is true for every tensor while a ``TorchDispatchMode`` is active, and where it is true
autograd does out of place what it does in place otherwise: accumulating into the gradient of a tensor with several uses
(``input_buffer.cpp``, ``can_accumulate_inplace``) and the backward of indexing and gathering
(``FunctionsManual.cpp``). So a watched step holds one tensor more at those instants than the step of a user: as
large as a block's output, and for tied embeddings as large as the whole embedding.
"""

from __future__ import annotations

from typing import Any

import torch
from torch._prims_common import is_non_overlapping_and_dense_or_false as is_dense

aten = torch.ops.aten

_SCATTERS = {
    id(out_of_place): in_place
    for out_of_place, in_place in (
        (aten._index_put_impl.default, aten._index_put_impl_.default),
        (aten.index_put.default, aten.index_put_.default),
        (aten.scatter_add.default, aten.scatter_add_.default),
        (aten.index_add.default, aten.index_add_.default),
    )
}
CONCERNED = frozenset({id(aten.add.Tensor), *_SCATTERS})
"""Operators that may be run in place, by ``id``: torch makes each once, and to hash one is a call into Python."""


class InPlace:
    """Runs an operator as autograd would have run it unwatched.

    Args:
        device: Where tensors live.
    """

    def __init__(self, device: str) -> None:
        self._alone: tuple[int, int] | None = None
        self._probing = False
        probe = torch.empty(2, device=device, requires_grad=True)
        self._probing = True
        with _Probe(self):
            (probe.cos() + probe.exp()).sum().backward()
        self._probing = False

    def __call__(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the result, or NotImplemented where the operator is to be run as it stands."""
        if id(func) not in CONCERNED:
            return NotImplemented
        if torch._C._current_autograd_node() is None or torch.is_grad_enabled():
            return NotImplemented
        if func is aten.add.Tensor and isinstance(args[1], torch.Tensor):
            old = args[0]
            counts = (old._use_count(), torch._C._storage_Use_Count(old.untyped_storage()._cdata))
            if self._probing:
                self._alone = counts
                return NotImplemented
            same = old.shape == args[1].shape and old.dtype == args[1].dtype
            if same and counts == self._alone and is_dense(old):
                return aten.add_.Tensor(*args, **kwargs)
        scatter = _SCATTERS.get(id(func))
        return NotImplemented if scatter is None else scatter(*args, **kwargs)


class _Probe(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
    """Looks at how often a tensor that nobody else holds is counted while it is being watched."""

    def __init__(self, owner: InPlace) -> None:
        super().__init__()
        self.owner = owner

    def __torch_dispatch__(self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        out = self.owner(func, args, kwargs or {})
        return func(*args, **(kwargs or {})) if out is NotImplemented else out
