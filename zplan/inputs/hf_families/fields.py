"""Typed access to the keys of a ``config.json``: the right value, or one error that names file, key and expectation."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from zplan.errors import ZplanError

MAX_LAYERS = 10_000
MAX_SIZE = 10_000_000
"""Widths, vocabularies, heads, experts: two orders of magnitude above the largest published model."""
MAX_POSITIONS = 10**9


def shown(value: object) -> str:
    """Returns ``value`` as it may stand in an error message: one line, at most 40 characters."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        return "an object"
    if isinstance(value, list | tuple):
        return "a list"
    if isinstance(value, int) and abs(value) >= 10**15:
        return "a number above 10^15" if value > 0 else "a number below -10^15"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 40 else f"{text[:36]} ..."


class Fields:
    """The keys of one config, with the defaults and the spellings of its model type.

    Args:
        config: The parsed ``config.json``.
        source: Where it came from; errors start with it.
        defaults: What transformers assumes for a missing key. None means that the key may be ``null``.
        aliases: For a key its other spellings (``attribute_map`` of the transformers config class, read backwards).
    """

    __slots__ = ("aliases", "config", "defaults", "source")

    def __init__(
        self,
        config: Mapping[str, object],
        *,
        source: str,
        defaults: Mapping[str, object],
        aliases: Mapping[str, tuple[str, ...]] | None = None,
    ) -> None:
        self.config = config
        self.source = source
        self.defaults = defaults
        self.aliases = aliases or {}

    def error(self, key: str, problem: str) -> ZplanError:
        """Returns the error for ``key``; ``problem`` completes the sentence."""
        return ZplanError(
            f"{self.source}: {key} {problem}",
            "correct that key, or describe the model by its size alone: zplan estimate --params 7B",
        )

    def raw(self, key: str) -> object:
        """Returns the value as the file has it, under any of its spellings, or transformers' default.

        Raises:
            ZplanError: Two spellings of one key disagree.
        """
        found = [name for name in (key, *self.aliases.get(key, ())) if name in self.config]
        if not found:
            return self.defaults[key]
        value = self.config[found[0]]
        for other in found[1:]:
            if self.config[other] != value:
                raise self.error(f"{found[0]} = {shown(value)}", f"and {other} = {shown(self.config[other])} disagree")
        return value

    def size(self, key: str, *, low: int = 1, high: int = MAX_SIZE) -> int:
        """Returns a whole number between ``low`` and ``high``."""
        value = self.raw(key)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.error(key, f"must be a whole number, got {shown(value)}")
        if not low <= value <= high:
            raise self.error(key, f"must be between {low} and {high:_}, got {shown(value)}")
        return value

    def optional_size(self, key: str, *, low: int = 1, high: int = MAX_SIZE) -> int | None:
        """Returns as ``size`` does, or None for ``null``."""
        return None if self.raw(key) is None else self.size(key, low=low, high=high)

    def layers(self, key: str = "num_hidden_layers") -> int:
        """Returns the number of blocks."""
        return self.size(key, high=MAX_LAYERS)

    def positions(self, key: str = "max_position_embeddings", *, high: int = MAX_POSITIONS) -> int:
        """Returns the longest sequence that the key allows."""
        return self.size(key, high=high)

    def flag(self, key: str, *, nullable: bool = False) -> bool:
        """Returns true or false; ``nullable``: ``null`` is false."""
        value = self.raw(key)
        if value is None and nullable:
            return False
        if not isinstance(value, bool):
            raise self.error(key, f"must be true or false, got {shown(value)}")
        return value

    def number(self, key: str) -> float | None:
        """Returns a number or None for ``null``."""
        value = self.raw(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.error(key, f"must be a number, got {shown(value)}")
        return float(value) if abs(value) < 1e300 else value

    def text(self, key: str) -> str:
        """Returns a string."""
        value = self.raw(key)
        if not isinstance(value, str):
            raise self.error(key, f"must be a string, got {shown(value)}")
        return value

    def sequence(self, key: str) -> Sequence[object] | None:
        """Returns a list or None for ``null``."""
        value = self.raw(key)
        if value is None:
            return None
        if not isinstance(value, list | tuple):
            raise self.error(key, f"must be a list, got {shown(value)}")
        return value

    def section(self, key: str) -> Mapping[str, object]:
        """Returns a nested object, empty for ``null``."""
        value = self.raw(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise self.error(key, f"must be an object, got {shown(value)}")
        return value

    def divides(self, small: str, large: str) -> None:
        """Checks that the number under ``large`` is a multiple of the one under ``small``."""
        one, other = self.size(small), self.size(large)
        if other % one:
            raise self.error(f"{large} = {other}", f"must be a multiple of {small} = {one}")

    def refuse(self, key: str, why: str) -> None:
        """Refuses the config if the flag ``key`` is on."""
        if self.config.get(key):
            raise self.error(key, why)
