"""What the lint finds in a ds_config.json, what each finding says it costs, and what --fix makes of it."""

import json
from dataclasses import replace

import pytest

from zplan.advice import lint_costs, lint_keys, lint_runs
from zplan.advice.lint import COSTS, NOTE, SEVERITIES, STOPS, USELESS, fixed_value, lint
from zplan.advice.lint_files import _IN_THE_FILE, _OBSOLETE, CLUSTER_KEYS, lint_file
from zplan.cli.filewords import file_plan
from zplan.cli.options import PlanOptions
from zplan.inputs.configfile import read_config_file
from zplan.inputs.deepspeed import parse_ds_config
from zplan.inputs.settings import DEEPSPEED, FileWords
from zplan.memory.estimate import estimate
from zplan.spec import Precision
from zplan.units import GIB

GOOD = {
    "train_micro_batch_size_per_gpu": 1,
    "gradient_accumulation_steps": 1,
    "bf16": {"enabled": True},
    "optimizer": {"type": "AdamW", "params": {"lr": 1e-5}},
    "zero_optimization": {"stage": 2, "reduce_bucket_size": 16_777_216},
}


def findings(config, **options):
    text = config if isinstance(config, str) else json.dumps(config)
    given = {"model": "llama-3.1-8b", "gpus": "8", "gpu": "a100-80g"} | options
    parsed = parse_ds_config(text, name="ds.json")
    made = file_plan(FileWords(name="ds.json", kind=DEEPSPEED, ds=parsed), PlanOptions(**given))
    return parsed, lint(parsed, made.reading, made.plan, estimate(made.plan))


def with_zero(**keys):
    return GOOD | {"zero_optimization": GOOD["zero_optimization"] | keys}


def test_a_good_config_has_no_findings():
    assert findings(GOOD)[1] == ()


def test_deepspeeds_documented_example_of_stage_3_has_no_findings_that_stop():
    config = GOOD | {
        "gradient_clipping": 1.0,
        "steps_per_print": 2000,
        "wall_clock_breakdown": False,
        "scheduler": {"type": "WarmupLR", "params": {"warmup_num_steps": 1000}},
        "zero_optimization": {
            "stage": 3,
            "offload_optimizer": {"device": "cpu", "pin_memory": True},
            "offload_param": {"device": "cpu", "pin_memory": True},
            "overlap_comm": True,
            "contiguous_gradients": True,
            "sub_group_size": 1e9,
            "reduce_bucket_size": "auto",
            "stage3_prefetch_bucket_size": "auto",
            "stage3_param_persistence_threshold": "auto",
            "stage3_max_live_parameters": 1e9,
            "stage3_max_reuse_distance": 1e9,
            "stage3_gather_16bit_weights_on_model_save": True,
        },
    }
    assert {finding.code for finding in findings(config)[1]} <= {"pinned-memory", "gather-at-save"}


