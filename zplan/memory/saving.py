"""The phase ``save``: the model collected to be written, then the optimizer states, as transformers' Trainer saves a checkpoint.

Source: transformers 5.24 ``trainer.py`` (``save_model``, ``_save_checkpoint``); accelerate 1.15 ``accelerator.py``
(``get_state_dict``) and ``utils/fsdp_utils.py``; DeepSpeed 0.19 ``runtime/engine.py``
(``_zero3_consolidated_16bit_state_dict``, ``save_checkpoint``); torch 2.13 ``distributed/_state_dict_utils.py`` and
``distributed/fsdp/_state_dict_utils.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from zplan.memory.engines.units import Units, make_units
from zplan.memory.moments import Estimate, TermKey
from zplan.memory.needs import BeyondMoment, PhaseNeed
from zplan.memory.optimizers import OptimizerSpec, optimizer_spec, state_bytes
from zplan.memory.params import layout
from zplan.memory.sharding import fsdp2_padded_shard_numel, zero3_partition_numel
from zplan.memory.states import state_sizes
from zplan.memory.terms import about_state
from zplan.memory.weights import WholeModel, largest_module_bytes, whole_model
from zplan.spec import Beyond, Engine, Job, Offload, Plan
from zplan.units import format_size

SAVE = "save"
SHARD_FILE_BYTES = 50 * 10**9
"""Weights per file (``max_shard_size`` of ``save_pretrained``)."""
_CLONE = "accelerate accelerator.py, get_state_dict; DeepSpeed checkpoint/utils.py, clone_tensors_for_torch_save"
_ZERO3 = "DeepSpeed runtime/engine.py, _zero3_consolidated_16bit_state_dict"
_FSDP2 = "torch distributed/_state_dict_utils.py, _gather_state_dict"
_FSDP1 = "torch distributed/fsdp/_state_dict_utils.py and _unshard_param_utils.py; from source, not run"
_SAFETENSORS = (
    "safetensors torch.py, _to_ndarray: the tensors of one file are on the host at once; from source, not run"
)
_TORCH_SAVE = "torch serialization.py, _save: one storage after the other; from source, not run"
_ON_GPU = {
    Engine.FSDP1: "torch distributed/fsdp/_state_dict_utils.py, _full_post_state_dict_hook: every parameter is cloned, on the "
    "GPU unless offload_to_cpu; from source, not run",
    Engine.FSDP2: "torch distributed/_state_dict_utils.py, _gather_state_dict without cpu_offload; from source, not run",
}
_DCP = "torch distributed/checkpoint/filesystem.py: one tensor after the other; from source, not run"


class _Held(NamedTuple):
    """Bytes of one term while something is saved."""

    name: str
    key: str
    size: int
    formula: str
    source: str
    everywhere: bool = True
    """On every rank, or on rank 0 alone."""


NOTHING = _Held("saving", TermKey.GATHERED_PARAMS, 0, "", "")


def full_by_default(job: Job) -> bool:
    """Whether the whole model is collected where nobody says otherwise.

    Stage 3 does what ``stage3_gather_16bit_weights_on_model_save`` says; FSDP has accelerate's and the Trainer's default,
    ``FULL_STATE_DICT``.
    """
    stage3 = job.engine is Engine.DEEPSPEED and job.stage == 3
    return job.deepspeed.gather_16bit_weights_on_model_save if stage3 else True


def saving(estimate: Estimate, beyond: Beyond, host_node_bytes: int) -> PhaseNeed:
    """What writing a checkpoint needs.

    Args:
        estimate: The plan's estimate.
        beyond: Whether the whole model is collected.
        host_node_bytes: RAM of a node between steps, with rounding.
    """
    plan = estimate.plan
    full = full_by_default(plan.job) if beyond.full_state_dict is None else beyond.full_state_dict
    kept = beyond.state_dict_on_gpu and full and plan.job.engine in _ON_GPU
    on_gpu, on_host = _kept(plan) if kept else _candidates(plan, full)
    gpu = _gpu(estimate, max(on_gpu, key=lambda held: held.size))
    most = max(on_host, key=lambda held: held.size * _copies(plan, held))
    mine = max(on_host, key=lambda held: held.size if held.everywhere or plan.job.rank == 0 else 0)
    host = _host(estimate, mine, most, host_node_bytes)
    if not kept:
        return PhaseNeed(SAVE, gpu, host, _notes(plan.job, full))
    least = max(held.size for held in _candidates(plan, False)[0])
    less = format_size(max(held.size for held in on_gpu) - least)
    note = f"saving: the whole model left on every GPU (--state-dict full-gpu); --state-dict sharded takes {less} less there"
    return PhaseNeed(SAVE, gpu, host, (note,))


def _notes(job: Job, full: bool) -> tuple[str, ...]:
    if job.engine in (Engine.DDP, Engine.SINGLE) or (job.engine is Engine.DEEPSPEED and job.stage < 3):
        return ()
    kind = "the whole model collected on rank 0" if full else "every rank writes its shard"
    return (f"saving: {kind} (--state-dict)",)


def _candidates(plan: Plan, full: bool) -> tuple[list[_Held], list[_Held]]:
    job, whole = plan.job, whole_model(plan)
    optimizer = optimizer_spec(job.optimizer)
    if job.engine is Engine.DEEPSPEED:
        if job.stage == 3:
            return _zero3(plan, whole, optimizer, full)
        return [NOTHING], [_clone(whole), *_written(plan, optimizer)]
    if job.engine in (Engine.FSDP1, Engine.FSDP2):
        return _fsdp(plan, whole, optimizer, full)
    return [NOTHING], [_one_file(job, whole), *_written(plan, optimizer)]


def _clone(whole: WholeModel) -> _Held:
    """Below stage 3 every rank clones every entry of the state dict to the host, tied weights under both their names."""
    formula = "2 P on every rank, tied weights twice" if whole.tied_bytes else "2 P on every rank"
    size = whole.total_bytes + whole.tied_bytes
    return _Held("state dict cloned on every rank", TermKey.HOST_STATE_DICT, size, formula, _CLONE)


def _one_file(job: Job, whole: WholeModel) -> _Held:
    """Without shards rank 0 alone writes, file by file; of a peft model the adapters alone."""
    size = min(whole.total_bytes, max(SHARD_FILE_BYTES, whole.largest_bytes))
    if job.lora is not None:
        size = whole.adapter_bytes
    formula = "weights of one file, at most 50 GB" if job.lora is None else "adapters alone"
    return _Held("weights on their way to a file", TermKey.HOST_STATE_DICT, size, formula, _SAFETENSORS, False)


def _zero3(plan: Plan, whole: WholeModel, optimizer: OptimizerSpec, full: bool) -> tuple[list[_Held], list[_Held]]:
    """Stage 3: module by module on the GPU, all of it on rank 0's host; of a peft model the adapters alone."""
    written = _written(plan, optimizer)
    if not full and plan.job.lora is None:
        return [NOTHING], written
    module = _Held(
        "a module gathered for the state dict",
        TermKey.GATHERED_PARAMS,
        largest_module_bytes(plan),
        "2 x elements of the largest module's own weights, gathered whole"
        + (", and of its partition" if plan.job.offload is Offload.ALL else ""),
        _ZERO3,
    )
    size = whole.total_bytes if plan.job.lora is None else whole.adapter_bytes
    formula = "2 P on rank 0" if plan.job.lora is None else "4 bytes per adapter weight on rank 0"
    state = _Held("state dict collected on rank 0", TermKey.HOST_STATE_DICT, size, formula, _ZERO3, False)
    return [module], [state, *written]


