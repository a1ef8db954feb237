"""ds_config.json: read as DeepSpeed and the Trainer read it, and refused with a place where they would fail."""

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from handmade import MODEL as TINY

from zplan.errors import ZplanError
from zplan.inputs import dskeys
from zplan.inputs.deepspeed import apply_ds_config, ds_reading, parse_ds_config, read_ds_config
from zplan.spec import DeepSpeedOptions, Engine, Job, Offload, OffloadTo, Precision

MODEL = replace(TINY, hidden_size=4096)
BASE = Job(stage=0, precision=Precision.BF16, micro_batch=4, grad_accum=2, seq_len=1024)


def job(config, gpus=8, base=BASE):
    text = config if isinstance(config, str) else json.dumps(config)
    return apply_ds_config(parse_ds_config(text, name="ds.json"), model=MODEL, gpus=gpus, base=base)[0]


def zero(**keys):
    return {"train_micro_batch_size_per_gpu": 1, "zero_optimization": keys}


def test_defaults_are_deepspeeds_own():
    found = job({"train_micro_batch_size_per_gpu": 1})
    assert (found.engine, found.stage, found.offload) == (Engine.DEEPSPEED, 0, Offload.NONE)
    assert found.precision is Precision.FP32, "neither fp16 nor bf16 is on by default"
    assert found.deepspeed == DeepSpeedOptions()
    assert (found.micro_batch, found.grad_accum) == (1, 1)


def test_the_job_keeps_what_a_ds_config_cannot_say():
    found = job(zero(stage=3), base=replace(BASE, seq_len=8192, rank=3))
    assert (found.seq_len, found.rank, found.optimizer) == (8192, 3, "adamw")


