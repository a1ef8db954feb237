"""Holds verdicts against public reports: ``python benchmarks/reports.py [--data FILE] [--json]``.

A report is answered when its setting is known well enough, and when what it leaves out (batch, sequence, checkpointing)
does not decide: it is priced with the least and the most that is usual, and both must agree. A report that ran out of
memory is right when the verdict is not ``fits``; one that ran, when it is not ``oom``. ``terms`` counts reports that
quote the size of the failed allocation; ``term_first`` those where the first tensor named for it is the one that the
report's own words and arithmetic name.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rows import NoPlanError, card_preset, load_rows

from zplan.errors import ZplanError
from zplan.inputs.count import spec_of_count
from zplan.inputs.presets import MODELS, find, load_model
from zplan.memory.estimate import estimate
from zplan.memory.moments import Estimate
from zplan.spec import (
    Attention,
    Checkpointing,
    ClusterSpec,
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
from zplan.units import GIB

DATA = Path(__file__).parent / "data" / "reports.yaml"
NOT_A_STEP = {
    "save_oom": "fails while saving, not in a step",
    "resume_oom": "fails while resuming, not in a step",
    "load_peak": "fails while loading the model",
    "eval_spike": "fails in evaluation",
    "rl_multi_model": "several models share the cards",
    "tp_combo": "splits the model",
    "vlm": "a vision tower comes on top",
}
"""Themes of reports whose cause lies outside of a training step that zplan plans."""
EXPECTED_TERMS = (
    (r"logits", ("logits", "logits_grad")),
    (r"adam state|exp_avg|optimizer-state|sqrt", ("optimizer", "optimizer_temporaries", "grads_fp32", "master")),
    (r"bucket", ("reduce_bucket",)),
    (r"all-gather|gathered", ("gathered_params",)),
)
"""Words of a report -> term keys that they name; the first that is found counts."""
Report = Mapping[str, Any]


def plans(report: Report) -> list[Plan]:
    """The plans that a report can mean: one if it says everything, two (least and most) where it does not.

    Raises:
        NoPlanError: too little is known, or the cause is outside of what a plan says.
    """
    for theme in report.get("themes", ()):
        if theme in NOT_A_STEP:
            raise NoPlanError(NOT_A_STEP[theme])
    setup = {**report["setup"], "framework": report.get("framework")}
    lists = [
        key
        for key in ("gpus", "stage", "params_b", "gpu_mem_gb", "offload", "seq_len")
        if isinstance(setup.get(key), list)
    ]
    if not lists:
        return _one(setup)
    if len(lists) > 1 or report["outcome"]["type"] != "measured":
        raise NoPlanError(f"several settings in one report ({', '.join(lists)})")
    # What was measured in several settings ran in all of them.
    return [plan for value in setup[lists[0]] for plan in _one({**setup, lists[0]: value})]


def _one(setup: Mapping[str, Any]) -> list[Plan]:
    """The plans that one setting can mean."""
    if "cp" in setup or "parallel" in setup:
        raise NoPlanError("splits the model or the sequence")
    model = _model(setup)
    cluster = _cluster(setup)
    stage, offload, to, engine = _strategy(setup, cluster.gpus, str(setup.get("framework", "")).lower())
    found = []
    for micro, seq, saver in _shapes(setup):
        job = Job(
            engine=engine,
            stage=stage,
            offload=offload,
            offload_to=to,
            precision=_precision(setup, cluster),
            micro_batch=micro,
            seq_len=min(seq, model.max_seq_len),
            grad_accum=setup["grad_accum"] if isinstance(setup.get("grad_accum"), int) else 1,
            checkpointing=saver,
            attention=Attention.SDPA if str(setup.get("gpu", "")).lower().startswith("v100") else Attention.FLASH,
            lora=Lora(rank=16) if str(setup.get("method")) in ("lora", "qlora") else None,
            quantize=Quantize.NF4 if str(setup.get("method")) == "qlora" else None,
        )
        found.append(Plan(model=model, cluster=cluster, job=job))
    return found


def _model(setup: Mapping[str, Any]) -> ModelSpec:
    name = str(setup.get("model", "")).lower().replace(" ", "-")
    params = setup.get("params_b")
    for word in (name, re.sub(r"-(chat|instruct|base).*$", "", name)):
        if word and find(MODELS, word) is not None:
            return load_model(word)
    if not isinstance(params, int | float):
        raise NoPlanError("the size of the model is not known")
    if setup.get("moe") or re.search(r"a\d+b|moe", name):
        raise NoPlanError("a mixture of experts that is no preset")
    return replace(spec_of_count(f"{params}B"), notes=())


def _cluster(setup: Mapping[str, Any]) -> ClusterSpec:
    gpus = setup.get("gpus")
    if not isinstance(gpus, int):
        raise NoPlanError("the number of GPUs is not known")
    memory = setup.get("gpu_mem_gb")
    card = str(setup.get("gpu", "")).split("/")[0].strip()
    gpu = None
    if card:
        try:
            gpu = card_preset(f"{card}-{memory}GB" if memory else card)[0]
        except NoPlanError:
            gpu = None
    if gpu is None and memory is None and not setup.get("host"):
        raise NoPlanError("the memory of a card is not known")
    capacity = gpu.memory_bytes if gpu is not None else int(float(memory) * GIB) if memory is not None else None
    nodes = setup["nodes"] if isinstance(setup.get("nodes"), int) else max(1, gpus // 8) if gpus % 8 == 0 else 1
    host = setup.get("host_ram_gb")
    return ClusterSpec(
        gpus=gpus,
        nodes=nodes if gpus % nodes == 0 else 1,
        gpu=gpu,
        gpu_capacity_bytes=capacity,
        host_capacity_bytes=int(host * 1e9) if isinstance(host, int | float) else None,
    )


def _strategy(setup: Mapping[str, Any], gpus: int, framework: str) -> tuple[int, Offload, OffloadTo, Engine]:
    """Stage, offload and engine from the report's words."""
    words = str(setup.get("offload", "none")).lower()
    stage = setup.get("stage")
    if isinstance(stage, str):
        match = re.fullmatch(r"([0-3])( offload)?", stage)
        if match is None and stage != "none":
            raise NoPlanError(f"stage {stage!r} is not one stage")
        words = "cpu" if match is not None and match[2] and words == "none" else words
        stage = int(match[1]) if match is not None else 0
    if stage is None and "fsdp" in framework:
        newer = "fsdp2" in framework or "torchtune" in framework
        offload = Offload.ALL if "cpu" in words or "param" in words else Offload.NONE
        return 3, offload, OffloadTo.CPU, Engine.FSDP2 if newer else Engine.FSDP1
    if stage is None:
        if gpus > 1:
            raise NoPlanError("which stage ran is not said")
        stage = 0
    if ", then" in words or "reported" in words or "per estimate" in words:
        words = "none"
    if words == "none":
        return stage, Offload.NONE, OffloadTo.CPU, Engine.DEEPSPEED if gpus > 1 or stage else Engine.SINGLE
    to = OffloadTo.NVME if "nvme" in words else OffloadTo.CPU
    everything = "param" in words or "all" in words
    if stage == 0:
        raise NoPlanError("offload without a stage")
    return stage, Offload.ALL if everything and stage == 3 else Offload.OPTIMIZER, to, Engine.DEEPSPEED


