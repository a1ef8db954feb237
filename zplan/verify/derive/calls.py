"""Call orders for stage 3: runs the real engine on each family's model without data and writes down which hooks fire when."""

from __future__ import annotations

import json
import os
import pickle
import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, NamedTuple

from zplan.inputs.hf import read_config
from zplan.verify.derive.families import Family

LAYERS = 6
"""As many as Gemma 3 needs to have one of each kind."""
RANK = 8


class Hook(NamedTuple):
    """A module's call begins or ends."""

    backward: bool
    """In the backward phase."""
    begins: bool
    module: str
    forward: bool
    """A forward call; in the backward phase: of a recomputation."""


@dataclass(frozen=True, slots=True)
class Run:
    """One model to run."""

    implementations: tuple[str, ...]
    """Of each layer."""
    config: Mapping[str, Any]
    attention: str
    lora: bool
    checkpointed: bool


def runs(family: Family) -> Iterator[Run]:
    """A family's models, one of each code, in each way that changes calls."""
    from transformers import AutoConfig

    dims = {**family.draw(Random("calls")), "b": 1}
    seen: set[tuple[str, ...]] = set()
    for variant in family.variants:
        config = {"model_type": family.model_type, "num_hidden_layers": LAYERS, **family.config(dims), **variant}
        if "n_layer" in config:
            config["n_layer"] = LAYERS
        whole = json.loads(AutoConfig.for_model(**config).to_json_string(use_diff=False))
        spec = read_config(whole, name="traced", source="traced")
        layers = tuple(spec.block_kinds[kind].implementation.split("+", maxsplit=1)[0] for kind in spec.layers)
        if layers in seen:
            continue
        seen.add(layers)
        for lora in (False, True):
            for checkpointed in (False, True):
                yield Run(layers, whole, family.attentions[0].value, lora, checkpointed)


def hooks_in_child(run: Run) -> list[Hook]:
    """The hooks of a run's second step, from a process of its own, since engines patch global state.

    Raises:
        RuntimeError: The engine failed; its traceback is on stderr.
    """
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            # What engines warn of is their own business, even where warnings are errors.
            warnings.simplefilter("ignore")
            with os.fdopen(writing, "wb") as stream:
                pickle.dump(_hooks(run), stream)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading, "rb") as stream:
        data = stream.read()
    _, status = os.waitpid(child, 0)
    if status or not data:
        raise RuntimeError(f"{run.implementations[0]}: the engine failed")
    found: list[Hook] = pickle.loads(data)
    return found


def _hooks(run: Run) -> list[Hook]:
    from zplan.verify.dryrun import engine_deepspeed, runner

    found: list[Hook] = []
    name_buffers = engine_deepspeed._name_buffers

    def watch(bench: Any, engine: Any) -> None:
        from deepspeed.runtime.zero.partitioned_param_coordinator import PartitionedParameterCoordinator as Coordinator

        name_buffers(bench, engine)
        names = {module: _clean(name) for name, module in engine.module.named_modules()}
        fetch, release, reset = Coordinator.fetch_sub_module, Coordinator.release_sub_module, Coordinator.reset_step

        def note(begins: bool, module: Any, forward: bool) -> None:
            found.append(Hook(bench.tracker.phase == "backward", begins, names[module], forward))

        def fetched(self: Any, module: Any, forward: bool) -> None:
            note(True, module, forward)
            fetch(self, module, forward)

        def released(self: Any, module: Any, forward: bool = False) -> None:
            note(False, module, forward)
            release(self, module, forward)

        def restarted(self: Any) -> None:
            found.clear()
            reset(self)

        Coordinator.fetch_sub_module, Coordinator.release_sub_module = fetched, released
        Coordinator.reset_step = restarted

    engine_deepspeed._name_buffers = watch
    case = {
        "engine": "deepspeed",
        "stage": 3,
        "world": 2,
        "seq_len": 64,
        "checkpointing": "full" if run.checkpointed else "none",
        "attention": run.attention,
        "optimizer": "sgd",
        "model": run.config,
        "lora": RANK if run.lora else None,
        "zero": {"stage3_param_persistence_threshold": 0},
    }
    runner.run_case(case)
    return found


def _clean(name: str) -> str:
    """A module's name in the model that peft wraps; peft's own modules keep theirs."""
    return name.removeprefix("base_model.model.")


