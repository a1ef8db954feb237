"""Out-of-memory messages: read in every wording, matched with a plan's tensors, explained, and what to change."""

from __future__ import annotations

import tracemalloc
from collections.abc import Sequence
from dataclasses import fields, replace
from io import BytesIO, RawIOBase
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.advice.oom import Decoded, decode
from zplan.advice.oom_cause import find_causes
from zplan.advice.oom_match import allocator_bytes, match, rounded_share, tells_nothing
from zplan.advice.oom_stack import StackHint, engine_of, read_stack
from zplan.advice.oom_tensors import plan_tensors
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.errors import ZplanError
from zplan.inputs import oomlog
from zplan.inputs.oomlog import oom_from_text, read_oom_log
from zplan.inputs.oommessage import Frame, OomKind, OomMessage, Size, size
from zplan.memory.estimate import estimate
from zplan.memory.moments import TermKey
from zplan.memory.summary import TERM_TITLES
from zplan.memory.terms import TERMS
from zplan.spec import Offload, Plan
from zplan.units import GIB, KIB, MIB

DATA = Path(__file__).parent / "data" / "oom"
LOGS = sorted(DATA.glob("*.txt"))
CASES: list[dict[str, Any]] = yaml.safe_load((DATA / "cases.yaml").read_text(encoding="utf-8"))


def _plan(**words: str) -> Plan:
    return build_plans(replace(PlanOptions(), **words)).plans[0]


def _first(name: str) -> OomMessage:
    return read_oom_log(str(DATA / name)).primary


def _gib(found: Size | None) -> float | None:
    return None if found is None else round(found.bytes / GIB, 3)


# --- reading ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "device", "index", "gib"),
    [
        # requested, total, free, allocated, reserved, unallocated, in GiB as printed; MiB / 1024 for what is in MiB
        ("torch-1.4-cached.txt", "cuda", 0, (8.52, 31.72, 5.39, 25.59, 25.604, 0.014)),  # 25.59 + 14.59 MiB
        ("torch-1.8.txt", "cuda", 1, (0.268, 23.7, 0.025, 21.95, 22.28, 0.33)),
        ("torch-2.0.txt", "cuda", 5, (3.14, 31.75, 1.95, 28.28, 28.28, 0.0)),
        ("torch-2.1-capacty.txt", "cuda", 0, (0.133, 23.65, 0.092, 21.51, 21.512, 0.002)),
        ("torch-2.1-own-use.txt", "cuda", 0, (2.22, 79.15, 0.223, 76.28, 78.42, 2.14)),
        ("torch-2.4-interleaved.txt", "cuda", 1, (3.39, 79.32, 2.4, 73.28, 74.87, 1.59)),
        ("torch-2.6-private-pools.txt", "cuda", 7, (2.63, 79.11, 2.61, 48.15, 51.64, 3.49)),
        ("rich-panel.txt", "cuda", 0, (0.193, 31.75, 0.134, 28.05, 28.08, 0.03)),
        ("two-on-a-line.txt", "cuda", 6, (0.061, 79.19, 0.06, 66.51, 67.77, 1.26)),
        ("hip.txt", "hip", 0, (0.422, 15.92, 7.12, 8.08, 8.394, 0.314)),
        ("npu.txt", "npu", 3, (5.03, 60.96, 1.32, 49.47, 57.55, 8.08)),
        ("xpu.txt", "xpu", 0, (4.66, 5.65, 5.65, 0.0, 0.002, 0.002)),
        ("mps.txt", "mps", None, (0.062, 9.07, None, 9.05, None, None)),
    ],
)
def test_every_wording_of_an_allocator_is_read(
    name: str, device: str, index: int | None, gib: Sequence[float | None]
) -> None:
    found = _first(name)
    assert (found.kind, found.device, found.index) == (OomKind.DEVICE, device, index)
    sizes = (found.requested, found.total, found.free, found.allocated, found.reserved, found.unallocated)
    assert tuple(_gib(each) for each in sizes) == tuple(gib)


