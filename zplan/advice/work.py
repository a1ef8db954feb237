"""What one micro-step computes on one GPU: matmuls, attention, and bytes through elementwise kernels.

Symbols as in docs/model.md: s sequence, b micro-batch, T = b*s tokens, h hidden size, f MLP width, a heads, d head
size.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from zplan.memory.activations.adapters import has_adapter
from zplan.memory.activations.find import module_of
from zplan.memory.attention import asked, writes_scores
from zplan.spec import Checkpointing, Job, Lora, ModelSpec, WeightKind

LAYER_NORM_FAMILIES = frozenset(
    {
        "bloom",
        "falcon",
        "gpt2",
        "gpt_bigcode",
        "gpt_neox",
        "gptj",
        "mpt",
        "olmo",
        "opt",
        "phi",
        "stablelm",
        "starcoder2",
    }
)
"""Model types whose norm is torch's LayerNorm, one kernel; the others compute an RMSNorm in fp32, op by op."""
UNROTATED_FAMILIES = frozenset({"bloom", "gpt2", "gpt_bigcode", "mpt", "opt"})
"""Model types without rotary positions."""
_MATMULS = (WeightKind.LINEAR, WeightKind.CONV1D, WeightKind.HEAD, WeightKind.ROUTER)

# Bytes read and written per element in forward by eager kernels on 16-bit activations, and by torch.compile's fused
# ones. RMSNorm eager: cast 2+4, square 4+4, mean 4, scale 4+4, cast 4+2, weight 2+2. LayerNorm: 2+2 and a second read.
# Residual: 2+2+2. Rotary: neg and cat 4+4, two products 2+2 each, sum 2+2+2. Gated activation: silu 2+2, product 2+2+2.
RMS_NORM_BYTES, LAYER_NORM_BYTES, FUSED_NORM_BYTES = 36, 6, 6
RESIDUAL_BYTES, FUSED_RESIDUAL_BYTES = 6, 4
ROTARY_BYTES, FUSED_ROTARY_BYTES = 22, 8
GATED_BYTES, PLAIN_ACTIVATION_BYTES, FUSED_GATED_BYTES = 10, 4, 6
ATTENTION_IO_BYTES = 4
ROUTING_BYTES = 14
"""Per element and chosen expert: gather 2+2, weigh 2+2, add into the output 2+2+2."""
EAGER_SCORE_BYTES = 24
"""Per score in forward: write 2, scale 2+2, mask 2+2, softmax 2+4, cast 4+2, read 2, and the second matmul's read."""
MATH_SCORE_BYTES = 44
"""The same in torch's math kernel, all in fp32: write 4, mask 4+4, softmax 4+4, compare 4+1, any 1, choose 4+4, cast 4+2, and the
second matmul's read 4."""
BACKWARD = 2
"""An elementwise kernel's backward reads the saved tensor and the gradient and writes one: about twice its forward."""
LOGITS_BYTES, FUSED_LOGITS_BYTES = 36, 10
"""Per logit, forward and backward: 2 + (2+4) + (4+4) + 4 in forward, (4+4) + (4+2) + 2+2 in backward; one kernel when
fused."""
ADAPTER_BYTES_IN, ADAPTER_DROPOUT_BYTES, ADAPTER_BYTES_OUT, FUSED_ADAPTER_BYTES_OUT = 2, 5, 8, 4
"""LoRA per input element: a read, and dropout 2+2+1; per output element: write 2, scale and add 2+2+2; one sum when fused."""
NF4_BYTES = 2.53
"""Reading a 4-bit weight and writing its 16-bit copy, per element (bitsandbytes dequantises before every matmul)."""
INT8_BYTES = 3.0
GPTQ_BYTES = 16.5
"""Unpacking a 4-bit GPTQ weight op by op, as AutoGPTQ does without its own kernels: shift 0.5+4, cast 4+1, mask 1+1, zeros 1+1,
scales 1+2 (``auto_gptq/nn_modules/qlinear/qlinear_cuda_old.py``)."""

GPTQ_LAUNCHES = 0.4
"""Its ten kernels, beside the 25 or so that one block launches in forward."""


class Kernels(NamedTuple):
    """How the code that ran differs from what a plan stands for; known of published runs, not of runs to come."""

    flash: int | None = None
    """Generation of flash attention; None: whatever torch or transformers pick today."""
    fused: bool = False
    """Norms, rotary positions and gated activations in one kernel each (Liger, Transformer Engine, Apex) without compiling."""
    fused_loss: bool = False
    """One kernel from logits to their gradient."""
    unpacked_gptq: bool = False
    """4-bit weights are GPTQ's, unpacked op by op."""
    loose_optimizer: bool = False
    """The optimizer runs op by op, whatever its name."""