def orders(run: Run, hooks: Sequence[Hook]) -> dict[str, dict[str, str]]:
    """Orders by implementation and piece.

    Raises:
        ValueError: Calls of one block begin before those of another have ended.
    """
    pieces = _split(hooks, len(run.implementations))
    last = len(run.implementations)
    again = "again" if run.checkpointed else "backward"
    around = {
        "stem": order(pieces[False, -1]),
        "head": order(pieces[False, last]),
        "head backward": order(pieces[True, last]),
        f"stem {again}": order(pieces.get((True, -1), [])),
    }
    found: dict[str, dict[str, str]] = {}
    for index, implementation in enumerate(run.implementations):
        key = f"{implementation} lora" if run.lora else implementation
        forward, backward = order(pieces[False, index]), order(pieces[True, index])
        one = found.setdefault(key, dict(around))
        name = f"block {again}"
        if index == 0 and implementation in run.implementations[1:]:
            one[f"first {again}"] = backward
        elif one.setdefault("block", forward) != forward or one.setdefault(name, backward) != backward:
            raise ValueError(f"{key}: layer {index} is called in another order")
    for one in found.values():
        if one.get(f"first {again}") == one[f"block {again}"]:
            del one[f"first {again}"]
    return found


def _split(hooks: Sequence[Hook], layers: int) -> dict[tuple[bool, int], list[Hook]]:
    """Hooks by phase and piece, with names relative to blocks."""
    pattern = re.compile(r"(?P<trunk>.*?)\.(?P<index>\d+)(?:\.(?P<rest>.*))?$")
    found: dict[tuple[bool, int], list[Hook]] = {}
    current = -1
    for hook in hooks:
        match = pattern.match(hook.module)
        if match:
            index, name = int(match["index"]), match["rest"] or ""
            if hook.begins and not name and index != current:
                current = index
            if index != current:
                raise ValueError(f"{hook.module} is called within block {current}")
        else:
            name = hook.module
            if 0 <= current < layers:
                current = -1 if hook.backward else layers
            elif hook.backward and not found.get((True, layers - 1)):
                current = layers
        found.setdefault((hook.backward, current), []).append(hook._replace(module=name))
    return found


_PARTS = (".base_layer", ".lora_dropout.default", ".lora_A.default", ".lora_B.default")


def order(hooks: Sequence[Hook]) -> str:
    """Hooks of one piece as text: see ``zplan/memory/engines/calls.py``."""
    tokens: list[str] = []
    again = False
    position = 0
    while position < len(hooks):
        hook = hooks[position]
        inner = hook.backward and hook.forward
        if inner is not again:
            tokens.append("<" if inner else ">")
            again = inner
        following = hooks[position + 1] if position + 1 < len(hooks) else None
        whole = hook.begins and following == hook._replace(begins=False)
        tokens.append(("" if whole else "+" if hook.begins else "-") + (hook.module or "."))
        position += 2 if whole else 1
    text = f" {' '.join(tokens)}{' >' if again else ''} "
    for name in {hook.module.removesuffix(_PARTS[0]) for hook in hooks if hook.module.endswith(_PARTS[0])}:
        for sign, parts in (("*", _PARTS), ("^", _PARTS[::-1])):
            inside = " ".join(name + part for part in parts)
            text = text.replace(f" +{name} {inside} -{name} ", f" {name}{sign} ")
    return text.strip()


def module_text(found: Mapping[str, Mapping[str, str]], versions: str) -> str:
    """The module that holds all orders; equal texts are written once."""
    names: dict[str, str] = {}
    for one in found.values():
        for text in one.values():
            names.setdefault(text, f"O{len(names)}")
    lines = [
        '"""Orders of module calls under stage 3, by benchmarks/derive_calls.py.',
        "",
        f"Derived from {versions}.",
        '"""',
        "",
    ]
    for text, name in names.items():
        parts = _wrapped(text)
        if len(name) + len(text) + 5 <= LINE:
            lines.append(f'{name} = "{text}"')
        else:
            lines += [f"{name} = (", *(f'    "{part}"' for part in parts), ")"]
    lines += ["ORDERS: dict[str, dict[str, str]] = {"]
    for key, one in found.items():
        lines += [f'    "{key}": {{', *(f'        "{piece}": {names[text]},' for piece, text in one.items()), "    },"]
    return "\n".join([*lines, "}", ""])


LINE = 120


def _wrapped(text: str, width: int = 110) -> list[str]:
    """A text in pieces that fit a line; every piece but the last ends with a space."""
    parts, line = [], ""
    for word in text.split(" "):
        if line and len(line) + len(word) >= width:
            parts.append(line)
            line = ""
        line += f"{word} "
    return [*parts, line.removesuffix(" ")]
