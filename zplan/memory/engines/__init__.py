"""Engines: plan -> moments. Each module is one engine; this is the table that finds them."""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.engines.base import EngineMemory
from zplan.memory.engines.walk import GradOrders
from zplan.memory.engines.zero0 import zero0_memory
from zplan.memory.engines.zero3 import zero3_memory
from zplan.memory.engines.zero12 import zero12_memory
from zplan.memory.optimizers import optimizer_spec
from zplan.memory.params import Layout, layout
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
    if job.quantize is None:
        return _memory(groups, job, orders, ranks, rank)
    from zplan.memory.quantized import named, quantized_layout
    from zplan.memory.states import state_sizes

    smaller, packed, constants = quantized_layout(
        groups, job.quantize, state_sizes(job).param, with_head=job.implementation != "transformers"
    )
    sharded = job.engine in (Engine.FSDP1, Engine.FSDP2) or job.stage == 3
    return named(_memory(smaller, job, orders, ranks, rank), share(packed, ranks) if sharded else packed, constants)


def _memory(groups: Layout, job: Job, orders: GradOrders, ranks: int, rank: int) -> EngineMemory:
    """The engine's own answer."""
    optimizer = optimizer_spec(job.optimizer)
    if job.engine is Engine.DEEPSPEED:
        if job.stage == 0:
            return zero0_memory(groups, orders, job)
        if job.stage == 3:
            return zero3_memory(groups, orders, job, optimizer, ranks)
        return zero12_memory(groups, orders, job, optimizer, ranks, rank)
    if job.engine is Engine.FSDP2:
        from zplan.memory.engines.fsdp2 import fsdp2_memory

        return fsdp2_memory(groups, orders, job, optimizer, ranks, rank)
    if job.engine is Engine.FSDP1:
        from zplan.memory.engines.fsdp1 import fsdp1_memory

        return fsdp1_memory(groups, orders, job, optimizer, ranks, rank)
    from zplan.memory.engines.ddp import replicated_memory

    return replicated_memory(groups, orders, job)
