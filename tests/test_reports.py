"""Public reports as claims and plans: words to settings, what is left out, verdicts."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from zplan.spec import Engine, Offload, OffloadTo, Precision, Quantize

sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))

import reports
from reportplans import meant, model_of
from reportwords import claims, failing_phase, quoted, used_bytes
from rowwords import NoPlanError

SETUP: Mapping[str, Any] = {
    "model": "Llama-2-7B",
    "params_b": 6.74,
    "gpus": 8,
    "gpu": "A100",
    "gpu_mem_gb": 80,
    "stage": 3,
    "offload": "none",
    "micro_batch": 1,
    "seq_len": 2048,
    "grad_ckpt": True,
}


def report(kind: str = "gpu_oom", detail: str = "OOM", measured: Any = None, **setup: Any) -> dict[str, Any]:
    """A report of the same form as the project's own, with an id of its own."""
    framework = setup.pop("framework", "DeepSpeed")
    themes = setup.pop("themes", [])
    merged = {key: value for key, value in {**SETUP, **setup}.items() if value is not None}
    outcome = {"type": kind, "detail": detail, "measured": measured or {}}
    return {"id": "X1", "framework": framework, "setup": merged, "outcome": outcome, "themes": themes}


# Claims


def test_a_failure_is_a_claim_about_its_setting() -> None:
    (claim,) = claims(report())
    assert (claim.ran, claim.on_host, claim.setup["gpus"]) == (False, False, 8)
    assert claims(report("host_oom"))[0].on_host


def test_a_measured_run_ran_in_all_its_settings() -> None:
    found = claims(report("measured", "current 45 GB, peak 52 GB", stage=[2, 3]))
    assert [(claim.ran, claim.setup["stage"]) for claim in found] == [(True, 2), (True, 3)]


def test_clauses_tell_which_of_several_settings_failed() -> None:
    detail = "2xV100 with ZeRO-3 offload OOMs though a table suggests 2x32 GB is enough; 4xV100 ZeRO-3 works"
    found = claims(report(detail=detail, gpus=[2, 4], stage=["3 offload", "3"], gpu="V100", gpu_mem_gb=32))
    assert [(claim.ran, claim.setup["gpus"], claim.setup["offload"]) for claim in found] == [
        (False, 2, "optimizer+param cpu"),
        (True, 4, "none"),
    ]


def test_a_clause_about_other_cards_is_about_no_setting() -> None:
    detail = "8x24 GB OOMs in FSDP(model) itself; 4x A100-40 reserves 29 GB; 13B on 8x80GB bs 4 reserves 48 GB"
    found = claims(report("measured", detail, gpus=[8, 4], gpu=["RTX 3090", "A100"], gpu_mem_gb=[24, 40]))
    assert [(claim.ran, claim.setup["gpus"]) for claim in found] == [(False, 8), (True, 4)]


@pytest.mark.parametrize(
    ("kind", "detail", "setup", "why"),
    [
        ("surprise", "slower", {}, "neither a run nor a failure"),
        ("tool_bug", "twice", {}, "neither a run nor a failure"),
        ("wrong_estimate", "said 300", {}, "neither a run nor a failure"),
        ("mixed", "some ran", {}, "runs and failures of one setting"),
        ("measured", "OOM at 2, 30 GB at 1", {}, "a failure and a figure"),
        ("gpu_oom", "OOM at any size", {"gpus": [2, 4]}, "which of them failed is not told"),
    ],
)
def test_what_makes_no_claim(kind: str, detail: str, setup: dict[str, Any], why: str) -> None:
    with pytest.raises(NoPlanError, match=why):
        claims(report(kind, detail, **setup))


def test_a_wrong_estimate_with_a_measured_figure_is_a_run() -> None:
    (claim,) = claims(report("wrong_estimate", "calculator 44 GB, measured 28", {"measured_gb": 28}))
    assert claim.ran


@pytest.mark.parametrize(
    ("measured", "detail", "expected"),
    [
        ({"tried_gib": 3.14}, "", "3.14 GiB"),
        ({"tried_mib": 272}, "", "272.00 MiB"),
        ({}, "OOM: tried to allocate 1.96 GiB in Adam", "1.96 GiB"),
        ({}, "OOM", None),
    ],
)
def test_the_request_that_failed(measured: dict[str, float], detail: str, expected: str | None) -> None:
    assert quoted(report(detail=detail, measured=measured)) == expected


def test_what_one_gpu_used() -> None:
    assert used_bytes(report(measured={"train_gb": 10})) == 10e9
    assert used_bytes(report(measured={"gb": 51, "estimate_gb": 3})) == 51e9
    assert used_bytes(report(measured={"estimate_gb": 3})) is None


