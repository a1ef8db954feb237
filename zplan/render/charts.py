"""The pictures: stages against the card, a step as a timeline, host RAM, and levers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import radians, sin
from typing import TYPE_CHECKING

from zplan.memory.summary import device_base_bytes, overall_verdict, plan_label, short_label, term_title
from zplan.render.svg import (
    ELSEWHERE,
    FAINT,
    VERDICT_FILLS,
    VERDICT_MARKS,
    VERDICT_WORDS,
    category_of,
    drawing_order,
    element,
    legend,
    line,
    patterns,
    picture,
    rect,
    segment,
    segment_label,
    text,
    text_width,
    verdict_class,
)
from zplan.units import Unit, format_bytes, format_in

if TYPE_CHECKING:
    from zplan.advice.levers import Lever
    from zplan.memory.moments import Estimate

WIDTH = 760.0
ROW, BAR = 34.0, 22.0
LABEL, VALUE = 110.0, 150.0
SLANT = 52
"""Degrees by which the names below columns lean."""
MOST_CARDS = 2.5
"""A bar is cut where it is this many times as long as the card: what fits stays readable beside what does not."""


def term_names(keys: Sequence[str]) -> dict[str, str]:
    """Titles of terms, and of what stands beside them in a bar."""
    return {key: "init or another rank, beyond" if key == ELSEWHERE else term_title(key) for key in keys}


def device_parts(estimate: Estimate) -> dict[str, int]:
    """What a bar is made of: the peak's terms, then what lies between allocated and device, as expected."""
    parts = dict(estimate.peak_moment.terms)
    beyond = device_base_bytes(estimate) - estimate.allocated_peak_bytes
    if beyond > 0:
        parts[ELSEWHERE] = beyond
    parts.update({key: expected for key, (_, expected, _) in estimate.runtime.terms.items()})
    return {key: parts[key] for key in drawing_order(parts) if parts[key]}


def _stack(
    prefix: str, parts: Mapping[str, int], numbers: Mapping[str, int], x: float, y: float, scale: float, limit: float
) -> list[str]:
    """Pieces of a horizontal bar with their numbers, cut at ``limit``."""
    shapes, labels = [], []
    for key, size in parts.items():
        width = min(size * scale, limit - x)
        if width <= 0:
            break
        title = f"{numbers[key]} {term_names([key])[key]}: {format_bytes(size)}"
        shapes.append(segment(prefix, key, x, y, width, BAR, title))
        if width >= 16:
            labels.append(segment_label(key, x + width / 2, y + BAR / 2 + 4, str(numbers[key])))
        x += width
    return shapes + labels


def _cut(x: float, y: float) -> str:
    """Two strokes through a bar: it goes on."""
    strokes = f"M{x - 9},{y + BAR + 3} l6,-{BAR + 6} M{x - 4},{y + BAR + 3} l6,-{BAR + 6}"
    return element("path", d=strokes, stroke="#ffffff", stroke_width=2, fill="none")


def stages_svg(estimates: Sequence[Estimate], *, unit: Unit, prefix: str = "stages") -> str:
    """Every plan as a stacked bar against the card.

    Args:
        estimates: At least one, of one model on one cluster.
        unit: Unit of the numbers.
        prefix: Start of the ids.

    Returns:
        The picture.
    """
    bars = [device_parts(estimate) for estimate in estimates]
    keys = drawing_order(key for parts in bars for key in parts)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    capacity = estimates[0].plan.cluster.gpu_capacity_bytes
    largest = max(estimate.runtime.device_high_bytes for estimate in estimates)
    longest = min(largest, int(MOST_CARDS * capacity)) if capacity else largest
    longest = max(longest, int(1.05 * (capacity or 0)))
    left, right = LABEL, WIDTH - VALUE
    scale = (right - left) / longest
    top = 30.0
    parts = [patterns(prefix, keys)]
    for row, (estimate, bar) in enumerate(zip(estimates, bars, strict=True)):
        y = top + row * ROW
        run, verdict = estimate.runtime, overall_verdict(estimate)
        parts.append(text(left - 8, y + 15, short_label(estimate.plan.job), text_anchor="end", font_weight="bold"))
        parts += _stack(prefix, bar, numbers, left, y, scale, right)
        if run.device_expected_bytes > longest:
            parts.append(_cut(right, y))
        high, low = (min(right, left + size * scale) for size in (run.device_high_bytes, run.device_low_bytes))
        parts.append(line(low, y + BAR + 4, high, y + BAR + 4, stroke_width=1.5))
        parts += [line(x, y + BAR + 1, x, y + BAR + 7, stroke_width=1.5) for x in (low, high)]
        words = f"{format_bytes(run.device_expected_bytes, unit)} {VERDICT_MARKS[verdict]} {VERDICT_WORDS[verdict]}"
        words = words if capacity else format_bytes(run.device_expected_bytes, unit)
        parts.append(text(right + 8, y + 15, words.replace("out of memory", "oom")))
    bottom = top + len(estimates) * ROW
    if capacity:
        x = left + capacity * scale
        parts.append(line(x, top - 8, x, bottom, stroke_width=2, stroke_dasharray="5 3"))
        parts.append(text(x, top - 14, f"one card: {format_bytes(capacity, unit)}", text_anchor="middle"))
    shown, height = legend(keys, term_names(keys), prefix, WIDTH, bottom + 14)
    against = f" against a card of {format_bytes(capacity, unit)}" if capacity else ""
    description = f"Expected memory per GPU of {len(estimates)} plans as stacked bars{against}; a line below each bar "
    description += "spans the low and the high bound. The numbers are in the table that follows."
    title = "Memory per GPU of every plan"
    return picture(prefix, WIDTH, height, title=title, description=description, content=[*parts, *shown])


