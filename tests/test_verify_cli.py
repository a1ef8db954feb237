"""``zplan verify`` as typed: what it chooses, refuses, prints, saves and exits with; the run itself is replaced by a value."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest

from zplan.cli import verify as verb
from zplan.cli.app import run
from zplan.cli.options import PlanOptions
from zplan.cli.verify import choose, parse_tolerance, read_launch
from zplan.cli.verifyoptions import LaunchOptions
from zplan.errors import ExitCode, ZplanError
from zplan.inputs import machine
from zplan.inputs.machinegpus import MachineGpu
from zplan.units import GIB
from zplan.verify.launch import run as launcher
from zplan.verify.launch.faults import RankStatus, died, hung
from zplan.verify.launch.fit import Room, check_room, default_launch
from zplan.verify.launch.run import Request, command
from zplan.verify.launch.world import existing_world, first_host
from zplan.verify.measurement import Measurement

PLAN = ("--model", "llama-3.2-1b", "--gpus", "8", "--engine", "fsdp2", "--stage", "3", "--seq-len", "512")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ZPLAN_NO_CACHE", raising=False)
    for name in ("RANK", "WORLD_SIZE", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launcher, "find_spec", lambda name: object())
    monkeypatch.setattr(machine, "read_machine", lambda: machine.Machine(ram_available_bytes=24 * GIB))
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def requests(monkeypatch: pytest.MonkeyPatch) -> list[Request]:
    """What was launched; the measurement is 2 % above the prediction at the peak."""
    seen: list[Request] = []

    def fake(request: Request) -> Measurement:
        seen.append(request)
        return _measured(request)

    monkeypatch.setattr(verb, "run", fake)
    return seen


def _measured(request: Request) -> Measurement:
    from zplan.cli.estimate import price

    words = {"model": "llama-3.2-1b", "gpus": "8", "engine": "fsdp2", "stage": "3", "seq_len": "512"}
    estimate = price(choose(PlanOptions(**words))[0])
    phases = {phase: size * 102 // 100 for phase, size in estimate.phases.items()}
    return Measurement(
        launch=request.launch,
        rank=0,
        world_size=int(request.case["world"]),
        phases=phases,
        steady_bytes=estimate.steady_bytes,
        allocated_peak_bytes=max(phases[phase] for phase in ("forward", "backward", "step")),
        terms={phase: {"params": size // 2} for phase, size in phases.items()},
        environment={"torch": "2.13.0"},
        limits=("A sentence about what was not seen.",),
        case=request.case,
    )


# -- output ------------------------------------------------------------------------------------------------------------


def test_json_has_the_keys_of_the_contract(requests: list[Request], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["verify", *PLAN, "--json"]) == 0
    out, err = capsys.readouterr()
    answer = json.loads(out)
    assert err == ""
    assert (answer["schema_version"], answer["launch"], answer["ranks_measured"]) == (1, "dryrun", 1)
    assert answer["world_size"] == 8
    assert answer["predicted"]["engine"] == "fsdp2"
    measured = answer["measured"]
    assert set(measured["phases"]) == {"init", "forward", "backward", "step"}
    assert measured["allocated_peak_bytes"] == max(measured["phases"].values())
    assert [measured[key] for key in ("reserved_peak_bytes", "device_peak_bytes", "host_per_rank_bytes")] == [None] * 3
    # 1 / 1.02 - 1 = -0.0196
    assert answer["error"]["allocated_peak"] == pytest.approx(-0.0196, abs=1e-4)
    assert answer["error"]["steady"] == 0
    assert answer["environment"] == {"torch": "2.13.0"}
    for phase, rows in answer["terms"].items():
        assert sum(row["measured_bytes"] for row in rows) == measured["phases"][phase]


def test_a_case_line_is_one_line_that_the_benchmark_reads(
    requests: list[Request], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["verify", *PLAN, "--case-line"]) == 0
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    line = json.loads(out)
    assert line["case"]["world"] == 8
    assert line["case"]["model"]["model_type"] == "llama"
    assert {"init", "forward", "backward", "step", "steady", "peak", "host"} <= set(line["result"])


@pytest.mark.parametrize("width", [60, 80, 200])
def test_text_fits_and_cuts_nothing_off(
    requests: list[Request], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    assert run(["verify", *PLAN]) == 0
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= width
    assert "…" not in out
    assert "-1.96 %" in out
    assert "unexplained" in out
    assert "A sentence about what was not seen." in " ".join(out.split())


@pytest.mark.parametrize(("tolerance", "code"), [("1%", 4), ("0.0195", 4), ("2%", 0), ("100%", 0)])
def test_tolerance_decides_the_exit_code(requests: list[Request], tolerance: str, code: int) -> None:
    assert run(["verify", *PLAN, "--tolerance", tolerance, "--json"]) == code


@pytest.mark.parametrize(("text", "share"), [("5%", 0.05), ("0.05", 0.05), (" 1.5% ", 0.015), ("0", 0.0)])
def test_tolerances(text: str, share: float) -> None:
    assert parse_tolerance(text) == pytest.approx(share)


@pytest.mark.parametrize("text", ["5", "101%", "-1%", "nan", "five", "", "%"])
def test_tolerances_that_are_none(text: str) -> None:
    with pytest.raises(ZplanError):
        parse_tolerance(text)


# -- which plan --------------------------------------------------------------------------------------------------------


def test_goes_on_from_the_last_estimate(requests: list[Request], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["estimate", "--params", "7B", "--gpus", "8", "--gpu-mem", "80"]) == 0
    capsys.readouterr()
    assert run(["verify"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("Plan: the last estimate")
    text = " ".join(out.split())
    # The count runs the nearest published shape, with its own parameters; of all stages the mildest that fits.
    assert "6.74B parameters" in text
    assert "is that shape with its own 6738415616 parameters" in text
    assert "stage 1, the mildest that is predicted to fit (--stage)" in text
    assert requests[0].case["stage"] == 1
    assert requests[0].launch == "dryrun"


def test_the_last_estimate_under_torchrun_is_refused_with_numbers(
    requests: list[Request], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["estimate", "--params", "7B", "--gpus", "8", "--gpu-mem", "80"]) == 0
    capsys.readouterr()
    assert run(["verify", "--launch", "torchrun"]) == ExitCode.DOES_NOT_FIT
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: not launched: the plan is predicted to need 8 x ")
    assert "24 GiB is available" in err
    assert "--launch dryrun" in err
    assert "--force" in err
    assert not requests
    assert run(["verify", "--launch", "torchrun", "--force", "--json"]) == 0
    assert requests[0].launch == "torchrun"


def test_a_plan_without_a_formula_still_runs(
    requests: list[Request], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    real = verb.price

    def none(*args: Any, **kwargs: Any) -> Any:
        raise ZplanError("there is no formula for this", "measure it")

    monkeypatch.setattr(verb, "price", none)
    monkeypatch.setattr("zplan.cli.estimate.price", real)
    assert run(["verify", *PLAN, "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["predicted"] is None
    assert set(answer["error"].values()) == {None}
    assert "nothing is predicted: there is no formula for this" in answer["assumptions"]


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["--launch", "dry"], "unknown launch 'dry'"),
        (["--rdzv-id", "1"], "--rdzv-id is torchrun's"),
        (["--launch", "torchrun", "--nodes", "2"], "2 nodes have to meet somewhere"),
        (["--timeout", "0"], "--timeout must be at least 1"),
        (["--max-memory-gib", "-1"], "--max-memory-gib"),
        (["--save", "no/such/folder.json"], "the folder of"),
        (["--save", os.devnull, "--force"], "is not a regular file"),
        (["--launch", "single", "--compile"], "cannot run compiled models"),
        (["--rank", "8"], "--rank 8 does not exist among 8 GPUs"),
        (["--gpus", "6", "--nodes", "4"], ""),
    ],
)
def test_bad_input_is_two_lines(
    requests: list[Request], capsys: pytest.CaptureFixture[str], arguments: list[str], error: str
) -> None:
    plan = PLAN if "--gpus" not in arguments else (*PLAN[:2], *PLAN[4:])
    assert run(["verify", *plan, *arguments]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ")
    assert error in err
    assert err.count("\n") == 2
    assert not requests


def test_offload_on_a_cpu_is_for_the_dry_run(requests: list[Request], capsys: pytest.CaptureFixture[str]) -> None:
    words = ["verify", "--model", "llama-3.2-1b", "--stage", "2", "--offload", "optimizer"]
    assert run([*words, "--launch", "single"]) == ExitCode.USAGE
    assert "--launch dryrun" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("absent", "engine", "hint"),
    [
        ("torch", "fsdp2", "pip install 'zplan[verify]'"),
        ("transformers", "ddp", "pip install 'zplan[verify]'"),
        ("deepspeed", "deepspeed", "pip install 'zplan[deepspeed]'"),
    ],
)
def test_what_is_missing_is_named_with_how_to_install_it(
    absent: str, engine: str, hint: str, requests: list[Request], capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(launcher, "find_spec", lambda name: None if name == absent else object())
    assert run(["verify", "--model", "llama-3.2-1b", "--engine", engine]) == ExitCode.MISSING
    assert capsys.readouterr().err == f"error: zplan verify needs {absent}\nhint: {hint}\n"


def test_torch_is_not_imported_to_refuse() -> None:
    code = (
        "import sys; from zplan.cli.app import run; "
        "code = run(['verify', '--params', '70B', '--gpus', '8', '--launch', 'torchrun']); "
        "sys.exit(100 if 'torch' in sys.modules else code)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode in (ExitCode.DOES_NOT_FIT, ExitCode.MISSING)


# -- saving ------------------------------------------------------------------------------------------------------------


def test_a_saved_measurement_is_shown_beside_a_new_prediction(
    requests: list[Request], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "measured.json"
    assert run(["verify", *PLAN, "--save", str(file)]) == 0
    capsys.readouterr()
    assert run(["estimate", *PLAN, "--measured", str(file), "--json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["error"]["allocated_peak"] == pytest.approx(-0.0196, abs=1e-4)
    assert answer["differs"] == []
    assert answer["plans"][0]["stage"] == 3
    longer = [*PLAN[:-1], "1024"]
    assert run(["estimate", *longer, "--measured", str(file), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["differs"] == ["seq_len 512, not 1024"]
    assert run(["estimate", *PLAN, "--measured", str(file)]) == 0
    assert "the measurement is" in capsys.readouterr().out


def test_nothing_is_overwritten_unless_forced(
    requests: list[Request], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "measured.json"
    file.write_text("mine")
    assert run(["verify", *PLAN, "--save", str(file)]) == ExitCode.USAGE
    assert not requests
    assert file.read_text() == "mine"
    assert run(["verify", *PLAN, "--save", str(file), "--force"]) == 0
    assert Measurement.from_json(file.read_text()).launch == "dryrun"


def test_a_full_disk_leaves_no_half_file(
    requests: list[Request], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*args: Any) -> None:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(os, "fsync", full)
    before = set(tmp_path.iterdir())
    assert run(["verify", *PLAN, "--save", "measured.json"]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert "No space left on device" in err
    # The measurement is not lost with the file: it has been shown.
    assert "measured" in out
    assert {path for path in tmp_path.iterdir() if path.is_file()} <= before


@pytest.mark.parametrize("name", [item.name for item in fields(Measurement) if item.name != "case"])
@pytest.mark.parametrize("junk", ["x", [1], {"a": None}, 1.5, True], ids=repr)
def test_a_measurement_with_a_field_that_was_not_saved_is_refused(
    requests: list[Request], tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, junk: Any
) -> None:
    if (name, junk) in (("seconds", 1.5),):
        return
    assert run(["verify", *PLAN, "--save", "measured.json"]) == 0
    capsys.readouterr()
    saved = json.loads((tmp_path / "measured.json").read_text(encoding="utf-8"))
    (tmp_path / "other.json").write_text(json.dumps(saved | {name: junk}), encoding="utf-8")
    code = run(["estimate", *PLAN, "--measured", "other.json"])
    out, err = capsys.readouterr()
    assert (code, out, err.count("\n")) == (ExitCode.USAGE, "", 2)


@pytest.mark.parametrize("content", ["", "{}", "[1]", "\x00", '{"launch": 1}'])
def test_other_files_are_no_measurements(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str) -> None:
    (tmp_path / "other.json").write_text(content)
    assert run(["estimate", *PLAN, "--measured", "other.json"]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 2)


# -- where and how -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("gpus", "world", "nodes", "in_a_job", "launch"),
    [
        (0, 8, 1, False, "dryrun"),
        (0, 8, 1, True, "torchrun"),
        (1, 1, 1, False, "single"),
        (1, 8, 1, False, "single"),
        (8, 8, 1, False, "torchrun"),
        (8, 64, 8, False, "single"),
        (8, 1, 1, False, "single"),
    ],
)
def test_the_launch_that_nobody_named(gpus: int, world: int, nodes: int, in_a_job: bool, launch: str) -> None:
    assert default_launch(gpus_here=gpus, world=world, nodes=nodes, in_a_job=in_a_job) == launch


TORCHRUN = {"RANK": "1", "WORLD_SIZE": "4", "LOCAL_RANK": "1", "MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "1234"}
SRUN = {
    **{"SLURM_PROCID": "9", "SLURM_STEP_NUM_TASKS": "16", "SLURM_LOCALID": "1", "SLURM_NTASKS": "16"},
    "SLURM_JOB_NODELIST": "gpu[017-019,030]",
}
MPIRUN = {
    **{"OMPI_COMM_WORLD_RANK": "0", "OMPI_COMM_WORLD_SIZE": "2", "OMPI_COMM_WORLD_LOCAL_RANK": "0"},
    "OMPI_COMM_WORLD_LOCAL_SIZE": "2",
}


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, None),
        (TORCHRUN, ("torchrun", 1, 4, 1, "10.0.0.1", 1234)),
        (SRUN, ("srun", 9, 16, 1, "gpu017", 29500)),
        (MPIRUN, ("mpirun", 0, 2, 0, "127.0.0.1", 29500)),
        # A batch script has a rank, but is no step of several tasks.
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "16"}, None),
        ({**SRUN, "SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}, None),
    ],
)
def test_jobs_of_other_launchers(environ: dict[str, str], expected: tuple[Any, ...] | None) -> None:
    world = existing_world(environ)
    found = world and (
        *(world.launcher, world.rank, world.size, world.local_rank, world.master_addr, world.master_port),
    )
    assert found == expected


@pytest.mark.parametrize(
    "environ",
    [
        {**TORCHRUN, "RANK": "4"},
        {**TORCHRUN, "WORLD_SIZE": "four"},
        {**MPIRUN, "OMPI_COMM_WORLD_LOCAL_SIZE": "1"},
        {**TORCHRUN, "MASTER_PORT": "http"},
    ],
)
def test_jobs_that_contradict_themselves(environ: dict[str, str]) -> None:
    with pytest.raises(ZplanError):
        existing_world(environ)


@pytest.mark.parametrize(
    ("nodes", "host"), [("gpu[017-019,030]", "gpu017"), ("a,b", "a"), ("node1", "node1"), ("x-[1-3],y", "x-1")]
)
def test_first_hosts(nodes: str, host: str) -> None:
    assert first_host(nodes) == host


def test_a_world_that_contradicts_the_plan(
    requests: list[Request], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    assert run(["verify", *PLAN]) == ExitCode.USAGE
    assert capsys.readouterr().err.startswith("error: torchrun started 4 processes, but the plan has 8 GPUs\n")


def test_what_torchrun_is_given() -> None:
    case = {"world": 16, "engine": "ddp"}
    several = Request(launch="torchrun", case=case, nodes=2, rendezvous={"rdzv-endpoint": "a:1", "rdzv-id": "7"})
    words = command(several, Path("folder"))
    assert words[1:5] == ["-m", "torch.distributed.run", "--nnodes=2", "--nproc-per-node=8"]
    assert words[5:8] == ["--rdzv-endpoint=a:1", "--rdzv-id=7", "--rdzv-backend=c10d"]
    assert words[8:] == ["-m", "zplan.verify.probe", "folder"]
    static = command(replace(several, rendezvous={"master-addr": "a", "node-rank": "1"}), Path("folder"))
    assert static[5:7] == ["--master-addr=a", "--node-rank=1"]
    assert "--standalone" in command(replace(several, nodes=1, rendezvous={}), Path("folder"))
    assert command(replace(several, launch="single"), Path("folder"))[1:3] == ["-m", "zplan.verify.probe"]


def test_with_gpus_the_cards_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    cards = tuple(MachineGpu(index=i, name="A100", memory_bytes=40 * GIB) for i in range(2))
    monkeypatch.setattr(machine, "read_machine", lambda: machine.Machine(gpus=cards, ram_available_bytes=999 * GIB))
    words = {"model": "llama-3.1-8b", "engine": "fsdp2", "stage": "3"}
    plan, estimate, _ = choose(PlanOptions(**words, gpus="2"))
    request, room = read_launch(plan, LaunchOptions())
    assert (request.launch, request.device, room.gpus, room.card_bytes) == ("torchrun", "cuda", 2, 40 * GIB)
    with pytest.raises(ZplanError, match="the card here has 40 GiB") as caught:
        check_room(estimate, request, room)
    assert caught.value.exit_code is ExitCode.DOES_NOT_FIT
    plan, estimate, _ = choose(PlanOptions(**words, gpus="8"))
    request, room = read_launch(plan, LaunchOptions())
    assert request.launch == "single"
    check_room(estimate, request, room)
    with pytest.raises(ZplanError, match="8 processes need 8 GPUs") as caught:
        check_room(estimate, replace(request, launch="torchrun"), room)
    assert caught.value.exit_code is ExitCode.MISSING
    with pytest.raises(ZplanError, match="to build the model in"):
        check_room(estimate, request, replace(room, ram_bytes=GIB), build_bytes=32 * GIB)


def test_a_bound_on_memory_is_checked_before() -> None:
    plan, estimate, _ = choose(PlanOptions(model="llama-3.2-1b", engine="fsdp2", gpus="2", stage="3"))
    request, _ = read_launch(plan, LaunchOptions(launch="single", max_memory_gib="2"))
    with pytest.raises(ZplanError, match="--max-memory-gib allows 2 GiB"):
        check_room(estimate, request, Room(ram_bytes=999 * GIB))


# -- faults ------------------------------------------------------------------------------------------------------------

SUMMARY = """
Root Cause (first observed failure):
[0]:
  time      : 2025-01-01_00:00:00
  host      : here
  rank      : 3 (local_rank: 3)
  exitcode  : -9 (pid: 1234)
  error_file: <N/A>
  traceback : Signal 9 (SIGKILL) received by PID 1234
