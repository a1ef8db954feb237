"""Rows of published runs as plans, what they are scored, and the arithmetic of packed weights."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from zplan.inputs.presets import load_gpu, load_model
from zplan.memory.activations.base import ComputeMode
from zplan.memory.activations.pieces import block_memory
from zplan.memory.estimate import estimate
from zplan.memory.implementations import (
    LITGPT,
    LITGPT_LONGEST_FIRST,
    block_difference,
    head_casts_bytes,
    head_difference,
    product_input_bytes,
)
from zplan.memory.moments import TermKey
from zplan.memory.params import layout
from zplan.memory.quantized import constant_bytes, packed_bytes, quantized_layout
from zplan.memory.runtime import WORKSPACE, kernel_scratch_bytes, runtime, slack
from zplan.memory.savers import compiled_saving, selected_bytes
from zplan.spec import (
    Attention,
    Checkpointing,
    ClusterSpec,
    Engine,
    Job,
    Lora,
    Loss,
    Offload,
    Plan,
    Precision,
    Quantize,
)

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import published
import rows as rows_module

LLAMA = {"layers": 32, "hidden": 4096, "heads": 32, "kv_heads": 32, "ffn": 11008, "vocab": 32000}
BASE: dict[str, Any] = {
    "id": "a-row",
    "source_id": "somewhere",
    "category": "full-fsdp",
    "core": True,
    "model": "Llama-2-7B",
    "arch": LLAMA,
    "params_b": 6.74,
    "method": "full",
    "engine": "fsdp1 FULL_SHARD",
    "offload": "none",
    "n_gpus": 8,
    "parallel": {"dp_shard": 8},
    "gpu": "A100-80GB",
    "gpu_mem_gb": 80,
    "precision": "bf16-mixed",
    "state_dtypes": "fp32 params/grads/adam m,v",
    "optimizer": "adamw_torch",
    "micro_batch": 1,
    "seq": 2048,
    "grad_accum": 1,
    "act_ckpt": "full",
    "flash": "FA2",
    "ce": "standard",
    "compile": False,
    "outcome": "fits",
    "measured": None,
    "measured_gib_per_gpu": None,
    "note": "",
}


def _job(**changes: Any) -> Job:
    made = rows_module.row_plan({**BASE, **changes}, memory=True)
    assert isinstance(made, rows_module.RowPlan), made
    return made.plan.job


@pytest.mark.parametrize(
    ("changes", "field", "expected"),
    [
        ({"engine": "deepspeed zero2"}, "stage", 2),
        ({"engine": "fsdp2", "note": "reshard_after_forward=never"}, "stage", 2),
        ({"engine": "fsdp2"}, "engine", Engine.FSDP2),
        ({"engine": "ddp", "n_gpus": 1, "parallel": None}, "engine", Engine.SINGLE),
        ({"precision": "bf16-pure"}, "precision", Precision.BF16_PURE),
        ({"precision": "fp32", "engine": "single", "n_gpus": 1}, "precision", Precision.FP32),
        ({"optimizer": "adamw"}, "optimizer", "adamw"),
        ({"optimizer": "adamw_torch (foreach)"}, "optimizer", "adamw_torch"),
        ({"optimizer": "bnb adam8bit"}, "optimizer", "adamw_8bit"),
        ({"optimizer": "adamw optimizer-in-backward"}, "optimizer", "adamw_in_backward"),
        ({"optimizer": "8-bit adamw optimizer-in-backward"}, "optimizer", "adamw_8bit_in_backward"),
        ({"act_ckpt": "selective-op"}, "checkpointing", Checkpointing(kind="selective-op")),
        ({"offload": "activations->cpu"}, "checkpointing", Checkpointing(kind="full", offloaded=True)),
        ({"act_ckpt": None}, "checkpointing", Checkpointing()),
        ({"offload": "params->cpu (FSDP CPUOffload)"}, "offload", Offload.ALL),
        ({"ce": "liger fused-linear CE (no logits)"}, "loss", Loss.FUSED),
        ({"ce": "chunked CE (8 chunks)"}, "loss", Loss.CHUNKED),
        ({"ce": "fused CE (flash-attn)"}, "loss", Loss.IN_PLACE),
        ({"flash": "none (eager attention)"}, "attention", Attention.EAGER),
        ({"grad_accum": None}, "grad_accum", 2),
        ({"precision": "bf16-true", "ce": "chunked lm_head+CE (chunks of 128)"}, "implementation", "litgpt"),
    ],
)
def test_words_of_a_row_become_fields_of_a_job(changes: Mapping[str, Any], field: str, expected: object) -> None:
    assert getattr(_job(**changes), field) == expected


@pytest.mark.parametrize(
    ("quant", "note", "expected", "precision"),
    [
        ("bnb.nf4", "", Quantize.NF4, Precision.BF16_PURE),
        ("bnb.nf4-dq", "", Quantize.NF4_DOUBLE, Precision.BF16_PURE),
        ("bnb nf4 + double quant", "keeps norms fp32", Quantize.NF4_DOUBLE, Precision.BF16),
        ("gptq int4", "", Quantize.NF4_DOUBLE, Precision.BF16_PURE),
        ("bnb int8", "", Quantize.INT8, Precision.BF16_PURE),
    ],
)
def test_words_of_a_quantized_row(quant: str, note: str, expected: Quantize, precision: Precision) -> None:
    lora = {"r": 8, "targets": ["q", "v"], "quant": quant, "dropout": 0.1}
    job = _job(
        method="qlora", engine="single", n_gpus=1, parallel=None, precision="bf16-autocast", lora=lora, note=note
    )
    assert (job.quantize, job.precision) == (expected, precision)
    assert job.lora is not None and job.lora.dropout
    assert {"q_proj", "v_proj"} <= set(job.lora.targets)


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"engine": "llm.c zero1"}, "engine llm.c zero1 is not planned"),
        ({"parallel": {"tp": 2, "dp_shard": 4}}, "splits the model"),
        ({"arch": {**LLAMA, "type": "encoder"}}, "architecture: encoder"),
        ({"micro_batch": None}, "micro_batch is not known"),
        ({"arch": {"layers": 2, "hidden": 64, "heads": 4}, "model": "x", "params_b": None}, "architecture lacks ffn"),
    ],
)
def test_what_no_plan_expresses_says_why(changes: Mapping[str, Any], why: str) -> None:
    made = rows_module.row_plan({**BASE, **changes}, memory=True)
    assert isinstance(made, rows_module.Skipped)
    assert why in made.why


def test_a_card_that_is_not_certain_is_the_smaller_one() -> None:
    made = rows_module.row_plan({**BASE, "gpu": "RTX3090/4090-24GB", "gpu_mem_gb": 24}, memory=True)
    assert isinstance(made, rows_module.RowPlan)
    both = load_gpu("rtx-3090-24g").memory_bytes, load_gpu("rtx-4090-24g").memory_bytes
    assert made.plan.cluster.gpu_capacity_bytes == min(both)
    assert isinstance(rows_module.row_plan({**BASE, "gpu": "RTX3090/4090-24GB"}), rows_module.Skipped)


def test_what_the_number_of_parameters_leaves_is_the_vocabulary() -> None:
    # A GPT of 2 layers and width 64: 12 * 64^2 * 2 = 98,304 in blocks; 12,800,000 - 98,304 = 12,701,696 = 2 * 64 * 99,232.
    arch = {"layers": 2, "hidden": 64, "heads": 4, "kv_heads": 4}
    made = rows_module.row_plan({**BASE, "model": "a GPT", "arch": arch, "params_b": 0.0128}, memory=True)
    assert isinstance(made, rows_module.RowPlan)
    assert (made.plan.model.ffn_size, made.plan.model.vocab_size) == (256, 99_232)


# --- the score ---


@lru_cache(maxsize=1)
def _score() -> dict[str, Any]:
    return published.run()


def test_nearly_all_rows_are_answered() -> None:
    found = _score()
    assert found["core_rows"] == 147
    assert found["answered"] == 138
    assert found["answered"] + len(found["unanswered"]) == found["core_rows"]


def test_no_row_that_ran_out_is_called_fits() -> None:
    found = _score()
    assert (found["oom_rows"], found["oom_called_fits"]) == (11, 0)
    assert found["fits_called_oom"] <= found["fits_rows"] / 20


@pytest.mark.parametrize(
    ("kind", "count", "median", "within", "inside"),
    [
        ("allocated", 52, 0.02, 0.84, None),
        ("active", 9, 0.05, 0.85, None),
        ("reserved", 33, 0.10, 0.50, 0.90),
        ("unknown", 11, 0.09, 0.50, 1.0),
    ],
)
def test_errors_are_no_larger_than_they_were(
    kind: str, count: int, median: float, within: float, inside: float | None
) -> None:
    found = _score()["kinds"][kind]
    assert found["n"] == count
    assert found["median"] <= median
    assert found["within_10pct"] >= within
    assert inside is None or found["inside_bounds"] >= inside


def test_full_runs_that_counted_bytes_are_met_to_two_hundredths() -> None:
    rows = [row for row in rows_module.load_rows() if published.is_counted(row)]
    exact = [
        row
        for row in rows
        if (row.get("measured") or {}).get("unit") == "B"
        and row["measured"]["kind_class"] == "allocated"
        and row["method"] == "full"
        and "bigcode" not in str(row["model"])
    ]
    answers = [published.answer(row) for row in exact]
    assert len(answers) == 9
    assert all(isinstance(one, published.Answer) and abs(one.error) < 0.02 for one in answers)


def test_any_file_of_the_same_form_is_scored(tmp_path: Path) -> None:
    measured = {"kind_class": "allocated", "value": 20.0}
    rows = [
        {**BASE, "id": "x", "measured": measured, "measured_gib_per_gpu": 20.0},
        {**BASE, "id": "y", "micro_batch": 512, "outcome": "OOM"},
        {**BASE, "id": "z", "parallel": {"pp": 2}},
        {**BASE, "id": "w", "core": False},
    ]
    path = tmp_path / "rows.yaml"
    path.write_text(yaml.safe_dump(rows), encoding="utf-8")
    found = published.run(path)
    assert (found["core_rows"], found["answered"], found["oom_rows"], found["oom_called_fits"]) == (2, 2, 1, 0)
    assert found["kinds"]["allocated"]["n"] == 1
    assert found["kinds"]["nvidia_smi"]["median"] is None


def test_what_a_row_leaves_open_cannot_decide_its_verdict_alone() -> None:
    row = {**BASE, "n_gpus": 1, "parallel": None, "engine": "single", "precision": "bf16-pure", "compile": True}
    one = published.answer({**row, "micro_batch": 16, "act_ckpt": "none"})
    assert isinstance(one, published.Answer)
    eager = published.answer({**row, "micro_batch": 16, "act_ckpt": "none", "compile": False})
    assert isinstance(eager, published.Answer)
    assert one.high >= eager.expected > one.expected


# --- packed weights ---


def test_bytes_of_packed_weights() -> None:
    # 4096 x 11008 = 45,088,768 weights: half a byte each; 704,512 blocks of 64.
    shape, numel = (4096, 11008), 45_088_768
    assert packed_bytes(Quantize.NF4, numel) == 22_544_384
    assert constant_bytes(Quantize.NF4, shape, numel) == 4 * 704_512
    # Double quantisation: a byte per block, and 4 per 256 blocks: 704,512 + 4 * 2,752.
    assert constant_bytes(Quantize.NF4_DOUBLE, shape, numel) == 704_512 + 11_008
    assert packed_bytes(Quantize.INT8, numel) == numel
    assert constant_bytes(Quantize.INT8, shape, numel) == 4 * 4096


# 32 layers of 4 x 4096^2 + 3 x 4096 x 11008 weights = 6,476,005,376.
LINEAR = 32 * (4 * 4096**2 + 3 * 4096 * 11008)
LORA = Lora(rank=16)


def _plan(job: Job, gpus: int = 1) -> Plan:
    return Plan(model=load_model("llama-2-7b"), cluster=ClusterSpec(gpus=gpus, nodes=1), job=job)


@pytest.mark.parametrize(
    ("engine", "stage", "gpus", "sharded"),
    [
        (Engine.SINGLE, 0, 1, False),
        (Engine.DDP, 0, 4, False),
        (Engine.DEEPSPEED, 2, 4, False),
        (Engine.DEEPSPEED, 3, 4, True),
        (Engine.FSDP1, 3, 4, True),
        (Engine.FSDP2, 3, 4, True),
    ],
)
def test_what_each_engine_shards_of_packed_weights(engine: Engine, stage: int, gpus: int, sharded: bool) -> None:
    job = Job(engine=engine, stage=stage, lora=LORA, quantize=Quantize.NF4, precision=Precision.BF16_PURE)
    steady = estimate(_plan(job, gpus)).steady
    # Half a byte per weight, divided where parameters are; 4 bytes per 64 weights on every rank.
    assert steady[TermKey.QUANTIZED_PARAMS] == LINEAR // 2 // (gpus if sharded else 1) + LINEAR // 64 * 4
    plain = estimate(_plan(replace(job, quantize=None), gpus)).steady
    saved = 2 * LINEAR // (gpus if sharded else 1)
    assert plain[TermKey.PARAMS] - steady[TermKey.PARAMS] == pytest.approx(saved, rel=1e-6)


def test_quantized_layers_run_on_a_copy_of_one_weight() -> None:
    block = load_model("llama-2-7b").block_kinds[0]
    common: dict[str, Any] = {"micro_batch": 1, "seq_len": 128, "attention": Attention.FLASH, "mode": ComputeMode.CAST}
    plain = block_memory(block, lora=16, **common)
    packed = block_memory(block, lora=16, quantized=True, **common)
    down = [one for one in zip(plain.backward, packed.backward, strict=False) if one[0].module == "mlp.down_proj"]
    assert down
    assert {after.activation_bytes - before.activation_bytes for before, after in down} == {2 * 4096 * 11008}
    assert packed.kept_bytes == plain.kept_bytes


def test_fp32_norms_keep_checkpoints_in_fp32() -> None:
    job = Job(engine=Engine.SINGLE, lora=LORA, quantize=Quantize.NF4, checkpointing=Checkpointing(kind="full"))
    kept = {}
    for precision in (Precision.BF16_PURE, Precision.BF16):
        found = estimate(_plan(replace(job, precision=precision)))
        loss = next(moment for moment in found.moments if moment.name == "loss backward")
        kept[precision] = loss.terms[TermKey.CHECKPOINTS]
    # peft's prepare_model_for_kbit_training makes norms and embeddings fp32: 4 T h per layer instead of 2 T h.
    assert kept[Precision.BF16_PURE] == 32 * 2 * 2048 * 4096
    assert kept[Precision.BF16] == 2 * kept[Precision.BF16_PURE]


def test_names_of_packed_terms_keep_the_sum() -> None:
    groups, _, constants = quantized_layout(layout(load_model("llama-2-7b"), LORA), Quantize.NF4, 2)
    assert groups.total < layout(load_model("llama-2-7b"), LORA).total
    found = estimate(_plan(Job(engine=Engine.SINGLE, lora=LORA, quantize=Quantize.NF4)))
    assert all(sum(moment.terms.values()) == moment.total_bytes for moment in found.moments)
    assert constants == LINEAR // 64 * 4


# --- adapters on some layers, against the real code ---


def _kept_by_peft(targets: tuple[str, ...], layers: int) -> int:
    """Bytes that peft's model of a few layers keeps for backward, without data."""
    import peft
    import torch
    from transformers import AutoConfig

    from zplan.verify.derive.fakecuda import like_cuda
    from zplan.verify.derive.trace import build

    config = AutoConfig.for_model(
        "llama", hidden_size=256, intermediate_size=640, num_attention_heads=8, num_key_value_heads=2, vocab_size=512,
        num_hidden_layers=layers,
    )  # fmt: skip
    with like_cuda(ComputeMode.CAST, Attention.FLASH) as implementation:
        model = build(config, implementation, torch.bfloat16, "meta")
        found = peft.get_peft_model(
            model, peft.LoraConfig(r=8, target_modules=list(targets), task_type="CAUSAL_LM", init_lora_weights=False)
        )
        for parameter in found.parameters():
            parameter.data = parameter.data.to(torch.bfloat16)
        weights = {parameter.untyped_storage()._cdata for parameter in found.parameters()}
        kept: dict[int, torch.Tensor] = {}

        def keep(tensor: torch.Tensor) -> torch.Tensor:
            storage = tensor.untyped_storage()._cdata
            if storage not in weights:
                kept[storage] = tensor
            return tensor

        ids = torch.zeros((2, 96), dtype=torch.long, device="meta")
        with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
            found(input_ids=ids, labels=ids)
        return sum(tensor.untyped_storage().nbytes() for tensor in kept.values())


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")
@pytest.mark.parametrize(
    "targets",
    [
        ("q_proj", "v_proj"),
        ("q_proj", "k_proj", "v_proj", "o_proj"),
        ("gate_proj", "up_proj", "down_proj"),
        ("q_proj", "v_proj", "down_proj"),
    ],
)
def test_adapters_on_some_layers_keep_what_the_real_code_keeps(targets: tuple[str, ...]) -> None:
    from zplan.inputs.hf import read_config

    per_layer = _kept_by_peft(targets, 4) - _kept_by_peft(targets, 3)
    config = {
        "model_type": "llama", "hidden_size": 256, "intermediate_size": 640, "num_attention_heads": 8,
        "num_key_value_heads": 2, "vocab_size": 512, "num_hidden_layers": 4,
    }  # fmt: skip
    block = read_config(config, name="small", source="a test").block_kinds[0]
    found = block_memory(
        block, micro_batch=2, seq_len=96, attention=Attention.FLASH, mode=ComputeMode.CAST, lora=8, targets=targets
    )
    assert found.kept_bytes == pytest.approx(per_layer, abs=64)


