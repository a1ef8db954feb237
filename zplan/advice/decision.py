"""The decision tree: questions that the numbers answer, from the mildest way to run the job to the last resort.

Habit gives the order (shard before offload, optimizer before parameters, CPU before NVMe); where the predicted times
say otherwise, they decide, and the path says so. Every number is an estimate's or a step time's, none is worked out
here.
"""

from __future__ import annotations

from typing import NamedTuple

from zplan.advice import rates
from zplan.advice.effort import efforts
from zplan.advice.outcome import Outcome, Priced, SearchResult, rank
from zplan.advice.space import Question, Strategy
from zplan.memory.verdict import peak_per_node_bytes
from zplan.spec import ClusterSpec, Offload, OffloadTo
from zplan.units import Unit, format_bytes, format_share


class Step(NamedTuple):
    """One node of the path: what was asked, what the numbers say, and the numbers."""

    question: str
    answer: str
    because: str
    shown: Priced | None = None
    """The plan whose numbers are in ``because``."""
    missing_bytes: int | None = None
    """What is missing, where the answer is no."""


def plan_settings(priced: Priced) -> str:
    """Batch and savers of a plan in words."""
    job = priced.plan.job
    kind = job.checkpointing
    saver = "no checkpointing" if kind.kind == "none" else f"{kind} checkpointing"
    accumulation = f" x {job.grad_accum} micro-steps" if job.grad_accum > 1 else ""
    parts = [f"micro-batch {job.micro_batch}{accumulation}", saver]
    if job.loss.value != "standard":
        parts.append(f"{job.loss.value} loss")
    if job.offload is Offload.OPTIMIZER and job.deepspeed.offload_ratio < 1:
        parts.append(f"{job.deepspeed.offload_ratio:.0%} of the optimizer states offloaded")
    return ", ".join(parts)


def speed_text(priced: Priced) -> str:
    """Predicted speed in words."""
    if priced.time is None:
        return "speed not known"
    return f"{priced.time.tokens_per_second_per_gpu:,.0f} tokens/s per GPU"


def decide(question: Question, result: SearchResult, unit: Unit = Unit.GIB) -> tuple[Step, ...]:
    """The path from the root to the answer.

    Args:
        question: What was asked.
        result: What the search found.
        unit: Unit of sizes in the text.

    Returns:
        The steps in order; the last says what is recommended, or that nothing fits.
    """
    steps = [_one_gpu(question)] if question.base.world_size == 1 and question.pins.stage is None else []
    habit: Outcome | None = None
    for outcome in result.outcomes:
        if outcome.refused is not None:
            if question.base.world_size > 1:
                steps.append(Step(question=_question(outcome.strategy), answer="no", because=outcome.refused))
            continue
        steps.append(_node(question, outcome, unit))
        if outcome.best is not None:
            habit = outcome
            break
    best = result.best
    if habit is None or habit.best is None or best is None:
        steps.append(_nothing(question, result, unit))
        return tuple(steps)
    steps.append(_compare(question, result, habit.best, best, unit))
    steps.append(_settle(result, best, unit))
    return tuple(steps)


def _one_gpu(question: Question) -> Step:
    return Step(
        question="How many GPUs share the work?",
        answer="one",
        because="stages 1 to 3 divide states over GPUs; with one there is nothing to divide, only offload makes room",
    )


_QUESTIONS = {
    (0, Offload.NONE): "Do all states fit on one card, with this batch?",
    (1, Offload.NONE): "Do only the optimizer states overflow, so that sharding them (stage 1) is enough?",
    (2, Offload.NONE): "Is the shortfall within what sharding the gradients too (stage 2) saves?",
    (3, Offload.NONE): "Does it fit with the parameters sharded too (stage 3), and what carries them?",
    (1, Offload.OPTIMIZER): "Is there host RAM for the optimizer states (stage 1 + offload)?",
    (2, Offload.OPTIMIZER): "Is there host RAM for the optimizer states (stage 2 + offload)?",
    (3, Offload.OPTIMIZER): "Is there host RAM for part of the optimizer states (stage 3 + offload)?",
    (2, Offload.ALL): "Is there host RAM for parameters and states, resharding only after backward?",
    (3, Offload.ALL): "Is there host RAM for parameters as well (stage 3 + full offload)?",
}


def _question(strategy: Strategy) -> str:
    if strategy.to is OffloadTo.NVME and strategy.offload is not Offload.NONE:
        what = "parameters and optimizer states" if strategy.offload is Offload.ALL else "the optimizer states"
        return f"Is there NVMe for {what} (stage 3)?"
    if strategy.hpz > 1:
        return f"Does it fit with a second shard of the parameters in each node (stage 3, hpZ {strategy.hpz})?"
    return _QUESTIONS[strategy.stage, strategy.offload]


