"""Training recipes -> options: ``TrainingArguments`` JSON, LLaMA-Factory YAML, axolotl YAML.

Keys that decide memory are mapped; the rest is listed as ignored. Sources: transformers ``training_args.py``;
LLaMA-Factory ``hparams/``; axolotl ``utils/schemas/``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import NoneType

from zplan.errors import ZplanError
from zplan.inputs.accelerate import fsdp_words
from zplan.inputs.dsvalues import as_word
from zplan.inputs.settings import (
    AXOLOTL,
    LLAMA_FACTORY,
    TRAINER,
    FileWords,
    Section,
    embedded_ds_config,
    mixed_precision_word,
    with_precision,
)
from zplan.units import quote

_FSDP_WORDS = (
    *("full_shard", "shard_grad_op", "no_shard", "hybrid_shard", "hybrid_shard_zero2"),
    *("offload", "auto_wrap"),
)
"""What ``fsdp`` may hold (transformers ``FSDPOption``)."""
TRAINER_BATCH = 8
"""``per_device_train_batch_size`` where nothing says it (transformers)."""
HF_OPTIMIZERS = {
    "adamw_bnb_8bit": "adamw_8bit",
    "adamw_torch_8bit": "adamw_8bit",
    "lion_32bit": "lion",
    "paged_adamw_32bit": "paged_adamw",
    "adamw_hf": "adamw_torch",
    "adamw_apex_fused": "adamw_torch_fused",
    "adamw_torch_npu_fused": "adamw_torch_fused",
    "adamw_bnb_8bit_paged": "paged_adamw_8bit",
    "rmsprop_bnb_32bit": "rmsprop",
}
"""``optim`` names that zplan has under another name; the rest are its own or unknown to it."""


def trainer_words(name: str, values: Mapping[str, object], *, folder: Path | None = None) -> FileWords:
    """Settings of a ``TrainingArguments`` JSON, alone or with model and SFT arguments beside them.

    Args:
        name: What the user called the file.
        values: Its keys.
        folder: Where it lies, for a ``deepspeed`` path.

    Returns:
        Its settings in the words of the options.

    Raises:
        ZplanError: a value of the wrong type.
    """
    top = Section(name, values)
    words: dict[str, str] = {}
    notes: list[str] = []
    if set(values) <= {"fsdp", "fsdp_config"}:
        notes.append("the FSDP part of TrainingArguments alone: batch, precision and optimizer as zplan's options say")
        return _finish(TRAINER, top, words, notes, folder)
    _common(top, words, notes)
    words["optimizer"] = _optimizer(top.word("optim") or "adamw_torch_fused")
    words["precision"] = mixed_precision_word(top.on("bf16"), top.on("fp16"), name=name)
    switches = [top.on(key) for key in ("activation_checkpointing", "gradient_checkpointing")]
    if any(switches):
        words["checkpointing"] = "full"
    if top.on("use_liger_kernel"):
        words["loss"] = "fused"
    _first(top, words, "seq_len", ("max_seq_length", "max_length", "block_size", "model_max_length"))
    return _finish(TRAINER, top, words, notes, folder)


def llama_factory_words(name: str, values: Mapping[str, object], *, folder: Path | None = None) -> FileWords:
    """Settings of a LLaMA-Factory YAML; arguments as for :func:`trainer_words`.

    LLaMA-Factory checkpoints activations unless ``disable_gradient_checkpointing`` is on, trains LoRA of rank 8 unless
    ``finetuning_type`` says otherwise, and cuts sequences at 2048 tokens.
    """
    top = Section(name, values)
    words: dict[str, str] = {}
    notes: list[str] = []
    _common(top, words, notes)
    words["optimizer"] = _optimizer(top.word("optim") or "adamw_torch_fused")
    words["precision"] = mixed_precision_word(top.on("bf16"), top.on("fp16"), name=name)
    if top.on("pure_bf16"):
        words["precision"] = "bf16-pure"
    if not top.on("disable_gradient_checkpointing"):
        words["checkpointing"] = "full"
        notes.append("checkpointing full, LLaMA-Factory's default (disable_gradient_checkpointing)")
    words["seq_len"] = str(top.whole("cutoff_len") or 2048)
    if top.on("enable_liger_kernel"):
        words["loss"] = "fused"
    kind = top.word("finetuning_type") or "lora"
    if kind == "lora":
        words["lora"] = str(top.whole("lora_rank") or 8)
        if top.raw("lora_target") not in (None, "all"):
            notes.append("adapters are priced on all linear layers, as lora_target: all has them")
    elif kind != "full":
        notes.append(f"finetuning_type {kind[:20]} is priced as full")
    bits = top.whole("quantization_bit")
    if bits is not None and kind == "lora":
        words["quantize"] = "nf4" if bits == 4 else "int8"
    attention = {"disabled": "eager", "sdpa": "sdpa", "fa2": "flash"}.get(str(top.raw("flash_attn")))
    if attention is not None:
        words["attention"] = attention
    return _finish(LLAMA_FACTORY, top, words, notes, folder)


def axolotl_words(name: str, values: Mapping[str, object], *, folder: Path | None = None) -> FileWords:
    """Settings of an axolotl YAML; arguments as for :func:`trainer_words`."""
    top = Section(name, values)
    words: dict[str, str] = {}
    notes: list[str] = []
    for key, option in (("micro_batch_size", "micro_batch"), ("gradient_accumulation_steps", "grad_accum")):
        words[option] = str(top.whole(key) or 1)
    words["seq_len"] = str(top.whole("sequence_len") or 512)
    words["optimizer"] = _optimizer(top.word("optimizer") or "adamw_torch_fused")
    words["precision"] = _axolotl_precision(top, notes)
    model = top.word("base_model")
    if model:
        words["model"] = model
    if top.raw("gradient_checkpointing") not in (None, False, ""):
        words["checkpointing"] = "full"
        if top.raw("gradient_checkpointing") is not True:
            notes.append("checkpoints moved off the GPU are priced as if they stayed")
    _axolotl_adapter(top, words, notes)
    kernels = (("flash_attention", "flash"), ("eager_attention", "eager"), ("sdp_attention", "sdpa"))
    found = [word for key, word in kernels if top.on(key)]
    if found:
        words["attention"] = found[0]
    if top.on("liger_fused_linear_cross_entropy") or top.on("cut_cross_entropy"):
        words["loss"] = "fused"
    if top.on("torch_compile"):
        words["compile"] = "yes"
    top.seen |= {"sample_packing", "pad_to_sequence_len"}
    return _finish(AXOLOTL, top, words, notes, folder)


def _axolotl_adapter(top: Section, words: dict[str, str], notes: list[str]) -> None:
    adapter = top.word("adapter")
    if adapter is None:
        return
    words["lora"] = str(top.whole("lora_r") or 8)
    if not top.on("lora_target_linear"):
        notes.append("adapters are priced on all linear layers, as lora_target_linear: true has them")
    if top.on("load_in_4bit") or adapter == "qlora":
        words["quantize"] = "nf4"
    elif top.on("load_in_8bit"):
        words["quantize"] = "int8"


def _axolotl_precision(top: Section, notes: list[str]) -> str:
    bf16, fp16 = top.raw("bf16"), top.raw("fp16")
    if bf16 == "full" or top.on("bfloat16"):
        return "bf16-pure"
    if bf16 == "auto" or (bf16 is None and fp16 is None):
        notes.append("bf16, as axolotl chooses on cards that have it")
        return "bf16"
    return mixed_precision_word(top.on("bf16"), top.on("fp16"), name=top.name)


def _common(top: Section, words: dict[str, str], notes: list[str]) -> None:
    """What TrainingArguments and LLaMA-Factory share."""
    batch = top.whole("per_device_train_batch_size")
    if batch is None:
        notes.append(f"micro-batch {TRAINER_BATCH}, the default of TrainingArguments")
    words["micro_batch"] = str(batch or TRAINER_BATCH)
    words["grad_accum"] = str(top.whole("gradient_accumulation_steps") or 1)
    model = top.word("model_name_or_path")
    if model:
        words["model"] = model
    if top.on("torch_compile"):
        words["compile"] = "yes"
    attention = {"flash_attention_2": "flash", "flash_attention_3": "flash", "sdpa": "sdpa", "eager": "eager"}
    found = attention.get(str(top.raw("attn_implementation")))
    if found is not None:
        words["attention"] = found


def _first(top: Section, words: dict[str, str], option: str, keys: tuple[str, ...]) -> None:
    for key in keys:
        value = top.whole(key)
        if value is not None and option not in words:
            words[option] = str(value)


def _optimizer(name: str) -> str:
    return HF_OPTIMIZERS.get(name, name)


def _legacy_fsdp(top: Section, value: object) -> list[str]:
    """The words of ``fsdp: full_shard auto_wrap``, or of the same as a list; none where it is only switched on.

    Source: transformers ``TrainingArguments._apply_legacy_fsdp_to_config``.
    """
    words = value.split() if isinstance(value, str) else value if isinstance(value, list) else []
    wrong = [word for word in words if not isinstance(word, str) or word.lower() not in _FSDP_WORDS]
    if wrong or not isinstance(value, bool | str | list | NoneType):
        shown = as_word(wrong[0] if wrong else value)
        raise ZplanError(
            f"{top.where('fsdp')} is {shown}, not one of {', '.join(_FSDP_WORDS)}",
            'write "fsdp": "full_shard auto_wrap", or leave it out',
        )
    return [word.lower() for word in words if isinstance(word, str)]


def _finish(kind: str, top: Section, words: dict[str, str], notes: list[str], folder: Path | None) -> FileWords:
    """Add the engine: a DeepSpeed config, an FSDP section, or DDP."""
    ds = embedded_ds_config(top.raw("deepspeed"), name=top.name, key="deepspeed", folder=folder)
    fsdp = top.raw("fsdp")
    section = top.section("fsdp_config") if not isinstance(top.raw("fsdp_config"), str) else Section(top.name, {})
    if ds is not None:
        ds = with_precision(ds, words.get("precision"))
    elif fsdp or (kind == AXOLOTL and section.values):
        flat = {key.removeprefix("fsdp_"): value for key, value in section.values.items()}
        if top.raw("fsdp_version") is not None:
            flat.setdefault("version", top.raw("fsdp_version"))
        version = 2 if kind == TRAINER else 1
        for word in _legacy_fsdp(top, fsdp):
            if word == "offload":
                flat.setdefault("cpu_offload", True)
            elif word != "auto_wrap":
                # FSDP1 reads a strategy's name there, FSDP2 true or false.
                if flat.get("version", version) not in (2, "2"):
                    flat.setdefault("reshard_after_forward", word.upper())
                elif word in ("full_shard", "shard_grad_op"):
                    flat.setdefault("reshard_after_forward", word == "full_shard")
                else:
                    message = f"{top.where('fsdp')} is {quote(word)}, which only FSDP1 has"
                    raise ZplanError(message, 'add "fsdp_config": {"version": 1}, or write "full_shard"')
        fsdp_words(Section(top.name, flat), words, notes, default_version=version)
    else:
        words["engine"] = "ddp"
        notes.append("DDP: the file names neither DeepSpeed nor FSDP")
    return FileWords(name=top.name, kind=kind, words=words, ds=ds, ignored=top.ignored(), notes=tuple(notes))
