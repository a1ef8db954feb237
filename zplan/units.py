"""The only place that parses or prints sizes and counts.

GB is 10^9 and GiB 2^30 bytes, in what is read and in what is printed. A bare number has the unit that its option
documents (GiB for memory, as on the label of a card); a bare ``G`` could be either, so it is refused. Arithmetic is
exact: decimals are scaled as integers, never through floats.
"""

from __future__ import annotations

import re
from enum import Enum

from zplan.errors import ZplanError

KIB, MIB, GIB, TIB, PIB = 2**10, 2**20, 2**30, 2**40, 2**50
KB, MB, GB, TB, PB = 10**3, 10**6, 10**9, 10**12, 10**15

_SIZE_UNITS = {
    "B": 1,
    **{"KB": KB, "MB": MB, "GB": GB, "TB": TB, "PB": PB},
    **{"KiB": KIB, "MiB": MIB, "GiB": GIB, "TiB": TIB, "PiB": PIB},
    **{"Ki": KIB, "Mi": MIB, "Gi": GIB, "Ti": TIB, "Pi": PIB},
}
_SIZE_UNITS_BY_LOWER = {name.lower(): factor for name, factor in _SIZE_UNITS.items()}
_COUNT_UNITS = {"k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
_TOKEN_UNITS = {"k": KIB, "m": MIB}

_NUMBER = re.compile(r"([+-]?)([0-9][0-9_]*)?(?:\.([0-9_]*))?(?:[eE]([+-]?[0-9]{1,3}))?(?![0-9])")
_LONGEST_INPUT = 60


class Unit(str, Enum):
    """What sizes are printed in."""

    GIB = "GiB"
    GB = "GB"

    @property
    def factor(self) -> int:
        """Bytes in one."""
        return GIB if self is Unit.GIB else GB


_UNSEEN = dict.fromkeys(
    [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F), *range(0x2066, 0x206A)], "\ufffd"
)
"""Control characters but tab and line feed, and those that turn the direction of writing."""


def visible(text: str) -> str:
    """Text in which nothing steers a terminal or hides: names come from files that anybody may have written.

    Args:
        text: Anything.

    Returns:
        The text with a replacement character for each control character; tabs and line feeds stay.
    """
    return text.translate(_UNSEEN)


def quote(text: str, limit: int = 48) -> str:
    """A user's words as they can be shown in one line of an error.

    Args:
        text: Anything, of any length, control characters included.
        limit: Characters kept.

    Returns:
        The text in single quotes, escaped, shortened with an ellipsis.
    """
    shown = text if len(text) <= limit else text[: limit - 1] + "…"
    return "'" + "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in shown) + "'"


def _split_number(text: str, flag: str, example: str) -> tuple[int, int, str]:
    """Split ``"1.5e3GB"`` into an exact number and the rest.

    Returns:
        ``(digits, exponent, rest)``: the number is ``digits * 10**exponent``; ``rest`` is what follows, stripped.

    Raises:
        ZplanError: not a number, negative, zero, NaN or infinite.
    """
    stripped = text.strip()
    hint = f"try {flag} {example}"
    if not stripped:
        raise ZplanError(f"{flag} is empty", hint)
    if len(stripped) > _LONGEST_INPUT:
        raise ZplanError(f"{flag} {quote(text)} is too long for a number", hint)
    if re.fullmatch(r"[+-]?(nan|inf|infinity)", stripped, re.IGNORECASE):
        raise ZplanError(f"{flag} {quote(text)} is not a finite number", hint)
    match = _NUMBER.match(stripped)
    if match is None or not (match[2] or (match[3] or "").strip("_")):
        raise ZplanError(f"{flag} {quote(text)} does not start with a number", hint)
    rest = stripped[match.end() :].strip()
    if rest.startswith(","):
        raise ZplanError(
            f"{flag} {quote(text)}: a comma can mean two things", f"write 1.5 or 1_500, as in {flag} {example}"
        )
    whole, fraction = (match[2] or "").replace("_", ""), (match[3] or "").replace("_", "")
    digits = int(whole + fraction)
    if match[1] == "-" or digits == 0:
        raise ZplanError(f"{flag} {quote(text)} must be more than zero", hint)
    return digits, int(match[4] or 0) - len(fraction), rest


def _scale(digits: int, exponent: int, factor: int) -> int:
    """``floor(digits * 10**exponent * factor)``, exactly. Exponents have three digits at most, so this stays small."""
    power = int(10 ** abs(exponent))
    return digits * power * factor if exponent >= 0 else digits * factor // power


