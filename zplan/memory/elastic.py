"""What gives way when a card is full: states that the driver moves to the host, buffers that are made there."""

from __future__ import annotations

from dataclasses import replace

from zplan.memory.engines.base import HostTerms
from zplan.memory.moments import Runtime, TermKey
from zplan.memory.optimizers import paged_bytes
from zplan.memory.params import layout
from zplan.memory.sharding import share
from zplan.memory.stack import JobFacts
from zplan.spec import Engine, ModelSpec


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
