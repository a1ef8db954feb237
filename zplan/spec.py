"""The values that everything else talks about: model x cluster x job = plan.

Frozen dataclasses and enums only; no I/O, no arithmetic beyond what a field's own meaning implies.
Bytes are ints and carry their unit in the name; ``GB`` is 10^9 and ``GiB`` 2^30 bytes everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from math import prod


class Engine(str, Enum):
    """What runs the training step."""

    DEEPSPEED = "deepspeed"
    FSDP2 = "fsdp2"
    FSDP1 = "fsdp1"
    DDP = "ddp"
    SINGLE = "single"


class Offload(str, Enum):
    """What lives outside the GPU: nothing, the optimizer states, or parameters as well."""

    NONE = "none"
    OPTIMIZER = "optimizer"
    ALL = "all"


class OffloadTo(str, Enum):
    """Where offloaded state lives."""

    CPU = "cpu"
    NVME = "nvme"


class Precision(str, Enum):
    """Number formats of a step. ``bf16-pure`` keeps parameters, gradients and states in 16 bits, with no master copy."""

    BF16 = "bf16"
    FP16 = "fp16"
    FP32 = "fp32"
    BF16_PURE = "bf16-pure"


class Attention(str, Enum):
    """Attention kernel. ``flash`` is also what torch's sdpa picks on CUDA when no mask is passed.

    ``math`` is torch's sdpa where it has no flash kernel: on cards before compute capability 8.0, and in fp32. Without a mask it
    runs torch's math kernel where heads are grouped, which holds all scores in fp32, and memory-efficient attention elsewhere.
    """

    FLASH = "flash"
    SDPA = "sdpa"
    MATH = "math"
    EAGER = "eager"


class Loss(str, Enum):
    """How the loss head is computed: whole logits, in chunks of tokens, or fused with the head's matmul."""

    STANDARD = "standard"
    CHUNKED = "chunked"
    FUSED = "fused"
    IN_PLACE = "in-place"
    """Whole logits, but a kernel that writes their gradient over them (Triton and flash-attn cross-entropies)."""


class Quantize(str, Enum):
    """Number format of frozen base weights."""

    NF4 = "nf4"
    NF4_DOUBLE = "nf4-dq"
    """nf4 with its constants quantised once more (double quantisation)."""
    INT8 = "int8"


class WeightKind(str, Enum):
    """What a parameter tensor is; engines and adapters treat kinds differently."""

    EMBEDDING = "embedding"
    POSITION = "position"
    LINEAR = "linear"
    """Weight of an ``nn.Linear``, shape (out, in)."""
    CONV1D = "conv1d"
    """Weight of GPT-2's transposed linear layer, shape (in, out)."""
    EXPERTS = "experts"
    """Stacked routed-expert weights, first dimension = number of experts."""
    ROUTER = "router"
    NORM = "norm"
    BIAS = "bias"
    HEAD = "head"
    OTHER = "other"


@dataclass(frozen=True, slots=True, kw_only=True)
class Weight:
    """One parameter tensor."""

    name: str
    """Dotted name as ``named_parameters()`` gives it, relative to its block (or to the model outside of blocks)."""
    shape: tuple[int, ...]
    kind: WeightKind

    @property
    def numel(self) -> int:
        """Number of elements."""
        return prod(self.shape)


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockSpec:
    """One kind of decoder block; a model has one or a few kinds."""

    implementation: str
    """Key of the activation table that describes what this block's code keeps and needs, e.g. ``llama``: the model
    type, ``:`` and the kind of block where a type has several, ``+act=...`` and ``+dropout=...`` where a config departs
    from the type's activation function or dropouts in a way that changes memory."""
    weights: tuple[Weight, ...]
    """In the order of ``named_parameters()``."""
    dims: tuple[tuple[str, int], ...]
    """Sizes that the activation table's symbols stand for, e.g. ``(("h", 4096), ("f", 14336), ("a", 32), ("k", 8))``."""
    sliding_window: int | None = None
    """Attention window in tokens, where the block has one."""

    def __hash__(self) -> int:
        """Cheap on purpose: blocks key caches of activations on the path that prices plans."""
        return hash((self.implementation, self.dims))

    @property
    def numel(self) -> int:
        """Parameters of one such block."""
        return sum(weight.numel for weight in self.weights)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec:
    """Architecture of a decoder-only transformer, down to each parameter tensor."""

    name: str
    source: str
    """Where the architecture was read: a preset's file, a path, a hub id, or ``nearest published shape``."""
    family: str
    """Hugging Face ``model_type``."""
    params: int
    """P as ``sum(p.numel())`` counts it, tied weights once. For ``--params 7B`` what the user said, not the shape's sum."""
    hidden_size: int
    num_layers: int
    num_heads: int
    num_kv_heads: int
    head_dim: int
    ffn_size: int
    """Width of the dense MLP (of one routed expert where every block is MoE)."""
    vocab_size: int
    max_seq_len: int
    """Longest sequence the model's positions support."""
    tied_embeddings: bool
    pre: tuple[Weight, ...]
    """Tensors before the blocks, in order: embeddings, learned positions, embedding norm."""
    block_kinds: tuple[BlockSpec, ...]
    layers: tuple[int, ...]
    """For each layer the index of its kind in ``block_kinds``."""
    post: tuple[Weight, ...]
    """Tensors after the blocks, in order: final norm, head (absent when tied)."""
    trunk: str = "model.layers"
    """Dotted path of the list of blocks in transformers' ``...ForCausalLM``."""
    active_params: int = 0
    """Parameters that take part in one token's forward pass (= params for dense models)."""
    num_experts: int = 0
    experts_per_token: int = 0
    logit_softcap: bool = False
    """The loss head caps logits with tanh (Gemma 2), which keeps more tensors."""
    config_json: str | None = None
    """The ``config.json`` that the spec was read from, as canonical JSON, for running the real model code."""
    notes: tuple[str, ...] = ()
    """What was assumed while reading the architecture, in the user's words."""
    checkpoint_dtype: str = ""
    """Number format of the weights on disk, as the config says; empty where it says nothing."""

    def __hash__(self) -> int:
        """Cheap on purpose: specs key caches on a path that must price tens of thousands of plans a second."""
        return hash((self.name, self.params, self.vocab_size))

    @property
    def shape_params(self) -> int:
        """Parameters of the architecture itself: the sum over its tensors."""
        blocks = sum(self.block_kinds[kind].numel for kind in self.layers)
        return blocks + sum(w.numel for w in self.pre) + sum(w.numel for w in self.post)