def parse_size(
    text: str,
    *,
    flag: str = "--gpu-mem",
    bare: Unit = Unit.GIB,
    minimum: int = 1,
    maximum: int = 1024 * PIB,
    example: str = "80GiB",
) -> int:
    """Read a size such as ``80``, ``80GB``, ``79.6 GiB`` or ``81_559MiB``.

    ``KB MB GB TB PB`` are powers of 1000, ``KiB MiB GiB TiB PiB`` (or ``Ki`` ... ``Pi``) powers of 1024; case does not
    matter, except that a capital with a small b (``80Gb``) means bits and is refused, as is a bare ``G``.

    Args:
        text: What was typed.
        flag: Name of the option, for messages.
        bare: Unit of a number without one.
        minimum: Smallest plausible value in bytes.
        maximum: Largest plausible value in bytes.
        example: A value that would be accepted, for hints.

    Returns:
        Bytes, rounded down.

    Raises:
        ZplanError: not a size, ambiguous, in bits, zero, negative, NaN, infinite, or out of the plausible range.
    """
    digits, exponent, unit = _split_number(text, flag, example)
    factor = bare.factor if not unit else _size_factor(text, unit, flag, example)
    size = _scale(digits, exponent, factor)
    if minimum <= size <= maximum:
        return size
    bound = f"less than {format_size(minimum)}" if size < minimum else f"more than {format_size(maximum)}"
    hint = f"try {flag} {example}"
    as_mib = _scale(digits, exponent, MIB)
    if not unit and size > maximum and minimum <= as_mib <= maximum:
        hint = (
            f"a number without a unit is in {bare.value}; for MiB, as nvidia-smi prints them: {flag} {text.strip()}MiB"
        )
    raise ZplanError(f"{flag} {quote(text)} is {bound}, which is not plausible", hint)


def _size_factor(text: str, unit: str, flag: str, example: str) -> int:
    """Bytes in a unit as it was typed; refuses bits and bare letters."""
    number, lower = text.strip()[: -len(unit)].strip(), unit.lower()
    big = unit[0].upper()
    if re.fullmatch(r"[KMGTP]i?b", unit) or "bit" in lower or "bps" in lower:
        byte_unit = f"{big}iB" if lower[1:2] == "i" and "bit" not in lower else f"{big}B"
        hint = f"memory is counted in bytes: {flag} {number}{byte_unit}"
        raise ZplanError(f"{flag} {quote(text)} is in bits", hint)
    if lower in ("k", "m", "g", "t", "p"):
        message = f"{flag} {quote(text)} is ambiguous: {big}B is a power of 1000 and {big}iB of 1024"
        hint = f"write {flag} {number}{big}iB (what the label of a card means) or {flag} {number}{big}B"
        raise ZplanError(message, hint)
    factor = _SIZE_UNITS_BY_LOWER.get(lower)
    if factor is None:
        hint = f"use MiB, GiB, TiB, MB, GB or TB, as in {flag} {example}"
        raise ZplanError(f"{flag} {quote(text)}: unknown unit {quote(unit)}", hint)
    return factor


def parse_count(
    text: str, *, flag: str = "--params", minimum: int = 10_000, maximum: int = 10**14, example: str = "7B"
) -> int:
    """Read a number of parameters: ``7B``, ``6.7b``, ``7e9``, ``350M``, ``1.8T`` or ``6_738_415_616``.

    K, M, B and T are powers of 1000, in any case.

    Args:
        text: What was typed.
        flag: Name of the option, for messages.
        minimum: Smallest plausible value.
        maximum: Largest plausible value.
        example: A value that would be accepted, for hints.

    Returns:
        The count, rounded down.

    Raises:
        ZplanError: not a count, zero, negative, NaN, infinite, or out of the plausible range.
    """
    digits, exponent, unit = _split_number(text, flag, example)
    hint = f"try {flag} {example}"
    if unit and unit.lower() not in _COUNT_UNITS:
        hint = f"{flag} takes K, M, B or T (thousand, million, billion, trillion), as in {flag} {example}"
        raise ZplanError(f"{flag} {quote(text)}: unknown suffix {quote(unit)}", hint)
    count = _scale(digits, exponent, _COUNT_UNITS[unit.lower()] if unit else 1)
    if minimum <= count <= maximum:
        return count
    if not unit and exponent == 0 and digits < 10_000:
        hint = f"for billions: {flag} {text.strip()}B"
    bound = f"fewer than {format_count(minimum)}" if count < minimum else f"more than {format_count(maximum)}"
    raise ZplanError(f"{flag} {quote(text)} is {bound} parameters, which is not plausible", hint)


