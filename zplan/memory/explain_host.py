"""Where each term on the host comes from, for the plan at hand: its engine, its offload, its numbers."""

from __future__ import annotations

from zplan.memory.explain import TermExplanation
from zplan.memory.moments import Estimate, TermKey
from zplan.memory.optimizers import optimizer_spec
from zplan.memory.states import state_sizes
from zplan.spec import Engine, Job, Offload, OffloadTo

_SOURCES = {
    Engine.FSDP2: "torch distributed/fsdp/_fully_shard/_fsdp_param.py, CPUOffloadPolicy",
    Engine.FSDP1: "torch distributed/fsdp/_flat_param.py and _runtime_utils.py, CPUOffload",
}
_NVME = "DeepSpeed runtime/swap_tensor/optimizer_utils.py and partitioned_param_swapper.py"
_PINNED = "torch aten/src/ATen/core/CachingHostAllocator.h"


def host_terms(estimate: Estimate) -> list[TermExplanation]:
    """Explains everything that one rank keeps in host RAM between two steps, largest first, and what pinning adds.

    Args:
        estimate: The plan's estimate.

    Returns:
        One explanation per term; none where nothing is kept on the host.
    """
    terms = estimate.host.terms
    found = [explain_host(estimate, key) for key in sorted(terms, key=lambda key: -terms[key])]
    rounding = explain_host(estimate, TermKey.PINNED_ROUNDING)
    return [*found, rounding] if rounding.bytes else found


def explain_host(estimate: Estimate, key: str) -> TermExplanation:
    """Explains one term on the host.

    Args:
        estimate: The plan's estimate.
        key: Term key; one that the plan does not have counts 0 bytes.

    Returns:
        Formula in the symbols of docs/model.md, the same with numbers, source and what would shrink it; per rank.
    """
    job, host = estimate.plan.job, estimate.host
    if key == TermKey.PINNED_ROUNDING:
        ranks = estimate.plan.cluster.gpus_per_node
        size = host.per_node_bytes // ranks - host.per_rank_bytes
        numbers = f"{host.pinned_per_rank_bytes:,} pinned, {size:,} of it beyond the tensors, per rank"
        formula = "2^ceil(log2 size) - size, per pinned buffer"
        return TermExplanation(key, size, formula, numbers, _PINNED, '"pin_memory": false in the offload sections')
    size = host.terms.get(key, 0)
    formula, element = _formula(key, job)
    elements, rest = divmod(size, element)
    numbers = f"{element} x {elements:,} = {size:,} per rank" if element > 1 and not rest else f"{size:,} per rank"
    return TermExplanation(key, size, formula, numbers, _source(job), _shrink(key, job))


def _formula(key: str, job: Job) -> tuple[str, int]:
    """The formula of a term, and the bytes per element that its numbers are written in (1: a sum of several)."""
    states = state_sizes(job)
    trained = "P" if job.lora is None else "(weights of adapters)"
    spec = optimizer_spec(job.optimizer)
    moments = spec.state_bytes_fp32 if states.optimized == 4 else spec.state_bytes_16bit
    moment_bytes = int(moments) if moments == int(moments) and moments else 1
    if job.engine is not Engine.DEEPSPEED:
        return {
            TermKey.HOST_PARAMS: (f"{states.param} P/N", states.param),
            TermKey.HOST_OPTIMIZER: (f"{moments:g} {trained}/N", moment_bytes),
        }.get(key, ("none with this engine", 1))
    share = f"ratio x {trained}/N" if job.deepspeed.offload_ratio < 1 and job.stage == 3 else f"{trained}/N"
    if job.offload_to is OffloadTo.NVME and job.offload is not Offload.NONE:
        buffers = f"buffer_count x {states.optimized} x elements of the largest sub-group"
        if job.offload is Offload.ALL:
            buffers += f" + buffer_count x buffer_size x {states.param} for parameters"
        return {
            TermKey.HOST_GRADS: (f"{states.grad} {trained}/N", states.grad),
            TermKey.HOST_PARAMS: (f"{states.param} x min(P/N, max_in_cpu)", states.param),
            TermKey.HOST_STAGING: (f"swap buffers: {buffers}", 1),
        }.get(key, ("on NVMe", 1))
    grads = f"{states.optimized} {share}"
    if job.stage == 3:
        grads += f" for the step + {states.grad} {trained}/N on their way"
    elif job.stage == 2 and job.grad_accum > 1:
        grads += f" for the step + {states.grad} x elements of the gradients of earlier micro-steps"
    return {
        TermKey.HOST_MASTER: (f"{states.optimized} {share}", states.optimized),
        TermKey.HOST_OPTIMIZER: (f"{moments:g} {share}", moment_bytes),
        TermKey.HOST_GRADS: (grads, states.optimized if grads == f"{states.optimized} {share}" else 1),
        TermKey.HOST_PARAMS: (f"{states.param} P/N", states.param),
        TermKey.HOST_STAGING: (
            f"{states.param} {trained}/N + {states.param} x elements of the largest gradient",
            states.param,
        ),
    }.get(key, ("not modelled further", 1))


def _source(job: Job) -> str:
    if job.engine in _SOURCES:
        return _SOURCES[job.engine]
    if job.offload_to is OffloadTo.NVME:
        return _NVME
    return f"DeepSpeed runtime/zero/{'stage3.py' if job.stage == 3 else 'stage_1_and_2.py'}"


def _shrink(key: str, job: Job) -> str:
    if key == TermKey.HOST_STAGING:
        return "a smaller buffer_count" if job.offload_to is OffloadTo.NVME else "more GPUs"
    if key == TermKey.HOST_PARAMS:
        return "--offload optimizer keeps them on the GPU" if job.engine is Engine.DEEPSPEED else "more nodes"
    nvme = job.engine is Engine.DEEPSPEED and job.stage == 3 and job.offload_to is OffloadTo.CPU
    return "more nodes" + (", or --offload-to nvme" if nvme and key != TermKey.HOST_GRADS else "")
