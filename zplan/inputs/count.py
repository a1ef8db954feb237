"""A bare number of parameters (``--params 7B``) -> the architecture of the nearest published dense model.

Model states follow from the count alone. Activations need a shape, so one is borrowed: the closest published dense
decoder by the ratio of parameters. The table prefers Llama-like shapes with one entry per size class, and reaches to
GPT-3 and Megatron where no Llama-like model has that size. Nothing is scaled or interpolated; a note says whose shape
it is and how far its own size is from the count.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import log
from types import MappingProxyType
from typing import NamedTuple

from zplan.inputs.hf import read_config
from zplan.spec import ModelSpec
from zplan.units import format_count, parse_count

SOURCE = "nearest published shape"
NOTICEABLE = 0.1
"""From this difference on the note says which way the activations err."""


class Published(NamedTuple):
    """A published dense decoder."""

    name: str
    params: int
    """As its tensors add up."""
    config: dict[str, object]
    source: str


def _llama(
    name: str,
    params: int,
    sizes: tuple[int, int, int, int, int, int, int],
    source: str,
    model_type: str = "llama",
    others: Mapping[str, object] = MappingProxyType({}),
) -> Published:
    """Returns an entry from (layers, hidden, MLP width, heads, key-value heads, vocabulary, positions)."""
    layers, hidden, width, heads, kv_heads, vocab, positions = sizes
    config: dict[str, object] = {
        "model_type": model_type,
        "num_hidden_layers": layers,
        "hidden_size": hidden,
        "intermediate_size": width,
        "num_attention_heads": heads,
        "num_key_value_heads": kv_heads,
        "vocab_size": vocab,
        "max_position_embeddings": positions,
    }
    return Published(name=name, params=params, config={**config, **others}, source=f"{_HUB}{source}")


def _tied(
    name: str, params: int, sizes: tuple[int, int, int, int, int, int, int], source: str, model_type: str = "llama"
) -> Published:
    """Returns an entry as ``_llama`` does, whose head is its embedding."""
    return _llama(name, params, sizes, source, model_type, {"tie_word_embeddings": True})


def _gpt(name: str, params: int, sizes: tuple[int, int, int], vocab: int, source: str) -> Published:
    """Returns an entry of GPT-2's layout from (layers, hidden, heads); dropout off, as at that scale."""
    layers, hidden, heads = sizes
    config: dict[str, object] = {
        "model_type": "gpt2",
        "n_layer": layers,
        "n_embd": hidden,
        "n_head": heads,
        "n_positions": 2048,
        "vocab_size": vocab,
        **dict.fromkeys(("attn_pdrop", "embd_pdrop", "resid_pdrop"), 0.0),
        **dict.fromkeys(("bos_token_id", "eos_token_id"), 0),
    }
    return Published(name=name, params=params, config=config, source=source)


_HUB = "https://huggingface.co/"
_LARGE_MISTRAL: dict[str, object] = {"head_dim": 128, "sliding_window": None}

