"""The dry run against arithmetic by hand, its cases, and what happens when something is missing.

That it agrees with real processes is tested with the launches.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")

import torch
from handmade import CLUSTER, MODEL
from hypothesis import given
from hypothesis import strategies as st
from warm import Warm, needs, processes

from zplan.errors import ExitCode, ZplanError
from zplan.spec import (
    Checkpointing,
    DeepSpeedOptions,
    Engine,
    Job,
    Lora,
    ModelSpec,
    Offload,
    OffloadTo,
    Plan,
    Precision,
    Quantize,
)
from zplan.verify.dryrun import case_from_dict, measurement_of, plan_to_case, run_case_in_child
from zplan.verify.dryrun import imports as dry_imports
from zplan.verify.dryrun.attention import attention_as_on_cuda
from zplan.verify.dryrun.autocast import FP32, FP32_RESULT, LOWER
from zplan.verify.dryrun.engines import ENGINES
from zplan.verify.dryrun.ghost import Ghost, reserved_host
from zplan.verify.dryrun.loss import CHUNKS, fused_chunk_tokens
from zplan.verify.dryrun.patching import patched
from zplan.verify.dryrun.patching import replace as replace_attribute
from zplan.verify.dryrun.views import VIEWS, views_unseen
from zplan.verify.measurement import Measurement
from zplan.verify.tracker import Tracker

V, H, F, A, K, LAYERS, S = 4096, 256, 512, 4, 2, 2, 512
D = H // A
LLAMA: dict[str, Any] = {
    **{"model_type": "llama", "vocab_size": V, "hidden_size": H, "intermediate_size": F, "num_hidden_layers": LAYERS},
    **{"num_attention_heads": A, "num_key_value_heads": K},
}
P = 2 * V * H + LAYERS * (2 * H * H + 2 * H * K * D + 3 * H * F + 2 * H) + H
"""Embedding and head; q, o, k, v, the three matrices of the MLP and two norms per block; the last norm."""
SMALL_BYTES = 16_384
"""Token ids, rotary tables, counters: what no line of arithmetic below counts."""

RUNS: dict[str, dict[str, Any]] = {
    "single": {"engine": "single", "precision": "bf16-pure"},
    "single-eager": {"engine": "single", "precision": "bf16-pure", "attention": "eager"},
    "single-fp32": {"engine": "single", "precision": "fp32", "optimizer": "adamw_torch"},
    "single-lora": {"engine": "single", "lora": 8},
    "single-8bit": {"engine": "single", "precision": "bf16-pure", "optimizer": "adamw_8bit"},
    "ddp": {"engine": "ddp", "world": 4},
    "fsdp1": {"engine": "fsdp1", "stage": 3, "world": 4},
    "fsdp2": {"engine": "fsdp2", "stage": 3, "world": 4},
    "fsdp2-sdpa": {"engine": "fsdp2", "stage": 3, "world": 4, "attention": "sdpa"},
    "fsdp2-full": {"engine": "fsdp2", "stage": 3, "world": 4, "checkpointing": "full"},
    "fsdp2-every-2": {"engine": "fsdp2", "stage": 3, "world": 4, "checkpointing": "every-2"},
    "fsdp2-chunked": {"engine": "fsdp2", "stage": 3, "world": 4, "loss": "chunked"},
    "fsdp2-fused": {"engine": "fsdp2", "stage": 3, "world": 4, "loss": "fused"},
    "fsdp2-offload": {"engine": "fsdp2", "stage": 3, "world": 4, "offload": "all"},
    "zero0": {"engine": "deepspeed", "stage": 0, "world": 4},
    "zero2": {"engine": "deepspeed", "stage": 2, "world": 4, "zero": {"reduce_bucket_size": 100_000}, "explain": 3},
    "zero3": {"engine": "deepspeed", "stage": 3, "world": 4, "zero": {"reduce_bucket_size": 100_000}},
    "zero3-tied": {
        **{"engine": "deepspeed", "stage": 3, "world": 4, "zero": {"reduce_bucket_size": 100_000}},
        "model": {**LLAMA, "tie_word_embeddings": True},
    },
    "ddp-experts": {
        **{"engine": "ddp", "world": 2},
        "model": {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2},
    },
    "zero2-lora-experts": {
        **{"engine": "deepspeed", "stage": 2, "world": 4, "zero": {"reduce_bucket_size": 100_000}, "lora": 8},
        "model": {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2},
    },
    "zero3-no-init": {
        **{"engine": "deepspeed", "stage": 3, "world": 4, "zero": {"reduce_bucket_size": 100_000}},
        **{"zero_init": False, "precision": "fp16"},
    },
    "zero3-offload": {
        **{"engine": "deepspeed", "stage": 3, "world": 4, "offload": "all"},
        **{"zero": {"reduce_bucket_size": 100_000, "stage3_param_persistence_threshold": 0}},
    },
}


def _case(name: str) -> dict[str, Any]:
    return {"model": LLAMA, "seq_len": S, "micro_batch": 2, **RUNS[name]}


@pytest.fixture(scope="module")
def runs(warm: Warm) -> Iterator[dict[str, Future[dict[str, Any]]]]:
    """All runs above, each in its process, started as soon as there is a core for it."""
    with processes() as pool:
        yield {name: pool.submit(warm.run_case, _case(name)) for name in RUNS}


@pytest.fixture
def run(runs: dict[str, Future[dict[str, Any]]]) -> Any:
    needs("deepspeed", "peft")
    return lambda name: runs[name].result()


# -- arithmetic --------------------------------------------------------------------------------------------------------

STEADY = {
    "single": 2 * P + 4 * P,  # parameters and two moments, all in 16 bits
    "single-fp32": 4 * P + 8 * P,
    "ddp": 4 * P + 8 * P + 4 * P,  # and the reducer's buckets
    "fsdp1": (4 + 8 + 4) * P // 4,  # the flat gradient stays until the next forward
    "fsdp2": (4 + 8) * P // 4,
    "zero0": 2 * P + 12 * P,
    "zero2": 2 * P + 12 * P // 4,
    # 16 bytes of states sharded, the bucket, and what has less than 100,000 elements whole: norms and attention's matrices
    "zero3": 16 * P // 4 + 2 * 100_000 + 2 * ((2 * LAYERS + 1) * H + LAYERS * (2 * H * H + 2 * H * K * D)),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", STEADY)
def test_between_steps(run: Any, name: str) -> None:
    assert run(name)["params"] == P
    assert run(name)["steady"] == pytest.approx(STEADY[name], abs=SMALL_BYTES)


@pytest.mark.slow
@pytest.mark.parametrize("name", RUNS)
def test_terms_sum_to_their_phase_and_nothing_is_unexplained(run: Any, name: str) -> None:
    result = run(name)
    for phase in ("init", "forward", "backward", "step"):
        terms = result["terms"][phase]
        assert sum(terms.values()) == result[phase]
        assert terms.get("unexplained", 0) == 0
    assert result["peak"] == max(result[phase] for phase in ("forward", "backward", "step"))
    assert result["limits"]


@pytest.mark.slow
def test_step_of_foreach_adam_holds_one_more_copy(run: Any) -> None:
    # parameters, gradients, two moments, the square roots of one: 5 x 4 bytes
    assert run("single-fp32")["step"] == pytest.approx(20 * P, abs=SMALL_BYTES)


@pytest.mark.slow
def test_the_loss_head(run: Any) -> None:
    # T x V in 16 bits, in fp32, and its log-softmax; then fp32 log-softmax and two fp32 gradients
    tokens = 2 * S
    terms = run("fsdp2")["terms"]
    assert terms["forward"]["logits"] == 10 * tokens * V
    assert terms["backward"]["logits"] + terms["backward"]["logits_grad"] == 12 * tokens * V
    # one part of the tokens at a time
    assert run("fsdp2-chunked")["terms"]["forward"].get("logits", 0) <= 10 * tokens * V // CHUNKS
    assert run("fsdp2-fused")["peak"] < run("fsdp2-chunked")["peak"] < run("fsdp2")["peak"]


@pytest.mark.parametrize(("tokens", "hidden", "vocab", "chunk"), [(16384, 4096, 32000, 2048), (100, 4096, 4096, 100)])
def test_chunks_of_the_fused_loss(tokens: int, hidden: int, vocab: int, chunk: int) -> None:
    # 32000 / 4096 -> 8 parts of 16384 / 8 = 2048; one part: all tokens
    assert fused_chunk_tokens(tokens, hidden, vocab) == chunk


@pytest.mark.slow
def test_eager_attention_keeps_its_scores(run: Any) -> None:
    # fp32 softmax (4) and its 16-bit copy (2) per score and layer, and the mask
    scores = run("single-eager")["terms"]["forward"]["attention_scores"]
    assert scores >= LAYERS * 6 * A * 2 * S * S
    assert "attention_scores" not in run("single")["terms"]["forward"]


@pytest.mark.slow
def test_without_a_mask_sdpa_is_flash(run: Any) -> None:
    same = ("init", "forward", "backward", "step", "steady")
    assert [run("fsdp2")[key] for key in same] == [run("fsdp2-sdpa")[key] for key in same]


@pytest.mark.slow
def test_checkpointing_keeps_one_input_per_block(run: Any) -> None:
    full, some, none = (run(name) for name in ("fsdp2-full", "fsdp2-every-2", "fsdp2"))
    assert full["terms"]["forward"]["checkpoints"] == LAYERS * 2 * (2 * S) * H
    assert full["forward"] < some["forward"] < none["forward"]
    assert full["steady"] == none["steady"]


@pytest.mark.slow
def test_zero_init_never_holds_the_whole_model(run: Any) -> None:
    assert run("zero3")["init"] < run("zero3-no-init")["init"]
    assert run("zero3-no-init")["init"] >= 2 * P


@pytest.mark.slow
def test_tied_weights_are_one(run: Any) -> None:
    assert run("zero3-tied")["params"] == P - V * H
    assert run("zero3-tied")["steady"] == run("zero3")["steady"] - 16 * V * H // 4


@pytest.mark.slow
def test_experts_under_autocast(run: Any) -> None:
    # three more experts per block and a router; 16 bytes per parameter and DDP's buckets
    experts = P + LAYERS * (3 * 3 * H * F + 4 * H)
    assert run("ddp-experts")["params"] == experts
    assert run("ddp-experts")["steady"] == pytest.approx(16 * experts, abs=SMALL_BYTES)


@pytest.mark.slow
def test_offloaded_state_is_on_the_host(run: Any) -> None:
    # 2 bytes of parameters and of gradients in 16 bits, 16 of master, gradient and moments in fp32, per rank
    result = run("zero3-offload")
    assert result["host"] == pytest.approx(20 * P / 4, rel=0.01)
    assert 0 < result["pinned"] <= result["host"]
    assert result["steady"] < 2 * P
    assert run("fsdp2-offload")["steady"] < SMALL_BYTES
    assert run("fsdp2-offload")["host"] == pytest.approx(12 * P / 4, rel=0.01)
    assert run("fsdp2")["host"] < SMALL_BYTES


@pytest.mark.slow
def test_adapters_alone_have_gradients_and_states(run: Any) -> None:
    # all linear layers but the head, rank 8: 8 x (in + out) each; fp32 with two moments on a 16-bit base
    kv = K * D
    pairs = 2 * (H + H) + 2 * (H + kv) + 2 * (H + F) + (F + H)
    adapters = LAYERS * 8 * pairs
    assert run("single-lora")["steady"] == pytest.approx(2 * P + 12 * adapters, abs=SMALL_BYTES)


@pytest.mark.slow
def test_adapters_on_experts(run: Any) -> None:
    # Of rank 8: q and o, k and v, the router of 4 experts, gate and up as one of rank 16, down.
    attention = 2 * 8 * (H + H) + 2 * 8 * (H + K * D)
    adapters = LAYERS * (attention + 8 * (H + 4) + 4 * (16 * (H + 2 * F) + 8 * (F + H)))
    base = P + LAYERS * (3 * 3 * H * F + 4 * H)
    assert run("zero2-lora-experts")["steady"] == pytest.approx(
        2 * (base + adapters) + 12 * adapters // 4, abs=SMALL_BYTES
    )
    # Each block keeps its experts' weights a second time, with the adapters added: 3 E h f in 16 bits.
    kept = run("zero2-lora-experts")["terms"]["backward"]["activations"]
    assert kept > LAYERS * 2 * 3 * 4 * H * F


@pytest.mark.slow
def test_8bit_states(run: Any) -> None:
    # two bytes and two fp32 maxima per 256 values; the norms are too small and keep fp32
    norms = (2 * LAYERS + 1) * H
    expected = 2 * P + (2 + 8 / 256) * (P - norms) + 8 * norms
    assert run("single-8bit")["steady"] == pytest.approx(expected, abs=SMALL_BYTES)


@pytest.mark.slow
def test_explain_lists_the_largest_tensors(run: Any) -> None:
    listed = run("zero2")["explain"]["backward"]
    assert len(listed) == 3
    assert [item["bytes"] for item in listed] == sorted((item["bytes"] for item in listed), reverse=True)
    assert {"label", "shape", "dtype", "born", "op", "tensors", "bytes"} == set(listed[0])


@pytest.mark.slow
def test_a_measurement_survives_json(run: Any) -> None:
    case = case_from_dict({"model": LLAMA, **RUNS["fsdp2"]})
    measured = measurement_of(case, run("fsdp2"))
    again = Measurement.from_json(measured.to_json())
    assert again == measured
    assert (again.launch, again.world_size, again.params) == ("dryrun", 4, P)


def test_every_engine_is_run() -> None:
    assert {case["engine"] for case in RUNS.values()} == set(ENGINES) == {engine.value for engine in Engine}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["single-lora", "fsdp2-offload", "zero3"])
def test_a_fresh_process_says_the_same(run: Any, name: str) -> None:
    fresh = run_case_in_child(_case(name))
    assert {**fresh, "seconds": 0} == {**run(name), "seconds": 0}


# -- cases -------------------------------------------------------------------------------------------------------------


def test_a_case_survives_json() -> None:
    raw = {"model": LLAMA, "checkpointing": True, **RUNS["zero3-offload"]}
    case = case_from_dict(raw)
    assert case.checkpointing == "full"
    assert case_from_dict(json.loads(json.dumps(case.to_dict()))) == case


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"engine": "megatron"}, "engine 'megatron'"),
        ({"stage": 4}, "no stage 4"),
        ({"engine": "ddp", "stage": 2}, "ddp has no stage 2"),
        ({"world": 0}, "world must be"),
        ({"rank": 8}, "rank 8 does not exist among 8 ranks"),
        ({"steps": 1}, "at least 2 steps"),
        ({"seq_len": 1.5}, "seq_len must be"),
        ({"buckets": 3}, "unknown key in the case: buckets"),
        ({"attention": "paged"}, "attention 'paged'"),
    ],
)
def test_cases_that_are_none(change: dict[str, Any], message: str) -> None:
    with pytest.raises(ZplanError, match=message):
        case_from_dict({"engine": "deepspeed", "stage": 3, "world": 8, "model": LLAMA, **change})


def test_a_case_without_a_model() -> None:
    with pytest.raises(ZplanError, match="lacks model"):
        case_from_dict({"engine": "ddp"})


def _spec() -> ModelSpec:
    return replace(MODEL, config_json=json.dumps(LLAMA))


def test_a_plan_as_a_case() -> None:
    options = DeepSpeedOptions(
        reduce_bucket_size=7, param_persistence_threshold=9, gradient_clipping=1.0, pin_memory=False
    )
    job = Job(
        **{"stage": 3, "offload": Offload.ALL, "micro_batch": 2, "hpz": 4, "deepspeed": options, "lora": Lora(rank=8)},
        checkpointing=Checkpointing(kind="every-k", every=2),
        rank=3,
    )
    case = plan_to_case(Plan(model=_spec(), cluster=CLUSTER, job=job))
    assert (case.world, case.rank, case.clip, case.lora, case.checkpointing) == (8, 3, 1.0, 8, "every-2")
    assert case.uses_zero_init
    assert case.zero == {
        **{"reduce_bucket_size": 7, "stage3_param_persistence_threshold": 9, "zero_hpz_partition_size": 4},
        "offload_optimizer": {"device": "cpu", "pin_memory": False, "ratio": 1.0},
        "offload_param": {"device": "cpu", "pin_memory": False},
    }


@pytest.mark.parametrize(
    ("job", "what"),
    [
        (Job(compile=True), "compiled models"),
        (Job(quantize=Quantize.NF4, lora=Lora(rank=8)), "quantized base weights"),
        (Job(stage=3, offload=Offload.ALL, offload_to=OffloadTo.NVME), "offload to NVMe"),
    ],
)
def test_plans_that_cannot_be_run_dry(job: Job, what: str) -> None:
    with pytest.raises(ZplanError, match=what):
        plan_to_case(Plan(model=_spec(), cluster=CLUSTER, job=job))


def test_a_model_without_a_config() -> None:
    with pytest.raises(ZplanError, match="no Hugging Face config"):
        plan_to_case(Plan(model=MODEL, cluster=CLUSTER, job=Job()))


# -- faults ------------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "message", "code"),
    [
        ({"model": {"model_type": "nosuch"}}, "cannot build a causal language model of type 'nosuch'", ExitCode.USAGE),
        ({"model": {**LLAMA, "num_attention_heads": 3}}, "cannot build|does not divide|divisible", ExitCode.USAGE),
        ({"engine": "fsdp2", "stage": 3, "optimizer": "adafactor"}, "Adafactor cannot step", ExitCode.USAGE),
        ({"attention": "sdpa", "model": {**LLAMA, "model_type": "gemma2"}}, "no sdpa attention", ExitCode.USAGE),
        ({"checkpointing": "selective"}, "checkpoints whole blocks", ExitCode.USAGE),
        ({"optimizer": "nosuch"}, "no optimizer 'nosuch'", ExitCode.USAGE),
    ],
)
def test_what_cannot_run_says_so(change: dict[str, Any], message: str, code: ExitCode) -> None:
    with pytest.raises(ZplanError, match=message) as caught:
        run_case_in_child({"engine": "ddp", "world": 2, "seq_len": 64, "model": LLAMA, **change})
    assert caught.value.exit_code is code
    assert caught.value.hint


@pytest.mark.slow
def test_stopping_leaves_no_process() -> None:
    def stop(phase: str, share: float) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_case_in_child({"engine": "ddp", "world": 2, "seq_len": 64, "model": LLAMA}, progress=stop)
    assert not _children()


def _children() -> list[str]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                stat = (entry / "stat").read_text().rsplit(")", 1)[1].split()
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            if int(stat[1]) == os.getpid() and "zplan.verify.dryrun" in line:
                found.append(line)
    return found


def test_a_missing_package_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dry_imports, "find_spec", lambda name: None)
    with pytest.raises(ZplanError, match="needs deepspeed") as caught:
        dry_imports.require("deepspeed")
    assert caught.value.exit_code is ExitCode.MISSING
    assert caught.value.hint.startswith("pip install")


def test_internals_that_moved_are_named() -> None:
    for attempt in (
        lambda: replace_attribute(torch.nn, "NoSuchThing", 1),
        lambda: patched(torch.nn, "NoSuch", 1).__enter__(),
    ):
        with pytest.raises(ZplanError, match=r"torch has moved torch\.nn\.NoSuch") as caught:
            attempt()
        assert caught.value.exit_code is ExitCode.MISSING


def test_internals_of_transformers_that_moved_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.modeling_utils import PreTrainedModel

    monkeypatch.delattr(PreTrainedModel, "_sdpa_can_dispatch")
    with pytest.raises(ZplanError, match=r"transformers has moved .*_sdpa_can_dispatch"), attention_as_on_cuda("flash"):
        pass


def test_other_output_of_the_child_does_not_mix_with_the_result() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "zplan.verify.dryrun"],
        input="{",
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == ExitCode.USAGE
    assert "not JSON" in json.loads(done.stdout)["error"]


# -- what it stands on -------------------------------------------------------------------------------------------------


def test_host_memory_is_reserved_but_never_touched() -> None:
    before = _resident_bytes()
    huge = reserved_host((1 << 20, 1 << 18), torch.float32)
    assert huge.numel() * 4 == 1 << 40
    assert _resident_bytes() - before < 1 << 26
    del huge


def _resident_bytes() -> int:
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_the_autocast_lists_are_those_of_this_torch() -> None:
    header = Path(torch.__file__).parent / "include/ATen/autocast_mode.h"
    if not header.exists():
        pytest.skip("this torch has no headers")
    text = header.read_text()
    lists = {}
    for part in text.split("#define AT_FORALL_")[1:]:
        lists[part.split("(")[0]] = {
            line.split("(")[1].split(",")[0].split(")")[0] for line in part.splitlines() if "_(" in line
        }
    name = lambda op: op._schema.name.removeprefix("aten::")  # noqa: E731
    assert {name(op) for op in FP32} <= lists["FP32"]
    assert {name(op) for op, _ in FP32_RESULT} <= lists["FP32_SET_OPT_DTYPE"]
    assert {name(op) for op in LOWER} <= lists["LOWER_PRECISION_FP"]


def test_the_compiler_stays_out_until_it_is_used() -> None:
    script = """