@pytest.mark.parametrize(
    ("name", "kind", "requested", "held"),
    [
        ("cublas.txt", OomKind.DRIVER, None, None),
        ("driver.txt", OomKind.DRIVER, None, None),
        ("nccl.txt", OomKind.DRIVER, None, None),
        ("host-allocator.txt", OomKind.HOST, 132426121216, None),
        ("killed-deepspeed.txt", OomKind.KILLED, None, None),
        ("killed-torchrun.txt", OomKind.KILLED, None, None),
        ("killed-kernel.txt", OomKind.KILLED, None, 262144000 * KIB),
    ],
)
def test_what_has_no_allocator_behind_it_is_read(
    name: str, kind: OomKind, requested: int | None, held: int | None
) -> None:
    found = _first(name)
    assert found.kind is kind
    assert (found.requested.bytes if found.requested else None) == requested
    assert (found.own_use.bytes if found.own_use else None) == held


def test_every_file_of_wordings_is_in_a_table() -> None:
    tested = (Path(__file__).read_text(encoding="utf-8").split("# --- matching")[0]).count('.txt", ')
    assert tested >= len(LOGS) == 20


def test_processes_and_pools_are_read() -> None:
    listed = _first("torch-2.1-capacty.txt")
    assert [process.pid for process in listed.processes] == [62201, 62203, 62204, 62200, 62202]
    assert listed.processes[0].bytes == 398 * MIB
    assert _gib(_first("torch-2.1-own-use.txt").own_use) == 78.93
    pools = _first("torch-2.6-private-pools.txt")
    assert pools.private_pools == Size(50 * MIB, 5243)
    assert pools.own_use is None  # "0 bytes" is what the driver says where it cannot see


def test_ranks_are_kept_apart() -> None:
    log = read_oom_log(str(DATA / "torch-2.4-interleaved.txt"))
    assert [(message.rank, message.log_line) for message in log.messages] == [(1, 13), (9, 14)]
    for message in log.messages:
        assert [frame.function for frame in message.frames] == ["step", "_optimizer_step"]
        assert [frame.code for frame in message.frames] == [
            "self._optimizer_step(sub_group_id)",
            "self.optimizer.step()",
        ]


@pytest.mark.parametrize(
    "prefix",
    ["[rank3]: ", "[default3]:", "3: ", "[1,3]<stderr>:", "[2025-03-27 15:41:41] [rank3]: ", "[rank3]:[rank3]: "],
)
def test_prefixes_of_launchers_name_the_rank(prefix: str) -> None:
    lines = (DATA / "torch-2.0.txt").read_text(encoding="utf-8").splitlines()[2:]
    text = "".join(f"{prefix}{line}\n" for line in lines)
    found = oom_from_text(text).primary
    assert found.rank == 3
    assert [frame.function for frame in found.frames] == ["step", "_optimizer_step", "_single_tensor_adamw"]


def test_two_messages_of_one_line_are_two() -> None:
    assert [message.index for message in read_oom_log(str(DATA / "two-on-a-line.txt")).messages] == [6, 4]


def test_frames_that_rich_has_wrapped_are_put_together() -> None:
    frames = _first("rich-panel.txt").frames
    assert [frame.function for frame in frames] == ["_pre_forward", "all_gather_coalesced"]
    assert frames[-1].code == "param_buffer = torch.empty("


def test_the_same_message_again_counts_once() -> None:
    text = (DATA / "hip.txt").read_text(encoding="utf-8")
    assert len(oom_from_text(text + text).messages) == 1


def test_a_rank_that_fails_goes_before_the_ranks_that_are_killed_for_it() -> None:
    killed = (DATA / "killed-deepspeed.txt").read_text(encoding="utf-8")
    log = oom_from_text(killed + (DATA / "torch-2.0.txt").read_text(encoding="utf-8"))
    assert [message.kind for message in log.messages] == [OomKind.KILLED, OomKind.DEVICE]
    assert log.primary.kind is OomKind.DEVICE


