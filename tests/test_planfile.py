"""Files in place of options: zplan.yaml, the JSON of an estimate, accelerate YAML, and training recipes."""

import json
import time
from dataclasses import fields, replace
from pathlib import Path

import pytest

from zplan.cli.app import run
from zplan.cli.filewords import OPTION_NAMES, file_plan, merged_options
from zplan.cli.options import PlanOptions
from zplan.cli.plan import build_plans
from zplan.errors import ZplanError
from zplan.export.words import plan_words
from zplan.inputs.configfile import read_config_file
from zplan.inputs.planfile import read_planfile
from zplan.inputs.yamltext import parse_yaml_text
from zplan.spec import Engine, Loss, Offload, Precision, Quantize


@pytest.fixture(autouse=True)
def _alone(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


def plan_file(text, name="zplan.yaml"):
    Path(name).write_text(text, encoding="utf-8")
    return read_planfile(name, options=OPTION_NAMES)


def recipe(text, name="recipe.yaml", **options):
    Path(name).write_text(text, encoding="utf-8")
    found = read_config_file(name)
    return found, file_plan(found, PlanOptions(**({"gpus": "8", "gpu": "a100-80g"} | options)))


# --- zplan.yaml ----------------------------------------------------------------------------------------------------


def test_keys_are_the_options_however_they_are_written():
    found = plan_file("params: 7B\n--gpu-mem: 80\nmicro_batch: 2\nGrad-Accum: 4\nseq-len: 4k\ngpus: 8\n")
    assert found.words == {
        "params": "7B",
        "gpu_mem": "80",
        "micro_batch": "2",
        "grad_accum": "4",
        "seq_len": "4k",
        "gpus": "8",
    }


def test_yamls_own_words_are_read_as_the_options_mean_them():
    found = plan_file("zero-init: off\ncompile: true\noffload: none\nstage: 3\nlora:\nparams: 7e9\ngpu-mem: 79.5\n")
    assert found.words == {
        "zero_init": "off",
        "compile": True,
        "offload": "none",
        "stage": "3",
        "params": "7e9",
        "gpu_mem": "79.5",
    }
    assert plan_file("zero_init: on\ncompile: false\nparams: 1B").words == {"zero_init": "on", "params": "1B"}


def test_json_of_the_same_keys():
    assert plan_file('{"params": "7B", "gpus": 8}', "plan.json").words == {"params": "7B", "gpus": "8"}


@pytest.mark.parametrize(
    ("text", "says", "hint"),
    [
        ("params: 7B\nmicro-bach: 2", "line 2", "micro-batch"),
        ("params: 7B\nfoo_bar_baz: 2", "no option", "--help"),
        ("params: 7B\n--params: 8B", "second time", "keep one"),
        ("params: [7B]", "a list", "VALUE"),
        ("params: {a: 1}", "an object", "VALUE"),
        ("gpus: true", "true", "quote"),
        ("compile: 3", "not true or false", "compile: true"),
        ("zero_optimization: {stage: 2}", "no plan", "zplan check"),
        ("- params", "not a mapping", "plan"),
        ("", "empty", "plan"),
        ("a: b: c", "not valid YAML", "plan"),
        ("params: 7B\nparams: 8B", "twice", "keep one"),
        ("a: &a [1]\nb: *a", "alias", "write the value out"),
        ("params: !!python/object/apply:os.system [ls]", "not valid YAML", "plan"),
        ('{"params": 1, "params": 2}', "twice", "line 1"),
        ('{"schema_version": 1, "plans": []}', "not the JSON of an estimate", "zplan estimate"),
        ('{"schema_version": 1, "plans": [{"options": 3}]}', "not the JSON of an estimate", "zplan estimate"),
        ('{"schema_version": 1, "plans": [{"options": {"gpus": 8}}]}', "not the JSON of an estimate", "zplan estimate"),
        (
            '{"schema_version": 1, "plans": [{"options": {"-1": "x"}}]}',
            "names '-1', which is no option",
            "zplan estimate",
        ),
    ],
)
def test_broken_plans_are_refused_with_a_hint(text, says, hint):
    with pytest.raises(ZplanError) as error:
        plan_file(text)
    assert says in error.value.message
    assert hint in error.value.hint


def test_a_billion_laughs_cost_nothing():
    text = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{n}: &{n} [{','.join(['*' + m] * 9)}]\n" for m, n in zip("abcdefgh", "bcdefghi", strict=True)
    )
    start = time.process_time()
    with pytest.raises(ZplanError, match="alias"):
        parse_yaml_text(text, name="bomb.yaml", expected="a plan")
    assert time.process_time() - start < 1


