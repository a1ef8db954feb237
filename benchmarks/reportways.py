"""How a report's run loaded and saved: as its own words tell, or in each way that was usual."""

from __future__ import annotations

import re

from reportwords import Report
from rowwords import section

from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.spec import Beyond, Engine, Plan

PRICED = {"save_oom": "save", "load_peak": "load", "eval_spike": "eval"}
"""Themes of failures outside of a step that zplan prices."""
LEFT_ON_GPU = re.compile(
    r"(gathered|collected|cloned?|kept|left) on (the |each |every |a )?(gpu|card)|full state dict on gpu"
)
OWN_COPY = re.compile(
    r"\b(each|every|all) (of \d+ )?(local )?(rank|process|worker|gpu)s?\b[^.;]*\b(loads?|peaks?|holds?|held|reads?|cop(y|ies))\b"
    r"|\bper[- ](rank|process)\b[^.;]*\bcop(y|ies)\b"
)
SIZES = (4, 2)
"""Bytes per parameter of a copy: fp32, and the 16 bits of the checkpoint."""
NEAR = 0.1


def _words(report: Report) -> str:
    return f"{report['outcome'].get('detail') or ''}. {report.get('root_cause') or ''}".lower()


def ways(report: Report, plan: Plan, phases: tuple[str, ...]) -> tuple[Beyond, ...]:
    """How the phases beside the step may have run.

    FSDP's state dict is collected on rank 0's host by today's libraries; torch's own default leaves it on every GPU, which is
    what those of 2023 did. Where a report does not tell, both count.
    """
    today = Beyond(phases=phases)
    if "save" not in phases or plan.job.engine not in (Engine.FSDP1, Engine.FSDP2):
        return (today,)
    on_gpu = Beyond(phases=phases, full_state_dict=True, state_dict_on_gpu=True)
    return (on_gpu,) if LEFT_ON_GPU.search(_words(report)) else (today, on_gpu)


def copies_per_node(report: Report, result: Estimate) -> list[int]:
    """RAM of a node where every process holds a copy of the weights of its own; empty where the report does not say so.

    Where it gives what a process held, the copy has the element size that this is nearest to, and none if it is near to none.
    """
    if OWN_COPY.search(_words(report)) is None:
        return []
    cluster, params = result.plan.cluster, result.plan.model.params
    held = section(report["outcome"], "measured").get("per_rank_gb")
    sizes: tuple[int, ...] = SIZES
    if isinstance(held, int | float):
        sizes = tuple(size for size in SIZES if abs(held * 1e9 / (size * params) - 1) <= NEAR)
    return [size * params * cluster.gpus_per_node for size in sizes]


def priced(report: Report, plan: Plan) -> tuple[Estimate, Beyond | None]:
    """A plan with the phase that a report failed in, for advice; as the first of its ways."""
    from zplan.memory.beyond import with_phases

    themes = report.get("themes") or ()
    phases = tuple(dict.fromkeys(PRICED[theme] for theme in themes if theme in PRICED))
    if not phases:
        return estimate(plan), None
    beyond = ways(report, plan, phases)[-1]
    return with_phases(estimate(plan), beyond), beyond
