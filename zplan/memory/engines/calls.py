"""In which order modules are called in a step, as stage 3's hooks see it, and which parameters each call concerns.

The orders are derived from the real engine (``benchmarks/derive_calls.py``) and kept as text in ``call_orders.py``: a name is a
call that begins and ends before the next one, ``+name`` and ``-name`` are its beginning and its end, ``.`` is the piece itself,
``< ... >`` are forward calls while a checkpointed block is computed again. ``name*`` (``name^`` in backward) is a linear layer
with an adapter, which calls its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from zplan.memory.engines.call_guess import guessed, with_adapters
from zplan.memory.engines.call_orders import ORDERS
from zplan.memory.engines.walk import GradOrders
from zplan.memory.params import Layout, Piece, Tensor
from zplan.spec import WeightKind

_BASE = ".base_layer"
_PARTS = (_BASE, ".lora_dropout.default", ".lora_A.default", ".lora_B.default")


class Word(NamedTuple):
    """One word of an order."""

    begins: bool
    module: str
    again: bool
    """A forward call within backward."""


@lru_cache(maxsize=1024)
def words(text: str) -> tuple[Word, ...]:
    """Reads an order."""
    found: list[Word] = []
    again = False

    def call(name: str) -> None:
        found.extend((Word(True, name, again), Word(False, name, again)))

    for token in text.split():
        if token in ("<", ">"):
            again = token == "<"
        elif token[-1] in "*^":
            name = token[:-1]
            found.append(Word(True, name, again))
            for part in _PARTS if token[-1] == "*" else _PARTS[::-1]:
                call(name + part)
            found.append(Word(False, name, again))
        elif token[0] in "+-":
            found.append(Word(token[0] == "+", token[1:].removesuffix("."), again))
        else:
            call("" if token == "." else token)
    return tuple(found)


def module_of(name: str) -> str:
    """Dotted name of the module that owns a tensor."""
    return name.rpartition(".")[0]


class Op(NamedTuple):
    """The beginning or the end of a call, with what the coordinator needs of it."""

    begins: bool
    again: bool
    module: int
    """Number of the module within its piece."""
    own: tuple[int, ...]
    """Places of the tensors that are gathered for it; persistent ones are always there."""
    walked: int
    """Elements of its own tensors, persistent ones included; 0 for a leaf, whose children own them."""
    deep: int
    """The same with all children."""
    leaf: bool
    """DeepSpeed gathers a mixture of experts as a whole (``z3_leaf_module``)."""
    whole: bool
    """It is the piece itself, or contains all pieces."""
    keys: tuple[str, ...]
    """Modules with matrices that run now."""
    graded: bool
    """It owns tensors that have gradients."""


class Ops(NamedTuple):
    """Calls of one piece."""

    forward: tuple[Op, ...]
    backward: tuple[Op, ...]
    offset: int
    """Place of the piece's first tensor among all."""


def _owners(tensors: Sequence[tuple[int, Tensor]], names: Mapping[str, int]) -> dict[str, list[tuple[int, Tensor]]]:
    """Which call gathers which tensors: the module's own, or the nearest module around it that is called.

    An adapter's first matrix belongs to the layer around it, too: peft asks for its dtype there, which registers it as an
    external parameter (``parameter_offload.py``, ``ZeROOrderedDict``).
    """
    owners: dict[str, list[tuple[int, Tensor]]] = {}
    for place, tensor in tensors:
        module = module_of(tensor.name)
        if module + _BASE in names:
            module += _BASE
        while module and module not in names:
            module = module_of(module)
        owners.setdefault(module, []).append((place, tensor))
    return owners


def _bind(
    text: str,
    modules: Iterable[str],
    tensors: Sequence[tuple[int, Tensor]],
    threshold: int,
    total: int,
    blocks: bool,
) -> Iterator[Op]:
    """Puts tensors into an order.

    Args:
        text: The order.
        modules: All that are called in any order of the piece.
        tensors: (place, tensor) of each tensor that its modules may own.
        threshold: Tensors up to this many elements are persistent.
        total: Elements of the whole piece, or of the model where modules contain the blocks.
        blocks: Whether modules without tensors contain blocks: around them, not in them.
    """
    present = {module_of(tensor.name) for _, tensor in tensors}
    numbers = {module: number for number, module in enumerate(modules) if _exists(module, present)}
    owners = _owners(tensors, numbers)
    made: dict[Word, Op] = {}
    for word in words(text):
        if word.module not in numbers:
            continue
        op = made.get(word)
        if op is None:
            op = made[word] = _op(word, numbers[word.module], owners, tensors, threshold, total, blocks)
        yield op


def _called(texts: Mapping[str, str], prefixes: tuple[str, ...]) -> dict[str, None]:
    """All modules in the orders of some pieces."""
    return {word.module: None for name, text in texts.items() if name.startswith(prefixes) for word in words(text)}


def _exists(module: str, present: set[str]) -> bool:
    """Whether a part of an adapted layer is there: adapters may be on some layers alone."""
    for part in _PARTS:
        if module.endswith(part):
            return module.removesuffix(part) + ".lora_A.default" in present
    return True