@pytest.mark.parametrize("text", ["[" * 100_000, "a: " + "{a: " * 5000 + "1" + "}" * 5000, "- " * 10_000 + "x"])
def test_deep_yaml_is_refused(text):
    with pytest.raises(ZplanError):
        parse_yaml_text(text, name="deep.yaml", expected="a plan")


def test_a_gigabyte_of_yaml_is_refused_unread(tmp_path):
    path = tmp_path / "huge.yaml"
    with path.open("wb") as file:
        file.truncate(10**9)
    for read in (lambda: read_planfile(path, options=OPTION_NAMES), lambda: read_config_file(path)):
        with pytest.raises(ZplanError, match="too large"):
            read()


def test_a_ds_config_beside_the_plan_is_found(tmp_path, monkeypatch):
    folder = tmp_path / "plans"
    folder.mkdir()
    (folder / "ds.json").write_text("{}")
    (folder / "zplan.yaml").write_text("params: 7B\nds-config: ds.json\n")
    found = read_planfile(folder / "zplan.yaml", options=OPTION_NAMES)
    assert Path(str(found.words["ds_config"])).samefile(folder / "ds.json")


def test_what_is_typed_wins():
    words = {"params": "7B", "gpus": "8", "nodes": "2", "gpu_mem": "80", "micro_batch": "2"}
    merged, notes = merged_options(
        PlanOptions(model="llama-3.1-8b", gpu="a100-40g", micro_batch="4"), words, "zplan.yaml"
    )
    assert (merged.model, merged.params) == ("llama-3.1-8b", None)
    assert (merged.gpu, merged.gpu_mem) == ("a100-40g", None), "another card brings its own memory"
    assert merged.gpus == "8"
    assert notes == ["--micro-batch 4 overrides 2 in zplan.yaml"]
    assert merged_options(PlanOptions(gpus="4"), words, "x")[0].nodes is None


