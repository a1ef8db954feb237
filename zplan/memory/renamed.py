"""Gives bytes of an engine's terms another name, in every moment: what is packed, what is an adapter."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from zplan.memory.engines.base import EngineMemory, StateBytes
from zplan.memory.moments import Moment, TermKey
from zplan.memory.params import Layout, keeps_fp32_adapters
from zplan.memory.sharding import zero3_partition_numel, zero12_flat_numel
from zplan.memory.timeline import Pass
from zplan.spec import Engine, Job, Offload, Precision

Change = Callable[[str, Mapping[str, int]], Mapping[str, int]]
"""A moment's name (empty for what is there throughout) and its terms -> its terms."""

MADE_BEFORE_ADAPTERS = ("head made before sharding", "module made before sharding")
"""Of stage 3: peft adds adapters to a model that is sharded already."""


def renamed(memory: EngineMemory, change: Change) -> EngineMemory:
    """An engine's side with the terms of every moment changed; a change may add what is there throughout.

    Args:
        memory: An engine's side of a plan.
        change: What becomes of terms.
    """

    def moment(old: Moment) -> Moment:
        return Moment(old.phase, old.name, change(old.name, old.terms))

    def micro_step(old: Pass) -> Pass:
        before = tuple(moment(one) for one in old.forward_moments)
        after = tuple(moment(one) for one in old.backward_moments)
        return Pass(change("", old.base), old.forward, old.backward, after, before)

    return replace(
        memory,
        steady=change("", memory.steady),
        passes=tuple(micro_step(one) for one in memory.passes),
        step=tuple(moment(one) for one in memory.step),
        init=tuple(moment(one) for one in memory.init),
    )


def with_first_states(memory: EngineMemory, groups: Layout, job: Job) -> EngineMemory:
    """An engine's side where the optimizer makes its states at once.

    DeepSpeed makes another one for its own fp32 tensors, and keeps the first, whose states are as many as the model's own
    tensors: none where ``zero.Init`` has taken their data away.
    Source: torch ``optim/adagrad.py``; DeepSpeed ``stage_1_and_2.py`` (``initialize_optimizer_states``), ``engine.py``
    (``basic_optimizer``).
    """
    unwrapped = job.stage == 0 and job.precision is Precision.FP32
    if job.engine is not Engine.DEEPSPEED or unwrapped:
        made = memory.steady if job.engine in (Engine.FSDP1, Engine.FSDP2) else None
        states = memory.steady.get(TermKey.OPTIMIZER, 0)
        init = tuple(Moment(m.phase, m.name, {**m.terms, TermKey.OPTIMIZER: states}) for m in memory.init)
        return replace(memory, init=init if made is None else (*memory.init, Moment("init", "optimizer made", made)))
    size = 0 if job.stage == 3 and job.zero_init is not False else memory.states.param * groups.trainable
    again = memory.steady.get(TermKey.OPTIMIZER, 0)

    def change(_name: str, old: Mapping[str, int]) -> Mapping[str, int]:
        # The engine's own states are made at once, too: as soon as there are fp32 tensors to make them for.
        more = size + (again if TermKey.MASTER in old and TermKey.OPTIMIZER not in old else 0)
        return {**old, TermKey.OPTIMIZER: old.get(TermKey.OPTIMIZER, 0) + more} if more else old

    return renamed(memory, change)


def adapter_bytes(groups: Layout, job: Job, states: StateBytes, ranks: int, stored: int) -> int:
    """Bytes of adapter weights among this rank's ``params``.

    Formula: fp32 adapters (peft makes them so), 4 bytes each; DeepSpeed below stage 3 casts them with everything else and flattens
    them; shards as those of any tensor.

    Args:
        groups: The parameters.
        job: Engine, stage and offload.
        states: Bytes per element of each copy.
        ranks: N.
        stored: FSDP: trainable elements that this rank stores, padding included.
    """
    if job.engine is Engine.DEEPSPEED:
        if job.stage == 3:
            numel = sum(zero3_partition_numel(t.numel, ranks) for t in groups.tensors() if t.trainable)
            return (4 if keeps_fp32_adapters(job) else states.param) * numel if job.offload is not Offload.ALL else 0
        return states.param * (zero12_flat_numel(groups.trainable, ranks) if job.stage else groups.trainable)
    if job.engine in (Engine.FSDP1, Engine.FSDP2):
        return states.param * stored if job.offload is Offload.NONE else 0
    return states.param * groups.trainable


def with_adapters(memory: EngineMemory, size: int) -> EngineMemory:
    """Moves adapter weights from ``params`` to a term of their own."""

    def change(name: str, old: Mapping[str, int]) -> Mapping[str, int]:
        held = 0 if name in MADE_BEFORE_ADAPTERS else min(size, old.get(TermKey.PARAMS, 0))
        if not held:
            return old
        return {**old, TermKey.PARAMS: old[TermKey.PARAMS] - held, TermKey.ADAPTERS: held}

    return renamed(memory, change)
