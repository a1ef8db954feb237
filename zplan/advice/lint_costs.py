"""Rules about bytes and speed: buckets, what stays gathered, pinned memory, gathering at save."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from zplan.advice.lint import COSTS, NOTE, Context, Edit, Finding, Rule
from zplan.inputs.deepspeed import ZERO, auto_values, device, zero_section, zero_value
from zplan.memory.estimate import estimate
from zplan.memory.params import layout
from zplan.spec import DeepSpeedOptions, Offload, Precision
from zplan.units import GIB, MIB, format_size

LARGE_BYTES = GIB
"""A buffer from this size on is worth a word."""
WORTH_BYTES = 64 * MIB
"""A saving below this is noise beside the allocator's own."""


def _bucket(context: Context) -> Iterable[Finding]:
    job, options = context.job, context.job.deepspeed
    if job.stage == 0:
        return ()
    doubled = job.stage < 3 and bool(options.overlap_comm)
    element = 4 if job.precision.value == "fp32" else 2
    size = options.reduce_bucket_size * element * (2 if doubled else 1)
    smaller = auto_values(context.plan.model)["reduce_bucket_size"]
    if size < LARGE_BYTES or smaller >= options.reduce_bucket_size:
        return ()
    path, _ = zero_value(context.config, "reduce_bucket_size")
    twice = ", twice because overlap_comm is on" if doubled else ""
    held = "held from init on" if job.stage == 3 else "held through backward"
    saving = context.saving(reduce_bucket_size=smaller)
    return (
        context.finding(
            "large-bucket",
            COSTS,
            path,
            what=f"the reduce bucket takes {format_size(size)}",
            why=f"{options.reduce_bucket_size:,} elements of {element} bytes{twice}, {held}",
            fix=f'use {smaller}, the square of the model\'s width, as "auto" fills it: less overlap on slow links',
            cost=_at_peak(size, saving, context),
            cost_bytes=saving,
            edits=(Edit(path=path, action="set", value=smaller),),
        ),
    )


def _at_peak(size: int, saving: int, context: Context) -> str:
    """What a buffer costs where it lives, and at the peak of the run."""
    if saving > 0:
        return f"{format_size(saving)} at the peak"
    phase = max(context.estimate.phases, key=lambda name: context.estimate.phases[name])
    return f"{format_size(size)} while it lives, but nothing at the peak, which is in {phase}"


_THIRD = (
    ("stage3_prefetch_bucket_size", "prefetch_bucket_size", "large-prefetch", "fetches that many parameters ahead"),
    (
        "stage3_param_persistence_threshold",
        "param_persistence_threshold",
        "large-persistence",
        "keeps every tensor up to that size whole on every rank",
    ),
    ("stage3_max_live_parameters", "max_live_parameters", "large-max-live", "lets that many parameters stay gathered"),
    (
        "sub_group_size",
        "sub_group_size",
        "large-sub-group",
        "flattens and casts that many gradients at a time in the step",
    ),
)


def _third(context: Context) -> Iterator[Finding]:
    """Stage 3's keys, where the file goes above DeepSpeed's default and that costs memory."""
    if context.job.stage != 3:
        return
    defaults, options = DeepSpeedOptions(), context.job.deepspeed
    for name, field, code, does in _THIRD:
        value, default = getattr(options, field), getattr(defaults, field)
        if value <= default:
            continue
        saving = context.saving(**{field: default})
        if saving < WORTH_BYTES:
            continue
        path, _ = zero_value(context.config, name)
        yield context.finding(
            code,
            COSTS,
            path,
            what=f"{path[-1]} {value:,} costs {format_size(saving)} at the peak",
            why=f"it {does}; DeepSpeed's default is {default:,}",
            fix=f"use the default, {default}",
            cost=f"{format_size(saving)} at the peak",
            cost_bytes=saving,
            edits=(Edit(path=path, action="set", value=default),),
        )


def _contiguous(context: Context) -> Iterable[Finding]:
    job = context.job
    if job.stage not in (1, 2) or job.offload is not Offload.NONE:
        return ()
    path, _ = zero_value(context.config, "contiguous_gradients")
    if job.deepspeed.contiguous_gradients:
        return _contiguous_buffer(context, path)
    saving = context.saving(contiguous_gradients=True)
    if saving <= -WORTH_BYTES and _verdict(context, contiguous_gradients=True) != "fits":
        return ()  # the buffer would have no room
    return (
        context.finding(
            "contiguous-gradients",
            COSTS,
            path,
            what="contiguous_gradients is off",
            why="gradients are then reduced where backward left them, which fragments the allocator's memory",
            fix="take it out: DeepSpeed's default is on",
            cost="fragmentation: more reserved than allocated",
            edits=(Edit(path=path, action="remove"),),
        ),
    )


