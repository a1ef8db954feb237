"""DeepSpeed ZeRO stage 3: partitions, gathered and prefetched parameters, sub-groups at the step.

Source throughout: DeepSpeed 0.19 ``runtime/zero/stage3.py`` and ``partitioned_param_coordinator.py``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from zplan.memory.activations.heads import CHUNKS
from zplan.memory.engines.base import EngineMemory, StateBytes, deepspeed_bytes
from zplan.memory.engines.norm import NORM_BYTES
from zplan.memory.engines.walk import GradOrders, constant_track
from zplan.memory.engines.zero3_gather import gathered_tracks
from zplan.memory.engines.zero3_host import zero3_host
from zplan.memory.engines.zero3_nvme import nvme_host
from zplan.memory.engines.zero3_plus import (
    PlusOptions,
    is_plus,
    plus_tracks,
    reduces_quantized,
    secondary,
    with_secondary,
)
from zplan.memory.engines.zero3_reduce import reduction, with_reduction
from zplan.memory.formats import accumulated_bytes
from zplan.memory.moments import Moment, TermKey
from zplan.memory.optimizers import OptimizerSpec, state_bytes, temporary_bytes
from zplan.memory.params import Layout, keeps_fp32_adapters
from zplan.memory.sharding import share, zero3_partition_numel
from zplan.memory.timeline import Pass, Track, level
from zplan.spec import DeepSpeedOptions, Job, Loss, Offload, OffloadTo, Precision

PERSISTENCE_MODEL_LIMIT = 2**63 - 1
"""``stage3_model_persistence_threshold``: sys.maxsize unless a config says otherwise."""


class _Shards(NamedTuple):
    """What one rank holds of each tensor, in elements."""

    trainable: int
    """Sum over trainable tensors of ceil(numel / N)."""
    frozen: int
    persistent: int
    """Whole elements of tensors below the persistence threshold: they are kept gathered."""
    persistent_trainable: int
    largest: int
    """Elements of the largest trainable partition."""
    sub_groups: tuple[int, ...]
    """Partitioned elements of each sub-group of trainable tensors."""


def _sub_groups(sizes: list[int], limit: int) -> tuple[int, ...]:
    """Consecutive tensors until a sub-group reaches the limit (``_create_fp16_sub_groups``)."""
    if sum(sizes) <= limit:
        return (sum(sizes),)
    groups, current = [], 0
    for size in sizes:
        current += size
        if current >= limit:
            groups.append(current)
            current = 0
    return (*groups, current) if current else tuple(groups)


def shards(groups: Layout, options: DeepSpeedOptions, ranks: int) -> _Shards:
    """Partitions every tensor on its own, as stage 3 does."""
    trainable: list[int] = []
    frozen = persistent = persistent_trainable = 0
    for piece, count in groups.runs():
        parts: list[int] = []
        for tensor in piece.tensors:
            part = zero3_partition_numel(tensor.numel, ranks)
            if tensor.trainable:
                parts.append(part)
            else:
                frozen += count * part
            if tensor.numel <= options.param_persistence_threshold:
                persistent += count * tensor.numel
                persistent_trainable += count * tensor.numel if tensor.trainable else 0
        trainable += parts * count
    # --params 7B states another P than the shape's: the difference is spread evenly over the ranks.
    extra = groups.total - groups.shape_total
    if groups.adapters:
        frozen += share(extra, ranks)
    elif trainable:
        trainable[-1] += share(extra, ranks)
    return _Shards(
        sum(trainable),
        frozen,
        persistent,
        persistent_trainable,
        max(trainable, default=0),
        _sub_groups(trainable, options.sub_group_size),
    )


def _on_gpu_sub_groups(parts: _Shards, job: Job) -> tuple[int, ...]:
    """Sub-groups whose optimizer states stay on the GPU: all, none, or the first (1 - ratio) of them."""
    if job.offload is Offload.NONE:
        return parts.sub_groups
    count = int((1 - job.deepspeed.offload_ratio) * len(parts.sub_groups))
    return parts.sub_groups[:count]


def _steady(parts: _Shards, job: Job, states: StateBytes, optimizer: OptimizerSpec, ranks: int) -> dict[str, int]:
    on_gpu = sum(_on_gpu_sub_groups(parts, job))
    # peft holds adapters in fp32 on a 16-bit base, and zero.Init leaves their dtype alone; below stage 3 the engine casts them.
    extra = 4 - states.param if keeps_fp32_adapters(job) else 0
    terms = {
        TermKey.PARAMS: 0
        if job.offload is Offload.ALL
        else states.param * (parts.trainable + parts.frozen) + extra * parts.trainable,
        TermKey.GRADS: accumulated_bytes(job, states) * parts.trainable if job.offload is Offload.NONE else 0,
        # fp32 partitions are cloned even from fp32 ones (``_create_fp32_partitions``): a torch.device never equals a device's name.
        TermKey.MASTER: states.master * on_gpu,
        TermKey.OPTIMIZER: state_bytes(optimizer, on_gpu, states.optimized),
        TermKey.REDUCE_BUCKET: states.grad * job.deepspeed.reduce_bucket_size,
        TermKey.PERSISTENT_PARAMS: states.param * parts.persistent + extra * parts.persistent_trainable
        if ranks > 1 or job.offload is Offload.ALL
        else 0,
    }
    return {key: size for key, size in terms.items() if size}


def _tracks(groups: Layout, orders: GradOrders, job: Job, states: StateBytes, ranks: int) -> tuple[Track, Track, int]:
    """Gathered parameters along forward and backward, module by module, and the bytes of the last reduction."""
    offload = job.offload is not Offload.NONE
    quantized = reduces_quantized(job, ranks)
    sizes = (states.grad, accumulated_bytes(job, states))
    grads, last = reduction(groups, orders, job.deepspeed.reduce_bucket_size, ranks, sizes, offload, quantized)
    if ranks == 1 and job.offload is not Offload.ALL:
        # One rank's partition is the whole tensor: nothing is gathered (``_no_gather_coalesced``).
        return constant_track(groups, orders, level()), grads, last
    # Buckets, offload and ratios have no say in what is gathered when: plans that differ there share the replay.
    fixed = DeepSpeedOptions()
    options = replace(
        job.deepspeed,
        reduce_bucket_size=fixed.reduce_bucket_size,
        allgather_bucket_size=fixed.allgather_bucket_size,
        sub_group_size=fixed.sub_group_size,
        offload_ratio=fixed.offload_ratio,
        overlap_comm=fixed.overlap_comm,
    )
    adapter_bytes = 4 if keeps_fp32_adapters(job) else states.param
    if is_plus(job):
        plus = PlusOptions(options, job.hpz, job.offload is not Offload.ALL, states.param, adapter_bytes, ranks)
        forward, gathered = plus_tracks(groups, orders, plus)
    else:
        chunks = CHUNKS if job.loss is Loss.CHUNKED else 1
        forward, gathered = gathered_tracks(groups, orders, options, states.param, adapter_bytes, chunks)
    return forward, with_reduction(gathered, grads, groups, orders), last


def _step_moments(
    steady: dict[str, int], parts: _Shards, job: Job, states: StateBytes, optimizer: OptimizerSpec, ranks: int
) -> tuple[Moment, ...]:
    """One sub-group after the other: its gradients are flattened, cast to fp32, and stepped."""
    on_gpu = _on_gpu_sub_groups(parts, job)
    if not on_gpu or job.offload is not Offload.NONE:
        host = Moment("step", "optimizer step on the host", dict(steady))
        if job.offload is not Offload.ALL:
            return (host,)
        # Partitions come from the host to be gathered, and stay beside what is gathered (``Init._all_gather_coalesced``).
        shards = share(steady.get(TermKey.PERSISTENT_PARAMS, 0), ranks)
        gathering = {**steady, TermKey.GATHERED_PARAMS: shards}
        return (host, Moment("step", "persistent parameters gathered", gathering))
    numel = max(on_gpu)
    grad = accumulated_bytes(job, states)
    cast = states.optimized * numel if states.optimized != grad else 0
    # The step starts by partitioning everything (``_partition_all_parameters``); persistent tensors are gathered at its end.
    working = {key: size for key, size in steady.items() if key != TermKey.PERSISTENT_PARAMS}
    flattening = {**working, TermKey.FLAT_BUFFER: grad * numel, TermKey.GRADS_FP32: cast}
    running = {
        **working,
        TermKey.GRADS_FP32: cast or grad * numel,
        TermKey.OPTIMIZER_TEMPORARIES: temporary_bytes(optimizer, numel, ((numel,),), states.optimized),
    }
    # fp16 looks for overflow in the whole gradient buffer: a byte per element (``has_overflow``).
    overflow = parts.trainable if job.precision is Precision.FP16 else 0
    norm = {**working, TermKey.OPTIMIZER_TEMPORARIES: max(NORM_BYTES * parts.largest, overflow)}
    return (
        Moment("step", "gradient norm", norm),
        Moment("step", "sub-group gradients flattened and cast", flattening),
        Moment("step", "optimizer step", running),
        Moment("step", "persistent parameters gathered", steady),
    )


def _partitions(groups: Layout, parts: _Shards, ranks: int) -> tuple[tuple[int, bool], ...]:
    """Elements of each tensor's partition, and whether it trains; what ``--params 7B`` states more comes last."""
    found = tuple((zero3_partition_numel(tensor.numel, ranks), tensor.trainable) for tensor in groups.tensors())
    more = parts.trainable + parts.frozen - sum(numel for numel, _ in found)
    return (*found, (more, not groups.adapters)) if more else found


