"""Sizes and counts: what is read, what is refused, and that printing and reading agree."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.units import (
    GB,
    GIB,
    KIB,
    MIB,
    PIB,
    TB,
    TIB,
    Unit,
    format_bytes,
    format_count,
    format_in,
    format_seconds,
    format_share,
    format_size,
    parse_count,
    parse_int,
    parse_size,
    parse_tokens,
    quote,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("80", 80 * GIB),
        (" 80 ", 80 * GIB),
        ("80GiB", 80 * GIB),
        ("80 GiB", 80 * GIB),
        ("80gib", 80 * GIB),
        ("80Gi", 80 * GIB),
        ("80GB", 80 * GB),
        ("80gb", 80 * GB),
        ("79.6", 79 * GIB + GIB * 6 // 10),
        (".5TB", TB // 2),
        ("2.TiB", 2 * TIB),
        ("1e3MiB", 1000 * MIB),
        ("1.5E-1TiB", TIB * 15 // 100),
        ("81559MiB", 81559 * MIB),
        ("81_559 MiB", 81559 * MIB),
        ("+80", 80 * GIB),
        ("85899345920B", 80 * GIB),
        ("1048576 KiB", GIB),
        ("0.001PiB", PIB // 1000),
    ],
)
def test_sizes_are_read_exactly(text: str, size: int) -> None:
    assert parse_size(text) == size


def test_a_bare_number_has_the_unit_of_its_option() -> None:
    assert parse_size("4", bare=Unit.GB) == 4 * GB


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "empty", "80GiB"),
        ("   ", "empty", "80GiB"),
        ("0", "more than zero", "80GiB"),
        ("0.0GB", "more than zero", "80GiB"),
        ("-5", "more than zero", "80GiB"),
        ("-5GB", "more than zero", "80GiB"),
        ("nan", "not a finite number", "80GiB"),
        ("NaN", "not a finite number", "80GiB"),
        ("inf", "not a finite number", "80GiB"),
        ("-Infinity", "not a finite number", "80GiB"),
        ("1e999", "not plausible", "80GiB"),
        ("1e-300", "not plausible", "80GiB"),
        ("1e9999", "unknown unit", "GiB"),
        ("9" * 100, "too long", "80GiB"),
        ("80G", "ambiguous", "--gpu-mem 80GiB (what the label of a card means) or --gpu-mem 80GB"),
        ("80g", "ambiguous", "80GiB"),
        ("512M", "ambiguous", "--gpu-mem 512MiB"),
        ("80Gb", "in bits", "--gpu-mem 80GB"),
        ("80Gib", "in bits", "--gpu-mem 80GiB"),
        ("80Gbit", "in bits", "--gpu-mem 80GB"),
        ("80 Gbps", "in bits", "--gpu-mem 80GB"),
        ("80,5GB", "comma", "1.5 or 1_500"),
        ("1,024", "comma", "1.5 or 1_500"),
        ("80XB", "unknown unit 'XB'", "GiB"),
        ("80GB GB", "unknown unit", "GiB"),
        ("eighty", "does not start with a number", "80GiB"),
        ("GB", "does not start with a number", "80GiB"),
        (".", "does not start with a number", "80GiB"),
        ("_", "does not start with a number", "80GiB"),
        ("0x50", "more than zero", "80GiB"),
        ("80\x00GB", "unknown unit", "GiB"),
        ("80\x1b[31m", "unknown unit", "GiB"),
        ("\u0668\u0660GB", "does not start with a number", "80GiB"),
        ("1/2", "unknown unit", "GiB"),
        ("1..5", "unknown unit", "GiB"),
    ],
)
def test_sizes_that_are_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(ZplanError) as caught:
        parse_size(text)
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert caught.value.message.isprintable()


def test_a_bare_number_that_can_only_be_mib_says_so() -> None:
    with pytest.raises(ZplanError, match="more than 4 TiB") as caught:
        parse_size("81559", maximum=4 * TIB)
    assert "--gpu-mem 81559MiB" in caught.value.hint


@given(st.integers(min_value=1, max_value=PIB))
def test_bytes_survive_printing_and_reading(size: int) -> None:
    assert parse_size(f"{size}B") == size


@given(
    st.integers(min_value=1, max_value=10**6),
    st.sampled_from(["KB", "MB", "GB", "TB", "KiB", "MiB", "GiB", "TiB", "Gi", "Mi"]),
    st.sampled_from([str.lower, str.upper, str]),
)
def test_case_of_a_unit_does_not_matter(number: int, unit: str, case: type[str]) -> None:
    if case is str.upper and "i" in unit:
        unit = unit.replace("i", "I")
    assert (
        parse_size(f"{number}{unit.lower()}") == parse_size(f"{number}{unit.upper()}") == parse_size(f"{number} {unit}")
    )


@given(st.decimals(min_value="0.01", max_value="100000", places=2))
def test_decimals_are_scaled_without_floats(number: object) -> None:
    hundredths = int(str(number).replace(".", ""))
    assert parse_size(f"{number}GiB") == hundredths * GIB // 100


@pytest.mark.parametrize("parser", [parse_size, parse_count, parse_tokens])
@given(text=st.text(max_size=80))
def test_no_text_breaks_a_parser(parser: Callable[[str], int], text: str) -> None:
    try:
        value = parser(text)
    except ZplanError as error:
        assert error.message.isprintable() and error.hint
    else:
        assert value >= 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("7B", 7_000_000_000),
        ("7b", 7_000_000_000),
        ("6.7b", 6_700_000_000),
        ("7e9", 7_000_000_000),
        ("350M", 350_000_000),
        ("1.8T", 1_800_000_000_000),
        ("6_738_415_616", 6_738_415_616),
        ("125000k", 125_000_000),
        ("0.5 B", 500_000_000),
    ],
)
def test_parameter_counts(text: str, count: int) -> None:
    assert parse_count(text) == count


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("7", "fewer than 10K", "--params 7B"),
        ("0B", "more than zero", "7B"),
        ("-7B", "more than zero", "7B"),
        ("7G", "unknown suffix", "K, M, B or T"),
        ("7BB", "unknown suffix", "K, M, B or T"),
        ("7 billion", "unknown suffix", "K, M, B or T"),
        ("1e20", "more than 100T", "7B"),
        ("llama", "does not start with a number", "7B"),
        ("nan", "not a finite number", "7B"),
    ],
)
def test_parameter_counts_that_are_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(ZplanError) as caught:
        parse_count(text)
    assert message in caught.value.message
    assert hint in caught.value.hint


@pytest.mark.parametrize(
    ("text", "tokens"), [("2048", 2048), ("2k", 2048), ("128K", 131_072), ("1m", MIB), ("4_096", 4096)]
)
def test_token_counts(text: str, tokens: int) -> None:
    assert parse_tokens(text) == tokens


@pytest.mark.parametrize("text", ["0", "-1", "1.5k", "1e3", "2kb", "", "99999999999", "9" * 5000, "two", "2 k k"])
def test_token_counts_that_are_refused(text: str) -> None:
    with pytest.raises(ZplanError, match="--seq-len"):
        parse_tokens(text)


@pytest.mark.parametrize("text", ["8.0", "8.5", "eight", "", "8k", "0", "-8", "1000001", "0x8", "8 8"])
def test_whole_numbers_that_are_refused(text: str) -> None:
    with pytest.raises(ZplanError, match="--gpus"):
        parse_int(text, flag="--gpus")


@pytest.mark.parametrize(
    ("size", "unit", "shown"),
    [
        (0, Unit.GIB, "0"),
        (1, Unit.GIB, "<0.01"),
        (GIB // 200, Unit.GIB, "<0.01"),  # 2^30 / 200 rounded down is less than half a hundredth
        (GIB // 200 + 1, Unit.GIB, "0.01"),
        (80 * GIB, Unit.GIB, "80.00"),
        (26_250_000_000, Unit.GB, "26.25"),
        (26_250_000_000, Unit.GIB, "24.45"),  # 26.25e9 / 2^30 = 24.447
        (1234 * GIB + GIB // 2, Unit.GIB, "1,235"),
    ],
)
def test_sizes_in_a_column(size: int, unit: Unit, shown: str) -> None:
    assert format_in(size, unit) == shown
    assert format_bytes(size, unit) == f"{shown} {unit.value}"


@pytest.mark.parametrize(
    ("size", "unit", "shown"),
    [
        (0, Unit.GIB, "0 B"),
        (1023, Unit.GIB, "1,023 B"),
        (KIB, Unit.GIB, "1 KiB"),
        (640 * MIB, Unit.GIB, "640 MiB"),
        (1536 * GIB, Unit.GIB, "1.5 TiB"),
        (4096 * PIB, Unit.GIB, "4,096 PiB"),
        (1_500_000, Unit.GB, "1.5 MB"),
    ],
)
def test_sizes_in_prose(size: int, unit: Unit, shown: str) -> None:
    assert format_size(size, unit) == shown


@pytest.mark.parametrize(
    ("count", "shown"),
    [(7_000_000_000, "7B"), (6_738_415_616, "6.74B"), (350_000_000, "350M"), (1_800_000_000_000, "1.8T"), (999, "999")],
)
def test_counts_for_people(count: int, shown: str) -> None:
    assert format_count(count) == shown


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.0, "0.000"), (0.00001, "<0.001"), (0.0123, "0.012"), (4.567, "4.57"), (45.67, "45.7"), (1234.5, "1,234")],
)
def test_durations(seconds: float, shown: str) -> None:
    assert format_seconds(seconds) == shown


def test_shares_are_whole_percentages() -> None:
    assert [format_share(part, 80) for part in (0, 40, 79, 122)] == ["0 %", "50 %", "99 %", "153 %"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [("plain", "'plain'"), ("a\nb", "'a\\nb'"), ("\x1b[31m", "'\\x1b[31m'"), ("x" * 100, "'" + "x" * 47 + "…'")],
)
def test_a_users_words_in_one_line(text: str, shown: str) -> None:
    assert quote(text) == shown
