"""Estimates for people: several plans side by side, and what every view says first and last.

Renderers get a console and values and never compute; sums come from ``zplan.memory``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zplan.memory.summary import GROUPS, overall_verdict, peak_groups, plan_label, short_label, verdicts
from zplan.memory.verdict import reason
from zplan.render.style import COLUMN_GAP, VERDICT_STYLES, Style, number_column, number_width, plain_table
from zplan.units import Unit, format_capacity, format_count, format_in, format_seconds, format_share

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from zplan.advice.timing import StepTime
    from zplan.memory.moments import Estimate
    from zplan.spec import Plan

_PHASES = {"forward": "fwd", "backward": "bwd"}
"""Short enough for a column of numbers."""
_Row = tuple[str, list[str], str]
"""Label, one cell per plan, style."""


def plan_lines(plan: Plan, style: Style, unit: Unit) -> tuple[str, str]:
    """The question in two lines: model and hardware, and the job.

    Args:
        plan: Any of the plans; they differ in stage and offload alone.
        style: What the console can show.
        unit: Unit of sizes.

    Returns:
        Two lines of facts with dots between them.
    """
    cluster, job = plan.cluster, plan.job
    count = f"{format_count(plan.model.params)} parameters"
    name = count if plan.model.source.startswith("nearest") else f"{plan.model.name} ({count})"
    gpus = f"{cluster.gpus} GPU{'s' if cluster.gpus > 1 else ''}"
    if cluster.nodes > 1:
        gpus += f" on {cluster.nodes} nodes"
    card = cluster.gpu.title if cluster.gpu is not None else ""
    capacity = format_capacity(cluster.gpu_capacity_bytes, unit) if cluster.gpu_capacity_bytes is not None else ""
    each = " each" if cluster.gpus > 1 else ""
    hardware = style.dotted([name, gpus, card, f"{capacity}{each}" if capacity else "memory of a card not given"])
    lora = f"LoRA rank {job.lora.rank}" if job.lora is not None else ""
    quantized = f"{job.quantize.value} weights" if job.quantize is not None else ""
    checkpointing = "" if job.checkpointing.kind == "none" else f"checkpointing {job.checkpointing}"
    batch = f"micro-batch {job.micro_batch} of {job.seq_len} tokens"
    accumulation = f"{job.grad_accum} micro-steps" if job.grad_accum > 1 else ""
    facts = [job.engine.value, job.precision.value, job.optimizer, lora, quantized, batch, accumulation, checkpointing]
    return hardware, style.dotted(facts)


def assumptions_text(assumptions: Sequence[str]) -> Text:
    """Everything that was assumed, as one paragraph."""
    from rich.text import Text

    return Text.assemble(("Assumed: ", "bold"), ("; ".join(assumptions) + ".", "dim"))


def headline(estimates: Sequence[Estimate], style: Style) -> Text:
    """The answer in one sentence: which plans fit."""
    from rich.text import Text

    found = verdicts(estimates)
    groups = (("fits", "Fits", found.fits), ("tight", "Tight", found.tight), ("oom", "Out of memory", found.oom))
    parts = [
        Text(f"{style.glyph(verdict)} {words}: {_enumerate(labels)}.", style=f"bold {VERDICT_STYLES[verdict]}")
        for verdict, words, labels in groups
        if labels
    ]
    if found.unknown:
        words = "No verdict: how much memory a card has was not given (--gpu-mem 80 or --gpu a100-80g)."
        parts.insert(0, Text(words, style="bold"))
    elif not found.fits and not found.tight:
        parts.insert(0, Text("Nothing fits.", style="bold"))
    return Text(" ").join(parts)


def _enumerate(labels: Sequence[str]) -> str:
    """``stage 1, 2 and 3+opt``."""
    stage = "stage " if labels[0][0].isdigit() else ""
    return stage + (", ".join(labels[:-1]) + " and " if len(labels) > 1 else "") + labels[-1]


def _rows(estimates: Sequence[Estimate], style: Style, unit: Unit) -> list[_Row | None]:
    """The table by rows; None is a blank line."""

    def sizes(values: Sequence[int]) -> list[str]:
        return [format_in(value, unit) for value in values]

    states = [estimate.model_states for estimate in estimates]
    groups = [peak_groups(estimate) for estimate in estimates]
    rows: list[_Row | None] = [
        ("model states (ZeRO)", sizes([s.total_bytes for s in states]), "bold"),
        ("  parameters", sizes([s.params_bytes for s in states]), ""),
        ("  gradients", sizes([s.grads_bytes for s in states]), ""),
        ("  optimizer", sizes([s.optimizer_bytes for s in states]), ""),
        None,
        (
            "peak phase",
            [_PHASES.get(estimate.peak_moment.phase, estimate.peak_moment.phase) for estimate in estimates],
            "",
        ),
    ]
    for group in GROUPS:
        values = [by_group[group] for by_group in groups]
        if any(values):
            rows.append((f"  {group}", sizes(values), ""))
    capacity = estimates[0].plan.cluster.gpu_capacity_bytes
    rows += [
        ("allocated peak", sizes([estimate.allocated_peak_bytes for estimate in estimates]), "bold"),
        *_init_row(estimates, unit),
        *_beyond_rows(estimates, unit),
        ("device, expected", sizes([estimate.runtime.device_expected_bytes for estimate in estimates]), "bold"),
        ("  at most", sizes([estimate.runtime.device_high_bytes for estimate in estimates]), ""),
    ]
    if capacity is not None:
        shares = [format_share(estimate.runtime.device_expected_bytes, capacity) for estimate in estimates]
        rows.append((f"  of {format_capacity(capacity, unit)}", shares, ""))
    rows.append(("host RAM per node", sizes([estimate.host.per_node_bytes for estimate in estimates]), ""))
    for index, need in enumerate(estimates[0].beyond):
        rows.append(
            (f"  in {need.phase}", sizes([estimate.beyond[index].host.node_bytes for estimate in estimates]), "")
        )
    if any(estimate.host.nvme_per_node_bytes for estimate in estimates):
        rows.append(("NVMe per node", sizes([estimate.host.nvme_per_node_bytes for estimate in estimates]), ""))
    return rows


def _init_row(estimates: Sequence[Estimate], unit: Unit) -> list[_Row]:
    """The peak before the first step, where it decides about a plan."""
    if not any(estimate.phases["init"] > estimate.allocated_peak_bytes for estimate in estimates):
        return []
    return [("peak of init", [format_in(estimate.phases["init"], unit) for estimate in estimates], "bold")]


def _beyond_rows(estimates: Sequence[Estimate], unit: Unit) -> list[_Row]:
    """Peaks of phases beside the step, where they were asked for."""
    return [
        (f"peak of {need.phase}", [format_in(estimate.phases[need.phase], unit) for estimate in estimates], "")
        for need in estimates[0].beyond
    ]


def _time_rows(times: Sequence[StepTime]) -> list[_Row | None]:
    """Step time and throughput, where the card is known."""
    if not times:
        return []
    return [
        ("seconds per step", [format_seconds(time.step_seconds) for time in times], ""),
        ("tokens/s per GPU", [f"{time.tokens_per_second_per_gpu:,.0f}" for time in times], ""),
    ]


def _widths(rows: Sequence[_Row | None], heads: Sequence[str]) -> list[int]:
    """Width of each plan's column."""
    return [number_width([heads[i], *(row[1][i] for row in rows if row is not None)]) for i in range(len(heads))]


