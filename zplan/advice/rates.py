"""How fast hardware works in practice: shares of data-sheet figures, each cited or fitted over all rows at once.

"Fitted" means: chosen by ``benchmarks/fit.py`` for all cards, engines and sources together, over the rows of
``benchmarks/data/measured.yaml`` and ``fresh_rows.yaml``. IN_TRAINING, TILE, OVERLAP and MEMORY_SHARE are scanned
together on a coarse grid, and neighbours on it are about as good; the others are scanned one by one and rest on few rows,
as said below. ``benchmarks/throughput.py`` prints the error with all rows, and on sources that were left out of the scan,
one after the other. "Assumed" means that no row decides: the rows come out the same with any value from half to twice it.
"""

from __future__ import annotations

from zplan.spec import ClusterSpec, GpuSpec, Precision

MATMUL_SHARES: tuple[tuple[str, float], ...] = (
    ("gaudi2", 0.969),
    ("a100-pcie", 0.811),
    ("a100", 0.869),
    ("a800", 0.869),
    ("gh200", 0.838),
    ("gb200", 0.729),
    ("h100", 0.803),
    ("h200", 0.803),
    ("h800", 0.803),
    ("b300", 0.786),
    ("b200", 0.776),
    ("gaudi3", 0.741),
    ("mi355", 0.680),
    ("mi325", 0.604),
    ("mi300", 0.514),
)
"""Largest share of the dense 16-bit peak that a matmul reaches, by the start of a card's name.

Source: MAMF table, stas00/ml-engineering ``compute/accelerator/README.md``.
"""
MATMUL_SHARE_ELSEWHERE = 0.803
"""Cards that nobody measured: as an H100, the middle of that table."""
IN_TRAINING = 0.92
IN_TRAINING_HOPPER = 0.86
"""Share of the best matmul that a training step's matmuls reach: other shapes, a warm card at its power limit. Apart for
Hopper and later, which have about half the watts per FLOP/s (A100 SXM 400 W for 312, H100 SXM 700 W for 989 TFLOP/s)
and lower their clocks under load. Fitted."""
TILE = 32.0
"""A matmul with a side of d elements runs at d / (d + TILE) of its speed, side by side: tiles that are not full.
Fitted."""
FLASH_SHARE = 0.55
FLASH_SHARE_HOPPER = 0.40
"""Share of the 16-bit peak in flash attention, forward and backward together, causal halves counted once.

Source: FlashAttention-2 (arXiv:2307.08691): 50-73 % forward and up to 63 % backward on A100, 335 TFLOP/s = 34 % on
H100; FlashAttention-3 and cuDNN reach 75 % there (arXiv:2407.08608). Between those, for what torch calls by default;
the rows do not tell the value for Hopper apart.
"""
FLASH_GENERATIONS: dict[int, tuple[float, float]] = {1: (0.32, 0.17), 2: (0.55, 0.34), 3: (0.55, 0.54)}
"""The same where a run's kernel is known, up to Ampere and from Hopper on.

Source: the first one reaches 30-50 % forward and 25-35 % backward on A100, and the second is twice as fast
(arXiv:2307.08691); the third is 1.5 to 2 times as fast as the second on H100 (arXiv:2407.08608).
"""
HOPPER_FLOPS = 700e12
"""Cards above this peak count as Hopper or later."""
MEMORY_SHARE = 0.70
"""Share of the memory bandwidth that elementwise kernels reach. Fitted."""
LINK_SHARES = {"nvlink": 0.80, "xgmi": 0.80, "hccs": 0.80, "roce": 0.80, "pcie": 0.55}
"""Share of a link's one-way bandwidth that a ring collective reaches.

Source: 78 % of NVLink 3 (A100) and 82 % of NVLink 4 (H200), stas00/ml-engineering ``network/README.md``. PCIe: traffic
between cards crosses the root complex in and out, and stages in host memory where cards cannot reach each other; about
half is assumed.
"""
NETWORK_SHARE = 0.80
"""The rule of thumb of stas00/ml-engineering ``network/README.md``: about 80 % of the advertised speed."""
NETWORK_BANDWIDTH = 50e9
"""Bytes per second per node when no machine is named: 400 Gbit/s, as AWS p4d and most A100 clusters have it."""
NETWORK_BANDWIDTH_PER_CARD = 50e9
"""The same, per card of a node, for cards of Hopper's speed and later on NVLink or xGMI: one 400 Gbit/s adapter each, as in DGX
H100 and H200, AWS p5, Azure ND H100 v5 and ND MI300X v5 (their data sheets; ``presets/nodes``)."""
COLLECTIVE_LATENCY = 20e-6
HOP_LATENCY = 2e-6
"""Seconds per collective, and per further rank in its ring: of the order of the constants in NCCL's
``src/graph/tuning.cc``; assumed."""
PCIE_SHARE = 0.88
"""Source: nvbandwidth, 55.4 of 63 GB/s host to device on PCIe 5 x16, stas00/ml-engineering ``network/README.md``."""
PCIE_LANE = {2: 0.5e9, 3: 0.985e9, 4: 1.969e9, 5: 3.938e9, 6: 7.563e9}
"""Bytes per second of one lane in one direction, by generation (PCI-SIG)."""
CPU_ADAM_PARAMS = 4.0e9
"""Parameters per second that DeepSpeed's CPUAdam updates on one node, all ranks together: 1B in 0.22 s, 10B in 2.57 s
on a DGX-2 (ZeRO-Offload, arXiv:2101.06840, table of Adam latencies). 7 x 4 bytes each way make it bound by host
memory."""
TORCH_CPU_ADAM_PARAMS = 0.7e9
"""The same with torch's own Adam: 1B in 1.39 s, 10B in 14.8 s (same table)."""
NVME_READ = 6.8e9
NVME_WRITE = 4.0e9
"""Bytes per second of one data-centre drive per node (PCIe 4 x4, Samsung PM9A3 data sheet). DeepSpeed can stripe over
more."""
OVERLAP = 0.8
"""Of two things that could run at the same time, the share of the shorter one that hides behind the longer. Fitted."""
LAYER_LAUNCH = 0.5e-3
LAYER_LAUNCH_COMPILED = 0.15e-3
"""Seconds of Python and kernel launches per block and pass; work on the GPU hides it when it takes longer. Fitted; the
value for compiled models is assumed."""
ADAPTER_LAUNCH = 0.2e-3
"""The same per matrix with LoRA adapters and pass: dropout, two products, scaling, sum and their casts. Fitted; short sequences in
LoRA rows decide it."""
FSDP1_UNIT = 2.0e-3
"""Seconds of FSDP1's hooks per wrapped unit and pass. Accelerate wraps every adapter matrix of a LoRA model in a unit
of its own (``fsdp_auto_wrap_policy``), which is what small LoRA batches then wait for. Fitted; small LoRA batches
in fms-acceleration's rows decide it."""
STAGE3_HOOK = 0.36e-3
"""Seconds of DeepSpeed's stage-3 hooks per module with parameters and pass (fetch, release, trace). Fitted; the short
sequences in Qwen's rows decide it."""
STAGE3_GATHER = 0.1e-3
"""Seconds more where there is something to gather, per module and pass. Fitted; short sequences on two and four GPUs decide it, and
DeepSpeed's own example on four wants five times as much."""


