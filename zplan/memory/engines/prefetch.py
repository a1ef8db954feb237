"""Stage 3's parameter coordinator, replayed: which parameters are gathered while which module runs.

Before each module the coordinator gathers the module's own tensors and then, as long as fewer than
``stage3_max_live_parameters`` elements are gathered, the next ones in the order of use (``stage3_prefetch_bucket_size`` at a
time). After a module it releases those that are not used again within ``stage3_max_reuse_distance`` elements.
Source: DeepSpeed 0.19 ``runtime/zero/partitioned_param_coordinator.py`` (``fetch_sub_module``, ``release_sub_module``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass

from zplan.memory.engines.walk import GradOrders
from zplan.memory.params import Layout, Tensor
from zplan.spec import DeepSpeedOptions

Own = tuple[tuple[int, int], ...]
"""(index among all parameters, elements) of a module's own tensors."""


@dataclass(frozen=True, slots=True)
class Call:
    """One module call of a pass: the module's place and its own tensors."""

    piece: int
    """-1 stem, 0..L-1 block, L head."""
    module: str
    own: Own
    """Persistent tensors left out: they are always there."""


def module_of(tensor_name: str) -> str:
    """Dotted name of the module that owns a tensor."""
    return tensor_name.rpartition(".")[0]


def _leaves(tensors: Sequence[Tensor], order: Sequence[int], offset: int, threshold: int) -> list[tuple[str, Own]]:
    """Modules with tensors in forward order, which is the reverse of the order in which gradients become ready."""
    own: dict[str, list[tuple[int, int]]] = {}
    frozen = [which for which, tensor in enumerate(tensors) if not tensor.trainable]
    for which in (*reversed(order), *frozen):
        tensor = tensors[which]
        group = own.setdefault(module_of(tensor.name), [])
        if tensor.numel > threshold:
            group.append((offset + which, tensor.numel))
    return [(module, tuple(sorted(group))) for module, group in own.items()]


def _calls(piece: int, leaves: Sequence[tuple[str, Own]]) -> tuple[Call, ...]:
    """Calls of a pass over the leaves, with a call for each container (the block, ``self_attn``, ``mlp``) before its first child.

    The coordinator hooks every module, so containers prefetch too. Modules without tensors inside of a container
    (activations, rotary embeddings) are not listed.
    """
    calls, seen = [Call(piece, "", ())], {""}
    for module, own in leaves:
        parent = module.rpartition(".")[0]
        if parent not in seen:
            seen.add(parent)
            calls.append(Call(piece, parent, ()))
        calls.append(Call(piece, module, own))
    return tuple(calls)


@dataclass(frozen=True, slots=True)
class PieceCalls:
    """Module calls of one piece in either direction."""

    forward: tuple[Call, ...]
    backward: tuple[Call, ...]


def _piece_calls(piece: int, leaves: Sequence[tuple[str, Own]]) -> PieceCalls:
    return PieceCalls(_calls(piece, leaves), _calls(piece, leaves[::-1]))


def model_calls(groups: Layout, orders: GradOrders, threshold: int) -> list[PieceCalls]:
    """Calls of every piece: stem, each block, head."""
    pieces = [_piece_calls(-1, _leaves(groups.stem.tensors, orders.stem, 0, threshold))]
    offset = len(groups.stem.tensors)
    for index, variant in enumerate(orders.layers):
        tensors = groups.kinds[groups.layers[index]].tensors
        pieces.append(_piece_calls(index, _leaves(tensors, orders.variants[variant], offset, threshold)))
        offset += len(tensors)
    head = _leaves(groups.head.tensors, orders.head, offset, threshold)
    if groups.tied:
        head.append(("lm_head", ((0, groups.stem.tensors[0].numel),)))
    pieces.append(_piece_calls(len(orders.layers), head))
    return pieces


@dataclass(frozen=True, slots=True)
class Gathered:
    """Elements gathered while a module runs."""

    backward: bool
    piece: int
    module: str
    numel: int


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


