"""Cases of the accuracy benchmark: how one becomes a plan, how a grid of them is drawn, and how the dry run answers them."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from zplan.inputs.hf import read_config
from zplan.inputs.presets import list_models, load_model
from zplan.spec import (
    Attention,
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

ZERO_KEYS = {
    "stage3_prefetch_bucket_size": "prefetch_bucket_size",
    "stage3_param_persistence_threshold": "param_persistence_threshold",
    "stage3_max_live_parameters": "max_live_parameters",
    "stage3_max_reuse_distance": "max_reuse_distance",
    "zero_quantized_weights": "quantized_weights",
    "zero_quantized_gradients": "quantized_gradients",
}
"""Keys of ``zero_optimization`` whose field in DeepSpeedOptions has another name."""


def checkpointing_of(value: object) -> Checkpointing:
    """A case's ``checkpointing``: a boolean, ``none``, ``full``, ``selective`` or ``every-K``."""
    if isinstance(value, bool) or value is None:
        return Checkpointing(kind="full" if value else "none")
    text = str(value)
    if text.startswith("every-"):
        return Checkpointing(kind="every-k", every=int(text.removeprefix("every-")))
    return Checkpointing(kind=text)


def _options(case: Mapping[str, Any]) -> tuple[DeepSpeedOptions, int]:
    """The case's ZeRO options, and its hpZ partition size."""
    raw = dict(case.get("zero") or {})
    hpz = int(raw.pop("zero_hpz_partition_size", 1))
    ratio = 1.0
    pin = True
    for key in ("offload_optimizer", "offload_param"):
        section = raw.pop(key, None)
        if isinstance(section, Mapping):
            ratio = section.get("ratio", ratio)
            pin = section.get("pin_memory", pin)
    values: dict[str, Any] = {ZERO_KEYS.get(key, key): value for key, value in raw.items() if key != "stage"}
    for key, value in values.items():
        if isinstance(value, float) and key != "offload_ratio":
            values[key] = int(value)
    values.update(offload_ratio=ratio, pin_memory=pin, gradient_clipping=float(case.get("clip") or 0.0))
    dtype = (case.get("data_types") or {}).get("grad_accum_dtype")
    return DeepSpeedOptions(grad_accum_dtype=dtype, **values), hpz


