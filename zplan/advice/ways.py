"""Where nothing fits: the shortest ways out, each with its number, cheapest first."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

from zplan.advice.levers import LORA_RANK
from zplan.advice.outcome import Priced, at_least_tight, fits
from zplan.advice.reach import fewest_gpus, leanest_or_none, longest_sequence, something_fits
from zplan.advice.space import CPU_OPTIMIZERS, Question
from zplan.memory.attention import runs
from zplan.memory.verdict import peak_per_node_bytes
from zplan.spec import Attention, Engine, Job, Lora, Loss, Offload, Precision, Quantize
from zplan.units import GIB


class WayOut(NamedTuple):
    """One way to make the job run where nothing fits."""

    name: str
    change: str
    flags: str
    fits: Priced | None
    """A plan that runs after the change; None when the change alone is not surely enough."""
    tight: Priced | None = None
    """A plan that runs after it by its expected value, where none surely does."""
    needs_bytes: int | None = None
    """Where the change is not enough: the high bound per GPU that is left."""
    value: int | None = None
    """The number that the change turns on: GPUs, bytes, tokens."""


def ways_out(question: Question) -> tuple[WayOut, ...]:
    """The shortest ways out for a question that nothing answers, cheapest first.

    First what costs a flag, then what changes the training, then what has to be bought. Ways that are not enough alone
    come last, with what would still be needed.
    """
    found = [way for way in (*_free(question), *_different(question), *_bought(question)) if way is not None]
    return tuple(sorted(found, key=lambda way: (way.fits is None, way.tight is None)))


def _try(name: str, change: str, flags: str, changed: Question) -> WayOut | None:
    fitting = something_fits(changed)
    if fitting is not None:
        return WayOut(name=name, change=change, flags=flags, fits=fitting)
    left = leanest_or_none(changed)
    if not left:
        return None
    # What fits into host RAM comes closer than what needs less on the GPU, but more there than the node has.
    least = min(left, key=lambda one: (one.memory.host.verdict == "oom", one.high_bytes))
    likely = [one for one in left if at_least_tight(one.memory)]
    tight = min(likely, key=lambda one: one.strategy.ladder) if likely else None
    return WayOut(
        name=name, change=change, flags=flags, fits=None, tight=tight, needs_bytes=(tight or least).high_bytes
    )


def _alone(name: str, change: str, flags: str, changed: Question) -> WayOut | None:
    """A change that is worth a word only where it is enough by itself."""
    fitting = something_fits(changed)
    return None if fitting is None else WayOut(name=name, change=change, flags=flags, fits=fitting)


def _offloads(one: Priced) -> bool:
    return one.plan.job.offload is not Offload.NONE


def _free(question: Question) -> Iterator[WayOut | None]:
    """Flags that the user pinned, and that stand in the way."""
    pins, base = question.pins, question.base
    if pins.checkpointing is not None and pins.checkpointing.kind != "full":
        changed = replace(question, pins=replace(pins, checkpointing=None))
        yield _try("checkpointing", "recompute activations", "--checkpointing full", changed)
    if pins.micro_batch is not None and pins.micro_batch > 1:
        changed = replace(question, pins=replace(pins, micro_batch=None, grad_accum=None))
        yield _try("micro_batch", "a smaller micro-batch", "without --micro-batch", changed)
    if pins.loss is Loss.STANDARD:
        changed = replace(question, pins=replace(pins, loss=None))
        yield _try("loss", "a fused loss", "--loss fused", changed)
    if pins.stage is not None or pins.offload is not None:
        changed = replace(question, pins=replace(pins, stage=None, offload=None, offload_to=None))
        yield _try("stage", "another stage or offload", "without --stage and --offload", changed)
    if pins.buckets and base.job.engine is Engine.DEEPSPEED:
        changed = replace(question, pins=replace(pins, buckets=False))
        yield _alone("bucket", "smaller buckets", '"reduce_bucket_size": "auto" in ds_config.json', changed)
    if base.cluster.host_capacity_bytes is not None and base.job.deepspeed.pin_memory:
        options = replace(base.job.deepspeed, pin_memory=False)
        changed = replace(question, base=replace(base, job=replace(base.job, deepspeed=options)))
        way = _alone("pin_memory", "host memory that is not pinned", '"pin_memory": false in ds_config.json', changed)
        yield way if way is not None and way.fits is not None and _offloads(way.fits) else None
    if base.job.engine in (Engine.DDP, Engine.SINGLE):
        job = replace(base.job, engine=Engine.DEEPSPEED)
        changed = replace(question, base=replace(base, job=job))
        yield _try("engine", "an engine that shards and offloads", "--engine deepspeed", changed)


def _different(question: Question) -> Iterator[WayOut | None]:
    """Changes to what is trained."""
    base = question.base
    job = base.job
    length = longest_sequence(question, job.seq_len)
    if length is not None and length < job.seq_len:
        changed = replace(question, base=replace(base, job=replace(job, seq_len=length)))
        way = _try("seq_len", f"sequences of at most {length:,} tokens", f"--seq-len {length}", changed)
        yield None if way is None else way._replace(value=length)
    yield from _smaller_states(question)
    if job.lora is None:
        lora = replace(job, lora=Lora(rank=LORA_RANK))
        changed = replace(question, base=replace(base, job=lora))
        yield _try("lora", f"adapters of rank {LORA_RANK} only", f"--lora {LORA_RANK}", changed)
    if job.quantize is None:
        qlora = replace(job, lora=job.lora or Lora(rank=LORA_RANK), quantize=Quantize.NF4)
        changed = replace(question, base=replace(base, job=qlora))
        yield _try("qlora", "adapters on 4-bit weights", f"--lora {LORA_RANK} --quantize nf4", changed)


def _smaller_states(question: Question) -> Iterator[WayOut | None]:
    """Number formats of the states: each alone, and both where neither is enough."""
    base = question.base
    job = base.job
    found: list[WayOut | None] = []
    if job.optimizer in CPU_OPTIMIZERS:
        changed = replace(question, base=replace(base, job=replace(job, optimizer="adamw_8bit")))
        found.append(_try("optimizer_8bit", "8-bit optimizer states", "--optimizer adamw_8bit", changed))
    card = base.cluster.gpu
    pure = _at_precision(question, Precision.BF16_PURE)
    if job.precision in (Precision.BF16, Precision.FP32) and (card is None or "bf16" not in card.lacks):
        changed = replace(question, base=replace(base, job=pure))
        found.append(_try("bf16_pure", "16-bit states without a master copy", "--precision bf16-pure", changed))
    yield from found
    if len(found) == 2 and all(way is not None and way.fits is None for way in found):
        both = replace(pure, optimizer="paged_adamw_8bit")
        flags = "--precision bf16-pure --optimizer paged_adamw_8bit"
        changed = replace(question, base=replace(base, job=both))
        yield _try("bf16_pure_paged", "no master copy, and 8-bit states paged to host RAM", flags, changed)


def _at_precision(question: Question, precision: Precision) -> Job:
    """The job with other number formats, and with the attention that then runs unless another was named."""
    base, named = question.base, question.pins.attention
    job = replace(base.job, precision=precision)
    if base.job.attention is not runs(named, base.job.precision, base.model, base.cluster):
        return job
    return replace(job, attention=runs(named, precision, base.model, base.cluster))


def _bought(question: Question) -> Iterator[WayOut | None]:
    """Host RAM, cards, GPUs."""
    base = question.base
    cluster = base.cluster
    if cluster.host_capacity_bytes is not None:
        roomy = replace(question, base=replace(base, cluster=replace(cluster, host_capacity_bytes=None)))
        fitting = [one for one in leanest_or_none(roomy) if fits(one.memory)]
        if fitting:
            least = min(fitting, key=host_need)
            need = host_need(least)
            yield WayOut(
                name="host_mem",
                change=f"{-(-need // 2**30):,} GiB of RAM per node",
                flags=f"--host-mem {-(-need // 2**30)}GiB",
                fits=least,
                value=need,
            )
    yield from _larger_cards(question)
    alone = base.job.engine in (Engine.DDP, Engine.SINGLE)  # more of what holds everything on each card is no help
    sharded = (
        replace(question, base=replace(base, job=replace(base.job, engine=Engine.DEEPSPEED))) if alone else question
    )
    count = fewest_gpus(sharded, above=cluster.gpus)
    if count is not None:
        gpus, fitting_plan = count
        flags = f"--gpus {gpus}" + (" --engine deepspeed" if alone else "")
        yield WayOut(name="gpus", change=f"{gpus} GPUs", flags=flags, fits=fitting_plan, value=gpus)


def _larger_cards(question: Question) -> Iterator[WayOut | None]:
    """Cards with more memory; where the one at hand has no flash attention, such that have it, if these may be smaller."""
    base, pins = question.base, question.pins
    larger = _larger(question, "gpu_mem", "", "")
    if base.cluster.gpu is not None and not base.cluster.gpu.flash_attention and pins.attention is not Attention.EAGER:
        typed = pins.attention if pins.attention is Attention.SDPA else None
        flash = runs(typed, base.job.precision, base.model, replace(base.cluster, gpu=None))
        instead = "instead of --gpu" if typed is pins.attention else "instead of --gpu and --attention"
        changed = replace(question, base=replace(base, job=replace(base.job, attention=flash)))
        way = _larger(changed, "flash_attention", " and flash attention", instead, least=0)
        if way is not None and (larger is None or (way.value or 0) < (larger.value or 0)):
            yield way
    yield larger


def _larger(question: Question, name: str, also: str, instead: str, least: int | None = None) -> WayOut | None:
    """Cards of any size: the smallest, in whole GiB, that something fits on; ``least``: a size that is too small."""
    cluster = question.base.cluster

    def fitting(gib: int) -> Priced | None:
        larger = replace(cluster, gpu_capacity_bytes=gib * GIB)
        possible = leanest_or_none(replace(question, base=replace(question.base, cluster=larger)))
        return min((one for one in possible if fits(one.memory)), key=lambda one: one.high_bytes, default=None)

    # What surely is enough for the leanest plan there: what is outside the allocator grows with the card.
    found = fitting(2**30)
    if found is None:
        return None
    low, high = (cluster.gpu_capacity_bytes or 0) // GIB if least is None else least, -(-found.high_bytes // GIB)
    found = fitting(high) or found
    while high - low > 1:
        middle = (low + high) // 2
        smaller = fitting(middle)
        low, high, found = (middle, high, found) if smaller is None else (low, middle, smaller)
    flags = f"--gpu-mem {high}GiB {instead}".strip()
    return WayOut(name=name, change=f"cards with {high} GiB{also}", flags=flags, fits=found, value=found.high_bytes)


def host_need(priced: Priced) -> int:
    """RAM of one node that a plan needs at its peak, pinned rounding included."""
    return peak_per_node_bytes(priced.plan.cluster, priced.memory.host)
