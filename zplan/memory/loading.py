"""The phase ``load``: from a checkpoint on disk to the model that the engine gets.

Source: transformers 5.24 ``modeling_utils.py`` (``_load_pretrained_model``), ``core_model_loading.py``
(``convert_and_load_state_dict_in_model``) and ``integrations/deepspeed.py`` (``_load_state_dict_into_zero3_model``).
"""

from __future__ import annotations

from zplan.memory.moments import Estimate, TermKey
from zplan.memory.needs import BeyondMoment, PhaseNeed
from zplan.memory.params import layout
from zplan.memory.quantized import is_quantized
from zplan.memory.sharding import zero3_partition_numel
from zplan.memory.states import state_sizes
from zplan.memory.weights import checkpoint_element_bytes, largest_module_bytes, whole_model
from zplan.spec import Beyond, Engine, Offload, Plan

LOAD = "load"
_MAPPED = (
    "transformers core_model_loading.py, _materialize_copy; safetensors maps its file: measured with transformers 5.24"
)
_CAST = "transformers core_model_loading.py, _materialize_copy (tensor.to(dtype)): measured with transformers 5.24"
_ZERO3 = "transformers integrations/deepspeed.py, _load_state_dict_into_zero3_model; DeepSpeed partition_parameters.py"
_PACKED = "transformers integrations/bitsandbytes.py; from source, not run"


def loading(estimate: Estimate, beyond: Beyond) -> PhaseNeed:
    """What ``from_pretrained`` on every rank of a node needs, from safetensors files.

    Formula: weights that keep the checkpoint's dtype stay in its memory-mapped file, which all ranks share and the kernel takes
    back when it needs to: 0. A cast makes a copy on every rank: N times the model per node. Inside ``zero.Init`` rank 0 alone
    reads, and each module's weights are whole on the GPU for a moment.

    Args:
        estimate: The plan's estimate.
        beyond: FSDP: whether one process per node reads.
    """
    plan = estimate.plan
    job = plan.job
    if job.engine is Engine.DEEPSPEED and job.stage == 3 and job.zero_init is not False and job.quantize is None:
        return _into_shards(plan)
    gpu = _packed(estimate) if job.quantize is not None else BeyondMoment(LOAD, "nothing on the GPU yet", {}, {})
    size, formula, source = _host(plan)
    ranks = plan.cluster.gpus_per_node
    once = beyond.load_once and job.engine in (Engine.FSDP1, Engine.FSDP2)
    mine = 0 if once and job.rank % ranks else size
    terms = {TermKey.HOST_PARAMS: mine} if mine else {}
    why = {TermKey.HOST_PARAMS: (formula, source)} if mine else {}
    name = "weights cast on the host" if size else "weights in the checkpoint's mapped file"
    host = BeyondMoment(LOAD, name, terms, why, size * (1 if once else ranks))
    return PhaseNeed(LOAD, gpu, host, _notes(plan, size, once))


def _host(plan: Plan) -> tuple[int, str, str]:
    """Bytes of one rank's own copy of the weights, with formula and source."""
    job = plan.job
    groups = layout(plan.model, job.lora)
    adapters = 4 * groups.adapters
    if job.quantize is not None:
        return adapters, "4 bytes per adapter weight; packed weights are made on the GPU", _PACKED
    whole = whole_model(plan)
    each = whole.base_bytes // groups.total
    if each == checkpoint_element_bytes(plan.model):
        return adapters, "weights in the checkpoint's dtype stay in its mapped file: 0; adapters 4 bytes each", _MAPPED
    return whole.base_bytes + adapters, f"{each} P per rank: cast from the checkpoint's dtype", _CAST


def _notes(plan: Plan, size: int, once: bool) -> tuple[str, ...]:
    checkpoint = {4: "fp32", 2: "16 bits"}[checkpoint_element_bytes(plan.model)]
    notes = [f"the checkpoint is safetensors in {checkpoint}, loaded by from_pretrained"]
    if not size:
        notes.append("its mapped pages are the kernel's page cache, not counted")
    if plan.job.engine in (Engine.FSDP1, Engine.FSDP2):
        notes.append(f"{'one process per node reads' if once else 'every process reads'} it (--load-once)")
    return tuple(notes)


def _into_shards(plan: Plan) -> PhaseNeed:
    """Stage 3 inside ``zero.Init``: the shards, and one module's weights whole."""
    job, states = plan.job, state_sizes(plan.job)
    groups = layout(plan.model, job.lora)
    shards = states.param * zero3_partition_numel(groups.total, plan.world_size)
    on_gpu = {} if job.offload is Offload.ALL else {TermKey.PARAMS: shards}
    terms = {**on_gpu, TermKey.GATHERED_PARAMS: largest_module_bytes(plan)}
    why = {
        TermKey.PARAMS: (f"{states.param} P/N", _ZERO3),
        TermKey.GATHERED_PARAMS: (
            f"{states.param} x elements of the largest module's own weights"
            + (", and its partition" if job.offload is Offload.ALL else ""),
            _ZERO3,
        ),
    }
    gpu = BeyondMoment(LOAD, "a module's weights copied in", terms, {key: why[key] for key in terms})
    on_host = {TermKey.HOST_PARAMS: shards} if job.offload is Offload.ALL else {}
    host_why = dict.fromkeys(on_host, (f"{states.param} P/N, offloaded as they are made", _ZERO3))
    host = BeyondMoment(
        LOAD, "weights in rank 0's mapped file", on_host, host_why, sum(on_host.values()) * plan.cluster.gpus_per_node
    )
    return PhaseNeed(LOAD, gpu, host, ("rank 0 alone reads the checkpoint, from a mapped file (zero.Init)",))


def _packed(estimate: Estimate) -> BeyondMoment:
    """Packed weights: bitsandbytes packs on the GPU, weight by weight, from 16 bits."""
    keys = (TermKey.PARAMS, TermKey.QUANTIZED_PARAMS)
    terms = {key: estimate.steady[key] for key in keys if key in estimate.steady}
    groups = layout(estimate.plan.model, estimate.plan.job.lora)
    largest = max((t.numel for kind in groups.kinds for t in kind.tensors if is_quantized(t)), default=0)
    terms[TermKey.GATHERED_PARAMS] = 2 * largest
    why = dict.fromkeys(terms, ("as between two steps", _PACKED))
    why[TermKey.GATHERED_PARAMS] = ("2 x elements of the weight that is being packed", _PACKED)
    return BeyondMoment(LOAD, "a weight being packed", terms, why)