@pytest.mark.parametrize(
    ("detail", "phase"),
    [
        ("OOM inside Adam's sqrt temporary", "step"),
        ("OOM in backward", "backward"),
        ("whole run finishes, then OOM in state_dict", "save"),
        ("dies while loading the model", "load"),
        ("OOM", None),
    ],
)
def test_where_it_failed(detail: str, phase: str | None) -> None:
    assert failing_phase(report(detail=detail)) == phase


# Plans


@pytest.mark.parametrize(
    ("model", "size", "preset"),
    [
        ("Llama-2-7B", 6.74, "llama-2-7b"),
        ("Qwen2.5-Coder-32B", 32.8, "qwen2.5-32b"),
        ("DeepSeek-R1-Distill-Qwen-32B", 32.8, None),
        ("Qwen3-VL-30B-A3B", 31.0, "qwen3-30b-a3b"),
        ("Llama-3-8B QLoRA", None, "llama-3-8b"),
        ("LLaMA-33B", 32.5, "llama-30b"),
        ("Vicuna-13B", 13, None),
    ],
)
def test_models_by_name_or_by_family_and_size(model: str, size: float | None, preset: str | None) -> None:
    found = model_of({"model": model, "params_b": size})
    if preset is not None:
        assert found.name == preset
    if size is not None:
        assert found.params == pytest.approx(size * 1e9, rel=0.03)


def test_a_sequence_longer_than_a_shapes_positions_is_not_cut() -> None:
    """The nearest published shape of 32.8B has 2,048 positions; the run had 4,096 tokens."""
    (plan,) = meant({**SETUP, "model": "MyModel", "params_b": 32.8, "seq_len": 4096}).plans
    assert plan.job.seq_len == 4096


def test_what_is_not_said_has_a_least_and_a_most() -> None:
    found = meant({**SETUP, "micro_batch": None, "seq_len": None, "grad_ckpt": None})
    least, most = (plan.job for plan in found.plans)
    assert found.unsaid == ("the micro-batch", "the sequence length", "activation checkpointing")
    assert (least.micro_batch, least.seq_len, least.checkpointing.kind) == (1, 256, "full")
    assert (most.micro_batch, most.seq_len, most.checkpointing.kind) == (8, 4096, "none")


def test_a_card_in_two_sizes_is_the_larger_or_the_smaller() -> None:
    found = meant({**SETUP, "gpu_mem_gb": None})
    least, most = (plan.cluster.gpu for plan in found.plans)
    assert least is not None and most is not None
    assert (least.label_gib, most.label_gib) == (80, 40)


def test_buckets_under_transformers_are_its_own_or_deepspeeds() -> None:
    found = meant({**SETUP, "framework": "HF Trainer + DeepSpeed"})
    least, most = (plan.job.deepspeed for plan in found.plans)
    # "auto" is h^2, 0.9 h^2 and 10 h (transformers integrations/deepspeed.py).
    assert (least.reduce_bucket_size, least.param_persistence_threshold) == (4096**2, 40960)
    assert most.reduce_bucket_size == 500_000_000
    assert meant({**SETUP, "framework": "HF Trainer + DeepSpeed", "stage": 2}).unsaid == ()


@pytest.mark.parametrize(
    ("changes", "engine", "stage", "offload", "to"),
    [
        ({}, Engine.DEEPSPEED, 3, Offload.NONE, OffloadTo.CPU),
        ({"offload": "optimizer+param cpu"}, Engine.DEEPSPEED, 3, Offload.ALL, OffloadTo.CPU),
        ({"offload": "cpu", "stage": 2}, Engine.DEEPSPEED, 2, Offload.OPTIMIZER, OffloadTo.CPU),
        ({"offload": "none, then optimizer cpu"}, Engine.DEEPSPEED, 3, Offload.NONE, OffloadTo.CPU),
        ({"offload": "optimizer nvme"}, Engine.DEEPSPEED, 3, Offload.OPTIMIZER, OffloadTo.NVME),
        ({"stage": None, "framework": "ZeRO-Infinity"}, Engine.DEEPSPEED, 3, Offload.ALL, OffloadTo.NVME),
        ({"stage": None, "framework": "HF FSDP"}, Engine.FSDP1, 3, Offload.NONE, OffloadTo.CPU),
        ({"stage": None, "framework": "torchtune"}, Engine.SINGLE, 0, Offload.NONE, OffloadTo.CPU),
    ],
)
def test_strategies(changes: dict[str, Any], engine: Engine, stage: int, offload: Offload, to: OffloadTo) -> None:
    setup = {**SETUP, **changes, "gpus": 1 if engine is Engine.SINGLE else 8, "precision": "bf16"}
    job = meant(setup).plans[0].job
    assert (job.engine, job.stage, job.offload, job.offload_to) == (engine, stage, offload, to)


