"""Builds the real Hugging Face model of a plan, with its attention, checkpointing and adapters."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from zplan.errors import ExitCode, ZplanError
from zplan.verify.dryrun.patching import patched
from zplan.verify.saying import first_words

DTYPES = {"bf16": torch.bfloat16, "fp16": torch.float16, "fp32": torch.float32, "bf16-pure": torch.bfloat16}


def build_model(
    config_dict: Mapping[str, Any],
    *,
    attention: str,
    dtype: torch.dtype,
    device: str,
    inside: AbstractContextManager[Any] | None = None,
    notes: list[str] | None = None,
) -> Any:
    """A causal language model in training mode, its weights as the allocator left them (see :func:`fill_weights`).

    Args:
        config_dict: A Hugging Face ``config.json`` as a dict, with ``model_type``.
        attention: ``attn_implementation`` for transformers.
        dtype: Number format of the weights.
        device: Where to build it.
        inside: A context to construct it in, such as ``deepspeed.zero.Init``.
        notes: If given, eager attention is used where the model's code has no other, and said here.

    Returns:
        The ``...ForCausalLM`` module.

    Raises:
        ZplanError: If transformers refuses the configuration.
    """
    import transformers
    from transformers import initialization

    spec = {key: value for key, value in config_dict.items() if key not in _NOT_SHAPE}
    model_type = spec.pop("model_type", None)
    if not model_type:
        raise ZplanError(
            "the model has no Hugging Face config to build it from",
            "name one that has: zplan verify --model llama-3.1-8b --gpus 8",
        )
    try:
        config = transformers.AutoConfig.for_model(model_type, **spec)
        config.use_cache = False
        if notes is not None and not _has_kernels(config):
            attention = "eager"
            notes.append(f"transformers has no flash attention for {model_type}: its own (eager) code runs.")
        elif notes is None and attention == "sdpa" and not _has_kernels(config, "_supports_sdpa"):
            raise ZplanError(
                f"transformers has no sdpa attention for {model_type}", "use --attention flash or --attention eager"
            )
        config._attn_implementation = attention
        with initialization.no_init_weights(), torch.device(device), inside or nullcontext():
            model = transformers.AutoModelForCausalLM.from_config(config, dtype=dtype)
            model.tie_weights()  # transformers ties while it initialises weights, which is left out here
    except ZplanError:
        raise
    except Exception as error:  # what a config can break is not limited to a few types
        version = transformers.__version__
        raise ZplanError(
            f"transformers {version} cannot build a causal language model of type {model_type!r}: {first_words(error)}",
            "check the config, or try a preset: zplan presets ls models",
        ) from error
    return model.train()


_NOT_SHAPE = ("architectures", "torch_dtype", "dtype", "transformers_version", "_name_or_path", "auto_map", "use_cache",
              "quantization_config", "_attn_implementation")  # fmt: skip


def _has_kernels(config: Any, *names: str) -> bool:
    """Whether a model's code can use sdpa or flash attention (or what is named of them)."""
    from transformers import AutoModelForCausalLM

    kind = AutoModelForCausalLM._model_mapping.get(type(config), None)
    wanted = names or ("_supports_sdpa", "_supports_flash_attn")
    return kind is None or any(getattr(kind, name) for name in wanted)


WEIGHT_STD = 0.02
"""Spread of random weights: ``initializer_range`` of most decoders, small enough for a finite loss in 16 bits."""


_BLOCK_NUMEL = 1 << 20
"""Larger tensors repeat a random block of this size: drawing billions of numbers on a CPU takes minutes."""


def fill_weights(model: Any) -> None:
    """Give every parameter random values, in place; what ``zero.Init`` has sharded is filled in its shards.

    Args:
        model: A model that was built without initialising it.
    """
    with torch.no_grad():
        for param in model.parameters():
            shard = getattr(param, "ds_tensor", None)
            _fill((param if shard is None else shard).view(-1))


def _fill(flat: torch.Tensor) -> None:
    if flat.numel() <= _BLOCK_NUMEL:
        flat.normal_(std=WEIGHT_STD)
        return
    block = flat[:_BLOCK_NUMEL].normal_(std=WEIGHT_STD)
    whole = flat.numel() // _BLOCK_NUMEL
    flat[_BLOCK_NUMEL : whole * _BLOCK_NUMEL].view(-1, _BLOCK_NUMEL).copy_(block.expand(whole - 1, -1))
    flat[whole * _BLOCK_NUMEL :].copy_(block[: flat.numel() - whole * _BLOCK_NUMEL])


