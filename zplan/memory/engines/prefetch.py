"""Stage 3's parameter coordinator, replayed: which parameters are gathered while which module runs.

Before each module the coordinator gathers the module's own tensors and then, as long as fewer than
``stage3_max_live_parameters`` elements are gathered, the next ones in the order of use (``stage3_prefetch_bucket_size`` at a
time). After a module it releases those that are not used again within ``stage3_max_reuse_distance`` elements.
Source: DeepSpeed 0.19 ``runtime/zero/partitioned_param_coordinator.py`` (``fetch_sub_module``, ``release_sub_module``).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Sequence, Set
from typing import NamedTuple

from zplan.memory.engines.calls import Op, Ops
from zplan.spec import DeepSpeedOptions


class Weights(NamedTuple):
    """What the replay knows of every parameter, by its place."""

    numel: Sequence[int]
    sizes: Sequence[int]
    """Bytes when gathered."""
    frozen: Set[int]
    stashed: Set[int]
    """Of which autograd saves a view: while that lives, releasing them frees nothing."""


class _Group:
    """Tensors that are gathered by one call: one flat buffer, from which each gets a copy of its own when the first is used.

    The flat buffer lives until the last of them is used: their registry entries share the handle that holds it
    (``partition_parameters.py``, ``AllGatherCoalescedHandle.wait``). One tensor alone is gathered in place.
    """

    __slots__ = ("flat", "left", "used")

    def __init__(self, flat: int, members: int) -> None:
        self.flat = flat if members > 1 else 0
        self.left = members
        self.used = False


ABSENT, _GATHERED = False, True


class Step(NamedTuple):
    """One call in the trace of a step."""

    backward: bool
    number: int
    """Of the piece, from 0 on."""
    op: Op
    own: tuple[int, ...]
    """Places of the tensors that are gathered for it, among all."""
    module: tuple[int, int]
    """Numbers of the piece and of the module within it."""
    around: int
    """The piece whose tensors it concerns where it concerns all; -1 outside of blocks: the model."""


class Coordinator:
    """The state of the coordinator over one forward and backward pass."""

    def __init__(
        self, trace: Sequence[Step], weights: Weights, options: DeepSpeedOptions, kept: Sequence[bool]
    ) -> None:
        self.weights, self.options, self.kept = weights, options, kept
        self._most_live, self._most_ahead = options.max_live_parameters, options.prefetch_bucket_size
        self.available = 0
        """Elements gathered, as the coordinator counts them."""
        self.bytes = 0
        """Bytes of gathered tensors, of flat buffers beside copies made from them, and of views that outlive a release."""
        self.status = [ABSENT] * len(weights.numel)
        self.active: dict[int, set[tuple[int, int]]] = {}
        """Modules that a tensor is gathered for."""
        self.in_flight: dict[int, _Group] = {}
        self.fetched_for = [-1] * len(weights.numel)
        self.views: dict[int, int] = {}
        self.running: dict[tuple[int, int], None] = {}
        """Modules whose backward has begun and not ended, in the order in which they began."""
        self.again: dict[tuple[int, int], list[int]] = {}
        """Frozen tensors by the module whose backward made them be gathered for recomputation."""
        self.copying: Sequence[int] = ()
        """Bytes each time that a module's own tensors were copied out of their buffer; none after a release."""
        self.step = self.position = 0
        self.queue: list[tuple[int, int]] = []
        self.uses: dict[int, list[int]] = {}
        self.walked, self.deep = [0], [0]
        self.around: dict[int, list[int]] = {}
        """Calls of each piece (-1: of the model) that concern all its tensors."""
        for step in trace:
            if step.op.begins:
                self._record(step)

    @property
    def fetching(self) -> int:
        """The most bytes while a module's own tensors were copied out of their buffers; 0 after a release."""
        return max(self.copying, default=0)

    def _record(self, step: Step) -> None:
        number, op = len(self.walked) - 1, step.op
        for place in step.own:
            self.queue.append((place, number))
            self.uses.setdefault(place, []).append(number)
        if op.leaf or op.whole:
            self.around.setdefault(step.around, []).append(number)
        self.walked.append(self.walked[-1] + op.walked)
        self.deep.append(self.deep[-1] + op.deep)

    def _gather(self, places: list[int]) -> None:
        """Starts one all-gather."""
        sizes = self.weights.sizes
        size = 0
        group = _Group(0, len(places))
        for place in places:
            self.status[place] = _GATHERED
            self.in_flight[place] = group
            self.available += self.weights.numel[place]
            size += sizes[place]
        self.bytes += size
        group.flat = size if len(places) > 1 else 0

    def _wait(self, place: int) -> None:
        """A tensor is used: its group's flat buffer is copied from, and freed after the last of the group."""
        group = self.in_flight.pop(place, None)
        if group is None:
            return
        group.left -= 1
        if not group.used:
            group.used = True
            self.bytes += group.flat
            self.copying = (*self.copying, self.bytes)
        if not group.left:
            self.bytes -= group.flat

    def fetch(self, step: Step) -> None:
        """Gathers a module's tensors and prefetches the next ones."""
        self.copying = ()
        if step.backward and not step.op.again:
            self.running.setdefault(step.module)
        if step.own:
            self._fetch_own(step)
        limit = min(self._most_live - self.available, self._most_ahead)
        if limit > 0:
            self._prefetch(limit)
        self.step += 1

    def _fetch_own(self, step: Step) -> None:
        if absent := [place for place in step.own if self.status[place] == ABSENT]:
            self._gather(absent)
        missing, module = 0, step.module
        for place in step.own:
            users = self.active.setdefault(place, set())
            users.add(module)
            self._wait(place)
            if step.op.again and self.running and place in self.weights.frozen:
                # Frozen tensors are held for the module whose backward recomputes (``update_recompute_parameters``).
                owner = next(reversed(self.running))
                users.add(owner)
                self.again.setdefault(owner, []).append(place)
            missing += self.fetched_for[place] < self.step
        for place, last_use in self.queue[self.position : self.position + missing]:
            self.fetched_for[place] = last_use
        self.position += missing

    def _prefetch(self, limit: int) -> None:
        queue, status, numel, fetched_for = self.queue, self.status, self.weights.numel, self.fetched_for
        position, length, prefetching = self.position, len(queue), 0
        chosen: list[int] = []
        while position < length and prefetching < limit:
            place, last_use = queue[position]
            position += 1
            fetched_for[place] = max(fetched_for[place], last_use)
            if status[place] == ABSENT and place not in chosen:
                chosen.append(place)
                prefetching += numel[place]
        self.position = position
        if chosen:
            self._gather(chosen)

    def _used_again(self, place: int, step: Step) -> bool:
        """Whether a tensor is used again within the reuse distance.

        After a leaf, modules count with all their children (``iter_params(module, recurse=...)``).
        """
        now, limit = self.step, self.options.max_reuse_distance
        if step.op.leaf:
            calls = (self.around.get(piece, []) for piece in (-1, step.number))
            around = [known[at] for known in calls if (at := bisect_left(known, now)) < len(known)]
            return bool(around) and self.deep[min(around)] - self.deep[now] < limit
        uses = self.uses[place]
        at = bisect_left(uses, now)
        return at < len(uses) and self.walked[uses[at]] - self.walked[now] < limit

    def release(self, step: Step) -> None:
        """Releases a module's tensors unless they are used again soon or were already fetched for a later use."""
        op, module, own, ended = step.op, step.module, step.own, step.backward and not step.op.again
        self.copying = ()
        if not own and not ended:
            return
        free = [p for p in own if self.fetched_for[p] <= self.step and not self._used_again(p, step)]
        if ended:
            self.running.pop(module, None)
            if again := self.again.pop(module, None):
                own = tuple(dict.fromkeys((*own, *again)))
                free = list(dict.fromkeys((*free, *again)))
            if self.views:
                self.bytes -= sum(self.views.pop(place, 0) for place in own)
        saved = op.again or (not step.backward and self.kept[step.number])
        for place in own:
            self.active[place].discard(module)
        for place in free:
            if self.status[place] == _GATHERED and place not in self.in_flight and not self.active[place]:
                self.status[place] = ABSENT
                self.available -= self.weights.numel[place]
                if saved and place in self.weights.stashed:
                    self.views[place] = self.weights.sizes[place]
                else:
                    self.bytes -= self.weights.sizes[place]


