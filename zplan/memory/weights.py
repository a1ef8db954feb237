"""The model as a whole, outside of any engine's shards: what a checkpoint holds and what a state dict takes."""

from __future__ import annotations

from typing import NamedTuple

from zplan.memory.engines.base import StateBytes
from zplan.memory.params import layout
from zplan.memory.quantized import quantized_layout
from zplan.memory.sharding import zero3_partition_numel
from zplan.memory.states import has_16bit_base, state_sizes
from zplan.spec import Engine, Job, ModelSpec, Offload, Plan, Precision

_ELEMENT = {"float32": 4, "bfloat16": 2, "float16": 2}


class WholeModel(NamedTuple):
    """Bytes of a model as its engine types it, unsharded."""

    base_bytes: int
    """Everything but adapters."""
    adapter_bytes: int
    tied_bytes: int
    """The head's weight, where it is the embedding's: a second time where names are copied one by one."""
    largest_bytes: int
    """Largest single tensor."""

    @property
    def total_bytes(self) -> int:
        """All weights once."""
        return self.base_bytes + self.adapter_bytes


def frozen_element_bytes(job: Job, states: StateBytes) -> int:
    """Element size of weights that don't train: adapters sit on a base in 16 bits, unless everything is fp32."""
    if job.engine is Engine.DEEPSPEED or job.precision is Precision.FP32:
        return states.param
    if job.engine in (Engine.FSDP1, Engine.FSDP2):
        return min(states.param, 2)
    return 2 if has_16bit_base(job) else states.param


def whole_model(plan: Plan) -> WholeModel:
    """The model of a plan, unsharded.

    Formula: 2 P where weights are 16-bit, 4 P where they are fp32; frozen weights under adapters 2 P, packed ones as
    ``quantized_params``.
    """
    job, states = plan.job, state_sizes(plan.job)
    groups = layout(plan.model, job.lora)
    frozen = frozen_element_bytes(job, states)
    base = (states.param if job.lora is None else frozen) * groups.total
    if job.quantize is not None:
        smaller, _, constants = quantized_layout(
            groups, job.quantize, states.param, with_head=job.implementation != "transformers"
        )
        base = states.param * smaller.total + constants
    # peft makes adapters in fp32; below stage 3 DeepSpeed casts them with everything else.
    adapter = 4 if job.engine is Engine.DEEPSPEED and job.stage == 3 else states.param
    each = states.param if job.lora is None else frozen
    return WholeModel(
        base_bytes=base,
        adapter_bytes=adapter * groups.adapters,
        tied_bytes=each * groups.head_numel if groups.tied else 0,
        largest_bytes=each * groups.largest,
    )


def checkpoint_element_bytes(model: ModelSpec) -> int:
    """Element size of the weights on disk, as the model's config says; 2 where it says nothing."""
    return _ELEMENT.get(model.checkpoint_dtype, 2)


def largest_module_bytes(plan: Plan) -> int:
    """Stage 3: bytes on the GPU while the weights that one module owns are gathered together (``GatheredParameters``).

    Formula: 2 bytes per element of the largest module's own weights; offloaded partitions are copied to the GPU first. One rank
    gathers nothing, unless its partition is on the host.
    """
    job, states, ranks = plan.job, state_sizes(plan.job), plan.world_size
    if ranks == 1 and job.offload is not Offload.ALL:
        return 0
    groups = layout(plan.model, job.lora)
    sizes: dict[tuple[int, str], int] = {}
    for number, piece in enumerate((groups.stem, *groups.kinds, groups.head)):
        for tensor in piece.tensors:
            key = (number, tensor.name.rpartition(".")[0])
            sizes[key] = sizes.get(key, 0) + tensor.numel
    largest = max(sizes.values(), default=0)
    return states.param * (largest + (zero3_partition_numel(largest, ranks) if job.offload is Offload.ALL else 0))
