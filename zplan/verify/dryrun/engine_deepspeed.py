"""DeepSpeed ZeRO stages 0-3: the real engine with an accelerator whose device is "meta".

The engine picks its optimizer wrapper by class, so fused Adam is a subclass of DeepSpeed's own, as is CPU Adam for offload.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch

from zplan.errors import ExitCode, ZplanError
from zplan.memory.moments import TermKey
from zplan.verify.dryrun import nvme, zeropp
from zplan.verify.dryrun.bench import Bench
from zplan.verify.dryrun.beyond import evaluation, gathered
from zplan.verify.dryrun.case import Case
from zplan.verify.dryrun.imports import require
from zplan.verify.dryrun.loss import loss_of
from zplan.verify.dryrun.naming import held_in
from zplan.verify.dryrun.optimizers import fused_adam, torch_optimizer
from zplan.verify.dryrun.patching import labelled, patched, replace
from zplan.verify.dryrun.steps import StepWork
from zplan.verify.model import DTYPES

DEVICE = "meta"
PLAIN_TENSORS = True
GPUS_PER_NODE = 8
"""What the accelerator says of its node; only quantized gradients (ZeRO++ qgZ) ask."""


def ds_config(case: Case) -> dict[str, Any]:
    """The ``ds_config.json`` of a case.

    Args:
        case: A DeepSpeed case.

    Returns:
        The configuration as a dict.
    """
    zero: dict[str, Any] = {"stage": case.stage}
    if case.offload != "none":
        zero["offload_optimizer"] = {"device": "cpu", "pin_memory": True}
    if case.offload == "all":
        zero["offload_param"] = {"device": "cpu", "pin_memory": True}
    zero.update(case.zero)
    config: dict[str, Any] = {
        "train_micro_batch_size_per_gpu": case.micro_batch,
        "gradient_accumulation_steps": case.grad_accum,
        "zero_optimization": zero,
        "zero_force_ds_cpu_optimizer": False,
        "zero_allow_untested_optimizer": True,
        "gradient_clipping": case.clip,
        "steps_per_print": 1 << 30,
    }
    if case.precision == "bf16":
        config["bf16"] = {"enabled": True}
    elif case.precision == "fp16":
        config["fp16"] = {"enabled": True}
    elif case.precision == "bf16-pure":
        raise ZplanError(
            "DeepSpeed keeps fp32 master weights in bf16 mode", "use --precision bf16, or --engine fsdp2 for bf16-pure"
        )
    if case.data_types:
        config["data_types"] = dict(case.data_types)
    return config


def prepare(bench: Bench) -> StepWork:
    """Build the model (inside ``zero.Init`` where the case says so) and initialise the engine."""
    case = bench.case
    deepspeed = _import(bench)
    config = ds_config(case)
    inside = None
    if case.uses_zero_init:
        inside = deepspeed.zero.Init(config_dict_or_path=config)
    model = bench.build(DTYPES[case.precision], inside)
    if bench.stays and not case.uses_zero_init:
        original_to = model.to

        def to(*args: Any, **kwargs: Any) -> Any:
            bench.arrive_whole(model)
            return original_to(*args, **kwargs)

        model.to = to
    with patched(torch, "zeros_like", _shape_only(torch.zeros_like)) if bench.ghost else nullcontext():
        engine = deepspeed.initialize(model=model, optimizer=lambda params: _optimizer(bench, params), config=config)[0]
    _name_buffers(bench, engine)
    ids = bench.input_ids()

    def backward(loss: torch.Tensor, last: bool) -> None:
        engine.backward(loss)

    beyond = {"eval": evaluation(bench, engine, nullcontext), "save": gathered(case, engine)}
    return StepWork(lambda: loss_of(engine, ids), backward, lambda last: engine.step(), beyond=beyond)


def _shape_only(zeros_like: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """Stages 1 and 2 keep the shapes of all parameters as "meta" tensors, which stand for no memory: not even here."""

    def shapes(tensor: torch.Tensor, **kwargs: Any) -> torch.Tensor:
        if kwargs.get("device") == "meta":
            return torch.empty((), dtype=tensor.dtype, device="meta").expand(tensor.shape)
        return zeros_like(tensor, **kwargs)

    return shapes


HELD = {
    "bit16_groups_flat": TermKey.PARAMS,
    "fp16_groups_flat": TermKey.PARAMS,
    "bf16_groups_flat": TermKey.PARAMS,
    "fp16_partitioned_groups_flat": TermKey.PARAMS,
    "lp_param_buffer": TermKey.PARAMS,
    "single_partition_of_fp32_groups": TermKey.MASTER,
    "fp32_groups_flat": TermKey.MASTER,
    "fp32_groups": TermKey.MASTER,
    "fp32_groups_flat_partition": TermKey.MASTER,
    "fp32_partitioned_groups_flat": TermKey.MASTER,
    "averaged_gradients": TermKey.GRADS,
    "grad_partitions_flat_buffer": TermKey.GRADS,
    "fp32_groups_gradients_flat": TermKey.GRADS_FP32,
    "ipg_buckets": TermKey.REDUCE_BUCKET,
    "temp_grad_buffer_for_gpu_offload": TermKey.FLAT_BUFFER,
}
"""Attributes of DeepSpeed's optimizer wrappers, of every stage."""