def trace_of(pieces: Sequence[Ops]) -> list[Step]:
    """All calls of a step in order: forward, then backward."""
    trace: list[Step] = []
    for number, piece in enumerate(pieces):
        trace += _steps(False, number, piece.forward, piece.offset)
    for number in range(len(pieces) - 1, -1, -1):
        trace += _steps(True, number, pieces[number].backward, pieces[number].offset)
    return trace


def _steps(backward: bool, number: int, ops: Sequence[Op], offset: int) -> list[Step]:
    around = number if offset else -1
    return [
        Step(
            backward,
            number,
            op,
            tuple([place + offset for place in op.own]) if op.own else (),
            (number, op.module),
            around,
        )
        for op in ops
    ]


def replay(
    trace: Sequence[Step], coordinator: Coordinator, before: Callable[[Step], None] | None = None
) -> Iterator[Step]:
    """Replays one traced forward and backward pass.

    Args:
        trace: The calls.
        coordinator: Made for them.
        before: Told of the first call of each piece in each direction, before it happens.

    Yields:
        Every call, right after the coordinator has seen it.
    """
    where = (False, -1)
    for step in trace:
        if before is not None and where != step[:2]:
            where = step[:2]
            before(step)
        if step.op.begins:
            coordinator.fetch(step)
        else:
            coordinator.release(step)
        yield step