def _op(
    word: Word,
    number: int,
    owners: Mapping[str, list[tuple[int, Tensor]]],
    tensors: Sequence[tuple[int, Tensor]],
    threshold: int,
    total: int,
    blocks: bool,
) -> Op:
    mine = owners.get(word.module, [])
    leaf = any(module_of(tensor.name) not in (word.module, word.module.removesuffix(_BASE)) for _, tensor in mine)
    own = [place for place, tensor in mine if tensor.numel > threshold]
    walked = 0 if leaf else sum(tensor.numel for _, tensor in mine)
    if any(tensor.name == f"{word.module}.lora_A.default.weight" for _, tensor in tensors):
        first = next(item for item in tensors if item[1].name == f"{word.module}.lora_A.default.weight")
        if first[1].numel > threshold:
            own.append(first[0])
            walked += first[1].numel
    inside = [tensor for _, tensor in tensors if tensor.name.startswith(f"{word.module}.")]
    around = not mine and (not word.module or (blocks and (bool(inside) or word.module.startswith("base_model"))))
    return Op(
        begins=word.begins,
        again=word.again,
        module=number,
        own=tuple(sorted(own)),
        walked=walked,
        deep=total if around else sum(tensor.numel for tensor in inside),
        leaf=leaf,
        whole=around,
        keys=tuple(dict.fromkeys(module_of(t.name) for _, t in mine if len(t.shape) > 1)) if word.begins else (),
        graded=any(tensor.trainable for _, tensor in mine),
    )


EXPERTS = ".experts"


def leaf_module(piece: Piece) -> str | None:
    """The module of a kind of block that is gathered and reduced as a whole: a mixture of experts, where there is one."""
    for tensor in piece.tensors:
        if tensor.kind is WeightKind.EXPERTS:
            return module_of(tensor.name).removesuffix(EXPERTS)
    return None


def order_of(groups: Layout, kind: int, order: Sequence[int]) -> Mapping[str, str]:
    """The call orders of a kind of block, and of the stem and the head around it: derived, or the nearest to it.

    Args:
        groups: The parameters.
        kind: Which kind of block.
        order: In which order its gradients become ready.
    """
    piece = groups.kinds[kind]
    key = implementation_of(piece).split("+", maxsplit=1)[0]
    adapters = " lora" if groups.adapters else ""
    if key + adapters in ORDERS:
        return ORDERS[key + adapters]
    if key in ORDERS:
        return with_adapters(ORDERS[key])
    return guessed(piece.tensors, order, (*groups.stem.tensors, *groups.head.tensors))


def implementation_of(piece: Piece) -> str:
    """The code that a kind of block runs."""
    return piece.name.removeprefix("block:")


def model_ops(groups: Layout, orders: GradOrders, threshold: int) -> list[Ops]:
    """Calls of every piece: stem, each block, head.

    Args:
        groups: The parameters.
        orders: Which blocks are checkpointed.
        threshold: Tensors up to this many elements are persistent.
    """
    first_order = dict(zip(orders.variant_kinds, orders.variants, strict=True))
    texts = [order_of(groups, kind, first_order.get(kind, ())) for kind in range(len(groups.kinds))]
    head_offset = len(groups.stem.tensors) + sum(len(groups.kinds[kind].tensors) for kind in groups.layers)
    outside = list(enumerate(groups.stem.tensors)) + list(enumerate(groups.head.tensors, head_offset))
    if groups.tied:
        first = groups.stem.tensors[0]
        outside.append((0, Tensor("lm_head.weight", first.shape, first.numel, first.kind, first.trainable)))

    called = _called(texts[0], ("stem", "head"))

    def around(name: str) -> tuple[Op, ...]:
        return tuple(_bind(texts[0][name], called, outside, threshold, groups.shape_total + groups.adapters, True))

    stem = "stem again" if any(orders.checkpointed) else "stem backward"
    pieces = [Ops(around("stem"), around(stem), 0)]
    bound: dict[tuple[int, bool], Ops] = {}
    offset = len(groups.stem.tensors)
    for index, variant in enumerate(orders.layers):
        kind, first_one = groups.layers[index], index == 0
        known = bound.get((variant, first_one))
        if known is None:
            known = bound[variant, first_one] = _block(
                groups.kinds[kind], texts[kind], orders.checkpointed[variant], first_one, threshold
            )
        pieces.append(Ops(known.forward, known.backward, offset))
        offset += len(groups.kinds[kind].tensors)
    pieces.append(Ops(around("head"), around("head backward"), 0))
    return pieces


def in_chunks(head: Ops, chunks: int, module: str) -> Ops:
    """The head of a chunked loss: it is called once per chunk, and again for each before its backward.

    Args:
        head: Called once.
        chunks: How many parts the tokens are split into; each is checkpointed.
        module: The head's name.
    """
    if chunks == 1:
        return head
    forward = [op for op in head.forward if module in op.keys]
    backward = [op for op in head.backward if module in op.keys]
    again = [op._replace(again=True) for op in forward]
    return Ops(
        _instead(head.forward, module, forward * chunks),
        _instead(head.backward, module, (again + backward) * chunks),
        head.offset,
    )


def _instead(ops: Sequence[Op], module: str, chosen: Sequence[Op]) -> tuple[Op, ...]:
    """The calls with others in the place of one module's."""
    first = next((place for place, op in enumerate(ops) if module in op.keys), len(ops))
    return (*ops[:first], *chosen, *(op for op in ops[first:] if module not in op.keys))


def _block(piece: Piece, texts: Mapping[str, str], checkpointed: bool, first: bool, threshold: int) -> Ops:
    name = "again" if checkpointed else "backward"
    backward = texts.get(f"first {name}", texts[f"block {name}"]) if first else texts[f"block {name}"]
    called = tuple(_called(texts, ("block", "first")))
    return Ops(_bound(texts["block"], called, piece, threshold), _bound(backward, called, piece, threshold), 0)


@lru_cache(maxsize=512)
def _bound(text: str, called: tuple[str, ...], piece: Piece, threshold: int) -> tuple[Op, ...]:
    """A block's order with its tensors, which models of any depth share."""
    return tuple(_bind(text, called, list(enumerate(piece.tensors)), threshold, piece.numel, False))
