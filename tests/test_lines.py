"""Peaks read off lines are those of the instants added up one by one: the same number at every batch shape."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from zplan.inputs.model import resolve_model
from zplan.memory.envelope import Envelope, upper_envelope
from zplan.memory.facts import job_facts
from zplan.memory.lines import draw_lines
from zplan.memory.shapes import ByLines, ByStack, batch_shape
from zplan.memory.stack import build_stack, engine_side
from zplan.spec import Attention, Checkpointing, Engine, Job, Lora, Loss, Offload, Precision

MODELS = (
    "llama-3.1-8b",
    "gpt2",
    "gemma-2-2b",
    "gemma-3-1b",
    "qwen3-0.6b",
    "mixtral-8x7b",
    "qwen1.5-moe-a2.7b",
    "falcon-7b",
    "phi-2",
    "opt-1.3b",
    "pythia-1b",
)
JOBS = {
    "ddp": Job(engine=Engine.DDP),
    "stage 1": Job(stage=1),
    "stage 2, accumulated": Job(stage=2, grad_accum=3),
    "stage 2, offload": Job(stage=2, offload=Offload.OPTIMIZER),
    "stage 3": Job(stage=3),
    "stage 3, full checkpointing": Job(stage=3, checkpointing=Checkpointing(kind="full")),
    "stage 3, every second": Job(stage=3, checkpointing=Checkpointing(kind="every-k", every=2)),
    "stage 3, offload": Job(stage=3, offload=Offload.ALL),
    "stage 3, in place": Job(stage=3, loss=Loss.IN_PLACE),
    "stage 1, chunks": Job(stage=1, loss=Loss.CHUNKED),
    "stage 3, chunks": Job(stage=3, loss=Loss.CHUNKED, checkpointing=Checkpointing(kind="every-k", every=3)),
    "stage 3, fused": Job(stage=3, loss=Loss.FUSED),
    "fsdp2, fused": Job(engine=Engine.FSDP2, stage=3, loss=Loss.FUSED),
    "lora, chunks": Job(stage=3, lora=Lora(rank=8), loss=Loss.CHUNKED),
    "stage 2, selective": Job(stage=2, checkpointing=Checkpointing(kind="selective-op")),
    "fsdp2": Job(engine=Engine.FSDP2, stage=3),
    "fsdp1": Job(engine=Engine.FSDP1, stage=2),
    "lora": Job(stage=2, lora=Lora(rank=16)),
    "lora, stage 3": Job(stage=3, lora=Lora(rank=8), checkpointing=Checkpointing(kind="full")),
    "lora, ddp": Job(engine=Engine.DDP, lora=Lora(rank=8)),
    "fp32": Job(engine=Engine.DDP, precision=Precision.FP32),
    "sdpa": Job(stage=3, attention=Attention.SDPA),
}
NOT_LINEAR = {
    "a gradient as long as a sequence": ("deepseek-v2-lite", Job()),
    "a mask": ("falcon-7b", JOBS["sdpa"]),
    "the larger of two copies": ("mixtral-8x7b", JOBS["lora, stage 3"]),
    "scores": ("gpt2", Job(attention=Attention.EAGER)),
    "scores of its own": ("bloom-560m", Job()),
    "compiled": ("gpt2", Job(compile=True)),
    "another implementation": ("pythia-1b", Job(implementation="litgpt", engine=Engine.FSDP1, stage=3)),
}
SHAPES = ((1, 1), (1, 333), (2, 2048), (3, 4096), (5, 77), (16, 512), (1, 65536), (64, 8))


@pytest.mark.parametrize("job", JOBS.values(), ids=JOBS)
@pytest.mark.parametrize("name", MODELS)
def test_lines_are_the_stack(name: str, job: Job) -> None:
    model, facts = resolve_model(params=None, model=name), job_facts(job)
    padded = job.precision is Precision.FP32
    for ranks, rank in ((1, 0), (8, 0), (8, 7)):
        memory = engine_side(model, facts, ranks, rank)
        for batch, seq in SHAPES:
            if job.attention is Attention.SDPA and seq > 500:
                continue  # a mask is needed there, which no lines are drawn for
            lines = draw_lines(model, facts.code, seq)
            if (name, job) in NOT_LINEAR.values() or (padded and seq % 32):
                assert lines is None
                continue
            assert lines is not None
            one, other = (
                ByLines(lines, model, facts.code, batch, seq),
                ByStack(build_stack(model, facts.code, batch, seq)),
            )
            assert (one.inputs_bytes, one.scratch_bytes) == (other.inputs_bytes, other.scratch_bytes)
            for run in memory.passes:
                for track, forward in ((run.forward, True), (run.backward, False)):
                    assert one.peak(track, forward) == other.peak(track, forward), (ranks, rank, batch, seq, forward)


@pytest.mark.parametrize(("name", "job"), NOT_LINEAR.values(), ids=NOT_LINEAR)
def test_what_is_no_line_goes_by_the_stack(name: str, job: Job) -> None:
    model, facts = resolve_model(params=None, model=name), job_facts(job)
    assert all(isinstance(batch_shape(model, facts.code, batch, 100), ByStack) for batch in range(1, 9))


def test_padded_lengths_go_by_the_stack() -> None:
    model = replace(resolve_model(params=None, model="gpt2"), name="not asked before")
    facts = job_facts(Job(precision=Precision.FP32)).code
    found = [type(batch_shape(model, facts, batch, seq)) for batch in range(1, 5) for seq in (96, 100)]
    assert found == [ByStack] * 3 + [ByStack, ByLines, ByStack, ByLines, ByStack]


def test_lines_are_drawn_after_a_few_shapes() -> None:
    model, facts = replace(resolve_model(params=None, model="gpt2"), name="another"), job_facts(Job(stage=1))
    shapes = [type(batch_shape(model, facts.code, batch, 100)) for batch in range(1, 9)]
    assert shapes == [ByStack] * 3 + [ByLines] * 5


LINES = st.lists(st.tuples(st.integers(0, 60), st.integers(-50, 3000)), min_size=1, max_size=14)


@given(LINES, st.lists(st.integers(1, 4000), min_size=1, max_size=9))
def test_an_envelope_is_the_largest_line(lines: list[tuple[int, int]], tokens: list[int]) -> None:
    envelope = Envelope(lines)
    for at in (1, *tokens):
        assert envelope.at(at) == max(slope * at + start for slope, start in lines)
    assert set(upper_envelope(lines)) <= set(lines)


def test_no_line_of_an_envelope_is_idle() -> None:
    # (2, 5) is never the largest: 0 t + 10 and 4 t + 0 meet at t = 2.5, where both are 10 and it is 10 as well.
    assert upper_envelope([(0, 10), (2, 5), (4, 0)]) == [(0, 10), (4, 0)]
    assert upper_envelope([(0, 10), (2, 6), (4, 0), (4, -1)]) == [(0, 10), (2, 6), (4, 0)]
