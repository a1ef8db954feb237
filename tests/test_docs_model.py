"""docs/model.md and docs/claims.md: every worked example holds, every term and moment has its place."""

from __future__ import annotations

import itertools
import re
from pathlib import Path

import pytest
from docpages import DOCS, ROOT, Example, examples, plan_of, problems, value_of

from zplan.memory.moments import TermKey
from zplan.memory.terms import TERMS

PAGE = (DOCS / "model.md").read_text(encoding="utf-8")
EXAMPLES = [example for name in ("model.md", "claims.md") for example in examples(DOCS / name)]
KEYS = [value for name, value in vars(TermKey).items() if name.isupper()]

PLANS = [
    "--engine deepspeed --stage 0",
    *(
        f"--engine deepspeed --stage {stage} --offload {offload} --grad-accum {steps}"
        for stage, offload, steps in itertools.product((1, 2, 3), ("none", "optimizer"), (1, 4))
    ),
    "--engine deepspeed --stage 3 --offload all",
    "--engine deepspeed --stage 3 --precision bf16-pure",
    "--engine deepspeed --stage 3 --zero-init off",
    *(
        f"--engine {engine} --stage {stage} --grad-accum {g}"
        for engine in ("fsdp1", "fsdp2")
        for stage in (2, 3)
        for g in (1, 4)
    ),
    "--engine fsdp2 --stage 3 --offload all",
    "--engine ddp",
    "--engine ddp --grad-accum 4",
]


def section(title: str) -> str:
    """The text under a heading, up to the next of the same level or above."""
    match = re.search(rf"^(#+) {re.escape(title)}\n(.*?)(?=^#{{1,}} |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert match, f"docs/model.md has no section {title!r}"
    return match[2]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda e: f"{e.page}:{e.line}")
def test_a_worked_example_holds(example: Example) -> None:
    assert list(problems(example)) == []


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2 \u00d7 7,000,000,000", 14 * 10**9),
        ("ceil(7 / 2) + 2^3", 12),
        ("4 P/N", 14),
        ("T (h + 1)", 15),
        ("max(1,000, 2)", 1000),
    ],
)
def test_the_arithmetic_is_read_as_it_is_written(text: str, value: int) -> None:
    assert value_of(text, {"P": 7, "N": 2, "T": 5, "h": 2}) == value


@pytest.mark.parametrize(
    "claim",
    [
        "steady / params = 2 \u00d7 7 = 14",
        "so: 2 + 2 = 5",
        "N = 9",
        "states / total = 26,250,000,001",
        "step / grads_fp32",
    ],
)
def test_a_wrong_example_is_found(claim: str) -> None:
    wrong = Example("here", 1, "zplan estimate --params 7B --gpus 8 --stage 2", (claim,))
    with pytest.raises((AssertionError, SyntaxError)) if "=" not in claim else pytest.raises(AssertionError):
        assert list(problems(wrong)) == []


@pytest.mark.parametrize("key", KEYS)
def test_every_term_has_a_section_with_formula_source_and_example(key: str) -> None:
    text = section(f"`{key}`")
    assert "Formula:" in text and "Source:" in text
    if key != TermKey.UNEXPLAINED:
        assert "```example" in text, "a worked example"


def test_no_section_is_left_of_a_term_that_is_gone() -> None:
    assert set(re.findall(r"^### `([a-z0-9_]+)`$", PAGE, re.MULTILINE)) == set(TERMS)


@pytest.mark.parametrize("options", PLANS)
def test_every_moment_of_every_engine_is_described(options: str) -> None:
    """A new moment in zplan/memory/engines wants a row in docs/model.md."""
    gpus = 8
    found = plan_of(f"zplan estimate --model smollm2-135m --gpus {gpus} {options}")
    for moment in found.moments:
        assert f"`{moment.name}`" in PAGE, moment.name


@pytest.mark.parametrize("path", sorted((ROOT / "zplan" / "memory" / "engines").glob("*.py")), ids=lambda p: p.stem)
def test_every_engine_module_is_cited(path: Path) -> None:
    if path.stem not in ("__init__",):
        assert f"`{path.name}`" in PAGE or f"/{path.name}`" in PAGE, path.name


def test_every_file_that_the_page_names_exists() -> None:
    for name in re.findall(r"`((?:zplan|benchmarks|tests|presets)/[\w/.-]+)`", PAGE):
        assert (ROOT / name).exists(), name


def test_the_legend_has_every_symbol_that_explain_uses() -> None:
    from zplan.memory.explain import symbols

    legend = section("Symbols")
    for symbol in symbols(plan_of("zplan estimate --params 7B --gpus 8 --stage 2")):
        assert f"| {symbol} |" in legend