@pytest.mark.parametrize(
    "line",
    [
        "[INFO] [launch.py:318:sigkill_handler] Killing subprocess 80",
        "Sending process 620 closing signal SIGTERM",
        "failed (exitcode: 1) local_rank: 1 (pid: 621) of binary: python",
        "exits with return code = -6",
        "nvidia-smi: 20 MiB / 81559 MiB memory in use",
        "loss: -9.13, rewards: 137",
        "MaxMemAllocated=0.1GB, out of 500 steps",
    ],
)
def test_other_lines_are_no_messages(line: str) -> None:
    with pytest.raises(ZplanError, match="holds no out-of-memory message"):
        oom_from_text(f"{line}\n")


@pytest.mark.parametrize(
    ("number", "unit", "value"),
    [
        ("0", "bytes", Size(0, 0)),
        ("512", "bytes", Size(512, 0)),
        ("195.50", "KiB", Size(200192, 6)),  # 195.5 * 1024; half of 0.01 KiB is 5.12 bytes
        ("1024.00", "MiB", Size(GIB, 5243)),
        ("3.14", "GiB", Size(3371549327, 5368710)),  # 3.14 * 2^30 = 3371549327.4
        ("9.05", "GB", Size(9717363507, 5368710)),  # MPS writes GB for GiB
        ("49", "GiB", Size(49 * GIB, GIB // 2)),
    ],
)
def test_sizes_are_known_to_half_of_their_last_digit(number: str, unit: str, value: Size) -> None:
    assert size(number, unit) == value


@given(st.binary(max_size=2000))
@settings(max_examples=60, deadline=None)
def test_junk_around_a_message_does_not_hide_it(junk: bytes) -> None:
    message = (DATA / "xpu.txt").read_bytes()
    log = oomlog._read(BytesIO(b"log\n" + junk + b"\n" + message + b"\n" + junk), "junk")
    assert any(found.device == "xpu" and found.requested is not None for found in log.messages)


@given(st.text(max_size=300))
@settings(max_examples=60, deadline=None)
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        log = oom_from_text(f"CUDA out of memory. {text}")
    except ZplanError:
        return
    assert log.messages and len(log.primary.text) <= 700


class _Endless(RawIOBase):
    """A long log that exists only while it is read: progress, then one message near the end."""

    def __init__(self, total: int, message: bytes) -> None:
        self.left, self.row = total, b"step 1234, loss 1.2345, 12.3 s/it " * 8 + b"\n"
        self.message = message

    def read(self, count: int = -1) -> bytes:
        if self.left <= 0:
            message, self.message = self.message, b""
            return message
        self.left -= count
        return (self.row * (count // len(self.row) + 1))[:count]


def test_a_long_log_is_read_in_little_memory() -> None:
    total = 200 * MIB
    tracemalloc.start()
    try:
        log = oomlog._read(_Endless(total, b"\n" + (DATA / "torch-2.0.txt").read_bytes()), "long")  # type: ignore[arg-type]
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert log.primary.requested == Size(3371549327, 5368710)
    assert [frame.function for frame in log.primary.frames][-1] == "_single_tensor_adamw"
    assert log.primary.log_line > total // 300
    assert peak < 16 * MIB


def test_one_endless_row_is_read_too() -> None:
    row = b"x" * (5 * MIB) + b" " + (DATA / "hip.txt").read_bytes().splitlines()[1]
    assert oomlog._read(BytesIO(row), "row").primary.device == "hip"


def test_utf16_logs_of_powershell_are_read(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text((DATA / "torch-2.0.txt").read_text(encoding="utf-8"), encoding="utf-16")
    assert read_oom_log(str(path)).primary.index == 5


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"everything went well\n", "holds no out-of-memory message"),
        (b"\x1f\x8b\x08\x00rest", "is compressed"),
        (bytes(range(256)) * 50, "holds no out-of-memory message"),
    ],
)
def test_what_cannot_be_explained_is_said(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "train.log"
    path.write_bytes(content)
    with pytest.raises(ZplanError, match=message) as caught:
        read_oom_log(str(path))
    assert "zplan explain --oom -" in caught.value.hint


@pytest.mark.parametrize("path", ["nowhere.log", "nul\0.log"])
def test_a_file_that_is_not_there(path: str) -> None:
    with pytest.raises(ZplanError):
        read_oom_log(path)


def test_a_folder_is_no_log(tmp_path: Path) -> None:
    with pytest.raises(ZplanError, match="is a folder"):
        read_oom_log(str(tmp_path))


# --- matching --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensor", "device", "asked"),
    [
        # c10/core/AllocatorConfig.h: 512-byte blocks; to 1 MiB a segment of 2 MiB; below 10 MiB 20; then steps of 2 MiB
        (1, "cuda", 2 * MIB),
        (MIB, "cuda", 2 * MIB),
        (MIB + 1, "cuda", 20 * MIB),
        (10 * MIB - 512, "cuda", 20 * MIB),
        (10 * MIB, "cuda", 10 * MIB),
        (10 * MIB + 1, "cuda", 12 * MIB),
        (3 * 6912 * 6912 * 2, "cuda", 274 * MIB),  # 273.4 MiB: DeepSpeed#1624
        (50272 * 2048 * 2, "cuda", 198 * MIB),  # 196.4 MiB: DeepSpeed#3312
        (136 * MIB, "npu", 138 * MIB),  # 32 bytes more, so one step more
        (12345, "mps", 12345),
        (12345, "cpu", 12345),
    ],
)
def test_the_allocator_rounds_as_torch_does(tensor: int, device: str, asked: int) -> None:
    assert allocator_bytes(tensor, device) == asked


@given(st.integers(1, 2**40), st.integers(0, 2**30))
def test_rounding_never_shrinks_and_keeps_order(tensor: int, more: int) -> None:
    assert allocator_bytes(tensor, "cuda") >= tensor
    if tensor >= 10 * MIB:
        assert allocator_bytes(tensor, "cuda") - tensor < 2 * MIB
        assert allocator_bytes(tensor + more, "cuda") >= allocator_bytes(tensor, "cuda")


@pytest.mark.parametrize(("asked", "nothing"), [(2 * MIB, True), (20 * MIB, True), (22 * MIB, False), (GIB, False)])
def test_segments_of_small_tensors_name_nothing(asked: int, nothing: bool) -> None:
    message = OomMessage(kind=OomKind.DEVICE, device="cuda", text="", requested=Size(asked, 5243))
    assert tells_nothing(message) is nothing
    if nothing:
        plan = _plan(params="7B", gpus="8", stage="2")
        assert match(message, StackHint(None, (), ""), plan_tensors(plan), plan.model) == ()
        assert "names no tensor" in decode(message, None, plan=plan).remarks[0]


_PLANS = [
    {"params": "7B", "gpus": "8", "stage": "0"},
    {"params": "7B", "gpus": "8", "stage": "1"},
    {"params": "7B", "gpus": "8", "stage": "2"},
    {"params": "70B", "gpus": "16", "stage": "3"},
    {"params": "7B", "gpus": "8", "stage": "2", "offload": "optimizer"},
    {"params": "7B", "gpus": "8", "stage": "3", "offload": "all"},
    {"params": "7B", "gpus": "8", "stage": "3", "engine": "fsdp2"},
    {"params": "7B", "gpus": "8", "stage": "3", "engine": "fsdp1"},
    {"params": "7B", "gpus": "8", "engine": "ddp"},
    {"params": "1B", "gpus": "1", "engine": "single", "optimizer": "adamw_8bit"},
    {"params": "7B", "gpus": "8", "stage": "2", "lora": "16", "precision": "bf16-pure"},
]


@pytest.mark.parametrize("words", _PLANS, ids=lambda words: "-".join(words.values()))
def test_every_tensor_of_a_plan_is_found_by_its_own_size(words: dict[str, str]) -> None:
    """A law: what a tensor asks for is explained by that tensor, among those of the same size."""
    plan = _plan(**words)
    tensors = plan_tensors(plan)
    assert {tensor.term for tensor in tensors} <= set(TERMS)
    for tensor in tensors:
        asked = allocator_bytes(tensor.bytes, "cuda")
        if asked in (2 * MIB, 20 * MIB):
            continue
        kind = OomKind.HOST if tensor.host else OomKind.DEVICE
        message = OomMessage(kind=kind, device="cpu" if tensor.host else "cuda", text="", requested=Size(asked, 0))
        if tensor.host:
            message = replace(message, requested=Size(tensor.bytes, 0))
        hint = StackHint(tensor.phases[0], (tensor.term,), "")
        found = match(message, hint, tensors, plan.model)
        assert found[0].tensor.term == tensor.term, tensor
        assert found[0].phase == tensor.phases[0]
        assert found[0].error < 0.5


@pytest.mark.parametrize("words", _PLANS, ids=lambda words: "-".join(words.values()))
def test_numbers_in_formulas_are_the_bytes(words: dict[str, str]) -> None:
    for tensor in plan_tensors(_plan(**words)):
        left, right = tensor.with_numbers.replace(",", "").split(" = ")
        first, second = left.split(" x ")
        assert int(first) * int(second) == int(right) == tensor.bytes > 0


def test_states_of_a_plan_have_the_engines_sizes() -> None:
    """6.74e9 parameters on 8 ranks: partitions of 842.5e6, 4 bytes each; a bucket of 5e8 x 2."""
    sizes = {(t.term, t.bytes) for t in plan_tensors(_plan(params="6.74B", gpus="8", stage="2"))}
    for term in (TermKey.MASTER, TermKey.OPTIMIZER, TermKey.GRADS_FP32, TermKey.OPTIMIZER_TEMPORARIES):
        assert (term, 4 * 842_500_000) in sizes
    assert (TermKey.FLAT_BUFFER, 2 * 842_500_000) in sizes
    assert (TermKey.FLAT_BUFFER, 2 * 6_740_000_000) in sizes
    assert (TermKey.REDUCE_BUCKET, 10**9) in sizes
    assert (TermKey.REDUCE_BUCKET, 2 * 4096**2) in sizes  # "auto"


@pytest.mark.parametrize(
    ("count", "share"), [("7B", 0.5 / 7), ("6.74B", 0.005 / 6.74), ("6.7384B", 0.00005 / 6.7384), ("70B", 5 / 70)]
)
def test_a_typed_count_is_known_to_half_of_its_last_digit(count: str, share: float) -> None:
    """70B is 7 and one zero, so 65 to 75 would all be typed so."""
    assert rounded_share(_plan(params=count).model) == pytest.approx(share)


def test_a_models_own_count_is_exact() -> None:
    assert rounded_share(_plan(model="llama-2-7b").model) == 0


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['source']} {case['check'][:24]}")
def test_public_reports_have_a_plan_and_a_known_tensor(case: dict[str, Any]) -> None:
    assert set(case) <= {"source", "check", "plan", "log", "term", "derived"}
    assert set(case["plan"]) <= {field.name for field in fields(PlanOptions)}
    assert set(case["term"]) <= set(TERMS)
    assert oom_from_text(case["log"]).primary.requested is not None


def _report(case: dict[str, Any], *, stack: bool) -> bool:
    message = oom_from_text(case["log"]).primary
    if not stack:
        message = replace(message, frames=())
    found = decode(message, None, plan=_plan(**case["plan"]), with_advice=False).candidates
    return bool(found) and found[0].tensor.term in case["term"]


def test_the_right_term_is_first_for_nine_of_ten_public_reports() -> None:
    missed = [case["source"] for case in CASES if not _report(case, stack=True)]
    assert len(CASES) - len(missed) >= 0.9 * len(CASES), missed


def test_the_size_alone_names_most_of_them() -> None:
    """Without a traceback tensors of one size cannot be told apart: 4 P/N is four different things."""
    missed = [case["source"] for case in CASES if not _report(case, stack=False)]
    assert len(CASES) - len(missed) >= 0.75 * len(CASES), missed


def test_another_number_of_tokens_is_solved_for() -> None:
    case = next(case for case in CASES if case["source"] == "modelscope/ms-swift#6966")
    found = decode(oom_from_text(case["log"]).primary, None, plan=_plan(**case["plan"])).candidates[0]
    # 49 GiB / (4 x 151,936) = 86,571.6
    assert (found.fit, found.tensor.elements) == ("solved", 86_572 * 151_936)
    assert "86,572 tokens" in found.note and "32,768" in found.note


def test_an_offload_that_was_not_in_effect_is_noticed() -> None:
    case = next(case for case in CASES if case["source"] == "ZHZisZZ/dllm#9")
    found = decode(oom_from_text(case["log"]).primary, None, plan=_plan(**case["plan"])).candidates[0]
    assert "the offload that the plan has was not in effect" in found.note


# --- tracebacks ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("frames", "phase", "term"),
    [
        (
            [("torch/optim/adam.py", "_multi_tensor_adam", "exp_avg_sq_sqrt = torch._foreach_sqrt(exp_avg_sqs)")],
            "step",
            "optimizer_temporaries",
        ),
        (
            [
                ("x.py", "train", "optimizer.step()"),
                ("fused_adam.py", "step", "state['exp_avg'] = torch.zeros_like(p.data)"),
            ],
            "step",
            "optimizer",
        ),
        (
            [
                (
                    "deepspeed/runtime/zero/stage3.py",
                    "_create_fp32_partitions",
                    "self.fp32_partitioned_groups_flat.append(",
                )
            ],
            "init",
            "master",
        ),
        (
            [
                (
                    "deepspeed/runtime/zero/stage_1_and_2.py",
                    "step",
                    "single_grad_partition = self.flatten(self.averaged_gradients[i]).to(",
                )
            ],
            None,
            "grads_fp32",
        ),
        (
            [("torch/_utils.py", "_flatten_dense_tensors", "return torch._C._nn.flatten_dense_tensors(tensors)")],
            None,
            "flat_buffer",
        ),
        (
            [("deepspeed/runtime/zero/partition_parameters.py", "all_gather_coalesced", "param_buffer = torch.empty(")],
            None,
            "gathered_params",
        ),
        ([("loss_utils.py", "ForCausalLMLoss", "logits = logits.float()")], None, "logits"),
        (
            [("torch/autograd/graph.py", "_engine_run_backward", "return Variable._execution_engine.run_backward(")],
            "backward",
            None,
        ),
        (
            [("modeling_llama.py", "forward", "attn_weights = nn.functional.softmax(attn_weights, dim=-1)")],
            None,
            "attention_scores",
        ),
        (
            [
                (
                    "modeling_llama.py",
                    "forward",
                    "return self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))",
                )
            ],
            None,
            "activations",
        ),
        ([("trainer.py", "_move_model_to_device", "model = model.to(device)")], "init", "params"),
        ([("stage_1_and_2.py", "__init__", "torch.zeros(numel).pin_memory()")], None, "host_staging"),
        (
            [("stage_1_and_2.py", "setup_buckets", "buf_0 = torch.empty(int(self.reduce_bucket_size))")],
            "backward",
            "reduce_bucket",
        ),
        ([("train.py", "main", "do_something()")], None, None),
    ],
)
def test_frames_point_at_phase_and_term(
    frames: list[tuple[str, str, str]], phase: str | None, term: str | None
) -> None:
    hint = read_stack([Frame(*frame) for frame in frames])
    assert (hint.terms[0] if hint.terms else None) == term
    if phase is not None:
        assert hint.phase == phase


