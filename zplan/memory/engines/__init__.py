"""Engines: plan -> moments. Each module is one engine; this is the table that finds them."""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.engines.base import EngineMemory
from zplan.memory.engines.bf16 import bf16_memory, is_bf16_optimizer
from zplan.memory.engines.walk import GradOrders
from zplan.memory.engines.zero0 import zero0_memory
from zplan.memory.engines.zero3 import zero3_memory
from zplan.memory.engines.zero12 import zero12_memory
from zplan.memory.moments import TermKey
from zplan.memory.optimizers import OptimizerSpec, optimizer_spec
from zplan.memory.params import Layout, buffer_bytes, layout
from zplan.memory.sharding import share
from zplan.spec import Engine, Job, ModelSpec


@lru_cache(maxsize=4096)
def engine_memory(model: ModelSpec, job: Job, orders: GradOrders, ranks: int, rank: int) -> EngineMemory:
    """An engine's side of a plan.

    Args:
        model: The architecture.
        job: How it is trained, with micro-batch and sequence length set to 1: they don't matter here, and the cache is
            shared across them.
        orders: In which order gradients become ready.
        ranks: N.
        rank: Whose memory.
    """
    groups = layout(model, job.lora)
    plain = job.lora is None and job.quantize is None
    memory = (_memory if plain else _with_frozen)(groups, job, orders, ranks, rank)
    buffers = buffer_bytes(model)
    if not buffers:
        return memory
    from zplan.memory.renamed import renamed

    return renamed(memory, lambda name, old: {**old, TermKey.PARAMS: old.get(TermKey.PARAMS, 0) + buffers})


def _with_frozen(groups: Layout, job: Job, orders: GradOrders, ranks: int, rank: int) -> EngineMemory:
    """Adapters on a frozen base, packed or not, each under its own name."""
    from zplan.memory.engines.units import make_units
    from zplan.memory.renamed import adapter_bytes, with_adapters
    from zplan.memory.states import state_sizes

    states, sharded = state_sizes(job), job.engine in (Engine.FSDP1, Engine.FSDP2)
    packed = constants = 0
    whole = groups
    if job.quantize is not None:
        from zplan.memory.quantized import named, quantized_layout

        groups, packed, constants = quantized_layout(
            groups, job.quantize, states.param, with_head=job.implementation != "transformers"
        )
    memory = _memory(groups, job, orders, ranks, rank)
    if job.lora is not None:
        stored = make_units(groups, job, ranks, rank).total("trainable_stored") if sharded else 0
        memory = with_adapters(memory, adapter_bytes(whole, job, states, ranks, stored))
    if job.quantize is None:
        return memory
    return named(memory, share(packed, ranks) if sharded or job.stage == 3 else packed, constants)


def _memory(groups: Layout, job: Job, orders: GradOrders, ranks: int, rank: int) -> EngineMemory:
    """The engine's own answer, and what the optimizer adds to it."""
    optimizer = optimizer_spec(job.optimizer)
    memory = _own(groups, job, orders, optimizer, ranks, rank)
    if not optimizer.made_first:
        return memory
    from zplan.memory.renamed import with_first_states

    return with_first_states(memory, groups, job)


def _own(groups: Layout, job: Job, orders: GradOrders, optimizer: OptimizerSpec, ranks: int, rank: int) -> EngineMemory:
    if job.engine is Engine.DEEPSPEED:
        if job.stage == 0:
            return zero0_memory(groups, orders, job)
        if job.stage == 3:
            return zero3_memory(groups, orders, job, optimizer, ranks)
        if is_bf16_optimizer(job):
            return bf16_memory(groups, orders, job, optimizer, ranks)
        return zero12_memory(groups, orders, job, optimizer, ranks, rank)
    if job.engine is Engine.FSDP2:
        from zplan.memory.engines.fsdp2 import fsdp2_memory

        return fsdp2_memory(groups, orders, job, optimizer, ranks, rank)
    if job.engine is Engine.FSDP1:
        from zplan.memory.engines.fsdp1 import fsdp1_memory

        return fsdp1_memory(groups, orders, job, optimizer, ranks, rank)
    from zplan.memory.engines.ddp import replicated_memory

    return replicated_memory(groups, orders, job)
