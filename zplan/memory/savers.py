"""What saves activations around a block's own code: selective checkpointing, offloaded checkpoints, torch.compile.

Each takes a block as its table describes it and returns what is left. None of them is a table of its own, since what they
change follows from the block's weights.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.activations.adapters import dropout_bytes
from zplan.memory.activations.base import Instant, PieceMemory
from zplan.memory.implementations import block_difference, head_casts_bytes, head_difference, is_litgpt, with_difference
from zplan.spec import Attention, BlockSpec, Job, Loss, ModelSpec, Weight, WeightKind

MATMULS = (WeightKind.LINEAR, WeightKind.CONV1D)


def differs(job: Job) -> bool:
    """Whether a job does more to blocks than run or checkpoint them as a whole."""
    saver = job.checkpointing
    other = job.implementation != "transformers"
    dropout = job.lora is not None and job.lora.dropout
    return job.compile or other or dropout or saver.offloaded or saver.kind in ("selective", "selective-op")


def other_head(
    head: PieceMemory, model: ModelSpec, job: Job, micro_batch: int, seq_len: int, *, autocast: bool
) -> PieceMemory:
    """The loss head of another implementation: all logits in 16 bits, whatever chunks they were made in."""
    if not is_litgpt(job) or job.loss is not Loss.CHUNKED:
        return head
    before, after = head_difference(model, job, micro_batch * seq_len)
    if autocast and job.lora is not None and job.lora.fp32_base:
        casts = head_casts_bytes(model, seq_len)
        before, after = before + casts, after + casts
    forward = tuple(one._replace(activation_bytes=one.activation_bytes + before) for one in head.forward)
    backward = tuple(one._replace(activation_bytes=one.activation_bytes + after) for one in head.backward)
    return head._replace(forward=forward, backward=backward)


def changed(piece: PieceMemory, block: BlockSpec, job: Job, tokens: int, checkpointed: bool) -> PieceMemory:
    """Returns a block's memory with what the job does to it beyond running or checkpointing it as a whole."""
    kind = job.checkpointing.kind
    if job.compile:
        piece = compiled(piece, block, tokens, frozen=job.lora is not None)
    difference = tokens * block_difference(block, job)
    if job.lora is not None and job.lora.dropout and not is_litgpt(job):
        difference += tokens * dropout_bytes(block.weights, job.lora)
    piece = with_difference(piece, difference, checkpointed=checkpointed)
    if kind == "selective":
        # Attention's inside alone is computed again: no scores are kept. Fused kernels keep none to begin with.
        piece = piece._replace(kept_score_bytes=0)
    if not checkpointed:
        return piece
    if kind == "selective-op":
        piece = _with_products(piece, tokens * selected_bytes(block, job.attention))
    if job.checkpointing.offloaded:
        piece = piece._replace(kept_bytes=0)
    return piece


@lru_cache(maxsize=512)
def selected_bytes(block: BlockSpec, attention: Attention) -> int:
    """Bytes per token that selective checkpointing by operator keeps beside a block's input.

    Formula: outputs of every second matrix product in the order they run, 2 per element, and of attention, 2 ad + 4 a.
    Source: torchtitan ``distributed/activation_checkpoint.py`` (``_get_custom_policy``): products with an odd number are
    kept, those with an even number computed again, as are norms, activation functions and sums.
    """
    sizes = dict(block.dims)
    products = [_fan_out(weight) for weight in block.weights if weight.kind in MATMULS and len(weight.shape) == 2]
    kept = 2 * sum(products[::2])
    flash = attention in (Attention.FLASH, Attention.SDPA) and "a" in sizes and "d" in sizes
    return kept + (2 * sizes["a"] * sizes["d"] + 4 * sizes["a"] if flash else 0)


def _fan_out(weight: Weight) -> int:
    return weight.shape[1] if weight.kind is WeightKind.CONV1D else weight.shape[0]


def _with_products(piece: PieceMemory, extra: int) -> PieceMemory:
    """A checkpointed block that keeps ``extra`` bytes more; recomputation takes them over, so that backward holds no more."""
    forward = tuple(one._replace(activation_bytes=one.activation_bytes + extra) for one in piece.forward)
    return piece._replace(kept_bytes=piece.kept_bytes + extra, forward=forward)


@lru_cache(maxsize=512)
def compiled_saving(block: BlockSpec, frozen: bool) -> int:
    """Bytes per token that a compiled block does not keep.

    Formula: for each RMS norm of width w the fp32 copy of its input (4 w) becomes the input itself (2 w), and the form before
    the weight (2 w, trainable norms only) is computed again; so is the activated gate of a gated MLP (2 f).
    Source: torch ``_functorch/partitioners.py`` (``min_cut_rematerialization_partition``): pointwise results are computed
    again, inputs of matrix products kept; read off the graph of a Llama block compiled with ``aot_eager_decomp_partition``.
    Layer norms keep 16 bits in eager mode, too: no saving is counted for them.
    """
    sizes, names = dict(block.dims), {weight.name for weight in block.weights}
    saved = 0
    for weight in block.weights:
        if weight.kind is not WeightKind.NORM or not weight.name.endswith(".weight"):
            continue
        if weight.name.removesuffix("weight") + "bias" in names:
            continue
        heads = sizes.get("a", 1) if "q_norm" in weight.name else sizes.get("k", 1) if "k_norm" in weight.name else 1
        width = weight.numel * (heads if weight.numel == sizes.get("d") else 1)
        saved += (2 if frozen else 4) * width
    if any(name.endswith(("gate_proj.weight", "gate_up_proj.weight")) for name in names):
        saved += 2 * sizes.get("f", 0)
    return saved


def compiled(piece: PieceMemory, block: BlockSpec, tokens: int, *, frozen: bool) -> PieceMemory:
    """Returns a compiled block: less is kept, and nothing is held beyond it that eager code would not hold."""
    saving = tokens * compiled_saving(block, frozen)

    def less(one: Instant) -> Instant:
        return one._replace(activation_bytes=max(one.activation_bytes - saving, one.activation_bytes // 2))

    kept = piece.kept_bytes if piece.kept_bytes <= saving else piece.kept_bytes - saving
    return piece._replace(
        kept_bytes=kept,
        forward=tuple(less(one) for one in piece.forward),
        backward=tuple(less(one) for one in piece.backward),
    )