@pytest.mark.parametrize(
    ("keys", "expected"),
    [
        ({"stage": 2, "reduce_bucket_size": 2e8}, {"reduce_bucket_size": 200_000_000}),
        ({"stage": 2, "reduce_bucket_size": "200000000"}, {"reduce_bucket_size": 200_000_000}),
        (
            {"stage": 2, "overlap_comm": True, "contiguous_gradients": False},
            {"overlap_comm": True, "contiguous_gradients": False},
        ),
        ({"stage": 2, "round_robin_gradients": "true"}, {"round_robin_gradients": True}),
        ({"stage": 3, "sub_group_size": 1e7}, {"sub_group_size": 10_000_000}),
        ({"stage": 3, "stage3_prefetch_bucket_size": 1e6}, {"prefetch_bucket_size": 1_000_000}),
        ({"stage": 3, "prefetch_bucket_size": 1e6}, {"prefetch_bucket_size": 1_000_000}),
        ({"stage": 3, "stage3_max_live_parameters": 3e8}, {"max_live_parameters": 300_000_000}),
        ({"stage": 3, "stage3_max_reuse_distance": 3e8}, {"max_reuse_distance": 300_000_000}),
        ({"stage": 3, "memory_efficient_linear": False}, {"memory_efficient_linear": False}),
        (
            {"stage": 3, "zero_quantized_weights": True, "zero_quantized_gradients": True},
            {"quantized_weights": True, "quantized_gradients": True},
        ),
        ({"stage": 3, "stage3_gather_16bit_weights_on_model_save": True}, {"gather_16bit_weights_on_model_save": True}),
        (
            {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": 0.3, "pin_memory": False}},
            {"offload_ratio": 0.3, "pin_memory": False},
        ),
        (
            {
                "stage": 3,
                "offload_optimizer": {"device": "nvme", "buffer_count": 5},
                "offload_param": {"device": "nvme", "buffer_count": 6, "buffer_size": 1e7, "max_in_cpu": 0},
            },
            {
                "nvme_buffer_count": 5,
                "nvme_param_buffer_count": 6,
                "nvme_param_buffer_size": 10_000_000,
                "nvme_max_in_cpu": 0,
            },
        ),
        # what the stage does not read changes nothing
        ({"stage": 2, "sub_group_size": 1e7, "stage3_max_live_parameters": 1}, {}),
        ({"stage": 3, "round_robin_gradients": True, "allgather_bucket_size": 2}, {}),
        ({"stage": 2, "offload_optimizer": {"device": "none", "pin_memory": False}}, {}),
    ],
)
def test_options(keys, expected):
    assert job(zero(**keys)).deepspeed == replace(DeepSpeedOptions(), **expected)


@pytest.mark.parametrize(
    ("keys", "offload", "to"),
    [
        ({"stage": 0, "offload_optimizer": {"device": "cpu"}}, Offload.NONE, OffloadTo.CPU),
        ({"stage": 1, "offload_optimizer": {"device": "cpu"}}, Offload.OPTIMIZER, OffloadTo.CPU),
        ({"stage": 2, "offload_optimizer": {"device": "nvme"}}, Offload.OPTIMIZER, OffloadTo.CPU),
        ({"stage": 2, "offload_param": {"device": "cpu"}}, Offload.NONE, OffloadTo.CPU),
        ({"stage": 2, "cpu_offload": True}, Offload.OPTIMIZER, OffloadTo.CPU),
        (
            {"stage": 3, "offload_optimizer": {"device": "cpu"}, "offload_param": {"device": "cpu"}},
            Offload.ALL,
            OffloadTo.CPU,
        ),
        (
            {"stage": 3, "offload_optimizer": {"device": "nvme"}, "offload_param": {"device": "nvme"}},
            Offload.ALL,
            OffloadTo.NVME,
        ),
        ({"stage": 3, "cpu_offload": True, "cpu_offload_param": True}, Offload.ALL, OffloadTo.CPU),
        ({"stage": 3, "offload_param": {"device": "cpu"}}, Offload.NONE, OffloadTo.CPU),
    ],
)
def test_offload(keys, offload, to):
    found = job(zero(**keys))
    assert (found.offload, found.offload_to) == (offload, to)


@pytest.mark.parametrize(
    ("sections", "expected"),
    [
        ({}, Precision.FP32),
        ({"bf16": {"enabled": True}}, Precision.BF16),
        ({"bfloat16": {"enabled": True}}, Precision.BF16),
        ({"bf16": {"enabled": "auto"}, "fp16": {"enabled": "auto"}}, Precision.BF16),
        ({"bf16": {"enabled": False}, "fp16": {"enabled": True}}, Precision.FP16),
        (
            {"bf16": {"enabled": True, "bf16_master_weights_and_grads": True, "bf16_optimizer_states": True}},
            Precision.BF16_PURE,
        ),
    ],
)
def test_precision(sections, expected):
    assert job({"train_micro_batch_size_per_gpu": 1, **sections}).precision is expected


@pytest.mark.parametrize(
    ("optimizer", "expected"),
    [
        (None, "adamw"),
        ({"type": "AdamW"}, "adamw"),
        ({"type": "Adam", "params": {"lr": 1e-5}}, "adamw"),
        ({"type": "adamw", "params": {"torch_adam": True}}, "adamw_torch"),
        ({"type": "Lion"}, "lion"),
        ({"type": "Muon"}, "muon"),
        ({"type": "SGD"}, "sgd"),
        ({"type": "SGD", "params": {"momentum": 0.9}}, "sgd_momentum"),
        ({"type": "OneBitAdam"}, "adamw"),
    ],
)
def test_optimizer(optimizer, expected):
    config = zero(stage=2) | ({"optimizer": optimizer} if optimizer else {})
    assert job(config).optimizer == expected


def test_every_optimizer_name_is_one_that_zplan_prices():
    from zplan.inputs.dsoptimizer import OWN, TORCH
    from zplan.memory.optimizers import OPTIMIZERS

    assert set(OWN.values()) | set(TORCH.values()) <= set(OPTIMIZERS)


def test_data_types():
    config = zero(stage=1) | {"bf16": {"enabled": True}, "data_types": {"grad_accum_dtype": "float32"}}
    assert job(config).deepspeed.grad_accum_dtype == "fp32"
    config["data_types"] = {"grad_accum_dtype": "bf16"}  # the model's own
    assert job(config).deepspeed.grad_accum_dtype is None
    assert job(config | {"communication_data_type": "fp32"}).deepspeed.communication_dtype == "fp32"
    assert job(config | {"gradient_clipping": 1}).deepspeed.gradient_clipping == 1.0


# micro-batch, accumulation and problem for 8 GPUs; "auto" takes micro-batch 4 and 2 micro-steps from the base
@pytest.mark.parametrize(
    ("train", "micro", "accum", "expected"),
    [
        (64, 4, 2, (4, 2, False)),
        (64, 4, None, (4, 2, False)),
        (64, None, 4, (2, 4, False)),
        (64, None, None, (8, 1, False)),
        (None, 4, 2, (4, 2, False)),
        (None, 4, None, (4, 1, False)),
        (64, 4, 4, (4, 4, True)),
        (60, 4, None, (4, 1, True)),
        (60, None, None, (7, 1, True)),
        (None, None, 2, (4, 2, True)),
        (None, None, None, (4, 2, True)),
        ("auto", "auto", "auto", (4, 2, False)),
        ("auto", 1, "auto", (1, 2, False)),
        (64, "auto", "auto", (4, 2, False)),
        (128, "auto", "auto", (4, 2, True)),
    ],
)
def test_batch_arithmetic(train, micro, accum, expected):
    names = ("train_batch_size", "train_micro_batch_size_per_gpu", "gradient_accumulation_steps")
    given = {name: value for name, value in zip(names, (train, micro, accum), strict=True) if value is not None}
    config = parse_ds_config(json.dumps(given), name="ds.json")
    batch = ds_reading(config, model=MODEL, gpus=8, base=BASE).batch
    assert (batch.micro_batch, batch.grad_accum, batch.problem is not None) == expected


def test_batch_arithmetic_is_deepspeeds():
    from deepspeed.runtime.config import DeepSpeedConfig

    for given in (
        {"train_batch_size": 12, "gradient_accumulation_steps": 3},
        {"train_batch_size": 12, "train_micro_batch_size_per_gpu": 2},
        {"train_micro_batch_size_per_gpu": 5},
        {"train_batch_size": 7},
    ):
        theirs = DeepSpeedConfig(dict(given))  # one rank
        ours = job(given, gpus=1)
        assert (ours.micro_batch, ours.grad_accum) == (
            theirs.train_micro_batch_size_per_gpu,
            theirs.gradient_accumulation_steps,
        )
    with pytest.raises(AssertionError):
        DeepSpeedConfig({"train_batch_size": 7, "train_micro_batch_size_per_gpu": 2})


def test_auto_is_filled_as_the_trainer_fills_it():
    """The real ``trainer_config_finalize`` on the same file."""
    from types import SimpleNamespace

    from transformers.integrations.deepspeed import HfTrainerDeepSpeedConfig

    auto = dict.fromkeys(
        ("reduce_bucket_size", "stage3_prefetch_bucket_size", "stage3_param_persistence_threshold"), "auto"
    )
    config = {"train_micro_batch_size_per_gpu": 1, "zero_optimization": {"stage": 3, **auto}}
    theirs = HfTrainerDeepSpeedConfig(json.loads(json.dumps(config)))
    args = SimpleNamespace(get_warmup_steps=lambda steps: 0)
    theirs.trainer_config_finalize(args, SimpleNamespace(config=SimpleNamespace(hidden_size=4096)), 10)
    filled = theirs.config["zero_optimization"]
    ours = job(config).deepspeed
    assert ours.reduce_bucket_size == filled["reduce_bucket_size"] == 16_777_216  # 4096 * 4096
    assert ours.prefetch_bucket_size == filled["stage3_prefetch_bucket_size"] == 15_099_494  # int(0.9 * 4096 * 4096)
    assert ours.param_persistence_threshold == filled["stage3_param_persistence_threshold"] == 40_960  # 10 * 4096


def test_auto_elsewhere_is_deepspeeds_default():
    found = job(zero(stage=3, stage3_max_live_parameters="auto", overlap_comm="auto", sub_group_size="auto"))
    assert found.deepspeed == DeepSpeedOptions()
    assert job({"train_micro_batch_size_per_gpu": 1, "gradient_clipping": "auto"}).deepspeed.gradient_clipping == 1.0
    assert job(zero(stage="auto")).stage == 2


# --- drift: the tables against the installed DeepSpeed -------------------------------------------------------------


def _models():
    from deepspeed.runtime.precision_config import DeepSpeedBF16Config, DeepSpeedFP16Config
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
    from deepspeed.runtime.zero.offload_config import (
        DeepSpeedZeroOffloadOptimizerConfig,
        DeepSpeedZeroOffloadParamConfig,
    )

    return [
        (DeepSpeedZeroConfig, dskeys.ZERO_KEYS),
        (DeepSpeedZeroOffloadOptimizerConfig, dskeys.OFFLOAD_OPTIMIZER_KEYS),
        (DeepSpeedZeroOffloadParamConfig, dskeys.OFFLOAD_PARAM_KEYS),
        (DeepSpeedBF16Config, dskeys.BF16_KEYS),
        (DeepSpeedFP16Config, dskeys.FP16_KEYS),
    ]


def test_key_tables_and_defaults_are_the_installed_ones():
    for model, keys in _models():
        theirs = {info.alias or name: (name, info) for name, info in model.model_fields.items()}
        assert set(keys) == set(theirs), model.__name__
        for name, key in keys.items():
            field, info = theirs[name]
            assert key.short == (field if info.alias else None), name
            if key.kind != "section":
                assert key.default == info.default, name


def test_defaults_of_the_options_are_the_installed_ones():
    ours = DeepSpeedOptions()
    tables = (dskeys.ZERO_KEYS, dskeys.OFFLOAD_OPTIMIZER_KEYS, dskeys.OFFLOAD_PARAM_KEYS)
    for keys in tables:
        for name, key in keys.items():
            if key.field is not None:
                assert getattr(ours, key.field) == key.default, name


def test_top_level_keys_are_those_that_deepspeed_asks_for():
    """``DeepSpeedConfig`` on a dict that notes every key it is asked for."""
    from deepspeed.runtime.config import DeepSpeedConfig

    asked = set()

    class Noting(dict):
        def get(self, key, default=None):
            asked.add(key)
            return super().get(key, default)

        def __contains__(self, key):
            asked.add(key)
            return super().__contains__(key)

        def __getitem__(self, key):
            asked.add(key)
            return super().__getitem__(key)

        def keys(self):
            return self

    DeepSpeedConfig(Noting(train_batch_size=1))
    # sequence_parallel_size is asked for only where a process group exists
    assert asked | {"sequence_parallel_size"} == set(dskeys.TOP_KEYS) | set(dskeys.REMOVED_KEYS)


def test_removed_keys_are_the_installed_ones():
    from deepspeed.runtime import config

    assert set(dskeys.REMOVED_KEYS) == set(config._REMOVED_TOP_LEVEL_CONFIG_KEYS)
    assert set(dskeys.REMOVED_ZERO_KEYS) == set(config._REMOVED_ZERO_CONFIG_KEYS)


@pytest.mark.parametrize("value", [1, 5e8, "500000000", "5e8", 5.5, "abc", None, [], "7.0", 0, -1, 1e30])
def test_whole_numbers_are_read_as_pydantic_reads_them(value):
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig
    from pydantic import ValidationError

    try:
        theirs = DeepSpeedZeroConfig(reduce_bucket_size=value).reduce_bucket_size
    except ValidationError:
        theirs = None
    try:
        ours = job(json.dumps(zero(stage=2, reduce_bucket_size=value))).deepspeed.reduce_bucket_size
    except ZplanError:
        ours = None
    if value is None:
        assert (theirs, ours) == (None, 500_000_000), "null is refused by DeepSpeed; zplan check says so"
    elif value == 1e30:
        assert ours is None, "no tensor has 2^63 elements"
    else:
        assert ours == theirs


# --- hostile and broken files --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"a": 1 "b": 2}', "line 1, column 9"),
        ('{"a": 1,\n "a": 2}', "twice"),
        ('{"a": NaN}', "line 1, column 7"),
        ('{"a": -Infinity}', "line 1, column 7"),
        ('{"a": 1e400}', "too large"),
        ('{"a": True}', "writes as true"),
        ("{'a': 1}", "double quotes"),
        ('{"a": 1}}', "after the end"),
        ('{"a": ', "end of the file"),
        ('{"a": 1', "ends before"),
        ("[1]", "a list"),
        ("3", "not a JSON object"),
        ("", "not valid JSON"),
        ("[" * 100_000, "levels deep"),
        ('{"a":' * 100_000, "levels deep"),
        ('{"a": /* }', "does not end"),
        ('{"a": "x\ny"}', "does not end on its line"),
        ('{"a": "\\q"}', "escape"),
        ('{"a": ' + "9" * 5000 + "}", "digits"),
        ('{"a": 01}', "line 1"),
    ],
)
def test_broken_text_is_refused_with_its_place(text, says):
    with pytest.raises(ZplanError) as error:
        parse_ds_config(text, name="ds.json")
    assert says in error.value.message
    assert error.value.hint
    assert "\n" not in error.value.message


