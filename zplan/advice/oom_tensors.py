"""Every tensor of a plan that a single request for memory can be: what it is, how large, and when it is asked for.

An out-of-memory message names a size; the tensors here are what that size is compared with.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from zplan.memory.engines.base import StateBytes
from zplan.memory.engines.units import make_units
from zplan.memory.engines.zero3 import shards
from zplan.memory.moments import TermKey
from zplan.memory.optimizers import OptimizerSpec, optimizer_spec
from zplan.memory.params import Layout, layout
from zplan.memory.sharding import fsdp2_padded_shard_numel, zero12_flat_numel, zero12_partition_numel
from zplan.memory.states import state_sizes
from zplan.spec import Attention, Engine, Job, Loss, ModelSpec, Offload, Plan

_ZERO12 = "DeepSpeed runtime/zero/stage_1_and_2.py"
_ZERO3 = "DeepSpeed runtime/zero/stage3.py"
_ZERO0 = "DeepSpeed runtime/fp16/fused_optimizer.py"
_GATHER = "DeepSpeed runtime/zero/partition_parameters.py"
_FSDP2 = "torch distributed/fsdp/_fully_shard/_fsdp_collectives.py"
_FSDP1 = "torch distributed/fsdp/_flat_param.py"
_DDP = "torch nn/parallel/distributed.py"
_MODEL = "transformers' model code"
_HEAD = "transformers loss/loss_utils.py"
INIT, FORWARD, BACKWARD, STEP = "init", "forward", "backward", "step"


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanTensor:
    """One tensor that the run asks for in one piece."""

    term: str
    """Term key."""
    title: str
    phases: tuple[str, ...]
    elements: int
    element_bytes: int
    formula: str
    """In the symbols of docs/model.md."""
    source: str
    scales: str = ""
    """``P`` where the size follows the number of parameters, ``T`` where it follows tokens."""
    per_token: int = 0
    """Elements per token, where it follows tokens."""
    host: bool = False
    unlikely: str = ""
    """Why the plan as given should not have it."""

    @property
    def bytes(self) -> int:
        """Size of the tensor."""
        return self.elements * self.element_bytes

    @property
    def with_numbers(self) -> str:
        """The formula with the plan's numbers."""
        return f"{self.element_bytes} x {self.elements:,} = {self.bytes:,}"


@dataclass(frozen=True, slots=True)
class _Plan:
    """What all the lists below need."""

    model: ModelSpec
    job: Job
    ranks: int
    groups: Layout
    states: StateBytes
    optimizer: OptimizerSpec

    @property
    def offloaded(self) -> str:
        """Why states should not be on the GPU."""
        if self.job.offload is Offload.NONE:
            return ""
        return "the plan offloads the optimizer: the offload of the run was not in effect"

    @property
    def temporaries(self) -> str:
        """Why the step should need no temporary."""
        if self.optimizer.step_temporary_copies:
            return ""
        return f"{self.optimizer.name} as planned works in place: the run had another optimizer"


def plan_tensors(plan: Plan) -> tuple[PlanTensor, ...]:
    """Lists the tensors of a plan.

    Args:
        plan: Model, cluster and job.

    Returns:
        Device and host tensors of the engine, the parameters, the activations and the loss head; sizes in bytes before
        any allocator's rounding, at least one byte each.
    """
    model, job = plan.model, plan.job
    shared = _Plan(
        model,
        job,
        plan.world_size,
        layout(model, job.lora),
        state_sizes(job),
        optimizer_spec(job.optimizer),
    )
    found = [*_engine(shared), *_activations(shared), *_head(shared), *_weights(shared)]
    return tuple(tensor for tensor in found if tensor.bytes > 0)


