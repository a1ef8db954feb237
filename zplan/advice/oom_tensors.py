"""Every tensor of a plan that a single request for memory can be: what it is, how large, and when it is asked for.

An out-of-memory message names a size; the tensors here are what that size is compared with.
"""

from __future__ import annotations

from zplan.advice.oom_base import PlanFacts, PlanTensor
from zplan.advice.oom_engines import engine_tensors
from zplan.advice.oom_model import activation_tensors, head_tensors, weight_tensors
from zplan.memory.optimizers import optimizer_spec
from zplan.memory.params import layout
from zplan.memory.states import state_sizes
from zplan.spec import Plan


def plan_tensors(plan: Plan) -> tuple[PlanTensor, ...]:
    """Lists the tensors of a plan.

    Args:
        plan: Model, cluster and job.

    Returns:
        Device and host tensors of the engine, the parameters, the activations and the loss head; sizes in bytes before
        any allocator's rounding, at least one byte each.
    """
    model, job = plan.model, plan.job
    shared = PlanFacts(
        model,
        job,
        plan.world_size,
        layout(model, job.lora),
        state_sizes(job),
        optimizer_spec(job.optimizer),
    )
    found = [*engine_tensors(shared), *activation_tensors(shared), *head_tensors(shared), *weight_tensors(shared)]
    return tuple(tensor for tensor in found if tensor.bytes > 0)