_Column = tuple[str, str, Mapping[str, int]]
"""Phase, moment, terms."""


def timeline_svg(estimate: Estimate, *, unit: Unit, prefix: str = "timeline") -> str:
    """The moments of a step from left to right, by phase, each a stacked column of allocated bytes.

    Args:
        estimate: The prediction.
        unit: Unit of the numbers.
        prefix: Start of the ids.

    Returns:
        The picture.
    """
    columns: list[_Column] = [(moment.phase, moment.name, moment.terms) for moment in estimate.moments]
    columns.append(("between steps", "steady", estimate.steady))
    keys = drawing_order(key for _, _, terms in columns for key in terms)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    capacity = estimate.plan.cluster.gpu_capacity_bytes
    largest = max(1, *(sum(terms.values()) for _, _, terms in columns))
    highest = max(largest, min(capacity or 0, int(1.6 * largest)))
    left, top, tall = 100.0, 24.0, 240.0
    step, bottom, scale = (WIDTH - left - 40) / len(columns), top + tall, tall / highest
    wide = min(46.0, step * 0.72)
    parts = [patterns(prefix, keys), *_memory_axis(highest, left, bottom, tall, unit)]
    peak = estimate.peak_moment
    highlighted = columns.index((peak.phase, peak.name, peak.terms))
    for number, column in enumerate(columns):
        x = left + step * number + (step - wide) / 2
        parts += _column(prefix, column, numbers, x, bottom, wide, scale, peak=number == highlighted)
    if capacity and capacity <= highest:
        y = bottom - capacity * scale
        parts.append(line(left, y, WIDTH - 10, y, stroke_width=2, stroke_dasharray="5 3"))
        parts.append(text(left + 4, y - 5, f"one card: {format_bytes(capacity, unit)}", font_size=11))
    below = bottom + 26 + max(text_width(name or phase, 11) for phase, name, _ in columns) * sin(radians(SLANT))
    parts += _phase_band([phase for phase, _, _ in columns], left, step, below)
    shown, height = legend(keys, term_names(keys), prefix, WIDTH, below + 20)
    description = (
        "Allocated bytes at each moment of a step that can be a peak, from left to right, as stacked columns. "
    )
    description += f"The largest is in {estimate.peak_moment.phase}: {estimate.peak_moment.name}."
    title = f"A training step of {plan_label(estimate.plan.job)}"
    return picture(prefix, WIDTH, height, title=title, description=description, content=[*parts, *shown])


