"""``zplan explain`` as typed, and the page about running out of memory."""

from __future__ import annotations

import importlib.util
import io
import json
import re
import shlex
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from zplan.cli.app import run
from zplan.cli.explain import SYNONYMS, term_key
from zplan.errors import ZplanError
from zplan.memory.moments import TermKey
from zplan.memory.terms import TERMS
from zplan.units import GIB

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT / "tests" / "data" / "oom"
PAGE = ROOT / "docs" / "out-of-memory.md"
LOG = str(DATA / "torch-2.0.txt")
PLAN = ("--model", "llama-7b", "--gpus", "8", "--gpu", "v100-32g", "--stage", "2")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ZPLAN_NO_CACHE", raising=False)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.chdir(tmp_path)


def _text(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> str:
    assert run(["explain", *args]) == code
    out, err = capsys.readouterr()
    assert err == ""
    return out


def _json(capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    value = json.loads(_text(capsys, *args, "--json"))
    assert isinstance(value, dict)
    assert value["schema_version"] == 1
    return value


def _refused(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[str, str]:
    assert run(["explain", *args]) == 2
    out, err = capsys.readouterr()
    assert out == ""
    lines = err.splitlines()
    assert len(lines) == 2 and lines[0].startswith("error: ") and lines[1].startswith("hint: ")
    return lines[0], lines[1]


# --- terms -----------------------------------------------------------------------------------------------------------


def test_the_list_has_every_public_term(capsys: pytest.CaptureFixture[str]) -> None:
    text = _text(capsys, "--list")
    for key in TERMS:
        assert re.search(rf"^  {key} ", text, re.MULTILINE)
    terms = _json(capsys, "--list")["terms"]
    assert [term["key"] for term in terms] == list(TERMS)
    for term in terms:
        assert all(term[name] for name in ("title", "place", "what", "formula", "source", "how_to_shrink"))


@pytest.mark.parametrize("key", list(TERMS))
def test_every_term_is_explained_with_and_without_a_plan(capsys: pytest.CaptureFixture[str], key: str) -> None:
    alone = _text(capsys, key)
    assert TERMS[key].what.split()[0] in alone
    assert f"zplan explain {key} --model" in " ".join(alone.split())
    value = _json(capsys, key, "--params", "7B", "--gpus", "8", "--stage", "3", "--offload", "optimizer")
    assert value["term"]["key"] == key
    assert value["in_plan"]["bytes"] >= 0
    assert value["plan"]["stage"] == 3


def test_a_term_is_shown_where_it_is_largest(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, "grads_fp32", "--params", "7B", "--gpus", "8", "--stage", "2")
    # 4 bytes x 7e9 / 8, in the step
    assert value["in_plan"]["bytes"] == 4 * 875_000_000
    assert value["in_plan"]["phases"]["step"] == 4 * 875_000_000
    assert value["in_plan"]["moment"].startswith(("step", "init"))
    text = _text(capsys, "grads_fp32", "--params", "7B", "--gpus", "8", "--stage", "2")
    assert "3.26 GiB" in text
    assert "3.50 GB" in _text(capsys, "grads_fp32", "--params", "7B", "--gpus", "8", "--stage", "2", "--unit", "GB")


def test_what_a_plan_does_not_have_is_nothing_there(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, "attention_scores", "--params", "7B", "--gpus", "8", "--stage", "2")
    assert value["in_plan"]["bytes"] == 0
    assert "none in this plan" in _text(capsys, "attention_scores", "--params", "7B", "--gpus", "8", "--stage", "2")


def test_without_a_stage_a_plan_that_has_the_term_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, "gathered_params", "--params", "7B", "--gpus", "8")
    assert value["plan"]["stage"] == 3 and value["in_plan"]["bytes"] > 0


def test_host_terms_come_from_the_hosts_side(capsys: pytest.CaptureFixture[str]) -> None:
    options = ("--params", "7B", "--gpus", "8", "--stage", "2", "--offload", "optimizer")
    assert _json(capsys, "host_master", *options)["in_plan"]["bytes"] == 4 * 875_000_000
    assert _json(capsys, "host_optimizer", *options)["in_plan"]["bytes"] == 8 * 875_000_000
    assert _json(capsys, "pinned_rounding", *options)["in_plan"]["bytes"] > 0


def test_what_lies_beyond_allocated_has_a_spread(capsys: pytest.CaptureFixture[str]) -> None:
    spread = _json(capsys, "nccl", "--params", "7B", "--gpus", "8", "--stage", "2")["in_plan"]["spread"]
    assert 0 < spread["low"] <= spread["expected"] <= spread["high"]
    assert _json(capsys, "nccl", "--params", "1B", "--gpus", "1", "--engine", "single")["in_plan"]["bytes"] == 0


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("logits", "logits"),
        ("Logits", "logits"),
        ("flat-buffer", "flat_buffer"),
        ("flat buffers", "flat_buffer"),
        ("gradient of the logits", "logits_grad"),
        ("optimizer states", "optimizer"),  # on the GPU; on the host it is host_optimizer
        ("weights", "params"),
        ("CUDA context", "cuda_context"),
    ],
)
def test_terms_answer_to_their_names(word: str, key: str) -> None:
    assert term_key(word) == key