def test_no_frames_point_nowhere() -> None:
    assert read_stack(()) == StackHint(None, (), "")


@pytest.mark.parametrize(
    ("file", "engine"),
    [
        ("site-packages/deepspeed/runtime/zero/stage3.py", ("deepspeed", 3)),
        ("site-packages/deepspeed/runtime/zero/partitioned_param_coordinator.py", ("deepspeed", 3)),
        ("site-packages/deepspeed/runtime/zero/stage_1_and_2.py", ("deepspeed", 2)),
        ("site-packages/torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py", ("fsdp2", 3)),
        ("site-packages/torch/distributed/fsdp/fully_sharded_data_parallel.py", ("fsdp1", 3)),
        ("train.py", (None, None)),
    ],
)
def test_files_tell_the_engine(file: str, engine: tuple[str | None, int | None]) -> None:
    assert engine_of([Frame("train.py", "main"), Frame(file, "f")]) == engine


# --- causes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kinds"),
    [
        ("torch-2.0.txt", ["full"]),
        ("torch-2.1-capacty.txt", ["other_process", "full"]),
        ("torch-2.1-own-use.txt", ["fragmentation"]),
        ("torch-2.6-private-pools.txt", ["fragmentation", "other_process"]),
        ("npu.txt", ["fragmentation"]),
        ("hip.txt", ["refused"]),
        ("xpu.txt", ["refused"]),
        ("mps.txt", ["full"]),
        ("driver.txt", ["host"]),
        ("cublas.txt", ["driver"]),
        ("nccl.txt", ["driver"]),
        ("host-allocator.txt", ["host"]),
        ("killed-kernel.txt", ["host"]),
    ],
)
def test_why_there_was_no_room(name: str, kinds: list[str]) -> None:
    assert [cause.kind for cause in decode(_first(name), None).causes] == kinds


