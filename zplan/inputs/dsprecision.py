"""Number formats in a ``ds_config.json``, and the parts of it that zplan does not price.

Source: DeepSpeed ``runtime/precision_config.py``, ``runtime/config.py`` (``DtypeEnum``), ``runtime/base_optimizer.py``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from zplan.errors import ZplanError
from zplan.inputs.dsvalues import AUTO, as_word, switch
from zplan.spec import Job, Precision

if TYPE_CHECKING:
    from zplan.inputs.deepspeed import DsConfig

_DTYPES = {
    "fp32": ("fp32", "float32", "float", "torch.float32"),
    "fp16": ("fp16", "float16", "half", "torch.float16"),
    "bf16": ("bf16", "bfloat16", "torch.bfloat16"),
}
_MODEL_DTYPE = {
    Precision.BF16: "bf16",
    Precision.BF16_PURE: "bf16",
    Precision.FP16: "fp16",
    Precision.FP32: "fp32",
}


def bf16_name(config: DsConfig) -> str:
    """The section that counts: ``bf16``, or the old ``bfloat16`` where that is missing."""
    return "bf16" if config.get(("bf16",)) is not None else "bfloat16"


def enabled(config: DsConfig, name: str) -> bool | None:
    """Whether a number format is on; None for "auto"."""
    if config.get((name,)) is None:
        return False
    value = config.section((name,)).get("enabled", False)
    return None if value == AUTO else switch(config.where((name, "enabled")), value)


def _on(config: DsConfig, section: str, key: str) -> bool:
    if config.get((section,)) is None:
        return False
    value = config.section((section,)).get(key, False)
    return value != AUTO and switch(config.where((section, key)), value)


def read_precision(config: DsConfig, base: Job, notes: list[str]) -> Precision:
    """The number format of the run; DeepSpeed's default is fp32; "auto" takes the base's."""
    bf16_section = bf16_name(config)
    bf16, fp16 = enabled(config, bf16_section), enabled(config, "fp16")
    if bf16 is None:
        bf16 = base.precision in (Precision.BF16, Precision.BF16_PURE)
    if fp16 is None:
        fp16 = base.precision is Precision.FP16
    if bf16:
        if _on(config, bf16_section, "bf16_master_weights_and_grads"):
            if not _on(config, bf16_section, "bf16_optimizer_states"):
                notes.append("bf16 master weights are priced with bf16 moments; CPU Adam keeps fp32 ones")
            return Precision.BF16_PURE
        return Precision.BF16
    if fp16:
        if _on(config, "fp16", "fp16_master_weights_and_grads"):
            notes.append("fp16 master weights are priced like bf16-pure, which has the same sizes, with 16-bit moments")
            return Precision.BF16_PURE
        return Precision.FP16
    if _on(config, "torch_autocast", "enabled"):
        notes.append("torch_autocast is priced as fp32: activations will be smaller")
    return Precision.FP32


def _dtype(config: DsConfig, path: tuple[str, ...], precision: Precision) -> str | None:
    """A dtype by its short name, None where it is the model's own."""
    value = config.get(path)
    if value is None:
        return None
    for name, spellings in _DTYPES.items():
        if isinstance(value, str) and value.lower() in spellings:
            return None if name == _MODEL_DTYPE[precision] else name
    raise ZplanError(f"{config.where(path)} is {as_word(value)}, not a number format", 'write "fp32", "bf16" or "fp16"')


def accumulation_dtype(config: DsConfig, precision: Precision) -> str | None:
    """``data_types.grad_accum_dtype``, None where it is the model's dtype."""
    if config.get(("data_types",)) is None:
        return None
    config.section(("data_types",))
    return _dtype(config, ("data_types", "grad_accum_dtype"), precision)


def communication_dtype(config: DsConfig, precision: Precision) -> str | None:
    """``communication_data_type``, None where it is the model's dtype."""
    return _dtype(config, ("communication_data_type",), precision)


_UNPRICED = (
    (("zero_optimization", "zenflow"), "ZenFlow"),
    (("zero_optimization", "offload_optimizer", "super_offload"), "SuperOffload"),
    (("zero_optimization", "zero_quantized_nontrainable_weights"), "quantized frozen weights"),
    (("zero_optimization", "parameter_alignment"), "the padding of parameter_alignment"),
    (("tensor_parallel", "autotp_size"), "tensor parallelism"),
    (("expert_parallel", "enabled"), "expert parallelism"),
    (("sequence_parallel_size",), "sequence parallelism"),
    (("compile", "deepcompile"), "DeepCompile"),
    (("activation_checkpointing", "cpu_checkpointing"), "checkpoints on the host"),
    (("activation_checkpointing", "partition_activations"), "partitioned activations"),
    (("weight_quantization",), "weight quantization"),
)


def unpriced(config: DsConfig) -> tuple[str, ...]:
    """What the file turns on and zplan does not price."""
    found = []
    for path, what in _UNPRICED:
        value = config.get(path)
        if value not in (None, False, AUTO, 0, 1) or value is True:
            found.append(f"{what} ({'.'.join(path)}) is not priced")
    return tuple(found)
