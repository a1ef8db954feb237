"""Rules about the file around a DeepSpeed or FSDP config: keys that accelerate refuses, arguments that disagree."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from zplan.advice.lint import STOPS, Finding
from zplan.inputs.deepspeed import DsReading
from zplan.inputs.settings import ACCELERATE, DEEPSPEED, FileWords

CLUSTER_KEYS = (
    "compute_environment", "distributed_type", "mixed_precision", "use_cpu", "debug", "num_processes", "machine_rank",
    "num_machines", "gpu_ids", "main_process_ip", "main_process_port", "rdzv_backend", "same_network",
    "main_training_function", "enable_cpu_affinity", "fp8_config", "deepspeed_config", "fsdp_config",
    "parallelism_config", "megatron_lm_config", "mpirun_config", "downcast_bf16", "tpu_name", "tpu_zone",
    "tpu_use_cluster", "tpu_use_sudo", "command_file", "commands", "tpu_vm", "tpu_env", "dynamo_config",
    "dynamo_backend", "fp16",
)  # fmt: skip
"""Fields of accelerate's ``ClusterConfig``, and two old keys that it converts."""


def lint_file(file: FileWords, reading: DsReading | None) -> tuple[Finding, ...]:
    """What is wrong around the engine's own config.

    Args:
        file: The file's settings.
        reading: What its DeepSpeed config says, where it has one.

    Returns:
        Findings that keep the run from starting.
    """
    if file.kind == DEEPSPEED:
        return ()
    found = list(_unknown(file)) if file.kind == ACCELERATE else []
    return (*found, *_disagreement(file, reading))


def _unknown(file: FileWords) -> Iterator[Finding]:
    for key in file.ignored:
        if "." in key or key in CLUSTER_KEYS:
            continue
        near = get_close_matches(key, CLUSTER_KEYS, n=1, cutoff=0.75)
        yield Finding(
            code="unknown-key",
            severity=STOPS,
            key=key,
            what=f"{key} is no key of an accelerate config",
            why="accelerate refuses a file with unknown keys (commands/config/config_args.py)",
            fix=f"did you mean {near[0]}?" if near else "take it out",
            cost="no start",
        )


_SAME = (
    ("micro_batch", "per_device_train_batch_size", "train_micro_batch_size_per_gpu"),
    ("grad_accum", "gradient_accumulation_steps", "gradient_accumulation_steps"),
)


def _disagreement(file: FileWords, reading: DsReading | None) -> Iterator[Finding]:
    """The Trainer compares its arguments with the DeepSpeed config and stops where they differ."""
    if reading is None or file.kind == ACCELERATE:
        return
    written = {"micro_batch": reading.batch.micro, "grad_accum": reading.batch.accum}
    for option, argument, key in _SAME:
        said, there = file.words.get(option), written[option]
        if said is not None and there is not None and said != str(there):
            yield Finding(
                code="trainer-mismatch",
                severity=STOPS,
                key=argument,
                what=f"{argument} is {said}, but {key} in the DeepSpeed config is {there}",
                why="the Trainer refuses values that disagree (transformers integrations/deepspeed.py)",
                fix=f'write "auto" for {key} in the DeepSpeed config',
                cost="no start",
            )
