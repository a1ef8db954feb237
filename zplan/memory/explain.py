"""Where each term comes from: formula, the formula with a plan's numbers, source, and how to make it smaller."""

from __future__ import annotations

from typing import NamedTuple

from zplan.memory.moments import Estimate, Moment, TermKey
from zplan.memory.optimizers import optimizer_spec
from zplan.memory.params import layout
from zplan.memory.states import state_sizes
from zplan.spec import Engine, Job, Loss, Precision

_ZERO12 = "DeepSpeed runtime/zero/stage_1_and_2.py"
_ZERO3 = "DeepSpeed runtime/zero/stage3.py"
_COORDINATOR = "DeepSpeed runtime/zero/partitioned_param_coordinator.py"
_ZERO0 = "DeepSpeed runtime/fp16/fused_optimizer.py"
_FSDP = "torch distributed/fsdp/_fully_shard/_fsdp_param_group.py"
_DDP = "torch csrc/distributed/c10d/reducer.cpp"
_PAPER = "arXiv:1910.02054 section 3.1"
_TABLES = "saved tensors of transformers' model code, zplan/memory/activations/tables"


class TermExplanation(NamedTuple):
    """One term of one plan, explained."""

    key: str
    bytes: int
    formula: str
    """In the symbols of docs/model.md."""
    with_numbers: str
    """The same with this plan's numbers; evaluates to ``bytes`` once ``x`` is read as a product and thousands as digits."""
    source: str
    how_to_shrink: str


class _Entry(NamedTuple):
    """What is said of one term under one engine."""

    formula: str
    element: int
    """Bytes per element that the numbers are written in."""
    source: str
    shrink: str


def _engine_group(job: Job) -> str:
    if job.engine is Engine.DEEPSPEED:
        return ("zero0", "zero1", "zero2", "zero3")[job.stage]
    if job.engine in (Engine.FSDP1, Engine.FSDP2):
        return "fsdp"
    return "replicated"


_SOURCES = {"zero0": _ZERO0, "zero1": _ZERO12, "zero2": _ZERO12, "zero3": _ZERO3, "fsdp": _FSDP, "replicated": _DDP}


def _params(job: Job, group: str, size: int) -> _Entry:
    formula = {
        "zero0": f"{size} P",
        "zero1": f"{size} P, P padded to a multiple of 2N",
        "zero2": f"{size} P, P padded to a multiple of 2N",
        "zero3": f"{size} x sum over tensors of ceil(numel / N)",
        "fsdp": f"{size} x sum over tensors of the rank's rows, ceil(d0 / N) each",
        "replicated": f"{size} P",
    }[group]
    shrink = (
        "offload parameters (--offload all)"
        if group == "zero3"
        else "shard parameters (--stage 3), or LoRA on a quantized base"
    )
    return _Entry(formula, size, f"{_PAPER}; {_SOURCES[group]}", shrink)


def _optimizer(job: Job, group: str) -> _Entry:
    spec = optimizer_spec(job.optimizer)
    states = state_sizes(job)
    each = spec.state_bytes_fp32 if states.optimized == 4 else spec.state_bytes_16bit
    whole = group in ("zero0", "replicated")
    trained = _trained(job)
    formula = f"{each:g} {trained}" if whole else f"{each:g} {trained}/N"
    if spec.factored and whole:
        formula, each = "4 (rows + columns) per matrix, 4 per element of a vector", 4
    return _Entry(
        formula,
        int(each) if each == int(each) and each else 1,
        f"{spec.name}: {spec.source}",
        "an 8-bit optimizer (--optimizer adamw_8bit)"
        + (", sharding (--stage 1)" if whole else ", more GPUs, or --offload optimizer"),
    )


def _trained(job: Job) -> str:
    """The symbol of the parameters that have gradients and states."""
    return "P" if job.lora is None else "(weights of adapters)"


def _bucket(job: Job, group: str, grad: int) -> _Entry:
    if group == "zero0":
        return _Entry(
            f"{grad} x elements of one all-reduce: tensors are flattened until there are more than 500,000,000",
            grad,
            "DeepSpeed runtime/engine.py, buffered_allreduce_fallback",
            "sharding (--stage 1)",
        )
    if group in ("zero1", "zero2"):
        copies = 2 if job.deepspeed.overlap_comm else 1
        times = f"{copies} x " if copies > 1 else ""
        return _Entry(
            f"{times}{grad} x reduce_bucket_size" + (" (double buffer of overlap_comm)" if copies > 1 else ""),
            grad,
            f"{_ZERO12}, setup_buckets",
            "a smaller reduce_bucket_size",
        )
    if group == "zero3":
        return _Entry(
            f"{grad} x reduce_bucket_size, held from init on",
            grad,
            f"{_ZERO3}, IPGBucketZ3",
            "a smaller reduce_bucket_size",
        )
    if group == "fsdp":
        return _Entry("reduce dtype x elements of the unit being reduced", 4, _FSDP, "smaller units; bf16 reduction")
    return _Entry(f"{grad} P: the reducer's buckets hold every gradient", grad, _DDP, "gradient_as_bucket_view=True")