@pytest.mark.parametrize(
    "keys",
    [
        {"stage": 4},
        {"stage": "two"},
        {"stage": -1},
        {"stage": True},
        {"stage": 2, "reduce_bucket_size": True},
        {"stage": 2, "reduce_bucket_size": "5e8"},
        {"stage": 2, "reduce_bucket_size": 0},
        {"stage": 2, "reduce_bucket_size": {}},
        {"stage": 2, "overlap_comm": "maybe"},
        {"stage": 2, "overlap_comm": 2},
        {"stage": 2, "offload_optimizer": "cpu"},
        {"stage": 2, "offload_optimizer": {"device": "gpu"}},
        {"stage": 2, "offload_optimizer": {"device": ["cpu"]}},
        {"stage": 3, "offload_optimizer": {"device": "cpu", "ratio": "half"}},
        {"stage": 3, "zero_hpz_partition_size": 1.5},
    ],
)
def test_wrong_types_are_refused_with_the_key(keys):
    with pytest.raises(ZplanError) as error:
        job(zero(**keys))
    assert "zero_optimization" in error.value.message
    assert "line 1" in error.value.message


@pytest.mark.parametrize(
    "config",
    [
        {"train_batch_size": "many"},
        {"train_batch_size": True},
        {"train_batch_size": 0},
        {"zero_optimization": [3]},
        {"fp16": True},
        {"fp16": {"enabled": "perhaps"}},
        {"optimizer": "AdamW"},
        {"optimizer": {"type": 3}},
        {"optimizer": {"type": "AdamW", "params": 3}},
        {"gradient_clipping": "much"},
        {"data_types": {"grad_accum_dtype": "fp12"}},
        {"communication_data_type": 32},
    ],
)
def test_wrong_types_elsewhere(config):
    with pytest.raises(ZplanError):
        job(config)


