"""YAML that anybody may have written, read with positions and without surprises.

Aliases are refused, since a few lines of them can expand without end; so are keys given twice and deep nesting. What
remains is what ``yaml.safe_load`` gives, quirks of YAML 1.1 included (``off`` is false, ``5e8`` is a word).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from zplan.errors import ZplanError
from zplan.inputs.jsontext import MAX_DEPTH, KeyPath, Position, refuse_too_many
from zplan.units import quote

_PLAIN_TAGS = ("tag:yaml.org,2002:seq", "tag:yaml.org,2002:map")
UNREADABLE = (ValueError, ArithmeticError, LookupError, AttributeError, TypeError, RecursionError)
"""What a YAML library raises beside its own errors: dates such as 2026-99-99, numbers too long, nesting too deep, and values that
do not suit their tags (``!!bool x`` is a KeyError, ``!!timestamp x`` an AttributeError)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class YamlText:
    """A parsed file, with where its keys stand."""

    name: str
    value: Mapping[str, object]
    positions: Mapping[KeyPath, Position]

    def where(self, path: KeyPath) -> str:
        """The file, the key and its line, for errors."""
        at = self.positions.get(path)
        return f"{quote(self.name)}: {'.'.join(path)}" + (f" (line {at.line})" if at else "")


def said_by(error: Exception) -> str:
    """What an error that is no syntax error tells a user."""
    if type(error) in (
        KeyError,
        IndexError,
        AttributeError,
        TypeError,
    ):  # what went wrong in the library, not in the file
        return "a value is none of the kind that its tag (!!) names"
    return " ".join(str(error).split())


def parse_yaml_text(text: str, *, name: str, expected: str) -> YamlText:
    """Parse one YAML mapping.

    Args:
        text: The file's text.
        name: What the user called the file.
        expected: What the file should have been, for the hint.

    Returns:
        The mapping; keys that are not words are turned into words.

    Raises:
        ZplanError: not YAML, aliases, a key twice, nested too deeply, more than one document, or not a mapping.
    """
    import yaml

    loader_class = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    hint = f"expected {expected}"
    try:
        # Events first: they come without recursion, so depth and aliases are refused before anything is built.
        _look_over(yaml.parse(text, Loader=loader_class), name, hint)
        loader = loader_class(text)
        try:
            node = loader.get_single_node()
            reader = _Builder(loader, name)
            value = None if node is None else reader.build(node, ())
        finally:
            loader.dispose()
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        at = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ZplanError(f"{quote(name)} is not valid YAML: {error.problem or error.context}{at}", hint) from None
    except (yaml.YAMLError, *UNREADABLE) as error:
        raise ZplanError(f"{quote(name)} is not valid YAML: {said_by(error)}", hint) from None
    if not isinstance(value, dict):
        raise ZplanError(f"{quote(name)} is not a mapping of keys to values", hint)
    refuse_too_many(reader.positions, name=name, expected=expected)
    return YamlText(name=name, value=value, positions=reader.positions)


def _look_over(events: Any, name: str, hint: str) -> None:
    """Refuse aliases and deep nesting."""
    import yaml

    depth = 0
    for event in events:
        if isinstance(event, yaml.AliasEvent):
            line = event.start_mark.line + 1 if event.start_mark else 1
            raise ZplanError(
                f"{quote(name)}: the alias *{str(event.anchor)[:30]} at line {line} is not supported",
                "write the value out where it is used",
            )
        if isinstance(event, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(event, yaml.CollectionEndEvent):
            depth -= 1
        if depth > MAX_DEPTH:
            raise ZplanError(f"{quote(name)} is nested more than {MAX_DEPTH} levels deep", hint)


class _Builder:
    """Turns nodes into values, noting where keys stand."""

    def __init__(self, loader: Any, name: str) -> None:
        self.loader, self.name = loader, name
        self.positions: dict[KeyPath, Position] = {}

    def build(self, node: Any, path: KeyPath) -> object:
        """The value of a node."""
        import yaml

        if isinstance(node, yaml.CollectionNode) and node.tag not in _PLAIN_TAGS:
            problem = f"unknown tag {quote(node.tag)}"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, str(index))) for index, item in enumerate(node.value)]
        if not isinstance(node, yaml.MappingNode):
            value: object = self.loader.construct_object(node)
            return value
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                line = key_node.start_mark.line + 1
                raise ZplanError(f"{quote(self.name)}: a key that is no word at line {line}", "write plain keys")
            key, mark = str(key_node.value), key_node.start_mark
            here = (*path, key)
            if key in found:
                first = self.positions[here].line
                raise ZplanError(
                    f"{quote(self.name)}: the key {quote(key)} twice, at lines {first} and {mark.line + 1}",
                    "keep one of them",
                )
            self.positions[here] = Position(line=mark.line + 1, column=mark.column + 1)
            found[key] = self.build(value_node, here)
        return found
