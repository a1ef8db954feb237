"""Starting up stays cheap: what may be imported when, and a small public API."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

import zplan

NEVER = {"torch", "deepspeed", "transformers", "peft", "accelerate", "huggingface_hub", "numpy", "urllib3", "requests"}
BASE = ["estimate", "--params", "7B", "--gpus", "8", "--gpu-mem", "80"]


def _modules_after(code: str) -> set[str]:
    """Top-level packages that are imported once the code has run in a fresh interpreter."""
    report = "import json, sys; sys.stderr.write(json.dumps(sorted({name.partition('.')[0] for name in sys.modules})))"
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\n{report}"],
        capture_output=True,
        text=True,
        env={**os.environ, "ZPLAN_NO_CACHE": "1"},
        timeout=60,
        check=True,
    )
    return set(json.loads(done.stderr))


def _run(*args: str) -> str:
    return f"from zplan.cli.app import run; assert run({list(args)!r}) == 0"


def test_importing_zplan_imports_nothing_else() -> None:
    assert not _modules_after("import zplan") & (NEVER | {"typer", "rich", "pydantic", "yaml", "dataclasses"})


@pytest.mark.parametrize(
    ("arguments", "forbidden"),
    [
        ([*BASE, "--json"], NEVER | {"pydantic", "yaml", "rich"}),
        (BASE, NEVER | {"pydantic", "yaml"}),
        ([*BASE, "--stage", "3", "--explain"], NEVER | {"pydantic", "yaml"}),
        (
            [*BASE[:1], "--model", "llama-3.1-8b", "--gpus", "8", "--gpu", "h100-80g", "--json"],
            NEVER | {"pydantic", "rich"},
        ),
        (["--help"], NEVER),
        (["estimate", "--help"], NEVER),
        (["presets", "ls", "models"], NEVER),
        (["presets", "show", "a100-80g", "--json"], NEVER | {"rich"}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_only_what_it_needs(arguments: list[str], forbidden: set[str]) -> None:
    assert not _modules_after(_run(*arguments)) & forbidden


def test_a_verb_does_not_import_the_others() -> None:
    code = _run(*BASE, "--json") + "\nimport sys; assert 'zplan.cli.presets' not in sys.modules"
    _modules_after(code)


def test_the_public_api_is_small_and_there() -> None:
    assert len(zplan.__all__) <= 15
    assert zplan.__all__ == sorted(zplan.__all__)
    for name in zplan.__all__:
        assert getattr(zplan, name) is not None
    assert dir(zplan) == zplan.__all__


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nonesuch'"):
        zplan.nonesuch  # noqa: B018


def test_the_example_of_the_package_runs() -> None:
    assert zplan.__doc__ is not None
    example = [line[4:] for line in zplan.__doc__.splitlines() if line.startswith("    ")]
    namespace: dict[str, object] = {}
    exec("\n".join(example), namespace)
    plan = namespace["plan"]
    assert isinstance(plan, zplan.Plan)
    assert zplan.estimate(plan).allocated_peak_bytes > 0


@pytest.mark.parametrize(
    "module", ["states", "params", "terms", "estimate", "elastic", "engines.zero3", "beyond", "verdict"]
)
def test_parts_of_memory_can_be_imported_first(module: str) -> None:
    """Whichever comes first, none needs another that is still being imported."""
    command = (sys.executable, "-c", f"import zplan.memory.{module}")
    assert subprocess.run(command, check=False, capture_output=True).returncode == 0