import sys
from zplan.verify.dryrun import imports
imports.leave_compiler_out()
import torch
from torch.utils.checkpoint import checkpoint
x = torch.ones(4, requires_grad=True)
checkpoint(torch.sin, x, use_reentrant=False).sum().backward()
assert "torch._dynamo.eval_frame" not in sys.modules, "opened too early"
from torch._dynamo.source import ConstantSource
assert torch._dynamo.eval_frame is sys.modules["torch._dynamo.eval_frame"]
print(torch._dynamo.is_compiling())
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.strip(), done.returncode) == ("False", 0), done.stderr


def test_what_deepspeed_does_without_stays_out_until_it_is_used() -> None:
    script = """
import sys
from zplan.verify.dryrun import imports
imports.leave_compiler_out()
imports.read_models_once()
imports.leave_sharded_tensors_out()
from transformers import modeling_utils
from torch.distributed.tensor import DTensor
from torch.distributed.fsdp import CPUOffloadPolicy
import torch
assert not isinstance(torch.ones(1), DTensor)
assert "torch.distributed.tensor._api" not in sys.modules, "opened too early"
for stand_in in (DTensor, CPUOffloadPolicy):
    try:
        stand_in()
    except RuntimeError as error:
        assert "is used after all" in str(error)
    else:
        raise AssertionError("a stand-in was used")
from torch.distributed.tensor import zeros
from torch.distributed.fsdp.wrap import ModuleWrapPolicy
from torch.distributed.tensor import DTensor as real
print(real.__module__, real is DTensor)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False, timeout=120)
    assert (done.stdout.split(), done.returncode) == (["torch.distributed.tensor", "False"], 0), done.stderr


def test_transformers_reads_its_models_once_and_finds_the_same() -> None:
    script = """