def links_text(cluster: ClusterSpec) -> str:
    """What collectives run over, with its speed."""
    if cluster.gpus == 1:
        return "no other GPU to talk to"
    if cluster.gpu is None:
        return "links not known without --gpu"
    inside = f"{rates.link_kind(cluster)} at {rates.link_rate(cluster) / 1e9:.0f} GB/s per GPU"
    if cluster.nodes == 1:
        return inside
    assumed = "" if cluster.node is not None else " (assumed, --node names a machine)"
    return f"{inside} within a node, {rates.network_rate(cluster) / 1e9:.0f} GB/s per node between nodes{assumed}"


def _host_text(question: Question, shown: Priced, unit: Unit) -> str:
    """Host RAM that a plan needs, beside what there is."""
    cluster, host = question.base.cluster, shown.memory.host
    need = peak_per_node_bytes(shown.plan.cluster, host)
    if not need:
        return ""
    text = f"{format_bytes(need, unit)} of RAM per node"
    if cluster.host_capacity_bytes is None:
        text += " (not checked: --host-mem was not given)"
    else:
        text += f" of {format_bytes(cluster.host_capacity_bytes, unit)}"
    if host.nvme_per_node_bytes:
        text += f", {format_bytes(host.nvme_per_node_bytes, unit)} of NVMe"
    return text


def _node(question: Question, outcome: Outcome, unit: Unit) -> Step:
    """One strategy: does it fit?"""
    shown = outcome.best or outcome.smallest
    assert shown is not None
    capacity = question.base.cluster.gpu_capacity_bytes or 0
    strategy = outcome.strategy
    extra = [_host_text(question, shown, unit)]
    if strategy.stage == 3 and question.base.world_size > 1 and strategy.offload is Offload.NONE:
        extra.append(f"3P instead of 2P elements per step over {links_text(question.base.cluster)}")
    tail = "".join(f"; {text}" for text in extra if text)
    if outcome.best is not None:
        answer = "yes" if shown.memory.verdict == "fits" else "just"
        limit = format_bytes(capacity, unit)
        need = f"{plan_settings(shown)}: at most {format_bytes(shown.high_bytes, unit)} of {limit}"
        if answer == "just":
            expected = format_bytes(shown.memory.runtime.device_expected_bytes, unit)
            need += f", {expected} expected"
        return Step(question=_question(strategy), answer=answer, because=need + tail, shown=shown)
    return Step(
        question=_question(strategy),
        answer="no",
        because=shortfall(shown, unit) + tail,
        shown=shown,
        missing_bytes=max(0, -shown.headroom_bytes),
    )


def _short_by(shown: Priced) -> float:
    """How many times more a plan needs than there is, of what is shortest: the card, the node's RAM, its NVMe."""
    cluster, host = shown.plan.cluster, shown.memory.host
    needs = (
        (shown.high_bytes, cluster.gpu_capacity_bytes),
        (peak_per_node_bytes(cluster, host), cluster.host_capacity_bytes),
        (host.nvme_per_node_bytes, cluster.nvme_capacity_bytes),
    )
    return max(need / there for need, there in needs if there)


def shortfall(shown: Priced, unit: Unit = Unit.GIB) -> str:
    """Why a plan does not fit, with what is missing."""
    capacity = shown.plan.cluster.gpu_capacity_bytes or 0
    host = shown.memory.host
    nvme = shown.plan.cluster.nvme_capacity_bytes
    room = shown.plan.cluster.host_capacity_bytes
    if shown.high_bytes <= capacity and nvme is not None and host.nvme_per_node_bytes > nvme:
        need, there, what = host.nvme_per_node_bytes, nvme, "NVMe per node"
    elif shown.high_bytes <= capacity and room is not None:
        need, there, what = peak_per_node_bytes(shown.plan.cluster, host), room, "RAM per node"
    else:
        need, there, what = shown.high_bytes, capacity, "per GPU"
    missing = format_bytes(max(0, need - there), unit)
    states = format_bytes(shown.memory.model_states.total_bytes, unit)
    return (
        f"even with {plan_settings(shown)} it needs up to {format_bytes(need, unit)} {what} of "
        f"{format_bytes(there, unit)}, {missing} missing (model states alone {states})"
    )


SAME_SPEED = 0.01
"""Repeated runs differ by as much."""
_ASK_FASTER = "Is another way that fits faster?"


