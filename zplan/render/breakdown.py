"""One plan in full: a bar per term against the card, the phases, the device and the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from zplan.memory.moments import BEYOND, PHASES
from zplan.memory.summary import device_base_bytes, free_bytes, overall_verdict, plan_label, term_title
from zplan.memory.verdict import host_need, reason, short_of_host_ram
from zplan.render.style import COLUMN_GAP, VERDICT_STYLES, Style, fit, narrow, number_column, plain_table
from zplan.render.text import assumptions_text, plan_lines
from zplan.units import Unit, format_bytes, format_capacity, format_in, format_seconds

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from zplan.advice.timing import StepTime
    from zplan.memory.moments import Estimate

_LABEL_WIDTH = 30
_NUMBER_WIDTH = 9


def plan_headline(estimate: Estimate, style: Style, unit: Unit) -> Text:
    """The answer in one line: verdict, plan, expected use of the card."""
    from rich.text import Text

    verdict, capacity, free = overall_verdict(estimate), estimate.plan.cluster.gpu_capacity_bytes, free_bytes(estimate)
    expected = format_bytes(estimate.runtime.device_expected_bytes, unit)
    label = plan_label(estimate.plan.job)
    if short_of_host_ram(estimate):
        needed, ram = host_need(estimate)
        card = f" of {format_capacity(capacity, unit)}" if capacity is not None else ""
        host = f"host {format_bytes(needed, unit)} of {format_capacity(ram, unit)} per node"
        line = style.dotted([label, f"GPU {expected}{card}", host])
        return Text(f"{style.glyph('oom')} OUT OF MEMORY  {line}", style=f"bold {VERDICT_STYLES['oom']}")
    if capacity is None or free is None:
        return Text(
            f"{style.glyph(None)} {label} needs {expected} per GPU (no verdict without --gpu or --gpu-mem)",
            style="bold",
        )
    room = f"{format_bytes(free, unit)} free" if free >= 0 else f"{format_bytes(-free, unit)} too much"
    words = {"fits": "FITS", "tight": "TIGHT", "oom": "OUT OF MEMORY", None: ""}[verdict]
    line = style.dotted([label, f"{expected} of {format_capacity(capacity, unit)}", room])
    return Text(f"{style.glyph(verdict)} {words}  {line}", style=f"bold {VERDICT_STYLES[verdict]}")


def _bars(console: Console, estimate: Estimate, style: Style, unit: Unit) -> None:
    """Terms of the peak moment, then what stands between allocated and device."""
    from rich.text import Text

    runtime, moment = estimate.runtime, estimate.peak_moment
    capacity = estimate.plan.cluster.gpu_capacity_bytes
    limit = capacity or runtime.device_high_bytes
    cells = max(10, min(60, console.width - _LABEL_WIDTH - _NUMBER_WIDTH - 2 * COLUMN_GAP))
    table = plain_table()
    table.add_column(f"at the peak ({moment.phase})", no_wrap=True, min_width=_LABEL_WIDTH)
    number_column(table, unit.value, width=_NUMBER_WIDTH)
    bars = not narrow(console)
    if bars:
        table.add_column(
            f"of {format_capacity(limit, unit)}" if capacity else "of the high bound", no_wrap=True, width=cells
        )

    def row(label: str, size: int, *, mark: str = "") -> None:
        bar = [style.bar(size, limit, cells)] if bars else []
        table.add_row(Text(label), format_in(size, unit), *bar, style=mark)

    for key, size in sorted(moment.terms.items(), key=lambda item: -item[1]):
        row(term_title(key), size)
    row("allocated peak", estimate.allocated_peak_bytes, mark="bold")
    base = device_base_bytes(estimate)
    if base > estimate.allocated_peak_bytes:
        row("+ more in init or another rank", base - estimate.allocated_peak_bytes)
    for key, (_, expected, _) in runtime.terms.items():
        row(f"+ {term_title(key)}", expected)
    row("device, expected", runtime.device_expected_bytes, mark=f"bold {VERDICT_STYLES[estimate.verdict]}")
    console.print()
    console.print(fit(console, table))
    if moment.name:
        console.print(Text(f"The peak is at: {moment.name}.", style="dim"))


def _phases(console: Console, estimate: Estimate, unit: Unit) -> None:
    table = plain_table()
    table.add_column("phase", no_wrap=True, min_width=_LABEL_WIDTH)
    number_column(table, f"peak {unit.value}", width=_NUMBER_WIDTH)
    for phase in (*PHASES, *BEYOND):
        if phase in estimate.phases:
            peak = phase == estimate.peak_moment.phase
            table.add_row(phase, format_in(estimate.phases[phase], unit), style="bold" if peak else "")
    table.add_row("steady (between steps)", format_in(estimate.steady_bytes, unit))
    console.print()
    console.print(fit(console, table))


def _device(console: Console, estimate: Estimate, unit: Unit) -> None:
    runtime = estimate.runtime
    table = plain_table()
    bounds_heads = ("low", "expected", "high")
    room = console.width - len(bounds_heads) * (COLUMN_GAP + _NUMBER_WIDTH)
    table.add_column("allocated to device", no_wrap=True, width=min(_LABEL_WIDTH, room))
    for head in bounds_heads:
        number_column(table, head, width=_NUMBER_WIDTH)
    base = format_in(device_base_bytes(estimate), unit)
    table.add_row("allocated, worst of all", base, base, base)
    for key, bounds in runtime.terms.items():
        table.add_row(term_title(key), *(format_in(bound, unit) for bound in bounds))
    device = (runtime.device_low_bytes, runtime.device_expected_bytes, runtime.device_high_bytes)
    table.add_row("device", *(format_in(size, unit) for size in device), style="bold")
    console.print()
    console.print(fit(console, table))


def _beyond_host(console: Console, estimate: Estimate, unit: Unit) -> None:
    """Host RAM of phases beside the step."""
    if not estimate.beyond:
        return
    table = plain_table()
    table.add_column("host RAM by phase", no_wrap=True, min_width=_LABEL_WIDTH)
    for head in ("rank", "node"):
        number_column(table, f"{head} {unit.value}", width=_NUMBER_WIDTH)
    for need in estimate.beyond:
        table.add_row(need.phase, format_in(need.host.total_bytes, unit), format_in(need.host.node_bytes, unit))
    console.print()
    console.print(fit(console, table))


def _host(console: Console, estimate: Estimate, style: Style, unit: Unit) -> None:
    from rich.text import Text

    host, capacity = estimate.host, estimate.plan.cluster.host_capacity_bytes
    _beyond_host(console, estimate, unit)
    if not host.per_node_bytes and not host.nvme_per_node_bytes:
        return
    table = plain_table()
    table.add_column("host", no_wrap=True, min_width=_LABEL_WIDTH)
    number_column(table, unit.value, width=_NUMBER_WIDTH)
    for key, size in host.terms.items():
        table.add_row(f"{term_title(key)}, per rank", format_in(size, unit))
    table.add_row("per rank, between steps", format_in(host.per_rank_bytes, unit))
    table.add_row("per rank, peak", format_in(host.peak_per_rank_bytes, unit))
    table.add_row("pinned per rank, rounded", format_in(host.pinned_per_rank_bytes, unit))
    table.add_row("RAM per node", format_in(host.per_node_bytes, unit), style="bold")
    if host.nvme_per_node_bytes:
        table.add_row("NVMe per node", format_in(host.nvme_per_node_bytes, unit), style="bold")
    console.print()
    console.print(fit(console, table))
    if capacity is not None and not host.nvme_short:
        console.print(
            Text.assemble(style.verdict(host.verdict), f" in {format_capacity(capacity, unit)} of RAM per node")
        )


def _time(console: Console, time: StepTime) -> None:
    from rich.text import Text

    seconds, tokens = format_seconds(time.step_seconds), f"{time.tokens_per_second_per_gpu:,.0f}"
    console.print()
    console.print(
        Text.assemble((f"{seconds} s per step", "bold"), f", {tokens} tokens/s per GPU, bound by {time.bound_by}")
    )
    parts = sorted(((name, part) for name, part in time.parts.items() if part > 0), key=lambda item: -item[1])
    console.print(
        Text("; ".join(f"{name.replace('_', ' ')} {format_seconds(part)} s" for name, part in parts), style="dim")
    )


def render_plan(
    console: Console,
    estimate: Estimate,
    assumptions: Sequence[str],
    *,
    unit: Unit = Unit.GIB,
    time: StepTime | None = None,
) -> None:
    """Draw one plan in full.

    Args:
        console: Where to draw.
        estimate: The prediction.
        assumptions: What was assumed for the user.
        unit: Unit of all sizes.
        time: Its predicted step time, if the card is known.
    """
    from rich.text import Text

    style = Style.of(console)
    console.print(plan_headline(estimate, style, unit))
    for line in plan_lines(estimate.plan, style, unit):
        console.print(Text(line, style="dim"))
    words = reason(estimate, unit)
    if words:
        console.print(Text(words))
    _bars(console, estimate, style, unit)
    _phases(console, estimate, unit)
    if estimate.worst_rank_peak_bytes != estimate.allocated_peak_bytes:
        worst = format_bytes(estimate.worst_rank_peak_bytes, unit)
        console.print(Text(f"Rank {estimate.worst_rank} holds most: {worst} allocated (--rank worst shows it)."))
    _device(console, estimate, unit)
    _host(console, estimate, style, unit)
    if time is not None:
        _time(console, time)
    console.print()
    console.print(assumptions_text(assumptions))