def test_synonyms_lead_to_terms() -> None:
    assert set(SYNONYMS.values()) <= set(TERMS)
    assert not set(SYNONYMS) & set(TERMS)


def test_an_unknown_term_is_answered_with_the_nearest() -> None:
    with pytest.raises(ZplanError) as caught:
        term_key("logitz")
    assert "zplan explain logits" in caught.value.hint
    with pytest.raises(ZplanError) as caught:
        term_key("\x00🙂")
    assert "zplan explain --list" in caught.value.hint


# --- out of memory ---------------------------------------------------------------------------------------------------


def test_with_a_plan_the_tensor_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    text = _text(capsys, "--oom", LOG, *PLAN)
    assert text.startswith("3.14 GiB did not fit on CUDA device 5: most likely optimizer temporaries.")
    assert "4 x 842,301,952 = 3,369,207,808" in text  # 6,738,415,616 parameters / 8, padded; x 4
    assert "--offload optimizer" in text


def test_json_has_the_contracts_keys(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, "--oom", LOG, *PLAN)
    first = value["candidates"][0]
    assert (first["term"], first["bytes"], first["phase"]) == (TermKey.OPTIMIZER_TEMPORARIES, 3369207808, "step")
    # |3369207808 / 3371549327 - 1|
    assert first["error"] == pytest.approx(0.000694, abs=1e-6)
    assert value["advice"] and all({"change", "saves_bytes", "costs"} <= set(one) for one in value["advice"])
    assert value["message"]["requested_bytes"] == 3371549327
    assert value["message"]["total_bytes"] == round(31.75 * GIB)
    assert value["plan"]["stage"] == 2
    assert value["messages"] == [value["message"]]
    assert value["causes"][0]["kind"] == "full"


def test_without_a_plan_it_reads_the_numbers_and_asks(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join(_text(capsys, "--oom", LOG).split())
    assert "3.14 GiB was asked for where 1.95 GiB was free" in text
    assert "To name the tensor, say what ran: zplan explain --oom" in text
    value = _json(capsys, "--oom", LOG)
    assert value["candidates"] == [] and value["plan"] is None
    assert value["traceback"] == {
        "phase": "step",
        "terms": ["optimizer_temporaries"],
        "where": "adamw.py, _single_tensor_adamw: denom = (exp_avg_sq.sqrt() / bias_correction2_sqrt).add_(eps)",
    }


def test_stage_and_card_come_from_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, "--oom", LOG, "--model", "llama-7b", "--gpus", "8")
    assert value["plan"]["stage"] == 2
    assert any("stage 2, from the traceback" in note for note in value["assumptions"])
    assert any("memory from the message" in note for note in value["assumptions"])


def test_what_is_typed_wins_over_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, "--oom", LOG, "--model", "llama-7b", "--gpus", "8", "--stage", "1", "--gpu-mem", "80")
    assert value["plan"]["stage"] == 1
    assert not any("from the" in note for note in value["assumptions"])


