"""Model code other than transformers': how its blocks and loss head differ from the tables.

Each function returns bytes per token on top of (or below) what transformers' code of the same architecture keeps for backward,
read off the code named as its source.
"""

from __future__ import annotations

from zplan.memory.activations.adapters import dropout_bytes, input_sizes
from zplan.memory.activations.base import Instant, PieceMemory
from zplan.spec import BlockSpec, Job, ModelSpec, WeightKind

LITGPT = "litgpt"
LITGPT_LONGEST_FIRST = "litgpt, longest batch first"
"""Its peak is the first micro-step's: nothing of an earlier one is left."""
IMPLEMENTATIONS = ("transformers", LITGPT, LITGPT_LONGEST_FIRST)
LITGPT_LOGIT_BYTES = 4
"""Per logit: all chunks' 16-bit logits stay in a list, and each chunk's 16-bit log-softmax is kept (``litgpt/utils.py``,
``chunked_cross_entropy``)."""


LITGPT_HEAD_CHUNK = 128
"""Tokens whose logits litgpt's fine-tuning makes at once (``lm_head_chunk_size``)."""


def is_litgpt(job: Job) -> bool:
    """Whether litgpt's code runs."""
    return job.implementation.startswith(LITGPT)


def product_input_bytes(block: BlockSpec, *, with_attention: bool) -> int:
    """Bytes per token of the inputs of a block's linear layers, each tensor once, in 16 bits.

    Products with packed weights keep their inputs, needed or not: ``ctx.tensors = (A, B)``.
    Source: bitsandbytes up to 0.43 ``autograd/_functions.py``, ``MatMul4Bit.forward`` (later versions keep B alone).
    """
    return sum(input_sizes(block.weights, with_attention=with_attention))


def head_difference(model: ModelSpec, job: Job, tokens: int) -> tuple[int, int]:
    """Bytes that litgpt's loss head holds beyond a chunk: in forward, and in backward.

    Formula: 4 V T of logits and their log-softmax; with packed weights the head is packed too, and each product makes its
    weight twice, 4 V h (to fp16, then to bf16: Lightning quantises from fp16). In forward the graph of the micro-step before
    is still referred to by ``loss``: what its products with packed weights keep in plain attributes (see
    :func:`product_input_bytes`) outlives their backward.
    Source: litgpt ``finetune/lora.py`` (``fit``), Lightning ``fabric/plugins/precision/bitsandbytes.py``.
    """
    logits = LITGPT_LOGIT_BYTES * tokens * model.vocab_size
    if job.quantize is None:
        return logits, logits
    copies = 4 * model.vocab_size * model.hidden_size
    kept = [product_input_bytes(kind, with_attention=True) for kind in model.block_kinds]
    before = tokens * sum(kept[kind] for kind in model.layers) if job.implementation == LITGPT else 0
    return logits + copies + before, logits + copies


def head_casts_bytes(model: ModelSpec, seq_len: int) -> int:
    """Bytes of the 16-bit copies of a frozen fp32 head that autocast makes, beyond the first.

    Formula: 2 V h for each of ceil(s / 128) chunks but one. Autocast keeps the copy of a weight that trains, and casts a frozen
    one anew in each product, which saves it for backward.
    Source: torch ``aten/src/ATen/autocast_mode.cpp`` (``cached_cast``: only leaves that require a gradient are cached);
    litgpt ``model.py`` (``lm_head`` on ``x.split(lm_head_chunk_size)``), ``finetune/lora.py`` (128 tokens to a chunk).
    """
    return 2 * model.vocab_size * model.hidden_size * (-(-seq_len // LITGPT_HEAD_CHUNK) - 1)


def block_difference(block: BlockSpec, job: Job) -> int:
    """Bytes per token that a block of the job's implementation keeps beyond transformers' code.

    Formula, litgpt: with grouped heads keys and values repeated to all heads, 4 ad - 4 kd; trainable RMS norms keep their
    normalised form in fp32, 2 w more each; adapters on some of query, key and value keep their padded sum's source, 2 per
    output element, and a dropout mask of their input, h; other adapters a dropped input of their own, 3 in.
    Source: litgpt 0.5 ``model.py`` (``CausalSelfAttention.forward``, ``RMSNorm.forward``), ``lora.py``
    (``LoRAQKVLinear.zero_pad``: ``index_copy``); saved tensors counted on the real code without data.
    """
    if not is_litgpt(job):
        return 0
    sizes = dict(block.dims)
    heads, shared, head, hidden = (sizes.get(name, 0) for name in ("a", "k", "d", "h"))
    more = 4 * head * (heads - shared) if shared < heads else 0
    biases = {weight.name for weight in block.weights if weight.name.endswith(".bias")}
    if job.lora is None:
        norms = [w for w in block.weights if w.kind is WeightKind.NORM and w.name.endswith(".weight")]
        return more + sum(2 * w.numel for w in norms if w.name.removesuffix("weight") + "bias" not in biases)
    fused = ("q_proj", "k_proj", "v_proj", "query_key_value", "qkv_proj", "c_attn", "Wqkv")
    more += dropout_bytes([w for w in block.weights if not w.name.removesuffix(".weight").endswith(fused)], job.lora)
    parts = {"q_proj": head * heads, "k_proj": head * shared, "v_proj": head * shared}
    everything = job.lora.targets == ("all-linear",)
    adapted = [size for name, size in parts.items() if everything or name in job.lora.targets]
    if job.quantize is not None:
        more += product_input_bytes(block, with_attention=False)
    if adapted:
        more += hidden + (2 * sum(adapted) if len(adapted) < len(parts) else 0)
    return more


def with_difference(piece: PieceMemory, difference: int, *, checkpointed: bool) -> PieceMemory:
    """Returns a block that keeps ``difference`` bytes more through backward; a checkpointed one holds them while it runs."""
    if not difference:
        return piece

    def more(one: Instant) -> Instant:
        return one._replace(activation_bytes=max(0, one.activation_bytes + difference))

    return piece._replace(
        kept_bytes=piece.kept_bytes if checkpointed else piece.kept_bytes + difference,
        forward=piece.forward if checkpointed else tuple(more(one) for one in piece.forward),
        backward=tuple(more(one) for one in piece.backward),
    )
