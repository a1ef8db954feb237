"""Configs out: each is loaded by the library that it is for, and read back as the plan that it was written from."""

import json
import os
import socket
import stat
import subprocess
import sys
import threading
from dataclasses import replace

import pytest
import yaml
from handmade import MODEL as TINY
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.errors import ZplanError
from zplan.export.config import FORMATS, default_format, explain_config, write_config
from zplan.export.deepspeed import _BUILT, effective
from zplan.export.files import save_text
from zplan.export.trainer import OPTIM_NAMES
from zplan.inputs.accelerate import read_accelerate
from zplan.inputs.configfile import read_config_file
from zplan.inputs.deepspeed import apply_ds_config, parse_ds_config
from zplan.inputs.yamltext import parse_yaml_text
from zplan.memory.optimizers import OPTIMIZERS
from zplan.spec import (
    Checkpointing,
    ClusterSpec,
    DeepSpeedOptions,
    Engine,
    Job,
    Lora,
    Loss,
    Offload,
    OffloadTo,
    Plan,
    Precision,
)

MODEL = replace(TINY, hidden_size=4096)


def plan_of(job, gpus=8, nodes=1):
    return Plan(model=MODEL, cluster=ClusterSpec(gpus=gpus, nodes=nodes), job=job)


sizes = st.integers(1, 2_000_000_000)
options = st.builds(
    DeepSpeedOptions,
    reduce_bucket_size=sizes,
    allgather_bucket_size=sizes,
    overlap_comm=st.sampled_from([None, True, False]),
    contiguous_gradients=st.booleans(),
    round_robin_gradients=st.booleans(),
    sub_group_size=sizes,
    prefetch_bucket_size=sizes,
    param_persistence_threshold=sizes,
    max_live_parameters=sizes,
    max_reuse_distance=sizes,
    memory_efficient_linear=st.booleans(),
    gather_16bit_weights_on_model_save=st.booleans(),
    grad_accum_dtype=st.sampled_from([None, "fp32"]),
    communication_dtype=st.sampled_from([None, "fp32"]),
    gradient_clipping=st.sampled_from([0.0, 0.5, 1.0]),
    offload_ratio=st.sampled_from([1.0, 0.5, 0.25]),
    pin_memory=st.booleans(),
    quantized_weights=st.booleans(),
    quantized_gradients=st.booleans(),
    nvme_buffer_count=st.integers(1, 8),
    nvme_param_buffer_count=st.integers(1, 8),
    nvme_param_buffer_size=sizes,
    nvme_max_in_cpu=sizes,
)


@st.composite
def deepspeed_jobs(draw):
    """Any job that the DeepSpeed engine can run."""
    stage = draw(st.integers(0, 3))
    offload = draw(
        st.sampled_from([o for o in Offload if stage == 3 or (stage and o is not Offload.ALL)] or [Offload.NONE])
    )
    nvme = stage == 3 and offload is not Offload.NONE and draw(st.booleans())
    precision = draw(st.sampled_from([p for p in Precision if stage or p is not Precision.BF16_PURE]))
    job = Job(
        engine=Engine.DEEPSPEED,
        stage=stage,
        offload=offload,
        offload_to=OffloadTo.NVME if nvme else OffloadTo.CPU,
        precision=precision,
        optimizer=draw(st.sampled_from(sorted(_BUILT))),
        micro_batch=draw(st.integers(1, 64)),
        grad_accum=draw(st.integers(1, 64)),
        seq_len=draw(st.integers(1, 8192)),
        hpz=draw(st.sampled_from([1, 2, 8])) if stage == 3 else 1,
        deepspeed=draw(options),
    )
    if precision is Precision.FP32:  # the model's own dtype is written as no key
        job = replace(job, deepspeed=replace(job.deepspeed, grad_accum_dtype=None, communication_dtype=None))
    return job


@settings(max_examples=300, deadline=None)
@given(job=deepspeed_jobs(), gpus=st.sampled_from([8, 16, 64]))
def test_a_written_ds_config_reads_back_as_its_job(job, gpus):
    plan = plan_of(job, gpus=gpus)
    text = write_config(plan, "deepspeed")
    base = Job(seq_len=job.seq_len)  # what a ds_config.json cannot say comes from the command line
    found, _ = apply_ds_config(parse_ds_config(text, name="ds.json"), model=MODEL, gpus=gpus, base=base)
    assert found == effective(job)