def test_without_a_hint_the_plan_that_matches_best_is_taken(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    log = tmp_path / "x.log"
    # one reduce bucket exists in stages 1 to 3, a whole fp32 copy of 7e9 parameters only in stage 0
    log.write_text("CUDA out of memory. Tried to allocate 26.08 GiB.\n", encoding="utf-8")
    value = _json(capsys, "--oom", str(log), "--params", "7B", "--gpus", "8")
    assert value["plan"]["stage"] == 0
    assert any("matches the message best" in note for note in value["assumptions"])


def test_the_last_estimate_is_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", *PLAN]) == 0
    capsys.readouterr()
    value = _json(capsys, "--oom", LOG)
    assert value["candidates"][0]["term"] == "optimizer_temporaries"
    assert any("the last estimate" in note for note in value["assumptions"])
    assert "The plan is the last estimate" in " ".join(_text(capsys, "master").split())


def test_a_plan_file_in_the_folder_is_the_plan(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "zplan.yaml").write_text("model: llama-7b\ngpus: 8\nstage: 2\n", encoding="utf-8")
    assert _json(capsys, "--oom", LOG)["plan"]["stage"] == 2


def test_standard_input_is_read(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    stdin = io.TextIOWrapper(io.BytesIO(Path(LOG).read_bytes()))
    monkeypatch.setattr(sys, "stdin", stdin)
    assert _json(capsys, "--oom", "-")["message"]["index"] == 5


def test_nothing_on_standard_input_is_said(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    error, _ = _refused(capsys, "--oom", "-")
    assert "standard input is empty" in error


@pytest.mark.parametrize("path", sorted(DATA.glob("*.txt")), ids=lambda path: path.stem)
@pytest.mark.parametrize("plan", [(), ("--params", "7B", "--gpus", "8", "--stage", "3", "--offload", "all")])
def test_every_log_is_answered(capsys: pytest.CaptureFixture[str], path: Path, plan: tuple[str, ...]) -> None:
    text = _text(capsys, "--oom", str(path), *plan)
    assert "Why there was no room" in text
    assert all(len(line) <= 80 for line in text.splitlines())
    value = _json(capsys, "--oom", str(path), *plan)
    assert value["causes"]
    assert len(value["candidates"]) <= 12


@pytest.mark.parametrize(
    ("args", "error", "hint"),
    [
        ((), "explain what?", "zplan explain logits"),
        (("logitz",), "unknown term 'logitz'", "zplan explain logits"),
        (("logits", "--list"), "three different questions", "zplan explain logits"),
        (("logits", "--oom", "x.log"), "three different questions", "zplan explain logits"),
        (("--oom", "nowhere.log"), "no such file", "zplan explain --oom train.log"),
        (("--oom", ""), "names no file", "zplan explain --oom"),
        (("--oom", "."), "is a folder", "zplan explain --oom"),
        (("--oom", LOG, "--params", "7X"), "--params", "7B"),
        (("--oom", LOG, "--params", "7B", "--stage", "7"), "unknown stage", "--stage"),
        (("logits", "--unit", "MB"), "unknown unit", "--unit"),
    ],
)
def test_bad_questions_get_two_lines(
    capsys: pytest.CaptureFixture[str], args: tuple[str, ...], error: str, hint: str
) -> None:
    said, help_ = _refused(capsys, *args)
    assert error in said and hint in help_


def test_ascii_terminals_get_ascii(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    stdout = io.TextIOWrapper(io.BytesIO(), encoding="ascii", errors="strict")
    monkeypatch.setattr(sys, "stdout", stdout)
    assert run(["explain", "--oom", LOG, *PLAN]) == 0
    stdout.seek(0)
    text = stdout.read()
    assert "  x  3.14 GiB was asked for" in text


# --- the page --------------------------------------------------------------------------------------------------------

COMMANDS = [
    line
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for line in block.splitlines()
]


def test_the_page_has_commands() -> None:
    assert len(COMMANDS) >= 7


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_of_the_page_works(command: str, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    shutil.copy(LOG, tmp_path / "train.log")
    words = shlex.split(command)
    assert words[0] == "zplan"
    assert run(words[1:]) == 0
    assert capsys.readouterr().out


def test_the_answer_on_the_page_is_what_the_command_prints() -> None:
    spec = importlib.util.spec_from_file_location("docs_generate_oom", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    generate = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = generate
    spec.loader.exec_module(generate)
    text = PAGE.read_text(encoding="utf-8")
    assert generate.with_blocks(text) == text


def test_every_link_of_the_page_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", PAGE.read_text(encoding="utf-8")):
        assert target.startswith("https://") or (PAGE.parent / target).exists(), target
