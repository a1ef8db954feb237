"""Values of a ``ds_config.json`` as DeepSpeed takes them: what pydantic would convert, without pydantic.

DeepSpeed's models are lax: 5e8 and "500000000" are whole numbers to them, "5e8" is not, and true is 1. zplan follows,
except that true where a number belongs is refused: nobody means a bucket of one element.
"""

from __future__ import annotations

import math
import re

from zplan.errors import ZplanError
from zplan.inputs.dskeys import Key
from zplan.units import quote

AUTO = "auto"
_DIGITS = re.compile(r"[+-]?[0-9]+(?:\.0*)?")
_TRUE = frozenset(("true", "1", "yes", "y", "on", "t"))
_FALSE = frozenset(("false", "0", "no", "n", "off", "f"))
_LARGEST = 2**63 - 1


def as_word(value: object) -> str:
    """A JSON value in a few words, for errors."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    if isinstance(value, str):
        return quote(value)
    if value is None or isinstance(value, bool):
        return "null" if value is None else str(value).lower()
    return quote(str(value))[1:-1]


def whole(where: str, value: object, *, minimum: int) -> int:
    """A whole number: 5, 5e8 or "500000000".

    Raises:
        ZplanError: anything else.
    """
    number: int | None = None
    if isinstance(value, int) and not isinstance(value, bool):
        number = value
    elif isinstance(value, float) and value.is_integer():
        number = int(value)
    elif isinstance(value, str) and _DIGITS.fullmatch(value.strip()) and len(value) < 30:
        number = int(value.strip().split(".")[0])
    if number is None:
        raise ZplanError(f"{where} is {as_word(value)}, not a whole number", _without_quotes(value))
    if not minimum <= number <= _LARGEST:
        bound = f"at least {minimum}" if number < minimum else "less than 2^63"
        raise ZplanError(f"{where} is {as_word(value)}, but must be {bound}", "correct the value, or leave the key out")
    return number


def _without_quotes(value: object) -> str:
    if isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = math.nan
        if math.isfinite(number) and number.is_integer():
            return f"write it without quotes: {int(number)}"
    return "write a number such as 500000000, or leave the key out"


def real(where: str, value: object, *, minimum: int) -> float:
    """A number: 1, 1.0 or "1.0".

    Raises:
        ZplanError: anything else, or below the minimum.
    """
    number = math.nan
    if isinstance(value, (int, float, str)) and not isinstance(value, bool):
        try:
            number = float(value)
        except (ValueError, OverflowError):
            number = math.nan
    if not math.isfinite(number):
        raise ZplanError(
            f"{where} is {as_word(value)}, not a number", "write a number such as 1.0, or leave the key out"
        )
    if number < minimum:
        raise ZplanError(
            f"{where} is {as_word(value)}, but must be at least {minimum}", "correct the value, or leave the key out"
        )
    return number


def switch(where: str, value: object) -> bool:
    """True or false; also 1 and 0 and the words that pydantic knows.

    Raises:
        ZplanError: anything else.
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, (int, float)) and value in (0, 1):
        return bool(value)
    if isinstance(value, str) and value.strip().lower() in _TRUE | _FALSE:
        return value.strip().lower() in _TRUE
    raise ZplanError(f"{where} is {as_word(value)}, not true or false", "write true or false, without quotes")


def as_kind(where: str, value: object, key: Key) -> int | float | bool | str:
    """A value of the kind that its key wants."""
    minimum = key.minimum or 0
    if key.kind == "int":
        return whole(where, value, minimum=minimum)
    if key.kind == "float":
        return real(where, value, minimum=minimum)
    if key.kind == "bool":
        return switch(where, value)
    if isinstance(value, str):
        return value
    raise ZplanError(f"{where} is {as_word(value)}, not a word", "write it in double quotes")
