"""From a family's configs to tables: trace, name, prune, and check against a fresh trace."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations, combinations_with_replacement
from math import prod
from random import Random
from typing import Any

from zplan.inputs.hf import read_config
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.heads import chunk_tokens
from zplan.memory.activations.table import Table
from zplan.spec import Attention, Loss, ModelSpec
from zplan.verify.derive import trace
from zplan.verify.derive.families import Family, symbols
from zplan.verify.derive.forms import Namer, Poly
from zplan.verify.derive.pieces import Timeline
from zplan.verify.derive.prune import MATRIX, prune
from zplan.verify.derive.recorder import Log
from zplan.verify.derive.write import table

RUNS = 4
"""Sets of dimensions that a table is derived from: a formula of two terms has to fit two runs more than it needs."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """One way of running a model."""

    attention: Attention = Attention.FLASH
    mode: ComputeMode = ComputeMode.CAST
    checkpointed: bool = False
    loss: Loss = Loss.STANDARD
    lora: bool = False
    """Adapters on every linear layer, with the base frozen."""

    @property
    def key(self) -> str:
        """As tables are keyed."""
        return f"{self.mode.value} {self.attention.value}" + (" checkpointed" if self.checkpointed else "")


@dataclass(frozen=True)
class Sample:
    """One run: what was asked and what was seen."""

    dims: Mapping[str, int]
    config: Mapping[str, Any]
    spec: ModelSpec
    log: Log
    weights: Mapping[str, tuple[int, ...]]
    trunk: str


SHORT = 3
"""Tokens of a window that is shorter than any sequence here."""
NO_VARIANT: Mapping[str, Any] = {}


def sample(
    family: Family, way: Way, seed: int, variant: Mapping[str, Any] = NO_VARIANT, grouped: bool = True
) -> Sample:
    """Runs a family's model at dimensions drawn from ``seed``."""
    from transformers import AutoConfig

    dims = family.draw(Random(f"{family.model_type} {seed}"))
    if not grouped:
        dims["k"] = dims["a"]
    if way.loss is Loss.FUSED:
        # Three whole chunks, so that every run does the same operations.
        dims |= {"b": 6, "s": 64 << seed % 7, "V": 2 * dims["h"] + 1 + 2 * (seed % 7)}
    config = {"model_type": family.model_type, "num_hidden_layers": family.layers, **family.config(dims), **variant}
    if way.attention is Attention.SDPA:
        # Without padding it takes a short window for a mask to be made (Falcon makes one anyway).
        config |= {"sliding_window": SHORT, "use_sliding_window": True, "max_window_layers": 0}
    hf = AutoConfig.for_model(**config)
    spec = read_config(json.loads(hf.to_json_string(use_diff=False)), name="traced", source="traced")
    log, model = trace.run(
        hf,
        micro_batch=dims["b"],
        seq_len=dims["s"],
        attention=way.attention,
        mode=way.mode,
        checkpointed=way.checkpointed,
        loss=way.loss,
        lora_rank=dims["R"] if way.lora else 0,
    )
    weights = {trace.clean(name): tuple(item.shape) for name, item in model.named_parameters()}
    return Sample(dims, config, spec, log, weights, trace.clean(trace.blocks_of(model, family.layers)[0]))


def block_sizes(one: Sample, layer: int, way: Way) -> dict[str, int]:
    """Values of all symbols of one layer's block."""
    kind = one.spec.block_kinds[one.spec.layers[layer]]
    chunk = chunk_tokens(one.spec, way.loss, one.dims["b"] * one.dims["s"])
    chunked = {"c": chunk} if chunk else {}
    if way.lora:
        chunked["R"] = one.dims["R"]
    return chunked | symbols({"b": one.dims["b"], "s": one.dims["s"], "V": one.spec.vocab_size, **dict(kind.dims)})


def telling_seeds(family: Family, runs: int) -> range:
    """Returns seeds whose dimensions tell symbols and their products apart, as far as the family's sizes let them."""

    def draws(seeds: range) -> list[dict[str, int]]:
        return [family.draw(Random(f"{family.model_type} {seed}")) for seed in seeds]

    always = _alike(draws(range(-24, 0)))
    for first in range(0, 1000 * runs, runs):
        seeds = range(first, first + runs)
        if _alike(draws(seeds)) <= always:
            return seeds
    raise ValueError(f"{family.model_type}: no dimensions tell its symbols apart")


def _alike(dims: Sequence[Mapping[str, int]]) -> set[tuple[tuple[str, ...], tuple[str, ...]]]:
    """Pairs of products of up to two symbols whose ratio is the same in every run; () stands for a constant."""
    names = sorted(dims[0])
    products = [(), *((name,) for name in names), *combinations_with_replacement(names, 2)]
    groups: dict[tuple[Fraction, ...], list[tuple[str, ...]]] = {}
    for product in products:
        values = [prod(one[name] for name in product) for one in dims]
        groups.setdefault(tuple(Fraction(value, values[0]) for value in values), []).append(product)
    return {pair for group in groups.values() for pair in combinations(group, 2)}


def derive(
    family: Family,
    way: Way,
    *,
    variant: Mapping[str, Any] = NO_VARIANT,
    grouped: bool = True,
    runs: int = RUNS,
) -> dict[str, Table]:
    """Returns the tables of a family: implementation key, or ``stem`` and ``head``, to table."""
    samples = [sample(family, way, seed, variant, grouped) for seed in telling_seeds(family, runs)]
    found: dict[str, Table] = {}
    head = family.layers + 1
    for layer in family.look_at:
        values = [block_sizes(one, layer, way) for one in samples]
        timeline = Timeline([one.log for one in samples], Namer(values, features(values)), head)
        sizes = _weight_forms(samples, timeline.namer)
        if way.loss is not Loss.STANDARD:
            return {"head": table(prune(timeline.piece(head), sizes, ""))}
        key = samples[0].spec.block_kinds[samples[0].spec.layers[layer]].implementation
        found[key] = table(prune(timeline.piece(layer + 1), sizes, f"{samples[0].trunk}.{layer}.", between=True))
        if "head" not in found:
            found["stem"] = table(prune(timeline.piece(0), sizes, ""))
            found["head"] = table(prune(timeline.piece(head), sizes, ""))
    return found


def features(runs: Sequence[Mapping[str, int]]) -> tuple[str, ...]:
    """Symbols that tell sizes apart: no zeros, none equal to an earlier one in every run, not b, s or a rounding."""
    names: list[str] = []
    for name in runs[0]:
        values = [run[name] for run in runs]
        if name in ("b", "s", "r", "p", "c") or not all(values):
            continue
        if not any(values == [run[other] for run in runs] for other in names):
            names.append(name)
    return tuple(names)


def _weight_forms(samples: Sequence[Sample], namer: Namer) -> dict[str, Poly]:
    """Elements of each weight, in symbols; only vectors and matrices are told apart, so a matrix may be any product."""
    forms: dict[str, Poly] = {}
    for name, shape in samples[0].weights.items():
        if len(shape) == 1:
            sizes = tuple(one.weights[name][0] for one in samples)
            forms[name] = namer.name(sizes)
        else:
            forms[name] = {MATRIX: Fraction(1)}
    return forms
