"""The ``optimizer`` section of a ``ds_config.json``: which optimizer DeepSpeed builds, under zplan's name.

Source: DeepSpeed ``runtime/engine.py`` ``_configure_basic_optimizer``: names are looked up among DeepSpeed's own in any
case, then as an attribute of ``torch.optim``, with the case that it has there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from zplan.errors import ZplanError
from zplan.inputs.dsvalues import as_word, switch

if TYPE_CHECKING:
    from zplan.inputs.deepspeed import DsConfig

OWN: Mapping[str, str] = {
    "adam": "adamw",
    "adamw": "adamw",
    "adagrad": "adagrad",
    "lamb": "adamw",
    "lion": "lion",
    "muon": "muon",
    "muadam": "adamw",
    "muadamw": "adamw",
    "musgd": "sgd",
}
"""DeepSpeed's names (any case) -> the optimizer of zplan with the same states per parameter."""

TORCH: Mapping[str, str] = {
    "SGD": "sgd",
    "RMSprop": "rmsprop",
    "Adafactor": "adafactor",
    "NAdam": "adamw_torch",
    "RAdam": "adamw_torch",
    "Adamax": "adamw_torch",
}
"""Names of ``torch.optim``, spelt as there."""

UNTESTED = frozenset(("lamb", "muadam", "muadamw", "musgd"))
"""DeepSpeed's own that are not among ``ZERO_SUPPORTED_OPTIMIZERS``; nor is any of ``TORCH``."""

GONE = frozenset(("onebitadam", "onebitlamb", "zerooneadam"))
"""1-bit optimizers, which DeepSpeed 0.19 no longer builds."""


def optimizer_type(config: DsConfig) -> str | None:
    """``optimizer.type`` as written, None without one.

    Raises:
        ZplanError: not a word.
    """
    if config.get(("optimizer",)) is None:
        return None
    value = config.section(("optimizer",)).get("type")
    if value is None or isinstance(value, str):
        return value
    raise ZplanError(f"{config.where(('optimizer', 'type'))} is {as_word(value)}, not a name", 'write "type": "AdamW"')


def uses_torch_adam(config: DsConfig) -> bool:
    """``optimizer.params.torch_adam``: torch's own Adam instead of the fused kernels."""
    path = ("optimizer", "params", "torch_adam")
    value = config.get(path, False)
    return switch(config.where(path), value)


def read_optimizer(config: DsConfig, notes: list[str]) -> str | None:
    """Zplan's name of the optimizer that the file asks for, None where the training script brings its own."""
    written = optimizer_type(config)
    if written is None:
        return None
    if config.get(("optimizer", "params")) is not None:
        config.section(("optimizer", "params"))
    lower = written.lower()
    if lower in OWN:
        if lower in ("lamb", "muadam", "muadamw", "musgd"):
            notes.append(f"{written} is priced as {OWN[lower]}, which has the same states")
        return "adamw_torch" if lower in ("adam", "adamw") and uses_torch_adam(config) else OWN[lower]
    if written in TORCH:
        momentum = config.get(("optimizer", "params", "momentum"), 0)
        return "sgd_momentum" if written == "SGD" and momentum not in (0, "auto") else TORCH[written]
    if lower in GONE:
        notes.append(f"{written} is priced as adamw: DeepSpeed 0.19 has no 1-bit optimizers")
        return "adamw"
    notes.append(f"{written} is not an optimizer that zplan knows: priced as adamw")
    return "adamw"