def parse_int(
    text: str,
    *,
    flag: str,
    minimum: int = 1,
    maximum: int = 10**6,
    example: str = "8",
    units: dict[str, int] | None = None,
) -> int:
    """Read a whole number within bounds: ``8`` or ``1_024``.

    Args:
        text: What was typed.
        flag: Name of the option, for messages.
        minimum: Smallest value allowed (at least 0).
        maximum: Largest value allowed.
        example: A value that would be accepted, for hints.
        units: Suffixes in lower case -> factor, where the option takes any.

    Returns:
        The number.

    Raises:
        ZplanError: not a whole number, or out of bounds.
    """
    hint = f"try {flag} {example}"
    stripped = text.strip()
    match = re.fullmatch(r"([+-]?)([0-9][0-9_]*)\s*([A-Za-z]?)", stripped) if len(stripped) <= _LONGEST_INPUT else None
    factor = (units or {}).get(match[3].lower()) if match and match[3] else 1
    if match is None or factor is None:
        raise ZplanError(f"{flag} {quote(text)} is not a whole number", hint)
    number = int(match[1] + match[2].replace("_", "")) * factor
    if number < minimum:
        raise ZplanError(f"{flag} must be at least {minimum}, not {quote(text)}", hint)
    if number > maximum:
        raise ZplanError(f"{flag} must be at most {maximum:,}, not {quote(text)}", hint)
    return number


def parse_tokens(text: str, *, flag: str = "--seq-len", maximum: int = 2**24) -> int:
    """Read a length in tokens: ``4096``, ``4k`` (= 4096) or ``128k`` (= 131072), as model cards write context lengths.

    Args:
        text: What was typed.
        flag: Name of the option, for messages.
        maximum: Largest length allowed.

    Returns:
        Tokens.

    Raises:
        ZplanError: not a whole number of tokens, or out of bounds.
    """
    return parse_int(text, flag=flag, minimum=1, maximum=maximum, example="4096", units=_TOKEN_UNITS)


def format_in(size_bytes: int, unit: Unit) -> str:
    """A size as a bare number in ``unit``, for a column whose head names the unit.

    Args:
        size_bytes: Bytes, not negative.
        unit: Unit of the column.

    Returns:
        Two decimals below 1000 (``"26.25"``) and none from there on (``"1,234"``); ``"0"`` for nothing and ``"<0.01"``
        for what would round to nothing.
    """
    if size_bytes == 0:
        return "0"
    if size_bytes >= 1000 * unit.factor:
        return f"{(size_bytes + unit.factor // 2) // unit.factor:,}"
    hundredths = (size_bytes * 100 + unit.factor // 2) // unit.factor
    return f"{hundredths // 100:,}.{hundredths % 100:02d}" if hundredths else "<0.01"


def format_bytes(size_bytes: int, unit: Unit = Unit.GIB) -> str:
    """A size with its unit, always in GiB or GB: ``"26.25 GB"``."""
    return f"{format_in(size_bytes, unit)} {unit.value}"


def format_capacity(size_bytes: int, unit: Unit = Unit.GIB) -> str:
    """The same without zeros at the end, as on a label: ``"80 GiB"``, ``"79.25 GiB"``."""
    return f"{_two_decimals(size_bytes, unit.factor)} {unit.value}"


def format_size(size_bytes: int, unit: Unit = Unit.GIB) -> str:
    """A size in prose, in the largest unit of the family that leaves at least one: ``"640 MiB"``, ``"1.5 TiB"``.

    Args:
        size_bytes: Bytes, not negative.
        unit: ``Unit.GIB`` for powers of 1024, ``Unit.GB`` for powers of 1000.

    Returns:
        The number with at most two decimals and no trailing zeros, and the unit.
    """
    base, names = (
        (1024, ("B", "KiB", "MiB", "GiB", "TiB", "PiB"))
        if unit is Unit.GIB
        else (1000, ("B", "KB", "MB", "GB", "TB", "PB"))
    )
    power = 0
    while power < len(names) - 1 and size_bytes >= base ** (power + 1):
        power += 1
    return f"{_two_decimals(size_bytes, base**power)} {names[power]}"


def format_count(count: int) -> str:
    """A number of parameters for people: ``"7B"``, ``"6.74B"``, ``"350M"``."""
    for suffix, factor in (("T", 10**12), ("B", 10**9), ("M", 10**6), ("K", 10**3)):
        if count >= factor:
            return _two_decimals(count, factor) + suffix
    return str(count)


def format_share(numerator: int, denominator: int) -> str:
    """A share as a percentage without decimals: ``"45 %"``."""
    return f"{(numerator * 100 + denominator // 2) // denominator} %"


def format_seconds(seconds: float) -> str:
    """A duration in seconds as a bare number of about three digits: ``"0.012"``, ``"4.56"``, ``"1,234"``."""
    if seconds >= 100:
        return f"{seconds:,.0f}"
    digits = 1 if seconds >= 10 else 2 if seconds >= 1 else 3
    text = f"{seconds:.{digits}f}"
    return text if seconds == 0 or float(text) else "<0.001"


def _two_decimals(value: int, factor: int) -> str:
    hundredths = (value * 100 + factor // 2) // factor
    text = f"{hundredths // 100:,}.{hundredths % 100:02d}"
    return text.rstrip("0").rstrip(".")
