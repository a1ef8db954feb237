"""``zplan presets``: the models, cards and machines that zplan knows by name."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from zplan.cli.command import Command, Group
from zplan.cli.output import draw, emit
from zplan.cli.parse import parse_word, unknown
from zplan.errors import ExitCode, ZplanError

if TYPE_CHECKING:
    from zplan.spec import GpuSpec, ModelSpec, NodeSpec

app = typer.Typer(cls=Group, add_completion=False)

KINDS = ("models", "gpus", "nodes")

JsonFlag = Annotated[bool, typer.Option("--json", help="One JSON object; sizes are bytes.")]


@app.callback()
def presets() -> None:
    """Models, cards and machines by name.

    A folder of your own is read too, and wins: ZPLAN_PRESETS=~/presets, with models/NAME.yaml and so on in it.

    \b
    zplan presets ls gpus
    zplan presets show llama-3.1-8b
    """  # noqa: D301 (typer reads the literal \b, which keeps the lines below it as they are)


@app.command("ls", cls=Command)
def list_presets(
    kind: Annotated[
        str | None, typer.Argument(metavar="KIND", help="models, gpus or nodes. Default: all names.")
    ] = None,
    json: JsonFlag = False,
) -> ExitCode:
    """List presets.

    \b
    zplan presets ls
    zplan presets ls models
    zplan presets ls gpus --json
    """  # noqa: D301
    word = parse_word(kind, KINDS, flag="zplan presets ls", what="kind of preset")
    if word is None:
        _list_names(json)
    else:
        _list_kind(word, json)
    return ExitCode.OK


@app.command("show", cls=Command)
def show_preset(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A preset's name or alias.")] = None,
    json: JsonFlag = False,
) -> ExitCode:
    """Show everything that a preset says, and where it says it.

    \b
    zplan presets show a100-80g
    zplan presets show llama-3.1-8b --json
    """  # noqa: D301
    from zplan.inputs.presets import KINDS as kinds
    from zplan.inputs.presets import find, show

    if name is None:
        raise ZplanError("which preset?", "zplan presets show a100-80g; all names: zplan presets ls")
    kind = next((kind for kind in kinds.values() if find(kind, name) is not None), None)
    if kind is None:
        names = [each for group in _names().values() for each in group]
        template = "zplan presets show {}"
        raise unknown(name, names, what="preset", template=template, otherwise="list them: zplan presets ls")
    found, content = show(kind, name)
    if json:
        _emit_json({"kind": kind.folder, "file": found.source, **content})
    else:
        from zplan.render.presets import render_preset

        draw(lambda console: render_preset(console, found.source, content))
    return ExitCode.OK


def _names() -> dict[str, tuple[str, ...]]:
    from zplan.inputs.presets import list_gpus, list_models, list_nodes

    return {"models": list_models(), "gpus": list_gpus(), "nodes": list_nodes()}


def _list_names(json: bool) -> None:
    names = _names()
    if json:
        _emit_json({kind: list(each) for kind, each in names.items()})
        return
    from zplan.render.presets import render_names

    draw(lambda console: render_names(console, names))


def _list_kind(kind: str, json: bool) -> None:
    from zplan.inputs.presets import load_gpu, load_model, load_node
    from zplan.render.presets import render_gpus, render_models, render_nodes

    names = _names()[kind]
    if kind == "models":
        models = [load_model(name) for name in names]
        if json:
            _emit_json({"models": [_model_object(model) for model in models]})
        else:
            draw(lambda console: render_models(console, models))
    elif kind == "gpus":
        cards = [load_gpu(name) for name in names]
        if json:
            _emit_json({"gpus": [_gpu_object(card) for card in cards]})
        else:
            draw(lambda console: render_gpus(console, cards))
    else:
        machines = [load_node(name) for name in names]
        if json:
            _emit_json({"nodes": [_node_object(machine) for machine in machines]})
        else:
            draw(lambda console: render_nodes(console, machines))


def _model_object(model: "ModelSpec") -> dict[str, Any]:
    return {
        "name": model.name,
        "params": model.params,
        "family": model.family,
        "num_layers": model.num_layers,
        "hidden_size": model.hidden_size,
        "max_seq_len": model.max_seq_len,
        "source": model.source,
    }


def _gpu_object(card: "GpuSpec") -> dict[str, Any]:
    return {
        "name": card.name,
        "title": card.title,
        "memory_bytes": card.memory_bytes,
        "flops_16bit": card.flops_16bit,
        "memory_bandwidth": card.memory_bandwidth,
        "lacks": list(card.lacks),
        "flash_attention": card.flash_attention,
        "source": card.source,
    }


def _node_object(machine: "NodeSpec") -> dict[str, Any]:
    return {
        "name": machine.name,
        "title": machine.title,
        "gpu": machine.gpu,
        "gpus_per_node": machine.gpus_per_node,
        "host_memory_bytes": machine.host_memory_bytes,
        "source": machine.source,
    }


def _emit_json(value: dict[str, Any]) -> None:
    from zplan.render.jsonout import dumps

    emit(dumps(value))