# --- selective checkpointing, compiled blocks, optimizers in backward ---


def test_what_selective_checkpointing_by_operator_keeps() -> None:
    block = load_model("llama-3.1-8b").block_kinds[0]
    # q 4096, v 1024, gate 14336, down 4096 outputs of 2 B each; attention's output 2 * 4096 and 4 * 32 of log-sum-exp.
    assert selected_bytes(block, Attention.FLASH) == 2 * (4096 + 1024 + 14336 + 4096) + 2 * 4096 + 4 * 32


def test_what_a_compiled_block_does_not_keep() -> None:
    block = load_model("llama-3.1-8b").block_kinds[0]
    # Two norms of width 4096: 4 w in fp32 become 2 w, and 2 w are computed again; the activated gate 2 f.
    assert compiled_saving(block, frozen=False) == 2 * 4 * 4096 + 2 * 14336
    assert compiled_saving(block, frozen=True) == 2 * 2 * 4096 + 2 * 14336
    assert compiled_saving(load_model("gpt2").block_kinds[0], frozen=False) == 0


def test_gradients_that_are_used_in_backward_are_not_kept() -> None:
    job = Job(engine=Engine.SINGLE, precision=Precision.BF16_PURE, checkpointing=Checkpointing(kind="full"))
    plain = estimate(_plan(job))
    early = estimate(_plan(replace(job, optimizer="adamw_in_backward")))
    assert plain.phases["step"] - early.phases["step"] == 2 * load_model("llama-2-7b").params
    assert early.allocated_peak_bytes < plain.allocated_peak_bytes


