"""A recommendation for people and for programs: verdict, path, plan, alternatives, what to run next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zplan.advice.decision import plan_settings, speed_text
from zplan.memory.explain import explain_term
from zplan.memory.summary import free_bytes
from zplan.render.jsonout import SCHEMA_VERSION, cluster_object, model_object, plan_object
from zplan.render.style import VERDICT_STYLES, Style, narrow, number_column, plain_table
from zplan.render.text import assumptions_text, plan_lines
from zplan.units import Unit, format_bytes, format_in

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from zplan.advice.outcome import Priced
    from zplan.advice.recommend import Recommendation
    from zplan.advice.ways import WayOut

_ALTERNATIVES = 6


def _plan(priced: Priced) -> dict[str, Any]:
    """One plan of the contract, with the knobs that only a search sets."""
    moment = priced.memory.peak_moment
    keys = sorted(moment.terms, key=lambda key: -moment.terms[key])
    terms = [explain_term(priced.memory, moment, key) for key in keys]
    job = priced.plan.job
    value = plan_object(priced.memory, terms, priced.time)
    value["loss"] = job.loss.value
    value["hpz"] = job.hpz
    value["reduce_bucket_size"] = job.deepspeed.reduce_bucket_size
    value["overlap_comm"] = job.deepspeed.overlap_comm
    value["offload_ratio"] = job.deepspeed.offload_ratio
    value["headroom_bytes"] = priced.headroom_bytes
    value["gpu_type"] = priced.plan.cluster.gpu.name if priced.plan.cluster.gpu is not None else None
    return value


def _ways(ways: Sequence[WayOut]) -> dict[str, Any]:
    """``if_nothing_fits``: one key per number that is asked for most, and every way in order."""
    value = {way.name: way.value for way in ways if way.fits is not None}
    fitting = {way.name for way in ways if way.fits is not None}
    return {
        "min_gpus": value.get("gpus"),
        "min_gpu_mem_bytes": value.get("gpu_mem"),
        "min_host_mem_bytes": value.get("host_mem"),
        "max_seq_len": value.get("seq_len"),
        "lora_fits": "lora" in fitting,
        "qlora_fits": "qlora" in fitting,
        "optimizer_8bit_fits": "optimizer_8bit" in fitting,
        "ways": [
            {
                "name": way.name,
                "change": way.change,
                "flags": way.flags,
                "fits": way.fits is not None,
                "tight": way.tight is not None,
                "value": way.value,
                "needs_bytes": way.fits.high_bytes if way.fits is not None else way.needs_bytes,
            }
            for way in ways
        ],
    }


def recommendation_object(
    found: Recommendation, assumptions: Sequence[str], config: Mapping[str, Any]
) -> dict[str, Any]:
    """The whole answer of ``zplan recommend --json``.

    Args:
        found: The recommendation.
        assumptions: What was assumed for the user.
        config: The ``config`` key: format and content of the plan's config, empty where there is none.

    Returns:
        The object of the contract.
    """
    base = found.question.base
    return {
        "schema_version": SCHEMA_VERSION,
        "model": model_object(base.model, base.job.lora),
        "cluster": cluster_object(base.cluster),
        "assumptions": list(assumptions),
        "goal": {"name": found.goal.value, "answer": found.target.answer or None, "value": found.target.value},
        "decision": [
            {
                "question": step.question,
                "answer": step.answer,
                "because": step.because,
                "missing_bytes": step.missing_bytes,
            }
            for step in found.decision
        ],
        "recommended": None if found.recommended is None else _plan(found.recommended),
        "alternatives": [_plan(one) for one in found.alternatives],
        "rejected": [{"plan": _plan(one.plan), "reason": one.reason} for one in found.rejected],
        "if_nothing_fits": _ways(found.if_nothing_fits) if found.recommended is None else {},
        "search": {
            "plans_decided": found.target.result.plans_decided,
            "plans_priced": found.target.result.plans_priced,
        },
        "config": dict(config),
    }


def _headline(found: Recommendation, style: Style, unit: Unit) -> Text:
    from rich.text import Text

    best = found.recommended
    base = found.question.base
    if best is None:
        return Text(f"{style.glyph('oom')} NOTHING FITS", style=f"bold {VERDICT_STYLES['oom']}")
    verdict = best.memory.verdict
    capacity = base.cluster.gpu_capacity_bytes or 0
    memory = f"{format_bytes(best.memory.runtime.device_expected_bytes, unit)} of {format_bytes(capacity, unit)}"
    words = "RUN" if verdict == "fits" else "TIGHT"
    label = best.strategy.label(best.plan.job)
    line = style.dotted([label, plan_settings(best), memory, speed_text(best)])
    return Text(f"{style.glyph(verdict)} {words}  {line}", style=f"bold {VERDICT_STYLES[verdict]}")


def _path(console: Console, found: Recommendation) -> None:
    """Question, answer, numbers: one paragraph per node."""
    from rich.padding import Padding
    from rich.text import Text

    console.print()
    console.print(Text("How we got there", style="bold"))
    for number, step in enumerate(found.decision, 1):
        good = step.answer == "no" and step.missing_bytes is not None
        colour = "red" if good else "green"
        console.print(Text.assemble(f"{number}. {step.question} ", (step.answer, f"bold {colour}")))
        console.print(Padding(Text(step.because, style="dim"), (0, 0, 0, 3)))


def _table(console: Console, found: Recommendation, style: Style, unit: Unit) -> None:
    """The recommended plan and its alternatives, side by side in rows; one below the other where there is no room."""
    from rich.padding import Padding
    from rich.text import Text

    best = found.recommended
    if best is None:
        return
    rows = [best, *found.alternatives[:_ALTERNATIVES]]
    cards = len({one.plan.cluster.gpu.name if one.plan.cluster.gpu else "" for one in rows}) > 1
    table = plain_table()
    table.add_column("plan", overflow="fold")
    number_column(table, unit.value, width=9)
    number_column(table, "headroom", width=9)
    number_column(table, "tokens/s", width=9)
    table.add_column("waits for", no_wrap=True)
    console.print()
    for index, one in enumerate(rows):
        label = one.strategy.label(one.plan.job)
        if cards and one.plan.cluster.gpu is not None:
            label = f"{one.plan.cluster.gpu.name}: {label}"
        speed = f"{one.time.tokens_per_second_per_gpu:,.0f}" if one.time is not None else "?"
        free = free_bytes(one.memory) or 0
        sign = "-" if free < 0 else ""
        memory, headroom = format_in(one.memory.runtime.device_expected_bytes, unit), sign + format_in(abs(free), unit)
        waits = one.time.bound_by if one.time is not None else "?"
        name, look = f"{label}, {plan_settings(one)}", "bold" if index == 0 else ""
        if narrow(console):
            console.print(Text(name, style=look))
            words = f"{memory} {unit.value}, headroom {headroom}, {speed} tokens/s, waits for {waits}"
            console.print(Padding(Text(words), (0, 0, 0, 2)))
        else:
            table.add_row(Text(name), memory, headroom, speed, waits, style=look)
    if not narrow(console):
        console.print(table)


def _outs(console: Console, found: Recommendation, style: Style, unit: Unit) -> None:
    """Ways out, cheapest first."""
    from rich.text import Text

    if not found.if_nothing_fits:
        return
    console.print()
    console.print(Text("Ways out, cheapest first", style="bold"))
    for way in found.if_nothing_fits:
        if way.fits is not None:
            need = (
                f"runs: {way.fits.strategy.label(way.fits.plan.job)}, up to {format_bytes(way.fits.high_bytes, unit)}"
            )
        elif way.tight is not None:
            expected = format_bytes(way.tight.memory.runtime.device_expected_bytes, unit)
            label = way.tight.strategy.label(way.tight.plan.job)
            need = f"runs tightly: {label}, {expected} expected, up to {format_bytes(way.needs_bytes or 0, unit)}"
        else:
            need = f"not enough alone: still up to {format_bytes(way.needs_bytes or 0, unit)} per GPU"
        glyph = style.glyph("fits" if way.fits is not None else "tight" if way.tight is not None else "oom")
        console.print(Text(f"{glyph} {way.change} ({way.flags}): {need}"))


def render_recommendation(
    console: Console,
    found: Recommendation,
    assumptions: Sequence[str],
    commands: Sequence[str],
    *,
    unit: Unit = Unit.GIB,
) -> None:
    """Draw a recommendation.

    Args:
        console: Where to draw.
        found: The recommendation.
        assumptions: What was assumed for the user.
        commands: What to run next.
        unit: Unit of all sizes.
    """
    from rich.text import Text

    style = Style.of(console)
    console.print(_headline(found, style, unit))
    if found.target.answer:
        console.print(Text(f"{found.target.answer[:1].upper()}{found.target.answer[1:]}.", style="bold"))
    shown = found.recommended.plan if found.recommended is not None else found.question.base
    for line in plan_lines(shown, style, unit):
        console.print(Text(line, style="dim"))
    _path(console, found)
    _table(console, found, style, unit)
    _outs(console, found, style, unit)
    if commands:
        console.print()
        console.print(Text("Next", style="bold"))
        for command in commands:
            console.print(Text(f"  {command}"), soft_wrap=True)
    console.print()
    console.print(assumptions_text(assumptions))
