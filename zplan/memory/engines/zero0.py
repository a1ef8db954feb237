"""DeepSpeed stage 0: data parallelism with an fp32 master copy.

Source: DeepSpeed 0.19 ``runtime/fp16/fused_optimizer.py`` (``FP16_Optimizer``, for bf16 too) and ``unfused_optimizer.py``.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.engines.base import EngineMemory, HostTerms, deepspeed_bytes
from zplan.memory.engines.walk import GradOrders, backward_track, constant_track
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import optimizer_spec, temporary_bytes
from zplan.memory.params import Layout
from zplan.memory.states import unsharded_state_bytes
from zplan.memory.timeline import Level, Pass, level
from zplan.spec import Job, Precision

ALLREDUCE_NUMEL = 500_000_000
"""``MEMORY_OPT_ALLREDUCE_SIZE`` of ``runtime/engine.py``: gradients are flattened until there are more elements than this."""


def _bucket(groups: Layout, element_bytes: int) -> int:
    """Bytes of the largest flat copy in the all-reduce (``buffered_allreduce_fallback``); one tensor is not copied."""
    largest = elements = count = 0
    for tensor in groups.tensors():
        if not tensor.trainable:
            continue
        elements, count = elements + tensor.numel, count + 1
        if elements > ALLREDUCE_NUMEL:
            largest = max(largest, elements if count > 1 else 0)
            elements = count = 0
    return element_bytes * max(largest, elements if count > 1 else 0)


@lru_cache(maxsize=512)
def zero0_memory(groups: Layout, orders: GradOrders, job: Job) -> EngineMemory:
    """Stage 0 on one rank.

    Formula: steady 14 P for bf16 Adam (2 + 4 + 8); gradients add 2 P through backward. At the step every gradient is cast to
    fp32 (4 P); with DeepSpeed's own FusedAdam the casts are flattened into a second copy (4 P) while both and the 16-bit
    gradients live: 24 P. Any other optimizer gets the unfused wrapper, which does not flatten: 20 P.
    """
    states, optimizer = deepspeed_bytes(job.precision), optimizer_spec(job.optimizer)
    numel = groups.trainable
    frozen = states.param * (groups.total + groups.adapters - numel)
    steady = {
        TermKey.PARAMS: states.param * numel + frozen,
        TermKey.MASTER: states.master * numel if states.master != states.param else 0,
        TermKey.OPTIMIZER: unsharded_state_bytes(optimizer, groups, states.optimized),
    }
    steady = {key: size for key, size in steady.items() if size}
    total = 0
    all_grads = states.grad * numel
    accumulating = job.grad_accum > 1

    def ready(_position: int, numel: int) -> tuple[Level, Level]:
        nonlocal total
        before = level(**{TermKey.GRADS: 0 if accumulating else total})
        total += states.grad * numel
        return level(**{TermKey.GRADS: 0 if accumulating else total}), before

    base = dict(steady)
    if accumulating:
        base[TermKey.GRADS] = all_grads
    forward = constant_track(groups, orders, level())
    backward = backward_track(groups, orders, level(), ready)
    cast = states.optimized * numel if states.optimized != states.grad else 0
    fused = job.optimizer == "adamw"
    flat = states.optimized * numel if fused else 0
    flattening = dict(steady) | {TermKey.GRADS: all_grads, TermKey.GRADS_FP32: cast, TermKey.FLAT_BUFFER: flat}
    running = dict(steady) | {
        # The unfused wrapper keeps the 16-bit gradients beside their fp32 casts.
        TermKey.GRADS: 0 if fused else all_grads,
        TermKey.GRADS_FP32: cast if not fused else states.optimized * numel,
        TermKey.OPTIMIZER_TEMPORARIES: temporary_bytes(optimizer, numel, groups.trainable_shapes(), states.optimized),
    }
    if job.precision is Precision.FP32:
        # No wrapper: the optimizer works on the parameters, and its states are made by the first step.
        flattening = running = {
            **steady,
            TermKey.GRADS: all_grads,
            TermKey.OPTIMIZER_TEMPORARIES: running[TermKey.OPTIMIZER_TEMPORARIES],
        }
    # Both wrappers step once on zero gradients to make the states; the unfused one makes 16-bit gradients, too.
    made = dict(running) | {TermKey.GRADS_FP32: states.optimized * numel}
    if job.precision is Precision.FP32:
        made = {TermKey.PARAMS: steady[TermKey.PARAMS]}
    reducing = Moment(
        "backward",
        "gradients all-reduced",
        {**steady, TermKey.GRADS: all_grads, TermKey.REDUCE_BUCKET: _bucket(groups, states.grad)},
    )
    return EngineMemory(
        steady=steady,
        passes=(Pass(base, forward, backward, (reducing,)),),
        step=(Moment("step", "gradients cast and flattened", flattening), Moment("step", "optimizer step", running)),
        init=(Moment("init", "optimizer states made", made),),
        host=HostTerms(),
        states=states,
        grad_bytes=states.grad,
    )