def matmul_share(gpu: GpuSpec) -> float:
    """Best share of a card's 16-bit peak in one large matmul."""
    for start, share in MATMUL_SHARES:
        if gpu.name.startswith(start):
            return share
    return MATMUL_SHARE_ELSEWHERE


def peak_flops(gpu: GpuSpec, precision: Precision) -> float:
    """FLOP/s of the card's data sheet in the precision that matmuls run in."""
    return gpu.flops_32bit if precision is Precision.FP32 else gpu.flops_16bit


def matmul_flops(gpu: GpuSpec, precision: Precision) -> float:
    """FLOP/s of large matmuls within a training step."""
    held = IN_TRAINING_HOPPER if gpu.flops_16bit >= HOPPER_FLOPS else IN_TRAINING
    return peak_flops(gpu, precision) * matmul_share(gpu) * held


def flash_flops(gpu: GpuSpec, precision: Precision, generation: int | None = None) -> float:
    """FLOP/s of flash attention, of one generation or of today's default."""
    ampere, hopper = (FLASH_SHARE, FLASH_SHARE_HOPPER) if generation is None else FLASH_GENERATIONS[generation]
    return peak_flops(gpu, precision) * (hopper if gpu.flops_16bit >= HOPPER_FLOPS else ampere)


def memory_rate(gpu: GpuSpec) -> float:
    """Bytes per second of elementwise kernels."""
    return gpu.memory_bandwidth * MEMORY_SHARE


def link_kind(cluster: ClusterSpec) -> str:
    """What joins the cards of a node: ``nvlink`` or ``pcie``, in the words of ``bound_by``."""
    link = cluster.gpu.link if cluster.gpu is not None else "pcie"
    if cluster.node is not None and cluster.gpu is not None and cluster.node.gpu == cluster.gpu.name:
        link = cluster.node.intra_link
    return "pcie" if link in ("pcie", "none") else "nvlink"


def link_rate(cluster: ClusterSpec) -> float:
    """Bytes per second in one direction per card within a node."""
    assert cluster.gpu is not None
    bandwidth = cluster.gpu.link_bandwidth
    if cluster.node is not None and cluster.node.gpu == cluster.gpu.name:
        bandwidth = cluster.node.intra_bandwidth
    if bandwidth <= 0:
        bandwidth = PCIE_LANE.get(cluster.gpu.pcie_gen, PCIE_LANE[3]) * cluster.gpu.pcie_lanes
    return bandwidth * LINK_SHARES[link_kind(cluster)]


def network_rate(cluster: ClusterSpec) -> float:
    """Bytes per second in one direction per node."""
    gpu = cluster.gpu
    bandwidth = NETWORK_BANDWIDTH
    if cluster.node is not None:
        bandwidth = cluster.node.network_bandwidth
    elif gpu is not None and gpu.flops_16bit >= HOPPER_FLOPS and link_kind(cluster) == "nvlink":
        bandwidth = max(NETWORK_BANDWIDTH, NETWORK_BANDWIDTH_PER_CARD * cluster.gpus_per_node)
    return bandwidth * NETWORK_SHARE


def host_link_rate(gpu: GpuSpec) -> float:
    """Bytes per second between host memory and the card, in one direction."""
    return PCIE_LANE.get(gpu.pcie_gen, PCIE_LANE[3]) * gpu.pcie_lanes * PCIE_SHARE
