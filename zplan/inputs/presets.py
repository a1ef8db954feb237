"""Presets: models, cards and machines by name, one YAML file each.

Built-in files stand in ``presets/`` beside the package (a checkout) or in ``zplan/presets`` (a wheel). Folders in the
environment variable ``ZPLAN_PRESETS`` are read too and win over them. A name is its file's name, so that nothing but
the one file is parsed; only a name that is no file's makes the loader look through the aliases.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from zplan.errors import ZplanError
from zplan.units import quote

if TYPE_CHECKING:
    from zplan.spec import GpuSpec, ModelSpec, NodeSpec

VARIABLE = "ZPLAN_PRESETS"
_ALIASES = re.compile(r"^aliases: \[([^\]]*)\]", re.MULTILINE)
_VENDOR = re.compile(r"^(?:(?:nvidia|amd|intel|huawei|geforce|tesla|instinct)-)+")


class Kind(NamedTuple):
    """A kind of preset."""

    folder: str
    noun: str
    flag: str


MODELS = Kind(folder="models", noun="model", flag="--model")
GPUS = Kind(folder="gpus", noun="card", flag="--gpu")
NODES = Kind(folder="nodes", noun="machine", flag="--node")
KINDS = {kind.folder: kind for kind in (MODELS, GPUS, NODES)}


class PresetFile(NamedTuple):
    """Where a preset was found."""

    name: str
    path: Path
    built_in: bool

    @property
    def source(self) -> str:
        """How to call the file in output: built-in ones as in the repository, wherever they are installed."""
        return f"presets/{self.path.parent.name}/{self.path.name}" if self.built_in else str(self.path)


def list_models() -> tuple[str, ...]:
    """Returns the names of all model presets, sorted."""
    return _names(MODELS)


def list_gpus() -> tuple[str, ...]:
    """Returns the names of all card presets, sorted."""
    return _names(GPUS)


def list_nodes() -> tuple[str, ...]:
    """Returns the names of all machine presets, sorted."""
    return _names(NODES)


def is_model_preset(name: str) -> bool:
    """Tells whether ``load_model`` knows the name.

    Raises:
        ZplanError: ``ZPLAN_PRESETS`` names a folder or holds a file that cannot be read.
    """
    return find(MODELS, name) is not None


def load_model(name: str) -> ModelSpec:
    """Returns the architecture of a model preset.

    Args:
        name: A preset, an alias, or a hub id: the organisation, the case and a ``-hf`` at the end do not matter.

    Raises:
        ZplanError: No preset has that name, or a file of ``ZPLAN_PRESETS`` is broken.
    """
    from zplan.inputs.hf import read_config
    from zplan.inputs.presetfile import ModelFile, broken

    found = _found(MODELS, name)
    said: ModelFile = _made(ModelFile, found)
    spec = read_config(said.config, name=found.name, source=found.source)
    if said.params not in (None, spec.params):
        raise broken(found.path, f"params: {said.params}, but the tensors of config add up to {spec.params}")
    return spec


def load_gpu(name: str) -> GpuSpec:
    """Returns a card preset.

    Args:
        name: A preset or an alias; case, a vendor's name in front and ``GB`` for ``g`` do not matter.

    Raises:
        ZplanError: No preset has that name, or a file of ``ZPLAN_PRESETS`` is broken.
    """
    from zplan.spec import GpuSpec

    card: GpuSpec = _made(GpuSpec, _found(GPUS, name))
    return card


def load_node(name: str) -> NodeSpec:
    """Returns a machine preset.

    Raises:
        ZplanError: No preset has that name, a file of ``ZPLAN_PRESETS`` is broken, or its card is no preset.
    """
    from zplan.inputs.presetfile import broken
    from zplan.spec import NodeSpec

    found = _found(NODES, name)
    node: NodeSpec = _made(NodeSpec, found)
    if find(GPUS, node.gpu) is None:
        raise broken(found.path, f"gpu: no card preset is called {quote(node.gpu)}")
    return node


def show(kind: Kind, name: str) -> tuple[PresetFile, Mapping[str, Any]]:
    """Returns where a preset is and everything that its file says, aliases and sources included.

    Raises:
        ZplanError: As loading it.
    """
    from zplan.inputs.presetfile import read_document

    found = _found(kind, name)
    return found, read_document(found.path)


def find(kind: Kind, name: str) -> PresetFile | None:
    """Returns the preset of that name or alias, None when there is none.

    Raises:
        ZplanError: ``ZPLAN_PRESETS`` names a folder or holds a file that cannot be read.
    """
    key = normalise(kind, name)
    for folder, built_in in _folders(kind):
        files = _files(folder)
        if key in files:
            return PresetFile(name=key, path=files[key], built_in=built_in)
        for stem, path in files.items():
            if key in _aliases(kind, path, built_in):
                return PresetFile(name=stem, path=path, built_in=built_in)
    return None


def normalise(kind: Kind, name: str) -> str:
    """Returns a name as presets spell it.

    Lower case with dashes; of a hub id what follows the organisation, without a ``-hf`` at the end; of a card what
    follows the vendor, with ``80g`` for ``80GB``.
    """
    key = re.sub(r"[\s_]+", "-", name.strip().lower()) if kind is not MODELS else name.strip().lower()
    if kind is MODELS:
        return key.rpartition("/")[2].removesuffix("-hf")
    if kind is GPUS:
        key = re.sub(r"^rtx(?=\d)", "rtx-", _VENDOR.sub("", key))
        return re.sub(r"(\d)-?gi?b$", r"\1g", key)
    return key


def _found(kind: Kind, name: str) -> PresetFile:
    """Returns the preset of that name, or raises the error that helps to find the right one."""
    found = find(kind, name)
    if found is not None:
        return found
    from difflib import get_close_matches

    words = dict(pair for folder, built_in in _folders(kind) for pair in _vocabulary(kind, folder, built_in))
    matches = get_close_matches(normalise(kind, name), sorted(words), n=3, cutoff=0.6)
    close = dict.fromkeys(words[word] for word in matches)  # several aliases may stand for one preset
    guess = f"did you mean {kind.flag} {' or '.join(close)}? " if close else ""
    raise ZplanError(
        f"no {kind.noun} preset is called {quote(name)}", f"{guess}all of them: zplan presets ls {kind.folder}"
    )


def _vocabulary(kind: Kind, folder: Path, built_in: bool) -> Iterator[tuple[str, str]]:
    """Yields the names and aliases of one folder, each with the name of its preset."""
    for stem, path in _files(folder).items():
        yield stem, stem
        for alias in _aliases(kind, path, built_in):
            yield alias, stem


def _names(kind: Kind) -> tuple[str, ...]:
    return tuple(sorted({stem for folder, _ in _folders(kind) for stem in _files(folder)}))


def _folders(kind: Kind) -> list[tuple[Path, bool]]:
    """Returns the folders of a kind, the user's first, each with whether it is built in."""
    package = Path(__file__).resolve().parents[1]
    shipped = package / "presets"  # looked at first: beside an installed package stands what others installed
    if not shipped.is_dir():
        shipped = package.parent / "presets"
    folders = [(folder / kind.folder, False) for folder in _user_folders()]
    return [*folders, (shipped / kind.folder, True)]


