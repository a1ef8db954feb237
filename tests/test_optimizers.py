"""Temporaries and states of optimizers: the formulas against the optimizers' own steps on tensors without data."""

from __future__ import annotations

from math import prod
from typing import Any

import pytest

from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate, TermKey
from zplan.memory.optimizers import OPTIMIZERS, factored_bytes, optimizer_spec, state_bytes, temporary_bytes

SHAPES = ((4000, 256), (700, 256), (256, 700), (256,))
FLAT = ((sum(prod(shape) for shape in SHAPES),),)


def stepped(name: str, shapes: tuple[tuple[int, ...], ...], bits: int) -> tuple[int, int]:
    """Bytes of states between steps, and of temporaries in the second step, of the real optimizer."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("transformers")
    from transformers.optimization import Adafactor

    from zplan.verify.dryrun.ghost import Ghost
    from zplan.verify.tracker import Tracker

    dtype = torch.float32 if bits == 32 else torch.bfloat16
    params = [torch.nn.Parameter(torch.empty(shape, dtype=dtype, device="meta")) for shape in shapes]
    for param in params:
        param.grad = torch.empty_like(param)
    make: dict[str, Any] = {
        "adafactor": lambda: Adafactor(params, lr=1e-4, scale_parameter=False, relative_step=False),
        "adamw_torch": lambda: torch.optim.AdamW(params, foreach=True),
        "adagrad": lambda: torch.optim.Adagrad(params, foreach=True),
        "rmsprop": lambda: torch.optim.RMSprop(params, foreach=True),
        "sgd": lambda: torch.optim.SGD(params, lr=1e-4, foreach=True),
        "sgd_momentum": lambda: torch.optim.SGD(params, lr=1e-4, momentum=0.9, foreach=True),
        "muon": lambda: torch.optim.Muon(params, lr=1e-4),
    }
    tracker = Tracker("meta", "cpu", Ghost())
    with tracker:
        optimizer = make[name]()
        optimizer.step()
        before = tracker.device_bytes
        tracker.begin("step", TermKey.OPTIMIZER_TEMPORARIES)
        optimizer.step()
        peak = tracker.end(inventory=False).device_bytes
    weights = 2 * sum(prod(shape) for shape in shapes) * bits // 8
    # Tensors made before the tracker ran are counted when an operator returns them (``add_``): leave them out.
    states = sum(
        tensor.untyped_storage().nbytes()
        for state in optimizer.state.values()
        for tensor in state.values()
        if isinstance(tensor, torch.Tensor) and tensor.dim()
    )
    assert before <= states + weights + 64
    return states, peak - before


@pytest.mark.slow
@pytest.mark.parametrize("bits", [32, 16])
@pytest.mark.parametrize("name", ["adafactor", "adamw_torch", "adagrad", "rmsprop", "sgd", "sgd_momentum", "muon"])
@pytest.mark.parametrize("flat", [False, True])
def test_a_step(name: str, bits: int, flat: bool) -> None:
    spec = optimizer_spec(name)
    shapes = FLAT if flat else SHAPES
    if name == "muon":
        if flat:
            pytest.skip("torch's Muon takes matrices alone")
        shapes = SHAPES[:3]
    states, temporaries = stepped(name, shapes, bits)
    numel = sum(prod(shape) for shape in shapes)
    expected = factored_bytes(shapes) if spec.factored and not flat else state_bytes(spec, numel, bits // 8)
    assert states == pytest.approx(expected, abs=1024)
    # Sums of rows and columns of the tensor at hand, and scalars, are not worth a term: 0.2 % here, less in larger matrices.
    assert temporaries == pytest.approx(temporary_bytes(spec, numel, shapes, bits // 8), rel=0.012, abs=4096)


def estimated(**options: str) -> Estimate:
    (plan,) = build_plans(PlanOptions(**options)).plans
    return estimate(plan)


def at_step(found: Estimate, key: str) -> int:
    return max(moment.terms.get(key, 0) for moment in found.moments if moment.phase == "step")


def test_adafactor_keeps_sums_of_whole_matrices() -> None:
    # Llama-3.1-8B, 32 blocks: q and o 4096 x 4096, k and v 1024 x 4096, gate, up and down with 14336, two norms;
    # embedding and head 128256 x 4096, the last norm. 4 bytes each.
    block = 2 * 8192 + 2 * 5120 + 3 * 18432 + 2 * 4096
    expected = 4 * (32 * block + 2 * (128_256 + 4096) + 4096)
    for engine in ("ddp", "single"):
        gpus = "1" if engine == "single" else "8"
        found = estimated(model="llama-3.1-8b", gpus=gpus, engine=engine, optimizer="adafactor")
        assert found.steady[TermKey.OPTIMIZER] == expected
        # two fp32 tensors of the embedding's size
        assert at_step(found, TermKey.OPTIMIZER_TEMPORARIES) == 2 * 4 * 128_256 * 4096


def test_adafactor_on_flat_partitions_keeps_everything() -> None:
    # Read off dry runs of stages 2 and 3 on 4 ranks (DeepSpeed 0.19.8): 25,893,376 bytes of states for 25,893,376 weights, and two
    # fp32 tensors of the partition's size (51,786,752 bytes) while it steps; a vector has no rows and columns.
    for options in ({"stage": "2"}, {"stage": "3"}):
        found = estimated(params="7B", gpus="8", optimizer="adafactor", **options)
        assert found.steady[TermKey.OPTIMIZER] == 4 * 7_000_000_000 // 8
        assert at_step(found, TermKey.OPTIMIZER_TEMPORARIES) == 2 * 4 * 7_000_000_000 // 8
    # FSDP1 with use_orig_params hands over views of one dimension.
    found = estimated(params="7B", gpus="8", engine="fsdp1", stage="3", optimizer="adafactor")
    assert found.steady[TermKey.OPTIMIZER] == 4 * 7_000_000_000 // 8


def test_adagrad_holds_two_copies() -> None:
    # square roots of all sums, and all updates: a dry run of one process in fp32 held 207,147,008 bytes for 25,893,376 weights
    found = estimated(params="7B", gpus="8", engine="ddp", optimizer="adagrad")
    assert at_step(found, TermKey.OPTIMIZER_TEMPORARIES) == 2 * 4 * 7_000_000_000


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_every_optimizer_has_a_source_and_a_way_to_step(name: str) -> None:
    spec = optimizer_spec(name)
    assert spec.source
    assert spec.step_temporary_copies == 0 or not spec.tensor_by_tensor
    assert temporary_bytes(spec, 10, ((2, 5),), 4) >= 0
