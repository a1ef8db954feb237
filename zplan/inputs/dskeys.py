"""Every key of ``ds_config.json`` that DeepSpeed 0.19 reads: its kind, its default, and the stages at which it acts.

Source: DeepSpeed ``runtime/config.py``, ``runtime/constants.py``, ``runtime/precision_config.py``,
``runtime/zero/config.py``, ``runtime/zero/offload_config.py``. A test compares these tables with the installed package.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import NamedTuple

ALL = (0, 1, 2, 3)
SHARDED = (1, 2, 3)
FLAT = (1, 2)
"""Stages of ``stage_1_and_2.py``."""
THIRD = (3,)


class Key(NamedTuple):
    """One key of a section."""

    kind: str
    """``int``, ``float``, ``bool``, ``word`` or ``section``."""
    default: object = None
    minimum: int | None = None
    stages: tuple[int, ...] = ALL
    """Where it does something; empty where no code reads it any more."""
    field: str | None = None
    """Field of ``DeepSpeedOptions`` that holds it."""
    short: str | None = None
    """The name without ``stage3_`` that DeepSpeed accepts as well."""


def _number(default: int, stages: tuple[int, ...], field: str | None = None, **more: object) -> Key:
    return Key(kind="int", default=default, minimum=0, stages=stages, field=field, **more)  # type: ignore[arg-type]


def _switch(default: bool | None, stages: tuple[int, ...], field: str | None = None, short: str | None = None) -> Key:
    return Key(kind="bool", default=default, stages=stages, field=field, short=short)


ZERO_KEYS: Mapping[str, Key] = {
    "stage": Key(kind="int", default=0, minimum=0),
    "contiguous_gradients": _switch(True, SHARDED, "contiguous_gradients"),
    "reduce_scatter": _switch(True, SHARDED),
    "reduce_bucket_size": Key(kind="int", default=500_000_000, minimum=1, stages=SHARDED, field="reduce_bucket_size"),
    "use_multi_rank_bucket_allreduce": _switch(True, FLAT),
    "allgather_partitions": _switch(True, ()),
    "allgather_bucket_size": _number(500_000_000, FLAT, "allgather_bucket_size"),
    "overlap_comm": _switch(None, SHARDED, "overlap_comm"),
    "compute_grad_norm": _switch(True, FLAT),
    "load_from_fp32_weights": _switch(True, SHARDED),
    "elastic_checkpoint": _switch(False, SHARDED),
    "offload_param": Key(kind="section", stages=THIRD),
    "offload_optimizer": Key(kind="section", stages=SHARDED),
    "zenflow": Key(kind="section", stages=SHARDED),
    "sub_group_size": _number(1_000_000_000, THIRD, "sub_group_size"),
    "cpu_offload_param": _switch(None, THIRD),
    "cpu_offload_use_pin_memory": _switch(None, SHARDED),
    "cpu_offload": _switch(None, SHARDED),
    "stage3_prefetch_bucket_size": _number(50_000_000, THIRD, "prefetch_bucket_size", short="prefetch_bucket_size"),
    "stage3_param_persistence_threshold": _number(
        100_000, THIRD, "param_persistence_threshold", short="param_persistence_threshold"
    ),
    "stage3_model_persistence_threshold": _number(sys.maxsize, THIRD, short="model_persistence_threshold"),
    "stage3_max_live_parameters": _number(1_000_000_000, THIRD, "max_live_parameters", short="max_live_parameters"),
    "stage3_max_reuse_distance": _number(1_000_000_000, THIRD, "max_reuse_distance", short="max_reuse_distance"),
    "stage3_gather_16bit_weights_on_model_save": _switch(
        False, THIRD, "gather_16bit_weights_on_model_save", "gather_16bit_weights_on_model_save"
    ),
    "stage3_module_granularity_threshold": Key(
        kind="int", default=0, stages=THIRD, short="module_granularity_threshold"
    ),
    "stage3_use_all_reduce_for_fetch_params": _switch(False, THIRD, short="use_all_reduce_for_fetch_params"),
    "stage3_allgather_sequential": _switch(False, THIRD, short="allgather_sequential"),
    "stage3_gather_fp16_weights_on_model_save": _switch(False, THIRD),
    "ignore_unused_parameters": _switch(True, FLAT),
    "legacy_stage1": _switch(False, SHARDED),
    "round_robin_gradients": _switch(False, FLAT, "round_robin_gradients"),
    "parameter_alignment": _switch(False, FLAT),
    "zero_hpz_partition_size": _number(1, THIRD),
    "zero_quantized_weights": _switch(False, THIRD, "quantized_weights"),
    "zero_quantized_nontrainable_weights": _switch(False, THIRD),
    "zero_quantized_gradients": _switch(False, THIRD, "quantized_gradients"),
    "memory_efficient_linear": _switch(True, THIRD, "memory_efficient_linear"),
    "pipeline_loading_checkpoint": _switch(False, THIRD),
    "override_module_apply": _switch(True, THIRD),
    "log_trace_cache_warnings": _switch(False, THIRD),
    "enable_sanity_checks": _switch(False, THIRD),
    "save_muon_momentum_buffer_in_memory": _switch(False, THIRD),
    "leaf_module": Key(kind="section", stages=THIRD),
}
"""``zero_optimization``: unknown keys are refused (pydantic, ``extra="forbid"``)."""

OFFLOAD_OPTIMIZER_KEYS: Mapping[str, Key] = {
    "device": Key(kind="word", default="none", stages=SHARDED),
    "nvme_path": Key(kind="word", stages=THIRD),
    "buffer_count": _number(4, THIRD, "nvme_buffer_count"),
    "pin_memory": _switch(True, SHARDED, "pin_memory"),
    "pipeline_read": _switch(False, THIRD),
    "pipeline_write": _switch(False, THIRD),
    "fast_init": _switch(False, THIRD),
    "ratio": Key(kind="float", default=1.0, minimum=0, stages=THIRD, field="offload_ratio"),
    "super_offload": _switch(False, THIRD),
    "cpuadam_cores_perc": Key(kind="float", default=0.8, minimum=0, stages=THIRD),
}

OFFLOAD_PARAM_KEYS: Mapping[str, Key] = {
    "device": Key(kind="word", default="none", stages=THIRD),
    "nvme_path": Key(kind="word", stages=THIRD),
    "buffer_count": _number(5, THIRD, "nvme_param_buffer_count"),
    "buffer_size": _number(100_000_000, THIRD, "nvme_param_buffer_size"),
    "max_in_cpu": _number(1_000_000_000, THIRD, "nvme_max_in_cpu"),
    "pin_memory": _switch(True, THIRD),
}

BF16_KEYS: Mapping[str, Key] = {
    "enabled": _switch(False, ALL),
    "immediate_grad_update": _switch(False, ALL),
    "check_grad_overflow": _switch(True, ALL),
    "bf16_master_weights_and_grads": _switch(False, SHARDED),
    "bf16_optimizer_states": _switch(False, SHARDED),
}

FP16_KEYS: Mapping[str, Key] = {
    "enabled": _switch(False, ALL),
    "auto_cast": _switch(False, ALL),
    "loss_scale": Key(kind="float", default=0, minimum=0),
    "initial_scale_power": Key(kind="int", default=16),
    "loss_scale_window": Key(kind="int", default=1000),
    "hysteresis": Key(kind="int", default=2),
    "consecutive_hysteresis": _switch(False, ALL),
    "min_loss_scale": Key(kind="int", default=1),
    "fp16_master_weights_and_grads": _switch(False, SHARDED),
}

TOP_KEYS: Mapping[str, Key] = {
    **{
        name: Key(kind="int", minimum=1)
        for name in ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    },
    "gradient_clipping": Key(kind="float", default=0.0, minimum=0, field="gradient_clipping"),
    "zero_optimization": Key(kind="section"),
    "fp16": Key(kind="section"),
    "bf16": Key(kind="section"),
    "bfloat16": Key(kind="section"),
    "torch_autocast": Key(kind="section"),
    "data_types": Key(kind="section"),
    "optimizer": Key(kind="section"),
    "scheduler": Key(kind="section"),
    "activation_checkpointing": Key(kind="section"),
    "communication_data_type": Key(kind="word", field="communication_dtype"),
    "zero_allow_untested_optimizer": _switch(False, SHARDED),
    "zero_force_ds_cpu_optimizer": _switch(True, SHARDED),
    **{
        name: Key(kind="other")
        for name in (
            "aio", "autotuning", "checkpoint", "comet", "comms_logger", "compile", "csv_monitor", "data_efficiency",
            "dataloader_drop_last", "datastates_ckpt", "disable_allgather", "disable_python_gc", "dump_state",
            "expert_parallel", "flops_profiler", "gradient_allreduce_op", "gradient_predivide_factor",
            "hybrid_engine", "log_level", "managed_gradient_accumulation", "memory_breakdown", "pipeline",
            "prescale_gradients", "seq_parallel_communication_data_type", "sequence_parallel_size", "steps_per_print",
            "tensor_parallel", "tensorboard", "timers", "use_data_before_expert_parallelism", "vocabulary_size",
            "wall_clock_breakdown", "wandb", "weight_quantization",
        )
    },
}  # fmt: skip
"""Top level: DeepSpeed asks for these by name and silently ignores every other key."""

ACTIVATION_KEYS = (
    "partition_activations",
    "number_checkpoints",
    "contiguous_memory_optimization",
    "synchronize_checkpoint_boundary",
    "profile",
    "cpu_checkpointing",
)
DATA_TYPE_KEYS = ("grad_accum_dtype", "param_dtype", "buffer_dtype", "keep_in_fp32_modules")
OPTIMIZER_KEYS = ("type", "params", "legacy_fusion")

REMOVED_KEYS: Mapping[str, str] = {
    "nebula": "Nebula checkpointing",
    "compression_training": "the compression library",
    "amp": "NVIDIA Apex AMP",
    "quantize_training": "mixture of quantization",
    "sparse_gradients": "sparse compression of dense embedding gradients",
    "eigenvalue": "eigenvalue-based quantization",
    "sparse_attention": "sparse attention",
    "elasticity": "elastic training",
    "graph_harvesting": "graph harvesting",
    "curriculum_learning": "curriculum learning at the top level",
    "progressive_layer_drop": "progressive layer dropping",
}
"""Top-level keys that DeepSpeed 0.19 refuses to start with (``_REMOVED_TOP_LEVEL_CONFIG_KEYS``)."""

REMOVED_ZERO_KEYS: Mapping[str, str] = {
    "mics_shard_size": "MiCS",
    "mics_hierarchical_params_gather": "MiCS",
    "zeropp_loco_param": "LoCo-ZeRO++",
}
"""The same in ``zero_optimization`` (``_REMOVED_ZERO_CONFIG_KEYS``)."""

SECTIONS: Mapping[tuple[str, ...], Mapping[str, Key]] = {
    (): TOP_KEYS,
    ("zero_optimization",): ZERO_KEYS,
    ("zero_optimization", "offload_optimizer"): OFFLOAD_OPTIMIZER_KEYS,
    ("zero_optimization", "offload_param"): OFFLOAD_PARAM_KEYS,
    ("bf16",): BF16_KEYS,
    ("bfloat16",): BF16_KEYS,
    ("fp16",): FP16_KEYS,
}
"""Sections whose keys have kinds, by path."""

SHORT_NAMES: Mapping[str, str] = {key.short: name for name, key in ZERO_KEYS.items() if key.short}
"""Short name -> the name that the documentation uses."""