# config, options -> code, severity, key, and what a fixed copy has at which path (None: no edit)
CASES = [
    (GOOD | {"train_batch_size": 64}, {}, "batch-arithmetic", STOPS, "train_batch_size", ("train_batch_size", 8)),
    (
        {"bf16": {"enabled": True}},
        {},
        "batch-arithmetic",
        STOPS,
        "train_batch_size",
        ("train_micro_batch_size_per_gpu", 1),
    ),
    (GOOD | {"fp16": {"enabled": True}}, {}, "fp16-and-bf16", STOPS, "fp16.enabled", ("fp16.enabled", False)),
    (GOOD, {"gpu": "v100-32g"}, "no-bf16", STOPS, "bf16.enabled", ("fp16.enabled", True)),
    (GOOD | {"elasticity": {}}, {}, "removed-key", STOPS, "elasticity", ("elasticity", None)),
    (with_zero(mics_shard_size=8), {}, "removed-key", STOPS, "zero.mics_shard_size", ("zero.mics_shard_size", None)),
    (
        with_zero(contigous_gradients=True),
        {},
        "unknown-key",
        STOPS,
        "zero.contigous_gradients",
        ("zero.contiguous_gradients", True),
    ),
    (with_zero(gradient_clipping=1.0), {}, "unknown-key", STOPS, "zero.gradient_clipping", ("gradient_clipping", 1.0)),
    (
        with_zero(offload_optimizer={"device": "cpu", "pinned": True}),
        {},
        "unknown-key",
        STOPS,
        "zero.offload_optimizer.pinned",
        None,
    ),
    (
        GOOD | {"bf16": {"enabled": True, "loss_scale": 0}},
        {},
        "unknown-key",
        STOPS,
        "bf16.loss_scale",
        ("fp16.loss_scale", 0),
    ),
    (GOOD | {"gradient_acumulation_steps": 8}, {}, "unknown-key", USELESS, "gradient_acumulation_steps", None),
    (GOOD | {"reduce_bucket_size": 5e7}, {}, "unknown-key", USELESS, "reduce_bucket_size", None),
    (
        GOOD | {"activation_checkpointing": {"partition_activation": True}},
        {},
        "unknown-key",
        USELESS,
        "activation_checkpointing.partition_activation",
        None,
    ),
    (
        with_zero(cpu_offload=True),
        {},
        "deprecated-key",
        NOTE,
        "zero.cpu_offload",
        ("zero.offload_optimizer", {"device": "cpu"}),
    ),
    (
        with_zero(cpu_offload=True, offload_optimizer={"device": "cpu"}),
        {},
        "deprecated-key",
        STOPS,
        "zero.cpu_offload",
        ("zero.cpu_offload", None),
    ),
    (
        GOOD | {"zero_optimization": True},
        {},
        "deprecated-key",
        NOTE,
        "zero_optimization",
        ("zero_optimization", {"stage": 1}),
    ),
    (
        with_zero(offload_param={"device": "cpu"}),
        {},
        "no-effect",
        USELESS,
        "zero.offload_param",
        ("zero.offload_param", None),
    ),
    (
        with_zero(stage3_max_live_parameters=1e8),
        {},
        "no-effect",
        USELESS,
        "zero.stage3_max_live_parameters",
        ("zero.stage3_max_live_parameters", None),
    ),
    (with_zero(stage=0, overlap_comm=True), {}, "no-effect", USELESS, "zero.overlap_comm", ("zero.overlap_comm", None)),
    (
        with_zero(stage=3, round_robin_gradients=True),
        {},
        "no-effect",
        USELESS,
        "zero.round_robin_gradients",
        ("zero.round_robin_gradients", None),
    ),
    (
        with_zero(allgather_bucket_size=2e8),
        {},
        "no-effect",
        USELESS,
        "zero.allgather_bucket_size",
        ("zero.allgather_bucket_size", None),
    ),
    (
        with_zero(allgather_bucket_size=1_000_001),
        {},
        "odd-allgather-bucket",
        STOPS,
        "zero.allgather_bucket_size",
        ("zero.allgather_bucket_size", None),
    ),
    (
        with_zero(reduce_bucket_size=1e9, overlap_comm=True),
        {},
        "large-bucket",
        COSTS,
        "zero.reduce_bucket_size",
        ("zero.reduce_bucket_size", 16_777_216),
    ),
    (
        with_zero(contiguous_gradients=False),
        {},
        "contiguous-gradients",
        COSTS,
        "zero.contiguous_gradients",
        ("zero.contiguous_gradients", None),
    ),
    (with_zero(legacy_stage1=True), {}, "legacy-stage1", STOPS, "zero.legacy_stage1", ("zero.legacy_stage1", None)),
    (
        with_zero(offload_optimizer={"device": "cpu", "ratio": 0.5}),
        {},
        "ratio-below-stage-3",
        STOPS,
        "zero.offload_optimizer.ratio",
        ("zero.offload_optimizer.ratio", None),
    ),
    (
        with_zero(offload_optimizer={"device": "nvme", "nvme_path": "/x"}),
        {},
        "nvme-below-stage-3",
        COSTS,
        "zero.offload_optimizer.device",
        None,
    ),
    (
        with_zero(stage=3, offload_optimizer={"device": "nvme"}),
        {},
        "nvme-path",
        STOPS,
        "zero.offload_optimizer.device",
        None,
    ),
    (with_zero(stage=3, offload_param={"device": "cpu"}), {}, "offload-param-alone", COSTS, "zero.offload_param", None),
    (
        with_zero(stage=3, zero_hpz_partition_size=3),
        {},
        "hpz-does-not-divide",
        STOPS,
        "zero.zero_hpz_partition_size",
        ("zero.zero_hpz_partition_size", 2),
    ),
    (
        with_zero(stage=3, stage3_gather_16bit_weights_on_model_save=True),
        {},
        "gather-at-save",
        NOTE,
        "zero.stage3_gather_16bit_weights_on_model_save",
        None,
    ),
    (
        with_zero(stage=3, sub_group_size="auto"),
        {},
        "auto-is-default",
        NOTE,
        "zero.sub_group_size",
        ("zero.sub_group_size", None),
    ),
    (with_zero(stage=3, sub_group_size=None), {}, "null", STOPS, "zero.sub_group_size", ("zero.sub_group_size", None)),
    (
        GOOD | {"optimizer": {"type": "OneBitAdam"}},
        {},
        "unknown-optimizer",
        STOPS,
        "optimizer.type",
        ("optimizer.type", "AdamW"),
    ),
    (
        GOOD | {"optimizer": {"type": "sgd"}},
        {},
        "unknown-optimizer",
        STOPS,
        "optimizer.type",
        ("optimizer.type", "SGD"),
    ),
    (
        GOOD | {"optimizer": {"type": "SGD"}},
        {},
        "untested-optimizer",
        STOPS,
        "optimizer.type",
        ("zero_allow_untested_optimizer", True),
    ),
    (
        GOOD | {"optimizer": {"type": "AdamW", "params": {"max_grad_norm": 1.0}}},
        {},
        "max-grad-norm",
        STOPS,
        "optimizer.params.max_grad_norm",
        ("gradient_clipping", 1.0),
    ),
    (
        with_zero(offload_optimizer={"device": "cpu"})
        | {"optimizer": {"type": "AdamW", "params": {"torch_adam": True}}},
        {},
        "cpu-adam",
        COSTS,
        "optimizer.params.torch_adam",
        ("optimizer.params.torch_adam", None),
    ),
    (
        {
            **{k: v for k, v in GOOD.items() if k != "optimizer"},
            "zero_optimization": {"stage": 2, "offload_optimizer": {"device": "cpu"}},
        },
        {},
        "cpu-adam",
        COSTS,
        "zero.offload_optimizer",
        None,
    ),
    (
        GOOD | {"zero_optimization": {"stage": 0}, "data_types": {"grad_accum_dtype": "fp32"}},
        {},
        "stage-0-accumulation",
        STOPS,
        "data_types.grad_accum_dtype",
        ("data_types.grad_accum_dtype", None),
    ),
    (
        GOOD | {"activation_checkpointing": {"cpu_checkpointing": True}},
        {},
        "activation-checkpointing",
        NOTE,
        "activation_checkpointing",
        None,
    ),
    (
        with_zero(offload_optimizer={"device": "cpu"}),
        {"host_mem": "150"},
        "pinned-memory",
        COSTS,
        "zero.offload_optimizer.pin_memory",
        None,
    ),
]


