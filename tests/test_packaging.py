"""What the package promises to those who install it."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path
from typing import Annotated, get_origin

import pytest

import zplan
from zplan.inputs.presets import list_gpus, list_models, list_nodes

PACKAGE = Path(zplan.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def test_the_package_says_that_it_is_typed() -> None:
    assert (PACKAGE / "py.typed").exists()


def test_presets_are_where_they_are_looked_for() -> None:
    assert len(list_models()) >= 45 and len(list_gpus()) >= 30 and len(list_nodes()) >= 12


@pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())
def test_modules_are_python_3_10(module: Path) -> None:
    """As far as the grammar tells, and the names that the standard library has had only since."""
    tree = ast.parse(module.read_text(encoding="utf-8"), feature_version=(3, 10))
    imported = {
        f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    } | {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    newer = {"tomllib", "enum.StrEnum", "datetime.UTC", "itertools.batched"}
    newer |= {f"typing.{name}" for name in ("Self", "Never", "override", "assert_never", "Unpack", "NotRequired")}
    assert not imported & newer


def test_arguments_stay_arguments_on_every_python() -> None:
    """``Optional[Annotated[...]]``, which get_type_hints makes before Python 3.11, would hide them from typer."""
    from zplan.cli.command import takes_options

    def verb(file: Annotated[str | None, "an argument"] = None) -> None:
        """Nothing."""

    annotation = inspect.signature(takes_options(verb)).parameters["file"].annotation
    assert get_origin(annotation) is Annotated
