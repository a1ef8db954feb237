"""DeepSpeed stage 0: data parallelism with an fp32 master copy.

Source: DeepSpeed 0.19 ``runtime/fp16/fused_optimizer.py`` (``FP16_Optimizer``, which also serves bf16) and ``unfused_optimizer.py``.
"""

from __future__ import annotations

from zplan.memory.engines.base import EngineMemory, HostTerms, deepspeed_bytes
from zplan.memory.engines.walk import GradEvent, GradOrders, backward_track, constant_track
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes
from zplan.memory.params import Layout
from zplan.memory.timeline import Level, Pass, level
from zplan.spec import Job


def zero0_memory(groups: Layout, orders: GradOrders, job: Job, optimizer: OptimizerSpec) -> EngineMemory:
    """Stage 0 on one rank.

    Formula: steady 14 P for bf16 Adam (2 + 4 + 8); gradients add 2 P through backward. At the step every gradient is cast to
    fp32 (4 P); with DeepSpeed's own FusedAdam the casts are flattened into a second copy (4 P) while both and the 16-bit
    gradients live: 24 P. Any other optimizer gets the unfused wrapper, which does not flatten: 20 P.
    """
    states = deepspeed_bytes(job.precision)
    numel = groups.trainable
    frozen = states.param * (groups.total + groups.adapters - numel)
    steady = {
        TermKey.PARAMS: states.param * numel + frozen,
        TermKey.MASTER: states.master * numel if states.master != states.param else 0,
        TermKey.OPTIMIZER: state_bytes(optimizer, numel, states.optimized),
    }
    steady = {key: size for key, size in steady.items() if size}
    total = 0
    all_grads = states.grad * numel
    accumulating = job.grad_accum > 1

    def ready(event: GradEvent) -> tuple[Level, Level]:
        nonlocal total
        before = level(**{TermKey.GRADS: 0 if accumulating else total})
        total += states.grad * event.tensor.numel
        return level(**{TermKey.GRADS: 0 if accumulating else total}), before

    base = dict(steady)
    if accumulating:
        base[TermKey.GRADS] = all_grads
    forward = constant_track(groups, orders, level())
    backward, _ = backward_track(groups, orders, level(), ready)
    cast = states.optimized * numel if states.optimized != states.grad else 0
    fused = job.optimizer == "adamw"
    flat = states.optimized * numel if fused else 0
    flattening = dict(steady) | {TermKey.GRADS: all_grads, TermKey.GRADS_FP32: cast, TermKey.FLAT_BUFFER: flat}
    running = dict(steady) | {
        TermKey.GRADS_FP32: states.optimized * numel,
        TermKey.OPTIMIZER_TEMPORARIES: optimizer.step_temporary_copies * states.optimized * numel,
    }
    made = dict(steady) | {TermKey.GRADS_FP32: states.optimized * numel}
    return EngineMemory(
        steady=steady,
        passes=(Pass(base, forward, backward),),
        step=(Moment("step", "gradients cast and flattened", flattening), Moment("step", "optimizer step", running)),
        init=(Moment("init", "optimizer states made", made),),
        host=HostTerms(),
        states=states,
        grad_bytes=states.grad,
    )
