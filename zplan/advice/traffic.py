"""What leaves a GPU in one step: collectives between ranks, copies to the host, reads and writes of NVMe."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from zplan.advice import rates
from zplan.advice.work import recomputed_share
from zplan.memory.params import Layout, layout
from zplan.memory.states import state_sizes
from zplan.spec import ClusterSpec, Engine, GpuSpec, Job, ModelSpec, Offload, OffloadTo, Plan, Quantize

QUANTIZED_BYTES = {Quantize.NF4: 0.5625, Quantize.NF4_DOUBLE: 0.516, Quantize.INT8: 1.0}
"""Bytes per element of frozen base weights, block constants included (arXiv:2305.14314; arXiv:2208.07339)."""


class Traffic(NamedTuple):
    """Seconds that each link needs for one optimizer step."""

    forward_backward: float
    """Collectives that run beside forward and backward, all micro-steps."""
    boundary: float
    """Collectives that nothing hides: around the optimizer step."""
    over: str
    """Which link the collectives wait for: ``network``, ``nvlink`` or ``pcie``."""
    volume_elements: float
    """Elements that one rank sends per step, in units of P."""
    host_overlapped: float
    """Copies between GPU and host beside forward and backward, but for offloaded checkpoints."""
    host_boundary: float
    """Copies around the optimizer step."""
    cpu_optimizer: float
    nvme: float


def ring_seconds(cluster: ClusterSpec, size_bytes: float, collectives: float) -> float:
    """Seconds of all-gathers (or reduce-scatters) of ``size_bytes`` over all ranks.

    Formula: within a node every rank takes in (N-1)/N of the bytes; between nodes every node takes in (M-1)/M of them.
    Both happen at once, in chunks, so the slower one decides; plus the latency of each collective.
    Source: ring collectives, NCCL ``doc/PERFORMANCE.md`` of nccl-tests.
    """
    ranks, nodes = cluster.gpus, cluster.nodes
    if ranks == 1:
        return 0.0
    inside = size_bytes * (ranks - 1) / ranks / rates.link_rate(cluster) if cluster.gpus_per_node > 1 else 0.0
    between = size_bytes * (nodes - 1) / nodes / rates.network_rate(cluster) if nodes > 1 else 0.0
    latency = collectives * (rates.COLLECTIVE_LATENCY + rates.HOP_LATENCY * (ranks - 1))
    return max(inside, between) + latency


def _slow_link(cluster: ClusterSpec) -> str:
    """The link that collectives over all ranks wait for."""
    if cluster.nodes == 1:
        return rates.link_kind(cluster)
    inside = cluster.gpus_per_node > 1 and rates.link_rate(cluster) < rates.network_rate(cluster)
    return rates.link_kind(cluster) if inside else "network"


def _within_node(cluster: ClusterSpec, ranks: int) -> ClusterSpec:
    """The part of the cluster that a group of neighbouring ranks spans."""
    nodes = max(1, ranks // max(1, cluster.gpus_per_node))
    return replace(cluster, gpus=max(1, ranks), nodes=nodes)


def _gradient_bytes(plan: Plan) -> float:
    """Bytes per element of a gradient on the wire."""
    job = plan.job
    if job.deepspeed.communication_dtype in ("fp32", "float32"):
        return 4
    if job.engine in (Engine.FSDP1, Engine.FSDP2):
        return 2 if job.precision.value == "bf16-pure" else 4
    return state_sizes(job).grad


def collective_volume(plan: Plan) -> float:
    """Elements that one rank sends in collectives per optimizer step, in units of P; needs no card.

    Formula: DDP and stage 0 all-reduce, 2 P per step; stage 1 reduces and gathers once, 2 P; stage 2 reduces after every one of
    G micro-steps, (G + 1) P; stage 3 gathers twice and reduces in each, 3 G P. With adapters only what trains is reduced.
    Source: arXiv:1910.02054, section 7; see :func:`_collectives` and :func:`_sharded` for when each engine does it.
    """
    job, groups = plan.job, layout(plan.model, plan.job.lora)
    if plan.cluster.gpus == 1:
        return 0.0
    micro, share = job.grad_accum, groups.trainable / max(1, groups.total + groups.adapters)
    fsdp = job.engine in (Engine.FSDP1, Engine.FSDP2)
    if fsdp or job.stage == 3:
        passes = 1 if fsdp and job.stage == 2 else 2
        return micro * passes + (1 if fsdp else micro) * share
    if job.engine is Engine.DEEPSPEED and job.stage == 2:
        return share * (1 + micro)
    return 2 * share


def host_volume(plan: Plan) -> float:
    """Elements that one rank copies to and from the host per optimizer step, in units of P; needs no card.

    Formula: with the optimizer offloaded G gradients out and one set of weights back, of a rank's own share; with parameters too
    every weight comes in twice per micro-step.
    """
    job, groups = plan.job, layout(plan.model, plan.job.lora)
    if job.offload is Offload.NONE:
        return 0.0
    whole = max(1, groups.total + groups.adapters)
    ratio = job.deepspeed.offload_ratio if job.engine is Engine.DEEPSPEED and job.stage == 3 else 1.0
    moved = groups.trainable / whole * ratio * (job.grad_accum + 1)
    if job.offload is Offload.ALL:
        moved += 2 * job.grad_accum
    return moved / plan.cluster.gpus


def _sharded(plan: Plan, groups: Layout) -> tuple[float, float]:
    """Stage 3 and FSDP: gather seconds, reduce seconds (per step)."""
    job, cluster = plan.job, plan.cluster
    layers, micro = plan.model.num_layers + 1, job.grad_accum
    fsdp = job.engine in (Engine.FSDP1, Engine.FSDP2)
    word_bytes = 4 if job.precision.value == "fp32" else 2
    frozen_bytes = word_bytes if job.quantize is None else QUANTIZED_BYTES[job.quantize]
    frozen = groups.total + groups.adapters - groups.trainable
    gathered = frozen * frozen_bytes + groups.trainable * word_bytes
    qwz = 0.5 if job.deepspeed.quantized_weights and not fsdp else 1.0
    forward = ring_seconds(cluster, gathered * qwz, layers)
    if fsdp and job.stage == 2:
        backward = 0.0
    elif job.hpz > 1 and not fsdp:
        backward = ring_seconds(_within_node(cluster, job.hpz), gathered * qwz, layers)
    else:
        backward = forward
    qgz = 0.25 if job.deepspeed.quantized_gradients and not fsdp else 1.0
    reduce = ring_seconds(cluster, groups.trainable * _gradient_bytes(plan) * qgz, layers)
    syncs = micro if not fsdp else 1
    return micro * (forward + backward), syncs * reduce


def _collectives(plan: Plan, groups: Layout) -> tuple[float, float]:
    """Overlapped seconds, exposed seconds."""
    job, cluster = plan.job, plan.cluster
    if cluster.gpus == 1:
        return 0.0, 0.0
    if job.engine in (Engine.FSDP1, Engine.FSDP2) or job.stage == 3:
        gather, reduce = _sharded(plan, groups)
        return gather + reduce, 0.0
    size = groups.trainable * _gradient_bytes(plan)
    buckets = max(1.0, groups.trainable / max(1, job.deepspeed.reduce_bucket_size))
    once = ring_seconds(cluster, size, buckets)
    if job.engine is not Engine.DEEPSPEED or job.stage == 0:
        return 2 * once, 0.0
    # Stage 2 reduces after every micro-step, stage 1 once; both gather the updated 16-bit parameters after the step.
    reduce = once * (job.grad_accum if job.stage == 2 else 1)
    gather = ring_seconds(cluster, groups.trainable * state_sizes(job).param, buckets)
    return (reduce, gather) if job.deepspeed.overlap_comm else (0.0, reduce + gather)


def _offload(plan: Plan, groups: Layout) -> tuple[float, float, float, float]:
    """Host copies (overlapped, at the boundary), CPU optimizer, NVMe: seconds per step."""
    job, cluster = plan.job, plan.cluster
    gpu = cluster.gpu
    if job.offload is Offload.NONE or gpu is None:
        return 0.0, 0.0, 0.0, 0.0
    ranks, per_node = cluster.gpus, cluster.gpus_per_node
    rate = rates.host_link_rate(gpu)
    states = state_sizes(job)
    deepspeed = job.engine is Engine.DEEPSPEED
    ratio = job.deepspeed.offload_ratio if deepspeed and job.stage == 3 else 1.0
    shard = groups.trainable * ratio / ranks
    # Gradients leave as they become ready, updated parameters come back after the step.
    overlapped = job.grad_accum * shard * states.grad / rate
    boundary = shard * (states.param if deepspeed else 0) / rate
    if job.offload is Offload.ALL:
        held = (groups.total + groups.adapters) / ranks
        overlapped += 2 * job.grad_accum * held * _held_bytes(plan) / rate
    updates = rates.CPU_ADAM_PARAMS if deepspeed else rates.TORCH_CPU_ADAM_PARAMS
    cpu = shard * per_node / updates
    nvme = 0.0
    if job.offload_to is OffloadTo.NVME:
        state = shard * per_node * 12
        nvme = (state + shard * per_node * 4) / rates.NVME_READ + state / rates.NVME_WRITE
        if job.offload is Offload.ALL:
            held = (groups.total + groups.adapters) / ranks * per_node * states.param
            nvme += held * (2 * job.grad_accum / rates.NVME_READ + 1 / rates.NVME_WRITE)
    return overlapped, boundary, cpu, nvme


def checkpoint_copies(model: ModelSpec, gpu: GpuSpec, job: Job, batch: tuple[int, int, int]) -> float:
    """Seconds of copying offloaded checkpoints to the host in forward and back in backward, beside computation.

    Formula: 2 T h bytes per checkpointed block, out and in, in each micro-step.
    Source: torchtune ``training/_activation_offloading.py`` (a stream of its own).

    Args:
        model: The architecture.
        gpu: The card.
        job: Which blocks are checkpointed.
        batch: Sequences per GPU, tokens of each, micro-steps.
    """
    micro_batch, seq_len, grad_accum = batch
    blocks = model.num_layers * recomputed_share(model, job.checkpointing)
    once = 2.0 * micro_batch * seq_len * model.hidden_size * blocks
    return grad_accum * 2 * once / rates.host_link_rate(gpu)


def _held_bytes(plan: Plan) -> float:
    """Bytes per element of the parameters that wait on the host."""
    if plan.job.quantize is not None:
        return QUANTIZED_BYTES[plan.job.quantize]
    return state_sizes(plan.job).param


def _between_replicas(plan: Plan, groups: Layout, replicas: int) -> float:
    """HSDP: every rank all-reduces its shard of the gradients with its peers in the other copies.

    Formula: 2 (R-1)/R of a node's gradients through that node's network.
    """
    if replicas == 1:
        return 0.0
    size = groups.trainable * _gradient_bytes(plan) / plan.cluster.nodes
    latency = 2 * (plan.model.num_layers + 1) * (rates.COLLECTIVE_LATENCY + rates.HOP_LATENCY * replicas)
    return 2 * size * (replicas - 1) / replicas / rates.network_rate(plan.cluster) + latency


def traffic(plan: Plan, replicas: int = 1) -> Traffic:
    """Seconds of communication in one optimizer step of a plan with a known card; micro-batch and length don't change it."""
    groups = layout(plan.model, plan.job.lora)
    overlapped, exposed = _collectives(plan, groups)
    overlapped += _between_replicas(plan, groups, replicas)
    host_overlapped, host_boundary, cpu, nvme = _offload(plan, groups)
    return Traffic(
        forward_backward=overlapped,
        boundary=exposed,
        over="network" if replicas > 1 else _slow_link(plan.cluster),
        volume_elements=collective_volume(plan),
        host_overlapped=host_overlapped,
        host_boundary=host_boundary,
        cpu_optimizer=cpu,
        nvme=nvme,
    )
