"""What is wrong, useless or costly in a ``ds_config.json``, for this model on this hardware.

Pure: a parsed file and its plan go in, findings come out. Each finding says what, why, what it costs (bytes at the
peak, by pricing the file with and without it, or speed in words) and the fix, as words and as edits to the file.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

from zplan.inputs.deepspeed import DsConfig, DsReading
from zplan.inputs.jsontext import KeyPath, Position
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.spec import Job, Plan

STOPS, COSTS, USELESS, NOTE = "stops", "costs", "useless", "note"
SEVERITIES = (STOPS, COSTS, USELESS, NOTE)
"""The run does not start; it costs memory or speed; a key does nothing; worth knowing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Edit:
    """One change to a file."""

    path: KeyPath
    action: str
    """``set``, ``remove`` or ``move``."""
    value: object = None
    to: KeyPath = ()
    """Where a moved value goes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing to know about a file."""

    code: str
    """Stable name of the rule."""
    severity: str
    key: str
    """Dotted name of the key, empty for the file as a whole."""
    what: str
    why: str
    fix: str
    cost: str | None = None
    """What it costs, in words."""
    cost_bytes: int | None = None
    """Bytes on one GPU (or, for host memory, on one node) that the fix saves; None where it is not about memory."""
    position: Position | None = None
    edits: tuple[Edit, ...] = ()
    """What ``--fix`` does; empty where only a person can decide."""


@dataclass(frozen=True, kw_only=True)
class Context:
    """All that a rule may look at."""

    config: DsConfig
    reading: DsReading
    plan: Plan
    estimate: Estimate

    @property
    def job(self) -> Job:
        """The job as the file has it."""
        return self.plan.job

    def asked(self, field: str) -> object:
        """A field of the job as the file asks for it, even where the hardware cannot have it."""
        return self.reading.job.get(field, getattr(self.job, field))

    @cached_property
    def peak_bytes(self) -> int:
        """Largest allocated bytes of any phase, on the rank of the plan."""
        return max(self.estimate.phases.values())

    def saving(self, **options: object) -> int:
        """Bytes that other DeepSpeed options would save at the peak of the whole run."""
        changed = replace(self.job, deepspeed=replace(self.job.deepspeed, **options))  # type: ignore[arg-type]
        return self.peak_bytes - max(estimate(replace(self.plan, job=changed)).phases.values())

    def finding(self, code: str, severity: str, path: KeyPath, **words: object) -> Finding:
        """A finding at a key."""
        position = self.config.positions.get(path)
        return Finding(code=code, severity=severity, key=".".join(path), position=position, **words)  # type: ignore[arg-type]


Rule = Callable[[Context], Iterable[Finding]]


def lint(config: DsConfig, reading: DsReading, plan: Plan, priced: Estimate) -> tuple[Finding, ...]:
    """Everything worth saying about a file.

    Args:
        config: The file.
        reading: What it says about the job.
        plan: The plan that it makes with this model and hardware.
        priced: That plan's estimate.

    Returns:
        Findings, those that stop the run first, then by place in the file.
    """
    from zplan.advice.lint_costs import COST_RULES
    from zplan.advice.lint_keys import KEY_RULES
    from zplan.advice.lint_runs import RUN_RULES

    context = Context(config=config, reading=reading, plan=plan, estimate=priced)
    found = [finding for rule in (*RUN_RULES, *KEY_RULES, *COST_RULES) for finding in rule(context)]
    return tuple(sorted(found, key=_order))


def _order(finding: Finding) -> tuple[int, int, int]:
    at = finding.position
    return SEVERITIES.index(finding.severity), at.line if at else 0, at.column if at else 0


def fixed_value(config: DsConfig, findings: Iterable[Finding]) -> dict[str, object]:
    """The file with every finding's edits made, comments and trailing commas gone.

    Args:
        config: The file.
        findings: What :func:`lint` found in it.

    Returns:
        A new object; the config's own is left alone.
    """
    root = copy.deepcopy(dict(config.value))
    for finding in findings:
        for edit in finding.edits:
            _apply(root, edit)
    return root


def _apply(root: dict[str, object], edit: Edit) -> None:
    parent = _parent(root, edit.path)
    if edit.action == "set":
        if parent is not None:
            parent[edit.path[-1]] = edit.value
        return
    if parent is None or edit.path[-1] not in parent:
        return  # another finding has removed it
    value = parent.pop(edit.path[-1])
    if edit.action == "move":
        target = _parent(root, edit.to)
        if target is not None:
            target.setdefault(edit.to[-1], value)


def _parent(root: dict[str, object], path: KeyPath) -> dict[str, object] | None:
    """The object that holds a path's last key, made where it is missing; None where something else is in the way."""
    here = root
    for key in path[:-1]:
        below = here.setdefault(key, {})
        if not isinstance(below, dict):
            return None
        here = below
    return here


def counts(findings: Iterable[Finding]) -> Mapping[str, int]:
    """How many findings there are of each severity, every severity present."""
    totals = dict.fromkeys(SEVERITIES, 0)
    for finding in findings:
        totals[finding.severity] += 1
    return totals
