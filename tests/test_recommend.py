"""zplan recommend: the path, the plan, the goals, and the verb as typed."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.advice.decision import decide
from zplan.advice.effort import efforts
from zplan.advice.goals import Goal
from zplan.advice.outcome import Rank, SearchResult, rank
from zplan.advice.recommend import recommend
from zplan.advice.search import search
from zplan.advice.space import Pins, Question, checkpointings, micro_batches, options, refusal, strategies
from zplan.advice.timing import step_time
from zplan.cli.app import run
from zplan.cli.lastplan import save_last_plan
from zplan.cli.options import PlanOptions
from zplan.errors import ZplanError
from zplan.inputs.cluster import build_cluster
from zplan.inputs.presets import load_model
from zplan.memory.estimate import estimate
from zplan.memory.verdict import peak_per_node_bytes
from zplan.spec import Attention, Checkpointing, Engine, Job, Lora, Loss, Offload, OffloadTo, Plan, Precision
from zplan.units import GIB, format_bytes

MODEL = load_model("llama-2-7b")
TINY = load_model("tinyllama-1.1b")


@pytest.fixture(autouse=True)
def _alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("ZPLAN_NO_CACHE", raising=False)
    monkeypatch.chdir(tmp_path)


def _question(
    gpus: int = 8, gib: int = 80, host_gib: int | None = 1024, batch: int | None = None, **words: Any
) -> Question:
    pins = words.pop("pins", Pins())
    model = words.pop("model", MODEL)
    card = words.pop("gpu", "a100-80g")
    host = None if host_gib is None else host_gib * GIB
    cluster, _ = build_cluster(gpus=gpus, gpu=card, gpu_mem_bytes=gib * GIB, host_mem_bytes=host)
    return Question(base=Plan(model=model, cluster=cluster, job=Job(**words)), pins=pins, global_batch=batch)


def _best_speed(result: SearchResult) -> float:
    assert result.best is not None
    assert result.best.time is not None
    return result.best.time.tokens_per_second_per_gpu


# The search


def test_the_winner_fits_and_is_the_fastest_that_does() -> None:
    question = _question(seq_len=4096)
    result = search(question)
    best = result.best
    assert best is not None
    assert best.memory == estimate(best.plan)
    assert best.memory.verdict == "fits"
    assert all(
        rank(o.best.plan, o.best.time, o.strategy) >= rank(best.plan, best.time, best.strategy)
        for o in result.outcomes
        if o.best is not None
    )
    assert result.plans_decided >= 5000
    assert result.plans_priced < result.plans_decided


def test_the_search_misses_nothing_that_brute_force_finds() -> None:
    """Every plan of one strategy priced one by one, against the few that the search looks at."""
    question = _question(2, 40, model=TINY, seq_len=4096, pins=Pins(stage=2, offload=Offload.NONE))
    (strategy,) = strategies(question)
    fastest = 0.0
    for setting in options(question, strategy):
        for saver in checkpointings(question):
            for micro, accum in micro_batches(question):
                job = replace(setting, checkpointing=saver, micro_batch=micro, grad_accum=accum)
                plan = replace(question.base, job=job)
                try:
                    priced = estimate(plan)
                except ZplanError:  # a loss kernel without a table
                    continue
                if priced.verdict == "fits":
                    time = step_time(plan)
                    assert time is not None
                    fastest = max(fastest, time.tokens_per_second_per_gpu)
    assert _best_speed(search(question)) == fastest


def test_partial_offload_exists() -> None:
    """Between nothing and everything offloaded there are plans: half-empty cards are a bug."""
    result = search(_question(4, 40, seq_len=2048, pins=Pins(stage=3, offload=Offload.OPTIMIZER)))
    best = result.best
    assert best is not None
    assert 0 < best.plan.job.deepspeed.offload_ratio < 1


@settings(max_examples=6, deadline=None)
@given(
    gpus=st.sampled_from([1, 2, 8]),
    gib=st.integers(16, 80),
    more=st.integers(1, 40),
    host=st.sampled_from([64, 256, 1024]),
    seq=st.sampled_from([1024, 4096]),
)
def test_more_memory_is_never_slower(gpus: int, gib: int, more: int, host: int, seq: int) -> None:
    def speed(card: int, ram: int) -> tuple[bool, float]:
        result = search(_question(gpus, card, ram, model=TINY, seq_len=seq))
        if result.best is None:
            return (False, 0.0)
        assert result.best.memory.verdict in ("fits", "tight")
        return (result.best.memory.verdict == "fits", _best_speed(result))

    small = speed(gib, host)
    assert speed(gib + more, host) >= small
    assert speed(gib, host * 2) >= small


@settings(max_examples=4, deadline=None)
@given(
    gpus=st.sampled_from([1, 2, 4, 8]),
    gib=st.sampled_from([16, 24, 40]),
    host=st.sampled_from([64, 256]),
    engine=st.sampled_from([Engine.DEEPSPEED, Engine.FSDP2]),
    method=st.sampled_from([None, Lora(rank=16)]),
)
def test_more_gpus_on_the_same_links_train_no_fewer_tokens(
    gpus: int, gib: int, host: int, engine: Engine, method: Lora | None
) -> None:
    """From one card to two a link comes in; from there to a whole node it is the same, and the job runs no slower in all."""

    def tokens(count: int) -> float:
        best = search(_question(count, gib, host, model=TINY, engine=engine, stage=3, lora=method)).best
        return 0.0 if best is None or best.time is None else count * best.time.tokens_per_second_per_gpu

    assert gpus == 1 or tokens(gpus * 2) >= tokens(gpus)


def test_ranks_that_swap_do_not_fill_the_host() -> None:
    """Each of 6 ranks pins 4 buffers of its largest sub-group, 1.15e9 elements whole and a tenth of that in finer groups."""
    model = load_model("pythia-6.9b")
    pins = Pins(micro_batch=1, offload=Offload.OPTIMIZER)
    speeds = []
    for gpus in (3, 6):
        question = _question(gpus, 16, 64, model=model, gpu="rtx-4080-16g", pins=pins)
        cluster = replace(question.base.cluster, nvme_capacity_bytes=2**40)
        best = search(replace(question, base=replace(question.base, cluster=cluster))).best
        assert best is not None and best.memory.verdict == "fits" and best.plan.job.offload_to is OffloadTo.NVME
        assert best.plan.job.deepspeed.sub_group_size == 100_000_000
        assert best.time is not None
        speeds.append(gpus * best.time.tokens_per_second_per_gpu)
    assert speeds[1] > speeds[0]


# The path


def test_the_path_has_the_estimates_numbers() -> None:
    question = _question(8, 40, seq_len=4096)
    result = search(question)
    steps = decide(question, result)
    assert steps[0].question.startswith("Do all states fit on one card")
    asked = [step for step in steps if step.shown is not None]
    assert len(asked) >= 3
    for step in asked:
        assert step.shown is not None
        priced = estimate(step.shown.plan)
        assert step.shown.memory == priced
        if step.missing_bytes is not None:
            high = priced.runtime.device_high_bytes
            assert step.missing_bytes == max(0, high - 40 * GIB)
            assert format_bytes(high) in step.because
            assert "missing" in step.because


def test_short_of_ram_at_the_peak_is_told_with_the_peak() -> None:
    """FSDP2 holds gradients in RAM from backward to step, on top of what it holds between steps; that peak decides."""
    model = load_model("falcon-40b")
    question = _question(5, 96, 512, model=model, gpu="rtx-pro-6000-96g", engine=Engine.FSDP2, stage=3, seq_len=512)
    found = recommend([replace(question, pins=Pins(stage=3, micro_batch=1, offload=Offload.ALL))])
    assert found.recommended is None
    step = found.decision[0]
    assert step.shown is not None
    host = step.shown.memory.host
    need = peak_per_node_bytes(step.shown.plan.cluster, host)
    assert host.per_node_bytes < 512 * GIB < need
    assert f"{format_bytes(need)} RAM per node of 512.00 GiB, {format_bytes(need - 512 * GIB)} missing" in step.because


def test_70b_on_one_node_runs_with_small_states() -> None:
    """meta-pytorch/torchtune#987: pure bf16 and a paged optimizer train Llama-2-70B on 8 A100, 51 GB each."""
    question = _question(8, 80, 512, model=load_model("llama-2-70b"))
    ways = {way.name: way for way in recommend([question]).if_nothing_fits}
    assert ways["bf16_pure"].fits is None and ways["optimizer_8bit"].fits is None
    both = ways["bf16_pure_paged"].fits
    assert both is not None and estimate(both.plan).verdict == "fits"
    # 2 P of weights and 2 P of gradients are 32 GiB per card; the states, 17 GiB in 8 bits, are not torch's.
    assert 32 * GIB < both.memory.allocated_peak_bytes < both.memory.runtime.device_expected_bytes - 16 * GIB
    names = list(ways)
    assert names.index("bf16_pure_paged") < names.index("gpus")


