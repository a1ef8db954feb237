"""The hardware of public reports: a preset by the words of a report, the memory that a card has, and the machines."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from rows import card_preset
from rowwords import NoPlanError

from zplan.inputs.presets import GPUS, find, list_gpus, load_gpu
from zplan.spec import ClusterSpec, GpuSpec
from zplan.units import GIB

Setup = Mapping[str, Any]
NOISE = re.compile(r"\b(nvidia|amd|tesla|geforce|quadro|graphics|card|gpus?|instinct)\b")
FORM = re.compile(r"-(sxm\d?|pcie|hbm\d?e?)$")
RANKS = (64, 1)
"""Least and most memory where the number of GPUs is not said."""
NAMED = {
    "titan-rtx": 24,
    "titan-v": 12,
    "titan-xp": 12,
    "p100": 16,
    "p40": 24,
    "v100s": 32,
    "rtx-8000": 48,
    "rtx-5000": 16,
    "rtx-a5000": 24,
    "rtx-a5500": 24,
    "rtx-a4500": 20,
    "rtx-a4000": 16,
    "rtx-5000-ada": 32,
    "a16": 16,
    "a2": 16,
    "l20": 48,
    "gtx-1080-ti": 11,
    "rtx-3090-ti": 24,
    "rtx-3080-ti": 12,
    "rtx-3070": 8,
    "rtx-4070": 12,
    "rtx-4080-super": 16,
    "rtx-5070-ti": 16,
    "mi100": 32,
    "mi250": 64,
}
"""Cards without a preset whose name tells the memory (GB, data sheets; of the MI250 one of its two devices)."""
UNKNOWN_CARD = "the memory of a card is not known"
HOLDS, TOTAL = "card_holds_bytes", "card_total_bytes"
"""Keys that a setting may have beside a report's own: what a run used, and the total that an error message gives."""


def card_of(setup: Setup, most: bool, unsaid: list[str]) -> tuple[GpuSpec | None, int | None]:
    """The card and its memory; a card that comes in two sizes is taken as the larger (least) and the smaller (most)."""
    memory = setup.get("gpu_mem_gb")
    names = [name for word in _alternatives(str(setup.get("gpu") or "")) if (name := word.strip())]
    if isinstance(memory, int | float):
        gpu = next((found for name in names if (found := _sized(name, memory)) is not None), None)
        return gpu, gpu.memory_bytes if gpu is not None and abs(gpu.label_gib - memory) <= 1 else int(memory * GIB)
    same = [gpu for name in names for gpu in _same_card(name)]
    total = setup.get(TOTAL)
    if isinstance(total, int | float):
        near = [gpu for gpu in same if abs(gpu.memory_bytes / total - 1) < 0.05]
        return (near[0] if near else None), int(total)
    if not same:
        sizes = [size for name in names if (size := _named(name)) is not None]
        return None, (min if most else max)(sizes) * GIB if sizes else None
    if len({gpu.label_gib for gpu in same}) > 1:
        unsaid.append("the memory of the card")
    gpu = (min if most else max)(same, key=lambda one: one.memory_bytes)
    return gpu, gpu.memory_bytes


def card_is_known(setup: Setup) -> bool:
    """Whether the report tells the card's memory; else a run is priced on the smallest card that its figure fits on."""
    return card_of(setup, False, [])[1] is not None


def smallest_holding(used: float) -> int | None:
    """Memory of the smallest card that a run with this much in use can have been on."""
    sizes = [gpu.memory_bytes for name in list_gpus() if (gpu := load_gpu(name)).memory_bytes >= used]
    return min(sizes, default=None)