def zero3_memory(groups: Layout, orders: GradOrders, job: Job, optimizer: OptimizerSpec, ranks: int) -> EngineMemory:
    """DeepSpeed stage 3 on one rank.

    Formula: steady 16 P/N for bf16 Adam, a permanent bucket, persistent small tensors; gathered and prefetched parameters
    while blocks run; the step adds 6 bytes per element of the largest sub-group.
    """
    states = deepspeed_bytes(job.precision)
    parts = shards(groups, job.deepspeed, ranks)
    steady = _steady(parts, job, states, optimizer, ranks)
    forward, backward, last = _tracks(groups, orders, job, states, ranks)
    reducing = Moment("backward", "last reduction", {**steady, TermKey.UNSHARDED_GRADS: last})
    step = _step_moments(steady, parts, job, states, optimizer, ranks)
    init = _init_moments(steady, groups, parts, job, states, ranks)
    plus, on_host = secondary(groups, job, states, ranks), 0
    if plus.frozen or plus.trained:
        if job.offload is Offload.ALL:
            on_host = plus.frozen + plus.trained + (plus.largest if job.deepspeed.pin_memory else 0)
        else:
            # Adapters are added after ``zero.Init``; everything is partitioned at the start of the step.
            (reducing,) = with_secondary((reducing,), plus.frozen + plus.trained)
            step = with_secondary(step, plus.frozen + plus.trained)
            init = with_secondary(init, plus.frozen if job.lora is not None else plus.trained)
            steady = {**steady, TermKey.SECONDARY_PARAMS: plus.frozen} if plus.frozen else steady
    if job.offload_to is OffloadTo.NVME and job.offload is not Offload.NONE:
        host = nvme_host(parts.sub_groups, _partitions(groups, parts, ranks), job, states, optimizer)
    else:
        on_gpu, held = _on_gpu_sub_groups(parts, job), parts.trainable + parts.frozen
        host = zero3_host(parts.sub_groups, on_gpu, held, parts.trainable, job, states, optimizer, on_host)
    return EngineMemory(
        steady=steady,
        passes=(Pass(steady, forward, backward, (reducing,)),),
        step=step,
        init=init,
        host=host,
        states=states,
        grad_bytes=states.grad,
    )


