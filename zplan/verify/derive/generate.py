"""All tables of one family in one mode, as a Python module."""

from __future__ import annotations

from collections.abc import Callable

from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.find import way_key
from zplan.memory.activations.table import Table
from zplan.spec import Loss
from zplan.verify.derive.derive import Way, derive
from zplan.verify.derive.families import Family
from zplan.verify.derive.write import module_text, text

Found = dict[str, list[Table]]


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

    for variant in family.variants:
        plain = variant is family.variants[0]
        tied = bool(variant.get("tie_word_embeddings")) and not plain
        attentions = family.attentions if plain or not family.same_code(variant) else family.attentions[:1]
        for attention in attentions:
            for checkpointed in (False,) if tied and len(variant) == 1 else (False, True):
                way = Way(attention=attention, mode=mode, checkpointed=checkpointed)
                for grouped in (True, False) if attention in family.repeats_heads else (True,):
                    tables = derive(family, way, variant=variant, grouped=grouped)
                    ending = "" if grouped else " mha"
                    _sort_in(tables, put, way_key(attention, checkpointed), ending, tied=tied and len(variant) == 1)
    return found


def _sort_in(tables: dict[str, Table], put: Callable[[str, Table], None], way: str, ending: str, *, tied: bool) -> None:
    """Puts the tables of one run under their keys; stem and head go under their blocks' variation."""
    blocks = [piece for piece in tables if piece not in ("stem", "head")]
    variation = "".join(f"+{part}" for part in blocks[0].split("+")[1:])
    word = " tied" if tied else ""
    put(f"head{variation}{word} {Loss.STANDARD.value}", tables["head"])
    put(f"stem{variation}{word}{'' if tied else ' ' + way}", tables["stem"])
    if not tied:
        for piece in blocks:
            put(f"{piece} {way}{ending}", tables[piece])


def family_module(family: Family, mode: ComputeMode) -> tuple[str, int]:
    """Returns the module's text and how many tables it holds."""
    import torch
    import transformers

    found = family_tables(family, mode)
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
    header = (
        f"Activations of {family.model_type}, {mode.value}: derived from transformers {transformers.__version__} and "
        f"torch {torch.__version__.partition('+')[0]} by benchmarks/derive_activations.py."
    )
    return module_text(header, {name: name + body for name, body in sources.items()}, names), len(sources)
