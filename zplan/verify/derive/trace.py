"""Runs a causal language model of a few blocks without data and logs what lives when, piece by piece."""

from __future__ import annotations

from contextlib import ExitStack
from typing import Any
from unittest import mock

import torch
from torch import nn

from zplan.memory.activations.base import ComputeMode
from zplan.spec import Attention, Loss
from zplan.verify.derive.fakecuda import device_of, like_cuda
from zplan.verify.derive.recorder import Log, Recorder
from zplan.verify.dryrun.loss import install_loss
from zplan.verify.undisturbed import InPlace


def build(config: Any, implementation: str, dtype: torch.dtype, device: str) -> nn.Module:
    """Returns the model without data, in training mode; with its own attention where it has no other."""
    from transformers import AutoModelForCausalLM, initialization

    config.use_cache = False
    with initialization.no_init_weights(), torch.device(device):
        try:
            model = AutoModelForCausalLM.from_config(config, attn_implementation=implementation, dtype=dtype)
        except ValueError:
            model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=dtype)
    model.tie_weights()
    result: nn.Module = model.train()
    return result


def blocks_of(model: nn.Module, count: int) -> tuple[str, nn.ModuleList]:
    """Returns the dotted name and the list of the model's decoder blocks."""
    for name, module in model.named_modules():
        if isinstance(module, nn.ModuleList) and len(module) == count and any(True for _ in module.parameters()):
            return name, module
    raise LookupError("no list of blocks")


def _answer(func: Any, args: tuple[Any, ...]) -> Any:
    """Answers questions that need data: is every token attended to? No."""
    if func is torch.ops.aten._local_scalar_dense.default:
        return False if args[0].dtype == torch.bool else 0
    if func is torch.ops.aten.is_nonzero.default:
        return False
    return NotImplemented


class _Pieces:
    """Hooks that tell the recorder which piece and which leaf module run."""

    def __init__(self, recorder: Recorder, model: nn.Module, count: int) -> None:
        self.recorder = recorder
        trunk, blocks = blocks_of(model, count)
        self.trunk = clean(trunk)
        self.head = count + 1
        for index, block in enumerate(blocks):
            self._hook_block(block, index + 1)
        for name, module in model.named_modules():
            own = any(True for _ in module.parameters(recurse=False))
            if name and (own or not any(True for _ in module.children())):
                self._hook_leaf(module, self._relative(clean(name)))

    def _relative(self, name: str) -> str:
        inside = name.removeprefix(self.trunk + ".")
        return inside.partition(".")[2] if inside != name else name

    def _hook_block(self, block: nn.Module, index: int) -> None:
        def before(module: nn.Module, args: Any, kwargs: Any) -> None:
            hidden = args[0] if args else kwargs["hidden_states"]
            self._enter(hidden, index)

        def after(module: nn.Module, args: Any, output: Any) -> None:
            if index == self.head - 1:
                self._enter(output if isinstance(output, torch.Tensor) else output[0], self.head)

        block.register_forward_pre_hook(before, with_kwargs=True)
        block.register_forward_hook(after)

    def _enter(self, hidden: torch.Tensor, piece: int) -> None:
        uid = self.recorder.storage_id(hidden)
        assert uid is not None
        self.recorder.log.inputs[uid] = piece
        self.recorder.piece_starts.append((torch._C._autograd._get_sequence_nr(), piece))
        self.recorder.piece = piece

    def _hook_leaf(self, module: nn.Module, name: str) -> None:
        recorder = self.recorder
        starts: list[int] = []

        def before(module: nn.Module, args: Any) -> None:
            recorder.stack.append(name)
            starts.append(torch._C._autograd._get_sequence_nr())

        def after(module: nn.Module, args: Any, output: Any) -> None:
            recorder.stack.pop()
            first = starts.pop()
            if recorder.phase == "forward":
                recorder.spans.append((first, torch._C._autograd._get_sequence_nr(), name))

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after, always_call=True)


