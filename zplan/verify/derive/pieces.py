"""From logs of several runs to the symbolic timeline of each piece."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

from zplan.memory.activations.base import AT_HOOK
from zplan.verify.derive.forms import Namer, Poly, add
from zplan.verify.derive.recorder import Event, Log

SCALAR = 8
"""Bytes that a single number takes at most."""


@dataclass
class Row:
    """One instant, in symbols."""

    module: str
    ready: int
    pending: str
    """Weight whose gradient exists but is not handed over ('' for none)."""
    form: Poly
    """Live bytes, without ``pending``'s gradient."""
    pending_form: Poly = field(default_factory=dict)
    """Bytes of ``pending``'s gradient."""
    place: int = 0
    """How many modules of the piece's trail have begun."""


@dataclass
class Piece:
    """One piece, in symbols."""

    kept: Poly
    frame: Poly
    """Live while later pieces run forward, gone before the loss head."""
    cache: Poly
    """Weight copies that autocast's cache holds until the forward pass ends."""
    forward: list[Row]
    backward: list[Row]
    order: list[str]
    """Weights in the order in which their gradients are handed over."""
    input_grad: Poly
    held: Poly = field(default_factory=dict)
    """Weight gradient that autograd holds until another piece has added its part (tied embedding)."""
    trails: tuple[list[str], list[str]] = field(default_factory=lambda: ([], []))
    """The modules that run one after the other, in forward and in backward."""