def _engine(plan: _Plan) -> Iterator[PlanTensor]:
    if plan.job.engine is Engine.DEEPSPEED:
        yield from (_zero0, _zero12, _zero12, _zero3)[plan.job.stage](plan)
    elif plan.job.engine in (Engine.FSDP2, Engine.FSDP1):
        yield from _fsdp(plan)
    else:
        yield from _replicated(plan)
    yield PlanTensor(
        term=TermKey.PARAMS,
        title="the whole model in 16 bits",
        phases=(INIT,),
        elements=plan.groups.total,
        element_bytes=2,
        formula="2 P",
        source="arXiv:1910.02054 section 3.1",
        scales="P",
    )


def _states(plan: _Plan, numel: int, share: str, source: str) -> Iterator[PlanTensor]:
    """What a partition of ``numel`` elements is held in: master copy, states, gradients, temporaries."""
    size, each = plan.states.optimized, _state_element_bytes(plan)
    base = PlanTensor(
        term=TermKey.OPTIMIZER,
        title="one optimizer state (a moment of Adam)",
        phases=(STEP, INIT),
        elements=numel,
        element_bytes=each,
        formula=f"{each} {share}",
        source=f"{plan.optimizer.name}: {plan.optimizer.source}",
        scales="P",
        unlikely=plan.offloaded,
    )
    wide = replace(base, element_bytes=size, formula=f"{size} {share}", source=source)
    if plan.states.master:
        yield replace(wide, term=TermKey.MASTER, title="fp32 master copy of the parameters", phases=(INIT,))
    if plan.optimizer.state_bytes_fp32:
        yield base
    if size != plan.states.grad:
        yield replace(wide, term=TermKey.GRADS_FP32, title="gradients cast to fp32 for the step", phases=(STEP, INIT))
    yield replace(
        wide,
        term=TermKey.OPTIMIZER_TEMPORARIES,
        title="temporary of the optimizer step (square root of the second moment)",
        phases=(STEP, INIT),
        source="torch/optim/adam.py _multi_tensor_adam; _single_tensor_adam",
        unlikely=plan.offloaded or plan.temporaries,
    )
    if plan.job.engine is Engine.DEEPSPEED:
        flat = f"{plan.states.grad} {share}"
        yield replace(
            wide,
            term=TermKey.FLAT_BUFFER,
            title="gradients flattened into one buffer",
            phases=(STEP,),
            element_bytes=plan.states.grad,
            formula=flat,
        )
    if plan.job.offload is not Offload.NONE:
        yield from _host_states(plan, wide)


def _host_states(plan: _Plan, device: PlanTensor) -> Iterator[PlanTensor]:
    """The same partition on the host."""
    host = replace(device, host=True, unlikely="")
    yield replace(host, term=TermKey.HOST_MASTER, title="fp32 master copy on the host", phases=(INIT,))
    yield replace(host, term=TermKey.HOST_OPTIMIZER, title="one optimizer state on the host", phases=(INIT, STEP))
    yield replace(host, term=TermKey.HOST_GRADS, title="fp32 gradients on the host", phases=(INIT, STEP))
    yield replace(
        host,
        term=TermKey.HOST_STAGING,
        title="16-bit staging buffer on the host",
        phases=(INIT,),
        element_bytes=2,
        formula=device.formula.replace(str(device.element_bytes), "2", 1),
    )


def _state_element_bytes(plan: _Plan) -> int:
    """Bytes of an element of one state tensor: 8-bit optimizers keep one, others the dtype of what they update."""
    return 1 if plan.optimizer.name.endswith("8bit") else plan.states.optimized