def _chunks(widths: Sequence[int], label_width: int, width: int) -> list[range]:
    """Which plans go side by side, so that no number has to shrink."""
    chunks: list[range] = []
    start, used = 0, label_width
    for index, cells in enumerate(widths):
        if used + COLUMN_GAP + cells > width and index > start:
            chunks.append(range(start, index))
            start, used = index, label_width
        used += COLUMN_GAP + cells
    return [*chunks, range(start, len(widths))]


def _print_legend(console: Console, heads: Sequence[str]) -> None:
    """What the heads of the columns shorten."""
    from rich.text import Text

    legend = {"+opt": "+opt: optimizer states and step on the host", "+all": "+all: parameters too"}
    shown = [words for suffix, words in legend.items() if any(head.endswith(suffix) for head in heads)]
    if shown:
        console.print(Text("; ".join(shown), style="dim"))


def render_comparison(
    console: Console,
    estimates: Sequence[Estimate],
    assumptions: Sequence[str],
    *,
    unit: Unit = Unit.GIB,
    times: Sequence[StepTime | None] = (),
) -> None:
    """Draw several plans of one model on one cluster side by side.

    Args:
        console: Where to draw.
        estimates: At least one.
        assumptions: What was assumed for the user.
        unit: Unit of all sizes.
        times: For each estimate its predicted step time, if any.
    """
    from rich.text import Text

    style = Style.of(console)
    console.print(headline(estimates, style))
    for line in plan_lines(estimates[0].plan, style, unit):
        console.print(Text(line, style="dim"))
    rows = [*_rows(estimates, style, unit), *_time_rows([time for time in times if time is not None])]
    heads = [short_label(estimate.plan.job) for estimate in estimates]
    labels = [style.verdict(overall_verdict(estimate)) for estimate in estimates]
    everything = [*rows, ("verdict", [label.plain for label in labels], "")]
    widths = _widths(everything, heads)
    title = f"{unit.value} per GPU, stage"
    label_width = number_width([title, *(row[0] for row in everything if row is not None)])
    for chunk in _chunks(widths, label_width, console.width):
        table = plain_table()
        table.add_column(title, no_wrap=True, width=label_width)
        for index in chunk:
            number_column(table, heads[index], width=widths[index])
        for row in rows:
            if row is None:
                table.add_row()
            else:
                table.add_row(row[0], *(row[1][index] for index in chunk), style=row[2])
        table.add_row(Text("verdict", style="bold"), *(labels[index] for index in chunk))
        console.print()
        console.print(table)
    _print_legend(console, heads)
    reasons = [(plan_label(e.plan.job), reason(e, unit)) for e in estimates if e.verdict_because]
    if reasons:
        console.print()
        for label, words in reasons:
            console.print(Text(f"{label}: {words}", style="dim"))
    console.print()
    console.print(assumptions_text(assumptions))