@settings(max_examples=60, deadline=None)
@given(job=deepspeed_jobs())
def test_auto_reads_back_as_its_job_from_the_same_command_line(job):
    text = write_config(plan_of(job), "deepspeed", auto=True)
    found, _ = apply_ds_config(parse_ds_config(text, name="ds.json"), model=MODEL, gpus=8, base=job)
    clipped = replace(found, deepspeed=replace(found.deepspeed, gradient_clipping=job.deepspeed.gradient_clipping))
    assert clipped == effective(job)


class _Ranks:
    """What ``DeepSpeedConfig`` asks of ``deepspeed.comm``."""

    def __init__(self, gpus):
        self.gpus = gpus

    def get_rank(self):
        return 0

    def get_world_size(self, group=None):
        return self.gpus


@settings(max_examples=60, deadline=None)
@given(job=deepspeed_jobs())
def test_deepspeed_accepts_every_written_config(job):
    import deepspeed.runtime.config as theirs

    parsed = json.loads(write_config(plan_of(job), "deepspeed"))
    real, theirs.dist = theirs.dist, _Ranks(8)
    try:
        config = theirs.DeepSpeedConfig(parsed)
    finally:
        theirs.dist = real
    assert int(config.zero_optimization_stage) == job.stage
    assert config.train_micro_batch_size_per_gpu == job.micro_batch
    assert config.gradient_accumulation_steps == job.grad_accum
    zero = config.zero_config
    if job.stage:
        assert zero.reduce_bucket_size == job.deepspeed.reduce_bucket_size
    if job.stage == 3:
        assert zero.prefetch_bucket_size == job.deepspeed.prefetch_bucket_size
        assert zero.param_persistence_threshold == job.deepspeed.param_persistence_threshold
    assert (zero.offload_optimizer is not None) == (job.offload is not Offload.NONE)


def test_a_config_is_minimal():
    """Nothing but what differs from DeepSpeed's defaults."""
    job = Job(stage=2, micro_batch=4, grad_accum=2, deepspeed=DeepSpeedOptions(gradient_clipping=1.0))
    assert json.loads(write_config(plan_of(job), "deepspeed")) == {
        "train_batch_size": 64,  # 4 x 2 x 8
        "train_micro_batch_size_per_gpu": 4,
        "gradient_accumulation_steps": 2,
        "bf16": {"enabled": True},
        "optimizer": {"type": "AdamW", "params": {"lr": 5e-05}},
        "gradient_clipping": 1.0,
        "zero_optimization": {"stage": 2},
    }


def test_whole_numbers_are_written_as_such_and_nothing_is_auto():
    job = Job(stage=3, deepspeed=DeepSpeedOptions(reduce_bucket_size=16_777_216, sub_group_size=10_000_000))
    text = write_config(plan_of(job), "deepspeed")
    assert '"reduce_bucket_size": 16777216' in text
    assert "auto" not in text
    assert "auto" in write_config(plan_of(job), "deepspeed", auto=True)


# --- accelerate ----------------------------------------------------------------------------------------------------


def _engines():
    plain = Job(seq_len=4096)
    yield plan_of(replace(plain, stage=2, deepspeed=DeepSpeedOptions(gradient_clipping=1.0)))
    yield plan_of(replace(plain, stage=3, offload=Offload.ALL), gpus=16, nodes=2)
    yield plan_of(replace(plain, stage=3, offload=Offload.ALL, offload_to=OffloadTo.NVME))
    yield plan_of(replace(plain, stage=3, zero_init=False, precision=Precision.FP16))
    yield plan_of(replace(plain, stage=3, deepspeed=DeepSpeedOptions(reduce_bucket_size=1000)))
    yield plan_of(replace(plain, engine=Engine.FSDP2, stage=3, checkpointing=Checkpointing(kind="full")))
    yield plan_of(replace(plain, engine=Engine.FSDP2, stage=2, offload=Offload.ALL))
    yield plan_of(replace(plain, engine=Engine.FSDP1, stage=2))
    yield plan_of(replace(plain, engine=Engine.FSDP1, stage=3, precision=Precision.FP32))
    yield plan_of(replace(plain, engine=Engine.DDP, compile=True))
    yield plan_of(replace(plain, engine=Engine.SINGLE), gpus=1)