def test_one_card_with_no_engine_is_shown_more_cards() -> None:
    """16 P = 108 GB do not fit on one card; with an engine that shards they fit on several."""
    question = _question(1, 80, None, engine=Engine.SINGLE, pins=Pins(offload=Offload.NONE))
    ways = {way.name: way for way in recommend([question]).if_nothing_fits}
    gpus = ways["gpus"]
    assert gpus.flags == f"--gpus {gpus.value} --engine deepspeed"
    assert gpus.fits is not None and estimate(gpus.fits.plan).verdict == "fits"


def test_one_gpu_is_told_that_there_is_nothing_to_shard_over() -> None:
    question = _question(1, 40)
    steps = decide(question, search(question))
    assert steps[0].answer == "one"
    assert not any("sharding" in step.question for step in steps)


def test_a_small_model_needs_no_sharding() -> None:
    question = _question(8, 80, model=TINY)
    steps = decide(question, search(question))
    assert steps[0].answer == "yes"


def test_without_a_card_habit_decides() -> None:
    question = _question(8, 80, model=TINY)
    question = replace(question, base=replace(question.base, cluster=replace(question.base.cluster, gpu=None)))
    found = recommend([question])
    assert found.recommended is not None
    assert found.recommended.strategy.stage == 0
    assert found.recommended.time is None
    step = next(step for step in found.decision if step.question == "Is another way that fits faster?")
    # Accumulated to the same number of sequences, stage 0 sends 2 P per step however many micro-steps it takes; stage 2 and 3
    # send again in each of them.
    assert step.answer == "no"
    assert "stage 0 sends 2 P, recomputes nothing" in step.because


