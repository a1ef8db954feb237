"""What a traceback says about the tensor that was asked for: the phase of the step, and the likely terms."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from zplan.inputs.oommessage import Frame
from zplan.memory.moments import TermKey


@dataclass(frozen=True, slots=True)
class StackHint:
    """What the frames point at."""

    phase: str | None
    """``init``, ``forward``, ``backward``, ``step``, or None."""
    terms: tuple[str, ...]
    """Term keys that the innermost telling frame is about, likeliest first."""
    where: str
    """That frame in words, for people."""


_Rule = tuple[str, str | None, tuple[str, ...]]
_RULES: tuple[_Rule, ...] = (
    (
        r"sqrt\(|_foreach_sqrt|denom\b|_foreach_(?:add|div|mul|lerp|addcdiv)|\bsqrt\b",
        "step",
        (TermKey.OPTIMIZER_TEMPORARIES,),
    ),
    (r"exp_avg|momentum_buffer|state_sum|square_avg|get_state_buffer", None, (TermKey.OPTIMIZER,)),
    (r"(?i)init\w*_optimizer_states|optimizer[- ]states? init|adam state", "init", (TermKey.OPTIMIZER, TermKey.MASTER)),
    (
        r"_create_fp32_partitions|single_partition_of_fp32_groups|fp32_partitioned_groups_flat|fp32_from_float16"
        r"|\.clone\(\)\.float\(\)|float\(\)\.detach",
        "init",
        (TermKey.MASTER,),
    ),
    (r"pin_memory|cudaHostAlloc|HostAlloc", None, (TermKey.HOST_STAGING, TermKey.HOST_MASTER, TermKey.HOST_GRADS)),
    (r"_prepare_fp32_grad_for_sub_group|_prepare_sub_group", "step", (TermKey.FLAT_BUFFER, TermKey.GRADS_FP32)),
    (
        r"single_grad_partition.*\.to\(|grad_partition.*\.to\(|hp_grad|fp32_grad",
        "step",
        (TermKey.GRADS_FP32, TermKey.FLAT_BUFFER),
    ),
    (r"flatten_dense_tensors|\bflatten\(|_flatten\(", None, (TermKey.FLAT_BUFFER,)),
    (
        r"all_gather_coalesced|_all_gather|_allgather|allgather|fetch_sub_module|foreach_all_gather|unshard\b|unshard\("
        r"|_alloc_padded_unsharded|GatheredParameters|_zero3_consolidated|all_gather|state_dict\(\)",
        None,
        (TermKey.GATHERED_PARAMS, TermKey.PREFETCHED_PARAMS),
    ),
    (
        r"setup_buckets|reduce_bucket_size|IPGBucket|ipg_bucket|__add_grad_to_ipg",
        "backward",
        (TermKey.REDUCE_BUCKET,),
    ),
    (
        r"reduce_ready_partitions|reduce_independent|reduce_and_partition|average_tensor|reduce_scatter|foreach_reduce",
        "backward",
        (TermKey.UNSHARDED_GRADS, TermKey.REDUCE_BUCKET, TermKey.GRADS),
    ),
    (
        r"cross_entropy|log_softmax|logits|lm_head|ForCausalLMLoss|loss_function|loss_fct|embed_out",
        None,
        (TermKey.LOGITS, TermKey.LOGITS_GRAD),
    ),
    (
        r"softmax|attn_weights|attention_scores|attention_probs|eager_attention|baddbmm|causal_mask|attention_mask",
        None,
        (TermKey.ATTENTION_SCORES,),
    ),
    (
        r"from_pretrained|load_state_dict|load_checkpoint|set_module_tensor_to_device|_move_model_to_device|"
        r"_apply\(|param_applied|\.cuda\(|\.to\((?:self\.)?device|_broadcast_model|_init_flat_param|flatten_params"
        r"|_materialize|_sync_params|sync_module_states|fsdp\(model|load_model",
        "init",
        (TermKey.PARAMS,),
    ),
    (
        r"\bmlp\b|act_fn|gate_proj|up_proj|down_proj|gelu|silu|swiglu|rms_?norm|layer_?norm|\.pow\(2\)|rotary|"
        r"checkpoint\.py.*(?:recompute|unpack_hook|backward)|experts",
        None,
        (TermKey.ACTIVATIONS, TermKey.CHECKPOINTS, TermKey.ATTENTION_SCORES),
    ),
)
_COMPILED = tuple((re.compile(pattern), phase, terms) for pattern, phase, terms in _RULES)
_PHASES: tuple[tuple[re.Pattern[str], str], ...] = (
    (
        re.compile(
            r"deepspeed\.initialize|initialize_optimizer_states|init\w*_optimizer_states|_configure_optimizer"
            r"|from_pretrained|_move_model_to_device|load_state_dict|accelerator\.prepare|FSDP\(|fully_shard\("
            r"|_init_flat_param|load_checkpoint"
        ),
        "init",
    ),
    (re.compile(r"run_backward|\bbackward\(|in backward|[^_]backward$"), "backward"),
    (re.compile(r"optimizer\.step\(|_optimizer_step|\boptim\b.*\bstep\b|_take_model_step|multi_tensor_adam"), "step"),
    (re.compile(r"\bforward\b|compute_loss|model\(\*\*"), "forward"),
)


def read_stack(frames: Sequence[Frame]) -> StackHint:
    """Reads a traceback.

    Args:
        frames: Innermost last; lines of code alone count too.

    Returns:
        The phase, from the outermost frame that tells one, unless a frame further in is more telling, and the terms of
        the innermost frame that names something.
    """
    lines = [f"{frame.file.rpartition('/')[2]} {frame.function} {frame.code}" for frame in frames]
    phase = next((name for pattern, name in _PHASES if any(pattern.search(line) for line in lines)), None)
    for line, frame in zip(reversed(lines), reversed(frames), strict=True):
        for pattern, own_phase, terms in _COMPILED:
            if pattern.search(line):
                return StackHint(own_phase if phase in (None, "forward") else phase, terms, _where(frame))
    return StackHint(phase, (), _where(frames[-1]) if frames else "")


def _where(frame: Frame) -> str:
    """A frame in words."""
    place = f"{frame.file.rpartition('/')[2]}, {frame.function}" if frame.file else ""
    return ": ".join(part for part in (place, frame.code) if part)


_ENGINES: tuple[tuple[re.Pattern[str], str, int], ...] = (
    (re.compile(r"zero/(?:stage3|partition_parameters|parameter_offload|partitioned_param)\w*\.py"), "deepspeed", 3),
    (re.compile(r"zero/stage_?(?:1_and_2|2)\.py"), "deepspeed", 2),
    (re.compile(r"fsdp/_fully_shard/"), "fsdp2", 3),
    (re.compile(r"fsdp/(?:fully_sharded_data_parallel|_flat_param|_runtime_utils|flat_param)\.py"), "fsdp1", 3),
)


def engine_of(frames: Sequence[Frame]) -> tuple[str | None, int | None]:
    """The engine and stage whose files a traceback goes through.

    Stages 1 and 2 share their files; the more common 2 is answered.
    """
    for pattern, engine, stage in _ENGINES:
        if any(pattern.search(frame.file) for frame in frames):
            return engine, stage
    return None, None
