"""Any config file that zplan reads, told apart by what it holds."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from shlex import quote as shell_quote

from zplan.errors import ZplanError
from zplan.inputs.deepspeed import DsConfig, parse_ds_config
from zplan.inputs.settings import DEEPSPEED, FileWords
from zplan.inputs.textfile import read_text
from zplan.units import quote

EXPECTED = "a ds_config.json, an accelerate YAML, a TrainingArguments JSON, or a LLaMA-Factory or axolotl YAML"
_TRAINER_KEYS = frozenset(
    ("output_dir", "per_device_train_batch_size", "deepspeed", "fsdp", "fsdp_config", "gradient_checkpointing", "optim")
)
_ACCELERATE_KEYS = {"distributed_type", "compute_environment", "num_processes"}
_NO_PLAN = _TRAINER_KEYS | {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu"}


def read_config_file(path: str | Path, *, name: str | None = None) -> FileWords:
    """Read a config file of any kind that zplan knows.

    Args:
        path: The file.
        name: What the user called it; the path by default.

    Returns:
        Its settings; ``kind`` says what it was taken for.

    Raises:
        ZplanError: unreadable, hostile, or of no kind that zplan knows.
    """
    name = name or str(path)
    text = read_text(path, name=name, expected=EXPECTED)
    folder = Path(path).parent
    if _is_yaml(path, text):
        return _yaml(text, name, folder)
    config = parse_ds_config(text, name=name)
    keys = config.value.keys()
    if {"schema_version", "plans"} <= keys or (keys & {"params", "model"} and not keys & _NO_PLAN):
        raise _a_plan(name)
    if "fp16" in config.value and isinstance(config.value["fp16"], Mapping):
        return FileWords(name=name, kind=DEEPSPEED, ds=config)
    if _ACCELERATE_KEYS & keys and "zero_optimization" not in keys:
        from zplan.inputs.accelerate import read_accelerate
        from zplan.inputs.yamltext import YamlText

        return read_accelerate(YamlText(name=name, value=config.value, positions=config.positions), folder=folder)
    if _TRAINER_KEYS & set(config.value) and "zero_optimization" not in config.value:
        return _trainer(config, folder)
    return FileWords(name=name, kind=DEEPSPEED, ds=config)


_YAML_KEY = re.compile(r"[A-Za-z_][\w.-]*:(\s|$)")


def _is_yaml(path: str | Path, text: str) -> bool:
    """By the name; a name that tells nothing by the first line that is no comment: JSON never starts with a bare key."""
    suffix = Path(path).suffix.lower()
    if suffix in (".yaml", ".yml", ".json"):
        return suffix != ".json"
    first = next((line for line in text.splitlines() if line.strip() and not line.startswith(("#", "---"))), "")
    return _YAML_KEY.match(first) is not None


def _trainer(config: DsConfig, folder: Path) -> FileWords:
    from zplan.inputs.trainer import trainer_words

    found = trainer_words(config.name, config.value, folder=folder)
    if found.ds is None or found.ds.positions or not isinstance(config.value.get("deepspeed"), Mapping):
        return found
    inner = {path[1:]: at for path, at in config.positions.items() if path[0] == "deepspeed" and len(path) > 1}
    return replace(found, ds=replace(found.ds, positions=inner))


def _yaml(text: str, name: str, folder: Path) -> FileWords:
    from zplan.inputs.accelerate import read_accelerate
    from zplan.inputs.trainer import axolotl_words, llama_factory_words, trainer_words
    from zplan.inputs.yamltext import parse_yaml_text

    parsed = parse_yaml_text(text, name=name, expected=EXPECTED)
    keys = set(parsed.value)
    if keys & _ACCELERATE_KEYS:
        return read_accelerate(parsed, folder=folder)
    if "base_model" in keys:
        return axolotl_words(name, parsed.value, folder=folder)
    if keys & {"finetuning_type", "template", "cutoff_len", "dataset_dir"}:
        return llama_factory_words(name, parsed.value, folder=folder)
    if keys & _TRAINER_KEYS:
        return trainer_words(name, parsed.value, folder=folder)
    if keys & {"zero_optimization", "train_batch_size", "train_micro_batch_size_per_gpu"}:
        config = DsConfig(name=name, value=parsed.value, positions=parsed.positions)
        return FileWords(name=name, kind=DEEPSPEED, ds=config)
    if keys & {"params", "model"}:
        raise _a_plan(name)
    raise ZplanError(f"{quote(name)} is no config that zplan knows", f"expected {EXPECTED}")


def _a_plan(name: str) -> ZplanError:
    return ZplanError(f"{quote(name)} is a plan, not a config", f"price it: zplan estimate {shell_quote(name)}")