@dataclass(frozen=True, slots=True, kw_only=True)
class GpuSpec:
    """One accelerator model."""

    name: str
    title: str
    vendor: str
    memory_bytes: int
    """Total memory as the driver reports it (less than the label)."""
    label_gib: int
    """The number on the box."""
    flops_16bit: float
    """Dense 16-bit (bf16, or fp16 where bf16 is lacking) floating-point operations per second."""
    flops_32bit: float
    """Dense fp32 (TF32 where the card has it is not counted here)."""
    memory_bandwidth: float
    """Bytes per second."""
    link: str
    """What joins cards in a node: ``nvlink``, ``pcie``, ``xgmi``, ``hccs``, ``roce`` or ``none``."""
    link_bandwidth: float
    """Bytes per second in one direction per card over ``link``."""
    pcie_gen: int
    pcie_lanes: int = 16
    lacks: tuple[str, ...] = ()
    """Number formats the card has no hardware for: ``bf16``, ``fp16``, ``tf32``, ``fp8``."""
    flash_attention: bool = True
    """Whether flash attention has kernels for it; NVIDIA's need compute capability 8.0."""
    price_per_hour: float | None = None
    source: str = ""
    checked: str = ""

    def __hash__(self) -> int:
        """By name, for caches: no two cards in one question share it."""
        return hash((self.name, self.memory_bytes))


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeSpec:
    """One machine type: its cards, its memory, its links."""

    name: str
    title: str
    gpu: str
    """Preset name of its card."""
    gpus_per_node: int
    host_memory_bytes: int
    network_bandwidth: float
    """Bytes per second per node to other nodes, in one direction."""
    intra_link: str
    """``nvswitch``, ``nvlink``, ``pcie``, ``xgmi``, ...: how the cards of the node reach one another."""
    intra_bandwidth: float
    """Bytes per second per card in one direction within the node."""
    nvme_bytes: int = 0
    price_per_hour: float | None = None
    source: str = ""
    checked: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """The hardware of one run."""

    gpus: int
    """All of them."""
    nodes: int
    gpu: GpuSpec | None = None
    gpu_capacity_bytes: int | None = None
    """Memory of one card that a process could use, None when unknown."""
    host_capacity_bytes: int | None = None
    """RAM of one node."""
    nvme_capacity_bytes: int | None = None
    """NVMe space of one node."""
    node: NodeSpec | None = None

    @property
    def gpus_per_node(self) -> int:
        """Cards (= ranks) on each node."""
        return self.gpus // self.nodes


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpointing:
    """Activation checkpointing: which blocks keep only their input."""

    kind: str = "none"
    """``none``, ``full``, ``selective`` (attention only), ``selective-op`` (all but attention's and every second matrix
    product's output is computed again) or ``every-k``."""
    every: int = 1
    """With ``every-k``: one block in k is checkpointed."""
    offloaded: bool = False
    """What checkpointed blocks keep waits in host RAM."""
    reentrant: bool = False
    """Torch's older way, around each block (``use_reentrant=True``, transformers' default before version 5): a graph of its own."""

    def __str__(self) -> str:
        """As the command line spells it."""
        return f"every-{self.every}" if self.kind == "every-k" else self.kind