def checkpoint_blocks(model: Any, checkpointing: str) -> None:
    """Switch activation checkpointing on as transformers does: non-reentrant, one checkpoint per block.

    Args:
        model: A Hugging Face model.
        checkpointing: ``none``, ``full`` or ``every-K`` (the first of each K blocks is checkpointed).

    Raises:
        ZplanError: If the kind is unknown or the model does not support it.
    """
    if checkpointing == "none":
        return
    every = 1
    if checkpointing.startswith("every-"):
        every = int(checkpointing.removeprefix("every-"))
    elif checkpointing != "full":
        raise ZplanError(
            f"the dry run cannot checkpoint {checkpointing!r}: transformers checkpoints whole blocks",
            "use --checkpointing full, every-2 or none",
        )
    try:
        model.activation_checkpointing_enable({"use_reentrant": False}, every_n_layers=every)
    except ValueError as error:
        raise ZplanError(str(error).splitlines()[0], "use --checkpointing none") from error


def decoder_blocks(model: Any) -> tuple[str, torch.nn.ModuleList]:
    """The list of decoder blocks: the longest ``ModuleList`` of transformer blocks in the model.

    Args:
        model: A Hugging Face model, wrapped or not.

    Returns:
        Its dotted name and the list.

    Raises:
        ZplanError: If there is none.
    """
    best: tuple[str, torch.nn.ModuleList] | None = None
    depth = getattr(model.config.get_text_config(), "num_hidden_layers", None)
    for name, module in model.named_modules():
        if isinstance(module, torch.nn.ModuleList) and len(module) == depth:
            best = best or (name, module)
    if best is None:
        raise ZplanError(
            f"{type(model).__name__} has no list of {depth} blocks to shard",
            "use --engine deepspeed, which needs none",
        )
    return best


def add_lora(model: Any, rank: int, targets: tuple[str, ...], *, device: str | None = None, cast: bool = True) -> Any:
    """Wrap a model with peft's low-rank adapters and freeze the rest.

    Args:
        model: A Hugging Face model.
        rank: Rank of the adapters.
        targets: Suffixes of module names, or ``("all-linear",)``.
        device: Where the model is, if not where tensors are made by default.
        cast: Whether the adapters are held in fp32 on a 16-bit base, as peft does (``autocast_adapter_dtype``).

    Returns:
        peft's model.

    Raises:
        ZplanError: If peft is missing.
    """
    try:
        import peft
    except ImportError as error:
        raise ZplanError("LoRA needs peft", "pip install peft", ExitCode.MISSING) from error
    wanted: str | list[str] = "all-linear" if tuple(targets) == ("all-linear",) else list(targets)
    config = peft.LoraConfig(r=rank, target_modules=wanted, task_type="CAUSAL_LM", init_lora_weights=False)
    dtype = torch.get_default_dtype()
    torch.set_default_dtype(model.dtype)
    try:
        # Moving a new adapter to where it already is would swap tensors, which torch's fake mode cannot do.
        with torch.device(device) if device else nullcontext(), patched(torch.utils, "swap_tensors", _keep):
            wrapped = peft.get_peft_model(model, config, autocast_adapter_dtype=False)
    finally:
        torch.set_default_dtype(dtype)
    _as_their_parameters(wrapped)
    for module in wrapped.modules() if cast else ():
        for name, param in list(module._parameters.items()):
            if param is not None and param.requires_grad and param.dtype in (torch.bfloat16, torch.float16):
                module._parameters[name] = torch.nn.Parameter(param.detach().float())
    return wrapped


def _keep(one: torch.Tensor, other: torch.Tensor) -> None:
    """Stands for ``swap_tensors`` of a tensor and its unchanged self; a change of format is made afterwards."""
    if one.device != other.device:
        raise RuntimeError("an adapter was made elsewhere than its base")


def _as_their_parameters(model: Any) -> None:
    """Give adapters of parameters their parameter's format, as peft does: routers of DeepSeek are fp32 in 16-bit models."""
    for module in model.modules():
        if not hasattr(module, "get_param"):
            continue
        wanted = module.get_param().dtype
        for layer in (*module.lora_A.values(), *module.lora_B.values()):
            if layer.weight.dtype != wanted:
                layer.weight = torch.nn.Parameter(layer.weight.detach().to(wanted))