def _head(job: Job, compute: int, *, backward: bool) -> _Entry:
    """The loss head: whole logits, or what is left of them."""
    less = "a smaller micro-batch or sequence"
    if job.loss is Loss.CHUNKED:
        return _Entry("V x tokens of a chunk, as a standard loss holds them; and the final norm", 1, _TABLES, less)
    if job.loss is Loss.FUSED:
        return _Entry("the loss and its matmul fused: no whole logits; and the final norm", 1, _TABLES, less)
    if compute == 4:
        formula = "fp32 log-softmax and its gradient" if backward else "fp32 logits and their log-softmax"
    else:
        formula = (
            "fp32 log-softmax and its gradient, then 16-bit ones"
            if backward
            else "16-bit logits, their fp32 copy and its log-softmax"
        )
    return _Entry(f"T V: {formula}; and the final norm", 1, _TABLES, f"--loss fused or chunked; {less}")


def _entry(key: str, job: Job, group: str) -> _Entry:
    """The entry of one term; activations and what they share come from the tables."""
    states = state_sizes(job)
    compute = 4 if job.precision is Precision.FP32 else 2
    waiting = compute if group == "fsdp" else states.grad
    source = _SOURCES[group]
    if key == TermKey.PARAMS:
        return _params(job, group, states.param)
    if key == TermKey.OPTIMIZER:
        return _optimizer(job, group)
    if key == TermKey.REDUCE_BUCKET:
        return _bucket(job, group, states.grad)
    fixed = {
        TermKey.MASTER: _Entry(
            f"{states.master} {_trained(job)}" + ("" if group == "zero0" else "/N"),
            states.master or 4,
            f"{_PAPER}; {source}",
            "more GPUs, or --offload optimizer",
        ),
        TermKey.GRADS: _Entry(
            f"{states.grad} x elements of the gradients this rank keeps for the step",
            states.grad,
            source,
            "a higher stage, more GPUs",
        ),
        TermKey.GRADS_FP32: _Entry(
            "4 x elements of the partition being stepped"
            if group != "zero3"
            else "4 x elements of the largest sub-group",
            4,
            source,
            "a smaller sub_group_size" if group == "zero3" else "more GPUs, or --offload optimizer",
        ),
        TermKey.FLAT_BUFFER: _Entry(
            "gradients of the partition flattened into one buffer (or the offload's scratch: the largest gradient)",
            states.grad,
            source,
            "more GPUs",
        ),
        TermKey.UNSHARDED_GRADS: _Entry(
            f"{waiting} x elements of gradients that wait for their reduction"
            + (" (qgZ: int4 buffers of one, from source, not run)" if job.deepspeed.quantized_gradients else ""),
            waiting,
            source,
            "a higher stage; a larger bucket where one tensor is larger than it",
        ),
        TermKey.GATHERED_PARAMS: _Entry(
            f"{compute} x elements gathered: what runs, and what was fetched ahead, up to max_live_parameters"
            + (
                "; in flight 1 in int8 (qwZ, from source: the kernels were not run)"
                if job.deepspeed.quantized_weights
                else ""
            )
            if group == "zero3"
            else f"{compute} x elements of the gathered units",
            compute,
            _COORDINATOR if group == "zero3" else _FSDP,
            "a smaller stage3_max_live_parameters" if group == "zero3" else "smaller units",
        ),
        TermKey.PREFETCHED_PARAMS: _Entry(
            f"{compute} x elements of the unit whose all-gather is in flight", compute, _FSDP, "no prefetch"
        ),
        TermKey.PERSISTENT_PARAMS: _Entry(
            f"{states.param} x elements of tensors up to stage3_param_persistence_threshold",
            states.param,
            "DeepSpeed runtime/zero/parameter_offload.py, mark_persistent_parameters",
            "a smaller stage3_param_persistence_threshold",
        ),
        TermKey.SECONDARY_PARAMS: _Entry(
            f"{states.param} P/{job.hpz}: each tensor over the {job.hpz} ranks of its group (hpZ), made when it is first released",
            states.param,
            "DeepSpeed runtime/zero/partition_parameters.py, _partition_param_sec; measured by dry run",
            "a larger --hpz, or none",
        ),
        TermKey.OPTIMIZER_TEMPORARIES: _Entry(
            "temporaries of the largest tensor being stepped"
            if optimizer_spec(job.optimizer).tensor_by_tensor
            else "copies of the tensors being stepped",
            1 if optimizer_spec(job.optimizer).tensor_by_tensor else states.optimized,
            optimizer_spec(job.optimizer).source,
            "a fused optimizer (--optimizer adamw_torch_fused)",
        ),
        TermKey.ACTIVATIONS: _Entry(
            "stored by blocks without checkpointing, plus the running block's own",
            1,
            _TABLES,
            "--checkpointing full, a smaller micro-batch or sequence",
        ),
        TermKey.CHECKPOINTS: _Entry(
            f"{compute} T h per checkpointed block below",
            1,
            "arXiv:1604.06174; " + _TABLES,
            "a smaller micro-batch or sequence",
        ),
        TermKey.ATTENTION_SCORES: _Entry("tensors of a s x s per sequence", 1, _TABLES, "--attention flash"),
        TermKey.LOGITS: _head(job, compute, backward=False),
        TermKey.LOGITS_GRAD: _head(job, compute, backward=True),
        TermKey.INPUTS: _Entry(
            "8 T: token ids, which are the labels too", 8, "int64 ids", "a smaller micro-batch or sequence"
        ),
    }
    return fixed.get(key) or _frozen(key, job, group) or _Entry("not modelled further", 1, "zplan", "")