def test_without_a_card_what_only_a_card_can_tell_is_left_open() -> None:
    """24 GiB: stage 3 with part of the optimizer offloaded must recompute, with everything offloaded it copies more instead."""
    question = _question(8, 24, host_gib=None)
    question = replace(question, base=replace(question.base, cluster=replace(question.base.cluster, gpu=None)))
    step = next(s for s in recommend([question]).decision if s.question == "Is another way that fits faster?")
    assert step.answer == "depends on the card"
    assert "recomputes 100% of forward" in step.because and "recomputes nothing" in step.because


@pytest.mark.parametrize(
    ("stage", "offload", "accum", "sent", "copied"),
    [
        (0, Offload.NONE, 4, 2, 0),
        (1, Offload.NONE, 4, 2, 0),
        (2, Offload.NONE, 4, 5, 0),
        (3, Offload.NONE, 4, 12, 0),
        # Four times 1/8 of the gradients out, once 1/8 of the weights back.
        (2, Offload.OPTIMIZER, 4, 5, 5 / 8),
        # And every weight of the shard in twice per micro-step.
        (3, Offload.ALL, 4, 12, 5 / 8 + 2 * 4 / 8),
    ],
)
def test_effort_needs_no_card(stage: int, offload: Offload, accum: int, sent: float, copied: float) -> None:
    base = _question(8, 80).base
    cluster = replace(base.cluster, gpu=None)
    plan = replace(base, cluster=cluster, job=Job(stage=stage, offload=offload, grad_accum=accum))
    sequences, (found,) = efforts([plan])
    assert sequences == accum
    assert (found.sent, found.copied, found.recomputed) == (pytest.approx(sent), pytest.approx(copied), 0)