@dataclass(frozen=True, slots=True, kw_only=True)
class DeepSpeedOptions:
    """Keys of ``ds_config.json`` that decide memory, with DeepSpeed 0.19's defaults (``runtime/zero/config.py``)."""

    reduce_bucket_size: int = 500_000_000
    """Elements."""
    allgather_bucket_size: int = 500_000_000
    overlap_comm: bool | None = None
    """None: true for stage 3, false below."""
    contiguous_gradients: bool = True
    round_robin_gradients: bool = False
    sub_group_size: int = 1_000_000_000
    prefetch_bucket_size: int = 50_000_000
    param_persistence_threshold: int = 100_000
    max_live_parameters: int = 1_000_000_000
    max_reuse_distance: int = 1_000_000_000
    memory_efficient_linear: bool = True
    gather_16bit_weights_on_model_save: bool = False
    grad_accum_dtype: str | None = None
    """None: the model's dtype. ``fp32`` otherwise."""
    communication_dtype: str | None = None
    gradient_clipping: float = 0.0
    offload_ratio: float = 1.0
    """``offload_optimizer.ratio``: share of the optimizer states on the CPU (stage 3)."""
    pin_memory: bool = True
    quantized_weights: bool = False
    """qwZ."""
    quantized_gradients: bool = False
    """qgZ."""
    nvme_buffer_count: int = 4
    nvme_param_buffer_count: int = 5
    nvme_param_buffer_size: int = 100_000_000
    nvme_max_in_cpu: int = 1_000_000_000


DEFAULT_DEEPSPEED = DeepSpeedOptions()
"""Shared by all jobs that say nothing else: comparing a value with itself is quick."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lora:
    """Low-rank adapters on frozen weights."""

    rank: int
    targets: tuple[str, ...] = ("all-linear",)
    """Suffixes of module names, or ``all-linear`` (every linear layer but the head, as peft reads it)."""
    dropout: bool = False
    """Each adapter's input goes through dropout of its own."""
    fp32_base: bool = False
    """One process or DDP: the frozen weights are fp32 and cast by autocast. Otherwise they are loaded in 16 bits."""
    own_units: bool = True
    """FSDP1: adapters are units of their own, as peft's wrap policy makes them. Where they share a flat parameter with the
    frozen weights of their block, its gradient covers both."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """How the model is trained."""

    engine: Engine = Engine.DEEPSPEED
    stage: int = 0
    """ZeRO stage 0-3; FSDP: 3 reshards after forward, 2 does not. DDP and single: 0."""
    offload: Offload = Offload.NONE
    offload_to: OffloadTo = OffloadTo.CPU
    precision: Precision = Precision.BF16
    optimizer: str = "adamw"
    micro_batch: int = 1
    """Sequences per GPU and micro-step."""
    seq_len: int = 2048
    grad_accum: int = 1
    checkpointing: Checkpointing = Checkpointing()
    attention: Attention = Attention.FLASH
    loss: Loss = Loss.STANDARD
    compile: bool = False
    lora: Lora | None = None
    quantize: Quantize | None = None
    implementation: str = "transformers"
    """Whose model code runs: ``transformers`` or ``litgpt``."""
    hpz: int = 1
    """ZeRO++ ``zero_hpz_partition_size``; 1 is off."""
    zero_init: bool | None = None
    """None: on for stage 3, off below."""
    rank: int = 0
    """Whose memory is asked for."""
    deepspeed: DeepSpeedOptions = DEFAULT_DEEPSPEED

    def __hash__(self) -> int:
        """Of what sweeps and searches vary: every plan that is priced is hashed, and forty knobs would take most of the time."""
        knobs = self.deepspeed
        return hash(
            (
                self.stage,
                self.micro_batch,
                self.seq_len,
                self.grad_accum,
                self.checkpointing.kind,
                self.checkpointing.every,
                self.rank,
                self.loss is Loss.STANDARD,
                self.loss is Loss.CHUNKED,
                self.offload is Offload.NONE,
                self.engine is Engine.DEEPSPEED,
                knobs.reduce_bucket_size,
                knobs.offload_ratio,
                knobs.overlap_comm,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Beyond:
    """Phases beside the training step, and how they run."""

    phases: tuple[str, ...]
    """``load``, ``eval``, ``save``; in this order."""
    eval_batch: int = 8
    """Sequences per GPU of an evaluation batch (``per_device_eval_batch_size``)."""
    eval_logits: int = 0
    """Batches whose logits are kept on the GPU until they move to the host (``compute_metrics`` with
    ``eval_accumulation_steps``); 0: the loss alone."""
    full_state_dict: bool | None = None
    """The whole model is gathered to be saved; None: as the engine's default says."""
    state_dict_on_gpu: bool = False
    """FSDP: a whole model that is gathered stays on every GPU (``model.state_dict()`` with torch's own defaults)."""
    load_once: bool = False
    """FSDP: one process per node reads the checkpoint (``cpu_ram_efficient_loading``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """One question: this model, on this hardware, run this way."""

    model: ModelSpec
    cluster: ClusterSpec
    job: Job

    @property
    def world_size(self) -> int:
        """N: data-parallel ranks. zplan plans data parallelism, so every GPU is one."""
        return self.cluster.gpus
