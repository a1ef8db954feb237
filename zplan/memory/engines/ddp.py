"""One GPU without an engine, and DistributedDataParallel: everything on every rank.

Source: torch ``nn/parallel/distributed.py`` and ``csrc/distributed/c10d/reducer.cpp``.
"""

from __future__ import annotations

from functools import lru_cache

from zplan.memory.activations.base import ComputeMode
from zplan.memory.engines.base import EngineMemory, HostTerms, torch_bytes
from zplan.memory.engines.walk import GradOrders, backward_track, constant_track
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import optimizer_spec, temporary_bytes
from zplan.memory.params import Layout
from zplan.memory.states import has_16bit_base, unsharded_state_bytes
from zplan.memory.timeline import Level, Pass, level
from zplan.spec import Engine, Job, Precision


@lru_cache(maxsize=512)
def replicated_memory(groups: Layout, orders: GradOrders, job: Job) -> EngineMemory:
    """DDP or a single process.

    Formula: fp32 parameters 4 P, Adam 8 P, gradients 4 P from backward to step; DDP's buckets hold the gradients a second
    time (4 P, permanent) because ``gradient_as_bucket_view`` is off by default.
    """
    states, optimizer = torch_bytes(job.precision, ComputeMode.AUTOCAST), optimizer_spec(job.optimizer)
    numel = groups.trainable
    # Adapters train on a base that is loaded in 16 bits, unless everything is fp32.
    base_bytes = 2 if job.precision is not Precision.FP32 and has_16bit_base(job) else states.param
    frozen = base_bytes * (groups.total + groups.adapters - numel)
    grads = states.grad * numel
    steady = {
        TermKey.PARAMS: states.param * numel + frozen,
        TermKey.OPTIMIZER: unsharded_state_bytes(optimizer, groups, states.optimized),
        TermKey.REDUCE_BUCKET: grads if job.engine is Engine.DDP else 0,
    }
    steady = {key: size for key, size in steady.items() if size}
    total = 0
    accumulating = job.grad_accum > 1
    in_backward = optimizer.in_backward and not accumulating and job.engine is Engine.SINGLE

    def ready(_position: int, numel: int) -> tuple[Level, Level]:
        nonlocal total
        before = level(**{TermKey.GRADS: 0 if accumulating else total})
        if in_backward:
            return before, before
        total += states.grad * numel
        return level(**{TermKey.GRADS: 0 if accumulating else total}), before

    base = dict(steady)
    if accumulating:
        base[TermKey.GRADS] = grads
    forward = constant_track(groups, orders, level())
    backward = backward_track(groups, orders, level(), ready)
    stepping = dict(steady) | {
        TermKey.GRADS: 0 if in_backward else grads,
        TermKey.OPTIMIZER_TEMPORARIES: temporary_bytes(optimizer, numel, groups.trainable_shapes(), states.optimized),
    }
    made = {key: size for key, size in steady.items() if key != TermKey.OPTIMIZER}
    return EngineMemory(
        steady=steady,
        passes=(Pass(base, forward, backward),),
        step=(Moment("step", "optimizer step", {key: size for key, size in stepping.items() if size}),),
        init=(Moment("init", "model on the GPU", made),),
        host=HostTerms(),
        states=states,
        grad_bytes=states.grad,
    )
