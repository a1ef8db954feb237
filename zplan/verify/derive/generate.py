"""All tables of one family in one mode, as a Python module."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.find import way_key
from zplan.memory.activations.table import Table
from zplan.spec import Loss
from zplan.verify.derive.derive import Way, derive
from zplan.verify.derive.families import Family
from zplan.verify.derive.write import module_text, text

Found = dict[str, list[Table]]


def lora_tables(family: Family, mode: ComputeMode) -> Found:
    """Returns the tables of a family with adapters on every linear layer: key -> tables, for its first kernel."""
    found: Found = {}

    def put(key: str, table: Table) -> None:
        if table not in found.setdefault(key, []):
            found[key].append(table)

    codes = [variant for variant in family.variants[1:] if not family.same_code(variant)]
    for variant in (family.variants[0], *codes):
        for attention in (family.attentions[0], *family.always):
            for checkpointed in (False, True):
                way = Way(attention=attention, mode=mode, checkpointed=checkpointed, lora=True)
                tables = derive(family, way, variant=variant)
                _sort_in(tables, put, way_key(way.attention, checkpointed), "", tied=False)
    way = Way(attention=family.attentions[0], mode=mode, lora=True)
    _other_losses(family, way, family.variants[0], put)
    return found


def family_tables(family: Family, mode: ComputeMode) -> Found:
    """Returns every table of a family: key -> tables that differ in which biases there are.

    The first variant of a config is run in every way; others as far as they differ.
    """
    found: Found = {}

    def put(key: str, table: Table) -> None:
        same_weights = [old for old in found.setdefault(key, []) if set(old.order) == set(table.order)]
        if not same_weights:
            found[key].append(table)
        elif table not in same_weights:
            raise ValueError(f"{family.model_type}: two tables for {key}")

    ways = family.attentions if mode is ComputeMode.CAST else (family.attentions[0], *family.always)
    # Without 16 bits there is no flash kernel, and the others repeat grouped heads.
    repeats = family.attentions if mode is ComputeMode.FP32 and family.repeats_heads else family.repeats_heads
    for variant in family.variants:
        plain = variant is family.variants[0]
        tied = bool(variant.get("tie_word_embeddings")) and not plain
        attentions = ways if plain or not family.same_code(variant) else ways[:1]
        for attention in attentions:
            for checkpointed in (False,) if tied and len(variant) == 1 else (False, True):
                way = Way(attention=attention, mode=mode, checkpointed=checkpointed)
                for grouped in (True, False) if attention in repeats else (True,):
                    tables = derive(family, way, variant=variant, grouped=grouped)
                    ending = "" if grouped else " mha"
                    _sort_in(tables, put, way_key(attention, checkpointed), ending, tied=tied and len(variant) == 1)
    for variant in family.variants[:2]:
        _other_losses(family, Way(attention=ways[0], mode=mode), variant, put)
    return found


def _other_losses(family: Family, way: Way, variant: Mapping[str, Any], put: Callable[[str, Table], None]) -> None:
    """Puts the heads of the losses that don't hold all logits under their keys."""
    word = " tied" if variant.get("tie_word_embeddings") and not way.lora else ""
    for loss in (Loss.CHUNKED, Loss.FUSED):
        try:
            tables = derive(family, replace(way, loss=loss), variant=variant)
        except ZplanError:
            continue  # the head does more than a linear map: there is no such form
        put(f"head{word} {loss.value}", tables["head"])


def _sort_in(tables: dict[str, Table], put: Callable[[str, Table], None], way: str, ending: str, *, tied: bool) -> None:
    """Puts the tables of one run under their keys; stem and head go under their blocks' variation."""
    blocks = [piece for piece in tables if piece not in ("stem", "head")]
    variation = "".join(f"+{part}" for part in blocks[0].split("+")[1:])
    word = " tied" if tied else ""
    if "+act=" not in variation:  # an activation function is a matter of blocks alone
        put(f"head{variation}{word} {Loss.STANDARD.value}", tables["head"])
        put(f"stem{variation}{word}{'' if tied else ' ' + way}", tables["stem"])
    if not tied:
        for piece in blocks:
            put(f"{piece} {way}{ending}", tables[piece])


def family_module(family: Family, mode: ComputeMode, *, lora: bool = False) -> tuple[str, int]:
    """Returns the module's text and how many tables it holds."""
    import torch
    import transformers

    found = lora_tables(family, mode) if lora else family_tables(family, mode)
    sources: dict[str, str] = {}
    names: dict[str, str] = {}
    for key, tables in found.items():
        variables = []
        for value in tables:
            body = text("", value)
            name = next((old for old, known in sources.items() if known == body), f"T{len(sources)}")
            sources[name] = body
            variables.append(name)
        names[key] = f"({', '.join(variables)},)"
    adapters = " with adapters" if lora else ""
    versions = f"transformers {transformers.__version__} and torch {torch.__version__.partition('+')[0]}"
    header = (
        f"Activations of {family.model_type}{adapters}, {mode.value}: derived from {versions} by "
        "benchmarks/derive_activations.py."
    )
    return module_text(header, {name: name + body for name, body in sources.items()}, names), len(sources)
