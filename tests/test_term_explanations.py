"""``--explain``: a formula and the same formula with a plan's numbers must speak of the same bytes per element."""

from __future__ import annotations

import re

import pytest

from zplan.cli.app import run
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.memory.estimate import estimate
from zplan.memory.explain import explain_term

_LEADING = re.compile(r"(?:(\d) x )?(\d+)(?: x | P|$)")


@pytest.mark.parametrize("engine", ["deepspeed", "fsdp2", "fsdp1", "ddp"])
@pytest.mark.parametrize("precision", ["bf16", "fp32", "bf16-pure"])
def test_formula_and_numbers_agree(engine: str, precision: str) -> None:
    checked = 0
    for plan in build_plans(PlanOptions(model="gpt2", gpus="8", engine=engine, precision=precision)).plans:
        result = estimate(plan)
        for moment in result.moments:
            for key, size in moment.terms.items():
                term = explain_term(result, moment, key)
                left, _, right = term.with_numbers.rpartition(" = ")
                assert int((right or term.with_numbers).replace(",", "")) == size
                element, found = re.match(r"(\d+) x ", left), _LEADING.match(term.formula)
                if element and found and not found[1] and key != "logits":
                    assert element[1] == found[2], (key, term)
                    checked += 1
    assert checked > 10


# gpt2 in fp32: 4 bytes wherever bf16 has 2.
@pytest.mark.parametrize(
    ("words", "key", "formula"),
    [
        ({"stage": "3", "precision": "fp32"}, "gathered_params", "4 x elements gathered"),
        ({"stage": "3"}, "gathered_params", "2 x elements gathered"),
        ({"stage": "3", "precision": "fp32", "checkpointing": "full"}, "checkpoints", "4 T h per checkpointed block"),
        ({"stage": "3", "precision": "fp32"}, "logits", "T V: fp32 logits and their log-softmax"),
        ({"stage": "3", "loss": "chunked"}, "logits_grad", "V x tokens of a chunk"),
        ({"stage": "0"}, "reduce_bucket", "2 x elements of one all-reduce"),
        ({"stage": "1", "lora": "8"}, "optimizer", "8 (weights of adapters)/N"),
        ({"stage": "1"}, "optimizer", "8 P/N"),
    ],
)
def test_formulas_follow_the_plan(words: dict[str, str], key: str, formula: str) -> None:
    (plan,) = build_plans(PlanOptions(model="gpt2", gpus="8", **words)).plans
    result = estimate(plan)
    holding = [moment for moment in result.moments if key in moment.terms]
    assert holding, f"no moment holds {key}"
    assert explain_term(result, holding[0], key).formula.startswith(formula)


def test_a_symbol_stays_beside_its_value(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ZPLAN_NO_CACHE", "1")
    for columns in ("60", "80", "100"):
        monkeypatch.setenv("COLUMNS", columns)
        assert run(["estimate", "--params", "7B", "--gpus", "8", "--stage", "3", "--explain"]) == 0
        lines = capsys.readouterr().out.splitlines()
        start = next(index for index, line in enumerate(lines) if line.startswith("P = "))
        legend = lines[start : lines.index("", start)]
        assert all(re.fullmatch(r"(?:\w = [\d,]+(?:, |,?$))+", line) for line in legend), legend