# --- litgpt's code ---


def test_inputs_that_products_with_packed_weights_keep() -> None:
    block = load_model("llama-2-7b").block_kinds[0]
    # Both norms' outputs, 2 h each, and the MLP's product, 2 f; attention's output, 2 h, is kept anyway.
    assert product_input_bytes(block, with_attention=False) == 2 * 4096 + 2 * 4096 + 2 * 11008
    assert product_input_bytes(block, with_attention=True) == 3 * 2 * 4096 + 2 * 11008


def test_what_litgpt_keeps_beyond_transformers() -> None:
    job = Job(engine=Engine.SINGLE, implementation=LITGPT, lora=Lora(rank=8, targets=("q_proj", "v_proj")))
    grouped = load_model("llama-3.1-8b").block_kinds[0]
    # Keys and values of 8 heads repeated to 32: 4 * 128 * 24; the padded sum's source 2 * (4096 + 1024); a mask of 4096.
    assert block_difference(grouped, job) == 4 * 128 * 24 + 2 * (4096 + 1024) + 4096
    # Without adapters: the fp32 form of two norms, 2 * 4096 more each.
    assert block_difference(grouped, replace(job, lora=None)) == 4 * 128 * 24 + 2 * 2 * 4096
    assert block_difference(grouped, replace(job, implementation="transformers")) == 0