def test_methods_precisions_and_optimizers() -> None:
    qlora = meant({**SETUP, "method": "qlora", "gpus": 1, "stage": None}).plans[0].job
    assert (qlora.quantize, qlora.lora is not None) == (Quantize.NF4, True)
    lora = meant({**SETUP, "method": "lora", "stage": None, "framework": "HF FSDP"}).plans[0].job
    assert lora.precision is Precision.BF16_PURE
    pure = {**SETUP, "stage": None, "framework": "torchtune FSDP", "precision": "pure bf16"}
    assert meant({**pure, "optimizer": "PagedAdamW (bnb)"}).plans[0].job.optimizer == "paged_adamw"
    with pytest.raises(NoPlanError, match="optimizer GaLore"):
        meant({**pure, "optimizer": "GaLore"})


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"gpus": None, "host_ram_gb": 100}, None),
        ({"model": "GLM-4 (9B assumed)"}, "which model it was is not certain"),
        ({"model": "FLAN-T5-XL"}, "not a decoder alone"),
        ({"trainable_b": 0.9}, "part of the model is frozen"),
        ({"cp": 8}, "splits the model"),
        ({"seq_len": "default -> 20000"}, "not one number"),
        ({"gpu": None, "gpu_mem_gb": None}, "the memory of a card is not known"),
        ({"stage": None}, "which stage ran is not said"),
        ({"model": None, "params_b": None}, "the size of the model is not known"),
        ({"model": "Own-MoE-20B-A2B", "params_b": 20}, "a mixture of experts"),
    ],
)
def test_what_is_missing_is_named(changes: dict[str, Any], why: str | None) -> None:
    setup = {**SETUP, **changes}
    if why is None:
        assert meant(setup).unsaid == ("the number of GPUs",)
        return
    with pytest.raises(NoPlanError, match=why):
        meant(setup)


# Verdicts


def test_a_failure_that_does_not_fit_either_way_is_right() -> None:
    # 16 x 70 GB / 8 = 140 GB per card.
    assert reports.judge(report(model="Llama-2-70B", params_b=69, micro_batch=None, seq_len=None))[0] == "right"


def test_a_failure_that_fits_either_way_is_wrong() -> None:
    assert reports.judge(report())[0] == "wrong"


def test_a_failure_that_depends_on_what_is_not_said_is_not_answered() -> None:
    with pytest.raises(NoPlanError, match="the micro-batch"):
        reports.judge(report(micro_batch=None, grad_ckpt=False))


def test_a_run_is_wrong_only_when_nothing_that_it_can_mean_runs() -> None:
    assert reports.judge(report("measured", "30 GB", micro_batch=None, seq_len=None, grad_ckpt=None))[0] == "right"
    assert reports.judge(report("measured", "30 GB", model="Llama-2-70B", params_b=69))[0] == "wrong"


def test_a_failure_outside_of_a_step_is_right_only_if_the_step_fails_as_well() -> None:
    with pytest.raises(NoPlanError, match="while saving"):
        reports.judge(report(themes=["save_oom"]))
    assert reports.judge(report(themes=["save_oom"], model="Llama-2-70B", params_b=69))[0] == "right"


def test_a_setting_that_used_less_than_it_needs_was_another() -> None:
    with pytest.raises(NoPlanError, match="offload"):
        reports.judge(report(model="Llama-2-70B", params_b=69, measured={"train_gb": 10}))


def test_host_memory_is_judged_by_the_node() -> None:
    offloaded = {"offload": "optimizer+param cpu", "model": "Llama-2-70B", "params_b": 69}
    assert reports.judge(report("host_oom", host_ram_gb=800, **offloaded))[0] == "right"
    assert reports.judge(report("host_oom", host_ram_gb=4000, **offloaded))[0] == "wrong"
    with pytest.raises(NoPlanError, match="the RAM of a node"):
        reports.judge(report("host_oom", **offloaded))


def test_the_projects_own_reports() -> None:
    found = reports.run(None)
    # Two are wrong for reasons that nobody has seen; see docs/_published.md.
    assert found["answered"] >= 24
    assert found["answered"] - found["verdict_right"] <= 2
    assert found["term_first"] == found["terms"] >= 5
    assert found["recommended_failures"] == []
    assert len(found["unanswered"]) == found["reports"] - found["answered"]


@pytest.mark.parametrize(
    "changes",
    [
        {"outcome": {"type": "gpu_oom", "detail": 3, "measured": "no"}},
        {"outcome": {}},
        {"themes": 7},
        {"setup": {**SETUP, "gpus": {}}},
        {"setup": {**SETUP, "params_b": 0, "model": "Qwen"}},
    ],
)
def test_a_report_that_cannot_be_read_ends_no_run(changes: dict[str, Any], tmp_path: Path) -> None:
    import yaml

    path = tmp_path / "reports.yaml"
    path.write_text(yaml.safe_dump([{**report(), **changes}, {**report(), "id": "X2"}]), encoding="utf-8")
    found = reports.run(path)
    assert found["reports"] == 2 and found["answered"] >= 1
    assert len(found["unanswered"]) + found["answered"] == 2
