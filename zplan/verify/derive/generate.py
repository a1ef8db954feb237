"""All tables of one family, as the text of its file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from zplan.errors import ZplanError
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.find import code_kind, module_of, way_key
from zplan.memory.activations.store import file_text, section, stored
from zplan.memory.activations.table import Table
from zplan.spec import Attention, Loss
from zplan.verify.derive.derive import Way, derive
from zplan.verify.derive.families import Family

Found = dict[str, list[Table]]


@dataclass(frozen=True)
class Run:
    """One derivation that a family needs."""

    way: Way
    variant: Mapping[str, Any]
    grouped: bool
    tied: bool
    """Only stem and head are of interest: those of tied embeddings."""


def runs(family: Family, mode: ComputeMode, lora: bool) -> Iterator[Run]:
    """Yields what has to be run for one mode of a family.

    The first variant of a config is run in every way, others as far as their code differs. With adapters the base is frozen, so
    that tied embeddings and biases make no difference.
    """
    # Without 16 bits there is no flash kernel, and the others repeat grouped heads.
    repeats = family.attentions if mode is ComputeMode.FP32 and family.repeats_heads else family.repeats_heads
    for variant in family.variants:
        plain, same = variant is family.variants[0], family.same_code(variant)
        if lora and same and not plain:
            continue
        tied = bool(variant.get("tie_word_embeddings")) and not plain and len(variant) == 1
        for attention in family.attentions if plain or not same else family.attentions[:1]:
            for checkpointed in (False,) if tied else (False, True):
                way = Way(attention=attention, mode=mode, checkpointed=checkpointed, lora=lora)
                for grouped in (True, False) if attention in repeats else (True,):
                    yield Run(way, variant, grouped, tied)


def family_tables(family: Family, mode: ComputeMode, *, lora: bool = False, only: Attention | None = None) -> Found:
    """Returns a family's tables in one mode (of one kernel, if told): key -> tables that differ in which weights there are."""
    found: Found = {}
    for run in runs(family, mode, lora):
        if only in (None, run.way.attention):
            add(found, run, derive(family, run.way, variant=run.variant, grouped=run.grouped))
    if only is None:
        add_losses(found, family, mode, lora)
    return found


def add_losses(found: Found, family: Family, mode: ComputeMode, lora: bool) -> None:
    """Adds the heads of the losses that don't hold all logits."""
    for variant in family.variants[:1] if lora else family.variants[:2]:
        word = " tied" if variant.get("tie_word_embeddings") and not lora else ""
        for loss in (Loss.CHUNKED, Loss.FUSED):
            way = Way(attention=family.attentions[0], mode=mode, loss=loss, lora=lora)
            try:
                tables = derive(family, way, variant=variant)
            except ZplanError:
                continue  # there is no such form of this head
            _putter(found)(f"head{word} {loss.value}", tables["head"])


def _putter(found: Found) -> Callable[[str, Table], None]:
    def put(key: str, table: Table) -> None:
        same_weights = [old for old in found.setdefault(key, []) if set(old.order) == set(table.order)]
        if not same_weights:
            found[key].append(table)
        elif table not in same_weights:
            raise ValueError(f"two tables for {key}")

    return put


def add(found: Found, run: Run, tables: Mapping[str, Table]) -> None:
    """Adds the tables of one run under their keys; stem and head go under their blocks' variation."""
    put = _putter(found)
    way = way_key(run.way.attention, run.way.checkpointed)
    blocks = [piece for piece in tables if piece not in ("stem", "head")]
    variation = "".join(f"+{part}" for part in blocks[0].split("+")[1:])
    word = " tied" if run.tied else ""
    if "+act=" not in variation:  # an activation function is a matter of blocks alone
        ending = f"{variation}{word} {Loss.STANDARD.value}"
        try:
            put(f"head{ending}", tables["head"])
        except ValueError:
            # Frozen norms have no place in the order of gradients, by which heads with and without one are told apart.
            if not code_kind(blocks[0]):
                raise
            put(f"head{code_kind(blocks[0])}{ending}", tables["head"])
        put(f"stem{variation}{word}{'' if run.tied else ' ' + way}", tables["stem"])
    if not run.tied:
        for piece in blocks:
            put(f"{piece} {way}{'' if run.grouped else ' mha'}", tables[piece])


def family_file(family: Family, derived: Mapping[str, Mapping[str, list[Table]]], *, add_to: bool = False) -> str:
    """Returns the text of a family's file: what is there already, with some sections new.

    Args:
        family: The family.
        derived: Section -> key -> tables.
        add_to: Keep what else such a section has.
    """
    import torch
    import transformers

    name = module_of(family.model_type)
    old = stored(name)
    sections: dict[str, Mapping[str, Any]] = {}
    for lora in (False, True):
        for mode in ComputeMode:
            key = section(mode, lora)
            before = old.shelf(key) if old is not None and key in old.sections else {}
            if key in derived:
                sections[key] = {**before, **derived[key]} if add_to else derived[key]
            elif before:
                sections[key] = before
    versions = f"transformers {transformers.__version__} and torch {torch.__version__.partition('+')[0]}"
    header = f"Activations of {name}: derived from {versions} by benchmarks/derive_activations.py."
    return file_text(header, sections)