def test_efforts_are_compared_over_the_same_sequences() -> None:
    base = _question(8, 80).base
    plans = [replace(base, job=Job(stage=stage, micro_batch=micro)) for stage, micro in ((1, 3), (3, 4))]
    sequences, (first, third) = efforts(plans)
    assert sequences == 12
    assert (first.sent, third.sent) == (2, 9)
    assert first.no_more_than(third) and not third.no_more_than(first)


def test_what_does_not_fit_is_rejected_with_what_is_missing() -> None:
    found = recommend([_question(8, 40, seq_len=4096)])
    assert found.rejected
    for one in found.rejected:
        assert "missing" in one.reason
        assert one.plan.memory.verdict != "fits"


# Batches


@pytest.mark.parametrize("batch", [8, 64, 96, 1000])
def test_global_batch_is_kept_exactly(batch: int) -> None:
    best = search(_question(8, 80, batch=batch, seq_len=1024)).best
    assert best is not None
    assert best.plan.job.micro_batch * best.plan.job.grad_accum * 8 == batch


@pytest.mark.parametrize(
    ("batch", "pins", "words"),
    [
        (100, Pins(), "cannot be split evenly over 8 GPUs"),
        (64, Pins(micro_batch=3), "not a multiple of micro-batch 3"),
        (64, Pins(micro_batch=2, grad_accum=2), "not a multiple of micro-batch 2 x accumulation 2"),
    ],
)
def test_impossible_batches(batch: int, pins: Pins, words: str) -> None:
    with pytest.raises(ZplanError, match="global batch") as caught:
        micro_batches(_question(8, batch=batch, pins=pins))
    assert words in caught.value.message
    assert "--global-batch" in caught.value.hint or "number of GPUs" in caught.value.hint


def test_pins_stay() -> None:
    pins = Pins(stage=2, micro_batch=2, checkpointing=Checkpointing(kind="full"), loss=Loss.STANDARD)
    best = search(_question(8, 80, pins=pins)).best
    assert best is not None
    job = best.plan.job
    assert (job.stage, job.micro_batch, str(job.checkpointing), job.loss) == (2, 2, "full", Loss.STANDARD)


def test_engines_have_their_own_ways() -> None:
    ways = {engine: strategies(_question(engine=engine)) for engine in Engine}
    assert {way.stage for way in ways[Engine.FSDP2]} == {2, 3}
    assert all(way.offload is not Offload.OPTIMIZER for way in ways[Engine.FSDP2])
    assert [way.stage for way in ways[Engine.DDP]] == [0]


# Goals


def test_fewest_gpus() -> None:
    found = recommend([_question(8, 80, pins=Pins(offload=Offload.NONE))], Goal.MIN_GPUS)
    assert found.recommended is not None
    gpus = found.recommended.plan.world_size
    assert found.target.value == gpus
    assert 1 < gpus <= 8


def test_longest_sequence_and_largest_batch() -> None:
    longest = recommend([_question(2, 40, model=TINY)], Goal.MAX_SEQ)
    assert longest.recommended is not None
    assert longest.recommended.plan.job.seq_len == longest.target.value == TINY.max_seq_len
    batch = recommend([_question(1, 24, model=TINY)], Goal.MAX_MICRO_BATCH)
    assert batch.recommended is not None
    assert batch.recommended.plan.job.micro_batch == batch.target.value
    assert batch.target.value is not None
    pins = Pins(micro_batch=int(batch.target.value) + 1)
    more = search(_question(1, 24, model=TINY, pins=pins)).best
    assert more is None or more.memory.verdict != "fits"