import sys
if sys.argv[1] == "once":
    from zplan.verify.dryrun import imports
    imports.read_models_once()
import transformers
from transformers.utils import import_utils
size = import_utils.create_import_structure_from_path.cache_info().maxsize
assert (size is None) == (sys.argv[1] == "once"), size
print(hash(tuple(sorted(transformers._class_to_module.items()))))
"""
    environ = {**os.environ, "PYTHONHASHSEED": "0"}
    found = [
        subprocess.run(
            [sys.executable, "-c", script, how], capture_output=True, text=True, check=True, timeout=120, env=environ
        ).stdout
        for how in ("once", "as it is")
    ]
    assert found[0] == found[1]


@pytest.mark.parametrize("name", VIEWS)
def test_what_passes_unseen_is_a_view_and_nothing_else(name: str) -> None:
    packet, _, overload = name.partition(".")
    operator = getattr(getattr(torch.ops.aten, packet), overload or "default")
    assert operator.is_view
    assert all(ret.alias_info is not None for ret in operator._schema.returns)


def test_views_pass_the_tracker_unseen_and_the_rest_does_not() -> None:
    seen: list[str] = []

    class Seeing(Tracker):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(func))
            return super().__torch_dispatch__(func, types, args, kwargs)

    with Seeing("meta", "cpu", Ghost()) as tracker:
        base = torch.empty(8, 4, device="meta")
        with views_unseen():
            seen.clear()
            parts = [*base.view(-1).chunk(4), base.t(), base[1:3], base.narrow(0, 1, 2), base.unbind(0)[2]]
            assert seen == []
            joined = torch.cat([part.reshape(-1) for part in parts[:4]])
            assert seen == ["aten.cat.default"]
            assert tracker.device_bytes == 2 * 8 * 4 * 4
        seen.clear()
        assert base.t().shape == (4, 8)
        assert seen == ["aten.t.default"]
        del base, parts, joined
        assert tracker.device_bytes == 0


@given(st.lists(st.integers(0, 9), min_size=1, max_size=5), st.sampled_from([torch.float32, torch.bfloat16]))
def test_joined_tensors_have_the_shape_that_torch_works_out(sizes: list[int], dtype: torch.dtype) -> None:
    flat = [torch.empty(size, device="meta", dtype=dtype) for size in sizes]
    mixed = [*flat, torch.empty(3, device="meta", dtype=torch.float64)]
    square = [torch.empty(size, 3, device="meta", dtype=dtype) for size in sizes]
    for parts in (flat, mixed, square):
        ours = Ghost()(torch.ops.aten.cat.default, (parts,), {})
        theirs = torch.cat(parts)
        assert (ours.shape, ours.dtype, ours.stride()) == (theirs.shape, theirs.dtype, theirs.stride())


def test_pure_precisions_are_known_to_the_spec() -> None:
    assert {precision.value for precision in Precision} == {"bf16", "fp16", "fp32", "bf16-pure"}


def test_a_name_that_an_engine_no_longer_has_is_told() -> None:
    where = "deepspeed.runtime.zero.stage3"
    gone = dry_imports.unknown_version(ImportError(f"cannot import name 'Gone' from {where!r}", name=where))
    assert gone is not None
    assert gone.exit_code is ExitCode.MISSING
    assert "Gone" in gone.message
    assert gone.hint == dry_imports.HINTS["deepspeed"]
    assert dry_imports.unknown_version(ImportError("no", name="somebody.else")) is None
