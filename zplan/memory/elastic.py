"""What gives way when a card is full: states that the driver moves to the host, buffers that are made there."""

from __future__ import annotations

from dataclasses import replace

from zplan.memory.engines.base import EngineMemory, HostTerms
from zplan.memory.engines.zero12 import through_host
from zplan.memory.facts import JobFacts
from zplan.memory.moments import Runtime, TermKey
from zplan.memory.optimizers import paged_bytes
from zplan.memory.params import layout
from zplan.memory.runtime import Outside, runtime
from zplan.memory.sharding import share
from zplan.spec import Engine, Job, ModelSpec


def paged_on_rank(model: ModelSpec, facts: JobFacts, ranks: int) -> int:
    """Managed memory of one rank's optimizer states, in bytes."""
    sharded = facts.job.stage >= 1 or facts.job.engine in (Engine.FSDP1, Engine.FSDP2)
    held = share(layout(model, facts.job.lora).trainable, ranks if sharded else 1)
    return paged_bytes(facts.optimizer, held, facts.states.optimized)


def with_spilled(host: HostTerms, paged: int, run: Runtime) -> HostTerms:
    """The host's tensors, and those paged states that the card is expected to have no room for."""
    spilled = paged - run.terms[TermKey.PAGED_OPTIMIZER][1] if paged else 0
    if not spilled:
        return host
    steady = {**host.steady, TermKey.HOST_OPTIMIZER: host.steady.get(TermKey.HOST_OPTIMIZER, 0) + spilled}
    return replace(host, steady=steady, peak_bytes=host.peak_bytes + spilled)


def init_is_too_large(job: Job, ranks: int, init_bytes: int, capacity_bytes: int | None, outside: Outside) -> bool:
    """Whether DeepSpeed builds its flat buffer through the host: where the card may have no room for it beside the model."""
    if capacity_bytes is None or job.engine is not Engine.DEEPSPEED or job.stage not in (1, 2):
        return False
    if 2 * init_bytes < capacity_bytes:
        return False  # the usual case, decided without the bounds
    run = runtime(job.engine, ranks, init_bytes, None, stage=job.stage, outside=outside)
    return run.device_high_bytes > capacity_bytes


def init_through_host(memory: EngineMemory) -> EngineMemory:
    """The engine's side with an init that takes the weights through host RAM."""
    init, moved = through_host(memory.init)
    host = replace(memory.host, peak_bytes=max(memory.host.peak_bytes, moved))
    return replace(memory, init=init, host=host)