def test_largest_model_of_a_list() -> None:
    models = [TINY, MODEL]
    small = recommend([_question(1, 16, 32, model=TINY)], Goal.LARGEST_MODEL, models=models)
    assert small.target.value == TINY.params
    large = recommend([_question(8, 80, model=TINY)], Goal.LARGEST_MODEL, models=models)
    assert large.target.value == MODEL.params


def test_cheapest_needs_a_price_and_weighs_it() -> None:
    questions = [_question(2, 80, model=TINY, gpu=card) for card in ("a100-80g", "h100-80g")]
    with pytest.raises(ZplanError, match="price"):
        recommend(questions, Goal.CHEAPEST)
    for prices, card in (((1.0, 100.0), "a100-80g"), ((100.0, 1.0), "h100-80g")):
        found = recommend(questions, Goal.CHEAPEST, prices=prices)
        assert found.recommended is not None
        assert found.recommended.plan.cluster.gpu is not None
        assert found.recommended.plan.cluster.gpu.name == card


# As typed

BASE = ("recommend", "--model", "llama-2-7b", "--gpus", "8", "--gpu", "a100-80g")


def _json(capsys: pytest.CaptureFixture[str], *args: str, code: int = 0) -> dict[str, Any]:
    assert run([*args, "--json"]) == code
    out, err = capsys.readouterr()
    assert err == ""
    value = json.loads(out)
    assert isinstance(value, dict)
    return value


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    value = _json(capsys, *BASE)
    assert set(value) >= {
        "schema_version", "model", "cluster", "decision", "recommended", "alternatives", "rejected",
        "if_nothing_fits", "config",
    }  # fmt: skip
    assert all(set(step) >= {"question", "answer", "because"} for step in value["decision"])
    assert value["recommended"]["gpu"]["verdict"] == "fits"
    assert value["recommended"]["time"]["tokens_per_second_per_gpu"] > 0
    assert value["rejected"][0]["plan"]["gpu"]["verdict"] == "oom"
    assert json.loads(value["config"]["content"])["zero_optimization"]["stage"] == value["recommended"]["stage"]


def test_text(capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*BASE]) == 0
    out = capsys.readouterr().out
    assert "RUN" in out.splitlines()[0]
    assert "zplan verify --model llama-2-7b --gpus 8 --gpu a100-80g" in out


def test_what_to_run_next_is_the_plan(capsys: pytest.CaptureFixture[str]) -> None:
    """The commands that are shown can be typed, and mean the plan that was recommended."""
    assert run([*BASE, "--host-mem", "512", "--precision", "bf16", "--seq-len", "1k"]) == 0
    shown = capsys.readouterr().out.splitlines()
    line = next(li for li in shown if li.strip().startswith("zplan verify"))
    words = line.split()[2:]
    # Buckets of its own are in a file that the command above it writes.
    write = next(li for li in shown if li.strip().startswith("zplan recommend"))
    assert run(write.split()[1:]) == 0
    capsys.readouterr()
    assert {"--precision", "--host-mem"} <= set(words)
    value = _json(capsys, *BASE, "--host-mem", "512", "--precision", "bf16", "--seq-len", "1k")
    priced = _json(capsys, "estimate", *words)
    assert len(priced["plans"]) == 1
    for key in ("stage", "offload", "micro_batch", "seq_len", "grad_accum", "checkpointing"):
        assert priced["plans"][0][key] == value["recommended"][key]


def test_nothing_fits(capsys: pytest.CaptureFixture[str]) -> None:
    args = ("recommend", "--model", "llama-2-7b", "--gpus", "1", "--gpu-mem", "8", "--host-mem", "16")
    value = _json(capsys, *args, code=3)
    assert value["recommended"] is None
    ways = value["if_nothing_fits"]
    assert ways["min_gpus"] > 1
    assert ways["min_gpu_mem_bytes"] > 8 * GIB
    assert run([*args]) == 3
    assert "Ways out" in capsys.readouterr().out


