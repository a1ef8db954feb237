"""What changed between two estimates: settings, and with them terms, phases, totals and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from zplan.inputs.estimatefile import EstimatedPlan, EstimateFile, Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One setting that differs."""

    name: str
    before: Scalar
    after: Scalar


@dataclass(frozen=True, slots=True, kw_only=True)
class SizeChange:
    """One size before and after, whether it differs or not."""

    name: str
    before_bytes: int
    after_bytes: int

    @property
    def change_bytes(self) -> int:
        """After less before."""
        return self.after_bytes - self.before_bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanDiff:
    """Two plans that stand for one another."""

    label: str
    settings: tuple[Change, ...]
    verdict: tuple[str | None, str | None]
    because: tuple[str | None, str | None]
    peak_phase: tuple[str, str]
    terms: tuple[SizeChange, ...]
    """Of both peak moments, the largest change first."""
    phases: tuple[SizeChange, ...]
    totals: tuple[SizeChange, ...]
    model_states: tuple[SizeChange, ...]
    step_seconds: tuple[float | None, float | None]
    tokens_per_second: tuple[float | None, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateDiff:
    """Two files."""

    before: str
    after: str
    settings: tuple[Change, ...]
    """Of the model and the cluster."""
    assumptions_gone: tuple[str, ...]
    assumptions_new: tuple[str, ...]
    plans: tuple[PlanDiff, ...]
    only_before: tuple[str, ...]
    """Labels of plans without a counterpart."""
    only_after: tuple[str, ...]


def diff(before: EstimateFile, after: EstimateFile) -> EstimateDiff:
    """Compare two estimates.

    Plans are paired by engine, stage and offload. Where both files hold one plan, these two are compared whatever they
    are; where the engines differ and each file has one, plans are paired by stage and offload alone.

    Args:
        before: The first file.
        after: The second.

    Returns:
        What differs.
    """
    pairs, only_before, only_after = _pairs(before.plans, after.plans)
    old, new = set(before.assumptions), set(after.assumptions)
    model = _changes(before.model, after.model, prefix="model.")
    return EstimateDiff(
        before=before.name,
        after=after.name,
        settings=(*model, *_changes(before.cluster, after.cluster, prefix="cluster.")),
        assumptions_gone=tuple(note for note in before.assumptions if note not in new),
        assumptions_new=tuple(note for note in after.assumptions if note not in old),
        plans=tuple(_plan_diff(*pair) for pair in pairs),
        only_before=tuple(_label(plan) for plan in only_before),
        only_after=tuple(_label(plan) for plan in only_after),
    )


_Key = tuple[Scalar, ...]
_Pairs = tuple[
    list[tuple[EstimatedPlan, EstimatedPlan]],
    list[EstimatedPlan],
    list[EstimatedPlan],
]


def _key(plan: EstimatedPlan, *, engine: bool) -> _Key:
    settings = plan.settings
    where = settings.get("offload_to") if settings.get("offload") != "none" else None
    key = (settings.get("stage"), settings.get("offload"), where)
    return (settings.get("engine"), *key) if engine else key


def _pairs(before: Sequence[EstimatedPlan], after: Sequence[EstimatedPlan]) -> _Pairs:
    if len(before) == 1 and len(after) == 1:
        return [(before[0], after[0])], [], []
    engines = [{plan.settings.get("engine") for plan in plans} for plans in (before, after)]
    engine = not (all(len(each) == 1 for each in engines) and engines[0] != engines[1])
    others = {_key(plan, engine=engine): plan for plan in after}
    pairs, lonely = [], []
    for plan in before:
        other = others.pop(_key(plan, engine=engine), None)
        if other is None:
            lonely.append(plan)
        else:
            pairs.append((plan, other))
    return pairs, lonely, list(others.values())


def _label(plan: EstimatedPlan) -> str:
    """``deepspeed stage 2 + optimizer offload``."""
    settings = plan.settings
    offload = settings.get("offload")
    suffix = f" + {offload} offload" if offload not in ("none", None) else ""
    nvme = " to NVMe" if suffix and settings.get("offload_to") == "nvme" else ""
    return f"{settings.get('engine')} stage {settings.get('stage')}{suffix}{nvme}"


def _changes(before: Mapping[str, Scalar], after: Mapping[str, Scalar], *, prefix: str = "") -> tuple[Change, ...]:
    names = dict.fromkeys((*before, *after))
    return tuple(
        Change(name=prefix + name, before=before.get(name), after=after.get(name))
        for name in names
        if before.get(name) != after.get(name)
    )


def _sizes(before: Mapping[str, int], after: Mapping[str, int]) -> tuple[SizeChange, ...]:
    names = dict.fromkeys((*before, *after))
    return tuple(
        SizeChange(name=name, before_bytes=before.get(name, 0), after_bytes=after.get(name, 0)) for name in names
    )


def _plan_diff(before: EstimatedPlan, after: EstimatedPlan) -> PlanDiff:
    old, new = _label(before), _label(after)
    terms = _sizes(before.terms, after.terms)
    return PlanDiff(
        label=old if old == new else f"{old} -> {new}",
        settings=_changes(before.settings, after.settings),
        verdict=(before.verdict, after.verdict),
        because=(before.because, after.because),
        peak_phase=(before.peak_phase, after.peak_phase),
        terms=tuple(sorted(terms, key=lambda term: -abs(term.change_bytes))),
        phases=_sizes(before.phases, after.phases),
        totals=_sizes(before.totals, after.totals),
        model_states=_sizes(before.model_states, after.model_states),
        step_seconds=(before.step_seconds, after.step_seconds),
        tokens_per_second=(before.tokens_per_second, after.tokens_per_second),
    )