def _fsdp(plan: Plan, whole: WholeModel, optimizer: OptimizerSpec, full: bool) -> tuple[list[_Held], list[_Held]]:
    job, states = plan.job, state_sizes(plan.job)
    units = make_units(layout(plan.model, job.lora), job, plan.world_size, job.rank)
    unit = max(states.param * one.whole for one in (units.root, *units.kinds)) if plan.world_size > 1 else 0
    if job.engine is Engine.FSDP1:
        held = unit if full else unit + states.param * units.root.whole
        formula = (
            f"{states.param} x elements of the largest unit, whole"
            if full
            else f"{states.param} x elements of the root and of a block, whole: sharded entries are cut from whole ones"
        )
        gpu = _Held("a unit made whole for the state dict", TermKey.GATHERED_PARAMS, held, formula, _FSDP1)
    else:
        tensor = _padded_tensor(plan) if full else 0
        formula = f"{states.param} x elements of the largest tensor, whole"
        gpu = _Held("a tensor made whole for the state dict", TermKey.GATHERED_PARAMS, tensor, formula, _FSDP2)
    if not full:
        size = _largest_shard(plan, units)
        state = _Held(
            "a shard on its way to a file", TermKey.HOST_STATE_DICT, size, "the largest shard of a tensor", _DCP
        )
        return [gpu], [state]
    source = _FSDP1 if job.engine is Engine.FSDP1 else _FSDP2
    extra = states.param * units.root.whole if job.engine is Engine.FSDP1 else 0
    size = whole.total_bytes + whole.tied_bytes + extra
    formula = f"{states.param} P on rank 0" + (", tied weights twice" if whole.tied_bytes else "")
    if extra:
        formula += ", and the root unit once more"
    moments = state_bytes(optimizer, layout(plan.model, job.lora).trainable, states.optimized)
    optim = _Held(
        "optimizer states collected on rank 0",
        TermKey.HOST_STATE_DICT,
        moments,
        "optimizer states of all ranks",
        f"accelerate utils/fsdp_utils.py, save_fsdp_optimizer; {source}",
        False,
    )
    return [gpu], [
        _Held("state dict collected on rank 0", TermKey.HOST_STATE_DICT, size, formula, source, False),
        optim,
    ]


