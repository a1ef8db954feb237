"""DistributedDataParallel: fp32 parameters and autocast on every rank, gradients reduced in buckets."""

from __future__ import annotations

from typing import Any

import torch

from zplan.memory.moments import TermKey
from zplan.verify.dryrun.bench import Bench
from zplan.verify.dryrun.engine_single import autocast, master_dtype, torch_step
from zplan.verify.dryrun.patching import replace
from zplan.verify.dryrun.steps import StepWork

DEVICE = "cpu"
PLAIN_TENSORS = False


def _finished(bucket: Any) -> Any:
    """Stands for the all-reduce, which works in place on the bucket and allocates nothing."""
    future: Any = torch.futures.Future()
    future.set_result(bucket.buffer())
    return future


def prepare(bench: Bench) -> StepWork:
    """Build the model and wrap it."""
    from torch.nn.parallel import DistributedDataParallel

    case = bench.case
    model = bench.build(master_dtype(case.precision, case.lora is not None))
    bench.arrive_whole(model)
    with bench.tracker.creating(TermKey.REDUCE_BUCKET):
        # Without other ranks there is nothing to compare or to send when the wrapper starts.
        ddp = DistributedDataParallel(model, init_sync=bench.peers)
    if not bench.peers:
        # torch looks at the annotations of a hook; a lambda has none.
        ddp.register_comm_hook(None, lambda state, bucket: _finished(bucket))
    if bench.ghost:
        # Sorting the buckets anew after the first step reads tensors; their total stays as it is.
        replace(torch.distributed.Reducer, "_rebuild_buckets", lambda reducer: False)

    def before(last: bool) -> None:
        # What accelerate's accumulate() does: gradients are reduced in the last micro-step only.
        ddp.require_backward_grad_sync = last

    return torch_step(bench, ddp, model.parameters(), autocast(case.precision, bench.device), before)