def _precision(setup: Mapping[str, Any], cluster: ClusterSpec) -> Precision:
    words = str(setup.get("precision", "")).lower()
    if "fp16" in words or (not words and cluster.gpu is not None and "bf16" in cluster.gpu.lacks):
        return Precision.FP16
    if "pure" in words:
        return Precision.BF16_PURE
    return Precision.FP32 if words == "fp32" else Precision.BF16


def _shapes(setup: Mapping[str, Any]) -> Iterator[tuple[int, int, Checkpointing]]:
    """(micro-batch, sequence, checkpointing): as said, or the least and the most that is usual."""
    micro, seq = setup.get("micro_batch"), setup.get("seq_len")
    saver = setup.get("grad_ckpt", setup.get("act_ckpt"))
    known = isinstance(micro, int) and isinstance(seq, int) and saver is not None
    full = Checkpointing(kind="full")
    least = (micro if isinstance(micro, int) else 1, seq if isinstance(seq, int) else 256)
    yield (*least, full if saver in (None, True, "full") else Checkpointing())
    if not known:
        most = (micro if isinstance(micro, int) else 8, seq if isinstance(seq, int) else 2048)
        yield (*most, full if saver in (True, "full") else Checkpointing())


def expected(report: Report) -> str:
    """What happened: ``oom`` or ``ran``.

    Raises:
        NoPlanError: something else was reported.
    """
    kind, detail = report["outcome"]["type"], str(report["outcome"].get("detail", "")).lower()
    if kind in ("gpu_oom", "host_oom"):
        return "oom"
    if kind == "measured" and not re.search(r"oom|killed|exhaust|doubled|fails|minimum", detail):
        return "ran"
    raise NoPlanError(f"reports no single outcome ({kind})")


