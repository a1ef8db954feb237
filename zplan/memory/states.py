"""The accounting of the ZeRO paper: 2P + 2P + 12P, sharded by stage (arXiv:1910.02054, figure 1)."""

from __future__ import annotations

from zplan.memory.activations.base import ComputeMode
from zplan.memory.formats import StateBytes, deepspeed_bytes, torch_bytes
from zplan.memory.moments import ModelStates
from zplan.memory.optimizers import OptimizerSpec, factored_bytes, state_bytes, whole_state_bytes
from zplan.memory.params import Layout, Piece
from zplan.memory.sharding import share
from zplan.spec import Engine, Job, Precision


def model_states(
    total: int, trainable: int, states: StateBytes, optimizer: OptimizerSpec, stage: int, ranks: int
) -> ModelStates:
    """Bytes per GPU of parameters, gradients and optimizer states, whatever the engine adds.

    Formula: 2P / 2P / 12P for bf16 Adam; stage 1 divides the optimizer states by N, stage 2 gradients too, stage 3 parameters
    too. The fp32 master copy counts as optimizer state.

    Args:
        total: All parameters, frozen and adapters included.
        trainable: Parameters with gradients and states.
        states: Bytes per element of each copy.
        optimizer: The optimizer's states per element.
        stage: ZeRO stage 0-3.
        ranks: N.
    """
    params = states.param * total
    grads = states.grad * trainable
    master = states.master * trainable if states.master and states.master != states.param else 0
    # Factored states vanish in this accounting; that engines with flat partitions undo the factoring is among their terms.
    optim = master + (0 if optimizer.factored else whole_state_bytes(optimizer, trainable, states.optimized))
    return ModelStates(
        params_bytes=share(params, ranks) if stage >= 3 else params,
        grads_bytes=share(grads, ranks) if stage >= 2 else grads,
        optimizer_bytes=share(optim, ranks) if stage >= 1 else optim,
    )


def unsharded_state_bytes(optimizer: OptimizerSpec, groups: Layout, element_bytes: int) -> int:
    """Bytes of optimizer states where every tensor is stepped whole: one process, DDP, stage 0."""
    if optimizer.factored:
        blocks = [shape for index in groups.layers for shape in _shapes(groups.kinds[index])]
        return factored_bytes((*_shapes(groups.stem), *blocks, *_shapes(groups.head)))
    return state_bytes(optimizer, groups.trainable, element_bytes)


def _shapes(piece: Piece) -> list[tuple[int, ...]]:
    return [tensor.shape for tensor in piece.tensors if tensor.trainable]


def has_16bit_base(job: Job) -> bool:
    """Whether adapters train on a base in 16 bits; not one whose norms and embeddings are fp32 beside packed weights."""
    return job.lora is not None and job.quantize is None and not job.lora.fp32_base


def state_sizes(job: Job) -> StateBytes:
    """Bytes per element of each copy that the job's engine keeps."""
    if job.engine is Engine.DEEPSPEED:
        return deepspeed_bytes(job.precision)
    if job.quantize is not None and job.engine in (Engine.FSDP1, Engine.FSDP2):
        # Flat tensors have one dtype: packed weights, norms and adapters are all kept in 16 bits (``bnb_4bit_quant_storage``).
        return torch_bytes(Precision.BF16_PURE, ComputeMode.CAST)
    if job.engine is Engine.FSDP2 or (job.engine is Engine.FSDP1 and job.lora is not None):
        # Gathered adapters are cast to 16 bits like everything else.
        return torch_bytes(job.precision, ComputeMode.CAST)
    # Under autocast a base that is in 16 bits already has nothing to cast; adapters beside it are fp32.
    mixed = job.engine is Engine.FSDP1 or has_16bit_base(job)
    return torch_bytes(job.precision, ComputeMode.MIXED if mixed else ComputeMode.AUTOCAST)
