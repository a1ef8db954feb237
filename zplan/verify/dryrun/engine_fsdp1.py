"""FSDP1 (``FullyShardedDataParallel``) as accelerate sets it up.

One unit per decoder block and one for the rest, ``use_orig_params``, 16-bit compute, reduction and buffers, backward prefetch
"pre", and the forward pass under autocast. Source: accelerate 1.15, ``Accelerator.prepare_model`` and
``FullyShardedDataParallelPlugin.set_mixed_precision``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from typing import Any

import torch

from zplan.errors import ZplanError
from zplan.memory.moments import TermKey
from zplan.verify.dryrun.bench import Bench
from zplan.verify.dryrun.engine_single import autocast, master_dtype, torch_step
from zplan.verify.dryrun.naming import held_in
from zplan.verify.dryrun.patching import patched, replace
from zplan.verify.dryrun.steps import StepWork
from zplan.verify.model import decoder_blocks

DEVICE = "cpu"
PLAIN_TENSORS = False


def prepare(bench: Bench) -> StepWork:
    """Build the model on the host and wrap it."""
    from torch.distributed.fsdp import BackwardPrefetch, FullyShardedDataParallel, ShardingStrategy
    from torch.distributed.fsdp import _flat_param as flat_param
    from torch.distributed.fsdp import _init_utils as init_utils
    from torch.distributed.fsdp.wrap import ModuleWrapPolicy

    case = bench.case
    _refuse(bench)
    model = bench.build(master_dtype(case.precision))
    blocks = {type(block) for block in decoder_blocks(model)[1]}

    def move(module: Any, ignored_params: Any, ignored_buffers: Any, *devices: Any) -> None:
        bench.arrive_whole(module)

    if bench.ghost:
        # Asks an address, which tensors without data do not have.
        replace(flat_param, "_data_ptr_allocated", lambda tensor: tensor.untyped_storage().size() > 0)
    with patched(init_utils, "_move_module_to_device", move) if bench.stays else nullcontext():
        wrapped = FullyShardedDataParallel(
            model,
            sharding_strategy=ShardingStrategy.FULL_SHARD if case.stage == 3 else ShardingStrategy.SHARD_GRAD_OP,
            auto_wrap_policy=ModuleWrapPolicy(blocks),
            mixed_precision=mixed_precision(case.precision),
            backward_prefetch=BackwardPrefetch.BACKWARD_PRE,
            use_orig_params=True,
            limit_all_gathers=True,
            device_id=torch.device(bench.device if bench.device == "cpu" else torch.cuda.current_device()),
        )
    bench.held.append(lambda: _held(wrapped))
    held = ExitStack()

    def before(last: bool) -> None:
        # What accelerate's accumulate() does: gradients are reduced in the last micro-step only.
        held.close()
        if not last:
            held.enter_context(wrapped.no_sync())

    context: Callable[[], AbstractContextManager[Any]] = autocast(case.precision, bench.device)
    if case.precision in ("bf16-pure", "fp32"):
        context = nullcontext
    return torch_step(bench, wrapped, wrapped.parameters(), context, before if case.grad_accum > 1 else None)


FLAT_PARAM = {
    "_local_shard": TermKey.PARAMS,
    "_mp_shard": TermKey.GATHERED_PARAMS,
    "_full_param_padded": TermKey.GATHERED_PARAMS,
    "_full_prec_full_param_padded": TermKey.GATHERED_PARAMS,
    "_saved_grad_shard": TermKey.GRADS,
    "grad": TermKey.GRADS,
}
"""Attributes of FSDP1's flat parameters."""


def _held(wrapped: Any) -> Iterator[tuple[torch.Tensor, str]]:
    for unit in wrapped.fsdp_modules(wrapped):
        if unit._has_params:
            yield from held_in(unit._flat_param, FLAT_PARAM)


def mixed_precision(precision: str) -> Any:
    """The ``MixedPrecision`` that accelerate derives from its ``mixed_precision``."""
    from torch.distributed.fsdp import MixedPrecision

    if precision not in ("bf16", "fp16"):
        return None
    dtype = torch.bfloat16 if precision == "bf16" else torch.float16
    return MixedPrecision(param_dtype=dtype, reduce_dtype=dtype, buffer_dtype=dtype)


def _refuse(bench: Bench) -> None:
    case = bench.case
    if case.offload != "none":
        raise ZplanError("the dry run cannot tell FSDP1's host and device apart", "use --engine fsdp2 for --offload")
    if case.lora is not None:
        raise ZplanError("the dry run has no LoRA with FSDP1", "use --engine fsdp2 for --lora")