def test_litgpts_head_with_packed_weights() -> None:
    model = load_model("llama-2-7b")
    job = Job(engine=Engine.SINGLE, implementation=LITGPT, lora=Lora(rank=8), quantize=Quantize.NF4)
    # 4 bytes per logit; the head's weight in fp16 and in bf16; the inputs of all layers' products of the micro-step before.
    logits, copies, before = 4 * 100 * 32000, 4 * 32000 * 4096, 100 * 32 * (3 * 2 * 4096 + 2 * 11008)
    assert head_difference(model, job, 100) == (logits + copies + before, logits + copies)
    longest_first = replace(job, implementation=LITGPT_LONGEST_FIRST)
    assert head_difference(model, longest_first, 100) == (logits + copies, logits + copies)
    assert head_difference(model, replace(job, quantize=None), 100) == (logits, logits)


def test_autocast_casts_a_frozen_head_anew_for_every_chunk() -> None:
    model = load_model("llama-2-7b")
    job = Job(engine=Engine.SINGLE, implementation=LITGPT, loss=Loss.CHUNKED, lora=Lora(rank=8, fp32_base=True))
    cluster = ClusterSpec(gpus=1, nodes=1)

    def loss_bytes(lora: Lora, seq: int) -> int:
        plan = Plan(model=model, cluster=cluster, job=replace(job, lora=lora, seq_len=seq))
        return max(one.total_bytes for one in estimate(plan).moments if (one.phase, one.name) == ("forward", "loss"))

    # 1,034 tokens are nine chunks of up to 128; the first copy is the one that every implementation makes.
    assert head_casts_bytes(model, 1034) == 8 * 2 * 32000 * 4096
    assert head_casts_bytes(model, 128) == 0
    # The 129th token opens a chunk of its own, and with it a copy: one token alone needs a few MB.
    copy = 2 * 32000 * 4096
    frozen = Lora(rank=8, fp32_base=True)
    assert copy < loss_bytes(frozen, 129) - loss_bytes(frozen, 128) < 1.1 * copy
    assert loss_bytes(frozen, 128) - loss_bytes(frozen, 127) < 0.1 * copy
    assert loss_bytes(Lora(rank=8), 129) - loss_bytes(Lora(rank=8), 128) < 0.1 * copy