SHAPES: tuple[Published, ...] = (
    _tied("smollm2-135m", 134_515_008, (30, 576, 1536, 9, 3, 49152, 8192), "HuggingFaceTB/SmolLM2-135M"),
    _tied("smollm2-360m", 361_821_120, (32, 960, 2560, 15, 5, 49152, 8192), "HuggingFaceTB/SmolLM2-360M"),
    _tied("qwen2.5-0.5b", 494_032_768, (24, 896, 4864, 14, 2, 151936, 32768), "Qwen/Qwen2.5-0.5B", "qwen2"),
    _llama("tinyllama-1.1b", 1_100_048_384, (22, 2048, 5632, 32, 4, 32000, 2048), "TinyLlama/TinyLlama_v1.1"),
    _tied("qwen2.5-1.5b", 1_543_714_304, (28, 1536, 8960, 12, 2, 151936, 131072), "Qwen/Qwen2.5-1.5B", "qwen2"),
    _tied("qwen2.5-3b", 3_085_938_688, (36, 2048, 11008, 16, 2, 151936, 32768), "Qwen/Qwen2.5-3B", "qwen2"),
    _llama("llama-2-7b", 6_738_415_616, (32, 4096, 11008, 32, 32, 32000, 4096), "meta-llama/Llama-2-7b-hf"),
    _llama("llama-3.1-8b", 8_030_261_248, (32, 4096, 14336, 32, 8, 128256, 131072), "meta-llama/Llama-3.1-8B"),
    _llama("llama-2-13b", 13_015_864_320, (40, 5120, 13824, 40, 40, 32000, 4096), "meta-llama/Llama-2-13b-hf"),
    _llama("qwen2.5-14b", 14_770_033_664, (48, 5120, 13824, 40, 8, 152064, 131072), "Qwen/Qwen2.5-14B", "qwen2"),
    _llama(
        *("mistral-small-24b", 23_572_403_200, (40, 5120, 32768, 32, 8, 131072, 32768)),
        *("mistralai/Mistral-Small-24B-Base-2501", "mistral"),
        _LARGE_MISTRAL,
    ),
    _llama("llama-30b", 32_528_943_616, (60, 6656, 17920, 52, 52, 32000, 2048), "huggyllama/llama-30b"),
    _llama("yi-34b", 34_388_917_248, (60, 7168, 20480, 56, 8, 64000, 4096), "01-ai/Yi-34B"),
    _llama("llama-65b", 65_285_660_672, (80, 8192, 22016, 64, 64, 32000, 2048), "huggyllama/llama-65b"),
    _llama("llama-3.1-70b", 70_553_706_496, (80, 8192, 28672, 64, 8, 128256, 131072), "meta-llama/Llama-3.1-70B"),
    _llama(
        *("mistral-large-123b", 122_610_069_504, (88, 12288, 28672, 96, 8, 32768, 131072)),
        *("mistralai/Mistral-Large-Instruct-2407", "mistral"),
        _LARGE_MISTRAL,
    ),
    _gpt("gpt-3", 174_604_259_328, (96, 12288, 96), 50257, "arXiv:2005.14165, table 2.1"),
    _llama("llama-3.1-405b", 405_853_388_800, (126, 16384, 53248, 128, 8, 128256, 131072), "meta-llama/Llama-3.1-405B"),
    _gpt("megatron-530b", 529_600_819_200, (105, 20480, 128), 51200, "arXiv:2104.04473, table 1"),
    _gpt("megatron-1t", 1_008_038_758_400, (128, 25600, 160), 51200, "arXiv:2104.04473, table 1"),
)
"""Sizes as in the ``config.json`` of the hub's repositories, or in the papers' tables."""


def spec_of_count(text: str) -> ModelSpec:
    """Returns a model of the given size with the shape of the nearest published dense model.

    Rule: the entry of ``SHAPES`` with the smallest ``|log(P / P_entry)|``. ``params`` is what was said; tensors, sizes
    and ``config_json`` are the entry's. Beyond both ends of the table the last entry serves, whatever the distance.

    Args:
        text: The count as typed, e.g. ``7B``, ``6.7b``, ``350M``, ``7_000_000_000``.

    Raises:
        ZplanError: Not a plausible number of parameters.
    """
    count = parse_count(text)
    shape = nearest(count)
    spec = read_config(shape.config, name=format_count(count), source=SOURCE)
    return replace(spec, params=count, active_params=count, notes=(_note(count, shape),))


def nearest(count: int) -> Published:
    """Returns the published model that is closest in the ratio of parameters."""
    return min(SHAPES, key=lambda shape: abs(log(count / shape.params)))


def _note(count: int, shape: Published) -> str:
    """Returns what is borrowed from whom, and which way that errs."""
    note = f"activations use the shape of {shape.name} ({format_count(shape.params)} parameters)"
    if abs(count / shape.params - 1) < NOTICEABLE:
        return note
    way, ratio = ("larger", count / shape.params) if count > shape.params else ("smaller", shape.params / count)
    return f"{note}, the nearest published one; {format_count(count)} is {_times(ratio)} times {way}, so they are rough"


def _times(ratio: float) -> str:
    """Returns a ratio in about two digits: ``1.5``, ``12``, ``13,000``."""
    if ratio < 10:
        return f"{ratio:.2g}"
    return f"{float(f'{ratio:.2g}'):,.0f}"
