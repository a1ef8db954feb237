"""What follows from a job whatever its batch shape is: one object per distinct job, so that it is a cheap cache key."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import lru_cache
from operator import attrgetter

from zplan.memory.activations.base import ComputeMode
from zplan.memory.attention import asked
from zplan.memory.engines.base import StateBytes
from zplan.memory.optimizers import OptimizerSpec, optimizer_spec
from zplan.memory.params import keeps_fp32_adapters
from zplan.memory.states import state_sizes
from zplan.spec import Engine, Job, Loss, Precision


@dataclass(frozen=True, slots=True, eq=False)
class CodeFacts:
    """What decides which code runs on the model's pieces; jobs that differ in engine, stage or offload may share it."""

    job: Job
    """Any job with these facts."""
    mode: ComputeMode
    """How weights meet activations."""
    grad_bytes: int
    """Element size of a weight gradient as autograd hands it over."""
    wide_adapters: bool
    """Adapters are fp32 on a 16-bit base without autocast, as under stage 3: each casts its input and keeps the copy."""
    own_linear: bool
    """Stage 3 replaces ``F.linear`` by its own (``memory_efficient_linear``), which keeps its input even where the weight is
    frozen. It hands over the gradient of a tied head as a tensor of its own, to which autograd can add the embedding's in place;
    torch's hands over a view, beside which their sum is made (``input_buffer.cpp``)."""
    casts_inputs: bool = False
    """FSDP2's mixed precision casts what each block is called with (``MixedPrecisionPolicy.cast_forward_inputs``)."""
    leaves_inputs: bool = False
    """Recomputed blocks leave their input and its gradient behind until backward ends (see :func:`_leaves_inputs`)."""


@dataclass(frozen=True, slots=True, eq=False)
class JobFacts:
    """What follows from a job whatever its batch shape is; one object per distinct job, so that it is a cheap cache key."""

    job: Job
    """The job with micro-batch, sequence and rank set to neutral values."""
    engine: Job
    """What an engine sees of it: which code runs on the pieces is left out as well."""
    states: StateBytes
    optimizer: OptimizerSpec
    code: CodeFacts


_BATCH = {"micro_batch", "seq_len", "rank", "grad_accum"}
_STATIC = attrgetter(*(one.name for one in fields(Job) if one.name not in _BATCH))
_MOST = 16384
_FOUND: dict[tuple[int, ...], tuple[JobFacts, object]] = {}
"""Facts by what a job is made of (identity; the parts are kept with them): a sweep's jobs share all but their batch."""


def job_facts(job: Job) -> JobFacts:
    """The facts of a job; equal but for the batch shape means the same object."""
    parts = _STATIC(job)
    # More than three micro-steps are like three: the first, the last and all others differ.
    steps = 1 if job.grad_accum == 1 else min(job.grad_accum, 3)
    key = (steps, *map(id, parts))
    known = _FOUND.get(key)
    if known is None:
        if len(_FOUND) >= _MOST:
            _FOUND.clear()
        known = _static_facts(replace(job, micro_batch=1, seq_len=1, rank=0, grad_accum=steps)), parts
        _FOUND[key] = known
    return known[0]


_PLAIN = Job()


@lru_cache(maxsize=8192)
def _static_facts(job: Job) -> JobFacts:
    states = state_sizes(job)
    code = Job(
        checkpointing=job.checkpointing,
        attention=asked(job),
        loss=job.loss,
        compile=job.compile,
        lora=job.lora,
        quantize=job.quantize,
        implementation=job.implementation,
    )
    stage3 = job.engine is Engine.DEEPSPEED and job.stage == 3
    wide = stage3 and keeps_fp32_adapters(job) and states.compute is ComputeMode.CAST
    # Stage 3 gathers the head anew for each chunk of a loss in parts.
    heads = Loss.CHUNKED if stage3 and job.loss is Loss.CHUNKED else Loss.STANDARD
    engine = replace(job, checkpointing=_PLAIN.checkpointing, attention=_PLAIN.attention, loss=heads, compile=False)
    casts = job.engine is Engine.FSDP2 and job.precision in (Precision.BF16, Precision.FP16)
    own_linear = stage3 and job.deepspeed.memory_efficient_linear
    mode = ComputeMode.WIDE if wide and own_linear and job.quantize is None else states.compute
    wide = wide and mode is not ComputeMode.WIDE
    facts = _code_facts(code, mode, wide, own_linear, casts, _leaves_inputs(job))
    return JobFacts(job, engine, states, optimizer_spec(job.optimizer), facts)


@lru_cache(maxsize=1024)
def _code_facts(
    job: Job, mode: ComputeMode, wide_adapters: bool, own_linear: bool, casts_inputs: bool, leaves_inputs: bool
) -> CodeFacts:
    each = 2 if mode in (ComputeMode.CAST, ComputeMode.MIXED) else 4
    return CodeFacts(job, mode, each, wide_adapters, own_linear, casts_inputs, leaves_inputs)


@lru_cache(maxsize=1024)
def with_loss(facts: CodeFacts, loss: Loss) -> CodeFacts:
    """The same code with another loss head."""
    if facts.job.loss is loss:
        return facts
    job = replace(facts.job, loss=loss)
    own, casts, leaves = facts.own_linear, facts.casts_inputs, facts.leaves_inputs
    return _code_facts(job, facts.mode, facts.wide_adapters, own, casts, leaves)


def _leaves_inputs(job: Job) -> bool:
    """Whether recomputed blocks leave their inputs and their gradients behind: FSDP1, frozen units, reentrant checkpoints.

    A unit whose flat parameter is frozen waits for the gradients of its inputs with a hook that lives until the end of backward.
    Inside a reentrant checkpoint these inputs are leaves, and the hook holds them through their gradient accumulators.
    Source: torch ``distributed/fsdp/_runtime_utils.py`` (``_register_post_backward_reshard_only_hook``, removed in
    ``_finalize_params``), ``autograd/graph.py`` (``register_multi_grad_hook``), ``utils/checkpoint.py`` (``detach_variable``).
    """
    frozen_units = job.engine is Engine.FSDP1 and job.lora is not None and job.lora.own_units
    return frozen_units and job.checkpointing.reentrant
