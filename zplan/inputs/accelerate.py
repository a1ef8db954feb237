"""accelerate's YAML (``accelerate launch --config_file``) -> options.

Source: accelerate ``commands/config/config_args.py`` (``ClusterConfig``), ``utils/launch.py``, and the plugins in
``utils/dataclasses.py`` (``DeepSpeedPlugin``, ``FullyShardedDataParallelPlugin``), whose defaults these are.
"""

from __future__ import annotations

from pathlib import Path

from zplan.errors import ZplanError
from zplan.inputs.deepspeed import DsConfig
from zplan.inputs.settings import ACCELERATE, FileWords, Section, embedded_ds_config, with_precision
from zplan.inputs.yamltext import YamlText
from zplan.units import quote

_QUIET = frozenset(
    ("compute_environment", "debug", "main_training_function", "rdzv_backend", "same_network", "machine_rank",
     "main_process_ip", "main_process_port", "use_cpu", "gpu_ids", "enable_cpu_affinity", "downcast_bf16",
     "tpu_env", "tpu_use_cluster", "tpu_use_sudo")
)  # fmt: skip
"""Keys of every such file that say nothing about memory; not worth a line."""
_STRATEGIES = ("FULL_SHARD", "SHARD_GRAD_OP", "NO_SHARD", "HYBRID_SHARD", "HYBRID_SHARD_ZERO2")
"""In the order of their numbers, which count from 1 (accelerate ``FSDP_SHARDING_STRATEGY``)."""


def read_accelerate(text: YamlText, *, folder: Path | None = None) -> FileWords:
    """Settings of an accelerate YAML.

    Args:
        text: The parsed file.
        folder: Where it lies, for ``deepspeed_config_file``.

    Returns:
        Its settings in the words of the options, with the DeepSpeed config that it amounts to.

    Raises:
        ZplanError: a kind of distributed training that zplan does not plan, or a value of the wrong type.
    """
    top = Section(text.name, text.value)
    words: dict[str, str] = {}
    notes: list[str] = []
    for key, option in (("num_processes", "gpus"), ("num_machines", "nodes")):
        count = top.whole(key)
        if count is not None:
            words[option] = str(count)
    precision = _precision(top, notes)
    kind = str(top.raw("distributed_type") or "NO")
    ds: DsConfig | None = None
    ignored: tuple[str, ...] = ()
    if kind == "DEEPSPEED":
        ds, ignored = _deepspeed(top.section("deepspeed_config"), text, folder, precision, words)
    elif kind == "FSDP":
        ignored = _fsdp(top.section("fsdp_config"), words, notes)
        words["precision"] = precision
    elif kind in ("MULTI_GPU", "NO"):
        words |= {"engine": "ddp" if kind == "MULTI_GPU" else "single", "precision": precision}
    else:
        raise ZplanError(
            f"{quote(text.name)}: distributed_type {kind[:30]} is not data parallelism on GPUs",
            "zplan prices DEEPSPEED, FSDP, MULTI_GPU and NO",
        )
    backend = top.section("dynamo_config").raw("dynamo_backend")
    if backend not in (None, "NO", "no"):
        words["compile"] = "yes"
    unpriced = [key for key in ("parallelism_config", "fp8_config", "megatron_lm_config") if top.raw(key)]
    notes += [f"{key} is not priced" for key in unpriced]
    ignored = (*ignored, *(key for key in top.ignored() if key not in _QUIET))
    return FileWords(
        name=text.name,
        kind=ACCELERATE,
        words=words,
        ds=ds,
        ignored=ignored,
        notes=tuple(notes),
        values=text.value,
        positions=text.positions,
    )


def _precision(top: Section, notes: list[str]) -> str:
    value = top.raw("mixed_precision")
    if value in (None, "no", False):  # YAML reads a bare no as false
        return "fp32"
    if value == "fp8":
        notes.append("fp8 is priced as bf16, which it falls back on")
        return "bf16"
    if value in ("bf16", "fp16"):
        return str(value)
    raise ZplanError(f"{top.where('mixed_precision')} is {quote(str(value))}", "write bf16, fp16 or no")