PLAIN = Kernels()


class Matmul(NamedTuple):
    """All matmuls of one shape: x (T x fan_in) times a weight (fan_in x fan_out)."""

    fan_in: int
    fan_out: int
    times: float
    """How many per forward pass."""
    token_share: float
    """Share of the tokens that each one sees (routed experts see few)."""
    in_block: bool
    """Recomputed when blocks are checkpointed."""
    trainable: bool


class Shape(NamedTuple):
    """What a model computes per token, whatever the batch."""

    matmuls: tuple[Matmul, ...]
    norm_elements: int
    """Elements that pass a norm in one layer, per token, summed over its norms; mean over layers."""
    modules: int
    """Modules with parameters, all layers."""
    linear_numel: int
    """Elements in the blocks' linear weights."""
    adapter_in: int
    """Sum of fan_in over adapted weights, all layers."""
    adapter_out: int
    adapted: int
    """Adapted weights, all layers."""


@lru_cache(maxsize=512)
def model_shape(model: ModelSpec, lora: Lora | None) -> Shape:
    """Counts the matmuls and elementwise widths of a model."""
    found: dict[tuple[int, int, float, bool, bool], float] = {}
    norms = modules = linear = adapter_in = adapter_out = adapted = 0
    trainable = lora is None
    for index, kind in enumerate(model.block_kinds):
        layers = sum(1 for layer in model.layers if layer == index)
        for weight in kind.weights:
            last = weight.shape[-1] if weight.shape else 1
            if weight.kind is WeightKind.NORM and not weight.name.endswith("bias"):
                norms += layers * last * (_per_head(model, last))
            if weight.kind not in (WeightKind.BIAS,) and not weight.name.endswith("bias"):
                modules += layers
            if weight.kind is WeightKind.EXPERTS:
                _add_experts(found, model, weight.shape, layers, trainable)
                linear += layers * weight.numel
            elif weight.kind in _MATMULS and len(weight.shape) == 2:
                fan_out, fan_in = weight.shape if weight.kind is not WeightKind.CONV1D else weight.shape[::-1]
                key = (fan_in, fan_out, 1.0, True, trainable)
                found[key] = found.get(key, 0) + layers
                linear += layers * weight.numel
                if lora is not None and has_adapter(weight, lora, module_of(kind.implementation)):
                    adapter_in += layers * fan_in
                    adapter_out += layers * fan_out
                    adapted += layers
    head = (model.hidden_size, model.vocab_size, 1.0, False, trainable)
    found[head] = found.get(head, 0) + 1
    return Shape(
        matmuls=tuple(
            Matmul(fan_in, fan_out, count, share, block, trains)
            for (fan_in, fan_out, share, block, trains), count in found.items()
        ),
        norm_elements=norms // max(1, model.num_layers),
        modules=modules,
        linear_numel=linear,
        adapter_in=adapter_in,
        adapter_out=adapter_out,
        adapted=adapted,
    )


def linears(shape: Shape) -> float:
    """Linear layers in all blocks."""
    return sum(matmul.times for matmul in shape.matmuls if matmul.in_block)


def _per_head(model: ModelSpec, width: int) -> int:
    """How often a norm of this width runs per token: query and key norms run once per head."""
    return model.num_heads if width == model.head_dim and width != model.hidden_size else 1


def _add_experts(
    found: dict[tuple[int, int, float, bool, bool], float],
    model: ModelSpec,
    shape: tuple[int, ...],
    layers: int,
    trainable: bool,
) -> None:
    """Routed experts: E small matmuls on k/E of the tokens each."""
    experts = shape[0]
    share = model.experts_per_token / max(1, model.num_experts)
    key = (shape[-1], shape[1] if len(shape) > 2 else 1, share, True, trainable)
    found[key] = found.get(key, 0) + layers * experts


