"""What the documents' tests share: fenced blocks, commands, and the arithmetic of worked examples.

A worked example is a fence with the info string ``example``: a command, and lines that are checked against its estimate::

    $ zplan estimate --params 7B --gpus 8 --stage 2
    steady / master = 4 P/N = 4 x 7,000,000,000 / 8 = 3,500,000,000
    so: 2 x 3 = 6

Left of the first ``=`` stands where to look (a phase, a moment's name, ``steady``, ``peak``, ``states``, ``host``,
``low``, ``expected``, ``high``, ``block``) and what (a term's key or ``total``), or a symbol. Everything after it must
come to the same number; a product is written with a multiplication sign. A line with a colon is arithmetic alone.
Symbols stand for the plan's own sizes.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from zplan.cli.options import PhaseOptions, PlanOptions
from zplan.cli.phases import parse_phases
from zplan.cli.plan import build_plans
from zplan.memory.activations import block_memory
from zplan.memory.beyond import with_phases
from zplan.memory.estimate import estimate
from zplan.memory.explain import symbols
from zplan.memory.facts import job_facts
from zplan.memory.moments import Estimate

ROOT = Path(__file__).resolve().parents[1]
DOCS = ROOT / "docs"
PAGES = (*sorted(DOCS.glob("*.md")), *(ROOT / name for name in ("README.md", "README.zh-CN.md", "CONTRIBUTING.md")))

_FENCE = re.compile(r"^```(?P<info>[^\n`]*)\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclass(frozen=True, slots=True)
class Fence:
    """One fenced block."""

    info: str
    body: str
    line: int
    """Of its first line in the file."""


def fences(text: str, *infos: str) -> list[Fence]:
    """Fenced blocks with one of these info strings, or all."""
    found = (Fence(m["info"].strip(), m["body"], text.count("\n", 0, m.start()) + 2) for m in _FENCE.finditer(text))
    return [fence for fence in found if not infos or fence.info in infos]


def without_fences(text: str) -> str:
    """The prose."""
    return _FENCE.sub("", text)


def commands(text: str) -> list[str]:
    """Commands of ``sh`` fences, one per line; continued lines are joined, comments dropped."""
    lines = "".join(fence.body for fence in fences(text, "sh")).replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.lstrip().startswith("#")]


@dataclass(frozen=True, slots=True)
class Example:
    """One worked example."""

    page: str
    line: int
    command: str
    claims: tuple[str, ...]


def examples(path: Path) -> list[Example]:
    """The worked examples of a page."""
    return [
        Example(path.name, fence.line, *_split(fence.body))
        for fence in fences(path.read_text(encoding="utf-8"), "example")
    ]


def _split(body: str) -> tuple[str, tuple[str, ...]]:
    first, *rest = body.splitlines()
    return first.removeprefix("$ "), tuple(line for line in rest if line.strip())


def plan_of(command: str) -> Estimate:
    """The estimate that a ``zplan estimate`` command makes; it must name one plan."""
    words = shlex.split(command)
    assert words[:2] == ["zplan", "estimate"], command
    names, phase_names = ({f.name for f in fields(kind)} for kind in (PlanOptions, PhaseOptions))
    options: dict[str, Any] = {}
    phases: dict[str, Any] = {}
    for flag, value in zip(words[2::2], words[3::2], strict=True):
        name = flag.removeprefix("--").replace("-", "_")
        assert name in names | phase_names, flag
        (options if name in names else phases)[name] = value
    plans = build_plans(PlanOptions(**options)).plans
    assert len(plans) == 1, f"{command}: name a stage"
    beyond = parse_phases(PhaseOptions(**phases))
    return estimate(plans[0]) if beyond is None else with_phases(estimate(plans[0]), beyond)


def lookup(found: Estimate, place: str) -> Fraction:
    """The number that the left side of a line names."""
    if "/" not in place:
        known = symbols(found)
        assert place in known, f"{place!r} is neither 'where / what' nor a symbol"
        return Fraction(known[place])
    where, what = (part.strip() for part in place.split("/", 1))
    return Fraction(_value(found, where, what))


def _value(found: Estimate, where: str, what: str) -> int:
    if where == "block":
        return _block(found, what)
    if where in ("low", "expected", "high"):
        return _device(found, where, what)
    tables: dict[str, Callable[[], Mapping[str, int]]] = {
        "steady": lambda: {**found.steady, "total": found.steady_bytes},
        "peak": lambda: {**found.peak_moment.terms, "total": found.allocated_peak_bytes},
        "states": lambda: {
            "params": found.model_states.params_bytes,
            "grads": found.model_states.grads_bytes,
            "optimizer": found.model_states.optimizer_bytes,
            "total": found.model_states.total_bytes,
        },
        "host": lambda: {
            **found.host.terms,
            "pinned": found.host.pinned_per_rank_bytes,
            "total": found.host.per_rank_bytes,
            "node": found.host.per_node_bytes,
        },
    }
    if where in tables:
        return tables[where]().get(what, 0)
    for need in found.beyond:
        for place, moment in (("GPU", need.gpu), ("host", need.host)):
            if where == f"{need.phase} on the {place}":
                return {**moment.terms, "total": moment.total_bytes, "node": moment.node_bytes}.get(what, 0)
    chosen = [moment for moment in found.moments if where in (moment.phase, moment.name)]
    assert chosen, f"no phase and no moment {where!r}; there are {[m.name for m in found.moments]}"
    return max(m.total_bytes if what == "total" else m.terms.get(what, 0) for m in chosen)


def _device(found: Estimate, which: str, what: str) -> int:
    run = found.runtime
    if what == "total":
        return {"low": run.device_low_bytes, "expected": run.device_expected_bytes, "high": run.device_high_bytes}[
            which
        ]
    return run.terms[what][("low", "expected", "high").index(which)]


def _block(found: Estimate, what: str) -> int:
    """``kept`` or ``checkpointed``: what a block of the first kind keeps for backward."""
    model, job = found.plan.model, found.plan.job
    memory = block_memory(
        model.block_kinds[0],
        micro_batch=job.micro_batch,
        seq_len=job.seq_len,
        attention=job.attention,
        mode=job_facts(job).states.compute,
        checkpointed={"kept": False, "checkpointed": True}[what],
    )
    return memory.kept_bytes + memory.kept_score_bytes


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"ceil": math.ceil, "floor": math.floor, "max": max}


_SIGNS = str.maketrans({"\u00d7": "*", "^": "**", "\u2212": "-"})
"""Multiplication sign, power, minus sign."""


def value_of(text: str, known: Mapping[str, int]) -> Fraction:
    """Evaluates ``4 P/N`` or ``4 x 7,000,000,000 / 8`` exactly."""
    plain = re.sub(r"(?<=\d),(?=\d{3}(?!\d))", "", text).translate(_SIGNS)
    plain = re.sub(r"(?<=[\w)]) (?=[A-Za-z(])", " * ", plain)
    return _evaluate(ast.parse(plain.strip(), mode="eval").body, known, plain)


def _evaluate(node: ast.expr, known: Mapping[str, int], plain: str) -> Fraction:
    if isinstance(node, ast.Constant):
        return Fraction(ast.get_source_segment(plain, node) or "")
    if isinstance(node, ast.Name):
        return Fraction(known[node.id])
    if isinstance(node, ast.BinOp):
        left, right = _evaluate(node.left, known, plain), _evaluate(node.right, known, plain)
        return Fraction(_OPERATORS[type(node.op)](left, right))
    assert isinstance(node, ast.Call) and isinstance(node.func, ast.Name), plain
    return Fraction(_FUNCTIONS[node.func.id](*(_evaluate(arg, known, plain) for arg in node.args)))


def problems(example: Example) -> Iterator[str]:
    """What is wrong in a worked example."""
    found = plan_of(example.command)
    known = symbols(found)
    for line in example.claims:
        free = ":" in line
        place, _, rest = line.partition(":" if free else "=")
        parts = [part.strip() for part in rest.split("=")]
        values = [] if free else [lookup(found, place.strip())]
        values += [value_of(part, known) for part in parts]
        if len(values) < 2:
            yield f"{line!r}: nothing to compare"
        elif len(set(values)) > 1:
            yield f"{line!r}: {', '.join(f'{int(v):,}' if v.denominator == 1 else str(float(v)) for v in values)}"
