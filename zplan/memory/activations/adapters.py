"""Adapters on some linear layers only: from the tables with adapters on all of them.

An adapter keeps its layer's input and its own small product. Where a layer has no adapter, its small product is gone, and
its input is as well unless another adapter or the code around it keeps it: a frozen linear layer keeps nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from itertools import zip_longest
from typing import NamedTuple

from zplan.memory.activations.base import AFTER_MODULE
from zplan.memory.activations.table import Row, Table
from zplan.memory.adapted import ALL_LINEAR, MODULE_KINDS, Adapter, adapter, with_adapters
from zplan.spec import Lora, Weight, WeightKind

MATRICES = (WeightKind.LINEAR, WeightKind.CONV1D)
SAME_INPUT = (frozenset({"q_proj", "k_proj", "v_proj"}), frozenset({"gate_proj", "up_proj"}))
"""Layers that read the same tensor."""
ATTENTION_OUTPUT = ("o_proj", "out_proj", "attn.c_proj", "attention.dense", "self_attention.dense", "self_attn.dense")
"""Layers whose input attention keeps anyway."""


def has_adapter(weight: Weight, lora: Lora, family: str = "") -> bool:
    """Whether peft puts an adapter on this layer of a block."""
    found = adapter(weight, lora, family)
    return found is not None and not found.wraps_parameter


def adapter_names(weights: Sequence[Weight], lora: Lora | None, family: str) -> list[str]:
    """Returns the names of a piece's weights, with two adapter matrices after each adapted one's, as peft has them."""
    names: list[str] = []
    for item in with_adapters(weights, lora, family):
        names += [name for name, _ in item.matrices()] if isinstance(item, Adapter) else [item.name]
    return names


class Without(NamedTuple):
    """Which layers of a block have no adapter, and what that saves, in bytes per token."""

    order: tuple[str, ...]
    """Linear layers in the order in which they run."""
    absent: frozenset[str]
    product_bytes: int
    """Of one adapter's small product, 2 R."""
    input_bytes: Mapping[str, int]
    """By layer: its input, once per input that no adapter reads any more; listed at the first layer that reads it."""
    position: Mapping[str, int] = field(default_factory=dict)
    copy_bytes: Mapping[str, int] = field(default_factory=dict)
    """By layer: 16-bit copies of its adapter's weights, which autocast makes and autograd keeps; whatever the batch."""

    def copies(self, first: int, last: int) -> int:
        """The same of those copies."""
        return sum(self.copy_bytes.get(name, 0) for name in self.order[first:last])

    def saved(self, first: int, last: int) -> int:
        """What is saved while layers ``first`` to ``last`` (not included) of the order hold what they keep."""
        layers = self.order[first:last]
        return sum(self.product_bytes * (name in self.absent) + self.input_bytes.get(name, 0) for name in layers)


def dropout_bytes(weights: Sequence[Weight], lora: Lora) -> int:
    """Bytes per token that a block keeps more where each adapter has dropout.

    Formula: 3 in per adapter (its dropped input in 16 bits and a mask of one byte), less 2 in for each input that adapters
    shared and nothing else keeps.
    Source: peft ``tuners/lora/layer.py`` (``lora_A(dropout(x))``); torch ``native_dropout`` keeps its mask.
    """
    layers = {w.name.removesuffix(".weight"): w for w in weights if has_adapter(w, lora)}
    one_norm = _has_one_norm(weights)
    more, shared = 0, {}
    for name, weight in layers.items():
        fan_in = weight.shape[0] if weight.kind is WeightKind.CONV1D else weight.shape[1]
        more += 3 * fan_in
        group = _input_of(name, one_norm, layers)
        if group:
            shared[group] = 2 * fan_in
    return more - sum(shared.values())


def input_sizes(weights: Sequence[Weight], *, with_attention: bool) -> list[int]:
    """Bytes per token of each tensor that linear layers read, in 16 bits.

    Args:
        weights: The block's.
        with_attention: Count attention's output, which is kept anyway.
    """
    layers = {w.name.removesuffix(".weight"): w for w in weights if w.kind in MODULE_KINDS and len(w.shape) == 2}
    one_norm, found = _has_one_norm(weights), {}
    for name, weight in layers.items():
        group = _input_of(name, one_norm, layers)
        if group or with_attention:
            found[group] = _fan_in_bytes(weight)
    return list(found.values())


def _has_one_norm(weights: Sequence[Weight]) -> bool:
    return sum(weight.kind is WeightKind.NORM and weight.name.endswith(".weight") for weight in weights) == 1


def layer_of(module: str) -> str:
    """The linear layer that a module is, or is an adapter of."""
    return module.split(".lora_", maxsplit=1)[0]