class _Coordinator:
    """The state of the coordinator over one forward and backward pass."""

    def __init__(self, trace: Sequence[tuple[bool, Call]], options: DeepSpeedOptions, stashable: Set[int]) -> None:
        self.options = options
        self.stashable = stashable
        self.stashed: dict[int, int] = {}
        self.stash = 0
        """Elements of released weights that autograd still holds."""
        self.available = 0
        self.flats = 0
        """Elements of flat buffers that live beside the copies made from them."""
        self.gathered: set[int] = set()
        self.in_flight: dict[int, _Group] = {}
        self.fetched_for: dict[int, int] = {}
        self.queue: list[tuple[int, int, int]] = []
        self.position = 0
        self.walked = [0]
        self.uses: dict[int, list[int]] = {}
        for step, (_, call) in enumerate(trace):
            total = 0
            for index, numel in call.own:
                self.queue.append((index, numel, step))
                self.uses.setdefault(index, []).append(step)
                total += numel
            self.walked.append(self.walked[-1] + total)

    def _gather(self, tensors: Sequence[tuple[int, int]]) -> int:
        """Starts one all-gather; returns its elements."""
        if not tensors:
            return 0
        numel = sum(size for _, size in tensors)
        group = _Group(numel, len(tensors))
        for index, _ in tensors:
            self.gathered.add(index)
            self.in_flight[index] = group
        self.available += numel
        return numel

    def _wait(self, index: int) -> None:
        """A tensor is used: its group's flat buffer is copied from, and freed after the last of the group."""
        group = self.in_flight.pop(index, None)
        if group is None:
            return
        group.left -= 1
        if not group.used:
            group.used = True
            self.flats += group.flat
        if not group.left:
            self.flats -= group.flat

    def fetch(self, call: Call, step: int) -> None:
        """Gathers a module's tensors and prefetches the next ones."""
        self._gather([(index, numel) for index, numel in call.own if index not in self.gathered])
        missing = 0
        for index, _ in call.own:
            self._wait(index)
            missing += self.fetched_for.get(index, -1) < step
        for index, _, last_use in self.queue[self.position : self.position + missing]:
            self.fetched_for[index] = last_use
        self.position += missing
        limit = min(self.options.max_live_parameters - self.available, self.options.prefetch_bucket_size)
        prefetching = 0
        chosen: list[tuple[int, int]] = []
        while self.position < len(self.queue) and prefetching < limit:
            index, numel, last_use = self.queue[self.position]
            self.position += 1
            self.fetched_for[index] = max(self.fetched_for.get(index, -1), last_use)
            if index not in self.gathered and index not in (taken for taken, _ in chosen):
                chosen.append((index, numel))
                prefetching += numel
        self._gather(chosen)

    def release(self, call: Call, step: int, backward: bool) -> None:
        """Releases a module's tensors unless they are used again soon or were already fetched for a later use."""
        for index, numel in call.own:
            if index not in self.gathered or self.fetched_for.get(index, -1) > step:
                continue
            following = next((use for use in self.uses[index] if use > step), None)
            if (
                following is not None
                and self.walked[following] - self.walked[step + 1] < self.options.max_reuse_distance
            ):
                continue
            self.gathered.discard(index)
            self.available -= numel
            if index in self.stashable and not backward:
                self.stashed[index] = numel
                self.stash += numel

    def used_up(self, call: Call) -> None:
        """A module's backward is over: autograd lets go of the weights that it saved."""
        for index, _ in call.own:
            self.stash -= self.stashed.pop(index, 0)


def replay(
    pieces: Sequence[PieceCalls], checkpointed: Sequence[bool], options: DeepSpeedOptions, stashable: Set[int]
) -> Iterator[Gathered]:
    """Replays one traced forward and backward pass.

    Args:
        pieces: Calls of stem, blocks and head in forward order.
        checkpointed: For each block whether it is recomputed in backward.
        options: Limits of the coordinator.
        stashable: Tensors that autograd saves as they are gathered, so that releasing them in forward frees nothing.

    Yields:
        For every module call how many elements are gathered, or still held by autograd, while it runs.
    """
    trace: list[tuple[bool, Call]] = [(False, call) for piece in pieces for call in piece.forward]
    depth = len(pieces) - 2
    for number in range(len(pieces) - 1, -1, -1):
        if 1 <= number <= depth and checkpointed[number - 1]:
            trace += [(True, call) for call in pieces[number].forward]
        trace += [(True, call) for call in pieces[number].backward]
    coordinator = _Coordinator(trace, options, stashable)
    for step, (backward, call) in enumerate(trace):
        coordinator.fetch(call, step)
        held = coordinator.available + coordinator.flats + coordinator.stash
        yield Gathered(backward, call.piece, call.module, held)
        coordinator.release(call, step, backward)
        if backward:
            coordinator.used_up(call)
