"""What a plan costs beyond its model FLOPs, without a card's figures: what it sends, what it copies, what it computes again.

Without ``--gpu`` there is no speed. But a plan that sends no more, copies no more and recomputes no more than another over the
same tokens is at least as fast on any card; where each has something less than the other, only the card can tell.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm
from typing import NamedTuple

from zplan.advice.traffic import collective_volume, host_volume
from zplan.advice.work import recomputed_share
from zplan.spec import Plan


class Effort(NamedTuple):
    """Work beside forward and backward, per optimizer step."""

    sent: float
    """Elements that a rank sends in collectives, in units of P."""
    copied: float
    """Elements that a rank copies to and from the host, in units of P."""
    recomputed: float
    """Share of forward that runs twice."""

    def text(self) -> str:
        """In words: ``sends 2 P, recomputes nothing``."""
        parts = [f"sends {self.sent:.3g} P"] if self.sent else []
        parts += [f"copies {self.copied:.3g} P over PCIe"] if self.copied else []
        again = f"recomputes {self.recomputed:.0%} of forward" if self.recomputed else "recomputes nothing"
        return ", ".join([*parts, again])

    def no_more_than(self, other: Effort) -> bool:
        """Whether this is at least as fast on any card, as far as links and recomputation go."""
        mine, others = (self.sent, self.copied, self.recomputed), (other.sent, other.copied, other.recomputed)
        return all(a <= b * (1 + 1e-9) for a, b in zip(mine, others, strict=True))


def efforts(plans: Sequence[Plan]) -> tuple[int, tuple[Effort, ...]]:
    """Efforts of plans over the same tokens: each accumulates until all have seen as many sequences.

    Args:
        plans: Of one sequence length.

    Returns:
        Sequences per GPU and step, and the effort of each plan.
    """
    sequences = lcm(*(plan.job.micro_batch * plan.job.grad_accum for plan in plans))
    found = []
    for plan in plans:
        longer = replace(plan, job=replace(plan.job, grad_accum=sequences // plan.job.micro_batch))
        found.append(
            Effort(
                sent=collective_volume(longer),
                copied=host_volume(longer),
                recomputed=recomputed_share(plan.model, plan.job.checkpointing),
            )
        )
    return sequences, tuple(found)