def _user_folders() -> Iterator[Path]:
    """Yields the folders that ``ZPLAN_PRESETS`` names."""
    for part in os.environ.get(VARIABLE, "").split(os.pathsep):
        if not part.strip():
            continue
        folder = Path(part).expanduser()
        if not any((folder / name).is_dir() for name in KINDS):
            what = "has none of the folders models, gpus and nodes" if folder.is_dir() else "is no folder"
            raise ZplanError(f"{VARIABLE}: {folder} {what}", f"put presets into {folder / 'models'}/NAME.yaml")
        yield folder


def _files(folder: Path) -> dict[str, Path]:
    """Returns the YAML files of a folder by their names, lower case."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry in entries if entry.name.endswith((".yaml", ".yml")))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise ZplanError(
            f"{VARIABLE}: {folder} cannot be read ({error.strerror})", f"check its rights, or unset {VARIABLE}"
        ) from None
    return {name.rpartition(".")[0].lower(): folder / name for name in names}


def _aliases(kind: Kind, path: Path, built_in: bool) -> tuple[str, ...]:
    """Returns the normalised aliases of a file.

    A user's file is parsed; of a built-in one, whose form the tests keep, the line is enough and a tenth of the time.
    """
    if built_in:
        match = _ALIASES.search(path.read_text(encoding="utf-8"))
        words = [word.strip("'") for word in re.split(r"[,\s]+", match[1].strip())] if match else []
    else:
        from zplan.inputs.presetfile import broken, read_document

        said = read_document(path).get("aliases", [])
        if not isinstance(said, list) or not all(isinstance(word, str) for word in said):
            raise broken(path, "aliases: should be a list of names")
        words = said
    return tuple(normalise(kind, word) for word in words if word)


def _made(kind: type[Any], found: PresetFile) -> Any:
    """Returns the dataclass that a preset's file describes; a user's file is checked strictly."""
    from zplan.inputs.presetfile import build, checked, read_document

    document = read_document(found.path)
    return build(kind, document) if found.built_in else checked(kind, document, found.path)
