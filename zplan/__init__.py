"""Will this training run fit, and how should I run it?

The public API: these names, and the values in :mod:`zplan.spec`. Names are imported when they are first used, so that
``import zplan`` costs next to nothing::

    import zplan

    model = zplan.resolve_model(params="7B")
    cluster, _ = zplan.build_cluster(gpus=8, gpu_mem_bytes=80 * 2**30)
    plan = zplan.Plan(model=model, cluster=cluster, job=zplan.Job(stage=2))
    zplan.estimate(plan).allocated_peak_bytes
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from zplan.advice.space import Question
    from zplan.api import build_cluster, estimate, recommend, resolve_model
    from zplan.errors import ZplanError
    from zplan.memory.moments import Estimate
    from zplan.spec import Checkpointing, ClusterSpec, Engine, Job, ModelSpec, Offload, Plan

    __version__: str

_HOME = {
    "ZplanError": "zplan.errors",
    "build_cluster": "zplan.api",
    "resolve_model": "zplan.api",
    "estimate": "zplan.api",
    "Estimate": "zplan.memory.moments",
    "Checkpointing": "zplan.spec",
    "ClusterSpec": "zplan.spec",
    "Engine": "zplan.spec",
    "Job": "zplan.spec",
    "ModelSpec": "zplan.spec",
    "Offload": "zplan.spec",
    "Plan": "zplan.spec",
    "Question": "zplan.advice.space",
    "recommend": "zplan.api",
}

__all__ = [
    "Checkpointing",
    "ClusterSpec",
    "Engine",
    "Estimate",
    "Job",
    "ModelSpec",
    "Offload",
    "Plan",
    "Question",
    "ZplanError",
    "__version__",
    "build_cluster",
    "estimate",
    "recommend",
    "resolve_model",
]


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    if name == "__version__":
        from importlib.metadata import PackageNotFoundError, version

        value: Any
        try:
            value = version("zplan")
        except PackageNotFoundError:
            value = "of a source tree"
    elif name in _HOME:
        from importlib import import_module

        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module 'zplan' has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names, imported or not."""
    return sorted(__all__)
