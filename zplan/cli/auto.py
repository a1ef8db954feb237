"""``--gpu auto`` and ``--host-mem auto``: what this machine has, in place of the word."""

from __future__ import annotations

from dataclasses import replace

from zplan.cli.options import PlanOptions
from zplan.cli.plan import AUTO
from zplan.errors import ExitCode, ZplanError
from zplan.inputs.machine import Machine, read_machine
from zplan.inputs.machinegpus import preset_of
from zplan.units import format_size


def with_machine(options: PlanOptions) -> tuple[PlanOptions, tuple[str, ...]]:
    """Put what this machine has where the options say ``auto``.

    Args:
        options: The words of the command line; what they say otherwise wins.

    Returns:
        Options without ``auto``, and what was found.

    Raises:
        ZplanError: the machine does not show what was asked for.
    """
    machine = read_machine()
    notes: list[str] = []
    if options.gpu == AUTO:
        options = _with_gpus(options, machine, notes)
    if options.host_mem == AUTO:
        size = machine.host_bytes
        if size is None:
            message = "--host-mem auto: this machine does not tell how much RAM it has"
            raise ZplanError(message, "say it: --host-mem 512GiB", ExitCode.MISSING)
        limited = " (a control group's limit)" if size == machine.cgroup_limit_bytes else ""
        notes.append(f"{format_size(size)} of RAM per node, as this machine has{limited} (--host-mem)")
        options = replace(options, host_mem=f"{size}B")
    return options, tuple(notes)


def _with_gpus(options: PlanOptions, machine: Machine, notes: list[str]) -> PlanOptions:
    """The smallest card stands for all of them: a plan must fit on each."""
    if not machine.gpus:
        message = f"--gpu auto found no card here: {machine.gpus_from}"
        raise ZplanError(message, "name one: --gpu a100-80g, or its memory: --gpu-mem 80", ExitCode.MISSING)
    card = min(machine.gpus, key=lambda gpu: gpu.usable_bytes)
    preset = preset_of(card)
    options = replace(options, gpu=None if preset is None else preset.name)
    if options.gpu_mem is None:
        # Without the driver's own share the total is more than a process gets; the preset knows what CUDA shows then.
        known = preset is None or card.reserved_bytes is not None
        size = card.usable_bytes if known or preset is None else preset.memory_bytes
        options = replace(options, gpu_mem=f"{size}B")
        notes.append(f"{card.name} with {format_size(size)}, as on this machine (--gpu)")
    else:
        notes.append(f"{card.name}, as on this machine (--gpu)")
    if options.gpus is None and options.node is None:
        nodes = int(options.nodes) if options.nodes is not None and options.nodes.isdecimal() else 1
        options = replace(options, gpus=str(len(machine.gpus) * nodes))
        notes.append(f"{options.gpus} GPUs, all that {'such machines have' if nodes > 1 else 'it has'} (--gpus)")
    return options
