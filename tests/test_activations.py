"""Activation tables: golden values, laws, and the model code itself."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.inputs.hf import read_config
from zplan.inputs.presets import list_models, load_model
from zplan.memory.activations import block_memory, head_memory, stem_memory
from zplan.memory.activations.base import ComputeMode, waiting
from zplan.memory.activations.table import Table, bind
from zplan.spec import Attention, Loss

LLAMA = read_config(
    {
        "model_type": "llama",
        "vocab_size": 128256,
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_hidden_layers": 32,
        "num_attention_heads": 32,
        "num_key_value_heads": 8,
    },
    name="llama-3.1-8b",
    source="test",
)
BLOCK = LLAMA.block_kinds[0]
SHAPE = {"micro_batch": 1, "seq_len": 4096, "mode": ComputeMode.CAST}


def test_llama_block_keeps_what_autograd_saves() -> None:
    # T (8f + 16h + 4ad + 4kd + 4a + 8) + 24 with T = 4096, f = 14336, h = 4096, ad = 4096, kd = 1024, a = 32:
    # per token 114688 + 65536 + 16384 + 4096 + 128 + 8 = 200840; 24 bytes are flash attention's random state.
    memory = block_memory(BLOCK, attention=Attention.FLASH, **SHAPE)
    assert memory.kept_bytes == 4096 * 200840 + 24
    assert memory.kept_score_bytes == 0


def test_eager_attention_keeps_probabilities_twice() -> None:
    # fp32 softmax 4 + its 16-bit copy 2 bytes per score: 6 a s^2 b.
    memory = block_memory(BLOCK, attention=Attention.EAGER, **SHAPE)
    assert memory.kept_score_bytes == 6 * 32 * 4096**2


def test_checkpointed_block_keeps_its_input() -> None:
    # 2 T h
    memory = block_memory(BLOCK, attention=Attention.FLASH, checkpointed=True, **SHAPE)
    assert memory.kept_bytes == 2 * 4096 * 4096


def test_stem_keeps_rotary_tables() -> None:
    # cos and sin in 16 bits: 4 s d
    assert stem_memory(LLAMA, attention=Attention.FLASH, **SHAPE).kept_bytes == 4 * 4096 * 128


def test_loss_head_of_transformers() -> None:
    # Forward: 2 V T logits + 4 fp32 copy + 4 log-softmax; backward: 4 log-softmax + 4 its gradient + 4 the copy's.
    memory = head_memory(LLAMA, loss=Loss.STANDARD, **SHAPE)
    logits = 128256 * 4096
    small = 20 * 4096 * 4096  # a few tensors of T h bytes
    assert 10 * logits <= max(i.activation_bytes for i in memory.forward) <= 10 * logits + small
    assert 12 * logits <= max(i.activation_bytes for i in memory.backward) <= 12 * logits + small


@settings(max_examples=50, deadline=None)
@given(
    batch=st.integers(1, 64),
    seq=st.integers(1, 100_000),
    attention=st.sampled_from(Attention),
    checkpointed=st.booleans(),
)
def test_more_tokens_never_need_less(batch: int, seq: int, attention: Attention, checkpointed: bool) -> None:
    def peaks(b: int, s: int) -> tuple[int, int, int]:
        memory = block_memory(
            BLOCK, micro_batch=b, seq_len=s, attention=attention, mode=ComputeMode.CAST, checkpointed=checkpointed
        )
        both = [max(i.activation_bytes + i.score_bytes for i in x) for x in (memory.forward, memory.backward)]
        return memory.kept_bytes + memory.kept_score_bytes, both[0], both[1]

    here, longer, wider = peaks(batch, seq), peaks(batch, seq + 1), peaks(batch + 1, seq)
    assert all(x <= y for x, y in zip(here, longer, strict=True))
    assert all(x <= y for x, y in zip(here, wider, strict=True))


@settings(max_examples=50, deadline=None)
@given(seq=st.integers(1, 100_000), attention=st.sampled_from(Attention), checkpointed=st.booleans())
def test_instants_are_in_order_and_name_weights(seq: int, attention: Attention, checkpointed: bool) -> None:
    memory = block_memory(
        BLOCK, micro_batch=1, seq_len=seq, attention=attention, mode=ComputeMode.CAST, checkpointed=checkpointed
    )
    ready = [i.grads_ready for i in memory.backward]
    assert ready == sorted(ready)
    assert sorted(memory.grad_order) == list(range(len(BLOCK.weights)))
    named = [i.pending_grad if i.pending_grad >= -1 else waiting(i.pending_grad) for i in memory.backward]
    assert all(-1 <= which < len(BLOCK.weights) for which in named)
    # The last gradient to come out is that of the block's input.
    assert min(i.activation_bytes for i in memory.backward) >= memory.input_grad_bytes


@pytest.mark.parametrize("checkpointed", [False, True])
@pytest.mark.parametrize("name", list_models())
def test_every_preset_has_tables(name: str, checkpointed: bool) -> None:
    model = load_model(name)
    where = {"micro_batch": 1, "seq_len": 128, "mode": ComputeMode.CAST}
    for block in model.block_kinds:
        memory = block_memory(block, attention=Attention.FLASH, checkpointed=checkpointed, **where)
        assert sorted(memory.grad_order) == list(range(len(block.weights)))
    assert stem_memory(model, attention=Attention.FLASH, checkpointed=checkpointed, **where).forward
    assert head_memory(model, loss=Loss.STANDARD, **where).backward


def test_code_without_kernels_runs_its_own_attention() -> None:
    model = load_model("bloom-560m")
    flash, eager = (
        block_memory(model.block_kinds[0], attention=attention, **SHAPE)
        for attention in (Attention.FLASH, Attention.EAGER)
    )
    assert flash == eager
    assert flash.kept_score_bytes > 0


def test_unknown_code_is_refused() -> None:
    with pytest.raises(ZplanError, match="no activation tables for mamba"):
        block_memory(replace(BLOCK, implementation="mamba"), attention=Attention.FLASH, **SHAPE)


def test_biases_that_a_table_does_not_know_come_before_their_matrix() -> None:
    table = Table(
        columns=("T",),
        kept=(1,),
        input_grad=(0,),
        order=("up.weight", "down.weight"),
        forward=(("", (1,)),),
        backward=((0, "up", "up.weight", (3,)), (1, "", "", (2,)), (2, "", "", (1,))),
    )
    bound = bind(table, {}, ["down.weight", "up.weight", "up.bias"])
    assert bound.grad_order == (2, 1, 0)
    assert [instant.grads_ready for instant in bound.at(1, 1).backward] == [0, 2, 3]
    assert bound.at(1, 1).backward[0].pending_grad == 1


FRESH = [
    ("llama", ComputeMode.CAST, Attention.FLASH, False),
    ("mistral", ComputeMode.CAST, Attention.SDPA, True),
    ("llama", ComputeMode.CAST, Attention.EAGER, False),
    ("phi", ComputeMode.FP32, Attention.EAGER, True),
    ("qwen3", ComputeMode.CAST, Attention.FLASH, True),
    ("gemma2", ComputeMode.CAST, Attention.FLASH, False),
    ("gpt2", ComputeMode.CAST, Attention.FLASH, False),
    ("mixtral", ComputeMode.CAST, Attention.FLASH, False),
]


@pytest.mark.parametrize(("model_type", "mode", "attention", "checkpointed"), FRESH)
def test_tables_are_what_the_installed_model_code_does(
    model_type: str, mode: ComputeMode, attention: Attention, checkpointed: bool
) -> None:
    pytest.importorskip("transformers")
    from zplan.verify.derive.check import differences
    from zplan.verify.derive.derive import Way
    from zplan.verify.derive.families import FAMILIES

    family = FAMILIES[model_type]
    way = Way(attention=attention, mode=mode, checkpointed=checkpointed)
    assert differences(family, way, 1_000_003, family.variants[0]) == []


@pytest.mark.parametrize(
    ("family", "way"),
    [
        ("llama", "mode=ComputeMode.AUTOCAST, attention=Attention.EAGER"),
        ("opt", "mode=ComputeMode.MIXED, lora=True"),
        ("mixtral", "mode=ComputeMode.CAST, lora=True"),
    ],
)
def test_autocast_tables_are_what_the_installed_model_code_does(family: str, way: str) -> None:
    """In a process of its own: CUDA's autocast lists on the CPU stay for the life of a process."""
    pytest.importorskip("transformers")
    code = (
        "from zplan.memory.activations.base import ComputeMode\n"
        "from zplan.spec import Attention\n"
        "from zplan.verify.derive.check import differences\n"
        "from zplan.verify.derive.derive import Way\n"
        "from zplan.verify.derive.families import FAMILIES, UNTIED\n"
        "for checkpointed in (False, True):\n"
        f"    way = Way({way}, checkpointed=checkpointed)\n"
        f"    print(differences(FAMILIES['{family}'], way, 1_000_003, UNTIED))\n"
    )
    command = [sys.executable, "-W", "ignore", "-c", code]
    result = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert result.stdout.split() == ["[]", "[]"], result.stderr


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("checkpointed", [False, True])
def test_watching_changes_nothing(tied: bool, checkpointed: bool) -> None:
    """A real step on the CPU, seen by torch's own memory profiler, peaks where the watched step without data does."""
    pytest.importorskip("transformers")
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    from zplan.verify.derive import trace

    shape = {"vocab_size": 131, "hidden_size": 64, "intermediate_size": 200, "num_hidden_layers": 3}
    shape |= {"num_attention_heads": 4, "num_key_value_heads": 2, "tie_word_embeddings": tied, "use_cache": False}
    config = AutoConfig.for_model("llama", **shape)
    log, _ = trace.run(
        AutoConfig.for_model("llama", **shape),
        micro_batch=2,
        seq_len=72,
        attention=Attention.EAGER,
        mode=ComputeMode.FP32,
        checkpointed=checkpointed,
    )
    watched = max(sum(log.sizes[uid] for uid in event.live) for event in log.events)

    model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", dtype=torch.float32).train()
    if checkpointed:
        model.activation_checkpointing_enable()
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda item: setattr(item, "grad", None))
    ids = torch.ones((2, 72), dtype=torch.long)
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as profile:
        model(input_ids=ids, labels=ids).loss.backward()
    events = sorted(profile.profiler.kineto_results.events(), key=lambda event: event.start_ns())
    live = peak = 0
    for event in events:
        if event.name() == "[memory]":
            live += event.nbytes()
            peak = max(peak, live)
    # Host-side only: three 8-byte scalars, and the CPU generator's state (5056 bytes) for each checkpointed block.
    assert peak - watched == 24 + (3 * 5056 if checkpointed else 0)


