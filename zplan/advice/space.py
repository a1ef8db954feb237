"""Which plans there are: the ways to shard and offload, and the knobs within each.

A :class:`Question` is a plan with some of its knobs pinned by the user; everything that is not pinned may change.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

from zplan.errors import ZplanError
from zplan.memory.summary import plan_label
from zplan.spec import Attention, Checkpointing, DeepSpeedOptions, Engine, Job, Loss, Offload, OffloadTo, Plan

MICRO_BATCHES = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48, 56, 64)
NO_CHECKPOINTS = Checkpointing()
CHECKPOINTING = (
    NO_CHECKPOINTS,
    Checkpointing(kind="every-k", every=4),
    Checkpointing(kind="every-k", every=3),
    Checkpointing(kind="every-k", every=2),
    Checkpointing(kind="full"),
)
LOSSES = (Loss.STANDARD, Loss.CHUNKED, Loss.FUSED)
"""From no change to the training script to the largest."""


def place_of(loss: Loss) -> int:
    """How far a loss is from what a script does by itself."""
    return LOSSES.index(loss) if loss in LOSSES else 0


BUCKETS = (500_000_000, 200_000_000, 50_000_000)
"""Elements: DeepSpeed's default, the size of its older documentation, and one that costs next to nothing."""
RATIOS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Shares of the optimizer states that ``offload_optimizer.ratio`` can move to the host."""
FINE_SUB_GROUP = 100_000_000
"""Elements: the ratio moves whole sub-groups (``stage3.py``), so a partial offload needs them finer than the default
1e9. On the way to NVMe every rank pins buffers for a few of the largest (``swap_tensor``): finer ones take a tenth."""
CPU_OPTIMIZERS = ("adamw", "adamw_torch", "adamw_torch_fused", "adagrad", "lion")
"""Optimizers of which DeepSpeed has a CPU version (``deepspeed/ops``: CPUAdam, CPUAdagrad, CPULion)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pins:
    """What the user said and the search must not change; None where nothing was said."""

    stage: int | None = None
    offload: Offload | None = None
    offload_to: OffloadTo | None = None
    micro_batch: int | None = None
    checkpointing: Checkpointing | None = None
    loss: Loss | None = None
    hpz: int | None = None
    grad_accum: int | None = None
    attention: Attention | None = None
    """Never searched: where nothing fits, a way out that changes number formats or cards keeps what was named."""
    buckets: bool = False
    """Bucket sizes come from a file and stay."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked: a plan to start from, what is pinned, and the batch to keep."""

    base: Plan
    pins: Pins = Pins()
    global_batch: int | None = None
    """Sequences per optimizer step over all ranks, kept exactly."""


class Strategy(NamedTuple):
    """One way to shard and offload."""

    stage: int
    offload: Offload = Offload.NONE
    to: OffloadTo = OffloadTo.CPU
    hpz: int = 1

    @property
    def ladder(self) -> int:
        """Its place in the order of habit: shard first, offload last, CPU before NVMe."""
        return LADDER.index((self.stage, self.offload, self.to))

    def job(self, base: Job) -> Job:
        """The job run this way."""
        third = self.stage == 3 and base.engine is Engine.DEEPSPEED
        zero_init = base.zero_init if third else None
        return replace(
            base, stage=self.stage, offload=self.offload, offload_to=self.to, hpz=self.hpz, zero_init=zero_init
        )

    def label(self, base: Job) -> str:
        """In words."""
        return plan_label(self.job(base)) + (f", hpZ {self.hpz}" if self.hpz > 1 else "")


_CPU, _NVME = OffloadTo.CPU, OffloadTo.NVME
LADDER: tuple[tuple[int, Offload, OffloadTo], ...] = (
    (0, Offload.NONE, _CPU),
    (1, Offload.NONE, _CPU),
    (2, Offload.NONE, _CPU),
    (3, Offload.NONE, _CPU),
    (1, Offload.OPTIMIZER, _CPU),
    (2, Offload.OPTIMIZER, _CPU),
    (3, Offload.OPTIMIZER, _CPU),
    (2, Offload.ALL, _CPU),
    (3, Offload.ALL, _CPU),
    (3, Offload.OPTIMIZER, _NVME),
    (3, Offload.ALL, _NVME),
)
"""Mildest first. Stage 1 with offload only where it is pinned, stage 2 with everything offloaded only for FSDP."""


def strategies(question: Question) -> list[Strategy]:
    """All ways to shard and offload that the engine has and the pins leave open, in the order of habit."""
    job, pins, cluster = question.base.job, question.pins, question.base.cluster
    found = []
    for stage, offload, to in LADDER:
        if not _engine_has(job.engine, stage, offload, to, pins):
            continue
        if pins.stage not in (None, stage) or pins.offload not in (None, offload):
            continue
        if pins.offload_to is not None and offload is not Offload.NONE and pins.offload_to is not to:
            continue
        if to is OffloadTo.NVME and cluster.nvme_capacity_bytes is None and pins.offload_to is not OffloadTo.NVME:
            continue
        hpz = pins.hpz if pins.hpz is not None and stage == 3 else 1
        found.append(Strategy(stage, offload, to, hpz))
        shards = cluster.gpus_per_node
        multi = stage == 3 and cluster.nodes > 1 and shards > 1 and offload is Offload.NONE and pins.hpz is None
        if multi and job.engine is Engine.DEEPSPEED:
            found.append(Strategy(stage, offload, to, shards))
    return found