def _estimate(capsys, *args):
    assert run(["estimate", *args, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_estimate_takes_a_plan_file(capsys):
    Path("zplan.yaml").write_text(
        "model: llama-3.1-8b\ngpus: 8\ngpu: a100-80g\nstage: 3\ncheckpointing: full\n", encoding="utf-8"
    )
    found = _estimate(capsys, "zplan.yaml")
    typed = _estimate(
        capsys, "--model", "llama-3.1-8b", "--gpus", "8", "--gpu", "a100-80g", "--stage", "3", "--checkpointing", "full"
    )
    assert found["plans"] == typed["plans"]
    longer = _estimate(capsys, "zplan.yaml", "--seq-len", "4k", "--stage", "2")
    assert (longer["plans"][0]["seq_len"], longer["plans"][0]["stage"]) == (4096, 2)
    assert "--stage 2 overrides 3 in zplan.yaml" in longer["assumptions"]


@pytest.mark.parametrize(
    "options",
    [
        {"params": "7B", "gpus": "16", "gpu_mem": "80", "stage": "3", "offload": "all", "host_mem": "1TB"},
        {"gpus": "8", "gpu": "h100-80g", "stage": "2", "offload": "optimizer", "grad_accum": "4", "rank": "3"},
        {"gpus": "8", "stage": "3", "hpz": "8", "loss": "fused", "checkpointing": "every-2", "zero_init": "off"},
        {"gpus": "2", "lora": "16", "quantize": "nf4", "engine": "ddp", "attention": "eager", "compile": True},
        {
            "gpus": "8",
            "engine": "fsdp2",
            "stage": "2",
            "offload": "all",
            "precision": "fp32",
            "optimizer": "adamw_torch",
        },
        {"gpus": "8", "stage": "3", "offload": "all", "offload_to": "nvme", "nvme": "4TB", "gpu_mem": "81559MiB"},
    ],
)
def test_the_words_of_a_plan_make_the_same_plan(options):
    (plan,) = build_plans(PlanOptions(**({} if "params" in options else {"model": "llama-3.1-8b"}) | options)).plans
    text = json.dumps({"schema_version": 1, "plans": [{"options": plan_words(plan)}]})
    found = plan_file(text, "plan.json")
    assert set(found.words) <= {field.name for field in fields(PlanOptions)}
    (again,) = build_plans(replace(PlanOptions(), **found.words)).plans
    assert again == plan


def test_json_out_is_json_in(capsys):
    first = _estimate(capsys, *"--params 7B --gpus 16 --gpu-mem 80 --stage 3 --offload all --host-mem 1TB".split())  # noqa: SIM905
    Path("plan.json").write_text(json.dumps(first), encoding="utf-8")
    assert _estimate(capsys, "plan.json")["plans"] == first["plans"]


def test_json_out_is_json_in_with_deepspeeds_own_keys(capsys):
    zero = {"stage": 3, "reduce_bucket_size": 10_000_000, "stage3_max_live_parameters": 100_000_000}
    Path("ds.json").write_text(
        json.dumps({"train_micro_batch_size_per_gpu": 2, "bf16": {"enabled": True}, "zero_optimization": zero}),
        encoding="utf-8",
    )
    first = _estimate(capsys, "--ds-config", "ds.json", *"--model llama-3.1-8b --gpus 8 --gpu-mem 80".split())  # noqa: SIM905
    Path("ds.json").unlink()
    Path("plan.json").write_text(json.dumps(first), encoding="utf-8")
    assert first["plans"][0]["ds_config"]["zero_optimization"] == zero
    assert _estimate(capsys, "plan.json")["plans"] == first["plans"]


def test_many_plans_give_what_they_share(capsys):
    first = _estimate(capsys, *"--model llama-3.1-8b --gpus 8 --gpu-mem 80".split())  # noqa: SIM905
    Path("plan.json").write_text(json.dumps(first), encoding="utf-8")
    again = _estimate(capsys, "plan.json", "--stage", "3")
    assert [plan["stage"] for plan in again["plans"]] == [3]


# --- accelerate ----------------------------------------------------------------------------------------------------

ACCELERATE = """\
compute_environment: LOCAL_MACHINE
distributed_type: {kind}
mixed_precision: {precision}
num_machines: 2
num_processes: 16
{section}
"""


def test_accelerate_deepspeed():
    section = (
        "deepspeed_config:\n"
        "  zero_stage: 3\n"
        "  offload_optimizer_device: cpu\n"
        "  offload_param_device: cpu\n"
        "  zero3_init_flag: false\n"
        "  gradient_accumulation_steps: 4\n"
        "  gradient_clipping: 1.0\n"
    )
    text = ACCELERATE.format(kind="DEEPSPEED", precision="bf16", section=section)
    found, made = recipe(text, model="llama-3.1-8b", gpus=None)
    job, cluster = made.plan.job, made.plan.cluster
    assert found.kind == "accelerate"
    assert (cluster.gpus, cluster.nodes) == (16, 2)
    assert (job.stage, job.offload, job.grad_accum, job.zero_init) == (3, Offload.ALL, 4, False)
    assert job.precision is Precision.BF16
    assert job.deepspeed.gradient_clipping == 1.0


def test_accelerates_default_is_stage_2():
    text = ACCELERATE.format(kind="DEEPSPEED", precision="bf16", section="deepspeed_config: {}")
    assert recipe(text, model="llama-3.1-8b", gpus=None)[1].plan.job.stage == 2


def test_accelerate_names_a_deepspeed_config(tmp_path):
    folder = tmp_path / "configs"
    folder.mkdir()
    (folder / "ds.json").write_text('{"train_micro_batch_size_per_gpu": 3, "zero_optimization": {"stage": 1}}')
    section = "deepspeed_config:\n  deepspeed_config_file: ds.json\n"
    (folder / "a.yaml").write_text(ACCELERATE.format(kind="DEEPSPEED", precision="'no'", section=section))
    found = read_config_file(folder / "a.yaml")
    job = file_plan(found, PlanOptions(model="llama-3.1-8b", gpu="a100-80g", precision="bf16")).plan.job
    assert (job.stage, job.micro_batch) == (1, 3)


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ("fsdp_version: 2", ("fsdp2", "3", None)),
        ("fsdp_version: 2\n  fsdp_reshard_after_forward: false", ("fsdp2", "2", None)),
        ("fsdp_sharding_strategy: FULL_SHARD", ("fsdp1", "3", None)),
        ("fsdp_sharding_strategy: SHARD_GRAD_OP\n  fsdp_offload_params: true", ("fsdp1", "2", "all")),
        ("fsdp_sharding_strategy: 2", ("fsdp1", "2", None)),
        ("fsdp_reshard_after_forward: FULL_SHARD", ("fsdp1", "3", None)),
        ("sharding_strategy: NO_SHARD", ("ddp", None, None)),
    ],
)
def test_accelerate_fsdp(keys, expected):
    Path("a.yaml").write_text(
        ACCELERATE.format(kind="FSDP", precision="bf16", section=f"fsdp_config:\n  {keys}\n"), encoding="utf-8"
    )
    words = read_config_file("a.yaml").words
    assert (words["engine"], words.get("stage"), words.get("offload")) == expected
    assert words["precision"] == "bf16"