def test_torch_caches_casts_of_trainable_weights_alone() -> None:
    torch = pytest.importorskip("torch")
    head = torch.nn.Linear(64, 512, bias=False)
    for trains, copies in ((True, 1), (False, 3)):
        head.weight.requires_grad_(trains)
        kept: set[int] = set()

        def pack(tensor: Any, kept: set[int] = kept) -> Any:
            if {64, 512} <= set(tensor.shape):
                kept.add(tensor.untyped_storage().data_ptr())
            return tensor

        states = torch.randn(1, 300, 64, requires_grad=True)
        with (
            torch.autocast("cpu", torch.bfloat16),
            torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor),
        ):
            logits = [head(chunk) for chunk in states.split(128, dim=1)]
        assert (len(logits), len(kept)) == (3, copies)


def test_an_unpacked_head_is_packed_by_lightning_alone() -> None:
    job = Job(engine=Engine.SINGLE, lora=LORA, quantize=Quantize.NF4, precision=Precision.BF16_PURE)
    theirs = estimate(_plan(replace(job, implementation=LITGPT, loss=Loss.CHUNKED))).steady
    head = 32000 * 4096
    assert theirs[TermKey.QUANTIZED_PARAMS] == (LINEAR + head) // 2 + (LINEAR + head) // 64 * 4
    assert estimate(_plan(job)).steady[TermKey.QUANTIZED_PARAMS] == LINEAR // 2 + LINEAR // 64 * 4


