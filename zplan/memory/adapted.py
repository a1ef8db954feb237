"""Which weights peft puts adapters on, and the shapes of those adapters.

``all-linear`` means every ``nn.Linear`` and ``Conv1D`` but the head. Stacked experts and their routers are parameters of
modules of their own, which it does not find. Yet for model types whose checkpoints once listed their experts one by one, peft
translates the old names: the router, and the two stacked tensors of all experts get adapters of their own kind (``ParamWrapper``),
and dense MLPs of the same model, whose layers bear the old names of experts, get none.

Source: peft 0.21.2 ``utils/transformers_weight_conversion.py`` (``_convert_peft_config_moe``) and ``tuners/lora/layer.py``
(``ParamWrapper.update_layer``), with ``conversion_mapping.py`` of transformers 5.24.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import zip_longest
from typing import NamedTuple

from zplan.spec import Lora, Weight, WeightKind

MODULE_KINDS = frozenset({WeightKind.LINEAR, WeightKind.CONV1D})
"""Weights of modules that peft wraps."""
ALL_LINEAR = ("all-linear",)

ROUTER = "gate"
_QWEN = (ROUTER, "gate_proj", "up_proj", "down_proj")
TRANSLATED = {
    "mixtral": (ROUTER, "w1", "w3", "w2"),
    "qwen3_moe": _QWEN,
    "deepseek_v2": _QWEN,
    "deepseek_v3": _QWEN,
}
"""Model type -> old names of the router and of an expert's gate, up and down matrices. Qwen2-MoE itself is not translated."""


class Adapter(NamedTuple):
    """The two matrices beside one adapted weight."""

    weight: Weight
    stem: str
    """What their names begin with."""
    rank: int
    """Of the product for one input row, times the experts for stacked weights."""
    fan_in: int
    fan_out: int
    wraps_parameter: bool
    """The adapter's product is added to the weight before it is used (``ParamWrapper``), and not to the layer's output."""

    def matrices(self) -> tuple[tuple[str, tuple[int, int]], tuple[str, tuple[int, int]]]:
        """Returns names and shapes of A (rank x in) and B (out x rank), as peft names them (arXiv:2106.09685)."""
        return (
            (f"{self.stem}.lora_A.default.weight", (self.rank, self.fan_in)),
            (f"{self.stem}.lora_B.default.weight", (self.fan_out, self.rank)),
        )


def with_adapters(weights: Sequence[Weight], lora: Lora | None, family: str) -> Iterator[Weight | Adapter]:
    """Yields a piece's weights and adapters in the order of ``named_parameters()``.

    Args:
        weights: The piece's.
        lora: The adapters; None without any.
        family: The ``model_type``.
    """
    waiting: list[Adapter] = []
    for weight, following in zip_longest(weights, weights[1:]):
        yield weight
        found = None if lora is None else adapter(weight, lora, family)
        if found is not None:
            waiting.append(found)
        if following is not None and _same_module(weight, following):
            continue
        # Wrappers of one module's parameters are nested, the first one innermost.
        depth = len(waiting) - 1
        yield from (one._replace(stem=one.stem + ".base_layer" * (depth - at)) for at, one in enumerate(waiting))
        waiting = []


def _same_module(weight: Weight, following: Weight) -> bool:
    """Whether a weight is followed by its layer's bias, or by another tensor of the same experts."""
    return following.name.rpartition(".")[0] == weight.name.rpartition(".")[0]


def adapter(weight: Weight, lora: Lora, family: str) -> Adapter | None:
    """Returns the adapter that peft puts beside a weight of a block, or None."""
    if weight.kind in MODULE_KINDS and len(weight.shape) == 2:
        stem = weight.name.removesuffix(".weight")
        if not _targets_module(stem, lora, family):
            return None
        fan_out, fan_in = weight.shape if weight.kind is not WeightKind.CONV1D else weight.shape[::-1]
        return Adapter(weight, stem, lora.rank, fan_in, fan_out, False)
    old = TRANSLATED.get(family)
    if old is None:
        return None
    router, gate, up, down = (_targets_name(name, lora) for name in old)
    if weight.kind is WeightKind.ROUTER and router:
        fan_out, fan_in = weight.shape
        return Adapter(weight, weight.name.removesuffix(".weight"), lora.rank, fan_in, fan_out, True)
    if weight.kind is not WeightKind.EXPERTS:
        return None
    experts, fan_out, fan_in = weight.shape
    stem, _, name = weight.name.rpartition(".")
    if name == "gate_up_proj" and gate and up:
        # Two old matrices in one: peft doubles the rank.
        return Adapter(weight, stem, 2 * lora.rank * experts, fan_in, fan_out, True)
    if name == "down_proj" and down:
        return Adapter(weight, stem, lora.rank * experts, fan_in, fan_out, True)
    return None


def _targets_name(name: str, lora: Lora) -> bool:
    return lora.targets == ALL_LINEAR or any(target == name or target.endswith(f".{name}") for target in lora.targets)


def _targets_module(module: str, lora: Lora, family: str) -> bool:
    """Whether peft puts an adapter on a linear layer: it matches the ends of modules' names."""
    last = module.rpartition(".")[2]
    translated = TRANSLATED.get(family, ())
    if lora.targets == ALL_LINEAR:
        return last not in translated
    return any(
        (module == target or module.endswith(f".{target}")) and target.rpartition(".")[2] not in translated
        for target in lora.targets
    )