def test_hybrid_sharding_is_priced_on_one_node():
    section = "fsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\n"
    Path("a.yaml").write_text(ACCELERATE.format(kind="FSDP", precision="bf16", section=section), encoding="utf-8")
    found = read_config_file("a.yaml")
    assert (found.words["gpus"], found.words["nodes"], found.words["stage"]) == ("8", "1", "3")
    assert any("8 GPUs of one node" in note for note in found.notes)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("distributed_type: MEGATRON_LM", "MEGATRON_LM"),
        ("distributed_type: DEEPSPEED\nnum_processes: many", "num_processes"),
        ("distributed_type: DEEPSPEED\nnum_processes: true", "num_processes"),
        ("distributed_type: DEEPSPEED\ndeepspeed_config: 3", "not a mapping"),
        ("distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: two}", "zero_stage"),
        ("distributed_type: DEEPSPEED\ndeepspeed_config: {deepspeed_config_file: none.json}", "no such file"),
        ("distributed_type: FSDP\nfsdp_config: {fsdp_sharding_strategy: SOME}", "sharding_strategy"),
        ("distributed_type: MULTI_GPU\nmixed_precision: bf17", "mixed_precision"),
        ("distributed_type: [MULTI_GPU]", "data parallelism"),
    ],
)
def test_broken_accelerate_files(text, says):
    Path("a.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ZplanError, match=says):
        read_config_file("a.yaml")


# --- recipes -------------------------------------------------------------------------------------------------------


def test_training_arguments():
    values = {
        "output_dir": "out",
        "model_name_or_path": "meta-llama/Llama-3.1-8B",
        "per_device_train_batch_size": 2,
        "gradient_accumulation_steps": 4,
        "bf16": True,
        "gradient_checkpointing": True,
        "max_seq_length": 4096,
        "optim": "adamw_torch",
        "learning_rate": 1e-5,
        "num_train_epochs": 3,
        "use_liger_kernel": True,
        "deepspeed": {
            "train_micro_batch_size_per_gpu": "auto",
            "gradient_accumulation_steps": "auto",
            "bf16": {"enabled": "auto"},
            "zero_optimization": {"stage": 3, "reduce_bucket_size": "auto"},
        },
    }
    found, made = recipe(json.dumps(values), "args.json")
    job = made.plan.job
    assert found.kind == "trainer"
    assert made.plan.model.name == "llama-3.1-8b"
    assert (job.stage, job.micro_batch, job.grad_accum, job.seq_len) == (3, 2, 4, 4096)
    assert (job.precision, job.optimizer, job.loss) == (Precision.BF16, "adamw_torch", Loss.FUSED)
    assert str(job.checkpointing) == "full"
    assert job.deepspeed.reduce_bucket_size == 4096 * 4096
    assert set(found.ignored) == {"output_dir", "learning_rate", "num_train_epochs"}


def test_training_arguments_alone_are_ddp_of_batch_8():
    found, made = recipe('{"output_dir": "out", "bf16": true}', "args.json", model="llama-3.1-8b")
    assert (made.plan.job.engine, made.plan.job.micro_batch, made.plan.job.optimizer) == (
        Engine.DDP,
        8,
        "adamw_torch_fused",
    )
    assert any("default of TrainingArguments" in note for note in found.notes)


@pytest.mark.parametrize("fsdp", [{"fsdp": True}, {"fsdp": "full_shard auto_wrap"}, {"fsdp": ["full_shard"]}])
def test_the_trainers_fsdp_is_version_2(fsdp):
    Path("args.json").write_text(json.dumps({"output_dir": "x", "bf16": True} | fsdp), encoding="utf-8")
    assert {"engine": "fsdp2", "stage": "3"}.items() <= read_config_file("args.json").words.items()


@pytest.mark.parametrize(
    ("fsdp", "version", "words"),
    [
        ("shard_grad_op auto_wrap", 2, {"engine": "fsdp2", "stage": "2"}),
        (["full_shard", "offload"], 2, {"engine": "fsdp2", "stage": "3", "offload": "all"}),
        ("shard_grad_op", 1, {"engine": "fsdp1", "stage": "2"}),
        ("hybrid_shard_zero2", 1, {"engine": "fsdp1", "stage": "2"}),
        (["no_shard"], 1, {"engine": "ddp"}),
        (True, 1, {"engine": "fsdp1", "stage": "3"}),
    ],
)
def test_the_trainers_words_of_fsdp(fsdp, version, words):
    values = {"output_dir": "x", "bf16": True, "fsdp": fsdp, "fsdp_config": {"version": version}}
    Path("args.json").write_text(json.dumps(values), encoding="utf-8")
    assert words.items() <= read_config_file("args.json").words.items()


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"fsdp": [1]}, "fsdp is 1, not one of full_shard"),
        ({"fsdp": [None]}, "fsdp is null"),
        ({"fsdp": [["full_shard"]]}, "fsdp is a list"),
        ({"fsdp": 5}, "fsdp is 5"),
        ({"fsdp": {"a": 1}}, "fsdp is an object"),
        ({"fsdp": "full_shrad"}, "fsdp is 'full_shrad'"),
        ({"fsdp": "hybrid_shard"}, "which only FSDP1 has"),
        ({"fsdp": True, "fsdp_config": {"version": 9}}, "FSDP has versions 1 and 2"),
    ],
)
def test_words_of_fsdp_that_nobody_takes(values, says):
    Path("args.json").write_text(json.dumps({"output_dir": "x", **values}), encoding="utf-8")
    with pytest.raises(ZplanError) as error:
        read_config_file("args.json")
    assert says in error.value.message


