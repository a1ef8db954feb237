"""``zplan check`` as typed: the numbers of the plan, findings, files written, exit codes."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

from zplan.cli.app import run

MODEL = ("--model", "llama-3.1-8b", "--gpus", "8", "--gpu", "a100-80g")
GOOD = {
    "train_micro_batch_size_per_gpu": 1,
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW"},
    "zero_optimization": {"stage": 3, "reduce_bucket_size": 16_777_216},
}
BAD = """\
{
  // twice the bucket
  "train_micro_batch_size_per_gpu": 1,
  "bf16": {"enabled": true},
  "optimizer": {"type": "AdamW"},
  "zero_optimization": {"stage": 2, "overlap_comm": true, "contigous_gradients": true, "reduce_bucket_size": 1e9},
}
"""


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def write(value, name="ds.json"):
    Path(name).write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return name


def answer(capsys, *args):
    assert run([*args, "--json"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return json.loads(out)


def failure(capsys, *args):
    code = run(list(args))
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("error: ") and "\nhint: " in err
    assert err.count("\n") == 2
    return code, err


def test_it_prices_what_the_file_says(capsys):
    found = answer(capsys, "check", write(GOOD), *MODEL)
    typed = answer(capsys, "estimate", *MODEL, "--stage", "3", "--ds-config", "ds.json")
    assert found["plans"] == typed["plans"]
    assert (found["kind"], found["file"], found["findings"], found["fixed"]) == ("deepspeed", "ds.json", [], None)
    assert {"schema_version", "model", "cluster", "assumptions"} <= set(found)


@pytest.mark.parametrize(
    "flags",
    [
        ("--stage", "2", "--micro-batch", "2", "--grad-accum", "4"),
        ("--stage", "3", "--offload", "all", "--host-mem", "1TB"),
        ("--stage", "1", "--precision", "fp16"),
        ("--stage", "3", "--offload", "optimizer", "--hpz", "4", "--checkpointing", "full"),
    ],
)
@pytest.mark.parametrize("fmt", ["deepspeed", "trainer", "accelerate"])
def test_a_written_config_has_the_plans_numbers(flags, fmt, capsys):
    from zplan.cli.options import PlanOptions
    from zplan.cli.plan import build_plans
    from zplan.export.config import write_config

    options = {flag.lstrip("-").replace("-", "_"): word for flag, word in zip(flags[::2], flags[1::2], strict=True)}
    (plan,) = build_plans(PlanOptions(model="llama-3.1-8b", gpus="8", gpu="a100-80g", **options)).plans
    name = write(write_config(plan, fmt), "config.yaml" if fmt == "accelerate" else "config.json")
    write(write_config(plan, "deepspeed"), "ds_config.json")
    outside = ["--host-mem", "1TB"] if "--host-mem" in flags else []
    outside += ["--checkpointing", "full"] if "--checkpointing" in flags else []
    if fmt == "accelerate":
        outside += ["--micro-batch", options.get("micro_batch", "1")]
    typed = answer(capsys, "estimate", *MODEL, *flags)["plans"]
    found = answer(capsys, "check", name, *MODEL, *outside)["plans"]
    for one in (*typed, *found):
        one["options"].pop("zero_init", None)
    assert found == typed


def test_findings_in_json(capsys):
    found = answer(capsys, "check", write(BAD), *MODEL)
    codes = {finding["code"]: finding for finding in found["findings"]}
    assert set(codes) == {"unknown-key", "comment", "trailing-comma", "large-bucket"}
    key = codes["unknown-key"]
    assert (key["severity"], key["line"], key["column"], key["fixable"]) == ("stops", 6, 59, True)
    assert key["key"] == "zero_optimization.contigous_gradients"
    assert isinstance(codes["large-bucket"]["cost_bytes"], int)
    assert found["counts"] == {"stops": 1, "costs": 3, "useless": 0, "note": 0}
    assert all(finding["what"] and finding["why"] and finding["fix"] for finding in found["findings"])


def test_text_names_each_finding_with_its_place(capsys):
    assert run(["check", write(BAD), *MODEL]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "1 stop the run, 3 cost memory or speed" in out
    assert "contigous_gradients is no key of zero_optimization line 6, column 59 [unknown-key]" in out
    assert "did you mean contiguous_gradients?" in out
    assert "3.73 GiB" in out


def test_a_good_file_is_said_to_be_good(capsys):
    assert run(["check", write(GOOD), *MODEL]) == 0
    assert "ds.json: nothing to correct" in capsys.readouterr().out


def test_flags_win_over_the_file(capsys):
    found = answer(capsys, "check", write(GOOD), *MODEL, "--micro-batch", "4", "--precision", "fp16")
    assert (found["plans"][0]["micro_batch"], found["plans"][0]["precision"]) == (4, "fp16")
    assert any("--micro-batch 4 overrides 1 in ds.json" in note for note in found["assumptions"])
    assert any("--precision fp16 overrides bf16 in ds.json" in note for note in found["assumptions"])


def test_a_format_that_the_card_lacks_is_priced_and_told(capsys):
    found = answer(capsys, "check", write(GOOD), *MODEL[:4], "--gpu", "v100-32g")
    assert found["plans"][0]["precision"] == "bf16"
    assert [finding["code"] for finding in found["findings"]] == ["no-bf16"]


def test_fix_writes_a_corrected_copy(capsys):
    found = answer(capsys, "check", write(BAD), *MODEL, "--fix")
    assert found["fixed"] == "ds.fixed.json"
    fixed = json.loads(Path("ds.fixed.json").read_text())
    assert fixed["zero_optimization"] == {
        "stage": 2,
        "overlap_comm": True,
        "contiguous_gradients": True,
        "reduce_bucket_size": 4096 * 4096,
    }
    assert Path("ds.json").read_text() == BAD, "the file itself is left alone"
    assert answer(capsys, "check", "ds.fixed.json", *MODEL)["findings"] == []


def test_fix_goes_on_where_a_move_leads_to_more(capsys):
    """A stage-3 key beside its section is moved into it, where it does nothing at stage 1; a default value is no excuse."""
    text = '{"stage3_prefetch_bucket_size": 5e7, "zero_optimization": {"stage": 1}, "bf16": {"enabled": true}}'
    answer(capsys, "check", write(text), *MODEL, "--fix")
    assert json.loads(Path("ds.fixed.json").read_text())["zero_optimization"] == {"stage": 1}
    assert answer(capsys, "check", "ds.fixed.json", *MODEL)["findings"] == []


def test_fix_never_overwrites_without_force(capsys):
    write(BAD)
    Path("ds.fixed.json").write_text("mine")
    code, err = failure(capsys, "check", "ds.json", *MODEL, "--fix")
    assert code == 2 and "--force" in err
    assert Path("ds.fixed.json").read_text() == "mine"
    assert run(["check", "ds.json", *MODEL, "--fix", "--force"]) == 0
    assert "Written: ds.fixed.json" in capsys.readouterr().out
    assert json.loads(Path("ds.fixed.json").read_text())["zero_optimization"]["stage"] == 2


def test_fix_can_name_its_file(capsys):
    assert run(["check", write(BAD), *MODEL, "--fix", "--output", "new.json"]) == 0
    assert Path("new.json").exists()
    assert not Path("ds.fixed.json").exists()


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--fix", "--output", "no/such/folder.json"), "does not exist"),
        (("--fix", "--output", "."), "is a folder"),
        (("--fix", "--output", "ds.json"), "exists"),
        (("--output", "new.json"), "belongs to --fix"),
        (("--force",), "belongs to --fix"),
        (("--stage", "all"), "one"),
        (("--engine", "fsdp2"), "configures DeepSpeed"),
        (("--fail-if-oom", "--gpu", ""), "empty"),
        (("--unit", "MB"), "unit"),
        (("--offload", "nothing"), "offload"),
    ],
)
def test_bad_flags(args, says, capsys):
    code, err = failure(capsys, "check", write(BAD), *MODEL, *args)
    assert code == 2
    assert says in err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "empty"),
        ("{", "line 1"),
        ('{"a": NaN}', "line 1, column 7"),
        ('{"train_batch_size": 8, "train_batch_size": 9}', "twice"),
        ("[" * 200, "levels deep"),
        ('{"zero_optimization": {"stage": "three"}}', "not a whole number"),
        ('{"zero_optimization": {"stage": 9}}', "stages 0 to 3"),
        ('{"train_batch_size": true}', "not a whole number"),
        ('"just a string"', "not a JSON object"),
    ],
)
def test_bad_files(content, says, capsys):
    code, err = failure(capsys, "check", write(content), *MODEL)
    assert code == 2
    assert says in err


def test_files_that_are_none(capsys, tmp_path):
    for name, says in (
        ("none.json", "no such file"),
        (".", "folder"),
        ("\0", "cannot be read"),
        ("x" * 5000, "cannot be read"),
    ):
        code, err = failure(capsys, "check", name, *MODEL)
        assert code == 2 and says in err
    with open("huge.json", "wb") as file:  # noqa: PTH123
        file.truncate(10**9)
    os.mkfifo("pipe.json")
    start = time.process_time()
    assert "too large" in failure(capsys, "check", "huge.json", *MODEL)[1]
    assert "not a regular file" in failure(capsys, "check", "pipe.json", *MODEL)[1]
    assert time.process_time() - start < 1, "neither is read"


def test_a_file_and_a_model_are_needed(capsys):
    assert "no file" in failure(capsys, "check")[1]
    assert "no model" in failure(capsys, "check", write(GOOD))[1]


def test_exit_codes(capsys):
    assert run(["check", write(GOOD), *MODEL[:4], "--gpu-mem", "8", "--fail-if-oom"]) == 3
    assert run(["check", write(GOOD), *MODEL, "--fail-if-oom"]) == 0
    capsys.readouterr()
    assert failure(capsys, "check", write(GOOD), *MODEL[:4], "--fail-if-oom")[0] == 2


def test_other_kinds(capsys):
    accelerate = (
        "distributed_type: FSDP\nnum_processes: 8\n"
        "mixed_precison: bf16\nfsdp_config: {fsdp_version: 2}\nmixed_precision: bf16\n"
    )
    found = answer(
        capsys,
        "check",
        write(accelerate, "a.yaml"),
        "--model",
        "llama-3.1-8b",
        "--gpu",
        "a100-80g",
        "--loss",
        "standard",
    )
    assert found["kind"] == "accelerate"
    assert found["plans"][0]["engine"] == "fsdp2"
    assert [(f["code"], f["key"], f["severity"]) for f in found["findings"]] == [
        ("unknown-key", "mixed_precison", "stops")
    ]
    assert "did you mean mixed_precision" in found["findings"][0]["fix"]
    trainer = {
        "output_dir": "x",
        "bf16": True,
        "per_device_train_batch_size": 2,
        "deepspeed": GOOD,
        "num_train_epochs": 3,
    }
    found = answer(capsys, "check", write(trainer, "args.json"), *MODEL)
    assert (found["kind"], found["ignored"]) == ("trainer", ["output_dir", "num_train_epochs"])
    assert [finding["code"] for finding in found["findings"]] == ["trainer-mismatch"]
    code, err = failure(capsys, "check", "args.json", *MODEL, "--fix")
    assert code == 2 and "another kind" in err


def test_places_inside_an_embedded_config(capsys):
    text = (
        '{"output_dir": "x", "bf16": true,\n "deepspeed": {"bf16": {"enabled": "auto"},\n'
        '  "zero_optimization": {"stage": 2, "stag": 3}}}'
    )
    found = answer(capsys, "check", write(text, "args.json"), *MODEL)
    (finding,) = [finding for finding in found["findings"] if finding["code"] == "unknown-key"]
    assert (finding["line"], finding["key"]) == (3, "zero_optimization.stag")


def test_narrow_and_plain_output():
    write(BAD)
    environment = {**os.environ, "COLUMNS": "60", "NO_COLOR": "1", "PYTHONIOENCODING": "ascii"}
    command = [sys.executable, "-m", "zplan", "check", "ds.json", *MODEL]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=60)
    assert done.returncode == 0, done.stderr
    assert done.stdout.isascii()
    assert max(map(len, done.stdout.splitlines())) <= 60


def test_checking_imports_no_engine():
    write(GOOD)
    code = (
        "import sys; from zplan.cli.app import run; run(sys.argv[1:]); "
        "sys.exit(' '.join({'torch', 'deepspeed', 'transformers', 'accelerate', 'pydantic'} & set(sys.modules)) or 0)"
    )
    command = [sys.executable, "-c", code, "check", "ds.json", *MODEL]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("name", ["many.json", "many.yaml"])
def test_a_file_with_more_keys_than_anybody_writes_is_refused_at_once(name, capsys):
    """Each unknown key is looked up among the known ones: 200,000 of them would take minutes."""
    keys = {"zero_optimization": {"stage": 2}, **{f"k{i}": i for i in range(20_000)}}
    text = json.dumps(keys) if name.endswith("json") else "".join(f"k{i}: {i}\n" for i in range(20_000))
    start = time.monotonic()
    code, err = failure(capsys, "check", write(text, name), *MODEL)
    assert code == 2 and "keys, which is too many for a config" in err
    assert time.monotonic() - start < 10


def test_a_key_of_a_million_characters_is_not_repeated(capsys):
    code, err = failure(capsys, "check", write({"zero_optimization": {"stage": 2}, "k" * 1_000_000: 1}), *MODEL)
    assert code == 2 and len(err) < 400 and "1,000,000 characters" in err


def test_a_yaml_is_known_by_its_first_line_where_its_name_tells_nothing(capsys):
    text = (
        "# as accelerate writes it\ncompute_environment: LOCAL_MACHINE\ndistributed_type: MULTI_GPU\nnum_processes: 8\n"
    )
    assert answer(capsys, "check", write(text, "launch.cfg"), *MODEL)["kind"] == "accelerate"
    assert answer(capsys, "check", write(GOOD, "ds.cfg"), *MODEL)["kind"] == "deepspeed"


def test_the_fsdp_part_alone_leaves_the_rest_to_the_options(capsys):
    part = {"fsdp": True, "fsdp_config": {"version": 2, "reshard_after_forward": True}}
    found = answer(capsys, "check", write(part), *MODEL)["plans"][0]
    assert (found["engine"], found["precision"], found["micro_batch"], found["optimizer"]) == (
        "fsdp2",
        "bf16",
        1,
        "adamw",
    )
    whole = answer(capsys, "check", write({**part, "output_dir": "out"}, "args.json"), *MODEL)["plans"][0]
    # TrainingArguments have defaults of their own: fp32 unless bf16 or fp16 is on, 8 sequences per device.
    assert (whole["precision"], whole["micro_batch"]) == ("fp32", 8)
