"""Reads a Hugging Face ``config.json`` into a ModelSpec, tensor by tensor and without transformers."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import Protocol, cast

from zplan.errors import ZplanError
from zplan.inputs.hf_families.fields import Fields, shown
from zplan.inputs.hf_families.layout import Shape
from zplan.inputs.hf_families.rope import rotary_width
from zplan.inputs.hf_families.variation import suffix
from zplan.inputs.jsonfile import read_json_object
from zplan.spec import ModelSpec, WeightKind

MAX_PARAMS = 10**15
EXPECTED = (
    "name the config.json of a transformers checkpoint or its folder, or a preset: zplan estimate --model llama-2-7b"
)
BY_SIZE = "zplan estimate --params 7B"

FAMILIES = {
    "bloom": "bloom",
    "cohere": "cohere",
    "cohere2": "cohere",
    "deepseek_v2": "deepseek",
    "deepseek_v3": "deepseek",
    "falcon": "falcon",
    "gemma": "gemma",
    "gemma2": "gemma",
    "gemma3_text": "gemma",
    "glm": "glm",
    "glm4": "glm",
    "gpt2": "gpt2",
    "gpt_bigcode": "gpt2",
    "gpt_neox": "gpt_neox",
    "gptj": "gptj",
    "granite": "llama",
    "llama": "llama",
    "mistral": "mistral",
    "mixtral": "mixtral",
    "mpt": "mpt",
    "olmo": "olmo",
    "olmo2": "olmo",
    "opt": "opt",
    "phi": "phi",
    "phi3": "phi3",
    "qwen2": "qwen",
    "qwen2_moe": "qwen_moe",
    "qwen3": "qwen",
    "qwen3_moe": "qwen_moe",
    "smollm3": "smollm3",
    "stablelm": "stablelm",
    "starcoder2": "starcoder2",
}
"""For each supported ``model_type`` the module in ``hf_families`` that reads it."""
WELL_KNOWN = ("llama", "mistral", "mixtral", "qwen2", "qwen3", "gemma3_text", "phi3", "gpt2", "deepseek_v3")
REWRITTEN = {"gemma3": "gemma3_text", "internlm": "llama"}
"""Model types whose configs are read as another type, of the same tensors, after the family's ``rewrite``."""


class Family(Protocol):
    """What a module in ``hf_families`` offers."""

    DEFAULTS: Mapping[str, Mapping[str, object]]
    """For each model type the keys it reads, with transformers' defaults."""
    ALIASES: Mapping[str, Mapping[str, tuple[str, ...]]]
    """For each model type the other spellings of a key."""

    def read(self, fields: Fields, model_type: str) -> Shape:
        """Returns the shape of a config of this family."""

    def rewrite(self, config: Mapping[str, object], fields: Fields) -> tuple[dict[str, object], str]:
        """Returns a config of another type as one of this family, and a note. Only for types in ``REWRITTEN``."""


NOT_ARCHITECTURE = frozenset(
    {
        "_name_or_path",
        "_commit_hash",
        "architectures",
        "auto_map",
        "dtype",
        "id2label",
        "label2id",
        "num_labels",
        "quantization_config",
        "task_specific_params",
        "torch_dtype",
        "transformers_version",
        "use_cache",
    }
)
"""Keys that ``config_json`` leaves out: they say where weights come from or how they are stored, not what is built."""


def read_config(config: Mapping[str, object], *, name: str, source: str) -> ModelSpec:
    """Returns the architecture that a parsed ``config.json`` describes.

    Args:
        config: The parsed file.
        name: What to call the model.
        source: Where the config came from; error messages start with it.

    Raises:
        ZplanError: The model type is not supported, or a key is missing, of the wrong kind or out of range.
    """
    model_type = _model_type(config, source)
    notes: tuple[str, ...] = ()
    family = _family(REWRITTEN.get(model_type, model_type))
    if model_type in REWRITTEN:
        target = REWRITTEN[model_type]
        config, note = family.rewrite(config, Fields(config, source=source, defaults={}))
        model_type, notes = target, (note,)
    fields = Fields(config, source=source, defaults=family.DEFAULTS[model_type], aliases=family.ALIASES.get(model_type))
    fields.refuse("per_layer_config", "gives layers sizes of their own, which zplan cannot read")
    fields.refuse("is_encoder_decoder", "is true, but zplan plans decoder-only models")
    shape = _varied(family.read(fields, model_type), suffix(fields, model_type))
    shape = _rotated(shape, rotary_width(fields, model_type, shape.head_dim))
    return _spec(shape, config, name=name, source=source, model_type=model_type, notes=notes)


def _varied(shape: Shape, ending: str) -> Shape:
    """Returns the shape with ``ending`` on the implementation keys of its blocks."""
    if not ending:
        return shape
    kinds = tuple(replace(kind, implementation=kind.implementation + ending) for kind in shape.block_kinds)
    return shape._replace(block_kinds=kinds)


def _rotated(shape: Shape, width: int | None) -> Shape:
    """Returns the shape with the symbol e, the rotated part of each head, on its blocks."""
    if width is None:
        return shape
    kinds = tuple(replace(kind, dims=(*kind.dims, ("e", width))) for kind in shape.block_kinds)
    return shape._replace(block_kinds=kinds)


def _family(model_type: str) -> Family:
    """Returns the module that reads a model type; only that one is imported."""
    return cast(Family, import_module(f"zplan.inputs.hf_families.{FAMILIES[model_type]}"))