def test_the_trainer_adds_bf16_to_a_deepspeed_config_without_it():
    values = {
        "bf16": True,
        "output_dir": "x",
        "deepspeed": {"zero_optimization": {"stage": 2}, "train_micro_batch_size_per_gpu": 1},
    }
    assert recipe(json.dumps(values), "args.json", model="llama-3.1-8b")[1].plan.job.precision is Precision.BF16


def test_llama_factory():
    text = """\
### model
model_name_or_path: meta-llama/Llama-3.1-8B
stage: sft
do_train: true
finetuning_type: lora
lora_rank: 16
lora_target: all
quantization_bit: 4
template: llama3
cutoff_len: 4096
per_device_train_batch_size: 1
gradient_accumulation_steps: 8
bf16: true
learning_rate: 1.0e-4
"""
    found, made = recipe(text)
    job = made.plan.job
    assert found.kind == "llama-factory"
    assert (job.lora.rank, job.quantize, job.seq_len, job.grad_accum) == (16, Quantize.NF4, 4096, 8)
    assert str(job.checkpointing) == "full"
    assert {"stage", "do_train", "template", "learning_rate"} <= set(found.ignored)


def test_llama_factory_full_with_deepspeed(tmp_path):
    (tmp_path / "ds_z3.json").write_text(
        '{"train_micro_batch_size_per_gpu": "auto", "bf16": {"enabled": "auto"}, "zero_optimization": {"stage": 3}}'
    )
    text = (
        "model_name_or_path: llama-3.1-8b\n"
        "finetuning_type: full\n"
        "template: llama3\n"
        "per_device_train_batch_size: 2\n"
        "bf16: true\n"
        "disable_gradient_checkpointing: true\n"
        "deepspeed: ds_z3.json\n"
    )
    job = recipe(text)[1].plan.job
    assert (job.stage, job.micro_batch, str(job.checkpointing), job.lora) == (3, 2, "none", None)