def _first_partitions(groups: Layout, ranks: int) -> int:
    """Elements beyond the whole model while it is partitioned: a tensor's partition is made before the tensor is freed."""
    most = beyond = 0
    for tensor in groups.tensors():
        part = zero3_partition_numel(tensor.numel, ranks)
        most = max(most, beyond + part)
        beyond += part - tensor.numel
    return most


def _largest_module(groups: Layout, ranks: int) -> tuple[int, int]:
    """Elements of the shards made so far, and of the module that is whole just then, where their sum is largest.

    ``zero.Init`` partitions a module's own tensors when its constructor returns (``partition_parameters.py``,
    ``_post_init_method``): a layer's stacked experts are there all at once.

    Args:
        groups: The parameters; adapters come later and don't count.
        ranks: N, or 0 where shards go to the host.
    """
    before, best = 0, (0, 0)
    for piece, count in groups.runs():
        modules: dict[str, list[int]] = {}
        for tensor in piece.tensors:
            if ".lora_" not in tensor.name:
                modules.setdefault(tensor.name.rpartition(".")[0], []).append(tensor.numel)
        shards = [sum(zero3_partition_numel(n, ranks) for n in sizes) if ranks else 0 for sizes in modules.values()]
        before += (count - 1) * sum(shards)
        for sizes, shard in zip(modules.values(), shards, strict=True):
            best = max(best, (before, sum(sizes)), key=sum)
            before += shard
    return best


