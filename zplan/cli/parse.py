"""From the words of the options to typed values, with a did-you-mean for every closed set.

``None`` still means that nothing was said; defaults come later, in ``zplan.cli.plan``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from zplan.errors import ZplanError
from zplan.spec import Attention, Checkpointing, Engine, Loss, Offload, OffloadTo, Precision, Quantize
from zplan.units import GIB, MIB, PIB, TIB, parse_int, parse_size, parse_tokens, quote

E = TypeVar("E", bound=Enum)

STAGES = ("0", "1", "2", "3", "all")
WORST = "worst"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobWords:
    """What was said about the job, parsed. Where the text came from (flag or file) no longer matters."""

    engine: Engine | None = None
    stage: int | None = None
    all_stages: bool = False
    """``--stage all`` was said."""
    offload: Offload | None = None
    offload_to: OffloadTo | None = None
    precision: Precision | None = None
    optimizer: str | None = None
    micro_batch: int | None = None
    seq_len: int | None = None
    grad_accum: int | None = None
    checkpointing: Checkpointing | None = None
    attention: Attention | None = None
    loss: Loss | None = None
    compile: bool = False
    lora: int | None = None
    quantize: Quantize | None = None
    hpz: int | None = None
    zero_init: bool | None = None
    rank: int | None = None
    worst_rank: bool = False
    """``--rank worst`` was said."""


MEANT = {
    "--engine": {"deepspeed": "zero ds zero1 zero2 zero3", "fsdp2": "fsdp fully_shard", "single": "none no one 1"},
    "--stage": {"0": "zero0 ddp no_shard", "1": "zero1", "2": "zero2 shard_grad_op", "3": "zero3 full_shard"},
    "--offload": {
        "none": "no off false",
        "optimizer": "cpu ram host states optim",
        "all": "yes on true both full param params parameters",
    },
    "--offload-to": {"cpu": "ram host memory", "nvme": "disk ssd"},
    "--precision": {
        "bf16": "bfloat16 bf16-mixed mixed amp 16",
        "fp16": "float16 half fp16-mixed",
        "fp32": "float32 float single full tf32 32 no none",
    },
    "--optimizer": {"adamw": "adam fusedadam", "adamw_8bit": "8bit adamw_bnb_8bit adam8bit adamw8bit"},
    "--checkpointing": {"full": "yes on true 1 all gradient activation", "none": "no off false 0"},
    "--attention": {
        "flash": "flash2 flash3 fa2 fa3 flash_attention flash_attention_2 flash_attention_3 flash-attn",
        "sdpa": "xformers efficient mem_efficient",
        "eager": "naive",
    },
    "--loss": {"fused": "liger cce fused_linear", "standard": "ce cross_entropy hf default"},
    "--quantize": {"nf4": "int4 fp4 4bit 4 qlora bnb", "int8": "8bit 8"},
    "--zero-init": {"on": "yes true 1", "off": "no false 0"},
}
"""Flag -> its word -> what others call it. Suggested, never taken: what looks alike can mean the opposite (on, none)."""


def unknown(text: str, allowed: Iterable[str], *, what: str, template: str, otherwise: str | None = None) -> ZplanError:
    """The error for a word outside of a closed set.

    Args:
        text: The word.
        allowed: The set.
        what: What the word should have named.
        template: A command or flag with ``{}`` where the word goes.
        otherwise: Hint when nothing is near; the whole set by default.

    Returns:
        An error that names the nearest words, or the whole set.
    """
    from difflib import get_close_matches

    names = list(allowed)
    meant = MEANT.get(template.partition(" ")[0], {})
    plain = text.strip().lower()
    near = [name for name in names if plain in meant.get(name, "").split()]
    near = near or get_close_matches(plain, names, n=3, cutoff=0.6)
    if near:
        hint = "did you mean " + " or ".join(template.format(name) for name in near) + "?"
    else:
        hint = otherwise or "one of " + ", ".join(names) + ", as in " + template.format(names[0])
    return ZplanError(f"unknown {what} {quote(text)}", hint)


def parse_word(text: str | None, allowed: Iterable[str], *, flag: str, what: str) -> str | None:
    """One word of a closed set, in any case; None stays None.

    Raises:
        ZplanError: not in the set; the hint names the nearest.
    """
    if text is None:
        return None
    names = tuple(allowed)
    for name in names:
        if text.strip().lower() == name.lower():
            return name
    raise unknown(text, names, what=what, template=flag + " {}")


def _member(kind: type[E], text: str | None, *, flag: str, what: str) -> E | None:
    word = parse_word(text, [member.value for member in kind], flag=flag, what=what)
    return None if word is None else kind(word)


def _quantize(text: str | None, *, alone: bool) -> Quantize | None:
    """A format of frozen weights; ``alone``: without --lora, which the hint then adds."""
    names = tuple(member.value for member in Quantize)
    if text is None or text.strip().lower() in names:
        return None if text is None else Quantize(text.strip().lower())
    raise unknown(text, names, what="quantization", template="--quantize {}" + (" --lora 16" if alone else ""))


def parse_checkpointing(text: str | None) -> Checkpointing | None:
    """``none``, ``full``, ``selective`` or ``every-K``."""
    if text is None:
        return None
    every = re.fullmatch(r"every-(.*)", text.strip().lower())
    if every is not None:
        if not re.fullmatch(r"[1-9][0-9]{0,5}", every[1]):
            message = f"--checkpointing {quote(text)}: K in every-K is a whole number from 1"
            raise ZplanError(message, "try --checkpointing every-2")
        return Checkpointing(kind="every-k", every=int(every[1]))
    kind = parse_word(text, ("none", "full", "selective", "every-2"), flag="--checkpointing", what="checkpointing")
    return Checkpointing(kind=kind or "none")


def parse_optimizer(text: str | None) -> str | None:
    """An optimizer that zplan knows the memory of."""
    if text is None:
        return None
    from zplan.memory.optimizers import OPTIMIZERS

    if text.strip().lower() not in OPTIMIZERS:
        from zplan.inputs.trainer import HF_OPTIMIZERS

        text = HF_OPTIMIZERS.get(text.strip().lower(), text)
    return parse_word(text, OPTIMIZERS, flag="--optimizer", what="optimizer")


def parse_gpu_memory(text: str | None) -> int | None:
    """``--gpu-mem``: GiB without a unit, as on the label of a card."""
    return None if text is None else parse_size(text, flag="--gpu-mem", minimum=256 * MIB, maximum=4 * TIB)


def parse_host_memory(text: str | None) -> int | None:
    """``--host-mem``, per node: GiB without a unit."""
    if text is None:
        return None
    return parse_size(text, flag="--host-mem", minimum=GIB, maximum=256 * TIB, example="512GiB")


def parse_nvme(text: str | None) -> int | None:
    """``--nvme``, per node: GiB without a unit."""
    return None if text is None else parse_size(text, flag="--nvme", minimum=GIB, maximum=64 * PIB, example="3.84TB")


def _optional_int(text: str | None, *, flag: str, minimum: int = 1, maximum: int, example: str) -> int | None:
    return None if text is None else parse_int(text, flag=flag, minimum=minimum, maximum=maximum, example=example)


def parse_gpus(text: str | None) -> int | None:
    """``--gpus``: all of them."""
    return _optional_int(text, flag="--gpus", maximum=1_000_000, example="8")


def parse_nodes(text: str | None) -> int | None:
    """``--nodes``."""
    return _optional_int(text, flag="--nodes", maximum=1_000_000, example="2")


def parse_job(words: dict[str, str | bool | None]) -> JobWords:
    """Parse everything that was said about the job.

    Args:
        words: Field name of ``PlanOptions`` -> what was typed (or what a config file says in the same words).

    Returns:
        Typed values, None where nothing was said.

    Raises:
        ZplanError: a word that its option does not take.
    """

    def word(name: str) -> str | None:
        value = words.get(name)
        return value if isinstance(value, str) else None

    rank = word("rank")
    if rank is not None and rank.strip().lower() == WORST:
        rank = WORST
    stage = parse_word(word("stage"), STAGES, flag="--stage", what="stage")
    zero_init = parse_word(word("zero_init"), ("on", "off"), flag="--zero-init", what="setting of --zero-init")
    seq_len = word("seq_len")
    return JobWords(
        engine=_member(Engine, word("engine"), flag="--engine", what="engine"),
        stage=int(stage) if stage not in (None, "all") else None,
        all_stages=stage == "all",
        offload=_member(Offload, word("offload"), flag="--offload", what="offload"),
        offload_to=_member(OffloadTo, word("offload_to"), flag="--offload-to", what="place to offload to"),
        precision=_member(Precision, word("precision"), flag="--precision", what="precision"),
        optimizer=parse_optimizer(word("optimizer")),
        micro_batch=_optional_int(word("micro_batch"), flag="--micro-batch", maximum=65_536, example="4"),
        seq_len=None if seq_len is None else parse_tokens(seq_len),
        grad_accum=_optional_int(word("grad_accum"), flag="--grad-accum", maximum=1_000_000, example="8"),
        checkpointing=parse_checkpointing(word("checkpointing")),
        attention=_member(Attention, word("attention"), flag="--attention", what="attention"),
        loss=_member(Loss, word("loss"), flag="--loss", what="loss"),
        compile=bool(words.get("compile")),
        lora=_optional_int(word("lora"), flag="--lora", maximum=65_536, example="16"),
        quantize=_quantize(word("quantize"), alone=word("lora") is None),
        hpz=_optional_int(word("hpz"), flag="--hpz", maximum=1_000_000, example="8"),
        zero_init=None if zero_init is None else zero_init == "on",
        rank=None
        if rank in (None, WORST)
        else _optional_int(rank, flag="--rank", minimum=0, maximum=1_000_000, example="0"),
        worst_rank=rank == WORST,
    )