def test_contexts_of_other_ranks_are_recognized() -> None:
    cause = find_causes(_first("torch-2.1-capacty.txt"), None)[0]
    assert cause.bytes == 4 * 398 * MIB
    assert "set_device" in cause.words and "62200" not in cause.words


_NUMBERS = "GPU 0 has a total capacity of 24.00 GiB of which {free} GiB is free. "
_OWN = "Including non-PyTorch memory, this process has {own} GiB memory in use. "
_HELD = "Of the allocated memory {live} GiB is allocated by PyTorch, and {loose} GiB is reserved by PyTorch but unallocated."


@pytest.mark.parametrize(
    ("asked", "free", "own", "live", "loose", "kinds"),
    [
        ("30.00", "20.00", "4.00", "3.00", "0.50", ["too_large", "full"]),
        ("2.00", "1.00", "22.50", "19.00", "3.00", ["fragmentation"]),  # 3.00 lies in the cache
        ("2.00", "1.00", "22.50", "21.90", "0.10", ["full"]),
        ("2.00", "1.00", "10.00", "9.00", "0.10", ["other_process", "full"]),  # 13 GiB are somebody else's
        ("2.00", "0.50", "23.50", "40.00", "0.10", ["spill", "full"]),  # Windows moves tensors to host RAM
    ],
)
def test_numbers_decide_the_cause(asked: str, free: str, own: str, live: str, loose: str, kinds: list[str]) -> None:
    text = f"CUDA out of memory. Tried to allocate {asked} GiB. " + _NUMBERS.format(free=free)
    text += _OWN.format(own=own) + _HELD.format(live=live, loose=loose)
    assert [cause.kind for cause in find_causes(oom_from_text(text).primary, None)] == kinds