def _contiguous_buffer(context: Context, path: tuple[str, ...]) -> Iterator[Finding]:
    """What the buffer costs where the run has no room for it. No edit: it trades fragmentation for bytes."""
    saving = 0 if context.estimate.verdict in ("fits", None) else context.saving(contiguous_gradients=False)
    if saving >= WORTH_BYTES:
        yield context.finding(
            "gradient-buffer",
            COSTS,
            path,
            what=f"contiguous_gradients holds {format_size(saving)} at the peak of a run that has no room to spare",
            why="gradients are copied into a buffer of reduce_bucket_size, which is there all through backward",
            fix='make the bucket smaller, or write "contiguous_gradients": false (each gradient is reduced where it is)',
            cost=f"{format_size(saving)} at the peak",
            cost_bytes=saving,
        )


def _verdict(context: Context, **options: object) -> str | None:
    changed = replace(context.job, deepspeed=replace(context.job.deepspeed, **options))  # type: ignore[arg-type]
    return estimate(replace(context.plan, job=changed)).verdict


def _pinned(context: Context) -> Iterator[Finding]:
    cluster, host = context.plan.cluster, context.estimate.host
    if context.job.offload is Offload.NONE or not context.job.deepspeed.pin_memory:
        return
    raw = cluster.gpus_per_node * host.per_rank_bytes
    rounding = host.per_node_bytes - raw
    if rounding <= 0:
        return
    section = "offload_optimizer"
    path = (*ZERO, section, "pin_memory")
    capacity = cluster.host_capacity_bytes
    beyond = capacity is not None and host.per_node_bytes > capacity
    if not beyond and rounding < LARGE_BYTES:
        return
    fits_without = capacity is not None and raw <= capacity
    what = f"pinned memory rounds up by {format_size(rounding)} per node"
    if beyond and capacity is not None:
        what += f", to {format_size(host.per_node_bytes)} of {format_size(capacity)}"
    yield context.finding(
        "pinned-memory",
        COSTS,
        path,
        what=what,
        why="torch's pinned allocator gives every tensor the next power of two (ATen CachingHostAllocator.h)",
        fix='write "pin_memory": false (slower copies), or let torch round less: '
        "PYTORCH_ALLOC_CONF=pinned_max_round_threshold_mb:1",
        cost=f"{format_size(rounding)} of host RAM per node",
        cost_bytes=rounding,
        edits=tuple(_unpinned(context)) if beyond and fits_without else (),
    )


def _unpinned(context: Context) -> Iterator[Edit]:
    for section in ("offload_optimizer", "offload_param"):
        if device(context.config, section) != "none" and section in zero_section(context.config):
            yield Edit(path=(*ZERO, section, "pin_memory"), action="set", value=False)


def _params_alone(context: Context) -> Iterable[Finding]:
    config = context.config
    alone = device(config, "offload_param") != "none" and device(config, "offload_optimizer") == "none"
    if context.job.stage != 3 or not alone:
        return ()
    return (
        context.finding(
            "offload-param-alone",
            COSTS,
            (*ZERO, "offload_param"),
            what="parameters leave the GPU, but the optimizer states stay",
            why="the states are six times as large (12 bytes per parameter to 2) and are needed once a step",
            fix='offload the optimizer first: "offload_optimizer": {"device": "cpu"}',
            cost="PCIe traffic in every micro-step, for a seventh of the memory",
        ),
    )


def _save(context: Context) -> Iterable[Finding]:
    if context.job.stage != 3 or not context.job.deepspeed.gather_16bit_weights_on_model_save:
        return ()
    total = layout(context.plan.model, context.job.lora)
    size = 2 * (total.total + total.adapters)
    return (
        context.finding(
            "gather-at-save",
            NOTE,
            zero_value(context.config, "stage3_gather_16bit_weights_on_model_save")[0],
            what=f"saving gathers the whole model: {format_size(size)} in the host RAM of rank 0",
            why="layers are gathered one after the other and copied to the host (runtime/engine.py)",
            fix="plan the RAM, or save shards and join them with zero_to_fp32.py",
            cost=f"{format_size(size)} of host RAM at save",
        ),
    )


def _full_precision(context: Context) -> Iterable[Finding]:
    """No 16-bit format is on, which is DeepSpeed's default and seldom meant."""
    card = context.plan.cluster.gpu
    autocast = context.config.get(("torch_autocast", "enabled"), False)
    lacks = card.lacks if card is not None else ()
    better = next((name for name in ("bf16", "fp16") if name not in lacks), None)
    if context.asked("precision") is not Precision.FP32 or autocast or better is None:
        return ()
    half = replace(context.plan, job=replace(context.job, precision=Precision(better)))
    saving = max(0, context.peak_bytes - max(estimate(half).phases.values()))
    return (
        context.finding(
            "full-precision",
            COSTS,
            (better,),
            what="neither bf16 nor fp16 is on: parameters and activations are fp32",
            why="DeepSpeed's default is fp32; the Trainer and accelerate turn a format on by their own arguments",
            fix=f'add "{better}": {{"enabled": true}}, unless fp32 is meant',
            cost=f"{format_size(saving)} at the peak, and the tensor cores' speed",
            cost_bytes=saving,
        ),
    )


COST_RULES: tuple[Rule, ...] = (_full_precision, _bucket, _third, _contiguous, _pinned, _params_alone, _save)
"""In no particular order."""