def without(
    weights: Sequence[Weight],
    order: Sequence[str],
    lora: Lora,
    family: str,
    *,
    keeps_inputs: bool = False,
    wide: bool = False,
    cast: bool = False,
) -> Without | None:
    """Returns what is missing against adapters on every linear layer; None where nothing is.

    Args:
        weights: The block's.
        order: Gradient order of the table with all adapters: layers from last to first.
        lora: The adapters.
        family: The ``model_type``.
        keeps_inputs: Frozen layers keep their inputs, too (DeepSpeed ``LinearFunctionForZeroStage3``).
        wide: Adapters are fp32, and each casts its input for itself.
        cast: Adapters are fp32 under autocast, which casts each one's input, and its weights, to 16 bits.
    """
    everywhere = replace(lora, targets=ALL_LINEAR)
    layers = {w.name.removesuffix(".weight"): w for w in weights if has_adapter(w, everywhere, family)}
    absent = frozenset(name for name, weight in layers.items() if not has_adapter(weight, lora, family))
    if not absent:
        return None
    known = dict.fromkeys(layer_of(name) for name in reversed(order) if ".lora_" in name)
    running = tuple(name for name in known if name in layers)
    one_norm = _has_one_norm(weights)
    inputs: dict[str, list[str]] = {}
    for name in running:
        inputs.setdefault(_input_of(name, one_norm, layers), []).append(name)
    saved = {}
    for group, readers in inputs.items():
        if group and not keeps_inputs and all(name in absent for name in readers):
            saved[readers[0]] = _fan_in_bytes(layers[readers[0]])
    if wide:
        saved = {name: 2 * size for name, size in ((n, _fan_in_bytes(layers[n])) for n in absent)}
    copies = {}
    if cast:
        saved = {name: _fan_in_bytes(layers[name]) for name in absent}
        copies = {name: 2 * lora.rank * sum(layers[name].shape) for name in absent}
    positions = {name: index for index, name in enumerate(running)}
    return Without(running, absent, (4 if wide else 2) * lora.rank, saved, positions, copies)


def _fan_in_bytes(weight: Weight) -> int:
    """Bytes per token of what a layer reads, in 16 bits."""
    return 2 * (weight.shape[0] if weight.kind is WeightKind.CONV1D else weight.shape[1])


def _input_of(name: str, one_norm: bool, layers: Mapping[str, Weight]) -> str:
    """A key for the tensor that a layer reads; '' for one that is kept anyway."""
    if name.endswith(ATTENTION_OUTPUT):
        return ""
    parent, _, last = name.rpartition(".")
    shape = layers[name].shape
    reads = shape[0] if layers[name].kind is WeightKind.CONV1D else shape[1]
    hidden = min(
        min(weight.shape) for weight in layers.values() if not weight.name.endswith(("k_proj.weight", "v_proj.weight"))
    )
    if one_norm and reads == hidden and last not in ("down_proj", "c_proj", "fc2", "dense_4h_to_h", "fc_out"):
        return "norm"
    group = next((index for index, names in enumerate(SAME_INPUT) if last in names), None)
    return name if group is None else f"{parent} {group}"


def first_readers(weights: Sequence[Weight], lora: Lora, family: str) -> list[tuple[Weight, bool]]:
    """Returns the linear layers that read what a block's attention reads first, and whether each has an adapter."""
    layers = {w.name.removesuffix(".weight"): w for w in weights if w.kind in MATRICES and len(w.shape) == 2}
    one_norm = _has_one_norm(weights)
    first = next((_input_of(name, one_norm, layers) for name in layers), "")
    same = [weight for name, weight in layers.items() if first and _input_of(name, one_norm, layers) == first]
    return [(weight, has_adapter(weight, lora, family)) for weight in same]


def reduced(table: Table, missing: Without) -> Table:
    """Returns the table of a block of which some layers have no adapter.

    The bytes are taken off at the instants at which they would be held; what a frozen layer's backward does not need
    any more in passing (one gradient of its input less to add up) is not, which leaves at most a few tensors of one
    block too many.
    """
    ends = len(missing.order)
    keeps = any(value for name, value in zip(table.columns, table.kept, strict=False) if name == "T*R")

    def less(row: Row, first: int, last: int) -> Row:
        padded = (*row, *(0 for _ in range(len(table.columns) - len(row))))
        return (*padded, -missing.saved(first, last), -missing.copies(first, last))

    forward, done = [], 0
    for module, row in table.forward:
        done = missing.position.get(layer_of(module.removeprefix(AFTER_MODULE)), done)
        if not _is_gone(module, missing):
            forward.append((_after(module, missing), less(row, 0, done if keeps else 0)))
    backward, again, done = [], not keeps, 0
    for ready, module, pending, row in table.backward:
        at = missing.position.get(layer_of(module.removeprefix(AFTER_MODULE)), done)
        again = again and not ready and not pending and at >= done
        done = at
        held = at if again else ends - _layers_done(table.order, ready)
        if not _is_gone(module, missing):
            backward.append((ready, _after(module, missing), pending, less(row, 0, held)))
    return table._replace(
        columns=(*table.columns, "T", "1"),
        kept=less(table.kept, 0, ends if keeps else 0),
        forward=tuple(forward),
        backward=tuple(backward),
    )