def _memory_axis(highest: int, left: float, bottom: float, tall: float, unit: Unit) -> list[str]:
    """Five lines with sizes."""
    parts = [text(left - 8, bottom - tall - 10, unit.value, text_anchor="end", font_size=11)]
    for tick in range(5):
        y = bottom - tall * tick / 4
        parts.append(line(left, y, WIDTH - 10, y, stroke=FAINT, stroke_opacity="0.35"))
        parts.append(text(left - 8, y + 4, format_in(highest * tick // 4, unit), text_anchor="end", font_size=11))
    return parts


def _column(
    prefix: str,
    column: _Column,
    numbers: Mapping[str, int],
    x: float,
    bottom: float,
    wide: float,
    scale: float,
    *,
    peak: bool,
) -> list[str]:
    """One moment: its terms from the bottom up, and its name, slanted, below."""
    phase, name, terms = column
    shapes, labels, y = [], [], bottom
    for key in drawing_order(terms):
        tall = terms[key] * scale
        y -= tall
        title = f"{phase}, {name}: {numbers[key]} {term_title(key)} {format_bytes(terms[key])}"
        shapes.append(segment(prefix, key, x, y, wide, tall, title))
        if tall >= 14 and wide >= 16:
            labels.append(segment_label(key, x + wide / 2, y + tall / 2 + 4, str(numbers[key])))
    if peak:
        labels.append(text(x + wide / 2, y - 5, "peak", text_anchor="middle", font_size=11, font_weight="bold"))
    middle = x + wide / 2 + 4
    turn = f"rotate(-{SLANT} {middle:.1f} {bottom + 14:.1f})"
    labels.append(text(middle, bottom + 14, name or phase, text_anchor="end", font_size=11, transform=turn))
    return shapes + labels


def _phase_band(phases: Sequence[str], left: float, step: float, y: float) -> list[str]:
    """A bracket with a name below the columns of each phase."""
    parts, start = [], 0
    for index in range(1, len(phases) + 1):
        if index < len(phases) and phases[index] == phases[start]:
            continue
        x1, x2 = left + start * step + 3, left + index * step - 3
        parts.append(line(x1, y - 14, x2, y - 14, stroke_width=2))
        words = phases[start]
        size = 12 if text_width(words) <= (index - start) * step + 18 else 9
        parts.append(text((x1 + x2) / 2, y, words, text_anchor="middle", font_weight="bold", font_size=size))
        start = index
    return parts


def host_svg(estimate: Estimate, *, unit: Unit, prefix: str = "host") -> str:
    """Host RAM: a rank's tensors as a stacked bar, then the node with pinned rounding against its RAM."""
    host, capacity = estimate.host, estimate.plan.cluster.host_capacity_bytes
    keys = drawing_order(host.terms)
    numbers = {key: number for number, key in enumerate(keys, 1)}
    largest = max(host.per_node_bytes, host.peak_per_rank_bytes, capacity or 0, 1)
    left, right, top = LABEL, WIDTH - VALUE, 30.0
    scale = (right - left) / largest
    parts = [patterns(prefix, keys), text(left - 8, top + 15, "one rank", text_anchor="end", font_weight="bold")]
    parts += _stack(prefix, {key: host.terms[key] for key in keys}, numbers, left, top, scale, right)
    parts.append(text(right + 8, top + 15, format_bytes(host.per_rank_bytes, unit)))
    y = top + ROW
    fill = VERDICT_FILLS[host.verdict]
    parts.append(text(left - 8, y + 15, "the node", text_anchor="end", font_weight="bold"))
    node = rect(
        left, y, host.per_node_bytes * scale, BAR, fill=fill, stroke="currentColor", class_=verdict_class(host.verdict)
    )
    parts.append(node)
    mark = f" {VERDICT_MARKS[host.verdict]} {VERDICT_WORDS[host.verdict]}" if host.verdict else ""
    parts.append(
        text(right + 8, y + 15, (format_bytes(host.per_node_bytes, unit) + mark).replace("out of memory", "oom"))
    )
    if capacity:
        x = left + capacity * scale
        parts.append(line(x, top - 8, x, y + ROW, stroke_width=2, stroke_dasharray="5 3"))
        words = f"a node's RAM: {format_bytes(capacity, unit)}"
        parts.append(text(min(x, right), top - 14, words, text_anchor="end" if x > WIDTH / 2 else "start"))
    shown, height = legend(keys, term_names(keys), prefix, WIDTH, y + ROW + 14)
    description = "Host RAM of one rank by tensors, and of a whole node with the rounding of pinned memory."
    return picture(prefix, WIDTH, height, title="Host RAM", description=description, content=[*parts, *shown])


def levers_svg(levers: Sequence[Lever], *, unit: Unit, prefix: str = "levers") -> str:
    """What single changes save at the high bound, largest first."""
    levers = [lever for lever in levers if lever.saves_bytes > 0]  # what is made for host RAM has no bar
    left, right = 270.0, WIDTH - 190
    scale = (right - left) / max(lever.saves_bytes for lever in levers)
    parts = []
    for row, lever in enumerate(levers):
        y = 8 + row * 28.0
        label = lever.change if len(lever.change) <= 42 else lever.change[:41] + "\u2026"
        parts.append(text(left - 8, y + 14, label, text_anchor="end", font_size=11))
        verdict = "fits" if lever.fits else "oom"
        shape = {"fill": VERDICT_FILLS[verdict], "stroke": "currentColor", "class_": verdict_class(verdict)}
        parts.append(rect(left, y, max(1.5, lever.saves_bytes * scale), 18, **shape))
        words = f"\u2212{format_bytes(lever.saves_bytes, unit)} {VERDICT_MARKS['fits'] + ' fits' if lever.fits else ''}"
        parts.append(text(left + lever.saves_bytes * scale + 8, y + 14, words.rstrip(), font_size=11))
    height = 16 + len(levers) * 28.0
    description = "Bars of the memory per GPU that each single change saves at the high bound, largest first."
    return picture(prefix, WIDTH, height, title="What would save memory", description=description, content=parts)


def swatch_svg(key: str, prefix: str) -> str:
    """A small square in a term's colour and pattern, for tables; the words beside it name the term."""
    content = [patterns(prefix, [key]), segment(prefix, key, 0, 0, 14, 14, category_of(key).name)]
    return element("svg", content, viewBox="0 0 14 14", width=14, height=14, aria_hidden="true")
