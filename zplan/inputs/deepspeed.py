"""``ds_config.json`` -> what it says about a training job, as DeepSpeed 0.19 and Hugging Face's Trainer read it.

Source: DeepSpeed ``runtime/config.py`` (batch arithmetic, sections) and ``runtime/zero/config.py``; "auto" as
``HfTrainerDeepSpeedConfig`` in transformers' ``integrations/deepspeed.py`` and ``DeepSpeedPlugin`` in accelerate's
``utils/dataclasses.py`` fill it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from zplan.errors import ZplanError
from zplan.inputs.dsbatch import Batch, read_batch
from zplan.inputs.dskeys import OFFLOAD_OPTIMIZER_KEYS, OFFLOAD_PARAM_KEYS, ZERO_KEYS, Key
from zplan.inputs.dsvalues import AUTO, as_kind, as_word, real, whole
from zplan.inputs.jsontext import Irregularity, KeyPath, Position, parse_json_text, refuse_too_many
from zplan.inputs.textfile import read_text
from zplan.spec import DeepSpeedOptions, Engine, Job, ModelSpec, Offload, OffloadTo
from zplan.units import quote

EXPECTED = "a DeepSpeed config, as zplan recommend --params 7B --gpus 8 --gpu-mem 80 --write example.json writes one"
ZERO: KeyPath = ("zero_optimization",)
AUTO_STAGE = 2
"""accelerate ``DeepSpeedPlugin.zero_stage``: ``ACCELERATE_DEEPSPEED_ZERO_STAGE``, else 2."""
AUTO_CLIPPING = 1.0
"""transformers ``TrainingArguments.max_grad_norm``; accelerate fills the same."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DsConfig:
    """A parsed file, with where everything stands."""

    name: str
    """What the user called it."""
    value: Mapping[str, object]
    positions: Mapping[KeyPath, Position] = field(default_factory=dict)
    irregularities: tuple[Irregularity, ...] = ()

    def get(self, path: KeyPath, default: object = None) -> object:
        """The value at a path, or ``default`` where a key is missing on the way."""
        found: object = self.value
        for key in path:
            if not isinstance(found, Mapping) or key not in found:
                return default
            found = found[key]
        return found

    def section(self, path: KeyPath) -> Mapping[str, object]:
        """The object at a path, empty where it is missing.

        Raises:
            ZplanError: something else stands there.
        """
        found = self.get(path, {})
        if isinstance(found, Mapping):
            return found
        raise ZplanError(
            f"{self.where(path)} must be an object, not {as_word(found)}", f"write {quote(path[-1])}: {{...}}"
        )

    def where(self, path: KeyPath) -> str:
        """The file, the key and its line, for errors."""
        at = self.positions.get(path)
        return f"{quote(self.name)}: {'.'.join(path)}" + (f" (line {at.line})" if at else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class DsReading:
    """What a file says about a job."""

    job: Mapping[str, object]
    """Field of ``Job`` -> value, for the fields that the file decides; ``deepspeed`` is among them."""
    batch: Batch
    notes: tuple[str, ...]
    """What was filled in or cannot be priced, in the user's words."""


def read_ds_config(path: str | Path, *, name: str | None = None) -> DsConfig:
    """Read a ``ds_config.json``.

    Args:
        path: The file.
        name: What the user called it; the path by default.

    Returns:
        The parsed file.

    Raises:
        ZplanError: unreadable, too large, not UTF-8, not JSON, a key twice, nested too deeply, or not an object.
    """
    name = name or str(path)
    return parse_ds_config(read_text(path, name=name, expected=EXPECTED), name=name)


def parse_ds_config(text: str, *, name: str) -> DsConfig:
    """The same, from the file's text."""
    parsed = parse_json_text(text, name=name, expected=EXPECTED)
    if not isinstance(parsed.value, Mapping):
        raise ZplanError(f"{quote(name)} holds {as_word(parsed.value)}, not a JSON object", f"expected {EXPECTED}")
    refuse_too_many(parsed.positions, name=name, expected=EXPECTED)
    return DsConfig(name=name, value=parsed.value, positions=parsed.positions, irregularities=parsed.irregularities)


def apply_ds_config(config: DsConfig, *, model: ModelSpec, gpus: int, base: Job) -> tuple[Job, tuple[str, ...]]:
    """The job that a file describes.

    Args:
        config: The file.
        model: Its hidden size fills "auto" buckets.
        gpus: All of them, for the batch arithmetic.
        base: The job as far as a ds_config.json cannot say it (sequence length, checkpointing, ...), and what "auto"
            takes from TrainingArguments (micro-batch, accumulation, precision).

    Returns:
        The job, and what was assumed.

    Raises:
        ZplanError: a value that DeepSpeed would not take, with its line.
    """
    reading = ds_reading(config, model=model, gpus=gpus, base=base)
    return replace(base, **reading.job), reading.notes  # type: ignore[arg-type]


def ds_reading(config: DsConfig, *, model: ModelSpec, gpus: int, base: Job) -> DsReading:
    """What a file says, as values; arguments and errors as for :func:`apply_ds_config`."""
    from zplan.inputs.dsoptimizer import read_optimizer
    from zplan.inputs.dsprecision import accumulation_dtype, communication_dtype, read_precision, unpriced

    notes: list[str] = []
    stage = read_stage(config, notes)
    precision = read_precision(config, base, notes)
    offload, offload_to = read_offload(config, stage, notes)
    batch = read_batch(config, gpus, base, notes)
    options = replace(
        read_options(config, stage, model, notes),
        grad_accum_dtype=accumulation_dtype(config, precision),
        communication_dtype=communication_dtype(config, precision),
        gradient_clipping=_clipping(config, notes),
    )
    job: dict[str, object] = {
        "engine": Engine.DEEPSPEED,
        "stage": stage,
        "offload": offload,
        "offload_to": offload_to,
        "precision": precision,
        "micro_batch": batch.micro_batch,
        "grad_accum": batch.grad_accum,
        "hpz": _hpz(config, stage),
        "deepspeed": options,
    }
    optimizer = read_optimizer(config, notes)
    if optimizer is not None:
        job["optimizer"] = optimizer
    return DsReading(job=job, batch=batch, notes=(*notes, *unpriced(config)))


def read_stage(config: DsConfig, notes: list[str]) -> int:
    """The ZeRO stage; DeepSpeed's default is 0."""
    zero = config.get(ZERO, {})
    if isinstance(zero, bool):  # the oldest form: "zero_optimization": true is stage 1
        return 1 if zero else 0
    path = (*ZERO, "stage")
    value = config.section(ZERO).get("stage", 0)
    if value == AUTO:
        notes.append(f'stage {AUTO_STAGE} for "auto", as accelerate fills it')
        return AUTO_STAGE
    stage = whole(config.where(path), value, minimum=0)
    if stage > 3:
        raise ZplanError(f"{config.where(path)} is {stage}: there are stages 0 to 3", 'write "stage": 3')
    return stage


def zero_section(config: DsConfig) -> Mapping[str, object]:
    """``zero_optimization``, empty where it is missing or the old true or false."""
    return {} if isinstance(config.get(ZERO), bool) else config.section(ZERO)


def zero_value(config: DsConfig, name: str) -> tuple[KeyPath, object]:
    """Where a ZeRO key stands, under its documented or its short name, and its value (None: missing)."""
    zero, short = zero_section(config), ZERO_KEYS[name].short
    used = short if short is not None and short in zero and name not in zero else name
    return (*ZERO, used), zero.get(used)


def read_options(config: DsConfig, stage: int, model: ModelSpec, notes: list[str]) -> DeepSpeedOptions:
    """The ZeRO keys that decide memory. What a stage does not read stays at its default, since it does nothing."""
    filled = auto_values(model)
    found: dict[str, object] = {}
    for name, key in ZERO_KEYS.items():
        path, value = zero_value(config, name)
        if key.field is None or value is None or stage not in key.stages:
            continue
        if value == AUTO:
            if name in filled:
                found[key.field] = filled[name]
                notes.append(f'{name} {filled[name]} for "auto", as the Trainer fills it')
            continue  # DeepSpeed drops any other "auto" and takes its default
        found[key.field] = as_kind(config.where(path), value, key)
    for section, keys in (("offload_param", OFFLOAD_PARAM_KEYS), ("offload_optimizer", OFFLOAD_OPTIMIZER_KEYS)):
        found.update(_offload_options(config, section, keys, stage))
    return DeepSpeedOptions(**found)  # type: ignore[arg-type]


def auto_values(model: ModelSpec) -> dict[str, int]:
    """What "auto" becomes in the keys that depend on the model's width h.

    Formula: reduce bucket h², prefetch int(0.9 h²), persistence 10 h.
    Source: transformers ``HfTrainerDeepSpeedConfig.trainer_config_finalize``; accelerate ``_prepare_deepspeed``.
    """
    hidden = model.hidden_size
    return {
        "reduce_bucket_size": hidden * hidden,
        "stage3_prefetch_bucket_size": int(0.9 * hidden * hidden),
        "stage3_param_persistence_threshold": 10 * hidden,
    }


def _offload_options(config: DsConfig, section: str, keys: Mapping[str, Key], stage: int) -> dict[str, object]:
    """Options of one offload section, where it offloads anything at this stage."""
    if device(config, section) == "none" or stage not in ZERO_KEYS[section].stages:
        return {}
    found: dict[str, object] = {}
    for name, value in config.section((*ZERO, section)).items():
        key = keys.get(name)
        if key is None or key.field is None or value == AUTO or stage not in key.stages:
            continue
        found[key.field] = as_kind(config.where((*ZERO, section, name)), value, key)
    return found


def device(config: DsConfig, section: str) -> str:
    """Where one offload section offloads to: ``none``, ``cpu`` or ``nvme``; the old ``cpu_offload`` keys included."""
    zero = zero_section(config)
    old = {"offload_optimizer": "cpu_offload", "offload_param": "cpu_offload_param"}[section]
    if zero.get(section) is None:
        return "cpu" if zero.get(old) is True else "none"
    path = (*ZERO, section, "device")
    value = config.section((*ZERO, section)).get("device", "none")
    if value == AUTO or value is None:
        return "none"
    if value not in ("none", "cpu", "nvme"):
        raise ZplanError(
            f"{config.where(path)} is {as_word(value)}, not none, cpu or nvme",
            f'write "{section}": {{"device": "cpu"}}',
        )
    return str(value)


def read_offload(config: DsConfig, stage: int, notes: list[str]) -> tuple[Offload, OffloadTo]:
    """What leaves the GPU at this stage, and where it goes."""
    optimizer, params = device(config, "offload_optimizer"), device(config, "offload_param")
    if stage == 0 or (optimizer == "none" and stage < 3):
        return Offload.NONE, OffloadTo.CPU
    if stage < 3:  # stages 1 and 2 know the host alone: any device but none means it (``stage_1_and_2.py``)
        return Offload.OPTIMIZER, OffloadTo.CPU
    if optimizer == "none":
        if params != "none":
            notes.append(
                "offload_param without offload_optimizer is priced with the parameters on the GPU: up to 2 bytes per "
                "parameter and rank more than DeepSpeed needs"
            )
        return Offload.NONE, OffloadTo.CPU
    if params not in ("none", optimizer):
        notes.append(f"parameters offloaded to {params} are priced as on {optimizer}, where the optimizer states go")
    return Offload.OPTIMIZER if params == "none" else Offload.ALL, OffloadTo(optimizer)


def _hpz(config: DsConfig, stage: int) -> int:
    path, value = zero_value(config, "zero_hpz_partition_size")
    return 1 if stage < 3 or value in (None, AUTO) else max(1, whole(config.where(path), value, minimum=0))


def _clipping(config: DsConfig, notes: list[str]) -> float:
    value = config.get(("gradient_clipping",), 0.0)
    if value == AUTO:
        notes.append(f'gradient clipping {AUTO_CLIPPING} for "auto", the default of TrainingArguments')
        return AUTO_CLIPPING
    return real(config.where(("gradient_clipping",)), value, minimum=0)