def test_a_limit_of_the_process_is_said() -> None:
    text = "CUDA out of memory. Tried to allocate 2.00 GiB. " + _NUMBERS.format(free="11.00") + "12.00 GiB allowed; "
    causes = find_causes(oom_from_text(text + _HELD.format(live="11.00", loose="0.10")).primary, None)
    assert causes[0].kind == "limit" and "set_per_process_memory_fraction" in causes[0].words


# --- advice ----------------------------------------------------------------------------------------------------------


def _decoded(name: str, **words: str) -> Decoded:
    plan = _plan(**words)
    return decode(_first(name), estimate(plan), plan=plan)


def test_advice_is_the_difference_of_two_estimates() -> None:
    plan = _plan(params="6.74B", gpus="8", gpu="v100-32g", stage="2")
    before = estimate(plan)
    decoded = decode(_first("torch-2.0.txt"), before)
    assert decoded.phase == "step"
    offload = next(one for one in decoded.advice if one.name == "offload_optimizer")
    job = replace(plan.job, offload=Offload.OPTIMIZER)
    assert offload.saves_bytes == before.phases["step"] - estimate(replace(plan, job=job)).phases["step"]
    assert offload.costs and offload.how == "--stage 2 --offload optimizer"
    assert decoded.predicted_bytes == before.phases["step"]
    assert decoded.needed_bytes is not None and round(decoded.needed_bytes / GIB, 2) == 31.42  # 28.28 + 3.14


