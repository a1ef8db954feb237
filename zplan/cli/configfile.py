"""``--ds-config FILE``: what the file says counts where the command line says nothing."""

from __future__ import annotations

from dataclasses import fields, replace
from enum import Enum

from zplan.cli.parse import JobWords
from zplan.errors import ZplanError
from zplan.inputs.deepspeed import DsReading, ds_reading, read_ds_config
from zplan.spec import DeepSpeedOptions, Engine, Job, ModelSpec

_NAMES = {field.name for field in fields(JobWords)}
_OF_ONE_STAGE = ("stage", "offload", "offload_to")


def with_ds_config(
    path: str, words: JobWords, base: Job, model: ModelSpec, gpus: int
) -> tuple[JobWords, DeepSpeedOptions, tuple[str, ...]]:
    """Complete what was said with what a file says.

    Args:
        path: The file.
        words: What the command line says; it wins.
        base: The job without the file, which fills what the file leaves to "auto".
        model: Fills "auto" buckets.
        gpus: All of them, for the batch arithmetic.

    Returns:
        The completed words, DeepSpeed's own keys, and what was assumed or overridden.

    Raises:
        ZplanError: the file cannot be read, DeepSpeed would not take it, or another engine was asked for.
    """
    if words.engine not in (None, Engine.DEEPSPEED):
        message = f"--ds-config configures DeepSpeed, not {base.engine.value}"
        raise ZplanError(message, "leave --engine out, or leave --ds-config out")
    reading = ds_reading(read_ds_config(path), model=model, gpus=gpus, base=base)
    return complete_words(reading, words, source=path)


def complete_words(
    reading: DsReading, words: JobWords, *, source: str
) -> tuple[JobWords, DeepSpeedOptions, tuple[str, ...]]:
    """Complete what was said with what was read from a file.

    Args:
        reading: The file's settings.
        words: What the command line says; it wins.
        source: What the user called the file.

    Returns:
        The completed words, DeepSpeed's own keys, and what was assumed or overridden.
    """
    found: dict[str, object] = {}
    notes = [*reading.notes]
    for name, value in reading.job.items():
        if name not in _NAMES or (words.all_stages and name in _OF_ONE_STAGE):
            continue
        said = getattr(words, name)
        if said is None:
            found[name] = value
        elif said != value:
            flag = f"--{name.replace('_', '-')}"
            notes.append(f"{flag} {_word(said)} overrides {_word(value)} in {source}")
    if reading.batch.problem is not None and words.micro_batch is None and words.grad_accum is None:
        notes.append(f"{source}: {reading.batch.problem}")
    deepspeed = reading.job["deepspeed"]
    if not isinstance(deepspeed, DeepSpeedOptions):
        raise TypeError(type(deepspeed))
    return replace(words, **found), deepspeed, tuple(notes)  # type: ignore[arg-type]


def _word(value: object) -> str:
    return str(value.value) if isinstance(value, Enum) else str(value)