def _kept(plan: Plan) -> tuple[list[_Held], list[_Held]]:
    """FSDP's own default: the whole model is gathered tensor by tensor, and every rank keeps it on its GPU.

    Formula: P elements of the parameters' type, a tied head once more (each name is cloned), and FSDP1's unit that is whole
    meanwhile; then rank 0 writes it, file by file.
    """
    job, whole = plan.job, whole_model(plan)
    (gathered,), _ = _fsdp(plan, whole, optimizer_spec(job.optimizer), True)
    each = whole.total_bytes + (whole.tied_bytes if job.engine is Engine.FSDP1 else 0)
    formula = f"{state_sizes(job).param} P on every rank"
    if job.engine is Engine.FSDP1:
        formula += ", tied weights twice" if whole.tied_bytes else ""
        each, formula = each + gathered.size, f"{formula}, and the largest unit"
    source = _ON_GPU[job.engine]
    held = _Held("the whole state dict on every GPU", TermKey.GATHERED_PARAMS, each, formula, source)
    return [held], [_one_file(job, whole), *_written(plan, optimizer_spec(job.optimizer))]


def _padded_tensor(plan: Plan) -> int:
    """Bytes of the largest tensor that FSDP2 makes whole; on one rank there is nothing to gather."""
    if plan.world_size == 1:
        return 0
    ranks, groups, states = plan.world_size, layout(plan.model, plan.job.lora), state_sizes(plan.job)
    pieces = (groups.stem, *groups.kinds, groups.head)
    return states.param * ranks * max(fsdp2_padded_shard_numel(t.shape, ranks) for p in pieces for t in p.tensors)


def _largest_shard(plan: Plan, units: Units) -> int:
    if plan.job.offload is not Offload.NONE:
        return 0
    states = state_sizes(plan.job)
    groups = layout(plan.model, plan.job.lora)
    return states.param * zero3_partition_numel(groups.largest, units.ranks)


def _written(plan: Plan, optimizer: OptimizerSpec) -> list[_Held]:
    """Optimizer states on their way from the GPU to a file: one storage at a time."""
    job, states = plan.job, state_sizes(plan.job)
    if job.offload is not Offload.NONE:
        return [_Held("optimizer states written", TermKey.HOST_STATE_DICT, 0, "they are on the host", _TORCH_SAVE)]
    groups = layout(plan.model, job.lora)
    if job.engine is Engine.DEEPSPEED:
        from zplan.memory.engines.zero3 import shards
        from zplan.memory.engines.zero12_reduce import partition

        if job.stage == 3:
            numel, what = max(shards(groups, job.deepspeed, plan.world_size).sub_groups), "the largest sub-group"
        elif job.stage:
            numel, what = partition(groups, plan.world_size, job.rank).numel, "the partition"
        else:
            # FusedAdam's wrapper flattens everything; any other optimizer's states are tensor by tensor.
            fused = job.optimizer == "adamw"
            numel = groups.trainable if fused else groups.largest_trainable
            what = "all weights" if fused else "the largest tensor"
        return [
            _Held(
                "optimizer states written",
                TermKey.HOST_STATE_DICT,
                states.optimized * numel,
                f"{states.optimized} x elements of {what}: one flat storage at a time",
                f"DeepSpeed runtime/engine.py, _save_zero_checkpoint; {_TORCH_SAVE}",
                bool(job.stage),
            )
        ]
    size = states.optimized * groups.largest_trainable
    formula = f"{states.optimized} x elements of the largest tensor"
    return [_Held("optimizer states written", TermKey.HOST_STATE_DICT, size, formula, _TORCH_SAVE, False)]


def _gpu(estimate: Estimate, held: _Held) -> BeyondMoment:
    terms = dict(estimate.steady)
    if estimate.plan.job.engine is Engine.DEEPSPEED and estimate.plan.job.stage == 3 and held.size:
        # Everything is partitioned first, persistent tensors too (``checkpoint_event_prologue``).
        terms.pop(TermKey.PERSISTENT_PARAMS, None)
    if estimate.plan.job.engine is Engine.FSDP1 and held.size:
        # Reading a state dict resets the flat gradients that zero_grad() left (``_reset_flat_param_grad_info_if_needed``).
        terms.pop(TermKey.GRADS, None)
    why = {key: about_state(estimate, key) for key in terms}
    return BeyondMoment(SAVE, held.name, *_with(terms, why, held))


def _with(
    terms: dict[str, int], why: dict[str, tuple[str, str]], held: _Held
) -> tuple[Mapping[str, int], Mapping[str, tuple[str, str]]]:
    if held.size:
        terms[held.key] = terms.get(held.key, 0) + held.size
        why[held.key] = (held.formula, held.source)
    return terms, why


def _copies(plan: Plan, held: _Held) -> int:
    return plan.cluster.gpus_per_node if held.everywhere else 1


def _host(estimate: Estimate, mine: _Held, most: _Held, node_bytes: int) -> BeyondMoment:
    """This rank's largest moment, and the largest of a whole node, which may be another."""
    plan = estimate.plan
    shown = mine if mine.everywhere or plan.job.rank == 0 else NOTHING
    terms = dict(estimate.host.terms)
    why = {key: about_state(estimate, key) for key in terms}
    name = shown.name if most is mine else f"{shown.name}; on a node {most.name}"
    return BeyondMoment(SAVE, name, *_with(terms, why, shown), node_bytes + most.size * _copies(plan, most))