@pytest.mark.parametrize(
    "plan", list(_engines()), ids=lambda p: f"{p.job.engine.value}-{p.job.stage}-{p.job.offload.value}"
)
@pytest.mark.parametrize("name", ["accelerate.yaml", "accelerate.json"])
def test_accelerate_loads_every_file(plan, name, tmp_path):
    from accelerate.commands.config.config_args import ClusterConfig, load_config_from_file

    path = tmp_path / name
    # It goes by the name: what is called .json has to be JSON.
    path.write_text(write_config(plan, "accelerate", as_json=name.endswith("json")), encoding="utf-8")
    if plan.job.engine is not Engine.DEEPSPEED:  # whose config file need not lie beside it
        assert read_config_file(path).kind == "accelerate"
    config = load_config_from_file(str(path))
    assert isinstance(config, ClusterConfig)
    assert config.num_processes == plan.cluster.gpus
    assert config.num_machines == plan.cluster.nodes


def test_accelerates_launcher_knows_every_key(tmp_path):
    """Keys of the sections become ``args.<key>``; a key that the launcher does not have would be lost."""
    from accelerate.commands.launch import launch_command_parser

    known = {action.dest for action in launch_command_parser()._actions}
    for plan in _engines():
        config = yaml.safe_load(write_config(plan, "accelerate"))
        for section in ("deepspeed_config", "fsdp_config"):
            assert set(config.get(section, {})) <= known, section


@pytest.mark.parametrize(
    "plan", list(_engines()), ids=lambda p: f"{p.job.engine.value}-{p.job.stage}-{p.job.offload.value}"
)
def test_an_accelerate_yaml_reads_back_as_its_job(plan, tmp_path):
    job = plan.job
    (tmp_path / "ds_config.json").write_text(
        write_config(plan, "deepspeed") if job.engine is Engine.DEEPSPEED else "{}"
    )
    text = parse_yaml_text(write_config(plan, "accelerate"), name="a.yaml", expected="a config")
    found = read_accelerate(text, folder=tmp_path)
    assert found.words["gpus"] == str(plan.cluster.gpus)
    assert not found.ignored
    if found.ds is not None:
        read, _ = apply_ds_config(found.ds, model=MODEL, gpus=plan.cluster.gpus, base=Job(seq_len=job.seq_len))
        assert replace(read, zero_init=job.zero_init) == effective(job)
        assert found.words["zero_init"] == ("on" if job.stage == 3 and job.zero_init is not False else "off")
        return
    assert found.words["engine"] == job.engine.value
    assert found.words["precision"] == job.precision.value
    if job.engine in (Engine.FSDP2, Engine.FSDP1):
        assert found.words["stage"] == str(job.stage)
        assert found.words.get("offload", "none") == job.offload.value
        assert found.words.get("checkpointing", "none") == str(job.checkpointing)


def test_the_real_plugin_reads_the_fsdp_section(monkeypatch):
    """``FSDP_*`` as ``accelerate launch`` sets them, read by the plugin itself."""
    from accelerate.utils import FullyShardedDataParallelPlugin

    for stage in (2, 3):
        plan = plan_of(Job(engine=Engine.FSDP2, stage=stage, checkpointing=Checkpointing(kind="full")))
        section = yaml.safe_load(write_config(plan, "accelerate"))["fsdp_config"]
        for key, value in section.items():
            name = "FSDP_" + key.removeprefix("fsdp_").upper()
            monkeypatch.setenv(name, str(value).lower() if isinstance(value, bool) else str(value))
        plugin = FullyShardedDataParallelPlugin()
        assert plugin.fsdp_version == 2
        assert plugin.reshard_after_forward is (stage == 3)
        assert plugin.activation_checkpointing is True