def _bucket(plan: _Plan, source: str) -> Iterator[PlanTensor]:
    """The reduce bucket as configured, and as Hugging Face's "auto" sets it."""
    size, grad, hidden = plan.job.deepspeed.reduce_bucket_size, plan.states.grad, plan.model.hidden_size
    held = (INIT,) if plan.job.stage == 3 else (BACKWARD,)
    bucket = PlanTensor(
        term=TermKey.REDUCE_BUCKET,
        title="reduce bucket",
        phases=held,
        elements=size,
        element_bytes=grad,
        formula=f"{grad} x reduce_bucket_size",
        source=source,
    )
    yield bucket
    if plan.job.stage < 3:
        yield replace(
            bucket,
            title="both reduce buckets (overlap_comm)",
            elements=2 * size,
            formula=f"2 x {grad} x reduce_bucket_size",
        )
    if size != hidden**2:
        yield replace(
            bucket,
            title='reduce bucket as "auto" sets it',
            elements=hidden**2,
            formula=f"{grad} h^2",
            source="accelerate and transformers set auto to h^2",
            unlikely="the plan has another reduce_bucket_size",
        )


def _zero0(plan: _Plan) -> Iterator[PlanTensor]:
    yield from _states(plan, plan.groups.trainable, "P", _ZERO0)


def _zero12(plan: _Plan) -> Iterator[PlanTensor]:
    trained = plan.groups.trainable
    yield from _states(plan, zero12_partition_numel(trained, plan.ranks), "P/N", _ZERO12)
    yield from _bucket(plan, f"{_ZERO12}, setup_buckets")
    size = plan.states.param
    yield PlanTensor(
        term=TermKey.FLAT_BUFFER,
        title="flat buffer of all parameters, built beside the model",
        phases=(INIT,),
        elements=zero12_flat_numel(trained, plan.ranks),
        element_bytes=size,
        formula=f"{size} P",
        source=_ZERO12,
        scales="P",
    )


def _zero3(plan: _Plan) -> Iterator[PlanTensor]:
    parts = shards(plan.groups, plan.job.deepspeed, plan.ranks)
    several = len(parts.sub_groups) > 1
    for numel in sorted(set(parts.sub_groups), reverse=True):
        yield from _states(plan, numel, "x sub-group (sub_group_size)" if several else "P/N", _ZERO3)
    whole = PlanTensor(
        term=TermKey.GRADS,
        title="gradient partition, one buffer for all of them",
        phases=(INIT, BACKWARD),
        elements=parts.trainable,
        element_bytes=plan.states.grad,
        formula=f"{plan.states.grad} P/N",
        source=_ZERO3,
        scales="P",
    )
    yield whole
    yield replace(
        whole,
        term=TermKey.PARAMS,
        title="parameter partition, one buffer for all of them",
        phases=(INIT,),
        elements=parts.trainable + parts.frozen,
        element_bytes=plan.states.param,
        formula=f"{plan.states.param} P/N",
    )
    if plan.job.offload is Offload.ALL:
        yield replace(
            whole, term=TermKey.HOST_PARAMS, title="parameter partition on the host", phases=(INIT,), host=True
        )
    if several:
        yield from (
            replace(t, title=f"{t.title}, whole partition") for t in _states(plan, parts.trainable, "P/N", _ZERO3)
        )
    yield from _bucket(plan, f"{_ZERO3}, IPGBucketZ3")
    yield replace(
        whole,
        term=TermKey.GATHERED_PARAMS,
        title="all parameters gathered at once (a save, or an evaluation outside of the engine)",
        phases=(INIT,),
        elements=plan.groups.total + plan.groups.adapters,
        element_bytes=2,
        formula="2 P",
        source=f"{_GATHER}; stage3_gather_16bit_weights_on_model_save",
    )