def run(
    config: Any,
    *,
    micro_batch: int,
    seq_len: int,
    attention: Attention = Attention.FLASH,
    mode: ComputeMode = ComputeMode.CAST,
    checkpointed: bool = False,
    loss: Loss = Loss.STANDARD,
    lora_rank: int = 0,
) -> tuple[Log, nn.Module]:
    """Runs one forward and backward pass.

    Args:
        config: A transformers config.
        micro_batch: Sequences.
        seq_len: Tokens of each.
        attention: Kernel.
        mode: How weights meet activations.
        checkpointed: Whether each block is recomputed in backward (non-reentrant, transformers' default).
        loss: How the loss is computed.
        lora_rank: Rank of adapters on every linear layer, with the base frozen; in the weights' own number format, as
            engines that cast whole models have them, but fp32 in mixed mode, as peft makes them. 0: none.

    Returns:
        The log, with piece 0 = stem, 1..L = blocks, L+1 = head; and the model.
    """
    dtype = torch.float32 if mode in (ComputeMode.AUTOCAST, ComputeMode.FP32) else torch.bfloat16
    device = device_of(mode)
    with like_cuda(mode, attention) as implementation:
        model = build(config, implementation, dtype, device)
        install_loss(model, loss.value)
        if lora_rank:
            # peft makes adapters fp32 beside a 16-bit base (``autocast_adapter_dtype``); they stay so under autocast and stage 3.
            kept = torch.float32 if mode in (ComputeMode.MIXED, ComputeMode.WIDE) else dtype
            model = _with_adapters(model, lora_rank, kept, device)
        if checkpointed:
            model.activation_checkpointing_enable()
        recorder = Recorder(device)
        in_place = InPlace(device)

        def rewrite(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            out = in_place(func, args, kwargs)
            return _answer(func, args) if out is NotImplemented else out

        recorder.rewrite = rewrite
        count = config.num_hidden_layers
        _Pieces(recorder, model, count)
        for tensor in [*model.parameters(), *model.buffers()]:
            recorder.ignore(tensor)
        _watch_gradients(recorder, model)
        ids = torch.zeros((micro_batch, seq_len), dtype=torch.long, device=device)
        inputs: dict[str, torch.Tensor] = {"input_ids": ids, "labels": ids}
        for tensor in inputs.values():
            recorder.ignore(tensor)
        with recorder:
            result = _forward(model, inputs, mode, recorder)
            recorder.log.last_live = frozenset(recorder.live)
            recorder.phase = "backward"
            result.backward()
    return recorder.log, model


def _forward(model: nn.Module, inputs: dict[str, torch.Tensor], mode: ComputeMode, recorder: Recorder) -> torch.Tensor:
    """Returns the loss alone, as a training loop keeps it."""
    with ExitStack() as stack:
        if mode in (ComputeMode.AUTOCAST, ComputeMode.MIXED):
            stack.enter_context(torch.autocast(recorder.device, dtype=torch.bfloat16))
        loss: torch.Tensor = model(**inputs).loss
        recorder.log.cached_live = frozenset(recorder.live)
    return loss


def _with_adapters(model: nn.Module, rank: int, dtype: torch.dtype, device: str) -> nn.Module:
    import peft

    config = peft.LoraConfig(r=rank, target_modules="all-linear", task_type="CAUSAL_LM", init_lora_weights=False)
    # Adapters are made where they belong; moving modules swaps tensors, which tensors without data refuse.
    with mock.patch.object(nn.Module, "to", lambda module, *args, **kwargs: module), torch.device(device):
        adapted: nn.Module = peft.get_peft_model(model, config)
    for name, parameter in adapted.named_parameters():
        if ".lora_" in name and parameter.dtype is not dtype:
            parameter.data = parameter.data.to(dtype)
    return adapted


def clean(name: str) -> str:
    """Returns a parameter's or module's name without what peft's wrapping adds to it.

    Adapters of nested wrappers (stacked experts) keep it: it tells one from the other.
    """
    base, lora, adapter = name.removeprefix("base_model.model.").partition(".lora_")
    return base + lora + adapter if lora else ".".join(part for part in base.split(".") if part != "base_layer")


def _watch_gradients(recorder: Recorder, model: nn.Module) -> None:
    for name, parameter in model.named_parameters():
        if not parameter.requires_grad:
            continue

        def handed_over(param: torch.Tensor, name: str = clean(name)) -> None:
            assert param.grad is not None
            uid = recorder.storage_id(param.grad)
            assert uid is not None
            recorder.log.ready.append((name, uid))
            recorder.log.at_hooks.append(frozenset(recorder.live))
            param.grad = None

        parameter.register_post_accumulate_grad_hook(handed_over)