def test_axolotl():
    text = """\
base_model: meta-llama/Llama-3.1-8B
load_in_4bit: true
adapter: qlora
lora_r: 32
lora_target_linear: true
sequence_len: 4096
sample_packing: true
micro_batch_size: 2
gradient_accumulation_steps: 4
optimizer: paged_adamw_8bit
bf16: auto
gradient_checkpointing: true
flash_attention: true
datasets:
  - path: some/data
    type: alpaca
"""
    found, made = recipe(text)
    job = made.plan.job
    assert found.kind == "axolotl"
    assert (job.lora.rank, job.quantize, job.micro_batch, job.seq_len) == (32, Quantize.NF4, 2, 4096)
    assert (job.optimizer, job.precision, job.engine) == ("paged_adamw_8bit", Precision.BF16, Engine.DDP)
    assert found.ignored == ("datasets",)


def test_axolotl_fsdp2():
    text = (
        "base_model: llama-3.1-8b\n"
        "sequence_len: 2048\n"
        "bf16: true\n"
        "fsdp_version: 2\n"
        "fsdp_config:\n"
        "  reshard_after_forward: true\n"
        "  offload_params: true\n"
        "  activation_checkpointing: true\n"
    )
    job = recipe(text)[1].plan.job
    assert (job.engine, job.stage, job.offload, str(job.checkpointing)) == (Engine.FSDP2, 3, Offload.ALL, "full")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("base_model: [a]", "base_model"),
        ("base_model: x\nmicro_batch_size: two", "micro_batch_size"),
        ("base_model: x\nbf16: true\nfp16: true", "both bf16 and fp16"),
        ("template: x\ncutoff_len: {a: 1}", "cutoff_len"),
        ("finetuning_type: lora\ndeepspeed: [1]", "deepspeed"),
        ("finetuning_type: lora\ndeepspeed: none.json", "no such file"),
        ("some: thing", "no config that zplan knows"),
    ],
)
def test_broken_recipes(text, says):
    Path("recipe.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(ZplanError, match=says):
        read_config_file("recipe.yaml")