def _fsdp(plan: _Plan) -> Iterator[PlanTensor]:
    units = make_units(plan.groups, plan.job, plan.ranks, plan.job.rank)
    source = _FSDP2 if plan.job.engine is Engine.FSDP2 else _FSDP1
    for name, unit in (("root unit", units.root), *(("block", kind) for kind in units.kinds)):
        gathered = PlanTensor(
            term=TermKey.GATHERED_PARAMS,
            title=f"{name} gathered",
            phases=(FORWARD, BACKWARD),
            elements=unit.whole,
            element_bytes=units.compute,
            formula=f"{units.compute} x elements of the {name}",
            source=source,
        )
        yield gathered
        yield replace(
            gathered,
            term=TermKey.REDUCE_BUCKET if plan.job.engine is Engine.FSDP2 else TermKey.UNSHARDED_GRADS,
            title=f"gradients of the {name} before they are reduced",
            phases=(BACKWARD,),
            elements=unit.trainable_whole,
            element_bytes=units.reduce,
            formula=f"{units.reduce} x elements of the {name}",
        )
        yield replace(
            gathered,
            term=TermKey.PARAMS,
            title=f"{name} whole, before it is sharded",
            phases=(INIT,),
            elements=unit.exact,
            element_bytes=plan.states.param,
            formula=f"{plan.states.param} x elements of the {name}",
        )
        if plan.job.engine is Engine.FSDP1:
            yield from _states(plan, unit.trainable, f"x elements of the {name} / N", source)
            yield replace(
                gathered,
                term=TermKey.PARAMS,
                title=f"shard of the {name}",
                phases=(INIT,),
                elements=unit.stored,
                element_bytes=plan.states.param,
                formula=f"{plan.states.param} x elements of the {name} / N",
            )


def _replicated(plan: _Plan) -> Iterator[PlanTensor]:
    yield PlanTensor(
        term=TermKey.PARAMS,
        title="the whole model in fp32",
        phases=(INIT,),
        elements=plan.groups.total,
        element_bytes=4,
        formula="4 P",
        source=_DDP,
        scales="P",
    )


def _weights(plan: _Plan) -> Iterator[PlanTensor]:
    """Single weights: loaded, gathered, their gradients, and what an optimizer that goes by tensor holds for each."""
    seen: set[int] = set()
    pieces = (plan.groups.stem, *plan.groups.kinds, plan.groups.head)
    for tensor in (tensor for piece in pieces for tensor in piece.tensors):
        if tensor.numel in seen or tensor.numel < 2**18:
            continue
        seen.add(tensor.numel)
        shape = " x ".join(str(side) for side in tensor.shape)
        weight = PlanTensor(
            term=TermKey.PARAMS,
            title=f"{tensor.name} ({shape}) being loaded or moved",
            phases=(INIT,),
            elements=tensor.numel,
            element_bytes=2,
            formula=f"2 x elements of {tensor.name}",
            source=_MODEL,
        )
        yield weight
        yield replace(weight, element_bytes=4, formula=f"4 x elements of {tensor.name}")
        sharded = plan.job.engine in (Engine.FSDP2, Engine.FSDP1) or plan.job.stage == 3
        if sharded:
            yield replace(
                weight,
                term=TermKey.GATHERED_PARAMS,
                title=f"{tensor.name} ({shape}) gathered",
                phases=(FORWARD, BACKWARD),
                source=_GATHER if plan.job.engine is Engine.DEEPSPEED else _FSDP2,
            )
        gradient = replace(
            weight,
            term=TermKey.UNSHARDED_GRADS if sharded or plan.job.stage else TermKey.GRADS,
            title=f"gradient of {tensor.name} ({shape})",
            phases=(BACKWARD,),
            source="torch autograd",
        )
        if tensor.trainable:
            yield gradient
            yield replace(gradient, element_bytes=4, formula=f"4 x elements of {tensor.name}")
            yield from _per_tensor_states(plan, tensor.name, tensor.numel, tensor.shape)


def _per_tensor_states(plan: _Plan, name: str, numel: int, shape: tuple[int, ...]) -> Iterator[PlanTensor]:
    """Torch's own optimizers keep a state per parameter tensor, or per shard of it."""
    job = plan.job
    if job.engine is Engine.FSDP1 or (job.engine is Engine.DEEPSPEED and job.stage > 0):
        return
    of = f"x elements of {name}"
    if job.engine is Engine.FSDP2:
        numel, of = fsdp2_padded_shard_numel(shape, plan.ranks), f"{of} / N"
    yield from (replace(tensor, scales="") for tensor in _states(plan, numel, of, _DDP))