def cluster_of(setup: Setup, most: bool, on_host: bool, unsaid: list[str]) -> ClusterSpec:
    """The machines of a setting.

    Raises:
        NoPlanError: the card's memory, the number of GPUs or, where that is the question, the RAM is not known.
    """
    gpus = setup.get("gpus")
    if not isinstance(gpus, int):
        if on_host or gpus is not None:
            raise NoPlanError("the number of GPUs is not known")
        unsaid.append("the number of GPUs")
        gpus = RANKS[most]
    gpu, capacity = card_of(setup, most, unsaid)
    if capacity is None and isinstance(setup.get(HOLDS), int | float):
        capacity = smallest_holding(setup[HOLDS])
    if capacity is None and not on_host:
        raise NoPlanError(UNKNOWN_CARD)
    host = setup.get("host_ram_gb")
    if on_host and not isinstance(host, int | float):
        raise NoPlanError("the RAM of a node is not known")
    return ClusterSpec(
        gpus=gpus,
        nodes=_nodes(setup, gpus, most, unsaid if on_host else []),
        gpu=gpu,
        gpu_capacity_bytes=capacity,
        host_capacity_bytes=int(host * 1e9) if isinstance(host, int | float) else None,
    )


def _nodes(setup: Setup, gpus: int, most: bool, unsaid: list[str]) -> int:
    """Machines: as said; one up to 8 GPUs; above that 8 to a machine, or all in one (which needs most RAM)."""
    nodes = setup.get("nodes")
    if isinstance(nodes, int) and gpus % nodes == 0:
        return nodes
    if gpus <= 8 or gpus % 8:
        return 1
    unsaid.append("the number of nodes")
    return 1 if most and unsaid else gpus // 8


def _alternatives(words: str) -> list[str]:
    """``A100/H100`` and ``A10G or L4`` are two cards; what stands in brackets is none."""
    return re.split(r"/|,|\bor\b", re.sub(r"\s*\(.*", "", words))


def _sized(card: str, memory: float) -> GpuSpec | None:
    """A preset of that name with about that memory."""
    near = [gpu for gpu in _same_card(card) if abs(gpu.label_gib - memory) <= 1]
    if near:
        return min(near, key=lambda gpu: gpu.memory_bytes)
    try:
        return card_preset(f"{card}-{memory}GB")[0]
    except NoPlanError:
        return None


def _words(card: str) -> tuple[str, int | None]:
    """A card's words as a preset writes them, without the memory, and the memory that they give."""
    words = re.sub(r"[\s_]+", "-", NOISE.sub(" ", card.lower()).strip())
    size = re.search(r"-(\d{1,3})-?gi?b?(?=-|$)", words) if re.search(r"-\d+-?g|-(40|80)$", words) else None
    if size is not None:
        words = words[: size.start()] + words[size.end() :]
    words = FORM.sub(lambda form: "-pcie" if form[1] == "pcie" else "", words)
    words = re.sub(r"^rtx-?(?=\d)", "rtx-", re.sub(r"(?<=2080)-ti\b", "ti", words))
    return words.strip("-"), int(size[1]) if size is not None else None


def _bases(words: str) -> tuple[str, ...]:
    found = (words, f"rtx-{words}", f"rtx-a{words.removeprefix('rtx-a')}")
    return (*found, words.removesuffix("-pcie")) if words.endswith("-pcie") else found


@lru_cache(maxsize=256)
def _same_card(card: str) -> tuple[GpuSpec, ...]:
    """Presets that a report's words can mean: ``3090``, ``A6000``, ``A100-80``, ``Tesla V100-PCIE-32GB``."""
    plain = re.sub(r"[\s_]+", "-", NOISE.sub(" ", card.lower()).strip())
    for name in (plain, plain + "g", f"rtx-{plain}"):
        if re.search(r"-\d+g(i?b)?$", name) and find(GPUS, name) is not None:
            return (load_gpu(name),)
    words, size = _words(card)
    for base in _bases(words) if words else ():
        same = [load_gpu(name) for name in list_gpus() if re.fullmatch(re.escape(base) + r"-\d+g", name)]
        same = [gpu for gpu in same if size is None or abs(gpu.label_gib - size) <= 1]
        if same:
            return tuple(same)
    return ()


def _named(card: str) -> int | None:
    """Memory (GB) of a card without a preset: as its words give it, or as its name tells."""
    words, size = _words(card)
    if size is not None:
        return size
    spelt = re.sub(r"(?<=\d)(ti|super)\b", r"-\1", words)
    return next((NAMED[base] for base in (*_bases(spelt), f"gtx-{spelt}") if base in NAMED), None)