class Timeline:
    """The logs of runs at different dimensions, replayed together.

    Args:
        logs: One per run; the model code must have done the same operations in each.
        namer: Finds formulas for sizes.
        head: Number of the head piece (layers + 1).
        shapes: Parameter name -> bytes of its gradient, of the first run, to tell which of two pending ones is larger.
    """

    def __init__(self, logs: Sequence[Log], namer: Namer, head: int) -> None:
        self.log = logs[0]
        self.namer = namer
        self.head = head
        if any(len(log.sizes) != len(self.log.sizes) or len(log.events) != len(self.log.events) for log in logs):
            raise ValueError("runs at different dimensions did different operations")
        self.sizes = list(zip(*(log.sizes for log in logs), strict=True))
        self.grads: dict[int, str] = {uid: name for name, uid in self.log.ready}

    @cached_property
    def births(self) -> list[Event]:
        """Events at which a tensor was born: live bytes are largest only there."""
        found, before = [], frozenset[int]()
        for event in self.log.events:
            if event.live - before:
                found.append(event)
            before = event.live
        return found

    def owner(self, uid: int) -> int:
        """Returns the piece that a forward tensor belongs to: the one that takes it as input, else its maker."""
        return self.log.inputs.get(uid, self.log.born[uid][1])

    def poly(self, uid: int) -> Poly:
        """Returns the bytes of one storage."""
        return self.namer.name(self.sizes[uid])

    def total(self, uids: set[int] | frozenset[int]) -> Poly:
        """Returns the bytes of these storages."""
        return add(self.poly(uid) for uid in uids)

    def first(self, phase: str, piece: int) -> Event:
        """Returns the first event of a piece."""
        return next(event for event in self.log.events if event.phase == phase and event.piece == piece)

    def piece(self, index: int) -> Piece:
        """Returns the symbolic timeline of one piece."""
        kept, frame, cached = self._outliving(index)
        order = [name for event, name in self._handed_over() if event == index]
        return Piece(
            kept=self.total(kept),
            frame=self.total(frame),
            cache=self.total(cached),
            forward=self._forward(index),
            backward=self._backward(index, order),
            order=order,
            input_grad=self.total({uid for uid, piece in self.log.inputs.items() if piece == index}),
            held=self.total(self._held()) if index == self.head else {},
            trails=(self._trail("forward", index)[0], self._trail("backward", index)[0]),
        )

    def _trail(self, phase: str, index: int) -> tuple[list[str], dict[int, int]]:
        """The modules that run in a piece, one after the other, and how many have begun by each event."""
        trail: list[str] = []
        places: dict[int, int] = {}
        for event in self.log.events:
            if event.phase == phase and event.piece == index:
                if event.module and trail[-1:] != [event.module]:
                    trail.append(event.module)
                places[id(event)] = len(trail)
        return trail, places

    def _outliving(self, index: int) -> tuple[set[int], set[int], set[int]]:
        """Storages of a piece that are kept for backward, held by the model's frame, held by autocast's cache."""
        mine = {
            uid for uid in range(len(self.sizes)) if self.log.born[uid][0] == "forward" and self.owner(uid) == index
        }
        kept = mine & self.log.last_live
        cached = (mine & self.log.cached_live) - kept
        if index == self.head:
            return kept, set(), cached
        if index == 0:  # while the last block runs; a head without a norm starts after the frame is gone
            blocks = [event for event in self.log.events if event.phase == "forward" and event.piece == self.head - 1]
            later = blocks[-1].live
            # What the first block is called with has a name in the model's frame, too.
            mine |= {uid for uid, piece in self.log.inputs.items() if piece == 1} - self.log.last_live
        else:
            later = self.first("forward", self.head).live
        return kept, (mine & later) - kept - cached, cached

    def _carried(self, index: int) -> set[int]:
        """Storages of the block before that only die while this block runs forward (the loop's variable holds them).

        Under the head they are left out: the block that made them peaked higher.
        """
        if index < 2 or index == self.head:
            return set()
        before = self.first("forward", index).live
        found = {uid for uid in before if self.owner(uid) == index - 1}.difference(*self._outliving(index - 1))
        late = found & self.first("forward", index + 1).live
        if late:
            raise ValueError(f"held for more than one block: {[self.log.origin[uid] for uid in late]}")
        return found

    def _counts(self, uid: int, index: int) -> bool:
        """Whether a live storage belongs to the backward of this piece; the loss and its gradient are the head's."""
        phase, piece = self.log.born[uid]
        if phase == "forward":
            return self.owner(uid) == index
        return index == self.head or piece != self.head or self.log.sizes[uid] > SCALAR

    def _handed_over(self) -> list[tuple[int, str]]:
        """(piece, weight) in order of hand-over."""
        pieces: list[tuple[int, str]] = []
        previous = self.log.events[0]
        for event in self.log.events:
            while event.ready > len(pieces):
                pieces.append((previous.piece, self.log.ready[len(pieces)][0]))
            previous = event
        while len(self.log.ready) > len(pieces):
            pieces.append((self.log.events[-1].piece, self.log.ready[len(pieces)][0]))
        return pieces

    def _held(self) -> frozenset[int]:
        """Weight gradients made by the head that are still there when the stem runs backward.

        The gradient of the residual stream lives as long, since autograd adds to it in place; it is each piece's own.
        """
        start = next((e.live for e in self.log.events if e.phase == "backward" and e.piece == 0), frozenset[int]())
        streams = {self.sizes[uid] for uid, piece in self.log.inputs.items() if piece == self.head}
        born = self.log.born
        return frozenset(
            uid
            for uid in start
            if born[uid][1] == self.head and self.log.sizes[uid] > SCALAR and self.sizes[uid] not in streams
        )

    def _forward(self, index: int) -> list[Row]:
        rows = []
        carried, places = self._carried(index), self._trail("forward", index)[1]
        for event in self.births:
            if event.phase == "forward" and event.piece == index:
                mine = {uid for uid in event.live if self.log.born[uid][1] <= index <= self.owner(uid)}
                mine |= {uid for uid in event.live if self.log.born[uid][1] == index or uid in carried}
                rows.append(Row(event.module, 0, "", self.total(mine), place=places[id(event)]))
        return rows

    def _backward(self, index: int, order: Sequence[str]) -> list[Row]:
        if not any(event.phase == "backward" and event.piece == index for event in self.births):
            return []  # a frozen stem has no backward
        start = self.first("backward", index).ready
        held = self._held() if index != self.head else frozenset()
        rows, known = [], set(order)
        places = self._trail("backward", index)[1]
        for event in self.births:
            if event.phase != "backward" or event.piece != index:
                continue
            live = {uid for uid in event.live if uid not in held and self._counts(uid, index)}
            grads = [uid for uid in live if self.grads.get(uid) in known]
            main = max(grads, key=lambda uid: self.log.sizes[uid], default=None)
            following = order[event.ready - start :][:1]
            if (
                main is not None
                and _is_stacked(self.grads[main])
                and not any(self.grads[u] in following for u in grads)
            ):
                main = None  # waits: what is handed over before it does not exist yet
            pending = "" if main is None else self.grads[main]
            waiting = {} if main is None else self.poly(main)
            form = self.total(live - {main})
            rows.append(Row(event.module, event.ready - start, pending, form, waiting, places[id(event)]))
        return rows if index in (0, self.head) else self._with_hooks(index, rows, start, held)

    def _with_hooks(self, index: int, rows: list[Row], start: int, held: frozenset[int]) -> list[Row]:
        """Adds to a block's instants those at which its gradients are handed over."""
        places = self._trail("backward", index)[1]
        found, previous = list(rows), self.log.events[0]
        for event in (*self.log.events, None):
            ready = len(self.log.ready) if event is None else event.ready
            for number in range(previous.ready, ready):
                if previous.piece != index or previous.phase != "backward":
                    continue
                name, grad = self.log.ready[number]
                live = {u for u in self.log.at_hooks[number] if u not in held and self._counts(u, index)} - {grad}
                place = places[id(previous)]
                row = Row(previous.module, number - start, AT_HOOK + name, self.total(live), self.poly(grad), place)
                at = next((i for i, one in enumerate(found) if one.ready > number - start), len(found))
                found.insert(at, row)
            previous = event or previous
        return found


def _is_stacked(name: str) -> bool:
    """Whether a weight is an adapter of stacked experts, whose gradient takes several operators to be handed over."""
    return ".experts." in name and ".lora_" in name
