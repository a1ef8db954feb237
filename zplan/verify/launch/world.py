"""A job that some launcher has started already: torchrun, srun or mpirun gave this process a rank."""

from __future__ import annotations

import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass

from zplan.errors import ZplanError

DEFAULT_PORT = 29500
"""Torch's own default (``torch.distributed.run``)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """This process's place in a job."""

    launcher: str
    rank: int
    size: int
    local_rank: int
    master_addr: str
    master_port: int

    def environment(self) -> dict[str, str]:
        """What torch reads."""
        return {
            "RANK": str(self.rank),
            "WORLD_SIZE": str(self.size),
            "LOCAL_RANK": str(self.local_rank),
            "MASTER_ADDR": self.master_addr,
            "MASTER_PORT": str(self.master_port),
        }


_LAUNCHERS = (
    ("torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK"),
    ("srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID"),
    ("mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"),
    ("mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID"),
)
"""Launcher, and its variables for rank, size and local rank. Slurm's batch script has a rank too, but no step."""


def existing_world(environ: Mapping[str, str]) -> World | None:
    """What a launcher says of this process.

    Args:
        environ: Environment variables.

    Returns:
        Its place, None where no launcher started it or the job has one process.

    Raises:
        ZplanError: The variables contradict each other, or the address of rank 0 is not known.
    """
    for launcher, rank, size, local in _LAUNCHERS:
        if rank in environ and size in environ:
            numbers = [_number(environ, name) for name in (rank, size)]
            place = _number(environ, local) if local in environ else numbers[0]
            if not 0 <= numbers[0] < numbers[1]:
                raise ZplanError(
                    f"{rank}={numbers[0]} is no rank of {size}={numbers[1]}", f"unset {rank} {size}, or start it anew"
                )
            if numbers[1] == 1 and launcher != "torchrun":
                continue
            return World(
                launcher=launcher,
                rank=numbers[0],
                size=numbers[1],
                local_rank=place,
                master_addr=_address(environ, launcher, numbers[1]),
                master_port=_number(environ, "MASTER_PORT") if "MASTER_PORT" in environ else DEFAULT_PORT,
            )
    return None


def _number(environ: Mapping[str, str], name: str) -> int:
    if not re.fullmatch(r"[0-9]{1,9}", environ[name].strip()):
        raise ZplanError(f"{name}={environ[name][:40]!r} in the environment is no number", f"unset {name}")
    return int(environ[name])


def _address(environ: Mapping[str, str], launcher: str, size: int) -> str:
    if environ.get("MASTER_ADDR"):
        return environ["MASTER_ADDR"]
    if launcher == "srun" and environ.get("SLURM_JOB_NODELIST"):
        return first_host(environ["SLURM_JOB_NODELIST"])
    local_size = environ.get("OMPI_COMM_WORLD_LOCAL_SIZE") or environ.get("MPI_LOCALNRANKS")
    if launcher == "torchrun" or local_size == str(size):
        return "127.0.0.1"
    raise ZplanError(
        f"{launcher} started {size} processes, but nothing says where rank 0 is",
        "export MASTER_ADDR=HOST of rank 0 to all of them (mpirun -x MASTER_ADDR=HOST ...)",
    )


def first_host(nodes: str) -> str:
    """The first host of a Slurm node list: ``gpu[017-019,030]`` -> ``gpu017``."""
    match = re.match(r"([^,\[]+)(?:\[([0-9]+))?", nodes)
    return match[1] + (match[2] or "") if match else nodes


def port_in_use(host: str, port: int) -> bool:
    """Whether somebody on this machine listens on a port; False for other machines' addresses.

    Args:
        host: Name or address.
        port: TCP port.
    """
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, proto) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        import errno

        return error.errno == errno.EADDRINUSE
    return False
