"""Levers: one change to a plan, what it saves, what it costs. And, where nothing fits, the shortest ways out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from zplan.advice.search import Priced, fits, verdict
from zplan.advice.space import (
    CPU_OPTIMIZERS,
    Question,
    checkpointings,
    micro_batches,
    options,
    strategies,
)
from zplan.advice.space import refusal as cannot_run
from zplan.advice.timing import step_time
from zplan.errors import ZplanError
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.spec import Checkpointing, ClusterSpec, Engine, Lora, Loss, Offload, Plan, Precision, Quantize

LORA_RANK = 16
SEQ_STEP = 256
MOST_GPUS = 8192


@dataclass(frozen=True, slots=True, kw_only=True)
class Lever:
    """One change."""

    name: str
    change: str
    """In words, starting with a verb."""
    flags: str
    """What to add to or change in the command."""
    plan: Plan | None
    """The plan after the change; None where it is not a single plan."""
    saves_bytes: int
    """Less at the high bound, per GPU; negative where it costs memory."""
    needs_bytes: int
    """The high bound per GPU after the change."""
    fits: bool
    slower: float | None = None
    """Step time per token after the change over before, None when not known."""


def levers(plan: Plan, before: Estimate | None = None) -> tuple[Lever, ...]:
    """Single changes that save memory, the largest saving first.

    Args:
        plan: The plan to change.
        before: Its estimate, if there is one already.

    Returns:
        Changes that save something, each priced.
    """
    start = before if before is not None else estimate(plan)
    time = step_time(plan)
    found = []
    for name, change, flags, changed in _changes(plan):
        try:
            memory = estimate(changed)
        except ZplanError:
            continue  # a combination that the estimate has no formula for is no advice
        after = step_time(changed)
        slower = None
        if time is not None and after is not None:
            slower = time.tokens_per_second_per_gpu / after.tokens_per_second_per_gpu
        saves = start.runtime.device_high_bytes - memory.runtime.device_high_bytes
        if saves > 0:
            found.append(
                Lever(
                    name=name,
                    change=change,
                    flags=flags,
                    plan=changed,
                    saves_bytes=saves,
                    needs_bytes=memory.runtime.device_high_bytes,
                    fits=verdict(memory) == "fits",
                    slower=slower,
                )
            )
    return tuple(sorted(found, key=lambda lever: -lever.saves_bytes))


_Change = tuple[str, str, str, Plan]


def _changes(plan: Plan) -> Iterator[_Change]:
    """Every single change that makes sense for this plan."""
    job = plan.job
    if job.checkpointing.kind != "full":
        saver = Checkpointing(kind="full")
        changed = replace(job, checkpointing=saver)
        yield "checkpointing", "recompute all blocks", "--checkpointing full", replace(plan, job=changed)
    if job.micro_batch > 1:
        micro = job.micro_batch // 2
        accum = job.grad_accum * 2 if job.micro_batch % 2 == 0 else job.grad_accum
        changed = replace(job, micro_batch=micro, grad_accum=accum)
        flags = f"--micro-batch {micro} --grad-accum {accum}"
        yield "micro_batch", f"micro-batch {micro} instead of {job.micro_batch}", flags, replace(plan, job=changed)
    if job.seq_len > SEQ_STEP:
        length = job.seq_len // 2
        changed = replace(job, seq_len=length)
        yield "seq_len", f"sequences of {length} tokens", f"--seq-len {length}", replace(plan, job=changed)
    if job.loss is Loss.STANDARD:
        changed = replace(job, loss=Loss.FUSED)
        yield "loss", "compute the loss without whole logits", "--loss fused", replace(plan, job=changed)
    yield from _state_changes(plan)
    yield from _sharding_changes(plan)


def _state_changes(plan: Plan) -> Iterator[_Change]:
    job = plan.job
    if job.optimizer in CPU_OPTIMIZERS and job.offload is Offload.NONE:
        changed = replace(job, optimizer="adamw_8bit")
        yield "optimizer_8bit", "8-bit optimizer states", "--optimizer adamw_8bit", replace(plan, job=changed)
    if job.lora is None:
        changed = replace(job, lora=Lora(rank=LORA_RANK))
        flags = f"--lora {LORA_RANK}"
        yield "lora", f"train adapters of rank {LORA_RANK} only", flags, replace(plan, job=changed)
    if job.quantize is None:
        changed = replace(job, lora=job.lora or Lora(rank=LORA_RANK), quantize=Quantize.NF4)
        flags = f"--lora {changed.lora.rank if changed.lora else LORA_RANK} --quantize nf4"
        yield "qlora", "adapters on 4-bit weights", flags, replace(plan, job=changed)


def _sharding_changes(plan: Plan) -> Iterator[_Change]:
    job, ranks = plan.job, plan.world_size
    if job.engine is Engine.DEEPSPEED:
        if job.stage < 3 and ranks > 1:
            changed = replace(job, stage=job.stage + 1)
            yield "stage", f"shard more (stage {changed.stage})", f"--stage {changed.stage}", replace(plan, job=changed)
        if job.offload is Offload.NONE and job.optimizer in CPU_OPTIMIZERS:
            changed = replace(job, stage=max(2, job.stage), offload=Offload.OPTIMIZER)
            flags = f"--stage {changed.stage} --offload optimizer"
            yield "offload_optimizer", "optimizer states to host RAM", flags, replace(plan, job=changed)
        if job.offload is not Offload.ALL and job.optimizer in CPU_OPTIMIZERS:
            changed = replace(job, stage=3, offload=Offload.ALL)
            flags = "--stage 3 --offload all"
            yield "offload_all", "optimizer states and parameters to host RAM", flags, replace(plan, job=changed)
    larger = more_gpus(plan.cluster, ranks * 2)
    if larger is not None and ranks > 1 and job.stage > 0:
        flags = f"--gpus {larger.gpus}"
        yield "gpus", f"{larger.gpus} GPUs instead of {ranks}", flags, replace(plan, cluster=larger)


def more_gpus(cluster: ClusterSpec, gpus: int) -> ClusterSpec | None:
    """The same machines with another number of GPUs in all, None when that makes no whole nodes."""
    size = cluster.node.gpus_per_node if cluster.node is not None else max(8, cluster.gpus_per_node)
    if gpus <= size:
        return replace(cluster, gpus=gpus, nodes=1)
    if gpus % size:
        return None
    return replace(cluster, gpus=gpus, nodes=gpus // size)


def leanest(question: Question) -> list[Priced]:
    """Of each strategy the plan that needs least: smallest batch, most recomputation, leanest loss and buckets."""
    found = []
    pair = micro_batches(question)[0]
    for strategy in strategies(question):
        if cannot_run(question, strategy) is not None:
            continue
        saver = checkpointings(question)[-1]
        base = question.base
        for job in reversed(list(options(question, strategy))):
            plan = replace(base, job=replace(job, checkpointing=saver, micro_batch=pair[0], grad_accum=pair[1]))
            try:
                memory = estimate(plan)
            except ZplanError:
                continue  # a loss kernel or a format without a table: the next leanest
            found.append(Priced(plan, memory, step_time(plan), strategy))
            break
    return found


def something_fits(question: Question) -> Priced | None:
    """The mildest strategy's leanest plan that fits with its high bound; None where nothing does."""
    fitting = [one for one in _leanest_or_none(question) if fits(one.memory)]
    return min(fitting, key=lambda one: one.strategy.ladder) if fitting else None


