"""Where a verb starts that was called without a model: ``zplan.yaml``, the last estimate, or a few questions."""

from __future__ import annotations

import sys
from dataclasses import fields, replace
from pathlib import Path

from zplan.cli.lastplan import last_plan_path, load_last_plan
from zplan.cli.options import PlanOptions
from zplan.errors import ZplanError

PLAN_FILE = "zplan.yaml"


def with_start(options: PlanOptions, *, verb: str) -> tuple[PlanOptions, str | None]:
    """Complete options that name no model.

    In this order: ``zplan.yaml`` in the current folder, the last plan that was estimated, questions on a terminal. What
    was typed wins over all of them.

    Args:
        options: The words of the command line.
        verb: For the hint.

    Returns:
        Options with a model, and where the rest of them comes from; None where everything was typed.

    Raises:
        ZplanError: nothing names a model, or ``zplan.yaml`` is broken.
    """
    if options.model is not None or options.params is not None:
        return options, None
    file = Path(PLAN_FILE)
    if file.exists():
        return _merge(_from_file(file), options), f"{PLAN_FILE} in this folder"
    last = load_last_plan()
    if last is not None:
        return _merge(last, options), f"the last estimate ({last_plan_path()})"
    if sys.stdin is not None and sys.stdin.isatty() and sys.stderr is not None and sys.stderr.isatty():
        return _merge(_ask(options), options), "your answers"
    raise ZplanError("no model was named", f"try zplan {verb} --params 7B --gpus 8 --gpu-mem 80, or estimate it first")


def _merge(found: PlanOptions, typed: PlanOptions) -> PlanOptions:
    """What was typed over what was found."""
    said = {f.name: getattr(typed, f.name) for f in fields(PlanOptions) if getattr(typed, f.name)}
    if "gpu" in said and "gpu_mem" not in said:
        said["gpu_mem"] = None  # another card brings its own memory
    if "gpu_mem" in said and "gpu" not in said:
        said["gpu"] = None
    if ("gpus" in said) != ("nodes" in said):
        said.setdefault("nodes", None)
    return replace(found, **said)


def _from_file(path: Path) -> PlanOptions:
    from zplan.inputs.planfile import read_planfile

    words = read_planfile(path, options=[f.name for f in fields(PlanOptions)]).words
    found = replace(PlanOptions(), **words)  # type: ignore[arg-type]
    if found.model is None and found.params is None:
        raise ZplanError(f"{path.name} names no model", "add a line to it: model: llama-3.1-8b")
    return found


def _machine_defaults() -> tuple[str, str]:
    """GPUs and card to offer: what this machine has, else a common server."""
    from zplan.inputs.machine import read_machine
    from zplan.inputs.machinegpus import preset_of

    gpus = read_machine().gpus
    if not gpus:
        return "8", "80"
    preset = preset_of(gpus[0])
    return str(len(gpus)), preset.name if preset is not None else f"{gpus[0].usable_bytes}B"


def _ask(typed: PlanOptions) -> PlanOptions:
    """Three questions; an empty answer takes what stands in brackets."""
    import typer

    count, card_here = _machine_defaults()
    model = typer.prompt("Model (a preset, a path, or a size such as 7B)", err=True).strip()
    gpus = typed.gpus or typer.prompt("GPUs in all", default=count, err=True).strip()
    card = typed.gpu or typed.gpu_mem
    card = card or typer.prompt("Card (a100-80g, or its memory in GiB)", default=card_here, err=True).strip()
    found = PlanOptions(gpus=gpus)
    found = replace(found, params=model) if model[:1].isdigit() else replace(found, model=model)
    return replace(found, gpu_mem=card) if card[:1].isdigit() else replace(found, gpu=card)