@pytest.mark.parametrize(
    ("config", "options", "code", "severity", "key", "fixed"), CASES, ids=lambda v: v if isinstance(v, str) else ""
)
def test_finding(config, options, code, severity, key, fixed):
    parsed, found = findings(config, **options)
    key = key.replace("zero.", "zero_optimization.")
    matching = [finding for finding in found if (finding.code, finding.key) == (code, key)]
    assert len(matching) == 1, [finding.code for finding in found]
    (finding,) = matching
    assert finding.severity == severity
    assert finding.what and finding.why and finding.fix
    assert "\n" not in finding.what + finding.why + finding.fix
    if fixed is not None:
        dotted, value = fixed
        path = dotted.replace("zero.", "zero_optimization.").split(".")
        here = fixed_value(parsed, [finding])
        for name in path[:-1]:
            here = here[name]
        assert here.get(path[-1]) == value


def test_the_table_covers_every_code():
    import inspect
    import re

    sources = "".join(inspect.getsource(module) for module in (lint_keys, lint_runs, lint_costs))
    codes = set(re.findall(r'context\.finding\(\s*"([a-z0-9-]+)"', sources)) | {"no-bf16", "no-fp16"}
    codes |= {"ratio-below-stage-3", "legacy-stage1", "odd-allgather-bucket"}
    tested = {case[2] for case in CASES}
    apart = {"no-fp16", "full-precision", "gradient-buffer"}
    assert codes - tested == apart, "no preset lacks fp16 but has bf16; the others have tests of their own"