@dataclass(frozen=True, slots=True, kw_only=True)
class WayOut:
    """One way to make the job run where nothing fits."""

    name: str
    change: str
    flags: str
    fits: Priced | None
    """A plan that runs after the change; None when the change alone is not enough."""
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
    return tuple(sorted(found, key=lambda way: way.fits is None))


def _try(name: str, change: str, flags: str, changed: Question) -> WayOut | None:
    fitting = something_fits(changed)
    if fitting is not None:
        return WayOut(name=name, change=change, flags=flags, fits=fitting)
    left = _leanest_or_none(changed)
    if not left:
        return None
    # What fits into host RAM comes closer than what needs less on the GPU, but more there than the node has.
    least = min(left, key=lambda one: (one.memory.host.verdict == "oom", one.high_bytes))
    return WayOut(name=name, change=change, flags=flags, fits=None, needs_bytes=least.high_bytes)


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
        yield None if way is None else replace(way, value=length)
    if job.optimizer in CPU_OPTIMIZERS:
        changed = replace(question, base=replace(base, job=replace(job, optimizer="adamw_8bit")))
        yield _try("optimizer_8bit", "8-bit optimizer states", "--optimizer adamw_8bit", changed)
    if job.precision in (Precision.BF16, Precision.FP32):
        changed = replace(question, base=replace(base, job=replace(job, precision=Precision.BF16_PURE)))
        yield _try("bf16_pure", "16-bit states without a master copy", "--precision bf16-pure", changed)
    if job.lora is None:
        lora = replace(job, lora=Lora(rank=LORA_RANK))
        changed = replace(question, base=replace(base, job=lora))
        yield _try("lora", f"adapters of rank {LORA_RANK} only", f"--lora {LORA_RANK}", changed)
    if job.quantize is None:
        qlora = replace(job, lora=job.lora or Lora(rank=LORA_RANK), quantize=Quantize.NF4)
        changed = replace(question, base=replace(base, job=qlora))
        yield _try("qlora", "adapters on 4-bit weights", f"--lora {LORA_RANK} --quantize nf4", changed)