def _engine_has(engine: Engine, stage: int, offload: Offload, to: OffloadTo, pins: Pins) -> bool:
    if engine in (Engine.DDP, Engine.SINGLE):
        return stage == 0 and offload is Offload.NONE
    if engine in (Engine.FSDP1, Engine.FSDP2):
        return stage >= 2 and offload is not Offload.OPTIMIZER and to is OffloadTo.CPU
    if stage == 1 and offload is Offload.OPTIMIZER:
        return pins.stage == 1
    return not (stage == 2 and offload is Offload.ALL)


def micro_batches(question: Question) -> list[tuple[int, int]]:
    """(micro-batch, accumulation) pairs that keep the global batch.

    Raises:
        ZplanError: no pair does.
    """
    pins, ranks, base = question.pins, question.base.world_size, question.base.job
    total = question.global_batch
    if total is None:
        accum = pins.grad_accum or base.grad_accum
        sizes = (pins.micro_batch,) if pins.micro_batch is not None else MICRO_BATCHES
        return [(size, accum) for size in sizes]
    if total % ranks:
        low, high = total // ranks * ranks, -(-total // ranks) * ranks
        near = f"--global-batch {low} or {high}" if low else f"--global-batch {high}"
        raise ZplanError(
            f"a global batch of {total} sequences cannot be split evenly over {ranks} GPUs",
            f"use {near}, or a number of GPUs that divides {total}",
        )
    share = total // ranks
    pairs = [(size, share // size) for size in range(1, share + 1) if share % size == 0]
    if pins.micro_batch is not None:
        pairs = [pair for pair in pairs if pair[0] == pins.micro_batch]
    if pins.grad_accum is not None:
        pairs = [pair for pair in pairs if pair[1] == pins.grad_accum]
    if not pairs:
        micro, accum = pins.micro_batch or 1, pins.grad_accum or 1
        raise ZplanError(
            f"a global batch of {total} on {ranks} GPUs is {share} per GPU, not a multiple of "
            f"micro-batch {micro} x accumulation {accum}",
            f"leave --micro-batch and --grad-accum out, or use --global-batch {micro * accum * ranks}",
        )
    return _thin(pairs)


def _thin(pairs: list[tuple[int, int]], most: int = 24) -> list[tuple[int, int]]:
    """At most ``most`` of the divisors: micro-batches beyond 64 are rare, and two close to each other tell little."""
    small = [pair for pair in pairs if pair[0] <= MICRO_BATCHES[-1]] or pairs[:1]
    return small[:most]


def options(question: Question, strategy: Strategy) -> Iterator[Job]:
    """Jobs of one strategy without their batch and checkpointing: loss kernels, buckets, offload ratios.

    The first is the fastest, and the last needs least memory.
    """
    pins = question.pins
    job = strategy.job(question.base.job)
    losses = (pins.loss,) if pins.loss is not None else LOSSES
    for deepspeed in _deepspeed_options(question, strategy):
        for loss in losses:
            yield replace(job, loss=loss, deepspeed=deepspeed)


def _deepspeed_options(question: Question, strategy: Strategy) -> Iterator[DeepSpeedOptions]:
    base = question.base.job.deepspeed
    if question.base.job.engine is not Engine.DEEPSPEED:
        yield base
        return
    buckets = (base.reduce_bucket_size,) if question.pins.buckets or strategy.stage == 0 else BUCKETS
    overlaps: tuple[bool | None, ...] = (base.overlap_comm,)
    if strategy.stage in (1, 2) and base.overlap_comm is None and question.base.world_size > 1:
        overlaps = (True, None)
    partial = strategy.stage == 3 and strategy.offload is Offload.OPTIMIZER and strategy.to is OffloadTo.CPU
    ratios = RATIOS if partial and not question.pins.buckets else (base.offload_ratio,)
    whole, fine = base.sub_group_size, min(base.sub_group_size, FINE_SUB_GROUP)
    swapped = strategy.to is OffloadTo.NVME and not question.pins.buckets and fine < whole
    for ratio in ratios:
        for overlap in overlaps:
            for group in (fine,) if ratio < 1 else (whole, fine) if swapped else (whole,):
                for bucket in buckets:
                    yield replace(
                        base,
                        reduce_bucket_size=bucket,
                        overlap_comm=overlap,
                        offload_ratio=ratio,
                        sub_group_size=group,
                    )


def checkpointings(question: Question) -> tuple[Checkpointing, ...]:
    """Activation checkpointing to try, the fastest first."""
    if question.pins.checkpointing is not None:
        return (question.pins.checkpointing,)
    return tuple(one for one in CHECKPOINTING if one.every <= question.base.model.num_layers)


def refusal(question: Question, strategy: Strategy) -> str | None:
    """Why a strategy cannot run at all, None when it can."""
    job, ranks = question.base.job, question.base.world_size
    if strategy.offload is not Offload.NONE and job.optimizer not in CPU_OPTIMIZERS:
        return f"DeepSpeed has no CPU version of {job.optimizer} to step offloaded states with"
    pinned = question.pins.stage is not None
    if ranks == 1 and strategy.offload is Offload.NONE and strategy.stage > 0 and not pinned:
        return "one GPU has nothing to shard over"
    return None