def case_to_plan(case: Mapping[str, Any]) -> Plan:
    """The plan that a case describes.

    Raises:
        ZplanError: The model's family is not known.
        TypeError: A ZeRO option is not known.
    """
    model = read_config(case["model"], name=str(case["model"].get("model_type", "model")), source="case")
    options, hpz = _options(case)
    world = int(case.get("world", 1))
    lora = case.get("lora")
    job = Job(
        engine=Engine(case["engine"]),
        stage=int(case.get("stage", 0)),
        offload=Offload(case.get("offload") or "none"),
        offload_to=OffloadTo(case.get("offload_to", "cpu")),
        precision=Precision(case.get("precision", "bf16")),
        optimizer=str(case.get("optimizer", "adamw")),
        micro_batch=int(case.get("micro_batch", 1)),
        seq_len=int(case.get("seq_len", 2048)),
        grad_accum=int(case.get("grad_accum", 1)),
        checkpointing=checkpointing_of(case.get("checkpointing", "none")),
        attention=Attention(case.get("attention", "flash")),
        loss=Loss(case.get("loss", "standard")),
        lora=None if lora is None else Lora(rank=int(lora), targets=tuple(case.get("lora_targets", ("all-linear",)))),
        hpz=hpz,
        zero_init=case.get("zero_init"),
        rank=int(case.get("rank", 0)),
        deepspeed=options,
    )
    nodes = max(1, world // 8) if world % 8 == 0 else 1
    return Plan(model=model, cluster=ClusterSpec(gpus=world, nodes=nodes), job=job)


FAMILIES = (
    "llama",
    "mistral",
    "qwen2",
    "qwen3",
    "gemma",
    "gemma2",
    "gemma3_text",
    "phi3",
    "gpt2",
    "gpt_neox",
    "opt",
    "falcon",
    "glm4",
    "olmo2",
    "mixtral",
    "qwen3_moe",
)
"""Families of the standard grid."""


def grid_models() -> dict[str, list[dict[str, Any]]]:
    """Configs of the presets of each family of the grid."""
    found: dict[str, list[dict[str, Any]]] = {family: [] for family in FAMILIES}
    for name in list_models():
        model = load_model(name)
        if model.family in found and model.config_json is not None:
            found[model.family].append(json.loads(model.config_json))
    return found


ENGINES = (
    ("deepspeed", 0),
    ("deepspeed", 1),
    ("deepspeed", 2),
    ("deepspeed", 2),
    ("deepspeed", 3),
    ("deepspeed", 3),
    ("deepspeed", 3),
    ("fsdp2", 3),
    ("fsdp2", 3),
    ("fsdp2", 2),
    ("fsdp1", 3),
    ("fsdp1", 2),
    ("ddp", 0),
    ("single", 0),
)


def draw_cases(seed: int, count: int) -> Iterator[dict[str, Any]]:
    """Seeded random cases: model x engine x stage x offload x ranks x batch x checkpointing x knobs."""
    rng = random.Random(seed)
    models = grid_models()
    families = [family for family in FAMILIES if models[family]]
    for _ in range(count):
        engine, stage = rng.choice(ENGINES)
        config = rng.choice(models[rng.choice(families)])
        longest = int(config.get("max_position_embeddings") or config.get("n_positions") or 2048)
        seq = rng.choice(
            [length for length in (512, 1024, 2048, 4096, 8192, 16384, 32768, 131072) if length <= max(512, longest)]
        )
        case: dict[str, Any] = {
            "engine": engine,
            "stage": stage,
            "offload": "none",
            "world": 1 if engine == "single" else rng.choice((1, 2, 4, 7, 8, 16, 64, 256, 1024)),
            "micro_batch": rng.choice((1, 1, 1, 2, 4, 8, 32)),
            "seq_len": seq,
            "grad_accum": rng.choice((1, 1, 1, 2)),
            "checkpointing": rng.choice(("none", "full", "full", "every-2")),
            "attention": "flash" if rng.random() < 0.8 or seq > 4096 else rng.choice(("eager", "sdpa")),
            "optimizer": rng.choice(("adamw", "adamw", "adamw", "adamw_torch", "adamw_torch_fused", "sgd")),
            "model": config,
        }
        if engine == "deepspeed":
            _draw_deepspeed(rng, case, stage, config)
        elif rng.random() < 0.15:
            case["precision"] = rng.choice(("bf16-pure", "fp32"))
        if rng.random() < 0.1:
            case["loss"] = rng.choice(("chunked", "fused"))
        if rng.random() < 0.12 and engine != "fsdp1":
            case["lora"] = rng.choice((8, 16, 64))
        if rng.random() < 0.1:
            case["rank"] = case["world"] - 1
        yield case


def _draw_zero_options(rng: random.Random, stage: int, config: Mapping[str, Any]) -> dict[str, Any]:
    zero: dict[str, Any] = {}
    if stage and rng.random() < 0.3:
        zero["overlap_comm"] = rng.random() < 0.5
    if stage and rng.random() < 0.4:
        hidden = int(config.get("hidden_size") or config.get("n_embd") or 4096)
        if rng.random() < 0.5:
            zero["reduce_bucket_size"] = hidden * hidden
            if stage == 3:
                zero["stage3_prefetch_bucket_size"] = int(0.9 * hidden * hidden)
                zero["stage3_param_persistence_threshold"] = 10 * hidden
        else:
            zero["reduce_bucket_size"] = rng.choice((50_000_000, 200_000_000))
    if stage == 3 and rng.random() < 0.3:
        zero["sub_group_size"] = rng.choice((100_000_000, 1_000_000_000_000))
    if stage == 3 and rng.random() < 0.2:
        zero["stage3_max_live_parameters"] = rng.choice((100_000_000, 3_000_000_000))
    return zero


def _draw_deepspeed(rng: random.Random, case: dict[str, Any], stage: int, config: Mapping[str, Any]) -> None:
    if stage in (1, 2) and rng.random() < 0.25:
        case["offload"] = "optimizer"
    if stage == 3 and rng.random() < 0.35:
        case["offload"] = rng.choice(("optimizer", "all"))
    if case["offload"] != "none":
        case["optimizer"] = "adamw"
    zero = _draw_zero_options(rng, stage, config)
    if stage == 3 and rng.random() < 0.2:
        case["zero_init"] = False
    if rng.random() < 0.2:
        case["precision"] = rng.choice(("fp16", "fp16", "fp32"))
    if rng.random() < 0.3:
        case["clip"] = 1.0
    if zero:
        case["zero"] = zero


def run_case(case: Mapping[str, Any], timeout_s: float = 300.0) -> dict[str, Any]:
    """The dry run's result, or ``{"error": ...}``."""
    try:
        done = subprocess.run(
            [sys.executable, "-m", "zplan.verify.dryrun"],
            input=json.dumps(case),
            capture_output=True,
            text=True,
            timeout=timeout_s,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"error": f"no answer within {timeout_s:.0f} s"}
    try:
        result = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        return {"error": (done.stderr or done.stdout or "no output")[-400:]}
    return dict(result)


def run_cases(cases: list[dict[str, Any]], jobs: int = 2) -> Iterator[dict[str, Any]]:
    """Answers cases side by side; yields ``{"case", "result"}`` in order."""
    with ThreadPoolExecutor(jobs) as pool:
        for case, result in zip(cases, pool.map(run_case, cases), strict=True):
            yield {"case": case, "result": result}