def _deepspeed(
    section: Section, text: YamlText, folder: Path | None, precision: str, words: dict[str, str]
) -> tuple[DsConfig, tuple[str, ...]]:
    """The ds_config that the section amounts to (``DeepSpeedPlugin.__post_init__``)."""
    init = section.raw("zero3_init_flag")
    if init is not None:
        words["zero_init"] = "on" if section.on("zero3_init_flag") else "off"
    named = section.word("deepspeed_config_file")
    if named is not None and named != "none":
        found = embedded_ds_config(named, name=text.name, key="deepspeed_config_file", folder=folder)
        if found is not None:
            return with_precision(found, precision), section.ignored("deepspeed_config.")
    offload = {
        f"offload_{what}": {
            "device": section.word(f"offload_{what}_device") or "none",
            "nvme_path": section.word(f"offload_{what}_nvme_path"),
        }
        for what in ("optimizer", "param")
    }
    stage = section.whole("zero_stage", minimum=0)
    value: dict[str, object] = {
        "train_batch_size": "auto",
        "train_micro_batch_size_per_gpu": "auto",
        "gradient_accumulation_steps": section.whole("gradient_accumulation_steps") or "auto",
        "zero_optimization": {
            "stage": 2 if stage is None else stage,
            **offload,
            "stage3_gather_16bit_weights_on_model_save": section.on("zero3_save_16bit_model"),
        },
    }
    clipping = section.real("gradient_clipping")
    if clipping:
        value["gradient_clipping"] = clipping
    section.seen.add("deepspeed_multinode_launcher")
    config = DsConfig(name=f"{text.name}: deepspeed_config", value=value)
    return with_precision(config, precision), section.ignored("deepspeed_config.")


def _fsdp(section: Section, words: dict[str, str], notes: list[str]) -> tuple[str, ...]:
    """Words of an ``fsdp_config``; keys with and without ``fsdp_`` (``commands/launch.py``)."""
    flat = Section(section.name, {key.removeprefix("fsdp_"): value for key, value in section.values.items()})
    fsdp_words(flat, words, notes, default_version=1)
    return flat.ignored("fsdp_config.fsdp_")


def fsdp_words(section: Section, words: dict[str, str], notes: list[str], *, default_version: int) -> None:
    """Words of an FSDP section whose keys have no prefix.

    Args:
        section: The keys.
        words: Where the words go.
        notes: Where assumptions go.
        default_version: FSDP's version where the section does not say it: 1 for accelerate, 2 for the Trainer.
    """
    version = section.whole("version") or default_version
    if version not in (1, 2):
        raise ZplanError(f"{section.where('version')} is {version}: FSDP has versions 1 and 2", "write 2")
    words["engine"] = "fsdp2" if version == 2 else "fsdp1"
    reshard, strategy = section.raw("reshard_after_forward"), section.raw("sharding_strategy")
    if version == 2:
        words["stage"] = "3" if reshard is None or section.on("reshard_after_forward") else "2"
    else:
        _strategy(str(strategy or reshard or "FULL_SHARD").upper(), words, notes, section)
    if section.on("offload_params") or section.on("cpu_offload"):
        words["offload"] = "all"
    if section.on("activation_checkpointing"):
        words["checkpointing"] = "full"
    if section.on("activation_checkpointing_offload"):
        notes.append("checkpoints on the host (activation_checkpointing_offload) are not priced")
    policy = str(section.raw("auto_wrap_policy") or "TRANSFORMER_BASED_WRAP").upper()
    if policy != "TRANSFORMER_BASED_WRAP":
        notes.append(f"{policy} is priced as one unit per block, as TRANSFORMER_BASED_WRAP makes them")
    section.seen |= {
        "transformer_layer_cls_to_wrap", "state_dict_type", "backward_prefetch", "forward_prefetch", "use_orig_params",
        "sync_module_states", "cpu_ram_efficient_loading", "min_num_params", "limit_all_gathers", "xla", "xla_fsdp_v2",
        "xla_fsdp_grad_ckpt",
    }  # fmt: skip


def _strategy(name: str, words: dict[str, str], notes: list[str], section: Section) -> None:
    """Stage and ranks of an FSDP1 sharding strategy, by name or number."""
    if name.isdigit() and 1 <= int(name) <= len(_STRATEGIES):
        name = _STRATEGIES[int(name) - 1]
    if name not in _STRATEGIES:
        raise ZplanError(
            f"{section.where('sharding_strategy')} is {quote(name)}", "write FULL_SHARD, SHARD_GRAD_OP or HYBRID_SHARD"
        )
    if name == "NO_SHARD":
        words["engine"] = "ddp"
        notes.append("NO_SHARD is priced as DDP, which holds the same")
        return
    words["stage"] = "3" if name in ("FULL_SHARD", "HYBRID_SHARD") else "2"
    if name.startswith("HYBRID"):
        gpus, nodes = int(words.get("gpus", "1")), int(words.get("nodes", "1"))
        if nodes > 1 and gpus % nodes == 0:
            words |= {"gpus": str(gpus // nodes), "nodes": "1"}
            notes.append(f"{name} shards within a node: priced on the {gpus // nodes} GPUs of one node")