def _compare(question: Question, result: SearchResult, habit: Priced, best: Priced, unit: Unit) -> Step:
    """Habit against the clock."""
    ask = _ASK_FASTER
    base = question.base.job
    name = habit.strategy.label(base)
    if best.time is None or habit.time is None:
        return _compare_effort(question, result, habit)
    others = sorted(
        (o.best for o in result.outcomes if o.best is not None and o.best.strategy != best.strategy),
        key=lambda one: rank(one.plan, one.time, one.strategy),
    )
    if best.strategy == habit.strategy:
        if not others:
            return Step(question=ask, answer="no", because=f"nothing but {name} fits", shown=best)
        second = others[0]
        because = f"{name} {speed_text(best)}, next {second.strategy.label(base)} with {speed_text(second)}"
        return Step(question=ask, answer="no", because=because, shown=best)
    because = (
        f"habit says {name}, but the times say {best.strategy.label(base)}: {speed_text(best)} with "
        f"{plan_settings(best)}, against {speed_text(habit)} with {plan_settings(habit)}; "
        f"{_waits(best)}, {_waits(habit)}"
    )
    if best.time.tokens_per_second_per_gpu < habit.time.tokens_per_second_per_gpu * (1 + SAME_SPEED):
        because += f"; as good as equal, so take {name} (--stage, --offload) where the other is any trouble"
    return Step(question=ask, answer=f"yes, {best.strategy.label(base)}", because=because, shown=best)


def _compare_effort(question: Question, result: SearchResult, habit: Priced) -> Step:
    """Habit against the other ways where no card is named: by what is sent, copied and computed again for the same tokens."""
    base = question.base.job
    others = [o.best for o in result.outcomes if o.best is not None and o.best.strategy != habit.strategy]
    rivals = [one for one in others if not _does_less(habit, one)]
    shown = [habit, *(rivals or others)[:3]]
    sequences, found = efforts([one.plan for one in shown])
    told = [f"{one.strategy.label(base)} {effort.text()}" for one, effort in zip(shown, found, strict=True)]
    words = f"per step of {sequences} sequence{'s' if sequences > 1 else ''} per GPU {'; '.join(told)}"
    name = habit.strategy.label(base)
    if not others:
        because = f"nothing but {name} fits; tokens per second need a card (--gpu)"
    elif not rivals:
        because = f"none does less, whatever the card: {words}. Tokens per second need a card (--gpu)"
    else:
        because = f"{words}; which is faster only a card tells (--gpu), so the order of habit decides for {name}"
    return Step(question=_ASK_FASTER, answer="depends on the card" if rivals else "no", because=because, shown=habit)


def _does_less(one: Priced, other: Priced) -> bool:
    """Whether ``one`` is at least as fast as ``other`` on any card."""
    mine, its = efforts([one.plan, other.plan])[1]
    return mine.no_more_than(its)


def _waits(priced: Priced) -> str:
    """What share of the step goes into links and the host."""
    assert priced.time is not None
    parts, whole = priced.time.parts, priced.time.step_seconds
    shares = [
        f"{parts[key] / whole:.0%} {title}"
        for key, title in (
            ("collectives", "collectives"),
            ("host_copies", "host copies"),
            ("cpu_optimizer", "CPU optimizer"),
            ("nvme", "NVMe"),
            ("launch", "launches"),
        )
        if parts[key] / whole >= 0.005
    ]
    stage = f"stage {priced.plan.job.stage}"
    return f"{stage} waits for {', '.join(shares)}" if shares else f"{stage} waits for nothing"


def _settle(result: SearchResult, best: Priced, unit: Unit) -> Step:
    """The rest of the knobs."""
    capacity = best.plan.cluster.gpu_capacity_bytes or 0
    used = best.memory.runtime.device_expected_bytes
    because = (
        f"the {'fastest' if best.time is not None else 'first'} of {result.plans_decided:,} plans that fits: "
        f"{format_bytes(used, unit)} expected, {format_bytes(best.high_bytes, unit)} at most, "
        f"{format_share(used, capacity)} of {format_bytes(capacity, unit)}"
    )
    if best.time is not None:
        because += f"; {speed_text(best)}, bound by {best.time.bound_by}"
        if best.plan.cluster.nodes > 1:
            because += f"; {_waits(best)} over {links_text(best.plan.cluster)}"
    return Step(question="How are the other knobs set?", answer=plan_settings(best), because=because, shown=best)


def _nothing(question: Question, result: SearchResult, unit: Unit) -> Step:
    closest = [o.smallest for o in result.outcomes if o.smallest is not None]
    if not closest:
        return Step(question="Does anything fit?", answer="no", because="no way to run it is open")
    nearest = min(closest, key=_short_by)
    tail = _host_text(question, nearest, unit)
    because = f"closest is {nearest.strategy.label(question.base.job)}: {shortfall(nearest, unit)}"
    because += f"; {tail}" if tail else ""
    missing = max(0, -nearest.headroom_bytes)
    return Step(question="Does anything fit?", answer="no", because=because, shown=nearest, missing_bytes=missing)
