"""Compares tables with a fresh trace of the model code at dimensions that no table has seen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from zplan.memory.activations import block_memory, head_memory, stem_memory
from zplan.memory.activations.adapters import adapter_names
from zplan.memory.activations.base import Instant, PieceMemory, waiting
from zplan.spec import Lora, Weight
from zplan.verify.derive.derive import NO_VARIANT, Sample, Way, sample
from zplan.verify.derive.families import Family
from zplan.verify.derive.forms import Monomial, Namer
from zplan.verify.derive.pieces import Piece, Timeline


class _Bytes(Namer):
    """Names every size by itself, for one run."""

    def __init__(self) -> None:
        self.runs = ()
        self.cache = {}
        self.groups = []


def differences(
    family: Family, way: Way, seed: int, variant: Mapping[str, Any] = NO_VARIANT, *, grouped: bool = True
) -> list[str]:
    """Returns where tables and a trace disagree, in words; empty if nowhere, to the byte.

    Compared for the stem, one block of each kind and the head: bytes kept, held by frames and by autocast's cache, the
    order of gradients, and for every number of matrix gradients that are ready the largest instant.

    Args:
        family: Which model.
        way: How it is run.
        seed: Chooses dimensions.
        variant: Further config keys.
        grouped: Whether there are fewer KV heads than heads.
    """
    one = sample(family, way, seed, variant, grouped)
    timeline = Timeline([one.log], _Bytes(), family.layers + 1)
    b, s = one.dims["b"], one.dims["s"]
    spec = one.spec
    rank = one.dims["R"] if way.lora else 0
    common = {"micro_batch": b, "seq_len": s, "mode": way.mode, "lora": rank}
    found: list[str] = []
    for layer in family.look_at:
        block = spec.block_kinds[spec.layers[layer]]
        memory = block_memory(block, attention=way.attention, checkpointed=way.checkpointed, **common)
        prefix = f"{one.trunk}.{layer}."
        found += _compare(block.implementation, timeline.piece(layer + 1), memory, block.weights, prefix, one)
    memory = stem_memory(spec, attention=way.attention, checkpointed=way.checkpointed, loss=way.loss, **common)
    found += _compare("stem", timeline.piece(0), memory, spec.pre, "", one)
    memory = head_memory(spec, loss=way.loss, **common)
    found += _compare("head", timeline.piece(family.layers + 1), memory, spec.post, "", one)
    return found


def _number(form: Mapping[Monomial, Any]) -> int:
    return int(form.get((), 0))


def _compare(
    what: str, seen: Piece, told: PieceMemory, weights: tuple[Weight, ...], prefix: str, one: Sample
) -> list[str]:
    adapters = Lora(rank=one.dims["R"]) if any(".lora_A." in name for name in one.weights) else None
    names = adapter_names(weights, adapters, one.config["model_type"])
    order = [name.removeprefix(prefix) for name in seen.order]
    elements = {name.removeprefix(prefix): shape for name, shape in one.weights.items()}
    pairs: dict[str, tuple[object, object]] = {
        "kept": (_number(seen.kept), told.kept_bytes + told.kept_score_bytes),
        "frame": (_number(seen.frame), told.frame_bytes + told.frame_score_bytes),
        "cast cache": (_number(seen.cache), told.cast_cache_bytes),
        "held gradient": (_number(seen.held), told.held_grad_bytes),
        "input gradient": (_number(seen.input_grad), told.input_grad_bytes),
        # A weight that is listed with another piece than the one that uses it (OPT's final norm) is left out.
        "gradient order": (
            [name for name in order if name in names],
            [names[index] for index in told.grad_order if names[index] in order],
        ),
    }
    matrix = [len(elements[name]) > 1 for name in order]
    grad = {name: one.log.sizes[uid] for name, uid in one.log.ready}
    highest = {sum(matrix[: row.ready]): 0 for row in seen.backward}
    for row in seen.backward:
        key = sum(matrix[: row.ready])
        highest[key] = max(highest[key], _number(row.form) + _number(row.pending_form))
    table: dict[int, int] = {}
    for instant in told.backward:
        key = sum(matrix[: instant.grads_ready])
        table[key] = max(table.get(key, 0), _total(instant, names, prefix, grad))
    for key, value in highest.items():
        pairs[f"backward with {key} matrix gradients"] = (value, table.get(key))
    pairs["forward"] = (
        max(_number(row.form) for row in seen.forward),
        max(instant.activation_bytes + instant.score_bytes for instant in told.forward),
    )
    return [f"{what}: {key}: traced {left}, table {right}" for key, (left, right) in pairs.items() if left != right]


def _total(instant: Instant, names: list[str], prefix: str, grad: Mapping[str, int]) -> int:
    which = instant.pending_grad if instant.pending_grad >= -1 else waiting(instant.pending_grad)
    pending = 0 if which < 0 else grad[prefix + names[which]]
    return instant.activation_bytes + instant.score_bytes + pending