def test_fp32_is_seldom_meant():
    config = {key: value for key, value in GOOD.items() if key != "bf16"}
    parsed = parse_ds_config(json.dumps(config), name="ds.json")
    file = FileWords(name="ds.json", kind=DEEPSPEED, ds=parsed)
    made = file_plan(file, PlanOptions(model="llama-3.1-8b", gpus="8", gpu="a100-80g"))
    assert made.plan.job.precision is Precision.FP32
    # Priced as bf16 here: the rule asks the file what it wants, and the estimate what that would save.
    plan = replace(made.plan, job=replace(made.plan.job, precision=Precision.BF16))
    found = {finding.code: finding for finding in lint(parsed, made.reading, plan, estimate(plan))}
    assert found["full-precision"].cost_bytes == 0
    assert '"bf16": {"enabled": true}' in found["full-precision"].fix


def test_findings_are_in_order_and_have_places():
    text = (
        '{\n "train_micro_batch_size_per_gpu": 1,\n "bf16": {"enabled": true},\n "nebula": {},\n "unknown": 1, // x\n}'
    )
    _, found = findings(text)
    assert [(f.code, f.position.line) for f in found if f.position] == [
        ("removed-key", 4),
        ("trailing-comma", 5),
        ("comment", 5),
        ("unknown-key", 5),
    ]
    assert [SEVERITIES.index(f.severity) for f in found] == sorted(SEVERITIES.index(f.severity) for f in found)


MANY_RANKS = {"gpus": "256", "checkpointing": "full", "seq_len": "512"}
"""Little else is on a card then."""


def test_what_the_bucket_costs_is_what_the_fix_saves():
    """The bytes of a finding are the difference of two estimates, not a formula of its own."""
    config = with_zero(stage=3, reduce_bucket_size=1e9)
    parsed, found = findings(config, **MANY_RANKS)
    (bucket,) = [finding for finding in found if finding.code == "large-bucket"]
    before = _peak(parsed)
    after = _peak(parse_ds_config(json.dumps(fixed_value(parsed, [bucket])), name="fixed"))
    assert bucket.cost_bytes == before - after > GIB
    # Stage 3 holds one bucket of 2-byte elements all the time, and a copy of what is in it while it is reduced.
    assert bucket.cost_bytes >= 2 * (10**9 - 4096**2)
    assert "1.86 GiB" in bucket.what  # 2e9 bytes


def test_overlap_doubles_the_bucket_below_stage_3():
    _, found = findings(with_zero(reduce_bucket_size=1e9, overlap_comm=True))
    (bucket,) = [finding for finding in found if finding.code == "large-bucket"]
    assert "3.73 GiB" in bucket.what  # 1e9 elements x 2 bytes x 2 buffers = 4e9 bytes


def test_a_bucket_away_from_the_peak_says_so():
    """On two GPUs the step's gradients, 8 bytes per parameter of a shard, outweigh what backward holds."""
    _, found = findings(with_zero(reduce_bucket_size=1e9), gpus="2")
    (bucket,) = [finding for finding in found if finding.code == "large-bucket"]
    assert bucket.cost_bytes == 0
    assert "nothing at the peak, which is in step" in bucket.cost


def _peak(config):
    options = PlanOptions(model="llama-3.1-8b", gpu="a100-80g", **MANY_RANKS)
    made = file_plan(FileWords(name="x", kind=DEEPSPEED, ds=config), options)
    return max(estimate(made.plan).phases.values())


@pytest.mark.parametrize(
    ("key", "value", "code"),
    [
        ("stage3_param_persistence_threshold", 1e8, "large-persistence"),
        ("stage3_max_live_parameters", 8e9, "large-max-live"),
    ],
)
def test_large_stage_3_keys_are_priced(key, value, code):
    """Each on its own: with both, one keeps gathered what the other lets go."""
    _, found = findings(GOOD | {"zero_optimization": {"stage": 3, key: value}}, checkpointing="full")
    large = [finding for finding in found if finding.key.endswith(key)]
    assert [finding.code for finding in large] == [code]
    assert large[0].cost_bytes > 0