# --- TrainingArguments ---------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:`gradient_checkpointing` is deprecated:FutureWarning")
@pytest.mark.parametrize(
    "job",
    [
        Job(engine=Engine.FSDP2, stage=3, checkpointing=Checkpointing(kind="full")),
        Job(engine=Engine.FSDP2, stage=2, offload=Offload.ALL, micro_batch=4),
        Job(engine=Engine.DDP, checkpointing=Checkpointing(kind="full"), optimizer="adamw_8bit", grad_accum=4),
        Job(engine=Engine.SINGLE, optimizer="adafactor", precision=Precision.FP32),
        Job(engine=Engine.DDP, optimizer="paged_adamw", precision=Precision.FP16),
    ],
    ids=lambda job: f"{job.engine.value}-{job.optimizer}",
)
def test_training_arguments_load(job, tmp_path, monkeypatch):
    from transformers import HfArgumentParser, TrainingArguments

    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    plan = plan_of(job)
    path = tmp_path / "args.json"
    values = json.loads(write_config(plan, "trainer"))
    path.write_text(json.dumps(values | {"output_dir": str(tmp_path / "out"), "use_cpu": True, "fp16": False}))
    (args,) = HfArgumentParser(TrainingArguments).parse_json_file(str(path))
    assert args.per_device_train_batch_size == job.micro_batch
    assert args.gradient_accumulation_steps == job.grad_accum
    assert args.bf16 == (job.precision is Precision.BF16)
    if job.engine is Engine.FSDP2:
        assert args.fsdp_plugin_args["fsdp_version"] == 2
        assert args.fsdp_plugin_args["reshard_after_forward"] == (job.stage == 3)
    if job.engine is Engine.DDP:
        assert args.gradient_checkpointing == (job.checkpointing.kind == "full") or not args.gradient_checkpointing


def test_the_trainer_takes_the_deepspeed_section():
    """``trainer_config_process`` compares the section with the arguments beside it; a mismatch stops a run."""
    from types import SimpleNamespace

    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    for job in (
        Job(stage=2, micro_batch=2, grad_accum=4, deepspeed=DeepSpeedOptions(gradient_clipping=1.0)),
        Job(stage=3, precision=Precision.FP16, offload=Offload.ALL),
    ):
        for auto in (False, True):
            values = json.loads(write_config(plan_of(job), "trainer", auto=auto))
            theirs = HfTrainerDeepSpeedConfig(values["deepspeed"])
            defaults = {
                "world_size": 8,
                "adam_beta1": 0.9,
                "adam_beta2": 0.999,
                "adam_epsilon": 1e-8,
                "weight_decay": 0.0,
                "save_on_each_node": False,
                "fp16_full_eval": False,
                "bf16_full_eval": False,
            }
            args = SimpleNamespace(**defaults, **values, get_warmup_steps=lambda steps: 0)
            theirs.trainer_config_process(args)
            theirs.trainer_config_finalize(args, SimpleNamespace(config=SimpleNamespace(hidden_size=4096)), 10)
            assert theirs.mismatches == []
            assert "auto" not in json.dumps(theirs.config)


_LOAD = """
import json, sys
from transformers import HfArgumentParser, TrainingArguments
(args,) = HfArgumentParser(TrainingArguments).parse_json_file(sys.argv[1])
found = {"config": args.hf_deepspeed_config.config, "stage": args.deepspeed_plugin.zero_stage}
print("FOUND " + json.dumps(found, default=str))
"""


def test_training_arguments_load_with_their_deepspeed_section(tmp_path):
    """The whole of ``TrainingArguments``, in a process of its own since it starts a process group of one."""
    options = DeepSpeedOptions(gradient_clipping=1.0, reduce_bucket_size=1000)
    job = Job(stage=3, offload=Offload.ALL, micro_batch=2, grad_accum=4, deepspeed=options)
    values = json.loads(write_config(plan_of(job, gpus=1), "trainer"))
    path = tmp_path / "args.json"
    path.write_text(json.dumps(values | {"output_dir": str(tmp_path / "out"), "use_cpu": True, "ddp_backend": "gloo"}))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    one = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    environment = os.environ | one | {"DS_ACCELERATOR": "cpu", "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", _LOAD, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]
    (line,) = [line for line in done.stdout.splitlines() if line.startswith("FOUND ")]
    found = json.loads(line.removeprefix("FOUND "))
    assert found["stage"] == 3
    config = found["config"]
    assert (config["train_batch_size"], config["zero_optimization"]["reduce_bucket_size"]) == (8, 1000)


def test_optim_names_are_the_trainers():
    from transformers.training_args import OptimizerNames

    assert {name.value for name in OptimizerNames} >= OPTIM_NAMES


