"""What a clause of a report's prose is about: GPUs, cards, stages, offload, lengths, batches, methods, models.

Each function answers True (the clause names this setting's value), False (it names another value) or None (it names none).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Setting = Mapping[str, Any]
NUMBER_WORDS = {
    "one": 1,
    "two": 2,
    "three": 3,
    "four": 4,
    "five": 5,
    "six": 6,
    "seven": 7,
    "eight": 8,
    "ten": 10,
    "twelve": 12,
    "sixteen": 16,
}
_SPELT = re.compile(rf"\b({'|'.join(NUMBER_WORDS)})(?= (?:[\w-]+ )?(?:gpus?|cards?|nodes?|ranks?|[avhlptb]\d+)\b)")
BATCH = re.compile(r"\b(?:micro-?batch|batch|mbs|bs)(?: size)?[ =]+(\d+)\b")
_CARD = r"(?:rtx |gtx )?[a-z]{0,3}\d{2,4}[a-z]*"
_COUNT = re.compile(
    rf"\b(\d+)\s?x\s?(?:(\d+)\s?g|[a-z]|\d{{4}}\b)|(?:num_gpus[ =]|\b(?:with|on) )(\d+)(?: gpus?\b| cards?\b|$)"
    rf"|\b(\d+) nodes\b|\b(?:single|one) (node|card|gpu)\b|\b(\d+) (?:gpus|cards|ranks|(?:{_CARD})s?)\b(?! gb)"
)


def is_about(words: str, setup: Setting, settings: list[dict[str, Any]]) -> bool:
    """Whether a clause names a setting by what tells it from the others, and nothing that contradicts it."""
    named = [
        mention
        for keys, mention in (
            (("gpus",), mentions_gpus(words, setup)),
            (("gpu_mem_gb", "gpu"), mentions_card(words, setup)),
            (("stage",), mentions_stage(words, setup)),
            (("offload",), mentions_offload(words, setup)),
            (("seq_len",), mentions_length(words, setup)),
            (("micro_batch",), mentions_batch(words, setup)),
            (("method",), mentions_method(words, setup)),
            (("params_b", "model"), mentions_size(words, setup)),
        )
        if any(len({str(one.get(key)) for one in settings}) > 1 for key in keys)
    ]
    sizes = mentions_gpus(words, setup)
    return True in named and False not in named and sizes is not False


def mentions_gpus(words: str, setup: Setting) -> bool | None:
    """``8x24 GB``, ``4x A100``, ``4x3090``, ``2 gpus``, ``ten A6000``, ``16 nodes``, ``single node``."""
    found = _COUNT.findall(_SPELT.sub(lambda word: str(NUMBER_WORDS[word[1]]), words))
    if not found:
        return None
    memory, gpus = setup.get("gpu_mem_gb"), setup.get("gpus")
    for times, size, count, nodes, single, plain in found:
        if single and isinstance(gpus, int) and (gpus <= 8 if single == "node" else gpus == 1):
            return True
        if nodes and gpus == 8 * int(nodes):
            return True
        fits_memory = not size or not isinstance(memory, int | float) or abs(int(size) - memory) <= 1
        said = times or count or plain
        if said and int(said) == gpus and fits_memory:
            return True
    return False


def mentions_card(words: str, setup: Setting) -> bool | None:
    """``4x40 GB``, ``an 80 GB card``, ``A100-40``, ``RTX 3090``: by memory where both give it, else by the name."""
    memory = setup.get("gpu_mem_gb")
    sizes = [int(one) for one in re.findall(r"(?<![\d.,])\d+\s?x\s?(\d+)\s?gi?b\b|$", words) if one]
    sizes += [int(one) for one in re.findall(r"\b[abhv]\d+-(\d+)\b", words)]
    sizes += [int(one) for one in re.findall(r"(?<![\d.,])(\d+)\s?gi?b (?:card|gpu|a\d|v\d|h\d)", words)]
    if sizes and isinstance(memory, int | float):
        return any(abs(size - memory) <= 1 for size in sizes)
    card = re.search(r"[a-z]*\d+[a-z]*", re.sub(r"^(rtx|gtx|titan)\W*", "", str(setup.get("gpu") or "").lower()))
    names = re.findall(r"\b[abhlpvt]\d{1,3}[gs]?\b|\b[2-5]0[6-9]0\b|\ba\d000\b", words)
    return None if card is None or not names else card[0] in names


def mentions_stage(words: str, setup: Setting) -> bool | None:
    """``zero-3``, ``z2``, ``stage 1``."""
    found = re.findall(r"(?:zero-?|z|stage )([0-3])\b", words)
    return any(int(stage) == setup.get("stage") for stage in found) if found else None


def mentions_offload(words: str, setup: Setting) -> bool:
    """Offload that a clause does not name is off."""
    on = "offload" in words and not re.search(r"(without|no|than) (any )?offload", words)
    return on == (str(setup.get("offload", "none")).lower() != "none")


def mentions_length(words: str, setup: Setting) -> bool | None:
    """``10k``, ``4,000 tokens``, ``length 1280``, ``block size to 20,000``."""
    length = setup.get("seq_len")
    thousands = re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)k\b(?! (?:vocab|words|steps|samples))", words)
    plain = re.findall(
        r"([\d,]*\d) tokens|(?:\bseq(?:_len|uence length)?|\blength|\bblock size|\bmax_length)[ =]+(?:to |of )?([\d,]*\d)",
        words,
    )
    sizes = [float(one.replace(",", "")) for pair in plain for one in pair if one]
    sizes += [float(one) * unit for one in thousands for unit in (1000, 1024)]
    if not sizes:
        return None
    return isinstance(length, int) and any(abs(size / length - 1) < 0.005 for size in sizes)


def mentions_method(words: str, setup: Setting) -> bool | None:
    """``LoRA``, ``QLoRA``, ``full`` fine-tuning; "full offload" is none."""
    found = re.findall(r"\b(q?lora)\b|\b(full)\b(?! offload| ckpt| checkpoint| ac\b)", words)
    return any((lora or full) == str(setup.get("method")).lower() for lora, full in found) if found else None


def mentions_batch(words: str, setup: Setting) -> bool | None:
    """``micro-batch 4``, ``mbs 2``, ``bs=8``."""
    found = BATCH.findall(words)
    return any(int(size) == setup.get("micro_batch") for size in found) if found else None


def mentions_size(words: str, setup: Setting) -> bool | None:
    """``70B``, ``2.8B``: by the size that the setting gives or that stands in its name."""
    size = setup.get("params_b")
    if not isinstance(size, int | float):
        return None
    found = [float(one) for one in re.findall(r"(?<![\w.])(\d+(?:\.\d+)?)b\b", words)]
    return any(abs(one / size - 1) < 0.1 for one in found) if found and size else None
