"""The models of public reports: a preset by name, by family and size, or the nearest published shape of a size."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from rowwords import NoPlanError

from zplan.inputs.count import spec_of_count
from zplan.inputs.hf import read_config
from zplan.inputs.presets import MODELS, find, list_models, load_model
from zplan.spec import ModelSpec

Setup = Mapping[str, Any]
GUESSES = (0.8, 1.25)
"""Least and most of the size of a model that is a guess, as shares of the guess."""
CHILDREN = {
    "vicuna": "llama",
    "alpaca": "llama",
    "guanaco": "llama",
    "koala": "llama",
    "wizardlm": "llama",
    "tulu": "llama",
    "distill-llama": "llama",
    "zephyr": "mistral",
    "dolly": "pythia",
    "galactica": "opt",
}
"""Fine-tunes and the family of their weights, where the name does not hold it."""
SAME_SIZE = 0.03
"""Up to this difference in P a preset of the same family has a report's architecture."""
OWN_ATTENTION = re.compile(r"composer|foundry")
"""Frameworks whose code of MPT is not transformers'."""
A_GUESS = re.compile(r"assumed|not stated|unknown|default \(|class[,)]")


class NotPricedError(NoPlanError):
    """The model's activations have no formula here; its states are known all the same, since they follow from P alone."""


def guessed(setup: Setup, most: bool, unsaid: list[str]) -> Setup:
    """A model that is a guess is a shape of about its size."""
    if not A_GUESS.search(str(setup.get("model", "")).lower()):
        return setup
    unsaid.append("which model it was")
    return {**setup, "model": None, "params_b": round(setup["params_b"] * GUESSES[most], 3)}


def model_of(setup: Setup, *, dense: bool = False) -> ModelSpec:
    """A model as :func:`_named` finds it; Composer's own code of it, where that ran.

    Formula: MPT in Composer has fused attention, whose code is a sequential GPT-NeoX's; transformers' keeps scores.
    """
    model = _named(setup, dense=dense)
    eager = "eager" in str(setup.get("attn", setup.get("attention"))).lower()
    if model.family != "mpt" or eager or not OWN_ATTENTION.search(str(setup.get("framework")).lower()):
        return model
    said = setup.get("grad_ckpt")
    if said is not None and str(said).lower() in ("none", "false", "off"):
        raise NotPricedError("what blocks of Composer's own MPT keep without checkpointing is not known")
    config = {
        "model_type": "gpt_neox",
        "vocab_size": model.vocab_size,
        "hidden_size": model.hidden_size,
        "intermediate_size": model.ffn_size,
        "num_hidden_layers": model.num_layers,
        "num_attention_heads": model.num_heads,
        "max_position_embeddings": max(2048, model.max_seq_len),
        "tie_word_embeddings": model.tied_embeddings,
        "use_parallel_residual": False,
    }
    return replace(read_config(config, name=model.name, source=model.source), notes=())


def _named(setup: Setup, *, dense: bool = False) -> ModelSpec:
    """A preset of that name, one of the same family and size, or the nearest published shape of that size.

    Args:
        setup: One setting of a report.
        dense: A dense shape will do for a mixture of experts.
    """
    name = re.sub(r"[\s_]+", "-", str(setup.get("model") or "").lower())
    name = re.sub(r"-?q?lora\b", "", name)
    size = setup.get("params_b")
    if not isinstance(size, int | float):
        sizes = set(re.findall(r"(?<![a-z.\d])(\d+(?:\.\d+)?)b\b", name))
        size = float(sizes.pop()) if len(sizes) == 1 else None
    for word in (name, re.sub(r"-(chat|instruct|base|it).*$", "", name)):
        if word and find(MODELS, word) is not None:
            return load_model(word)
    if size is None:
        raise NoPlanError("the size of the model is not known")
    relative = _relative(_parent(name), float(size))
    if relative is not None:
        return relative
    if not dense and (re.search(r"(^|-)a\d+(\.\d+)?b|moe|mixtral", name) or setup.get("moe")):
        raise NotPricedError("a mixture of experts that is no preset")
    return replace(spec_of_count(f"{size}B"), notes=())


def _parent(name: str) -> str:
    """The name with the family that a fine-tune is known to come from, by its model card."""
    return next((f"{parent}-{name}" for child, parent in CHILDREN.items() if child in name), name)


@lru_cache(maxsize=1)
def _families() -> dict[str, tuple[str, ...]]:
    """First word of a preset's name -> presets."""
    found: dict[str, list[str]] = {}
    for preset in list_models():
        match = re.match(r"[a-z]+", preset)
        if match is not None:
            found.setdefault(match[0], []).append(preset)
    return {word: tuple(presets) for word, presets in found.items()}


@lru_cache(maxsize=256)
def _relative(name: str, size: float) -> ModelSpec | None:
    """The preset of the same family and size whose name has most in common with a name."""
    best: tuple[tuple[int, float], ModelSpec] | None = None
    words = set(re.split(r"[^a-z0-9.]+", name))
    for family, presets in _families().items():
        if family not in name:
            continue
        for preset in presets:
            model = load_model(preset)
            off = abs(model.params / (size * 1e9) - 1)
            if off > SAME_SIZE:
                continue
            key = (-len(words & set(preset.split("-"))), off)
            if best is None or key < best[0]:
                best = (key, model)
    return best[1] if best is not None else None
