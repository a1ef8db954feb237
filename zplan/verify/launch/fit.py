"""Whether a launch is predicted to fit into what is here, asked before anything is started. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from zplan.errors import ExitCode, ZplanError
from zplan.memory.moments import Estimate
from zplan.units import format_size
from zplan.verify.launch.run import DRYRUN, SINGLE, Request

_HINT = "zplan verify --launch dryrun needs none of it; or name a smaller --model, or add --force"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What this machine has; None where it is not known."""

    gpus: int = 0
    card_bytes: int | None = None
    """What a process can use of the smallest card."""
    ram_bytes: int | None = None
    """Available RAM."""


def ranks_here(request: Request) -> int:
    """Processes that a launch runs on this machine."""
    return 1 if request.launch != "torchrun" else int(request.case["world"]) // request.nodes


def default_launch(*, gpus_here: int, world: int, nodes: int, in_a_job: bool) -> str:
    """Which launch nobody asked for.

    Args:
        gpus_here: GPUs of this machine.
        world: Ranks of the plan.
        nodes: Nodes of the plan.
        in_a_job: Whether a launcher has started this process as one of several.

    Returns:
        The real job where it can run as it is: inside one, or with a GPU for each of several ranks on this machine;
        one real rank where there is a GPU at all; the dry run elsewhere.
    """
    if in_a_job:
        return "torchrun"
    if not gpus_here:
        return DRYRUN
    return "torchrun" if nodes == 1 and 1 < world <= gpus_here else SINGLE


def check_room(estimate: Estimate | None, request: Request, room: Room, *, build_bytes: int = 0) -> None:
    """Refuse a launch that is predicted not to fit.

    Args:
        estimate: The prediction, None where there is none: then nothing is refused.
        request: The launch.
        room: What this machine has.
        build_bytes: Host memory in which each process first builds the model.

    Raises:
        ZplanError: With the numbers, and what to do instead.
    """
    if request.launch == DRYRUN or estimate is None:
        return
    ranks = ranks_here(request)
    need = max(estimate.phases["init"], estimate.worst_rank_peak_bytes)
    if request.device == "cuda":
        _check_card(estimate, request, room, ranks)
        _check_ram(build_bytes, ranks, room, "to build the model in")
        return
    if request.max_memory_bytes is not None and need > request.max_memory_bytes:
        raise _too_large(
            f"{format_size(need)} per process", f"--max-memory-gib allows {format_size(request.max_memory_bytes)}"
        )
    _check_ram(need, ranks, room, "for tensors alone")


def _check_card(estimate: Estimate, request: Request, room: Room, ranks: int) -> None:
    if ranks > room.gpus:
        raise ZplanError(
            f"{ranks} processes need {ranks} GPUs, and this machine has {room.gpus}",
            "use --launch single for one rank of the job on one GPU, or --launch dryrun",
            ExitCode.MISSING,
        )
    need = estimate.runtime.device_expected_bytes
    if request.max_memory_bytes is not None and need > request.max_memory_bytes:
        raise _too_large(
            f"{format_size(need)} of a card", f"--max-memory-gib allows {format_size(request.max_memory_bytes)}"
        )
    if room.card_bytes is not None and need > room.card_bytes:
        raise _too_large(f"{format_size(need)} of a card", f"the card here has {format_size(room.card_bytes)}")


def _check_ram(need: int, ranks: int, room: Room, purpose: str) -> None:
    if room.ram_bytes is not None and need * ranks > room.ram_bytes:
        each = f"{ranks} x {format_size(need)} = " if ranks > 1 else ""
        raise _too_large(
            f"{each}{format_size(need * ranks)} of RAM {purpose}", f"{format_size(room.ram_bytes)} is available"
        )


def _too_large(needed: str, given: str) -> ZplanError:
    return ZplanError(
        f"not launched: the plan is predicted to need {needed}, and {given}", _HINT, ExitCode.DOES_NOT_FIT
    )