# --- from allocated to the device ---


@pytest.mark.parametrize("engine", list(Engine))
@pytest.mark.parametrize("stage", [0, 3])
def test_totals_are_sums_of_their_causes(engine: Engine, stage: int) -> None:
    found = runtime(engine, 8, 10 * 2**30, 80 * 2**30, stage=stage, scratch_bytes=2**20)
    lows, expecteds, highs = zip(*found.terms.values(), strict=True)
    assert found.device_low_bytes == 10 * 2**30 + sum(lows)
    assert found.device_expected_bytes == 10 * 2**30 + sum(expecteds)
    assert found.device_high_bytes == 10 * 2**30 + sum(highs)
    assert found.reserved_low_bytes <= found.reserved_peak_bytes <= found.reserved_high_bytes
    assert slack(engine, stage).source


def test_scratch_inside_kernels() -> None:
    # Llama-2-7B, one sequence of 2048: 32 heads x 2048 rows x (128 + 1) fp32 values, and cuBLAS' workspaces.
    plan = _plan(Job(engine=Engine.SINGLE))
    assert kernel_scratch_bytes(plan) == int(WORKSPACE.high) + 4 * 32 * 2048 * 129
    assert kernel_scratch_bytes(_plan(Job(attention=Attention.EAGER))) == int(WORKSPACE.high)
    # Without a mask torch's sdpa runs flash attention on CUDA, with the same scratch.
    assert kernel_scratch_bytes(_plan(Job(attention=Attention.SDPA))) == kernel_scratch_bytes(plan)
    # :4096:2:16:8 in KiB, twice.
    assert int(WORKSPACE.low) == 2 * (2 * 4096 + 8 * 16) * 1024