def _init_moments(
    steady: dict[str, int], groups: Layout, parts: _Shards, job: Job, states: StateBytes, ranks: int
) -> tuple[Moment, ...]:
    """Init: each fp32 partition is cast and cloned; later, beside bucket and gradient partitions, hooks are made.

    For its hook every trainable tensor is gathered whole for a moment (``create_reduce_and_remove_grad_hooks``).
    """
    whole = (4 if groups.adapters else states.param) * groups.largest_trainable
    if job.offload is Offload.ALL:
        whole += states.param * zero3_partition_numel(groups.largest_trainable, ranks)
    kept = {key: size for key, size in steady.items() if key not in (TermKey.OPTIMIZER, TermKey.PERSISTENT_PARAMS)}
    made = [Moment("init", "hooks made", {**kept, TermKey.GATHERED_PARAMS: whole})]
    if job.zero_init is False:
        # Without zero.Init the engine moves the whole model to the GPU and partitions it there, one tensor after the other.
        beyond = 0 if job.offload is Offload.ALL else _first_partitions(groups, ranks)
        params = states.param * (groups.total + groups.adapters + beyond)
        made.append(Moment("init", "whole model before sharding", {TermKey.PARAMS: params}))
    else:
        # The head is made last, whole and before it is tied; then ``zero.Init`` partitions it. Adapters come later.
        shards = zero3_partition_numel(groups.total + (groups.head_numel if groups.tied else 0), ranks)
        on_gpu = 0 if job.offload is Offload.ALL else states.param * shards
        head = {TermKey.PARAMS: on_gpu, TermKey.GATHERED_PARAMS: states.param * groups.head_numel}
        made.append(Moment("init", "head made before sharding", head))
        before, own = _largest_module(groups, 0 if job.offload is Offload.ALL else ranks)
        module = {TermKey.PARAMS: states.param * before, TermKey.GATHERED_PARAMS: states.param * own}
        made.append(Moment("init", "module made before sharding", module))
    if TermKey.MASTER not in steady or job.offload is not Offload.NONE:
        return tuple(made)
    cloning = {
        TermKey.PARAMS: kept.get(TermKey.PARAMS, 0),
        TermKey.MASTER: kept[TermKey.MASTER],
        TermKey.GRADS_FP32: states.optimized * max(parts.sub_groups),
    }
    return (Moment("init", "fp32 partitions made", cloning), *made)
