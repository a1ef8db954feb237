"""Every public term in words: what it is, its formula without a plan, its source, and what makes it smaller.

With a plan, :func:`explain_in_plan` puts the plan's numbers in.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from zplan.memory.explain import TermExplanation, explain_term
from zplan.memory.explain_host import explain_host
from zplan.memory.moments import Estimate, Moment, TermKey
from zplan.memory.runtime import CONTEXT, NCCL, PAGED_SOURCE, WORKSPACE, slack
from zplan.spec import Engine

GPU, DEVICE, HOST = "GPU, allocated", "GPU, beyond allocated", "host"


class TermAbout(NamedTuple):
    """One term without a plan."""

    key: str
    place: str
    what: str
    formula: str
    """In the symbols of docs/model.md, for bf16 AdamW where the dtype matters."""
    source: str
    shrink: str


class TermInPlan(NamedTuple):
    """One term of one plan, where it is largest."""

    explanation: TermExplanation
    peaks: Mapping[str, int]
    """Phase -> most bytes in it, for terms on the GPU; empty for others."""
    moment: str
    """What happens where it is largest; empty for terms that are not in moments."""
    spread: tuple[int, int, int] | None = None
    """Low, expected and high bytes, for what is beyond allocated."""


_PAPER = "arXiv:1910.02054 section 3.1"
_TABLES = "saved tensors of transformers' model code (zplan/memory/activations/tables)"
_ZERO = "DeepSpeed runtime/zero/stage_1_and_2.py and stage3.py"
_HOST = "DeepSpeed runtime/zero/stage_1_and_2.py and stage3.py, offload_optimizer and offload_param"
_ROWS: tuple[tuple[str, str, str, str, str, str], ...] = (
    (
        TermKey.PARAMS,
        GPU,
        "The weights that forward and backward use, or this rank's share of them",
        "2 P; stage 3: 2 P/N; FSDP2 and DDP keep them in fp32: 4 P/N and 4 P",
        _PAPER,
        "shard them (stage 3, FSDP), offload them (--offload all), or train adapters on quantized weights",
    ),
    (
        TermKey.GRADS,
        GPU,
        "Gradients that this rank keeps until the optimizer's step",
        "2 P; stages 2 and 3: 2 P/N; FSDP2: 4 P/N in fp32",
        _PAPER,
        "stage 2 or more GPUs; adapters (--lora 16) have few",
    ),
    (
        TermKey.MASTER,
        GPU,
        "The fp32 copy of the weights that the optimizer updates, since small updates vanish in 16 bits",
        "4 P; from stage 1 on 4 P/N",
        _PAPER,
        "stage 1, more GPUs, --offload optimizer, or --precision bf16-pure without one",
    ),
    (
        TermKey.OPTIMIZER,
        GPU,
        "What the optimizer remembers of each weight: Adam's two moments",
        "8 P; from stage 1 on 8 P/N; 8-bit Adam: 2 P; sgd: 0",
        _PAPER + "; arXiv:1412.6980",
        "stage 1, more GPUs, --offload optimizer, --optimizer adamw_8bit",
    ),
    (
        TermKey.GRADS_FP32,
        GPU,
        "Gradients cast to fp32 for the step, of the part that is being stepped",
        "4 P/N; stage 3: 4 x elements of a sub-group, at most about 1e9",
        _ZERO,
        "more GPUs, --offload optimizer; stage 3: a smaller sub_group_size",
    ),
    (
        TermKey.FLAT_BUFFER,
        GPU,
        "Copies that the engine makes to have many tensors in one: parameters while it starts, gradients in the step",
        "2 P at the start of stages 1 and 2; 2 P/N in the step; stage 3: 2 x elements of a sub-group",
        _ZERO,
        "more GPUs; stage 3: a smaller sub_group_size",
    ),
    (
        TermKey.REDUCE_BUCKET,
        GPU,
        "The buffer in which gradients are collected for one reduction across ranks",
        "2 x reduce_bucket_size (5e8 elements by default), twice with overlap_comm in stages 1 and 2",
        "DeepSpeed runtime/zero/stage_1_and_2.py setup_buckets, stage3.py IPGBucketZ3",
        "a smaller reduce_bucket_size in ds_config.json",
    ),
    (
        TermKey.GATHERED_PARAMS,
        GPU,
        "Weights of what runs now, gathered whole from all ranks",
        "2 x elements gathered, up to stage3_max_live_parameters; FSDP: the running block and the root",
        "DeepSpeed runtime/zero/partitioned_param_coordinator.py; torch distributed/fsdp",
        "a smaller stage3_max_live_parameters; smaller FSDP units; checkpointing lets go of them before backward",
    ),
    (
        TermKey.PREFETCHED_PARAMS,
        GPU,
        "Weights whose all-gather runs ahead of the block that needs them",
        "2 x elements of the next unit",
        "torch distributed/fsdp/_fully_shard/_fsdp_param_group.py; DeepSpeed stage3_prefetch_bucket_size",
        "less prefetch (stage3_prefetch_bucket_size)",
    ),
    (
        TermKey.PERSISTENT_PARAMS,
        GPU,
        "Small weights (norms, biases) that stage 3 leaves whole on every rank",
        "2 x elements of all tensors up to stage3_param_persistence_threshold",
        "DeepSpeed runtime/zero/parameter_offload.py mark_persistent_parameters",
        "a smaller stage3_param_persistence_threshold",
    ),
    (
        TermKey.SECONDARY_PARAMS,
        GPU,
        "A second partition of every weight within the node, from which ZeRO++ gathers for backward (hpZ)",
        "2 P/hpZ, once weights have been released; gone after the step, but for frozen ones",
        "DeepSpeed runtime/zero/partition_parameters.py _partition_param_sec",
        "a larger --hpz, or none",
    ),
    (
        TermKey.UNSHARDED_GRADS,
        GPU,
        "Whole gradients that wait for their reduction across ranks",
        "2 x elements of the tensors that wait: a bucket's worth, a block (FSDP), or everything (stage 1, no_sync)",
        "DeepSpeed runtime/zero/stage_1_and_2.py; torch distributed/fsdp/_fully_shard",
        "stage 2 or 3; FSDP without no_sync while gradients accumulate",
    ),
    (
        TermKey.ACTIVATIONS,
        GPU,
        "What the layers keep for backward, and need while they run",
        "per block and token about 8 f + 16 h + 4 a d + 4 k d bytes (Llama, flash attention, bf16)",
        _TABLES,
        "--checkpointing full, a smaller micro-batch or sequence",
    ),
    (
        TermKey.CHECKPOINTS,
        GPU,
        "Inputs of checkpointed blocks, from which they are computed again in backward",
        "2 T h per block",
        "arXiv:1604.06174; " + _TABLES,
        "a smaller micro-batch or sequence",
    ),
    (
        TermKey.ATTENTION_SCORES,
        GPU,
        "The s x s matrix of every head, which eager attention keeps, and sdpa's math kernel",
        "6 a s^2 b per layer: fp32 softmax and its 16-bit copy; math kernel: 4 a s^2 b",
        "transformers eager_attention_forward; arXiv:2205.14135 avoids it",
        "--attention flash",
    ),
    (
        TermKey.LOGITS,
        GPU,
        "Scores of every word of the vocabulary for every token, and their copies in the loss",
        "10 T V in forward: 2 in 16 bits, 4 as an fp32 copy, 4 of its log-softmax",
        "transformers loss/loss_utils.py; " + _TABLES,
        "--loss fused or chunked; a smaller micro-batch or sequence",
    ),
    (
        TermKey.LOGITS_GRAD,
        GPU,
        "The loss's gradient with respect to the logits, beside what the loss kept",
        "12 T V in backward: 4 kept, 8 of gradients",
        "transformers loss/loss_utils.py; " + _TABLES,
        "--loss fused or chunked; a smaller micro-batch or sequence",
    ),
    (
        TermKey.OPTIMIZER_TEMPORARIES,
        GPU,
        "Scratch of the optimizer's step: the square roots of all second moments at once",
        "4 P/N with torch's foreach Adam; 0 with a fused one",
        "torch/optim/adam.py _multi_tensor_adam",
        "--optimizer adamw_torch_fused",
    ),
    (
        TermKey.ADAPTERS,
        GPU,
        "Weights of LoRA adapters",
        "r x (fan-in + fan-out) elements per adapted matrix",
        "arXiv:2106.09685",
        "a lower rank (--lora 8)",
    ),
    (
        TermKey.QUANTIZED_PARAMS,
        GPU,
        "Frozen weights in 4 or 8 bits, with their scales",
        "nf4: 0.5 P and one fp32 scale per 64 weights, 0.5625 P in all; int8: P",
        "arXiv:2305.14314; bitsandbytes functional.py",
        "double quantization",
    ),
    (
        TermKey.INPUTS,
        GPU,
        "Token ids and labels of the batch",
        "8 T",
        "int64 ids",
        "a smaller micro-batch or sequence",
    ),
    (
        TermKey.UNEXPLAINED,
        GPU,
        "What was measured and no formula accounts for: shown, never hidden in a factor",
        "measured - predicted",
        "zplan verify",
        "tell us: it is a gap in the model",
    ),
    (
        TermKey.CUDA_CONTEXT,
        DEVICE,
        "What the driver takes for a process before it allocates anything: kernels and tables",
        f"{CONTEXT.low / 2**30:.2f} to {CONTEXT.high / 2**30:.2f} GiB by card and driver",
        CONTEXT.source,
        "CUDA_MODULE_LOADING=LAZY, the default since CUDA 12.2",
    ),
    (
        TermKey.NCCL,
        DEVICE,
        "Communication buffers, outside of torch's allocator",
        f"{NCCL.low / 2**30:.2f} to {NCCL.high / 2**30:.2f} GiB by card and links; what several ranks hold beyond one process",
        NCCL.source,
        "fewer process groups; NCCL_BUFFSIZE",
    ),
    (
        TermKey.KERNEL_SCRATCH,
        DEVICE,
        "Workspaces of cuBLAS, and at most the accumulators that flash attention's backward makes for itself",
        f"{WORKSPACE.low / 2**20:.0f} to {WORKSPACE.high / 2**20:.0f} MiB, with flash attention up to 4 T a (d + 1) more",
        f"{WORKSPACE.source}; FlashAttention-2 mha_bwd (dq_accum)",
        "a smaller micro-batch or sequence",
    ),
    (
        TermKey.FRAGMENTATION,
        DEVICE,
        "What the caching allocator holds and no tensor uses",
        "a share of the allocated peak that depends on the engine",
        f"deepspeed: {slack(Engine.DEEPSPEED, 2).source}",
        "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
    ),
    (
        TermKey.PAGED_OPTIMIZER,
        DEVICE,
        "States of a paged optimizer: managed memory that the driver moves to host RAM when the card is full",
        "8 P/N in fp32, 2 P/N in 8 bits; never more than the room that is left",
        PAGED_SOURCE,
        "nothing needs to change: it gives way by itself, at the price of PCIe traffic",
    ),
    (
        TermKey.HOST_MASTER,
        HOST,
        "The fp32 copy of the weights in host RAM, when the optimizer is offloaded",
        "4 P/N per rank",
        _HOST,
        "more nodes, or --offload-to nvme",
    ),
    (
        TermKey.HOST_OPTIMIZER,
        HOST,
        "Adam's moments in host RAM",
        "8 P/N per rank",
        _HOST,
        "more nodes, or --offload-to nvme",
    ),
    (
        TermKey.HOST_GRADS,
        HOST,
        "Gradients in host RAM: fp32 ones for the step and, in stage 3, 16-bit ones on their way",
        "4 P/N per rank, stage 3: 6 P/N",
        _HOST,
        "more nodes",
    ),
    (
        TermKey.HOST_PARAMS,
        HOST,
        "16-bit weights in host RAM, from which stage 3 fetches them",
        "2 P/N per rank",
        _HOST,
        "--offload optimizer keeps them on the GPU",
    ),
    (
        TermKey.HOST_STAGING,
        HOST,
        "Buffers through which tensors cross between GPU and host",
        "2 P/N and the largest gradient per rank (stage 2)",
        _HOST,
        "more GPUs",
    ),
    (
        TermKey.HOST_STATE_DICT,
        HOST,
        "Weights or optimizer states collected in host RAM to be written to disk (phase save)",
        "2 P on rank 0 (stage 3), on every rank (stages 0 to 2); FSDP: 4 P, then 8 P of moments on rank 0",
        "accelerate accelerator.py get_state_dict; DeepSpeed runtime/engine.py; torch distributed/_state_dict_utils.py",
        "--state-dict sharded; stage 3 (rank 0 alone collects)",
    ),
    (
        TermKey.HOST_LOGITS,
        HOST,
        "Logits of evaluation batches that wait for compute_metrics (phase eval with --eval-logits)",
        "6 K N V T per rank: bf16 and its fp32 copy, of all N ranks and K batches",
        "transformers trainer_pt_utils.py nested_numpify",
        "preprocess_logits_for_metrics, prediction_loss_only, or fewer batches between moves (eval_accumulation_steps)",
    ),
    (
        TermKey.PINNED_ROUNDING,
        HOST,
        "What pinned memory takes beyond its tensors: torch rounds each buffer up to a power of two",
        "2^ceil(log2 size) - size per buffer",
        "torch aten/src/ATen/core/CachingHostAllocator.h",
        '"pin_memory": false in the offload sections of ds_config.json',
    ),
)
TERMS: Mapping[str, TermAbout] = {row[0]: TermAbout(*row) for row in _ROWS}
"""Term key -> what there is to say without a plan, in the order of the contract."""


def explain_in_plan(estimate: Estimate, key: str) -> TermInPlan:
    """One term with a plan's numbers, where it is largest.

    Args:
        estimate: The plan's estimate.
        key: Term key.

    Returns:
        The explanation at the moment where the term has most bytes (0 where the plan has none of it), and its most
        per phase.
    """
    about = TERMS[key]
    if about.place == DEVICE:
        spread = estimate.runtime.terms.get(key, (0, 0, 0))
        numbers = " / ".join(f"{value:,}" for value in spread) + " (low / expected / high)"
        found = TermExplanation(key, spread[1], about.formula, numbers, about.source, about.shrink)
        return TermInPlan(found, {}, "", spread)
    if about.place == HOST:
        found = explain_host(estimate, key)
        if not found.bytes:
            found = TermExplanation(key, 0, about.formula, "none in this plan", about.source, about.shrink)
        return TermInPlan(found, {}, "")
    peaks: dict[str, int] = {}
    best: Moment = estimate.peak_moment
    for moment in (estimate.peak_moment, *estimate.moments):
        size = moment.terms.get(key, 0)
        peaks[moment.phase] = max(peaks.get(moment.phase, 0), size)
        if size > best.terms.get(key, 0):
            best = moment
    found = explain_term(estimate, best, key)
    if not found.bytes:
        found = TermExplanation(key, 0, about.formula, "none in this plan", about.source, about.shrink)
    return TermInPlan(found, {phase: size for phase, size in peaks.items() if size}, f"{best.phase}: {best.name}")


def about_state(estimate: Estimate, key: str) -> tuple[str, str]:
    """Formula and source of a term that is there between two steps, on the GPU or on the host."""
    about = TERMS.get(key)
    if about is not None and about.place == HOST:
        return about.formula, about.source
    found = explain_term(estimate, estimate.peak_moment, key)
    return found.formula, found.source
