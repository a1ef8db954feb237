"""``zplan.yaml``: a plan in the names of the options; and the JSON that ``zplan estimate --json`` prints, read back."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from shlex import quote as shell_quote

from zplan.errors import ZplanError
from zplan.inputs.deepspeed import DsConfig, parse_ds_config
from zplan.inputs.dsvalues import as_word
from zplan.inputs.jsontext import KeyPath, Position
from zplan.inputs.settings import nearby
from zplan.inputs.textfile import read_text
from zplan.inputs.yamltext import parse_yaml_text
from zplan.units import quote

EXPECTED = (
    "a plan: option names and values, such as `params: 7B` and `gpus: 8`, one a line; "
    "or the JSON of zplan estimate --params 7B --gpus 8 --gpu-mem 80 --stage 3 --json"
)
SWITCHES = ("compile",)
"""Options without a value."""
ON_OFF = ("zero_init",)
"""Options that take ``on`` or ``off``, which YAML 1.1 reads as true and false."""
FILES = ("ds_config",)
"""Options that name a file, which may lie beside the plan."""

FOREIGN = frozenset(
    (
        *("zero_optimization", "bf16", "fp16", "train_batch_size", "train_micro_batch_size_per_gpu"),
        *("distributed_type", "compute_environment", "num_processes"),
        *("base_model", "model_name_or_path", "finetuning_type", "output_dir", "per_device_train_batch_size"),
    )
)
"""Keys of DeepSpeed, accelerate, axolotl, LLaMA-Factory and TrainingArguments that no plan has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanFile:
    """A plan as words."""

    name: str
    words: Mapping[str, str | bool] = field(default_factory=dict)
    """Option name with underscores -> the word that it takes; True for a switch that is on."""
    ds: DsConfig | None = None
    """DeepSpeed's own keys, from the JSON of an estimate."""
    notes: tuple[str, ...] = ()


def read_planfile(path: str | Path, *, options: Collection[str], name: str | None = None) -> PlanFile:
    """Read a plan file.

    Args:
        path: ``zplan.yaml``, a JSON of the same keys, or the JSON of an estimate.
        options: Names of the options, with underscores.
        name: What the user called the file; the path by default.

    Returns:
        The words of the options. Keys may be written with dashes, underscores, or as flags.

    Raises:
        ZplanError: unreadable, hostile, an unknown key (with the nearest), or a value that is no word or number.
    """
    name = name or str(path)
    text = read_text(path, name=name, expected=EXPECTED)
    if text.lstrip().startswith("{"):
        config = parse_ds_config(text, name=name)
        if "plans" in config.value and "schema_version" in config.value:
            return _estimate(config, options)
        return _words(name, config.value, config.positions, options, Path(path).parent)
    parsed = parse_yaml_text(text, name=name, expected=EXPECTED)
    return _words(name, parsed.value, parsed.positions, options, Path(path).parent)


def _plain(key: str) -> str:
    return key.strip().lstrip("-").replace("-", "_").lower()


def _words(
    name: str,
    values: Mapping[str, object],
    positions: Mapping[KeyPath, Position],
    options: Collection[str],
    folder: Path,
) -> PlanFile:
    words: dict[str, str | bool] = {}
    for key, value in values.items():
        at = positions.get((key,))
        where = f"{quote(name)}, line {at.line}" if at else quote(name)
        option = _plain(key)
        if option not in options:
            raise _unknown(name, where, key, values, options)
        if option in words:
            raise ZplanError(f"{where}: {quote(key)} names an option for the second time", "keep one of them")
        word = _word(option, value, where)
        if word is None:
            continue
        if option in FILES and isinstance(word, str):
            word = str(nearby(word, folder))
        words[option] = word
    return PlanFile(name=name, words=words)


def _unknown(name: str, where: str, key: str, values: Mapping[str, object], options: Collection[str]) -> ZplanError:
    """The error for a key that is no option: misspelt, or the whole file is something else."""
    recipe = f"for a ds_config.json or a training recipe: zplan check {shell_quote(name)} --model llama-3.1-8b --gpus 8"
    if values.keys() & FOREIGN:
        return ZplanError(f"{quote(name)} is no plan but a config of another kind", recipe)
    near = get_close_matches(_plain(key), options, n=1, cutoff=0.6)
    if not near and not any(_plain(other) in options for other in values):
        return ZplanError(f"{quote(name)} is no plan: none of its keys is an option", recipe)
    hint = f"did you mean {near[0].replace('_', '-')}?" if near else "keys are the options of zplan estimate --help"
    return ZplanError(f"{where}: {quote(key)} is no option", hint)


def _word(option: str, value: object, where: str) -> str | bool | None:
    """A value as it would be typed; None for nothing said."""
    shown = option.replace("_", "-")
    if value is None:
        return None
    if option in SWITCHES:
        if isinstance(value, bool):
            return value or None
        raise ZplanError(f"{where}: {shown} is {as_word(value)}, not true or false", f"write {shown}: true")
    if isinstance(value, bool):
        if option in ON_OFF:
            return "on" if value else "off"
        raise ZplanError(
            f"{where}: {shown} is {as_word(value)}, but takes a value", f'quote it if you mean the word: "{value}"'
        )
    if isinstance(value, (str, int, float)):
        return str(value)
    raise ZplanError(f"{where}: {shown} is {as_word(value)}, not one value", f"write {shown}: VALUE")


def _estimate(config: DsConfig, options: Collection[str]) -> PlanFile:
    """The plan in an estimate's JSON: its only one, or what all of them share."""
    plans = config.get(("plans",))
    if not isinstance(plans, list) or not plans or not all(isinstance(plan, Mapping) for plan in plans):
        raise _not_an_estimate(config)
    every = [plan.get("options") for plan in plans]
    if not all(isinstance(each, Mapping) and each for each in every):
        raise _not_an_estimate(config)
    first = dict(every[0])
    words = {key: value for key, value in first.items() if all(each.get(key) == value for each in every)}
    if not all(isinstance(value, (str, bool)) for value in words.values()):
        raise _not_an_estimate(config)
    unknown = next((key for key in words if key not in options), None)
    if unknown is not None:
        message = f"{quote(config.name)} names {quote(unknown)}, which is no option of this zplan"
        raise ZplanError(message, "write it again: zplan estimate --params 7B --gpus 8 --json")
    notes = () if len(plans) == 1 else (f"{config.name} holds {len(plans)} plans: what they share is read",)
    ds = plans[0].get("ds_config") if len(plans) == 1 else None
    embedded = DsConfig(name=config.name, value=ds) if isinstance(ds, Mapping) else None
    return PlanFile(name=config.name, words=words, ds=embedded, notes=notes)


def _not_an_estimate(config: DsConfig) -> ZplanError:
    return ZplanError(
        f"{quote(config.name)} is not the JSON of an estimate", "write one: zplan estimate --params 7B --gpus 8 --json"
    )