def test_transformers_4s_loss_of_gpt_bigcode_keeps_16_bit_logits() -> None:
    """Rows that name torch 2.4 ran with transformers 4, whose GPT BigCode hands 16-bit logits to the loss."""
    old = {**BASE, "ce": "HF standard: bf16 logits + fp32 upcast", "note": "torch 2.4.1"}
    notes: list[str] = []
    assert rows_module._loss(old, "gpt_bigcode", notes) is Loss.IN_PLACE and notes
    assert rows_module._loss(old, "llama", []) is Loss.STANDARD
    assert rows_module._loss({**old, "note": "torch 2.8"}, "gpt_bigcode", []) is Loss.STANDARD
    assert rows_module._loss({**old, "note": ""}, "gpt_bigcode", []) is Loss.STANDARD


def test_a_frameworks_default_checkpointing_may_be_off() -> None:
    told = {**BASE, "act_ckpt": "full"}
    default = {**BASE, "act_ckpt": "full (LLaMA-Factory default)"}
    found = published.answer({**default, "measured_gib_per_gpu": 20, "measured": {"kind_class": "nvidia_smi"}})
    certain = published.answer({**told, "measured_gib_per_gpu": 20, "measured": {"kind_class": "nvidia_smi"}})
    assert isinstance(found, published.Answer) and isinstance(certain, published.Answer)
    assert (found.low, found.expected) == (certain.low, certain.expected)
    assert found.high > certain.high


@pytest.mark.parametrize(
    "changes",
    [
        {"arch": "none"},
        {"arch": 7},
        {"parallel": "x"},
        {"lora": "r8", "method": "lora"},
        {"grad_accum": "unknown"},
        {"measured": [1]},
        {"seq": 0},
        {"gpu": []},
    ],
)
def test_a_row_that_cannot_be_read_ends_no_run(changes: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "rows.yaml"
    path.write_text(yaml.safe_dump([{**BASE, "id": "odd", **changes}, {**BASE, "id": "good"}]), encoding="utf-8")
    found = published.run(path)
    assert found["core_rows"] == 2 and found["answered"] >= 1


def test_every_row_of_the_project_can_be_read() -> None:
    rows = rows_module.load_rows()
    skipped = [one for one in map(published.answer, filter(published.is_counted, rows)) if hasattr(one, "why")]
    assert not [one for one in skipped if "wrong kind" in one.why]