def test_pinned_memory_beyond_the_host():
    """8 GPUs x 17.8 GiB fit in 145 GiB, the powers of two do not."""
    config = with_zero(offload_optimizer={"device": "cpu"})
    parsed, found = findings(config, host_mem="143")
    (pinned,) = [finding for finding in found if finding.code == "pinned-memory"]
    assert "of 143 GiB" in pinned.what
    assert fixed_value(parsed, [pinned])["zero_optimization"]["offload_optimizer"]["pin_memory"] is False
    unpinned = with_zero(offload_optimizer={"device": "cpu", "pin_memory": False})
    assert not [finding for finding in findings(unpinned, host_mem="143")[1] if finding.code == "pinned-memory"]


def test_all_fixes_together_leave_nothing_that_stops():
    config = {
        "train_batch_size": 100,
        "train_micro_batch_size_per_gpu": 4,
        "bf16": {"enabled": True},
        "fp16": {"enabled": True},
        "optimizer": {"type": "OneBitAdam", "params": {"lr": 1e-5, "max_grad_norm": 1.0}},
        "nebula": {"enabled": False},
        "zero_optimization": {
            "stage": 2,
            "contigous_gradients": True,
            "mics_shard_size": 4,
            "cpu_offload": True,
            "offload_param": {"device": "cpu"},
            "reduce_bucket_size": 1e9,
            "allgather_bucket_size": 5,
            "stage3_prefetch_bucket_size": 5e8,
        },
    }
    parsed, found = findings(config)
    assert sum(finding.severity == STOPS for finding in found) >= 6
    again = fixed_value(parsed, found)
    _, left = findings(again)
    assert [finding.code for finding in left if finding.severity in (STOPS, USELESS)] == []
    assert config["zero_optimization"]["cpu_offload"] is True, "the parsed file itself is not touched"


def test_deepspeed_takes_what_the_fixes_make():
    from deepspeed.runtime.zero.config import DeepSpeedZeroConfig

    parsed, found = findings(
        with_zero(contigous_gradients=True, mics_shard_size=4, cpu_offload=True, reduce_bucket_size=1e9)
    )
    DeepSpeedZeroConfig(**fixed_value(parsed, found)["zero_optimization"])


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case[2] in ("unknown-key", "removed-key", "null") and case[3] == STOPS],
    ids=lambda c: c[4],
)
def test_what_is_said_to_stop_deepspeed_stops_deepspeed(case):
    from deepspeed.runtime.config import DeepSpeedConfig

    with pytest.raises(Exception):  # noqa: B017 (pydantic's, and DeepSpeed's own)
        DeepSpeedConfig(json.loads(json.dumps(case[0])))


def test_unsupported_optimizers_are_deepspeeds():
    from deepspeed.runtime.config import DEEPSPEED_OPTIMIZERS

    from zplan.inputs.dsoptimizer import GONE, OWN, TORCH

    assert set(OWN) == set(DEEPSPEED_OPTIMIZERS)
    import torch

    assert all(isinstance(getattr(torch.optim, name), type) for name in TORCH)
    assert not any(hasattr(torch.optim, name) for name in GONE)


def test_supported_optimizers_are_deepspeeds():
    from deepspeed.runtime.zero import utils

    from zplan.inputs.dsoptimizer import OWN, UNTESTED

    names = " ".join(kind.__name__.lower() for kind in utils.ZERO_SUPPORTED_OPTIMIZERS)
    for name in OWN:
        if name != "muon":  # added when it is first asked for
            assert (name in UNTESTED) != (name in names), name


def test_accelerates_keys_are_the_installed_ones():
    from dataclasses import fields

    from accelerate.commands.config.config_args import ClusterConfig

    assert {field.name for field in fields(ClusterConfig)} | {"dynamo_backend", "fp16"} == set(CLUSTER_KEYS)


def test_arguments_that_disagree_with_the_config():
    ds = parse_ds_config(json.dumps(GOOD), name="ds.json")
    file = FileWords(name="args.json", kind="trainer", words={"micro_batch": "4", "grad_accum": "1"}, ds=ds)
    options = PlanOptions(model="llama-3.1-8b", gpus="8", gpu="a100-80g")
    made = file_plan(file, options)
    (finding,) = lint_file(file, made.reading)
    assert (finding.code, finding.key) == ("trainer-mismatch", "per_device_train_batch_size")
    assert made.plan.job.micro_batch == 1, "the engine goes by its own config"