def test_comments_and_trailing_commas_are_read_and_reported():
    text = '{\n  // why\n  "train_batch_size": 8, # all\n  "zero_optimization": {"stage": 2,},\n}\n'
    config = parse_ds_config(text, name="ds.json")
    assert config.get(("zero_optimization", "stage")) == 2
    found = [(i.kind, i.position.line, i.position.column) for i in config.irregularities]
    assert found == [("comment", 2, 3), ("comment", 3, 26), ("trailing comma", 4, 35), ("trailing comma", 4, 37)]


def test_files(tmp_path):
    path = tmp_path / "ds.json"
    path.write_bytes(b'\xef\xbb\xbf{"train_batch_size": 8}')
    assert read_ds_config(path).get(("train_batch_size",)) == 8
    for content, says in (
        (b"", "empty"),
        (b"\xff\xfe{\x00", "UTF-16"),
        (b'{"a": "\xe9"}', "UTF-8"),
        (b"  \n", "empty"),
    ):
        path.write_bytes(content)
        with pytest.raises(ZplanError, match=says):
            read_ds_config(path)
    with pytest.raises(ZplanError, match="folder"):
        read_ds_config(tmp_path)
    with pytest.raises(ZplanError, match="no such file"):
        read_ds_config(tmp_path / "none.json")
    with pytest.raises(ZplanError, match="cannot be read"):
        read_ds_config("\0")


def test_a_gigabyte_is_refused_unread(tmp_path):
    path = tmp_path / "huge.json"
    with path.open("wb") as file:
        file.truncate(10**9)  # sparse: takes no disk, and reading it would take seconds
    with pytest.raises(ZplanError, match="too large"):
        read_ds_config(path)


def test_a_pipe_does_not_block(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with pytest.raises(ZplanError, match="not a regular file"):
        read_ds_config(path)


def test_reading_imports_no_heavy_library():
    code = (
        "import sys; from zplan.inputs.deepspeed import parse_ds_config; parse_ds_config('{}', name='x'); "
        "sys.exit(any(m in sys.modules for m in ('torch', 'yaml', 'pydantic', 'rich')))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_large_file_is_read_in_linear_time(tmp_path):
    text = '{"x": [' + ",\n".join("[1, 2.5]" for _ in range(20_000)) + "]}"
    config = parse_ds_config(text, name=str(Path("x")))
    assert len(config.get(("x",))) == 20_000