def _model_type(config: Mapping[str, object], source: str) -> str:
    """Returns the config's supported model type."""
    model_type = config.get("model_type")
    if not isinstance(model_type, str):
        found = "is missing" if model_type is None else f"must be a string, got {shown(model_type)}"
        raise ZplanError(
            f"{source}: model_type {found}; it names the architecture, for example llama",
            f"use the config.json of a transformers checkpoint, or go by size alone: {BY_SIZE}",
        )
    if model_type in FAMILIES or model_type in REWRITTEN:
        return model_type
    close = get_close_matches(model_type.lower(), FAMILIES, n=1, cutoff=0.75)
    guess = f", did you mean {close[0]}?" if close else ""
    custom = "; it needs custom code (auto_map), which zplan does not run" if config.get("auto_map") else ""
    raise ZplanError(
        f"{source}: model_type {shown(model_type)} is not supported{guess}{custom} "
        f"(supported: {', '.join(WELL_KNOWN)} and {len(FAMILIES) - len(WELL_KNOWN)} more)",
        f"go by size alone: {BY_SIZE}; or take a model that is known: zplan presets ls models",
    )


def _spec(
    shape: Shape, config: Mapping[str, object], *, name: str, source: str, model_type: str, notes: tuple[str, ...]
) -> ModelSpec:
    """Returns the spec of a shape, with its sums."""
    notes = (*notes, *shape.notes)
    if config.get("quantization_config"):
        notes = (*notes, "the checkpoint is quantized; its parameters are counted unquantized")
    spec = ModelSpec(
        name=name,
        source=source,
        family=model_type,
        params=0,
        hidden_size=shape.hidden_size,
        num_layers=len(shape.layers),
        num_heads=shape.num_heads,
        num_kv_heads=shape.num_kv_heads,
        head_dim=shape.head_dim,
        ffn_size=shape.ffn_size,
        vocab_size=shape.vocab_size,
        max_seq_len=shape.max_seq_len,
        tied_embeddings=shape.tied_embeddings,
        pre=shape.pre,
        block_kinds=shape.block_kinds,
        layers=shape.layers,
        post=shape.post,
        trunk=shape.trunk,
        num_experts=shape.num_experts,
        experts_per_token=shape.experts_per_token,
        logit_softcap=shape.logit_softcap,
        config_json=_canonical(config, source),
        notes=notes,
        checkpoint_dtype=str(config.get("dtype") or config.get("torch_dtype") or "").removeprefix("torch."),
    )
    params = spec.shape_params
    if params > MAX_PARAMS:
        raise ZplanError(
            f"{source}: the sizes add up to {params / 1e12:_.0f} trillion parameters, above the limit of 1000 trillion",
            f"check hidden_size, intermediate_size, num_hidden_layers and vocab_size, or go by size alone: {BY_SIZE}",
        )
    return _with_sums(spec, params)


def _with_sums(spec: ModelSpec, params: int) -> ModelSpec:
    """Returns the spec with P and with the parameters that one token passes through."""
    idle = 0
    if spec.num_experts:
        per_kind = [
            sum(w.numel // spec.num_experts for w in kind.weights if w.kind is WeightKind.EXPERTS)
            for kind in spec.block_kinds
        ]
        idle = sum(per_kind[kind] for kind in spec.layers) * (spec.num_experts - spec.experts_per_token)
    return replace(spec, params=params, active_params=params - idle)


def _canonical(config: Mapping[str, object], source: str) -> str:
    """Returns the config as JSON with sorted keys, without what has no part in building the model."""
    kept = {key: value for key, value in config.items() if key not in NOT_ARCHITECTURE}
    try:
        return json.dumps(kept, sort_keys=True, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        raise ZplanError(f"{source}: holds a value that JSON cannot express", EXPECTED) from None


def read_config_file(path: str | os.PathLike[str]) -> ModelSpec:
    """Returns the architecture that a ``config.json``, or a folder with one, describes.

    Raises:
        ZplanError: There is no such file, it cannot be read, or what it says is not a supported model.
    """
    given = Path(path)
    source = _printable(str(given))
    try:
        folder = given.is_dir()
        file = given / "config.json" if folder else given
        if folder and not file.exists():
            raise _no_config(given, source)
    except (OSError, ValueError) as error:  # a name too long for the file system, or with a NUL in it
        reason = getattr(error, "strerror", None) or "not a file name"
        raise ZplanError(f"{source}: cannot be read ({reason})", EXPECTED) from None
    return read_config(read_json_object(file, source=source, hint=EXPECTED), name=_name(given), source=source)


def _printable(path: str) -> str:
    """Returns a path as it may stand in one line: as it is, unless it holds control characters or is absurdly long."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)
    return text if len(text) <= 300 else f"{text[:100]}...{text[-100:]}"


def _no_config(folder: Path, source: str) -> ZplanError:
    """Returns the error for a folder without a ``config.json``, after a look at what it holds instead."""
    if (folder / "adapter_config.json").exists():
        return ZplanError(
            f"{source}: holds an adapter (adapter_config.json), not a model",
            "name its base model and the adapter's rank: zplan estimate --model llama-3.1-8b --lora 16",
        )
    if (folder / "params.json").exists():
        return ZplanError(
            f"{source}: has no config.json; its params.json is the original format of the model's authors",
            EXPECTED,
        )
    return ZplanError(f"{source}: is a folder without a config.json", EXPECTED)


def _name(given: Path) -> str:
    """Returns the model's name: the folder's, or the file's where it is not called ``config.json``.

    A snapshot in the hub's cache (``models--org--name/snapshots/<commit>``) goes by its hub id.
    """
    resolved = given.absolute()
    folder = resolved.parent if resolved.name == "config.json" else resolved
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith("models--"):
        return _printable(folder.parent.parent.name.removeprefix("models--").replace("--", "/"))
    return _printable(folder.name.removesuffix(".json") or str(given))
