"""Out-of-memory messages explained, for people and for programs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from zplan.memory.summary import plan_label, term_title
from zplan.render.explain import labelled, term_heading
from zplan.render.jsonout import SCHEMA_VERSION
from zplan.render.style import Style, fit, number_column, number_width, plain_table
from zplan.render.text import assumptions_text, plan_lines
from zplan.units import Unit, format_bytes, format_in, format_size

if TYPE_CHECKING:
    from rich.console import Console

    from zplan.advice.oom import Decoded
    from zplan.advice.oom_advice import OomAdvice
    from zplan.advice.oom_match import Candidate
    from zplan.inputs.oomlog import OomLog
    from zplan.inputs.oommessage import OomMessage, Size
    from zplan.spec import Plan

_DEVICES = {"cuda": "CUDA", "hip": "HIP", "npu": "NPU", "xpu": "XPU", "mps": "MPS", "cpu": "host"}
_MOST_RANKS = 8
NEEDS = (
    "To name the tensor, say what ran: zplan explain --oom {} --model llama-3.1-8b --gpus 8 --stage 2 --micro-batch 1"
)


def render_oom(
    console: Console,
    log: OomLog,
    decoded: Decoded,
    plan: Plan | None,
    assumptions: Sequence[str],
    *,
    command: str,
    unit: Unit = Unit.GIB,
) -> None:
    """Draws one decoded message.

    Args:
        console: Where to draw.
        log: The log it is from.
        decoded: The answer.
        plan: The plan that the tensors are from, or None.
        assumptions: What was assumed about it.
        command: What was typed after ``--oom``, for the command that names a plan.
        unit: Unit of all sizes.
    """
    from rich.text import Text

    style = Style.of(console)
    console.print(Text(_headline(decoded, unit), style="bold"))
    console.print(Text(_place(log, decoded.message), style="dim"))
    if plan is not None:
        for line in (*plan_lines(plan, style, unit), plan_label(plan.job)):
            console.print(Text(line, style="dim"))
    _print_candidates(console, decoded.candidates, unit)
    console.print()
    console.print(Text("Why there was no room", style="bold"))
    table = plain_table(header=False)
    table.add_column(no_wrap=True, width=4)
    table.add_column(overflow="fold")
    for cause in decoded.causes:
        table.add_row(Text(f"  {style.glyph('oom')}", style="red"), Text(_sentence(cause.words)))
    for remark in decoded.remarks:
        table.add_row(Text(f"  {style.glyph('tight')}", style="yellow"), Text(_sentence(remark)))
    console.print(table)
    _print_numbers(console, decoded.message, unit)
    _print_advice(console, decoded.advice, decoded.phase, unit)
    console.print()
    if plan is None:
        console.print(Text(NEEDS.format(command)))
    elif assumptions:
        console.print(assumptions_text(assumptions))


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:] + "."


def _headline(decoded: Decoded, unit: Unit) -> str:
    message = decoded.message
    where = f"{_DEVICES[message.device]} device {message.index}" if message.index is not None else ""
    if message.device == "cpu":
        where = "the host"
    where = where or f"the {_DEVICES[message.device]} device"
    asked = f"{format_size(message.requested.bytes, unit)} did not fit" if message.requested else "out of memory"
    rank = f", rank {message.rank}" if message.rank is not None else ""
    if not decoded.candidates:
        return f"{asked[:1].upper()}{asked[1:]} on {where}{rank}."
    return f"{asked} on {where}{rank}: most likely {term_title(decoded.candidates[0].tensor.term)}."


def _place(log: OomLog, message: OomMessage) -> str:
    """Where the message is, and which other ranks have one."""
    place = f"{log.name}, line {message.log_line}"
    others = [one for one in log.messages if one is not message]
    if not others:
        return place
    ranks = sorted({one.rank for one in others if one.rank is not None and one.rank != message.rank})
    shown = ", ".join(str(rank) for rank in ranks[:_MOST_RANKS]) + (", ..." if len(ranks) > _MOST_RANKS else "")
    more = f"{len(others)} more message{'s' if len(others) > 1 else ''}"
    return f"{place}; {more}" + (f" (rank{'s' if len(ranks) > 1 else ''} {shown})" if ranks else "")


def _print_candidates(console: Console, candidates: Sequence[Candidate], unit: Unit) -> None:
    from rich.text import Text

    if not candidates:
        return
    first = candidates[0]
    tensor = first.tensor
    console.print()
    console.print(Text.assemble((term_heading(tensor.term), "bold"), f"  {format_bytes(tensor.bytes, unit)}"))
    rows = (
        ("what it was", tensor.title),
        ("when", first.phase),
        ("formula", tensor.formula),
        ("in numbers", tensor.with_numbers),
        ("only if", first.note),
        ("source", tensor.source),
    )
    labelled(console, rows)
    rest = candidates[1:6]
    if not rest:
        return
    console.print()
    console.print(Text("Less likely, of about the same size", style="bold"))
    sizes = [format_in(one.tensor.bytes, unit) for one in rest]
    table = plain_table(header=False)
    number_column(table, unit.value, width=2 + number_width(sizes))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for size, one in zip(sizes, rest, strict=True):
        table.add_row(size, Text(one.tensor.term), Text(f"{one.tensor.title} ({one.phase})", style="dim"))
    console.print(table)


def _print_numbers(console: Console, message: OomMessage, unit: Unit) -> None:
    """What the message itself says, as a sum."""
    from rich.text import Text

    rows = [
        ("memory of the card", message.total),
        ("live tensors", message.allocated),
        ("  in CUDA graphs' own pools", message.private_pools),
        ("cached, in no tensor", message.unallocated),
        ("this process in all", message.own_use),
        ("free", message.free),
        ("asked for", message.requested),
    ]
    known = [(label, format_in(size.bytes, unit)) for label, size in rows if size is not None]
    if len(known) < 2:
        return
    console.print()
    table = plain_table()
    table.add_column("the message says", no_wrap=True, width=28)
    number_column(table, unit.value, width=number_width([unit.value, *(text for _, text in known)]))
    for label, text in known:
        table.add_row(Text(label), text)
    console.print(fit(console, table))


def _print_advice(console: Console, advice: Sequence[OomAdvice], phase: str | None, unit: Unit) -> None:
    from rich.text import Text

    if not advice:
        return
    style = Style.of(console)
    console.print()
    where = f" (GiB less in {phase})" if phase else ""
    console.print(Text(f"What to change{where.replace('GiB', unit.value)}", style="bold"))
    for one in advice:
        saves = format_bytes(one.saves_bytes, unit) if one.saves_bytes is not None else ""
        alone = {True: "fits alone", False: "not enough alone", None: ""}[one.fits]
        facts = style.dotted([f"saves {saves}" if saves else "", alone])
        console.print()
        console.print(Text.assemble(f"  {one.change}", (f"  {facts}", "green" if one.fits else "dim")))
        labelled(console, (("how", one.how), ("costs", one.costs)), indent=4)


def _size(size: Size | None) -> int | None:
    return None if size is None else size.bytes


def message_object(message: OomMessage) -> dict[str, Any]:
    """The numbers of one message; null where it does not say."""
    return {
        "kind": message.kind.value,
        "device": message.device,
        "index": message.index,
        "rank": message.rank,
        "line": message.log_line,
        "text": message.text,
        "requested_bytes": _size(message.requested),
        "requested_within_bytes": message.requested.within if message.requested is not None else None,
        "total_bytes": _size(message.total),
        "free_bytes": _size(message.free),
        "allocated_bytes": _size(message.allocated),
        "reserved_bytes": _size(message.reserved),
        "unallocated_bytes": _size(message.unallocated),
        "private_pools_bytes": _size(message.private_pools),
        "allowed_bytes": _size(message.allowed),
        "process_bytes": _size(message.own_use),
        "processes": [{"pid": one.pid, "bytes": one.bytes} for one in message.processes],
    }


def oom_object(
    log: OomLog, decoded: Decoded, plan: Mapping[str, Any] | None, assumptions: Sequence[str]
) -> dict[str, Any]:
    """The whole answer of ``zplan explain --oom FILE --json``.

    Args:
        log: The log.
        decoded: The answer for its first message.
        plan: The plan that was compared, as an object, or None.
        assumptions: What was assumed about it.

    Returns:
        Ranked candidates, causes, advice, and every message's numbers.
    """
    return {
        "schema_version": SCHEMA_VERSION,
        "message": message_object(decoded.message),
        "messages": [message_object(message) for message in log.messages],
        "plan": plan,
        "assumptions": list(assumptions),
        "phase": decoded.phase,
        "traceback": {"phase": decoded.hint.phase, "terms": list(decoded.hint.terms), "where": decoded.hint.where},
        "candidates": [_candidate(candidate) for candidate in decoded.candidates],
        "causes": [{"kind": one.kind, "words": one.words, "bytes": one.bytes} for one in decoded.causes],
        "advice": [
            {
                "name": one.name,
                "change": one.change,
                "how": one.how,
                "saves_bytes": one.saves_bytes,
                "costs": one.costs,
                "fits": one.fits,
            }
            for one in decoded.advice
        ],
        "needed_bytes": decoded.needed_bytes,
        "predicted_bytes": decoded.predicted_bytes,
        "remarks": list(decoded.remarks),
    }


def _candidate(candidate: Candidate) -> dict[str, Any]:
    tensor = candidate.tensor
    return {
        "term": tensor.term,
        "bytes": tensor.bytes,
        "error": candidate.error,
        "phase": candidate.phase,
        "fit": candidate.fit,
        "title": tensor.title,
        "formula": tensor.formula,
        "with_numbers": tensor.with_numbers,
        "source": tensor.source,
        "note": candidate.note,
        "score": candidate.score,
    }