def block_elementwise_bytes(model: ModelSpec, shape: Shape, job: Job, kernels: Kernels = PLAIN) -> float:
    """Bytes through elementwise kernels in one block's forward, per token."""
    h, a, k, d = model.hidden_size, model.num_heads, model.num_kv_heads, model.head_dim
    fused = job.compile or kernels.fused
    eager_norm = LAYER_NORM_BYTES if model.family in LAYER_NORM_FAMILIES else RMS_NORM_BYTES
    norm = FUSED_NORM_BYTES if fused else eager_norm
    rotary = 0 if model.family in UNROTATED_FAMILIES else (FUSED_ROTARY_BYTES if fused else ROTARY_BYTES)
    f = model.ffn_size * max(1, model.experts_per_token)
    if model.family in LAYER_NORM_FAMILIES and model.family != "stablelm":
        activation = PLAIN_ACTIVATION_BYTES
    else:
        activation = FUSED_GATED_BYTES if fused else GATED_BYTES
    residual = 2 * h * (FUSED_RESIDUAL_BYTES if job.compile else RESIDUAL_BYTES)
    routing = ROUTING_BYTES * h * model.experts_per_token
    heads = (a + k) * d * rotary + 2 * (a + k) * d * ATTENTION_IO_BYTES
    return float(norm * shape.norm_elements + residual + heads + routing + activation * f)


def adapter_bytes(shape: Shape, job: Job) -> float:
    """Bytes through the adapters' elementwise kernels in forward, per token."""
    if job.lora is None:
        return 0.0
    into = ADAPTER_BYTES_IN + (ADAPTER_DROPOUT_BYTES if job.lora.dropout else 0)
    out = FUSED_ADAPTER_BYTES_OUT if job.compile else ADAPTER_BYTES_OUT
    return float(shape.adapter_in * into + shape.adapter_out * out)


class AttentionWork(NamedTuple):
    """Attention's own work in the forward of all layers, by kind of kernel."""

    fused_flops: float
    """In kernels that hold no scores."""
    score_flops: float
    """In code that writes all scores out."""
    scores: float
    """How many it writes."""


def attention_work(model: ModelSpec, job: Job) -> AttentionWork:
    """Attention's own matmuls.

    Formula: 4 * T * s * a * d per layer, half of it under a causal mask in fused kernels; at most the window's tokens.
    """
    tokens = job.micro_batch * job.seq_len
    fused = held = scores = 0.0
    for index, kind in enumerate(model.block_kinds):
        layers = sum(1 for layer in model.layers if layer == index)
        flops = 4.0 * layers * tokens * model.num_heads * model.head_dim
        if writes_scores(asked(job), kind, job.seq_len):
            held += flops * job.seq_len
            scores += float(layers) * model.num_heads * tokens * job.seq_len
            continue
        window = kind.sliding_window
        causal = window is None or window >= job.seq_len
        fused += flops * (job.seq_len / 2 if causal or window is None else window - window**2 / job.seq_len / 2)
    return AttentionWork(fused, held, scores)


class Again(NamedTuple):
    """Shares of the blocks' forward that backward computes once more."""

    matmul: float
    attention: float
    elementwise: float


def computed_again(model: ModelSpec, job: Job) -> Again:
    """What checkpointing costs, by kind of kernel.

    ``selective`` recomputes attention alone. ``selective-op`` keeps the outputs of attention and of every second matrix
    product; the other products, and every norm, rotation and activation, run twice (torchtitan
    ``distributed/activation_checkpoint.py``).
    """
    kind = job.checkpointing.kind
    if kind == "selective":
        return Again(0.0, 1.0, 0.0)
    if kind == "selective-op":
        return Again(0.5, 0.0, 1.0)
    share = recomputed_share(model, job.checkpointing)
    return Again(share, share, share)


def recomputed_share(model: ModelSpec, checkpointing: Checkpointing) -> float:
    """Share of the blocks that are checkpointed as a whole, and whose forward runs again in backward."""
    kind = checkpointing.kind
    if kind == "full":
        return 1.0
    if kind == "every-k":
        return -(-model.num_layers // checkpointing.every) / model.num_layers
    return 0.0


def loss_bytes(model: ModelSpec, job: Job, kernels: Kernels = PLAIN) -> float:
    """Bytes through the loss head's elementwise kernels, forward and backward, per token.

    Of plans, every loss kernel is taken to be as fast as the plain one: which one a plan names is a matter of memory. Where
    the code of a run is known, a fused kernel reads the logits and writes their gradient in place. That the linear layer is
    fused too saves memory, not time: published runs that change nothing else are within 2 % of each other (3300 and 3288
    tokens/s for Llama-3-8B on an A100, foundation-model-stack/fms-acceleration@876e2ed).
    """
    return float(model.vocab_size * (FUSED_LOGITS_BYTES if job.compile or kernels.fused_loss else LOGITS_BYTES))
