"""``zplan sweep``: a grid over one to three knobs, and the edge of what fits."""

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from zplan.cli.command import Command, takes_options
from zplan.cli.options import OUTPUT, PlanOptions
from zplan.cli.output import draw, emit, one_line
from zplan.cli.parse import parse_word
from zplan.errors import ExitCode, ZplanError
from zplan.units import Unit, visible

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from zplan.advice.sweep import Frontier, Sweep

app = typer.Typer(add_completion=False)

SWEEP = "Sweep"
_OF_MODEL = {"params", "model", "lora"}
_OF_CLUSTER = {"gpus", "nodes", "gpu", "gpu_mem", "node", "host_mem", "nvme"}


@dataclass(frozen=True, slots=True, kw_only=True)
class SweepOptions:
    """What to go over, and where the answer goes."""

    over: Annotated[
        list[str] | None,
        Option(
            "--over",
            metavar="OPTION=VALUES",
            rich_help_panel=SWEEP,
            help="An option of estimate and its values: stage=0..3, micro-batch=1,2,4,8, seq-len=2k..128k (doubling), "
            "seq-len=2k..16k:2k (in steps). One to three times.",
            show_default=False,
        ),
    ] = None
    csv: Annotated[bool, Option("--csv", rich_help_panel=OUTPUT, help="One line per cell; sizes are bytes.")] = False
    json: Annotated[bool, Option("--json", rich_help_panel=OUTPUT, help="One JSON object; sizes are bytes.")] = False
    svg: Annotated[
        str | None, Option("--svg", metavar="FILE", rich_help_panel=OUTPUT, help="Draw the heat map as SVG.")
    ] = None
    png: Annotated[
        str | None,
        Option("--png", metavar="FILE", rich_help_panel=OUTPUT, help="Draw the heat map as PNG; needs CairoSVG."),
    ] = None
    force: Annotated[bool, Option("--force", rich_help_panel=OUTPUT, help="Replace an existing file.")] = False
    unit: Annotated[
        str | None,
        Option("--unit", metavar="UNIT", rich_help_panel=OUTPUT, help="GiB (2^30 bytes) or GB (10^9). Default: GiB."),
    ] = None


@app.command(cls=Command)
@takes_options
def sweep(plan: PlanOptions, output: SweepOptions) -> ExitCode:
    """Price a grid of plans: what fits, what is tight, and where the edge is.

    Any option can be swept over. a..b doubles from a and ends with b; stage and rank count up by one; a..b:c goes in
    steps of c. Where no stage is said, every stage is shown. What cannot be run is a dash, with its reason.

    \b
    zplan sweep --params 7B --gpus 8 --gpu-mem 80 --over micro-batch=1..16 --over seq-len=2k..32k --stage 3
    zplan sweep --model llama-3.1-8b --gpu h100-80g --over gpus=1..64 --over checkpointing=none,full --stage 3
    zplan sweep --params 13B --gpus 8 --gpu-mem 80 --over stage=0..3 --over micro-batch=1,2,4,8 --csv
    zplan sweep --params 7B --gpus 8 --gpu a100-40g --over seq-len=1k..16k --svg sweep.svg
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)
    from zplan.advice.sweep import frontier
    from zplan.advice.sweep import sweep as price_grid
    from zplan.cli.grid import build_grid

    unit = Unit(parse_word(output.unit, [u.value for u in Unit], flag="--unit", what="unit") or Unit.GIB)
    if output.csv and output.json:
        raise ZplanError("--csv and --json contradict each other", "keep one of them")
    options, source = _start(plan, output.over or ())
    grid = build_grid(options, output.over or ())
    found = price_grid([axis.axis for axis in grid.axes], grid.plans, worst_rank=grid.worst_rank)
    notes = grid.assumptions if source is None else (f"the plan of {source}", *grid.assumptions)
    edge = frontier(found)
    for path, draw_file in ((output.svg, _svg), (output.png, _png)):
        if path is not None:
            from zplan.export.files import save_bytes

            saved = save_bytes(path, draw_file(found, edge, unit), force=output.force)
            _tell(f"{saved} written")
    if output.csv:
        from zplan.render.sweep import sweep_csv

        emit(sweep_csv(found))
    elif output.json:
        _print_json(found, edge, notes)
    else:
        _draw(found, edge, notes, unit)
    return ExitCode.OK


def _start(plan: PlanOptions, over: "Sequence[str]") -> tuple[PlanOptions, str | None]:
    """What was typed, or what the last plan says where no model was: what is swept over is then left to the sweep."""
    from zplan.cli.axes import parse_axis
    from zplan.cli.start import with_start

    names = {axis.axis.name for axis in map(parse_axis, over)}
    if names & {"params", "model"}:
        return plan, None
    options, source = with_start(plan, verb="sweep")
    if source is not None:
        typed = {name for name in names if getattr(plan, name)}
        options = replace(options, **{name: getattr(PlanOptions(), name) for name in names - typed})
    return options, source


def _tell(line: str) -> None:
    """What is said beside the answer."""
    typer.echo(one_line(line), err=True)


def _svg(found: "Sweep", edge: "Frontier | None", unit: Unit) -> bytes:
    from zplan.render.heatmap import sweep_svg

    return visible(sweep_svg(found, edge, unit=unit)).encode()


def _png(found: "Sweep", edge: "Frontier | None", unit: Unit) -> bytes:
    """The SVG, drawn by an optional library."""
    instead = "pip install 'zplan[png]', or draw it as SVG, which needs nothing: --svg sweep.svg"
    try:
        import cairosvg
    except ImportError:
        raise ZplanError("--png needs CairoSVG, which is not installed", instead, ExitCode.MISSING) from None
    except OSError:
        hint = "apt install libcairo2, or draw it as SVG, which needs nothing: --svg sweep.svg"
        raise ZplanError(
            "--png needs the cairo library, which CairoSVG does not find", hint, ExitCode.MISSING
        ) from None
    image: bytes = cairosvg.svg2png(bytestring=_svg(found, edge, unit), scale=2)
    return image


def _print_json(found: "Sweep", edge: "Frontier | None", notes: "Sequence[str]") -> None:
    from zplan.render.jsonout import cluster_object, dumps, model_object
    from zplan.render.sweep import sweep_object

    swept, plan = {axis.name for axis in found.axes}, found.first_plan
    model: Any = None if swept & _OF_MODEL else model_object(plan.model, plan.job.lora)
    cluster: Any = None if swept & _OF_CLUSTER else cluster_object(plan.cluster)
    emit(dumps(sweep_object(found, edge, notes, model, cluster)))


def _draw(found: "Sweep", edge: "Frontier | None", notes: "Sequence[str]", unit: Unit) -> None:
    def paint(console: "Console") -> None:
        from zplan.render.sweep import render_sweep

        render_sweep(console, found, edge, notes, unit=unit)

    draw(paint)
