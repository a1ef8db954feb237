"""One preset file: YAML into a document, and the strict check that a user's own file gets.

A built-in file is read without the check: the tests give it to every one of them, and pydantic alone would cost more
time than the rest of the command.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Any, get_type_hints

from zplan.errors import ZplanError
from zplan.inputs.plainyaml import parse_plain_yaml
from zplan.units import quote

MAX_BYTES = 1_000_000
FORMATS = ("bf16", "fp16", "tf32", "fp8")
CHOICES: dict[str, tuple[object, ...]] = {
    "link": ("nvlink", "pcie", "xgmi", "hccs", "roce", "none"),
    "intra_link": ("nvswitch", "nvlink", "pcie", "xgmi", "hccs", "roce", "none"),
    "pcie_gen": (2, 3, 4, 5, 6),
}
"""Field -> what step times are known for; anything else would be timed as something that it is not."""
MAY_BE_ZERO = ("nvme_bytes", "price_per_hour")
EXTRAS = ("aliases", "memory_source", "notes")
"""Keys that any preset may have beside the fields of its spec."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelFile:
    """What a model's file says."""

    name: str
    title: str
    config: Mapping[str, object]
    """The fields of Hugging Face's ``config.json`` that decide the architecture."""
    params: int | None = None
    """P, to be compared with the sum over the tensors."""
    source: str = ""
    checked: str = ""


def read_document(path: Path) -> dict[str, Any]:
    """Returns the mapping in a YAML file; ``name`` is filled in from the file's name and dates become text.

    Raises:
        ZplanError: The file cannot be read, is not YAML, or is not a mapping with text as keys.
    """
    text = _read(path)
    document: object = parse_plain_yaml(text)
    if document is None:
        document = _parse(path, text)
    if not isinstance(document, dict) or not all(isinstance(key, str) for key in document):
        raise broken(path, "holds no mapping of keys to values")
    document.setdefault("name", path.stem)
    if "checked" in document:
        document["checked"] = str(document["checked"])
    return document


def _read(path: Path) -> str:
    """Returns the file's text."""
    try:
        if not path.is_file():
            raise broken(path, "is not a regular file")
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
        if len(data) > MAX_BYTES:
            raise broken(path, f"has more than {MAX_BYTES:,} bytes, too many for a preset")
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise broken(path, f"is not UTF-8 text (byte {error.start})") from None
    except OSError as error:
        raise broken(path, f"cannot be read ({error.strerror or error})") from None


def _parse(path: Path, text: str) -> object:
    """Returns what the YAML text says."""
    import yaml

    from zplan.inputs.yamltext import UNREADABLE, said_by

    plain: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)

    class Once(plain):  # type: ignore[misc]  # the C loader, or Python's where there is none
        """A key given twice has no one meaning."""

        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            seen: set[str] = set()
            for key, _ in node.value:
                word = key.value if isinstance(key.value, str) else ""
                if word in seen:
                    raise yaml.MarkedYAMLError(problem=f"the key {quote(word)} twice", problem_mark=key.start_mark)
                seen |= {word} if word else set()
            return super().construct_mapping(node, deep=deep)

    try:
        # Anchors let a few lines stand for more values than fit into memory; no preset needs them.
        if "&" in text and any(isinstance(token, yaml.AliasToken) for token in yaml.scan(text, Loader=plain)):
            raise broken(path, "repeats values with YAML anchors (&name, *name), which presets do not take")
        parsed: object = yaml.load(text, Loader=Once)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise broken(path, f"is not valid YAML: {getattr(error, 'problem', None) or 'unreadable'}{where}") from None
    except UNREADABLE as error:
        raise broken(path, f"is not valid YAML: {said_by(error)}") from None
    return parsed


def broken(path: Path, what: str) -> ZplanError:
    """Returns the error for a preset file with something wrong."""
    folder = path.parent.name
    example = {"models": "llama-3.1-8b", "gpus": "a100-80g", "nodes": "dgx-h100"}.get(folder, "llama-3.1-8b")
    return ZplanError(
        f"{path}: {what}", f"compare with a preset that works: ZPLAN_PRESETS= zplan presets show {example}"
    )


def build(kind: type[Any], document: Mapping[str, Any]) -> Any:
    """Returns the dataclass ``kind`` made from a document that is known to be right; extra keys are dropped."""
    known = {field.name for field in fields(kind)}
    return kind(**{key: _frozen(value) for key, value in document.items() if key in known})


def checked(kind: type[Any], document: Mapping[str, Any], path: Path) -> Any:
    """Returns the dataclass ``kind`` made from a user's document, after a strict check.

    Args:
        kind: ``ModelFile``, ``GpuSpec`` or ``NodeSpec``.
        document: What ``read_document`` returned.
        path: Its file, for messages.

    Raises:
        ZplanError: A key is unknown, missing, of the wrong type or out of range; the message names file and key.
    """
    _check_keys(kind, document, path)
    types = get_type_hints(kind)
    values = {key: _field(key, types[key], value, path) for key, value in document.items() if key in types}
    _field("aliases", tuple[str, ...], document.get("aliases", ()), path)
    made = kind(**values)
    _check_values(made, path)
    return made


def _field(key: str, hint: Any, value: Any, path: Path) -> Any:
    """Returns one value of a user's document, which must be of the field's type."""
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(hint).validate_python(_frozen(_number(value)), strict=True)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in (key, *first["loc"]))
        problem = first["msg"].replace("Input should be", "should be")
        raise broken(path, f"{where}: {problem}, not {quote(str(first['input']))}") from None


def _check_keys(kind: type[Any], document: Mapping[str, Any], path: Path) -> None:
    """Refuses unknown keys, missing ones, and a name that is not the file's."""
    from difflib import get_close_matches

    known = [field.name for field in fields(kind)] + list(EXTRAS)
    for key in document:
        if key not in known:
            close = get_close_matches(key, known, n=1)
            guess = f", did you mean {close[0]}?" if close else f" (known: {', '.join(known)})"
            raise broken(path, f"{quote(key)}: unknown key{guess}")
    for field in fields(kind):
        if field.default is MISSING and field.default_factory is MISSING and field.name not in document:
            raise broken(path, f"{field.name}: missing")
    if document["name"] != path.stem:
        raise broken(path, f"name: {quote(str(document['name']))} is not the file's name, '{path.stem}'")


def _check_values(made: Any, path: Path) -> None:
    """Refuses numbers that are not finite and positive, and number formats that nobody knows."""
    for field in fields(made):
        value = getattr(made, field.name)
        if isinstance(value, int | float) and not isinstance(value, bool):
            least = value >= 0 if field.name in MAY_BE_ZERO else value > 0
            if not (least and math.isfinite(value)):
                raise broken(path, f"{field.name}: must be a positive finite number, not {value}")
    for name, allowed in CHOICES.items():
        value = getattr(made, name, None)
        if value is not None and value not in allowed:
            raise broken(path, f"{name}: {quote(str(value))} is not one of {', '.join(map(str, allowed))}")
    for name in getattr(made, "lacks", ()):
        if name not in FORMATS:
            raise broken(path, f"lacks: {quote(name)} is not one of {', '.join(FORMATS)}")


def _number(value: Any) -> Any:
    """Returns a number for text such as ``989e12``, which YAML 1.1 takes for a word since it has no dot."""
    if isinstance(value, str) and value[:1].isdigit() and "e" in value.lower():
        try:
            return float(value)
        except ValueError:
            return value
    return value


def _frozen(value: Any) -> Any:
    """Returns a tuple for a list, anything else as it is."""
    return tuple(value) if isinstance(value, list) else value
