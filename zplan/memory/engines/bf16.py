"""DeepSpeed stage 1 in bf16 with fp32 gradients: ``BF16_Optimizer``, which keeps all gradients in fp32 on every rank.

Source: DeepSpeed 0.19 ``runtime/bf16_optimizer.py``; ``runtime/engine.py`` (``_do_optimizer_sanity_check`` picks it).
"""

from __future__ import annotations

from zplan.memory.engines.base import EngineMemory, HostTerms, deepspeed_bytes
from zplan.memory.engines.walk import GradOrders, backward_track, constant_track
from zplan.memory.formats import FP32_BYTES
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes, temporary_bytes
from zplan.memory.params import Layout
from zplan.memory.sharding import zero12_flat_numel, zero12_partition_numel
from zplan.memory.timeline import Level, Pass, level
from zplan.spec import Job, Offload, Precision


def is_bf16_optimizer(job: Job) -> bool:
    """Whether stage 1 is run by this optimizer."""
    wide = job.precision is Precision.BF16 and job.deepspeed.grad_accum_dtype == "fp32"
    return wide and job.stage == 1 and job.offload is Offload.NONE


def bf16_memory(groups: Layout, orders: GradOrders, job: Job, optimizer: OptimizerSpec, ranks: int) -> EngineMemory:
    """The optimizer on one rank.

    Formula: steady 2 P + 4 P of gradients + 12 P/N for Adam; backward piles up 2 P of 16-bit gradients, which live through the
    step, and the all-reduce makes a 16-bit copy of the fp32 ones, 2 P.
    """
    states = deepspeed_bytes(job.precision)
    flat = zero12_flat_numel(groups.trainable, ranks)
    part = zero12_partition_numel(groups.trainable, ranks)
    frozen = states.param * (groups.total + groups.adapters - groups.trainable)
    steady = {
        TermKey.PARAMS: states.param * flat + frozen,
        TermKey.GRADS_FP32: FP32_BYTES * flat,
        TermKey.MASTER: states.master * part,
        TermKey.OPTIMIZER: state_bytes(optimizer, part, states.optimized),
    }
    steady = {key: size for key, size in steady.items() if size}
    all_grads = states.grad * groups.trainable
    accumulating, total = job.grad_accum > 1, 0

    def ready(_position: int, numel: int) -> tuple[Level, Level]:
        nonlocal total
        before = level(**{TermKey.GRADS: 0 if accumulating else total})
        total += states.grad * numel
        return level(**{TermKey.GRADS: 0 if accumulating else total}), before

    graded = {**steady, TermKey.GRADS: all_grads}
    backward = backward_track(groups, orders, level(), ready)
    reducing = {**graded, TermKey.REDUCE_BUCKET: states.grad * flat if ranks > 1 else 0}
    stepping = {
        **graded,
        TermKey.OPTIMIZER_TEMPORARIES: temporary_bytes(optimizer, part, ((part,),), states.optimized),
    }
    flattening = {TermKey.PARAMS: states.param * groups.trainable + frozen, TermKey.FLAT_BUFFER: states.param * flat}
    made = {key: size for key, size in steady.items() if key != TermKey.OPTIMIZER}
    return EngineMemory(
        steady=steady,
        passes=(
            Pass(
                graded if accumulating else steady,
                constant_track(groups, orders, level()),
                backward,
                (Moment("backward", "fp32 gradients all-reduced", reducing),),
            ),
        ),
        step=(Moment("step", "optimizer step", stepping), Moment("step", "between micro-steps", graded)),
        init=(
            Moment("init", "flat buffer beside the model", flattening),
            Moment("init", "fp32 gradients and partition made", made),
        ),
        host=HostTerms(),
        states=states,
        grad_bytes=states.grad,
    )
