"""Rules about the file around a DeepSpeed or FSDP config: keys that accelerate refuses, arguments that disagree."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from difflib import get_close_matches

from zplan.advice.lint import STOPS, USELESS, Finding
from zplan.inputs.deepspeed import DsReading
from zplan.inputs.jsontext import KeyPath
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
        Findings, in no particular order.
    """
    if file.kind == DEEPSPEED:
        return ()
    if file.kind != ACCELERATE:
        return tuple(_disagreement(file, reading))
    return (*_unknown(file), *_fsdp(file), *_beside_deepspeed(file))


def _unknown(file: FileWords) -> Iterator[Finding]:
    for key in file.ignored:
        if "." in key or key in CLUSTER_KEYS:
            continue
        near = get_close_matches(key, CLUSTER_KEYS, n=1, cutoff=0.75)
        yield Finding(
            code="unknown-key",
            severity=STOPS,
            key=key,
            position=file.positions.get((key,)),
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
    if reading is None:
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


_OBSOLETE = {
    "fsdp_sharding_strategy": "fsdp_reshard_after_forward: true or false says it",
    "fsdp_backward_prefetch": "FSDP2 prefetches by itself",
    "fsdp_forward_prefetch": "FSDP2 prefetches by itself",
    "fsdp_use_orig_params": "FSDP2 always uses the original parameters",
    "fsdp_sync_module_states": "FSDP2 does not need it",
}
"""Keys of FSDP1 that ``FullyShardedDataParallelPlugin`` drops for version 2."""


def _fsdp(file: FileWords) -> Iterator[Finding]:
    section = file.values.get("fsdp_config")
    if file.values.get("distributed_type") != "FSDP" or not isinstance(section, Mapping):
        return

    def is_on(key: str) -> bool:
        return str(section.get(key, "")).lower() in ("true", "1", "yes", "on")

    if file.words.get("engine") == "fsdp2":
        for key, why in _OBSOLETE.items():
            if section.get(key) not in (None, False):
                yield _in_section(file, key, "no-effect", USELESS, f"{key} does nothing with FSDP2", why)
    elif is_on("fsdp_cpu_ram_efficient_loading") and section.get("fsdp_sync_module_states") is False:
        what = "fsdp_cpu_ram_efficient_loading needs fsdp_sync_module_states"
        why = "the other ranks get their weights from rank 0; accelerate stops (utils/launch.py)"
        yield _in_section(file, "fsdp_sync_module_states", "fsdp-loading", STOPS, what, why)
    if is_on("fsdp_activation_checkpointing_offload"):
        key = "fsdp_activation_checkpointing_offload"
        if file.words.get("engine") != "fsdp2" or not is_on("fsdp_activation_checkpointing"):
            what = f"{key} needs fsdp_version: 2 and fsdp_activation_checkpointing: true"
            yield _in_section(file, key, "fsdp-checkpoints", STOPS, what, "accelerate stops (utils/dataclasses.py)")


def _in_section(file: FileWords, key: str, code: str, severity: str, what: str, why: str) -> Finding:
    return Finding(
        code=code,
        severity=severity,
        key=f"fsdp_config.{key}",
        what=what,
        why=why,
        fix="take it out" if severity == USELESS else "set both, or neither",
        cost="no start" if severity == STOPS else None,
        position=file.positions.get(("fsdp_config", key)),
    )


_IN_THE_FILE = (
    "gradient_accumulation_steps", "gradient_clipping", "zero_stage", "offload_optimizer_device",
    "offload_param_device", "offload_param_nvme_path", "offload_optimizer_nvme_path", "zero3_save_16bit_model",
)  # fmt: skip
"""Keys that accelerate refuses beside ``deepspeed_config_file`` (``DeepSpeedPlugin._deepspeed_config_checks``)."""


def _beside_deepspeed(file: FileWords) -> Iterator[Finding]:
    section = file.values.get("deepspeed_config")
    if not isinstance(section, Mapping) or section.get("deepspeed_config_file") in (None, "none"):
        return
    twice: list[KeyPath] = [("deepspeed_config", key) for key in _IN_THE_FILE if key in section]
    if file.values.get("mixed_precision") is not None:
        twice.append(("mixed_precision",))
    for path in twice:
        yield Finding(
            code="twice",
            severity=STOPS,
            key=".".join(path),
            what=f"{path[-1]} stands beside deepspeed_config_file",
            why="what the DeepSpeed config decides may not be said again (accelerate utils/dataclasses.py)",
            fix=f"say {path[-1]} in the DeepSpeed config alone",
            cost="no start",
            position=file.positions.get(path),
        )