def _bought(question: Question) -> Iterator[WayOut | None]:
    """Host RAM, cards, GPUs."""
    base = question.base
    cluster = base.cluster
    if cluster.host_capacity_bytes is not None:
        roomy = replace(question, base=replace(base, cluster=replace(cluster, host_capacity_bytes=None)))
        fitting = [one for one in _leanest_or_none(roomy) if fits(one.memory)]
        if fitting:
            least = min(fitting, key=lambda one: one.memory.host.per_node_bytes)
            need = host_need(least)
            yield WayOut(
                name="host_mem",
                change=f"{-(-need // 2**30):,} GiB of RAM per node",
                flags=f"--host-mem {-(-need // 2**30)}GiB",
                fits=least,
                value=need,
            )
    larger = replace(question, base=replace(base, cluster=replace(cluster, gpu_capacity_bytes=2**60)))
    possible = [one for one in _leanest_or_none(larger) if fits(one.memory)]
    if possible:
        least = min(possible, key=lambda one: one.high_bytes)
        gib = -(-least.high_bytes // 2**30)
        yield WayOut(
            name="gpu_mem",
            change=f"cards with {gib} GiB",
            flags=f"--gpu-mem {gib}GiB",
            fits=least,
            value=least.high_bytes,
        )
    count = fewest_gpus(question, above=cluster.gpus)
    if count is not None:
        gpus, fitting_plan = count
        flags = f"--gpus {gpus}"
        yield WayOut(name="gpus", change=f"{gpus} GPUs", flags=flags, fits=fitting_plan, value=gpus)


def _leanest_or_none(question: Question) -> list[Priced]:
    try:
        return leanest(question)
    except ZplanError:
        return []


def host_need(priced: Priced) -> int:
    """RAM of one node that a plan needs at its peak, pinned rounding included."""
    host = priced.memory.host
    rounding = host.per_node_bytes - priced.plan.cluster.gpus_per_node * host.per_rank_bytes
    return priced.plan.cluster.gpus_per_node * max(host.peak_per_rank_bytes, host.per_rank_bytes) + rounding


def gpu_counts(cluster: ClusterSpec, above: int = 0, most: int = MOST_GPUS) -> Iterator[ClusterSpec]:
    """Clusters of the same machines with more than ``above`` GPUs: 1, 2, 4, 8, then whole nodes, by doubling."""
    gpus = 1
    while gpus <= most:
        if gpus > above:
            larger = more_gpus(cluster, gpus)
            if larger is not None:
                yield larger
        gpus *= 2


def fewest_gpus(question: Question, above: int = 0, most: int = MOST_GPUS) -> tuple[int, Priced] | None:
    """The smallest number of GPUs on which something fits.

    Tries 1, 2, 4, 8 and whole nodes by doubling, then the whole nodes between the last two.

    Returns:
        The number and a plan that fits, None when nothing fits on ``most``.
    """
    last = above
    for cluster in gpu_counts(question.base.cluster, above, most):
        fitting = something_fits(_on(question, cluster))
        if fitting is None:
            last = cluster.gpus
            continue
        size = cluster.gpus_per_node
        low, high, answer = last, cluster.gpus, fitting
        while cluster.nodes > 1 and high - low > size:
            middle = (low + high) // 2 // size * size
            between = more_gpus(cluster, middle)
            found = None if between is None or middle <= low else something_fits(_on(question, between))
            if middle <= low:
                break
            low, high, answer = (low, middle, found) if found is not None else (middle, high, answer)
        return high, answer
    return None


def _on(question: Question, cluster: ClusterSpec) -> Question:
    return replace(question, base=replace(question.base, cluster=cluster))


def longest_sequence(question: Question, most: int) -> int | None:
    """The longest sequence, in steps of 256 tokens and at most ``most``, with which something fits; None below 256."""

    def good(length: int) -> bool:
        job = replace(question.base.job, seq_len=length)
        return something_fits(replace(question, base=replace(question.base, job=job))) is not None

    low, high = 0, most // SEQ_STEP
    if high and good(high * SEQ_STEP):
        return most if high * SEQ_STEP == most or good(most) else high * SEQ_STEP
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if good(middle * SEQ_STEP) else (low, middle)
    return low * SEQ_STEP or None
