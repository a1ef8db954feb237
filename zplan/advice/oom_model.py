"""Tensors that the model asks for: weights and what goes with each, activations, scores, logits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from zplan.advice.oom_base import BACKWARD, FORWARD, FSDP2, GATHER, INIT, PlanFacts, PlanTensor
from zplan.advice.oom_engines import state_tensors
from zplan.memory.moments import TermKey
from zplan.memory.sharding import fsdp2_padded_shard_numel
from zplan.spec import Attention, Engine, Loss

_MODEL = "transformers' model code"
_HEAD = "transformers loss/loss_utils.py"


def weight_tensors(plan: PlanFacts) -> Iterator[PlanTensor]:
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
                source=GATHER if plan.job.engine is Engine.DEEPSPEED else FSDP2,
            )
        if sharded and plan.states.param == 4:
            yield replace(
                weight,
                term=TermKey.GATHERED_PARAMS,
                title=f"{tensor.name} ({shape}) gathered in fp32 (a state dict)",
                phases=(INIT,),
                element_bytes=4,
                formula=f"4 x elements of {tensor.name}",
                source="torch distributed/checkpoint/state_dict.py",
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
            yield from _per_tensor(plan, tensor.name, tensor.numel, tensor.shape)


def _per_tensor(plan: PlanFacts, name: str, numel: int, shape: tuple[int, ...]) -> Iterator[PlanTensor]:
    """Torch's own optimizers keep a state per parameter tensor, or per shard of it."""
    job = plan.job
    if job.engine is Engine.FSDP1 or (job.engine is Engine.DEEPSPEED and job.stage > 0):
        return
    of = f"x elements of {name}"
    if job.engine is Engine.FSDP2:
        numel, of = fsdp2_padded_shard_numel(shape, plan.ranks), f"{of} / N"
    yield from (replace(tensor, scales="") for tensor in state_tensors(plan, numel, of, "torch/optim/adamw.py"))


def activation_tensors(plan: PlanFacts) -> Iterator[PlanTensor]:
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
        unlikely="" if job.attention is Attention.EAGER else f"the run had eager attention, not {job.attention.value}",
    )
    yield scores
    yield replace(scores, title="attention scores of all heads in fp32", element_bytes=4, formula="4 a s^2 b")
    mask = replace(scores, title="attention mask", elements=job.micro_batch * job.seq_len**2)
    yield replace(mask, formula="2 s^2 b")
    yield replace(mask, element_bytes=4, formula="4 s^2 b")


def head_tensors(plan: PlanFacts) -> Iterator[PlanTensor]:
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
        unlikely=""
        if job.loss is Loss.STANDARD
        else f"the run held all logits, which a {job.loss.value} loss does not",
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
