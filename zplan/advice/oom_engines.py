"""Tensors that an engine asks for: partitions of states, buckets, flat buffers, units."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from zplan.advice.oom_base import BACKWARD, FORWARD, FSDP2, GATHER, INIT, STEP, PlanFacts, PlanTensor
from zplan.memory.engines.units import make_units
from zplan.memory.engines.zero3 import shards
from zplan.memory.moments import TermKey
from zplan.memory.sharding import zero12_flat_numel, zero12_partition_numel
from zplan.spec import Engine, Offload

_ZERO12 = "DeepSpeed runtime/zero/stage_1_and_2.py"
_ZERO3 = "DeepSpeed runtime/zero/stage3.py"
_ZERO0 = "DeepSpeed runtime/fp16/fused_optimizer.py"
_FSDP1 = "torch distributed/fsdp/_flat_param.py"
_DDP = "torch nn/parallel/distributed.py"


def engine_tensors(plan: PlanFacts) -> Iterator[PlanTensor]:
    """Everything that the plan's engine holds in one piece."""
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


def state_tensors(plan: PlanFacts, numel: int, share: str, source: str) -> Iterator[PlanTensor]:
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


def _host_states(plan: PlanFacts, device: PlanTensor) -> Iterator[PlanTensor]:
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


def _state_element_bytes(plan: PlanFacts) -> int:
    """Bytes of an element of one state tensor: 8-bit optimizers keep one, others the dtype of what they update."""
    return 1 if plan.optimizer.name.endswith("8bit") else plan.states.optimized


def _bucket(plan: PlanFacts, source: str) -> Iterator[PlanTensor]:
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
            unlikely='the run\'s reduce_bucket_size was "auto"',
        )


def _zero0(plan: PlanFacts) -> Iterator[PlanTensor]:
    yield from state_tensors(plan, plan.groups.trainable, "P", _ZERO0)


def _zero12(plan: PlanFacts) -> Iterator[PlanTensor]:
    trained = plan.groups.trainable
    yield from state_tensors(plan, zero12_partition_numel(trained, plan.ranks), "P/N", _ZERO12)
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


def _zero3(plan: PlanFacts) -> Iterator[PlanTensor]:
    parts = shards(plan.groups, plan.job.deepspeed, plan.ranks)
    several = len(parts.sub_groups) > 1
    share = "x elements of a sub-group (sub_group_size)" if several else "P/N"
    for numel in sorted(set(parts.sub_groups), reverse=True):
        last = several and numel == parts.sub_groups[-1]
        for tensor in state_tensors(plan, numel, share, _ZERO3):
            title = f"{tensor.title}, last sub-group" if last else tensor.title
            yield replace(tensor, title=title, follows=parts.trainable if last else 0)
    if several and plan.model.num_experts:
        yield from _old_sub_groups(plan, parts.trainable)
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
            replace(t, title=f"{t.title}, whole partition") for t in state_tensors(plan, parts.trainable, "P/N", _ZERO3)
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
        source=f"{GATHER}; stage3_gather_16bit_weights_on_model_save",
    )


def _old_sub_groups(plan: PlanFacts, numel: int) -> Iterator[PlanTensor]:
    """Sub-groups where every expert is a tensor of its own (transformers 4): none goes far beyond its limit."""
    limit = plan.job.deepspeed.sub_group_size
    for elements, which in ((limit, "sub-group"), (numel % limit, "last sub-group")):
        for tensor in state_tensors(plan, elements, f"x elements of the {which}", _ZERO3):
            yield replace(tensor, title=f"{tensor.title}, {which} with experts as separate tensors", follows=numel)


def _fsdp(plan: PlanFacts) -> Iterator[PlanTensor]:
    units = make_units(plan.groups, plan.job, plan.ranks, plan.job.rank)
    source = FSDP2 if plan.job.engine is Engine.FSDP2 else _FSDP1
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
            yield from state_tensors(plan, unit.trainable, f"x elements of the {name} / N", source)
            yield replace(
                gathered,
                term=TermKey.PARAMS,
                title=f"shard of the {name}",
                phases=(INIT,),
                elements=unit.stored,
                element_bytes=plan.states.param,
                formula=f"{plan.states.param} x elements of the {name} / N",
            )


def _replicated(plan: PlanFacts) -> Iterator[PlanTensor]:
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