def judge(report: Report) -> tuple[str, str]:
    """``right`` or ``wrong``, and why.

    Raises:
        NoPlanError: not answered.
    """
    wanted = expected(report)
    results = [estimate(plan) for plan in plans(report)]
    if report["outcome"]["type"] == "host_oom":
        verdicts = [one.host.verdict for one in results]
        if None in verdicts:
            raise NoPlanError("the RAM of a node is not known")
    else:
        verdicts = [one.verdict for one in results]
    good = [verdict != "fits" if wanted == "oom" else verdict != "oom" for verdict in verdicts]
    if len(set(good)) > 1:
        raise NoPlanError("depends on a batch, a sequence or checkpointing that the report does not give")
    return "right" if good[0] else "wrong", f"{wanted}, but called {verdicts[0]}: {_numbers(results)}"


def _numbers(results: Sequence[Estimate]) -> str:
    """What was predicted, for the least and the most that the report can mean."""
    cluster = results[0].plan.cluster
    high = " to ".join(f"{one.runtime.device_high_bytes / GIB:.1f}" for one in results)
    text = f"{high} GiB per GPU at most, of {(cluster.gpu_capacity_bytes or 0) / GIB:.1f}"
    if cluster.host_capacity_bytes is not None:
        ram = " to ".join(f"{one.host.per_node_bytes / GIB:.1f}" for one in results)
        text += f"; {ram} GiB of RAM per node, of {cluster.host_capacity_bytes / GIB:.1f}"
    return text


def quoted(report: Report) -> str | None:
    """The allocation that failed, as the message prints it."""
    measured = report["outcome"].get("measured") or {}
    if "tried_gib" in measured:
        return f"{float(measured['tried_gib']):.2f} GiB"
    return f"{float(measured['tried_mib']):.2f} MiB" if "tried_mib" in measured else None


def names_the_term(report: Report) -> bool:
    """Whether the first tensor named for the failed allocation is the one that the report names.

    Raises:
        NoPlanError: the report names none, or is no plan.
    """
    from zplan.advice.oom import decode
    from zplan.inputs.oomlog import oom_from_text

    words = " ".join(str(part) for part in (report["outcome"].get("detail"), report.get("check"))).lower()
    keys = next((keys for pattern, keys in EXPECTED_TERMS if re.search(pattern, words)), None)
    if keys is None:
        raise NoPlanError("the report names no tensor")
    plan = plans(report)[-1]
    message = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {quoted(report)}."
    found = decode(oom_from_text(message).messages[0], None, plan=plan, with_advice=False)
    return bool(found.candidates) and found.candidates[0].tensor.term in keys


def run(path: Path | None) -> dict[str, Any]:
    """The whole answer."""
    reports = load_rows(path or DATA)
    right = terms = first = 0
    wrong, unanswered = [], []
    for report in reports:
        try:
            verdict, why = judge(report)
            right += verdict == "right"
            if verdict == "wrong":
                wrong.append({"id": report["id"], "why": why})
        except (NoPlanError, ZplanError) as error:
            unanswered.append({"id": report["id"], "why": str(error)})
        if quoted(report) is None:
            continue
        try:
            first += names_the_term(report)
            terms += 1
        except (NoPlanError, ZplanError):
            continue
    return {
        "reports": len(reports),
        "answered": right + len(wrong),
        "verdict_right": right,
        "verdict_wrong": wrong,
        "terms": terms,
        "term_first": first,
        "unanswered": unanswered,
    }


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--data", type=Path, help="YAML with reports like benchmarks/data/reports.yaml")
    parser.add_argument("--json", action="store_true", help="one JSON object on stdout")
    options = parser.parse_args()
    result = run(options.data)
    if options.json:
        print(json.dumps(result, indent=2))
        return
    print(f"{result['answered']} of {result['reports']} reports answered, {result['verdict_right']} verdicts right")
    print(f"{result['terms']} failed allocations with a named tensor, {result['term_first']} named first")
    for one in result["verdict_wrong"]:
        print(f"  wrong {one['id']}: {one['why']}")
    for one in result["unanswered"]:
        print(f"  not answered {one['id']}: {one['why']}")


if __name__ == "__main__":
    main()
