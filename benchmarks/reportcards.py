"""The cards of public reports: a preset by the words of a report, and the memory that it has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rows import card_preset
from rowwords import NoPlanError

from zplan.inputs.presets import GPUS, find, list_gpus, load_gpu
from zplan.spec import GpuSpec
from zplan.units import GIB

NOISE = re.compile(r"\b(nvidia|tesla|geforce|quadro|graphics|card|gpus?)\b")
FORM = re.compile(r"-(sxm\d?|pcie)$")


def card_of(setup: Mapping[str, Any], most: bool, unsaid: list[str]) -> tuple[GpuSpec | None, int | None]:
    """The card and its memory; a card that comes in two sizes is taken as the larger (least) and the smaller (most)."""
    memory = setup.get("gpu_mem_gb")
    card = re.sub(r"\s*\(.*", "", str(setup.get("gpu") or "")).split("/")[0].strip()
    if isinstance(memory, int | float):
        gpu = _sized(card, memory)
        return gpu, gpu.memory_bytes if gpu is not None and abs(gpu.label_gib - memory) <= 1 else int(memory * GIB)
    same = list(_same_card(card)) if card else []
    if not same:
        return None, None
    if len({gpu.label_gib for gpu in same}) > 1:
        unsaid.append("the memory of the card")
    gpu = (min if most else max)(same, key=lambda one: one.memory_bytes)
    return gpu, gpu.memory_bytes


def _sized(card: str, memory: float) -> GpuSpec | None:
    """A preset of that name with about that memory."""
    near = [gpu for gpu in _same_card(card) if abs(gpu.label_gib - memory) <= 1] if card else []
    if near:
        return min(near, key=lambda gpu: gpu.memory_bytes)
    try:
        return card_preset(f"{card}-{memory}GB")[0] if card else None
    except NoPlanError:
        return None


@lru_cache(maxsize=256)
def _same_card(card: str) -> tuple[GpuSpec, ...]:
    """Presets that a report's words can mean: ``3090``, ``A6000``, ``A100-80``, ``Tesla V100``, ``NVIDIA A100-SXM4-80GB``."""
    words = re.sub(r"\s+", "-", NOISE.sub(" ", card.lower()).strip())
    for name in (words, words + "g", f"rtx-{words}"):
        if re.search(r"-\d+g(i?b)?$", name) and find(GPUS, name) is not None:
            return (load_gpu(name),)
    words = FORM.sub(lambda form: "-pcie" if form[1] == "pcie" else "", re.sub(r"^rtx-?(?=\d)", "rtx-", words))
    for base in (words, f"rtx-{words}", f"rtx-a{words.removeprefix('rtx-a')}"):
        same = [load_gpu(name) for name in list_gpus() if re.fullmatch(re.escape(base) + r"-\d+g", name)]
        if same:
            return tuple(same)
    return ()