@pytest.mark.parametrize(
    "plan", list(_engines()), ids=lambda p: f"{p.job.engine.value}-{p.job.stage}-{p.job.offload.value}"
)
def test_training_arguments_read_back_as_their_job(plan, tmp_path):
    path = tmp_path / "args.json"
    path.write_text(write_config(plan, "trainer"))
    found = read_config_file(path)
    job = plan.job
    assert found.kind == "trainer"
    assert found.words["micro_batch"] == str(job.micro_batch)
    if job.engine is Engine.DEEPSPEED:
        read, _ = apply_ds_config(found.ds, model=MODEL, gpus=plan.cluster.gpus, base=Job(seq_len=job.seq_len))
        assert replace(read, zero_init=job.zero_init) == effective(job)
    else:
        assert found.words["engine"] == ("ddp" if job.engine is Engine.SINGLE else job.engine.value)
        assert found.words["precision"] == job.precision.value


# --- every format --------------------------------------------------------------------------------------------------


def test_formats_and_engines():
    for plan in _engines():
        assert default_format(plan) in FORMATS
        for fmt in FORMATS:
            wrong = (fmt == "deepspeed" and plan.job.engine is not Engine.DEEPSPEED) or (
                fmt == "fsdp" and plan.job.engine not in (Engine.FSDP2, Engine.FSDP1)
            )
            if wrong:
                with pytest.raises(ZplanError):
                    write_config(plan, fmt)
            else:
                assert write_config(plan, fmt).endswith("\n")
                assert all("\n" not in line for line in explain_config(plan, fmt))
    with pytest.raises(ZplanError, match="unknown format"):
        write_config(plan_of(Job()), "toml")


def test_every_optimizer_can_be_written():
    for name in OPTIMIZERS:
        for stage in (0, 2):
            text = write_config(plan_of(Job(stage=stage, optimizer=name)), "deepspeed")
            base = Job(optimizer=name)
            found, _ = apply_ds_config(parse_ds_config(text, name="x"), model=MODEL, gpus=8, base=base)
            assert found.optimizer == name


def test_what_a_config_cannot_say_is_told():
    job = Job(stage=3, checkpointing=Checkpointing(kind="full"), loss=Loss.CHUNKED, lora=Lora(rank=16))
    lines = "\n".join(explain_config(plan_of(job)))
    for word in (
        "4096" if job.seq_len == 4096 else "2048",
        "gradient_checkpointing_enable",
        "chunked",
        "LoRA",
        "zero.Init",
    ):
        assert word in lines


# --- writing -------------------------------------------------------------------------------------------------------


def test_a_file_is_written_whole_and_never_over_another(tmp_path):
    path = tmp_path / "ds_config.json"
    assert save_text(path, "one\n") == path
    with pytest.raises(ZplanError, match="exists") as error:
        save_text(path, "two\n")
    assert "--force" in error.value.hint
    assert path.read_text() == "one\n"
    save_text(path, "two\n", force=True)
    assert path.read_text() == "two\n"
    assert [p.name for p in tmp_path.iterdir()] == ["ds_config.json"], "no temporary file stays behind"


def test_places_that_cannot_be_written(tmp_path):
    for path, says in (
        (tmp_path, "folder"),
        (tmp_path / "no" / "x.json", "does not exist"),
        ("/dev/null", "regular"),
        ("\0", "cannot be written"),
    ):
        with pytest.raises(ZplanError, match=says):
            save_text(path, "x", force=True)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes everywhere")
def test_a_folder_without_permission(tmp_path):
    tmp_path.chmod(stat.S_IRUSR | stat.S_IXUSR)
    with pytest.raises(ZplanError, match="cannot be written"):
        save_text(tmp_path / "x.json", "x")


def test_a_link_is_followed(tmp_path):
    target, link = tmp_path / "real.json", tmp_path / "link.json"
    target.write_text("old")
    link.symlink_to(target)
    save_text(link, "new", force=True)
    assert target.read_text() == "new"
    assert link.is_symlink()


def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "x.json"
    path.write_text("old")

    def full(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ZplanError, match="No space left"):
        save_text(path, "new", force=True)
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["x.json"]


def test_of_two_writers_one_wins(tmp_path):
    path = tmp_path / "x.json"
    results = []

    def write(text):
        try:
            save_text(path, text)
            results.append(text)
        except ZplanError:
            pass

    threads = [threading.Thread(target=write, args=(str(i),)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 1
    assert path.read_text() == results[0]