def test_hooks_run_when_a_node_has_let_go_of_what_it_was_given() -> None:
    memory = block_memory(BLOCK, micro_batch=1, seq_len=64, attention=Attention.FLASH, mode=ComputeMode.CAST)
    names = [weight.name for weight in BLOCK.weights]
    which = names.index("mlp.up_proj.weight")
    at_hook = [i for i in memory.backward if i.pending_grad == which]
    before = [i for i in memory.backward if i.pending_grad == waiting(which)]
    assert (len(at_hook), len(before)) == (1, 1)
    # The product's gradient of T x f, 2 bytes each, is gone.
    assert before[0].activation_bytes - at_hook[0].activation_bytes == 2 * 64 * dict(BLOCK.dims)["f"]


def test_code_between_modules_goes_by_the_one_before_it() -> None:
    memory = block_memory(BLOCK, micro_batch=1, seq_len=64, attention=Attention.FLASH, mode=ComputeMode.CAST)
    modules = list(dict.fromkeys(instant.module for instant in memory.forward))
    assert modules[0] == ""
    assert modules.index(">self_attn.v_proj") == modules.index("self_attn.v_proj") + 1


def test_rows_are_told_apart_by_whether_a_hook_has_run() -> None:
    table = Table(
        columns=("T",),
        kept=(0,),
        forward=(("", (1,)),),
        backward=((0, "a", "a.weight", (5,)), (0, "a", "!a.weight", (3,)), (1, ">a", "", (2,))),
        order=("a.weight",),
        input_grad=(1,),
    )
    found = bind(table, {}, ["a.weight"]).at(1, 10).backward
    assert [(one.activation_bytes, one.pending_grad) for one in found] == [(50, waiting(0)), (30, 0), (20, -1)]