def _frozen(key: str, job: Job, group: str) -> _Entry | None:
    """Adapters, and the packed weights that they train on."""
    if key == TermKey.ADAPTERS and job.lora is not None:
        each = 4 if group == "zero3" else state_sizes(job).param
        shares = ", padded and divided by N per tensor" if group in ("zero3", "fsdp") else ""
        formula = f"{each} r x (fan-in + fan-out) per adapted matrix{shares}"
        return _Entry(formula, each, "arXiv:2106.09685; peft tuners/lora/layer.py", "a lower rank (--lora 8)")
    if key == TermKey.QUANTIZED_PARAMS and job.quantize is not None:
        per_weight = {"nf4": "0.5625 bytes per weight", "nf4-dq": "0.516 bytes per weight", "int8": "1 byte per weight"}
        return _Entry(
            f"{per_weight[job.quantize.value]} of the blocks' linear layers, with its constants",
            1,
            "arXiv:2305.14314; bitsandbytes functional.py, quantize_4bit",
            "nf4 instead of int8",
        )
    return None


def explain_term(estimate: Estimate, moment: Moment, key: str) -> TermExplanation:
    """Explains one term at one moment of a plan.

    Args:
        estimate: The plan's estimate.
        moment: Where the term is looked at.
        key: Term key; one that the moment does not have counts 0 bytes.

    Returns:
        Formula in the symbols of docs/model.md, the same with numbers, source and what would shrink it.
    """
    job = estimate.plan.job
    entry = _entry(key, job, _engine_group(job))
    size = moment.terms.get(key, 0)
    elements, rest = divmod(size, entry.element)
    numbers = f"{entry.element} x {elements:,} = {size:,}" if not rest and entry.element > 1 else f"{size:,}"
    if key in (TermKey.ACTIVATIONS, TermKey.CHECKPOINTS, TermKey.LOGITS, TermKey.LOGITS_GRAD):
        tokens = job.micro_batch * job.seq_len
        per_token, rest = divmod(size, tokens)
        numbers = f"{tokens:,} tokens x {per_token:,}" + (f" + {rest:,}" if rest else "") + f" = {size:,}"
    return TermExplanation(key, size, entry.formula, numbers, entry.source, entry.shrink)


def symbols(estimate: Estimate) -> dict[str, int]:
    """Values of the symbols that formulas use, for this plan."""
    model, job = estimate.plan.model, estimate.plan.job
    groups = layout(model, job.lora)
    return {
        "P": groups.total + groups.adapters,
        "N": estimate.plan.world_size,
        "T": job.micro_batch * job.seq_len,
        "s": job.seq_len,
        "b": job.micro_batch,
        "h": model.hidden_size,
        "f": model.ffn_size,
        "a": model.num_heads,
        "k": model.num_kv_heads,
        "d": model.head_dim,
        "V": model.vocab_size,
        "L": model.num_layers,
    }
