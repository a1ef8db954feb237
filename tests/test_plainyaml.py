"""What is read without a YAML library is what a YAML library reads."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.inputs.plainyaml import parse_plain_yaml
from zplan.inputs.presetfile import read_document
from zplan.inputs.yamltext import UNREADABLE, parse_yaml_text

PRESETS = sorted((Path(__file__).resolve().parents[1] / "presets").glob("*/*.yaml"))


def plain_dates(value: Any) -> Any:
    """The document with the date of ``checked`` as text."""
    if isinstance(value, dict):
        return {key: str(one) if isinstance(one, date) and key == "checked" else one for key, one in value.items()}
    return value


def library(text: str) -> Any:
    """What PyYAML reads; None where it refuses."""
    try:
        return plain_dates(yaml.safe_load(text))
    except (yaml.YAMLError, *UNREADABLE):
        return None


@pytest.mark.parametrize("path", PRESETS, ids=lambda path: path.stem)
def test_presets_are_read_as_yaml_says(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    found = parse_plain_yaml(text)
    assert found is None or found == library(text)


def test_nearly_every_preset_is_plain() -> None:
    left = [path.stem for path in PRESETS if parse_plain_yaml(path.read_text(encoding="utf-8")) is None]
    assert len(left) <= len(PRESETS) // 10, left


PLAIN = {
    "a: 1\nb: two words\n": {"a": 1, "b": "two words"},
    "a:\n  b: 1.5e+3\n  c:\n    d: -2\ne: true\n": {"a": {"b": 1500.0, "c": {"d": -2}}, "e": True},
    "a: [x, y-1, 2, 2.5]\nb: []": {"a": ["x", "y-1", 2, 2.5], "b": []},
    "a: null\nb: 4x-l40s\nc: 16-bit words": {"a": None, "b": "4x-l40s", "c": "16-bit words"},
    "a: goes on\n  in the next line\nb: 1": {"a": "goes on in the next line", "b": 1},
    "a: https://example.org/x#y": {"a": "https://example.org/x#y"},
    "a: 'one: two\n  - three'\nb: ''": {"a": "one: two - three", "b": ""},
    "checked: 2026-11-29": {"checked": "2026-11-29"},
}


@pytest.mark.parametrize("text", PLAIN)
def test_plain_documents(text: str) -> None:
    assert parse_plain_yaml(text) == PLAIN[text] == library(text)


NOT_PLAIN = [
    "",
    "a",
    "- a",
    "a: 1\na: 2",
    "a: 'it''s'",
    "a: ['b, c']",
    "a: ['b', c, '4090']",
    "a: ['b, 'c', d']",
    "a: [b: 'c']",
    "a: True",
    "a: 910b",
    "a: 0b11",
    "a: 2026-11-29T10:00:00Z",
    "checked: 2026-02-30",
    "checked: 2026-99-99",
    'a: "quoted"',
    "a: &x 1\nb: *x",
    "a: |\n  text",
    "a: >\n  text",
    "a: {b: 1}",
    "a: [b, [c]]",
    "a: [b, c: d]",
    "a: [b,\n  'c']",
    "a: [b, , c]",
    "a: [b,]",
    "a: 0x10",
    "a: 010",
    "a: 1:30",
    "a: 1_000",
    "a: 1e5",
    "a: .5",
    "a: 5.",
    "a: .inf",
    "a: ~",
    "a: Null",
    "a:",
    "a:\nb: 1",
    "a: yes",
    "a: off",
    "a: b # comment",
    "# comment\na: 1",
    "a: b: c",
    "a: b:",
    "a: 2026-11-29",
    "a: !!str 1",
    "a: 1\n\nb: 2",
    "a: 1\n  b: 2",
    "a: 1\n  c",
    "a:\n  b: 1\n c: 2",
    " a: 1\nb: 2",
    "a:\tb",
    "a: b\tc",
    "a: b\r\nc: d\r\n",
    "a: caf\u00e9\u2028x",
    "yes: 1",
    "---\na: 1",
    "a: 1\n...\n",
    "%YAML 1.1\n---\na: 1",
    "a: on\n ",
    "a: b\n  \n",
    "a: b\n  \n  c",
    "a: 'b\n  \n  c'",
    "a: 1\x1bx",
    "a: 2nd\rx",
    "a: 1\u2028x",
    "a: 1\tx",
    "a: [b?]",
    "a: " + "9" * 5000,
    "".join(" " * depth + "a:\n" for depth in range(1200)),
]


@pytest.mark.parametrize("text", NOT_PLAIN)
def test_all_else_is_left_to_a_library_or_read_the_same(text: str) -> None:
    found = parse_plain_yaml(text)
    assert found is None or found == library(text)


TAGGED = [
    f"a: !!{tag} {value}\n" for tag in ("int", "float", "bool", "timestamp", "binary") for value in ("x", "''", "[1]")
]


@pytest.mark.parametrize("text", [*TAGGED, "checked: 2026-99-99\n", "a: " + "9" * 5000 + "\n"])
def test_what_no_library_reads_is_an_error_that_names_the_file(text: str, tmp_path: Path) -> None:
    file = tmp_path / "card.yaml"
    file.write_text(text, encoding="utf-8")
    for read in (lambda: read_document(file), lambda: parse_yaml_text(text, name="card.yaml", expected="a plan")):
        if library(text) is None:
            with pytest.raises(ZplanError, match=r"card\.yaml'?:? is not valid YAML: .{8}"):
                read()


WORDS = st.sampled_from(
    [
        "a",
        "b",
        "name",
        "1",
        "-2.5",
        "2.5e+9",
        "true",
        "yes",
        "x y",
        "[a, 1]",
        "[]",
        ":",
        " #",
        "'",
        "2026-11-29",
        "~",
        "'x",
        "'y'",
        "['x, y']",
        "1s",
        "0x1f",
        "",
        "\n ",
        "on\n  ",
        "1\x1bs",
        "[x?]",
    ]
)
DOCUMENTS = st.lists(st.tuples(st.integers(0, 3), WORDS, st.sampled_from([": ", ":", " "]), WORDS), max_size=5)


@given(DOCUMENTS)
def test_nothing_is_read_otherwise(lines: list[tuple[int, str, str, str]]) -> None:
    text = "\n".join(f"{' ' * indent}{key}{colon}{value}" for indent, key, colon, value in lines)
    found = parse_plain_yaml(text)
    assert found is None or found == library(text)
