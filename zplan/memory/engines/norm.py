"""How DeepSpeed takes gradient norms."""

NORM_BYTES = 8
"""Gradients are cast to float64, one tensor at a time, for their norm (DeepSpeed ``runtime/zero/utils.py``, ``get_norm_dtype``)."""
