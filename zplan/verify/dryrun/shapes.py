"""What an operator's output looks like, remembered: blocks of a model are alike, and working shapes out takes time."""

from __future__ import annotations

from typing import Any

import torch


def key_of(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What decides the shapes that an operator returns, or None where that is not worth finding out."""
    parts: list[Any] = [id(func)]
    for item in args:
        kind = type(item)
        if kind is torch.Tensor or kind is torch.nn.Parameter:
            parts.append((item.shape, item.stride(), item.dtype, item.is_meta))
        elif kind is list or kind is tuple:
            for inner in item:
                if isinstance(inner, torch.Tensor):
                    parts.append((inner.shape, inner.stride(), inner.dtype, inner.is_meta))
                else:
                    parts.append(inner)
            parts.append(len(item))
        else:
            parts.append(kind)
            parts.append(item)
    for name, item in kwargs.items():
        if isinstance(item, torch.Tensor):
            return None
        parts.append(name)
        parts.append(item)
    try:
        hash(key := tuple(parts))
    except TypeError:
        return None
    return key


def recipe_of(out: Any, args: tuple[Any, ...]) -> Any:
    """How to make an operator's output again; None unless it is new, alone in its storage, and on the device."""
    if isinstance(out, (tuple, list)):
        if isinstance(out, list) or not all(item is None or isinstance(item, torch.Tensor) for item in out):
            return None
        items = [None if item is None else recipe_of(item, args) for item in out]
        return (
            None
            if any(made is None and item is not None for made, item in zip(items, out, strict=True))
            else tuple(items)
        )
    if type(out) is not torch.Tensor or not out.is_meta:
        return None
    storage = out.untyped_storage()
    span = 1 + sum((size - 1) * step for size, step in zip(out.shape, out.stride(), strict=True)) if out.numel() else 0
    if storage.nbytes() != span * out.dtype.itemsize or out.storage_offset():
        return None
    if any(isinstance(item, torch.Tensor) and item.untyped_storage()._cdata == storage._cdata for item in args):
        return None
    return [out.shape, out.stride(), out.dtype]


def make(recipe: list[Any]) -> torch.Tensor:
    """A new tensor on "meta" by a recipe."""
    return torch.empty_strided(recipe[0], recipe[1], dtype=recipe[2], device="meta")