"""
STATUSES = {
    rank: RankStatus(rank=rank, pid=100 + rank, phase=phase, share=share)
    for rank, (phase, share) in enumerate([("backward", 0.5), ("forward", 0.3), ("backward", 0.5), ("step", 0.6)])
}
ERROR = {"error": "the engine broke", "hint": "mend it", "exit_code": 2, "phase": "forward"}


def _died(**given: Any) -> ZplanError:
    words: dict[str, Any] = {"returncode": 1, "statuses": STATUSES, "errors": {}, "log": "", "first": None, **given}
    return died(**words)


def test_a_rank_that_dies_is_named_with_its_phase() -> None:
    assert _died(log=SUMMARY).message == "rank 3 was killed by SIGKILL in step"
    # Its peers' errors in the next collective are consequences.
    assert _died(log=SUMMARY, errors={0: ERROR}).message == "rank 3 was killed by SIGKILL in step"
    assert _died(first=1, returncode=-11).message == "rank 1 was killed by SIGSEGV in forward"
    assert _died(returncode=-9, statuses={}).message == "the process was killed by SIGKILL without a result"


def test_a_rank_that_says_why_is_quoted() -> None:
    error = _died(errors={1: ERROR})
    assert (error.message, error.hint) == ("the engine broke (rank 1, in forward)", "mend it")
    assert error.exit_code is ExitCode.USAGE


@pytest.mark.parametrize(
    ("log", "message"),
    [
        ("OSError: [Errno 28] No space left on device", "no space left on the disk or in /dev/shm"),
        ("unable to open shared memory object </dev/shm/nccl-x>", "no room in /dev/shm"),
        ("The server socket has failed to bind (errno: 98 - Address already in use). EADDRINUSE", "the port is in use"),
        ("RendezvousTimeoutError", "not all nodes came to the rendezvous"),
    ],
)
def test_signs_in_the_log(log: str, message: str) -> None:
    assert _died(log=log).message == message


def test_the_rank_that_is_furthest_behind_is_said_to_hang() -> None:
    message = hung(STATUSES, 30, "--launch torchrun").message
    assert (
        message == "--launch torchrun did not end within 30 s: rank 1 was in forward, the others in backward and step"
    )
    assert "no process came" in hung({}, 30, "it").message
