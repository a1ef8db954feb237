"""Documents cannot rot: what they quote is written by a script, and compared here."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from types import ModuleType

import pytest

from zplan.cli.app import VERBS

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def generate() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_what_the_options_say(generate: ModuleType) -> None:
    assert (ROOT / "docs" / "cli.md").read_text(encoding="utf-8") == generate.reference()


def test_the_output_in_the_readme_is_what_the_commands_print(generate: ModuleType) -> None:
    assert generate.with_blocks(README) == README


def test_the_readme_shows_real_output_first(generate: ModuleType) -> None:
    first = generate.BLOCK.search(README)
    assert first is not None
    assert first["command"] == "zplan estimate --params 7B --gpus 8 --gpu-mem 80"
    assert README[: first.start()].count("\n") < 12


@pytest.mark.parametrize(
    "command",
    [
        "pip install . && zplan estimate --params 7B --gpus 8 --gpu-mem 80",
        "pip install -e '.[dev]' && pytest",
    ],
)
def test_the_readme_gives_the_two_commands(command: str) -> None:
    assert command in README


def test_every_verb_is_documented() -> None:
    reference = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    for verb in VERBS:
        assert f"## `zplan {verb}`" in reference
        assert f"zplan {verb}" in README


def test_every_link_of_the_readme_leads_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", README):
        if not target.startswith("http"):
            assert (ROOT / target).exists(), target
