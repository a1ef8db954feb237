"""What a config file of any kind says, in the words of zplan's options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from zplan.errors import ZplanError
from zplan.inputs.deepspeed import DsConfig, read_ds_config
from zplan.inputs.dsvalues import as_word, real, switch, whole
from zplan.inputs.jsontext import KeyPath, Position
from zplan.units import quote

DEEPSPEED, ACCELERATE, TRAINER, LLAMA_FACTORY, AXOLOTL = (
    "deepspeed",
    "accelerate",
    "trainer",
    "llama-factory",
    "axolotl",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class FileWords:
    """A file's settings as the command line would have them."""

    name: str
    """The file, as the user named it."""
    kind: str
    """``deepspeed``, ``accelerate``, ``trainer``, ``llama-factory`` or ``axolotl``."""
    words: Mapping[str, str] = field(default_factory=dict)
    """Field name of the options -> the word that its flag would take."""
    ds: DsConfig | None = None
    """The DeepSpeed config that it is, holds, or names."""
    ignored: tuple[str, ...] = ()
    """Keys that don't change memory, or that zplan does not know."""
    notes: tuple[str, ...] = ()
    """What was assumed, in the user's words."""
    values: Mapping[str, object] = field(default_factory=dict)
    """The whole file, for the lint."""
    positions: Mapping[KeyPath, Position] = field(default_factory=dict)
    """Where its keys stand."""


class Section:
    """A mapping whose keys are read with their kinds, remembering which were read."""

    def __init__(self, name: str, values: Mapping[str, object]) -> None:
        self.name, self.values = name, values
        self.seen: set[str] = set()

    def raw(self, key: str) -> object:
        """The value as it stands, None where it is missing."""
        self.seen.add(key)
        return self.values.get(key)

    def where(self, key: str) -> str:
        """The file and the key, for errors."""
        return f"{quote(self.name)}: {key}"

    def whole(self, key: str, *, minimum: int = 1) -> int | None:
        """A whole number, None where it is missing or "auto"."""
        value = self.raw(key)
        return None if value in (None, "auto") else whole(self.where(key), value, minimum=minimum)

    def real(self, key: str, *, minimum: int = 0) -> float | None:
        """A number, None where it is missing or "auto"."""
        value = self.raw(key)
        return None if value in (None, "auto", "none") else real(self.where(key), value, minimum=minimum)

    def on(self, key: str) -> bool:
        """A switch, off where it is missing or empty."""
        value = self.raw(key)
        return False if value in (None, "", "auto") else switch(self.where(key), value)

    def word(self, key: str) -> str | None:
        """A word, None where it is missing."""
        value = self.raw(key)
        if value is None or isinstance(value, str):
            return value or None
        raise ZplanError(f"{self.where(key)} is {as_word(value)}, not a word", "write one word")

    def section(self, key: str) -> Section:
        """A mapping below this one, empty where it is missing."""
        value = self.raw(key)
        if value is None or isinstance(value, Mapping):
            return Section(self.name, value or {})
        raise ZplanError(f"{self.where(key)} is {as_word(value)}, not a mapping", f"write keys and values below {key}")

    def ignored(self, prefix: str = "") -> tuple[str, ...]:
        """Keys that nobody asked for."""
        return tuple(prefix + key for key in self.values if key not in self.seen)


def nearby(path: str, folder: Path | None) -> Path:
    """A file named in another: as seen from the current folder, else from the other file's."""
    here = Path(path)
    if folder is None or here.is_absolute() or here.exists():
        return here
    beside = folder / path
    return beside if beside.exists() else here


def embedded_ds_config(value: object, *, name: str, key: str, folder: Path | None) -> DsConfig | None:
    """The DeepSpeed config that another file holds or names.

    Args:
        value: An object, a path, or None.
        name: What the user called the other file.
        key: Where the value stands in it.
        folder: The other file's folder.

    Returns:
        The config, None without one.

    Raises:
        ZplanError: neither an object nor a path to a readable config.
    """
    if value is None or value is False or value == "":
        return None
    if isinstance(value, Mapping):
        return DsConfig(name=f"{name}: {key}", value=value)
    if isinstance(value, str):
        return read_ds_config(nearby(value, folder), name=value)
    raise ZplanError(
        f"{quote(name)}: {key} is {as_word(value)}, neither a path nor a DeepSpeed config",
        f'write the path of a ds_config.json, as in "{key}": "ds_config.json"',
    )


def with_precision(config: DsConfig, precision: str | None) -> DsConfig:
    """The config with the 16-bit section that accelerate adds where the file has none.

    Source: accelerate ``DeepSpeedPlugin.set_mixed_precision``.
    """
    if precision not in ("bf16", "fp16") or any(config.get((name,)) is not None for name in ("bf16", "fp16")):
        return config
    return replace(config, value={**config.value, precision: {"enabled": True}})


def mixed_precision_word(bf16: bool, fp16: bool, *, name: str) -> str:
    """bf16, fp16 or fp32, from the two switches of a trainer.

    Raises:
        ZplanError: both are on.
    """
    if bf16 and fp16:
        raise ZplanError(f"{quote(name)} turns both bf16 and fp16 on", "keep one of them")
    return "bf16" if bf16 else "fp16" if fp16 else "fp32"
