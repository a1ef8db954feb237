"""Stage 3 without gradients: which parameters are gathered while an evaluation batch runs.

The coordinator knows training steps alone: it keeps the last blocks gathered for a backward pass and prefetches for it. When
none comes, nothing releases them before the next batch, which starts to count anew and gathers its own beside them.
Source: DeepSpeed 0.19 ``runtime/zero/partitioned_param_coordinator.py`` (``reset_step``, ``_clean_inflight_param_registry``)
and ``parameter_offload.py`` (``_start_of_forward_hook``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from zplan.memory.engines.base import StateBytes
from zplan.memory.engines.prefetch import Call, Gathered, PieceCalls, _Coordinator, model_calls
from zplan.memory.engines.walk import GradOrders, constant_track
from zplan.memory.engines.zero3 import _track
from zplan.memory.params import Layout
from zplan.memory.timeline import Track, level
from zplan.spec import DeepSpeedOptions, Job, Offload

BATCHES = 2
"""Batches that are replayed; the last one counts."""


class _Evaluation(_Coordinator):
    """A coordinator whose passes end after forward."""

    __slots__ = ("left",)

    def __init__(self, trace: Sequence[tuple[bool, Call]], options: DeepSpeedOptions) -> None:
        super().__init__(trace, options, frozenset())
        self.left = 0
        """Elements that earlier batches left gathered, which ``available`` no longer counts."""

    def restart(self) -> None:
        """The next batch: what is in flight is released, what was left gathered stays."""
        numels = {index: numel for index, numel, _ in self.queue}
        for index in list(self.in_flight):
            self._wait(index)
            self.gathered.discard(index)
            self.available -= numels[index]
        self.left += self.available
        self.available = self.position = 0
        self.fetched_for.clear()

    @property
    def held(self) -> int:
        """Elements gathered now."""
        return self.left + self.available + self.flats


def _replay(
    pieces: Sequence[PieceCalls], checkpointed: Sequence[bool], options: DeepSpeedOptions
) -> Iterator[Gathered]:
    """For every module call of the last batch how many elements are gathered while it runs."""
    forward = [call for piece in pieces for call in piece.forward]
    trace = [(False, call) for call in forward]
    depth = len(pieces) - 2
    for number in range(len(pieces) - 1, -1, -1):
        if 1 <= number <= depth and checkpointed[number - 1]:
            trace += [(True, call) for call in pieces[number].forward]
        trace += [(True, call) for call in pieces[number].backward]
    coordinator = _Evaluation(trace, options)
    for batch in range(BATCHES):
        coordinator.restart()
        for step, call in enumerate(forward):
            coordinator.fetch(call, step)
            if batch == BATCHES - 1:
                yield Gathered(False, call.piece, call.module, coordinator.held)
            coordinator.release(call, step, False)


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
    pieces = model_calls(groups, orders, job.deepspeed.param_persistence_threshold)
    collected: dict[tuple[bool, int], dict[str, int]] = {}
    for entry in _replay(pieces, [orders.checkpointed[variant] for variant in orders.layers], job.deepspeed):
        modules = collected.setdefault((False, entry.piece), {"": 0})
        for key in (entry.module, ""):
            modules[key] = max(modules.get(key, 0), entry.numel)
    return _track(False, collected, orders, states.param)