def test_a_temporary_that_the_plan_lacks_is_answered_with_its_optimizer() -> None:
    first = _decoded("torch-2.0.txt", params="6.74B", gpus="8", gpu="v100-32g", stage="2").advice[0]
    assert (first.name, first.saves_bytes) == ("fused_optimizer", 3371549327)


def test_fragmentation_is_answered_first() -> None:
    advice = decode(_first("torch-2.1-own-use.txt"), None).advice
    assert advice[0].how == "PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True"
    assert advice[0].saves_bytes == _first("torch-2.1-own-use.txt").unallocated.bytes  # type: ignore[union-attr]
    assert decode(_first("npu.txt"), None).advice[0].how.startswith("PYTORCH_NPU_ALLOC_CONF")


def test_every_change_saves_something_and_says_its_price() -> None:
    for words in (
        {"params": "7B", "gpus": "8", "gpu_mem": "24", "stage": "2"},
        {"params": "7B", "gpus": "8", "stage": "3"},
    ):
        advice = _decoded("torch-2.0.txt", **words).advice
        assert len(advice) > 2
        for one in advice:
            assert one.saves_bytes is None or one.saves_bytes > 0
            assert one.costs and one.how and one.change


def test_a_killed_host_is_told_what_the_plan_needs_there() -> None:
    decoded = _decoded("killed-deepspeed.txt", params="7B", gpus="8", stage="3", offload="all", host_mem="128")
    assert decoded.causes[0].kind == "host" and "per node" in decoded.causes[0].words
    assert decoded.causes[0].bytes > 0
    assert {one.name for one in decoded.advice} & {"pin_memory", "params_on_gpu", "gpus"}
    # 128 GiB and what the cause says is short, in whole GiB.
    (more,) = (one for one in decoded.advice if one.name == "host_mem")
    assert more.how == f"--host-mem {-(-(128 * 2**30 + decoded.causes[0].bytes) // 2**30)}GiB"
    unknown = _decoded("killed-deepspeed.txt", params="7B", gpus="8", stage="3", offload="all")
    assert "host_mem" not in {one.name for one in unknown.advice}


def test_a_killed_host_without_offload_is_loading() -> None:
    decoded = _decoded("killed-deepspeed.txt", params="7B", gpus="8", stage="2")
    assert "checkpoint" in decoded.causes[0].words
    assert decoded.advice[0].saves_bytes == 7 * 2 * 7_000_000_000


def test_a_plan_that_is_not_the_runs_is_said() -> None:
    decoded = _decoded("torch-2.1-own-use.txt", params="350M", gpus="8", stage="2")
    assert any("no tensor of this plan has that size" in remark for remark in decoded.remarks)


def test_terms_are_told_of_once_each() -> None:
    assert list(TERMS) == [key for key in TERMS if key in TERM_TITLES]
    keys = {value for name, value in vars(TermKey).items() if name.isupper()}
    assert keys == set(TERMS)