def _accelerate(text, tmp_path):
    path = tmp_path / "accelerate.yaml"
    path.write_text(text, encoding="utf-8")
    file = read_config_file(path)
    return [
        (finding.code, finding.key.split(".")[-1], finding.severity, finding.position.line)
        for finding in lint_file(file, None)
    ]


@pytest.mark.parametrize(
    ("section", "expected"),
    [
        ("fsdp_version: 2, fsdp_reshard_after_forward: true", []),
        ("fsdp_version: 2, fsdp_sharding_strategy: FULL_SHARD", [("no-effect", "fsdp_sharding_strategy", USELESS, 2)]),
        ("fsdp_version: 2, fsdp_use_orig_params: true", [("no-effect", "fsdp_use_orig_params", USELESS, 2)]),
        ("fsdp_sharding_strategy: FULL_SHARD, fsdp_use_orig_params: true", []),
        (
            "fsdp_cpu_ram_efficient_loading: true, fsdp_sync_module_states: false",
            [("fsdp-loading", "fsdp_sync_module_states", STOPS, 2)],
        ),
        (
            "fsdp_version: 2, fsdp_activation_checkpointing_offload: true",
            [("fsdp-checkpoints", "fsdp_activation_checkpointing_offload", STOPS, 2)],
        ),
    ],
)
def test_fsdp_sections(section, expected, tmp_path):
    assert _accelerate(f"distributed_type: FSDP\nfsdp_config: {{{section}}}\n", tmp_path) == expected


def test_what_fsdp2_drops_is_what_accelerate_drops(monkeypatch):
    from accelerate.utils import FullyShardedDataParallelPlugin

    monkeypatch.setenv("FSDP_VERSION", "2")
    for key in _OBSOLETE:
        monkeypatch.setenv(key.upper(), "BACKWARD_PRE" if "backward" in key else "true")
    plugin = FullyShardedDataParallelPlugin()
    for key in _OBSOLETE:
        assert getattr(plugin, key.removeprefix("fsdp_")) is None, key


def test_what_may_not_stand_beside_a_deepspeed_config(tmp_path, monkeypatch):
    (tmp_path / "ds.json").write_text(json.dumps(GOOD))
    lines = "".join(f"  {key}: 1\n" for key in _IN_THE_FILE)
    text = "distributed_type: DEEPSPEED\nmixed_precision: bf16\ndeepspeed_config:\n  deepspeed_config_file: ds.json\n"
    found = _accelerate(text + lines, tmp_path)
    assert {key for code, key, *_ in found if code == "twice"} == {*_IN_THE_FILE, "mixed_precision"}

    from accelerate.utils import DeepSpeedPlugin

    for key in (*_IN_THE_FILE, "mixed_precision"):
        monkeypatch.setenv("ACCELERATE_CONFIG_DS_FIELDS", key)
        with pytest.raises(ValueError, match="will be ignored"):
            DeepSpeedPlugin(hf_ds_config={"zero_optimization": {"stage": 2}})


def test_a_gradient_buffer_without_room_is_named():
    """Stage 1, backward the peak, on a card with too little: a buffer of 1 GB at least; with room nothing is said."""
    config = with_zero(stage=1)
    options = {"gpus": "8", "seq_len": "4096", "micro_batch": None, "checkpointing": "full"}
    config["train_micro_batch_size_per_gpu"] = 2
    _, found = findings(config, **options, gpu_mem="40GiB")
    (buffer,) = [finding for finding in found if finding.code == "gradient-buffer"]
    assert buffer.cost_bytes >= 1_000_000_000 and not buffer.edits
    _, found = findings(config, **options)
    assert not [finding for finding in found if finding.code == "gradient-buffer"]
    # Where it would have no room, leaving it off is not called a fault.
    off = with_zero(stage=1, contiguous_gradients=False) | {"train_micro_batch_size_per_gpu": 2}
    assert "contiguous-gradients" in {one.code for one in findings(off, **options)[1]}
    assert "contiguous-gradients" not in {one.code for one in findings(off, **options, gpu_mem="40GiB")[1]}
