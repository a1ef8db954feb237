"""The first block of a model with adapters: nothing asks for a gradient of its input, since the embedding is frozen.

What a block keeps only for that gradient is not kept there: its first norm's input and, where weights are cast, the copies of
those that read the norm's output. It holds without checkpointing alone: with it, peft makes the embedding's output require one.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.activations.adapters import first_readers
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.find import module_of
from zplan.spec import BlockSpec, Lora, WeightKind

FIRST_NORMS = ("input_layernorm", "ln_1", "ln_attn", "self_attn_layer_norm", "norm_1", "norm1")
"""Norms that read a block's input; code without one hands its input to the layers themselves (OLMo 2)."""
OWN_LINEAR = frozenset({"falcon"})
"""Families whose linear layers don't call ``F.linear``."""
CASTS = (ComputeMode.AUTOCAST, ComputeMode.MIXED)
STATISTICS_BYTES = 4
"""A norm's mean, or its reciprocal deviation, per token in fp32."""


@lru_cache(maxsize=1024)
def first_block_saving(block: BlockSpec, lora: Lora, mode: ComputeMode) -> tuple[int, int]:
    """Bytes that the first block does not keep: per token, and whatever the batch.

    Formula: an RMS norm's fp32 copy of its input, 4 h, and a factor, 4; a layer norm's input, 2 h or 4 h, and two factors, 8.
    Stage 3's own linear layers also leave their input, 2 h. Under autocast 16-bit copies of the weights that read the norm
    (2 bytes per element), and of their adapters' first matrices; with 16-bit weights of the latter alone.
    """
    norms = {w.name.rpartition(".")[0]: w for w in block.weights if w.kind is WeightKind.NORM}
    name = next((name for name in FIRST_NORMS if name in norms), None)
    if name is None:
        return 0, 0
    hidden = norms[name].numel
    centred = any(w.name == f"{name}.bias" for w in block.weights)
    narrow = mode in (ComputeMode.CAST, ComputeMode.WIDE)
    per_token = ((2 if narrow else 4) * hidden + 2 * STATISTICS_BYTES) if centred else 4 * hidden + STATISTICS_BYTES
    readers = first_readers(block.weights, lora, module_of(block.implementation))
    plain = module_of(block.implementation) not in OWN_LINEAR
    if mode is ComputeMode.WIDE and plain and all(weight.kind is WeightKind.LINEAR for weight, _ in readers):
        per_token += 2 * hidden
    once = 0
    for weight, adapted in readers:
        once += 2 * weight.numel if mode is ComputeMode.AUTOCAST else 0
        once += 2 * lora.rank * hidden if adapted and mode in CASTS else 0
    return per_token, once