def as_without(table: Table, plain: Table, missing: Without, *, checkpointed: bool) -> Table:
    """Returns the table of a block whose layers without an adapter run forward as they do in a block without any.

    What runs forward in a checkpoint keeps nothing, so that a layer's instants, and those of code after it, are the same whatever
    other layers have. Elsewhere code after a layer needs as much more than the layer as it does in a block without adapters.

    Args:
        table: Of the block with adapters, reduced already.
        plain: Of the block without.
        missing: Layers that have none.
        checkpointed: Both tables are of blocks that are computed again in backward.
    """
    if not all(any(module[:1] == AFTER_MODULE for module, _ in one.forward) for one in (table, plain)):
        return table
    before, after = len(table.columns), len(plain.columns)
    forward = [(module, row + (0,) * after) for module, row in table.forward]
    others = [(module, (0,) * before + row) for module, row in plain.forward]
    end = _recomputed(table, missing) if checkpointed else 0
    backward = [(ready, module, which, row + (0,) * after) for ready, module, which, row in table.backward]
    again = [(module, (0,) * before + row) for _, module, _, row in plain.backward[: _recomputed(plain, missing)]]
    redone = _in_passing([(module, row) for _, module, _, row in backward[:end]], again, missing)
    if checkpointed:
        forward = [one for one in forward if not _absent(one[0], missing)]
        forward += [one for one in others if _absent(one[0], missing)]
    else:
        forward = _in_passing(forward, others, missing)
    return table._replace(
        columns=(*table.columns, *plain.columns),
        forward=tuple(forward),
        backward=(*((0, module, "", row) for module, row in redone), *backward[end:]),
    )


def _absent(module: str, missing: Without) -> bool:
    return layer_of(module.removeprefix(AFTER_MODULE)) in missing.absent


def _recomputed(table: Table, missing: Without) -> int:
    """How many of a checkpointed block's first instants of backward are those of its recomputation."""
    done = count = 0
    for ready, module, pending, _ in table.backward:
        at = missing.position.get(layer_of(module.removeprefix(AFTER_MODULE)), done)
        if ready or pending or at < done:
            break
        done, count = at, count + 1
    return count


def _in_passing(
    rows: Sequence[tuple[str, Row]], plain: Sequence[tuple[str, Row]], missing: Without
) -> list[tuple[str, Row]]:
    """Instants of which those after an absent adapter's layer are the layer's own, and what code after it needs more."""
    own, without_any = (
        {module: row for module, row in some if module in missing.absent and any(row)} for some in (rows, plain)
    )
    found = [one for one in rows if not _absent(one[0], missing) or one[0] in own]
    for module, row in plain:
        layer = module.removeprefix(AFTER_MODULE)
        if module != layer and layer in own and layer in without_any:
            sums = zip(own[layer], row, without_any[layer], strict=True)
            found.append((module, tuple(mine + later - first for mine, later, first in sums)))
    return found


def _layers_done(order: Sequence[str], ready: int) -> int:
    """Layers both of whose adapter gradients are ready."""
    return sum(".lora_A." in name for name in order[:ready])


def _is_gone(module: str, missing: Without) -> bool:
    return ".lora_" in module and layer_of(module) in missing.absent and module[:1] != AFTER_MODULE


def _after(module: str, missing: Without) -> str:
    """What code after an adapter that is not there goes by: its layer."""
    if module[:1] == AFTER_MODULE and layer_of(module.removeprefix(AFTER_MODULE)) in missing.absent:
        return layer_of(module)
    return module


def on_the_fly(table: Table, weights: Sequence[Weight]) -> Table:
    """Returns the table of a block whose frozen matrices are packed: each product makes its own 16-bit copy of the weight.

    Copies of frozen weights that autocast would have made and autograd kept are gone.
    Source: bitsandbytes ``autograd/_functions.py``, ``MatMul4Bit``: ``dequantize_4bit`` in forward and in backward.
    """
    copies = {
        w.name.removesuffix(".weight"): 2 * w.numel for w in weights if w.kind in MODULE_KINDS and len(w.shape) == 2
    }
    cast = [_is_weight_copy(name) for name in table.columns]

    def with_copy(row: Row, module: str) -> Row:
        padded = [0 if gone else size for size, gone in zip_longest(row, cast, fillvalue=0)]
        return (*padded, copies.get(module, 0))

    return table._replace(
        columns=(*table.columns, "1"),
        kept=with_copy(table.kept, ""),
        cache=with_copy(table.cache, ""),
        forward=tuple((module, with_copy(row, module)) for module, row in table.forward),
        backward=tuple(
            (ready, module, pending, with_copy(row, module)) for ready, module, pending, row in table.backward
        ),
    )


def _is_weight_copy(column: str) -> bool:
    """Whether a column counts elements of frozen matrices: a product of sizes without tokens, ranks or positions."""
    names = column.split("*")
    return len(names) > 1 and not {"T", "s", "b", "r", "p", "c", "R"} & set(names)
