"""``--launch single``: one rank of an N-rank job with real tensors; a fake process group stands for the other ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from zplan.verify.cuda import Driver
from zplan.verify.dryrun.case import Case
from zplan.verify.dryrun.world import fake_world
from zplan.verify.realrun import echoing_peers, measure

LIMITS = ("The other ranks are simulated: collectives move nothing, so the buffers of NCCL are not seen.",)


def run_single(
    case: Case, *, device: str, driver: Driver | None = None, progress: Callable[[str, float], None] | None = None
) -> dict[str, Any]:
    """Run one rank for real.

    Args:
        case: The case, with the rank to be.
        device: ``cpu`` or ``cuda``.
        driver: What the driver says of the card; needed for ``cuda``.
        progress: Told the phase that runs and the share of the work done.

    Returns:
        What :func:`zplan.verify.realrun.measure` returns.

    Raises:
        ZplanError: If the case cannot be run.
    """
    with fake_world(case.world, case.rank), echoing_peers(case.rank):
        result = measure(case, device=device, peers=False, driver=driver, progress=progress)
    if case.world > 1:
        result["limits"] = [*LIMITS, *result["limits"]]
    return result
