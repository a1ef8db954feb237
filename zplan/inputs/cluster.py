"""What ``--gpus``, ``--nodes``, ``--gpu``, ``--gpu-mem``, ``--host-mem``, ``--nvme`` and ``--node`` say together."""

from __future__ import annotations

from zplan.errors import ZplanError
from zplan.spec import ClusterSpec, GpuSpec, NodeSpec
from zplan.units import GIB, format_size

NODE_SIZE = 8
"""GPUs per node where nothing else is said, as nearly every training server has them."""


def supports(gpu: GpuSpec | None, dtype: str) -> bool:
    """Tells whether a card has hardware for a number format, e.g. ``bf16``; a card that nobody named has."""
    return gpu is None or dtype not in gpu.lacks


def build_cluster(
    *,
    gpus: int | None,
    nodes: int | None = None,
    gpu: str | None = None,
    gpu_mem_bytes: int | None = None,
    host_mem_bytes: int | None = None,
    nvme_bytes: int | None = None,
    node: str | None = None,
) -> tuple[ClusterSpec, tuple[str, ...]]:
    """Returns the cluster that the options describe, and what was assumed.

    Without ``nodes``: one node up to the size of a node (8 GPUs, or the machine preset's), whole nodes above.

    Args:
        gpus: All GPUs; None with ``node``: all that the nodes have.
        nodes: Number of nodes; must divide ``gpus``.
        gpu: Card preset; with ``node`` it replaces the machine's own card.
        gpu_mem_bytes: Memory of one card; wins over the preset's.
        host_mem_bytes: RAM of one node; wins over the machine preset's.
        nvme_bytes: NVMe of one node; wins over the machine preset's.
        node: Machine preset.

    Raises:
        ZplanError: The numbers do not fit together, or a preset is unknown.
    """
    machine, card = _presets(node, gpu)
    gpus, nodes, notes = _layout(gpus, nodes, machine)
    if machine and host_mem_bytes is None:
        notes.append(f"{format_size(machine.host_memory_bytes)} of RAM per node, as {machine.title} has (--host-mem)")
        host_mem_bytes = machine.host_memory_bytes
    if machine and nvme_bytes is None:
        nvme_bytes = machine.nvme_bytes
    cluster = ClusterSpec(
        gpus=gpus,
        nodes=nodes,
        gpu=card,
        gpu_capacity_bytes=_capacity(card, gpu_mem_bytes, notes),
        host_capacity_bytes=host_mem_bytes,
        nvme_capacity_bytes=nvme_bytes,
        node=machine,
    )
    return cluster, tuple(notes)


def _presets(node: str | None, gpu: str | None) -> tuple[NodeSpec | None, GpuSpec | None]:
    """Returns the machine and the card that are named; presets are not even imported when neither is."""
    if not node and not gpu:
        return None, None
    from zplan.inputs.presets import load_gpu, load_node

    machine = load_node(node) if node else None
    named = gpu or (machine.gpu if machine else None)
    return machine, load_gpu(named) if named else None


def _layout(gpus: int | None, nodes: int | None, machine: NodeSpec | None) -> tuple[int, int, list[str]]:
    """Returns the number of GPUs and of nodes, and what was assumed."""
    size = machine.gpus_per_node if machine else NODE_SIZE
    notes: list[str] = []
    if gpus is None:
        if machine is None:
            raise ZplanError("the number of GPUs is not known", "say how many there are in all: --gpus 8")
        gpus = (nodes or 1) * size
        notes.append(f"{gpus} GPUs, all that {nodes or 1} x {machine.title} has (--gpus)")
    for flag, number in (("--gpus", gpus), ("--nodes", nodes)):
        if number is not None and number < 1:
            raise ZplanError(f"{flag} must be at least 1, not {number}", f"try {flag} {8 if flag == '--gpus' else 1}")
    if nodes is None:
        nodes = _default_nodes(gpus, size)
        if nodes > 1:
            notes.append(f"{nodes} nodes of {size} GPUs (--nodes)")
    if gpus % nodes:
        per_node = max(1, gpus // nodes)
        raise ZplanError(
            f"{gpus} GPUs cannot be spread evenly over {nodes} nodes",
            f"every node needs as many: --gpus {per_node * nodes} --nodes {nodes}, "
            f"or --gpus {gpus} --nodes {_fewest_nodes(gpus, size)}",
        )
    if machine and gpus // nodes > size:
        raise ZplanError(
            f"{machine.title} has {size} GPUs, not {gpus // nodes}",
            f"use --gpus {gpus} --nodes {_fewest_nodes(gpus, size)}, or leave --node out",
        )
    return gpus, nodes, notes


def _default_nodes(gpus: int, size: int) -> int:
    """Returns the number of nodes for GPUs that fill them."""
    if gpus <= size:
        return 1
    if gpus % size:
        raise ZplanError(
            f"{gpus} GPUs do not fill nodes of {size}",
            f"say how many nodes there are: --gpus {gpus} --nodes {_fewest_nodes(gpus, size)}",
        )
    return gpus // size


def _fewest_nodes(gpus: int, size: int) -> int:
    """Returns the smallest number of equal nodes that hold the GPUs, at most ``size`` on each."""
    return gpus // max(share for share in range(1, min(gpus, size) + 1) if gpus % share == 0)


def _capacity(card: GpuSpec | None, gpu_mem_bytes: int | None, notes: list[str]) -> int | None:
    """Returns the memory of one card: what the user said, else what the card's driver reports."""
    if card is None:
        return gpu_mem_bytes
    if gpu_mem_bytes is None:
        notes.append(f"{format_size(card.memory_bytes)} per GPU, as the driver reports for {card.title} (--gpu-mem)")
        return card.memory_bytes
    if gpu_mem_bytes > card.label_gib * GIB:
        notes.append(f"--gpu-mem {format_size(gpu_mem_bytes)} is more than {card.title} has, {card.label_gib} GiB")
    return gpu_mem_bytes
