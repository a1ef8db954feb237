"""Rules about keys: misspelt, misplaced, removed, deprecated, without effect; and text that is not JSON."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches

from zplan.advice.lint import COSTS, NOTE, STOPS, USELESS, Context, Edit, Finding, Rule
from zplan.inputs.deepspeed import ZERO, zero_section
from zplan.inputs.dskeys import (
    ACTIVATION_KEYS,
    DATA_TYPE_KEYS,
    OPTIMIZER_KEYS,
    REMOVED_KEYS,
    REMOVED_ZERO_KEYS,
    SECTIONS,
    SHORT_NAMES,
    THIRD,
    ZERO_KEYS,
)
from zplan.inputs.dsvalues import AUTO
from zplan.inputs.jsontext import KeyPath

_LENIENT: Mapping[KeyPath, tuple[str, ...]] = {
    ("activation_checkpointing",): ACTIVATION_KEYS,
    ("data_types",): DATA_TYPE_KEYS,
    ("optimizer",): OPTIMIZER_KEYS,
}
"""Sections whose unknown keys DeepSpeed ignores, as it does at the top."""
_FILLED = (
    "reduce_bucket_size",
    "stage3_prefetch_bucket_size",
    "stage3_param_persistence_threshold",
    "stage",
    "stage3_gather_16bit_weights_on_model_save",
)
"""ZeRO keys whose "auto" transformers or accelerate fill; DeepSpeed drops every other."""


def _irregular(context: Context) -> Iterator[Finding]:
    for kind in ("comment", "trailing comma"):
        places = [i.position for i in context.config.irregularities if i.kind == kind]
        if places:
            many = len(places) > 1
            yield Finding(
                code=kind.replace(" ", "-"),
                severity=COSTS,
                key="",
                what=f"{len(places)} {kind}s, the first" if many else f"a {kind}",
                why="JSON has none: DeepSpeed reads with hjson, but transformers and accelerate with json, and stop",
                fix="take it out; zplan check --fix writes the file without",
                cost="no start under the Trainer or accelerate",
                position=places[0],
            )


def _sections(context: Context) -> Iterator[tuple[KeyPath, Mapping[str, object], list[str], bool]]:
    """Path, content, known keys and whether DeepSpeed refuses others, for each section that the file has."""
    config = context.config
    for path, keys in SECTIONS.items():
        content = config.get(path) if path else config.value
        if isinstance(content, Mapping):
            known = [*keys, *(SHORT_NAMES if path == ZERO else ())]
            yield path, content, known, bool(path)
    for path, names in _LENIENT.items():
        content = config.get(path)
        if isinstance(content, Mapping):
            yield path, content, list(names), False


def _unknown(context: Context) -> Iterator[Finding]:
    for path, content, known, strict in _sections(context):
        removed = REMOVED_KEYS if not path else REMOVED_ZERO_KEYS if path == ZERO else {}
        for name in content:
            if name in known or name in removed or (not strict and name.lstrip("_/#").lower().startswith("comment")):
                continue
            yield _misspelt((*path, name), known, strict, context)


def _misspelt(path: KeyPath, known: list[str], strict: bool, context: Context) -> Finding:
    name, where = path[-1], ".".join(path[:-1]) or "the top level"
    edits: tuple[Edit, ...] = ()
    home = next((p for p, keys in SECTIONS.items() if name in keys and p not in (path[:-1], ("bfloat16",))), None)
    near = get_close_matches(name.lower(), known, n=1, cutoff=0.75)
    if home is not None and name != "enabled":
        fix = f"move it to {'.'.join(home) or 'the top level'}"
        edits = (Edit(path=path, action="move", to=(*home, name)),)
    elif near:
        fix = f"did you mean {near[0]}?"
        if context.config.get((*path[:-1], near[0])) is None:
            edits = (Edit(path=path, action="move", to=(*path[:-1], near[0])),)
    else:
        fix = "take it out, or see the keys at deepspeed.ai/docs/config-json"
        edits = (Edit(path=path, action="remove"),) if strict else ()
    return context.finding(
        "unknown-key",
        STOPS if strict else USELESS,
        path,
        what=f"{name} is no key of {where}",
        why="DeepSpeed refuses unknown keys here" if strict else "DeepSpeed ignores unknown keys here, without a word",
        fix=fix,
        cost="no start" if strict else "the setting is not made",
        edits=edits,
    )


def _removed(context: Context) -> Iterator[Finding]:
    for path, removed, content in (
        ((), REMOVED_KEYS, context.config.value),
        (ZERO, REMOVED_ZERO_KEYS, zero_section(context.config)),
    ):
        for name, what in removed.items():
            if name in content:
                full = (*path, name)
                yield context.finding(
                    "removed-key",
                    STOPS,
                    full,
                    what=f"{'.'.join(full)} is refused",
                    why=f"DeepSpeed 0.19 has removed {what} and does not start with its key (runtime/config.py)",
                    fix="take it out",
                    cost="no start",
                    edits=(Edit(path=full, action="remove"),),
                )


_DEPRECATED = {
    "cpu_offload": ("offload_optimizer", {"device": "cpu"}),
    "cpu_offload_param": ("offload_param", {"device": "cpu"}),
    "cpu_offload_use_pin_memory": (None, None),
    "stage3_gather_fp16_weights_on_model_save": ("stage3_gather_16bit_weights_on_model_save", None),
}


def _deprecated(context: Context) -> Iterator[Finding]:
    zero = zero_section(context.config)
    for name, (instead, value) in _DEPRECATED.items():
        if name not in zero:
            continue
        path = (*ZERO, name)
        remove = Edit(path=path, action="remove")
        edits: tuple[Edit, ...] = (remove,)
        if instead is not None and instead not in zero and zero[name] is True:
            edits = (remove, Edit(path=(*ZERO, instead), action="set", value=value or True))
        better = f'write "{instead}"' if instead else 'write "pin_memory" into the offload sections'
        yield context.finding(
            "deprecated-key",
            NOTE if instead is None or instead not in zero else STOPS,
            path,
            what=f"{name} is deprecated",
            why="DeepSpeed still turns it into its successor, and refuses both together (runtime/zero/config.py)",
            fix=better + (f": {value}".replace("'", '"') if value else " instead"),
            edits=edits,
        )
    if isinstance(context.config.get(ZERO), bool):
        yield context.finding(
            "deprecated-key",
            NOTE,
            ZERO,
            what="zero_optimization as true or false is deprecated",
            why="DeepSpeed reads true as stage 1 and warns (runtime/zero/config.py)",
            fix='write "zero_optimization": {"stage": 1}',
            edits=(Edit(path=ZERO, action="set", value={"stage": context.job.stage}),),
        )


def _useless(context: Context) -> Iterator[Finding]:
    stage = context.job.stage
    zero = zero_section(context.config)
    for name in zero:
        key = ZERO_KEYS.get(SHORT_NAMES.get(name, name))
        if key is None or stage in key.stages or (key.kind == "section" and not _offloads(zero[name])):
            continue
        # A key of stage 3 says what is meant, whatever its value; others with their default change nothing anywhere.
        if zero[name] in (None, AUTO) or (key.stages != THIRD and not _differs(zero[name], key.default)):
            continue
        if key.stages:
            stages = " and ".join(str(s) for s in key.stages) if len(key.stages) < 3 else "1 to 3"
            why = f"only stage{'s' if len(key.stages) > 1 else ''} {stages} read{'' if len(key.stages) > 1 else 's'} it"
        else:
            why = "no code reads it any more"
        path = (*ZERO, name)
        yield context.finding(
            "no-effect",
            USELESS,
            path,
            what=f"{name} does nothing at stage {stage}",
            why=why,
            fix=_instead(name, stage),
            cost="the setting is not made",
            edits=(Edit(path=path, action="remove"),),
        )
    if stage in (1, 2) and _differs(zero.get("allgather_bucket_size"), 500_000_000):
        yield context.finding(
            "no-effect",
            USELESS,
            (*ZERO, "allgather_bucket_size"),
            what="allgather_bucket_size costs and saves no memory",
            why="torch has all_gather_into_tensor, and DeepSpeed then gathers in one call (runtime/utils.py)",
            fix="take it out; reduce_bucket_size is the bucket that costs memory",
            edits=(Edit(path=(*ZERO, "allgather_bucket_size"), action="remove"),),
        )


def _differs(value: object, default: object) -> bool:
    return value is not None and value not in (default, AUTO)


def _offloads(section: object) -> bool:
    return not isinstance(section, Mapping) or section.get("device", "none") not in ("none", AUTO, None)


def _instead(name: str, stage: int) -> str:
    if name == "offload_param":
        return "use stage 3 to offload parameters, or take it out"
    if name == "offload_optimizer":
        return "use stage 1, 2 or 3 to offload the optimizer, or take it out"
    return "take it out" if stage else "take it out, or choose a stage above 0"


def _automatic(context: Context) -> Iterator[Finding]:
    dropped = [
        name
        for name, value in zero_section(context.config).items()
        if value == AUTO and SHORT_NAMES.get(name, name) not in _FILLED
    ]
    for name in dropped:
        yield context.finding(
            "auto-is-default",
            NOTE,
            (*ZERO, name),
            what=f'"auto" for {name} is DeepSpeed\'s default',
            why="the Trainer fills the bucket sizes and the persistence threshold alone; DeepSpeed drops other autos",
            fix="take it out, or write a value",
            edits=(Edit(path=(*ZERO, name), action="remove"),),
        )


def _activation_section(context: Context) -> Iterable[Finding]:
    path = ("activation_checkpointing",)
    if context.config.get(path) is None:
        return ()
    return (
        context.finding(
            "activation-checkpointing",
            NOTE,
            path,
            what="activation_checkpointing does not turn checkpointing on",
            why="it configures deepspeed.checkpointing, which the model has to call; Hugging Face models use torch's",
            fix="set gradient_checkpointing in TrainingArguments, and price it: zplan check ... --checkpointing full",
        ),
    )


KEY_RULES: tuple[Rule, ...] = (
    _irregular,
    _removed,
    _unknown,
    _deprecated,
    _useless,
    _automatic,
    _activation_section,
)
"""In no particular order."""
