"""ZeRO++ without its CUDA kernels: stand-ins that allocate what the kernels' bindings allocate.

Source: DeepSpeed 0.19 ``ops/csrc/quantization/pt_binding.cpp``. What the kernels do inside is not run; everything around them (the
all-gather's and all-to-all's buffers, the secondary partitions) is DeepSpeed's own code.
"""

from __future__ import annotations

from typing import Any

import torch


class Quantizer:
    """The functions of the ``quantizer`` extension."""

    Symmetric = 0

    def quantize(self, values: Any, groups: int, bits: int, kind: int) -> list[Any]:
        """A byte or half a byte per value, and an fp32 scale per group."""
        shape = (*values.shape[:-1], values.shape[-1] * bits // 8)
        return [values.new_empty(shape, dtype=torch.int8), values.new_empty((groups, 1), dtype=torch.float32)]

    def dequantize(self, values: Any, scales: Any, groups: int, bits: int, kind: int) -> Any:
        """Always fp16."""
        return values.new_empty((*values.shape[:-1], values.shape[-1] * 8 // bits), dtype=torch.float16)

    def swizzle_quant(
        self, values: Any, groups: int, bits: int, kind: int, pipeline: int, nodes: int, devices: int
    ) -> list[Any]:
        """Flat, in the order of the all-to-all."""
        size = values.numel() * bits // 8
        return [values.new_empty(size, dtype=torch.int8), values.new_empty((groups, 1), dtype=torch.float32)]

    def quantized_reduction(
        self, values: Any, scales: Any, groups: int, out_groups: int, bits: int, kind: int, devices: int
    ) -> list[Any]:
        """The sum over the node's ranks, quantized again."""
        shape = (*values.shape[:-1], values.shape[-1] // devices)
        return [values.new_empty(shape, dtype=torch.int8), values.new_empty((out_groups, 1), dtype=torch.float32)]


def install() -> None:
    """Put the stand-ins where DeepSpeed would load its extension."""
    from deepspeed.runtime.comm import coalesced_collectives
    from deepspeed.runtime.zero.partition_parameters import CUDAQuantizer

    quantizer = Quantizer()
    CUDAQuantizer.quantizer_cuda_module = quantizer
    vars(coalesced_collectives)["quantizer_module"] = quantizer
