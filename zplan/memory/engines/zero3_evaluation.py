"""Stage 3 without gradients: which parameters are gathered while an evaluation batch runs.

The coordinator knows training steps alone: it keeps the last blocks gathered for a backward pass and prefetches for it. When
none comes, nothing releases them before the next batch, which starts to count anew and gathers its own beside them.
Source: DeepSpeed 0.19 ``runtime/zero/partitioned_param_coordinator.py`` (``reset_step``, ``_clean_inflight_param_registry``)
and ``parameter_offload.py`` (``_start_of_forward_hook``).
"""

from __future__ import annotations

from collections.abc import Sequence

from zplan.memory.engines.base import StateBytes
from zplan.memory.engines.calls import model_ops
from zplan.memory.engines.prefetch import ABSENT, Coordinator, Step, Weights, trace_of
from zplan.memory.engines.walk import GradOrders, constant_track
from zplan.memory.engines.zero3_gather import PieceLevels, track_of, weights_of
from zplan.memory.params import Layout, keeps_fp32_adapters
from zplan.memory.timeline import Track, level
from zplan.spec import DeepSpeedOptions, Job, Offload

BATCHES = 2
"""Batches that are replayed; the last one counts."""


class _Evaluation(Coordinator):
    """A coordinator whose passes end after forward.

    What a module's end releases is decided once, in the first pass with a trace, and remembered (``__params_to_release`` has an
    ``lru_cache``).
    """

    def __init__(
        self, trace: Sequence[Step], weights: Weights, options: DeepSpeedOptions, kept: Sequence[bool]
    ) -> None:
        super().__init__(trace, weights, options, kept)
        self.decided: dict[tuple[int, int, int], list[int]] = {}

    def release(self, step: Step) -> None:
        """Releases what was decided the first time."""
        module = (step.number, step.op.module)
        own = step.own
        free = self.decided.get((self.step, step.number, step.op.module))
        if free is None:
            free = [p for p in own if self.fetched_for[p] <= self.step and not self._used_again(p, step)]
            self.decided[self.step, step.number, step.op.module] = free
        for place in own:
            self.active[place].discard(module)
        for place in free:
            if self.status[place] != ABSENT and place not in self.in_flight and not self.active[place]:
                self.status[place] = ABSENT
                self.available -= self.weights.numel[place]
                self.bytes -= self.weights.sizes[place]

    def restart(self) -> None:
        """The next batch: what is in flight is released, what was left gathered stays, and is no longer counted."""
        for place in list(self.in_flight):
            self._wait(place)
            self.status[place] = ABSENT
            self.bytes -= self.weights.sizes[place]
        self.available = self.position = self.step = 0
        self.fetched_for = [-1] * len(self.fetched_for)


def evaluation_track(groups: Layout, orders: GradOrders, job: Job, states: StateBytes, ranks: int) -> Track:
    """Gathered parameters along the forward pass of an evaluation batch.

    Args:
        groups: The parameters.
        orders: Of a training step, whose trace the coordinator follows.
        job: Offload, and the coordinator's limits.
        states: Bytes per element.
        ranks: N; one rank's partition is the whole tensor, unless it is on the host.
    """
    if ranks == 1 and job.offload is not Offload.ALL:
        return constant_track(groups, orders, level())
    pieces = model_ops(groups, orders, job.deepspeed.param_persistence_threshold)
    trace = trace_of(pieces)
    forward = [step for step in trace if not step.backward]
    adapter_bytes = 4 if keeps_fp32_adapters(job) else states.param
    weights = weights_of(groups, job.deepspeed, states.param, adapter_bytes)
    # Nothing is kept by autograd.
    coordinator = _Evaluation(trace, weights, job.deepspeed, [False] * len(pieces))
    levels = PieceLevels(len(orders.layers))
    for batch in range(BATCHES):
        coordinator.restart()
        for step in forward:
            if step.op.begins:
                coordinator.fetch(step)
            else:
                coordinator.release(step)
            if batch == BATCHES - 1:
                levels.add(step, coordinator.bytes)
    return track_of(False, levels, orders)