def _activations(plan: _Plan) -> Iterator[PlanTensor]:
    """Activations of a block that are one tensor each; T = b s tokens."""
    model, job = plan.model, plan.job
    term = TermKey.CHECKPOINTS if job.checkpointing.kind in ("full", "every-k") else TermKey.ACTIVATIONS
    tokens = job.micro_batch * job.seq_len
    attention = model.num_heads * model.head_dim
    keys = model.num_kv_heads * model.head_dim
    widths = (
        (term, "hidden states between blocks", "h", model.hidden_size, 2),
        (TermKey.ACTIVATIONS, "hidden states of a norm in fp32", "h", model.hidden_size, 4),
        (TermKey.ACTIVATIONS, "inner activations of an MLP", "f", model.ffn_size, 2),
        (TermKey.ACTIVATIONS, "gate and up of an MLP in one", "2 f", 2 * model.ffn_size, 2),
        (TermKey.ACTIVATIONS, "inner activations of an MLP in fp32", "f", model.ffn_size, 4),
        (TermKey.ACTIVATIONS, "queries of all heads", "a d", attention, 2),
        (TermKey.ACTIVATIONS, "keys or values", "k d", keys, 2),
        (TermKey.ACTIVATIONS, "queries, keys and values in one", "(a + 2k) d", attention + 2 * keys, 2),
    )
    for key, title, symbol, width, size in widths:
        yield PlanTensor(
            term=key,
            title=title,
            phases=(FORWARD, BACKWARD),
            elements=tokens * width,
            element_bytes=size,
            formula=f"{size} T {symbol}",
            source=_MODEL,
            scales="T",
            per_token=width,
        )
    scores = PlanTensor(
        term=TermKey.ATTENTION_SCORES,
        title="attention scores of all heads",
        phases=(FORWARD, BACKWARD),
        elements=job.micro_batch * model.num_heads * job.seq_len**2,
        element_bytes=2,
        formula="2 a s^2 b",
        source="transformers eager_attention_forward",
        unlikely="" if job.attention is Attention.EAGER else f"{job.attention.value} attention as planned keeps none",
    )
    yield scores
    yield replace(scores, title="attention scores of all heads in fp32", element_bytes=4, formula="4 a s^2 b")
    mask = replace(scores, title="attention mask", elements=job.micro_batch * job.seq_len**2)
    yield replace(mask, formula="2 s^2 b")
    yield replace(mask, element_bytes=4, formula="4 s^2 b")


def _head(plan: _Plan) -> Iterator[PlanTensor]:
    """Logits: 16-bit, their fp32 copy, log-softmax and gradients, of all tokens or without the last one."""
    model, job = plan.model, plan.job
    logits = PlanTensor(
        term=TermKey.LOGITS,
        title="logits in fp32 (the copy for the loss, or its log-softmax)",
        phases=(FORWARD,),
        elements=job.micro_batch * job.seq_len * model.vocab_size,
        element_bytes=4,
        formula="4 T V",
        source=_HEAD,
        scales="T",
        per_token=model.vocab_size,
        unlikely="" if job.loss is Loss.STANDARD else f"{job.loss.value} loss as planned never holds all logits",
    )
    half = replace(logits, title="logits in 16 bits", element_bytes=2, formula="2 T V", source=_MODEL)
    backward = replace(logits, term=TermKey.LOGITS_GRAD, phases=(BACKWARD,), title="gradient of the logits in fp32")
    for tensor in (
        logits,
        half,
        backward,
        replace(backward, title="gradient of the logits in 16 bits", element_bytes=2),
    ):
        yield tensor
        yield replace(
            tensor,
            title=f"{tensor.title}, shifted by one token",
            elements=job.micro_batch * (job.seq_len - 1) * model.vocab_size,
            formula=f"{tensor.element_bytes} b (s-1) V",
            scales="",
        )
