"""The replay of a model with few of its equal layers says the same as that of all of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from zplan.inputs.model import resolve_model
from zplan.memory.engines import zero3_gather, zero3_plus
from zplan.memory.engines.zero3_short import shortened
from zplan.memory.facts import job_facts
from zplan.memory.params import layout
from zplan.memory.stack import grad_orders
from zplan.spec import Checkpointing, DeepSpeedOptions, Job, Lora, ModelSpec

CHECKPOINTING = {
    "none": Checkpointing(),
    "full": Checkpointing(kind="full"),
    "every second": Checkpointing(kind="every-k", every=2),
    "every third": Checkpointing(kind="every-k", every=3),
    "every fourth": Checkpointing(kind="every-k", every=4),
}
OPTIONS = {
    "default": DeepSpeedOptions(),
    "as transformers fills auto": DeepSpeedOptions(prefetch_bucket_size=15_099_494, param_persistence_threshold=40_960),
    "no prefetch": DeepSpeedOptions(prefetch_bucket_size=0),
    "far prefetch": DeepSpeedOptions(prefetch_bucket_size=600_000_000),
    "little alive": DeepSpeedOptions(max_live_parameters=150_000_000),
    "no reuse": DeepSpeedOptions(max_reuse_distance=0),
    "near reuse": DeepSpeedOptions(max_reuse_distance=300_000_000),
    "all persistent": DeepSpeedOptions(param_persistence_threshold=20_000_000),
    "odd": DeepSpeedOptions(
        prefetch_bucket_size=77_777_777, max_reuse_distance=555_555_555, max_live_parameters=444_444_444
    ),
}
MODELS = {
    "llama-2-70b": None,
    "llama-2-7b": None,
    "gemma-2-9b": None,
    "gemma-3-27b": None,
    "qwen3-32b": None,
    "gpt2-xl": None,
    "opt-13b": None,
    "mixtral-8x7b": None,
    "llama-3.1-8b": Lora(rank=16),
    "qwen2.5-14b": Lora(rank=64),
}


Levels = zero3_gather.PieceLevels


def short_of(model: ModelSpec, job: Job, chunks: int = 1) -> Levels | None:
    """Levels of the short model's replay, where it stands for the whole."""
    groups, orders = layout(model, job.lora), grad_orders(model, job_facts(job).code)
    short = shortened(groups, orders, job.deepspeed)
    seen = short and zero3_gather._replayed_short(short, job.deepspeed, chunks)
    return seen and zero3_gather.levels_of(seen, 2, 4)


def whole_of(model: ModelSpec, job: Job, chunks: int = 1) -> Levels:
    """Levels of all layers' replay."""
    groups, orders = layout(model, job.lora), grad_orders(model, job_facts(job).code)
    return zero3_gather.levels_of(zero3_gather._replayed(groups, orders, job.deepspeed, chunks), 2, 4)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("saver", CHECKPOINTING)
def test_a_short_replay_says_the_same(name: str, saver: str) -> None:
    model = resolve_model(params=None, model=name)
    for words in OPTIONS.values():
        job = Job(stage=3, lora=MODELS[name], checkpointing=CHECKPOINTING[saver], deepspeed=words)
        for chunks in (1, 8) if saver in ("none", "full") else (1,):
            found = short_of(model, job, chunks)
            assert found is None or found.found == whole_of(model, job, chunks).found


ANSWERED = {
    ("llama-2-70b", "none", "default"),
    ("llama-2-70b", "full", "default"),
    ("llama-2-70b", "every fourth", "default"),
    ("llama-2-7b", "none", "default"),
    ("llama-2-7b", "full", "as transformers fills auto"),
    ("llama-2-7b", "every second", "near reuse"),
    ("gemma-3-27b", "full", "no reuse"),
    ("qwen3-32b", "none", "far prefetch"),
    ("opt-13b", "full", "little alive"),
    ("llama-3.1-8b", "full", "default"),
    ("qwen2.5-14b", "none", "default"),
    ("qwen2.5-14b", "every second", "near reuse"),
}


@pytest.mark.parametrize(("name", "saver", "words"), sorted(ANSWERED))
def test_common_models_are_replayed_short(name: str, saver: str, words: str) -> None:
    job = Job(stage=3, lora=MODELS[name], checkpointing=CHECKPOINTING[saver], deepspeed=OPTIONS[words])
    model = resolve_model(params=None, model=name)
    found = short_of(model, job)
    assert found is not None
    assert found.found == whole_of(model, job).found


def test_what_outlives_a_release_is_replayed_whole() -> None:
    # Falcon's views pile up layer by layer, and a mixture of experts looks as far as the model is long.
    for name in ("falcon-40b", "mixtral-8x22b"):
        assert short_of(resolve_model(params=None, model=name), Job(stage=3)) is None


def test_few_layers_are_not_cut() -> None:
    model = resolve_model(params=None, model="llama-2-7b")
    groups, orders = layout(model), grad_orders(model, job_facts(Job(stage=3)).code)
    assert shortened(groups, orders, replace(DeepSpeedOptions(), max_reuse_distance=10**12)) is None


@pytest.mark.parametrize("saver", CHECKPOINTING)
@pytest.mark.parametrize("name", ["llama-2-70b", "llama-2-7b", "gemma-3-27b", "qwen3-32b", "llama-3.1-8b"])
def test_a_short_replay_with_secondary_partitions_says_the_same(name: str, saver: str) -> None:
    model = resolve_model(params=None, model=name)
    shortly = 0
    for words in (OPTIONS["default"], OPTIONS["as transformers fills auto"], OPTIONS["odd"]):
        for hpz, quantized, on_gpu in ((8, False, True), (8, True, True), (1, True, True), (4, False, False)):
            job = Job(stage=3, lora=MODELS[name], checkpointing=CHECKPOINTING[saver], hpz=hpz)
            groups, orders = layout(model, job.lora), grad_orders(model, job_facts(job).code)
            limits = replace(words, quantized_weights=quantized)
            options = zero3_plus.PlusOptions(limits, hpz, on_gpu, 2, 4, 16)
            short = shortened(groups, orders, limits)
            found = short and zero3_plus._replayed_short(short, options)
            if found is None:
                continue
            shortly += 1
            both, alone = zero3_plus._replayed(groups, orders, options)
            assert found[0].found == both.found
            assert found[1].found == alone.found
    assert shortly or name in ("gemma-3-27b", "llama-2-7b") or MODELS[name] is not None