def test_write(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert run([*BASE, "--write", "ds_config.json"]) == 0
    written = json.loads((tmp_path / "ds_config.json").read_text())
    assert "zero_optimization" in written
    capsys.readouterr()
    assert run([*BASE, "--write", "ds_config.json"]) == 2
    assert "--force" in capsys.readouterr().err
    assert run([*BASE, "--write", "ds_config.json", "--force"]) == 0


def test_goes_on_from_the_last_estimate(capsys: pytest.CaptureFixture[str]) -> None:
    save_last_plan(PlanOptions(model="llama-2-7b", gpus="8", gpu="a100-80g"))
    value = _json(capsys, "recommend", "--seq-len", "1024")
    assert value["model"]["name"] == "llama-2-7b"
    assert value["recommended"]["seq_len"] == 1024
    assert "last estimate" in value["assumptions"][0]


def test_plan_file_comes_first(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    save_last_plan(PlanOptions(model="llama-2-7b", gpus="8", gpu="a100-80g"))
    (tmp_path / "zplan.yaml").write_text("model: tinyllama-1.1b\ngpus: 2\ngpu-mem: 40\n")
    value = _json(capsys, "recommend")
    assert value["model"]["name"] == "tinyllama-1.1b"
    assert "zplan.yaml" in value["assumptions"][0]


@pytest.mark.parametrize(
    ("args", "message", "hint"),
    [
        (("recommend",), "no model was named", "zplan recommend --params 7B"),
        ((*BASE, "--goal", "best"), "unknown goal", "--goal"),
        ((*BASE, "--goal", "fastet"), "unknown goal", "did you mean --goal fastest"),
        ((*BASE, "--goal", "cheapest"), "without a price", "--price"),
        ((*BASE, "--price", "-1"), "--price must be a positive number", "--price 2.50"),
        ((*BASE, "--price", "1,2,3"), "3 prices, and --gpu names 1", "one per card"),
        ((*BASE, "--global-batch", "9"), "cannot be split evenly", "--global-batch 8 or 16"),
        ((*BASE, "--goal", "max-seq", "--seq-len", "2k"), "--goal max-seq looks for what --seq-len fixes", "--seq-len"),
        ((*BASE, "--goal", "max-micro-batch", "--global-batch", "8"), "what --global-batch fixes", "--global-batch"),
        ((*BASE, "--format", "yaml"), "unknown format", "--format"),
        (("recommend", "--params", "7B", "--gpus", "8"), "how much memory a card has", "--gpu a100-80g"),
        ((*BASE, "--gpu", "a100-80g,h100-80g", "--gpu-mem", "40"), "several", "--gpu-mem out"),
    ],
)
def test_bad_input(capsys: pytest.CaptureFixture[str], args: tuple[str, ...], message: str, hint: str) -> None:
    assert run(list(args)) == 2
    out, err = capsys.readouterr()
    assert out == ""
    first, second = err.splitlines()
    assert first.startswith("error: ")
    assert message in first
    assert second.startswith("hint: ")
    assert hint in second


# What is written can be run, and priced


def _recommended(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    assert run(["recommend", *arguments, "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


@pytest.mark.parametrize(
    ("engine", "fmt", "name"),
    [
        ("deepspeed", "deepspeed", "ds_config.json"),
        ("deepspeed", "trainer", "args.json"),
        ("deepspeed", "accelerate", "launch.yaml"),
        ("fsdp2", "fsdp", "fsdp.json"),
        ("fsdp2", "accelerate", "launch.yaml"),
        ("fsdp1", "trainer", "args.json"),
        ("ddp", "accelerate", "launch.yaml"),
    ],
)
def test_every_written_config_prices_as_the_plan(
    capsys: pytest.CaptureFixture[str], engine: str, fmt: str, name: str
) -> None:
    base = ["--model", "tinyllama-1.1b", "--gpus", "4", "--gpu", "a100-40g", "--engine", engine]
    best = _recommended(capsys, *base, "--write", name, "--format", fmt)["recommended"]
    # What a config cannot say is said beside it; what it can say must not be needed.
    flags = ["--checkpointing", best["checkpointing"], "--loss", best["options"]["loss"]]
    if fmt in ("fsdp", "accelerate"):
        flags += ["--micro-batch", str(best["micro_batch"])]
    assert run(["check", name, *base[:6], *flags, "--json"]) == 0
    priced = json.loads(capsys.readouterr().out)["plans"][0]
    assert (priced["engine"], priced["stage"]) == (best["engine"], best["stage"])
    assert priced["gpu"]["allocated_peak_bytes"] == best["gpu"]["allocated_peak_bytes"]


def test_an_accelerate_yaml_comes_with_the_deepspeed_config_that_it_names(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """24 GB cards: buckets of their own, or a part of the optimizer offloaded, which accelerate's keys cannot say."""
    base = ["--params", "13B", "--gpus", "8", "--gpu-mem", "24", "--host-mem", "800"]
    command = [*base, "--write", "launch.yaml", "--format", "accelerate"]
    _recommended(capsys, *command)
    assert "deepspeed_config_file: ds_config.json" in (tmp_path / "launch.yaml").read_text(encoding="utf-8")
    assert json.loads((tmp_path / "ds_config.json").read_text(encoding="utf-8"))["zero_optimization"]["stage"] >= 2
    (tmp_path / "launch.yaml").unlink()
    # Neither is written where one of them is somebody's own.
    assert run(["recommend", *command]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "ds_config.json' exists" in err
    assert not (tmp_path / "launch.yaml").exists()


def test_the_command_to_verify_carries_what_has_no_flag(capsys: pytest.CaptureFixture[str]) -> None:
    base = ["--params", "13B", "--gpus", "8", "--gpu-mem", "24", "--host-mem", "800"]
    assert run(["recommend", *base]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]
    verify = next(line for line in lines if line.startswith("zplan verify"))
    assert verify.count("--ds-config ds_config.json") == 1


def test_no_recommendation_is_a_setting_that_a_published_run_failed_with() -> None:
    """Core rows that ran out of memory: asked with all their settings, the answer never says that they fit."""
    import sys

    sys.path.insert(0, str(Path(__file__).parents[1] / "benchmarks"))
    from rows import RowPlan, load_rows, row_plan

    seen = 0
    for row in load_rows():
        made = row_plan(row, memory=True)
        if not row.get("core") or str(row.get("outcome")).lower() != "oom" or not isinstance(made, RowPlan):
            continue
        job = made.plan.job
        known = Pins(
            stage=job.stage,
            offload=job.offload,
            micro_batch=job.micro_batch,
            checkpointing=job.checkpointing,
            loss=job.loss,
            grad_accum=job.grad_accum,
        )
        try:
            pinned, free = (recommend([Question(base=made.plan, pins=pins)]) for pins in (known, Pins()))
        except ZplanError:
            continue
        seen += 1
        assert pinned.recommended is None or pinned.recommended.memory.verdict == "tight", row["id"]
        assert free.recommended is None or free.recommended.plan.job != job, row["id"]
    assert seen >= 8


def test_what_is_closest_to_fitting_is_measured_by_what_is_shortest() -> None:
    """A 70B model on two 16 GB cards of a node with 32 GiB: offload all but fits the cards, and misses the RAM by far."""
    question = _question(2, 16, host_gib=32, model=load_model("llama-2-70b"))
    last = recommend([question]).decision[-1]
    assert last.answer == "no" and last.shown is not None
    need = last.shown.memory.host.per_node_bytes / (32 * GIB)
    shortest = max(need, last.shown.high_bytes / (16 * GIB))
    for outcome in search(question).outcomes:
        if outcome.smallest is not None:
            host = outcome.smallest.memory.host.per_node_bytes / (32 * GIB)
            assert shortest <= max(host, outcome.smallest.high_bytes / (16 * GIB))


def test_a_speed_that_is_as_good_as_equal_is_said_to_be() -> None:
    """Adapters on two 24 GB cards: offloading their few states makes room for one sequence more, and no speed to speak of."""
    question = _question(2, 24, gpu="rtx-4090-24g", model=load_model("llama-3.1-8b"), lora=Lora(rank=16))
    found = recommend([question])
    step = next(step for step in found.decision if step.question == "Is another way that fits faster?")
    speeds = sorted(o.time.tokens_per_second_per_gpu for o in found.alternatives if o.time is not None)
    assert found.recommended is not None and found.recommended.time is not None
    equal = found.recommended.time.tokens_per_second_per_gpu < 1.01 * speeds[-1]
    assert ("as good as equal" in step.because) == (step.answer.startswith("yes") and equal)


def test_the_largest_model_says_when_nothing_larger_was_tried(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recommend", "--params", "7B", "--gpus", "64", "--gpu-mem", "80", "--goal", "largest-model"]) == 0
    assert "the largest that was tried" in " ".join(capsys.readouterr().out.split())


def test_an_accelerate_config_called_json_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--model", "gpt2", "--gpus", "2", "--gpu", "a100-80g", "--engine", "fsdp2"]
    assert run(["recommend", *words, "--format", "accelerate", "--write", "config.json"]) == 0
    assert json.loads(Path("config.json").read_text(encoding="utf-8"))["distributed_type"] == "FSDP"
    capsys.readouterr()
    assert run(["check", "config.json", *words[:6], "--micro-batch", "1", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plans"][0]["engine"] == "fsdp2"


def brute_force(question: Question) -> Rank | None:
    """The best rank of all plans, each priced by itself: of those that surely fit, or else by their expected value."""
    found: dict[bool, list[Rank]] = {True: [], False: []}
    for strategy in strategies(question):
        for setting in options(question, strategy) if refusal(question, strategy) is None else ():
            for saver in checkpointings(question):
                for micro, accum in micro_batches(question):
                    job = replace(setting, checkpointing=saver, micro_batch=micro, grad_accum=accum)
                    plan = replace(question.base, job=job)
                    priced = estimate(plan)
                    if priced.verdict in ("fits", "tight"):
                        found[priced.verdict == "fits"].append(rank(plan, step_time(plan), strategy))
    return min(found[True] or found[False], default=None)


ODD: dict[str, tuple[dict[str, Any], Job, Pins, int | None]] = {
    # Gradients larger than a bucket of 50e6 elements are reduced from where they lie: more than in a larger bucket.
    "a bucket smaller than a tensor": (
        {"model": "llama-2-13b", "gpus": 4, "gpu": "a100-80g", "gpu_mem_bytes": int(48.1 * 2**30)},
        Job(precision=Precision.BF16_PURE, optimizer="paged_adamw_8bit"),
        Pins(stage=1, micro_batch=4, loss=Loss.CHUNKED),
        None,
    ),
    "stacked experts": (
        {"model": "mixtral-8x7b", "gpus": 2, "gpu": "v100-32g", "gpu_mem_bytes": 48 * 2**30},
        Job(precision=Precision.FP16, attention=Attention.EAGER, seq_len=4096),
        Pins(stage=3, micro_batch=4, offload=Offload.ALL),
        None,
    ),
    # Gradients that wait for a step are held beside a micro-batch of 4, not beside one of 8.
    "no accumulation with the largest batch": (
        {"model": "phi-2", "gpus": 16, "gpu": "a100-40g", "host_mem_bytes": 2**40},
        Job(seq_len=512, optimizer="paged_adamw_8bit"),
        Pins(stage=0, checkpointing=Checkpointing(kind="every-k", every=4), loss=Loss.CHUNKED),
        128,
    ),
}


@pytest.mark.parametrize("case", ODD)
def test_where_memory_is_not_monotone_the_search_finds_what_brute_force_finds(case: str) -> None:
    hardware, job, pins, batch = ODD[case]
    model = load_model(hardware["model"])
    cluster, _ = build_cluster(**{key: value for key, value in hardware.items() if key != "model"})
    question = Question(base=Plan(model=model, cluster=cluster, job=job), pins=pins, global_batch=batch)
    best = search(question).best
    assert best is not None
    assert rank(best.plan, best.time, best.strategy) == brute_force(question)
