"""FSDP2: ``fully_shard`` on every block and on the root, fp32 parameters, 16-bit compute, fp32 reduction."""

from __future__ import annotations

from contextlib import contextmanager
from typing import Any

import torch

from zplan.errors import ExitCode, ZplanError
from zplan.memory.moments import TermKey
from zplan.verify.dryrun.bench import Bench
from zplan.verify.dryrun.engine_single import master_dtype, torch_step
from zplan.verify.dryrun.patching import labelled, patched, replace
from zplan.verify.dryrun.steps import StepWork
from zplan.verify.model import decoder_blocks

DEVICE = "meta"
PLAIN_TENSORS = False
LABELS = {
    "foreach_all_gather": TermKey.GATHERED_PARAMS,
    "foreach_all_gather_copy_out": TermKey.GATHERED_PARAMS,
    "foreach_reduce": TermKey.REDUCE_BUCKET,
}
"""What FSDP2's functions allocate."""


def prepare(bench: Bench) -> StepWork:
    """Build the model on the host, shard it block by block onto the device."""
    from torch.distributed.device_mesh import DeviceMesh
    from torch.distributed.fsdp import CPUOffloadPolicy, OffloadPolicy, fully_shard
    from torch.distributed.fsdp._fully_shard import _fsdp_param_group

    case = bench.case
    if case.optimizer == "adafactor":
        raise ZplanError(
            "transformers' Adafactor cannot step on FSDP2's sharded parameters",
            "use --optimizer adamw, or --engine fsdp1",
        )
    offload = bench.ghost and case.offload != "none"
    model = bench.build(master_dtype(case.precision, case.lora is not None))
    mesh = DeviceMesh("cpu" if bench.ghost else bench.device, torch.arange(case.world))
    options: dict[str, Any] = {
        "mesh": mesh,
        "mp_policy": mixed_precision(case.precision),
        "reshard_after_forward": case.stage == 3,
        "offload_policy": CPUOffloadPolicy(pin_memory=bench.ghost or bench.device == "cuda")
        if case.offload != "none"
        else OffloadPolicy(),
    }
    for name, label in LABELS.items():
        labelled(_fsdp_param_group, name, bench.tracker, label)
    with _on_meta(bench):
        for block in decoder_blocks(model)[1]:
            fully_shard(block, **options)
            if offload:
                _to_host(block)
        fully_shard(model, **options)
        if offload:
            _to_host(model)

    def before(last: bool) -> None:
        # What accelerate's accumulate() does: gradients are reduced in the last micro-step only.
        model.set_requires_gradient_sync(last)

    params = list(model.parameters())
    return torch_step(
        bench, model, params, before=before if case.grad_accum > 1 else None,
        offloaded=case.offload != "none",
    )  # fmt: skip


def mixed_precision(precision: str) -> Any:
    """The ``MixedPrecisionPolicy`` of a precision; gradients are reduced in fp32, as the contract of the engine says."""
    from torch.distributed.fsdp import MixedPrecisionPolicy

    if precision in ("bf16", "fp16"):
        dtype = torch.bfloat16 if precision == "bf16" else torch.float16
        return MixedPrecisionPolicy(param_dtype=dtype, reduce_dtype=torch.float32)
    return MixedPrecisionPolicy()


@contextmanager
def _on_meta(bench: Bench) -> Any:
    """Let FSDP2 take "meta" for its compute device, and count what it moves there."""
    if not bench.stays:
        yield
        return
    from torch.distributed.fsdp._fully_shard import _fsdp_init, _fsdp_param_group, _fully_shard

    def move(params: list[torch.Tensor], buffers: list[torch.Tensor], device: Any) -> None:
        bench.arrive(p for p in params if not hasattr(p, "_local_tensor"))
        bench.arrive(buffers)

    def meta(mesh: Any) -> torch.device:
        return torch.device("meta")

    if not bench.ghost:
        with patched(_fsdp_init, "_move_states_to_device", move):
            yield
        return
    # The check for parameters that were never given data runs at the first forward: it stays off.
    group = _fsdp_param_group.FSDPParamGroup
    replace(group, "_validate_no_meta_params", lambda self: None)
    with (
        patched(_fully_shard, "_get_device_from_mesh", meta),
        patched(_fsdp_init, "_move_states_to_device", move),
    ):
        yield


def _to_host(model: Any) -> None:
    """Give sharded parameters host memory, the way a model from "meta" gets it: torch keeps them there otherwise."""
    for module in model.modules():
        for name, param in list(module._parameters.items()):
            if param is not None and param.device.type == "meta":
                host = torch.empty_like(param, device="cpu")
                module._parameters[name] = torch.nn.Parameter(host, requires_grad=param.requires_grad)
    if not list(model.parameters()):
        raise ZplanError("FSDP2 kept no parameters to offload", "pip install 'torch==2.13.0'", ExitCode.MISSING)