def _name_buffers(bench: Bench, engine: Any) -> None:
    """Tell the bench where the engine keeps what, and label what its hooks allocate."""
    wrapper = engine.optimizer
    base = getattr(wrapper, "optimizer", wrapper)
    bench.optimizers.append(base)
    if wrapper is not base:
        bench.held.append(lambda: held_in(wrapper, HELD))
    kind = type(wrapper)
    if kind.__name__ == "DeepSpeedZeroOptimizer":
        for name in ("setup_buckets", "reduce_ipg_grads"):
            labelled(kind, name, bench.tracker, TermKey.REDUCE_BUCKET)
    elif kind.__name__ == "DeepSpeedZeroOptimizer_Stage3":
        from deepspeed.runtime.zero.partition_parameters import AllGatherCoalescedHandle, AllGatherHandle
        from deepspeed.runtime.zero.partitioned_param_coordinator import PartitionedParameterCoordinator

        gather = "_PartitionedParameterCoordinator__all_gather_params_"
        labelled(PartitionedParameterCoordinator, gather, bench.tracker, TermKey.GATHERED_PARAMS)
        for handle in (AllGatherHandle, AllGatherCoalescedHandle):
            labelled(handle, "wait", bench.tracker, TermKey.GATHERED_PARAMS)
        scatter = "_DeepSpeedZeroOptimizer_Stage3__avg_scatter_grads"
        labelled(kind, scatter, bench.tracker, TermKey.REDUCE_BUCKET)


def _optimizer(bench: Bench, params: Any) -> Any:
    """The optimizer that the engine's own config would build, or the one that a trainer hands over."""
    case = bench.case
    if case.optimizer == "adamw":
        from deepspeed.ops.adam import DeepSpeedCPUAdam, FusedAdam

        kind = FusedAdam if case.offload == "none" else DeepSpeedCPUAdam
        if not bench.stays:
            try:
                return kind(params, lr=1e-4)
            except Exception as error:  # its kernels are compiled on first use, which fails in many ways
                reason = (str(error).strip() or type(error).__name__).splitlines()[0]
                bench.notes.append(
                    f"{kind.__name__} could not be built here ({reason}): a stand-in held the same states and updated nothing."
                )
        return fused_adam(kind, params, None if case.offload == "none" else torch.float32)
    return torch_optimizer(
        case.optimizer, params, notes=bench.notes, on_host=case.offload != "none", on_cuda=bench.device == "cuda"
    )


def _import_real(bench: Bench) -> Any:
    """Import DeepSpeed as a user would, in the process group that already exists."""
    import deepspeed

    if bench.device == "cpu":
        # Would compile a shared-memory collective on first use.
        replace(sys.modules["deepspeed.comm.torch"], "build_shm_op", lambda: None)
    if not bench.peers:
        import deepspeed.runtime.zero.partitioned_param_coordinator as coordinator

        # Compares parameter order between ranks: there are no other ranks.
        replace(coordinator, "assert_ints_same_as_other_ranks", lambda *args, **kwargs: None)
    deepspeed.init_distributed(torch.distributed.get_backend(), dist_init_required=False)
    return deepspeed


def _import(bench: Bench) -> Any:
    """Import DeepSpeed with the bench's device as its accelerator."""
    require("deepspeed")
    if not bench.ghost:
        return _import_real(bench)
    from deepspeed.accelerator import set_accelerator

    set_accelerator(_accelerator(bench))
    import deepspeed
    import deepspeed.runtime.zero.linear as zero_linear
    import deepspeed.runtime.zero.partitioned_param_coordinator as coordinator
    from deepspeed.utils import nvtx

    if not deepspeed.__version__.startswith("0.19."):
        raise ZplanError(
            f"the dry run knows DeepSpeed 0.19, not {deepspeed.__version__}",
            "pip install 'deepspeed==0.19.8'",
            ExitCode.MISSING,
        )
    # Profiler ranges around every hook, with a question to the compiler in each.
    replace(nvtx, "enable_nvtx", False)
    # Compares parameter order between ranks: there are no other ranks.
    replace(coordinator, "assert_ints_same_as_other_ranks", lambda *args, **kwargs: None)
    # Would compile a shared-memory collective for CPU runs on first use.
    replace(sys.modules["deepspeed.comm.torch"], "build_shm_op", lambda: None)

    class _Cpu:
        def device_name(self) -> str:
            return "cpu"

    # Chooses autocast decorators by device name; "meta" has none.
    replace(zero_linear, "get_accelerator", _Cpu)
    deepspeed.init_distributed("fake", dist_init_required=False)
    if "nvme" in str(bench.case.zero):
        nvme.install()
        bench.notes.append("Offload to NVMe wrote nothing: a stand-in counted what DeepSpeed's swappers would write.")
    if any(bench.case.zero.get(key) for key in ("zero_quantized_weights", "zero_quantized_gradients")):
        zeropp.install()
        bench.notes.append("ZeRO++'s quantization kernels are stand-ins that allocate what the real ones return.")
    return deepspeed


def _accelerator(bench: Bench) -> Any:
    from deepspeed.accelerator.cpu_accelerator import CPU_Accelerator

    class MetaAccelerator(CPU_Accelerator):  # type: ignore[misc]
        """Says "meta" wherever CUDA's accelerator says "cuda"."""

        def __init__(self) -> None:
            super().__init__()
            self._name = "meta"

        def device_name(self, device_index: int | None = None) -> str:
            return "meta"

        def device(self, device_index: int | None = None) -> torch.device:
            return torch.device("meta")

        def device_count(self) -> int:
            return min(bench.case.world, GPUS_PER_NODE)

        def current_device_name(self) -> str:
            return "meta"

        def on_accelerator(self, tensor: torch.Tensor) -> bool:
            return bool(tensor.device.type == "meta")

        def pin_memory(self, tensor: torch.Tensor, align_bytes: int = 1) -> torch.Tensor:
            pinned: torch.Tensor = torch.ops.aten._pin_memory(tensor)
            return pinned

        def is_pinned(self, tensor: torch.Tensor) -> bool:
            return bool(torch.ops.aten.is_pinned(tensor))

        def available_memory(self, device_index: int | None = None) -> int:
            return 1 << 50

    return MetaAccelerator()
