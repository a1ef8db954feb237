"""Reentrant checkpoints around frozen FSDP1 units leave each block's input and its gradient behind until backward ends."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import pytest

from zplan.inputs.presets import load_model
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate, TermKey
from zplan.spec import Checkpointing, ClusterSpec, Engine, Job, Lora, Loss, Plan, Precision

MODEL = load_model("llama-3-8b")
T, H = 4 * 4096, 4096

RUN = """
import gc, sys, torch, torch.distributed as dist
from torch.distributed.fsdp import FullyShardedDataParallel as Unit
from torch.testing._internal.distributed.fake_pg import FakeStore
from torch.utils.checkpoint import checkpoint
reentrant, around = sys.argv[1] == "reentrant", sys.argv[2] == "around"
dist.init_process_group("fake", store=FakeStore(), rank=0, world_size=2)
H, T, L = 64, 128, 8
device = torch.device("cpu")

class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.up, self.down = torch.nn.Linear(H, 4 * H), torch.nn.Linear(4 * H, H)
        self.requires_grad_(False)
        self.adapter = Unit(torch.nn.Linear(H, H, bias=False), device_id=device)
    def forward(self, x):
        return x + self.down(torch.relu(self.up(x))) + self.adapter(x)

class Inside(torch.nn.Module):
    def __init__(self, block):
        super().__init__()
        self.block = block
    def forward(self, x):
        return checkpoint(self.block, x, use_reentrant=reentrant)

live = []

def count(*_):
    found = set()
    for one in gc.get_objects():
        if isinstance(one, torch.Tensor) and tuple(one.shape) == (T, H):
            found.add(one.untyped_storage().data_ptr())
            if one.grad is not None:
                found.add(one.grad.untyped_storage().data_ptr())
    live.append(len(found))

class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        blocks = [Block() for _ in range(L)]
        self.units = torch.nn.ModuleList(Unit(b if around else Inside(b), device_id=device) for b in blocks)
        for block in blocks:
            block.up.register_full_backward_hook(count)
    def forward(self, x):
        for unit in self.units:
            x = checkpoint(unit, x, use_reentrant=reentrant) if around else unit(x)
        return x

model = Unit(Model(), device_id=device)
model(torch.randn(T, H, requires_grad=True)).sum().backward()
print(*live)
dist.destroy_process_group()
"""
"""Counts live tensors of a block input's shape each time a block's backward begins, the last block first."""


def _live(*words: str) -> list[int]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    command = (sys.executable, "-W", "ignore", "-c", RUN, *words)
    done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=120, env=environment)
    assert done.returncode == 0, done.stderr[-2000:]
    return [int(word) for word in done.stdout.split()]


def test_torch_leaves_two_tensors_per_block_behind() -> None:
    """A block's checkpoint is freed once it has run backward; around frozen units its input and the gradient stay instead."""
    pytest.importorskip("torch")
    around, inside = _live("reentrant", "around"), _live("reentrant", "inside")
    assert len(around) == len(inside) == 8
    # Two left behind, less one checkpoint of a block that comes later; the first step also lets the model's output go.
    assert [around[block + 1] - around[block] for block in range(1, 7)] == [1] * 6
    assert [inside[block + 1] - inside[block] for block in range(1, 7)] == [-1] * 6


def priced(*, reentrant: bool, engine: Engine = Engine.FSDP1, kind: str = "full", lora: Lora | None = None) -> Estimate:
    """Adapters on an 8B model with a fused loss: 4 x 4096 tokens on each of four GPUs."""
    job = Job(
        engine=engine,
        stage=3,
        precision=Precision.BF16_PURE,
        micro_batch=4,
        seq_len=4096,
        loss=Loss.FUSED,
        checkpointing=Checkpointing(kind=kind, every=2, reentrant=reentrant),
        lora=lora or Lora(rank=16),
    )
    return estimate(Plan(model=MODEL, cluster=ClusterSpec(gpus=4, nodes=1), job=job))


def test_the_peak_moves_to_the_first_block_and_grows_by_a_checkpoint_per_layer() -> None:
    with_hooks, without = priced(reentrant=True), priced(reentrant=False)
    more = with_hooks.phases["backward"] - without.phases["backward"]
    # Before: 31 checkpoints below the last block. Now, at the second block (at the first no unit is gathered ahead any more), one
    # checkpoint below it, and 30 inputs and as many gradients above it.
    assert more == pytest.approx((1 + 2 * 30 - 31) * 2 * T * H, rel=0.01)
    peak = with_hooks.peak_moment
    assert peak.terms[TermKey.CHECKPOINTS] == (1 + 2 * 30) * 2 * T * H
    assert sum(peak.terms.values()) == peak.total_bytes
    assert with_hooks.phases["forward"] == without.phases["forward"]


def test_every_moment_is_the_sum_of_its_terms() -> None:
    for kind in ("full", "every-k"):
        for moment in priced(reentrant=True, kind=kind).moments:
            assert sum(moment.terms.values()) == moment.total_bytes


@pytest.mark.parametrize(
    ("engine", "lora"),
    [(Engine.FSDP2, Lora(rank=16)), (Engine.FSDP1, Lora(rank=16, own_units=False)), (Engine.DEEPSPEED, Lora(rank=16))],
)
def test_nothing_is_left_where_no_unit_is_frozen(engine: Engine, lora: Lora) -> None:
    assert (
        priced(reentrant=True, engine=engine, lora=lora).phases
        == priced(reentrant=False, engine=engine, lora=lora).phases
    )


def test_without_adapters_nothing_is_frozen() -> None:
    plan = priced(reentrant=True).plan
    full = replace(plan, job=replace(plan.job, lora=None))
    plain = replace(full, job=replace(full.job, checkpointing=Checkpointing(kind="full")))
    assert estimate(full).phases == estimate(plain).phases
