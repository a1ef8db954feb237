"""Activations of a model, piece by piece: what the code keeps for backward and needs while it runs.

Tables in ``tables/`` are derived from transformers' own model code by ``benchmarks/derive_activations.py``; the
functions here put a model's sizes and a batch shape in, and are cached.
"""

from __future__ import annotations

from zplan.memory.activations.heads import head_memory
from zplan.memory.activations.pieces import (
    block_memory,
    efficient_backward_scratch_bytes,
    flash_backward_scratch_bytes,
    stem_memory,
)

__all__ = [
    "block_memory",
    "efficient_backward_scratch_bytes",
    "flash_backward_scratch_bytes",
    "head_memory",
    "stem_memory",
]
