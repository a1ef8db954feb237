"""Rules about what keeps a run from starting: DeepSpeed's own assertions, and the hardware's limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from zplan.advice.lint import COSTS, STOPS, Context, Edit, Finding, Rule
from zplan.inputs.deepspeed import ZERO, device, zero_section, zero_value
from zplan.inputs.dsbatch import NAMES
from zplan.inputs.dskeys import ZERO_KEYS
from zplan.inputs.dsoptimizer import GONE, OWN, TORCH, UNTESTED, optimizer_type, uses_torch_adam
from zplan.inputs.dsprecision import bf16_name, enabled
from zplan.inputs.dsvalues import AUTO
from zplan.spec import Offload, Precision


def _batch(context: Context) -> Iterable[Finding]:
    batch = context.reading.batch
    if batch.problem is None:
        return ()
    gpus = context.plan.cluster.gpus
    product = batch.micro_batch * batch.grad_accum * gpus
    path = next(((name,) for name in NAMES if context.config.get((name,)) is not None), ("train_batch_size",))
    edits = [Edit(path=("train_batch_size",), action="set", value=product)]
    if batch.train is None:
        edits = [Edit(path=("train_micro_batch_size_per_gpu",), action="set", value=batch.micro_batch)]
    return (
        context.finding(
            "batch-arithmetic",
            STOPS,
            path,
            what=batch.problem,
            why="train batch = micro-batch x accumulation x ranks; DeepSpeed and the Trainer refuse anything else",
            fix=f"give train_micro_batch_size_per_gpu {batch.micro_batch} and gradient_accumulation_steps "
            f"{batch.grad_accum}: a train batch of {product} on {gpus} GPU{'s' if gpus > 1 else ''}",
            cost="no start",
            edits=tuple(edits),
        ),
    )


def _formats(context: Context) -> Iterator[Finding]:
    config = context.config
    bf16 = bf16_name(config)
    if enabled(config, bf16) and enabled(config, "fp16"):
        yield context.finding(
            "fp16-and-bf16",
            STOPS,
            ("fp16", "enabled"),
            what="fp16 and bf16 are both on",
            why="a run has one 16-bit format: DeepSpeed asserts it (runtime/config.py)",
            fix="keep bf16 where the card has it, else fp16",
            cost="no start",
            edits=(
                Edit(path=(("fp16" if _card_has(context, "bf16") else bf16), "enabled"), action="set", value=False),
            ),
        )
    for name, formats in (
        ("bf16", (Precision.BF16, Precision.BF16_PURE)),
        ("fp16", (Precision.FP16,)),
    ):
        if context.asked("precision") in formats and not _card_has(context, name):
            yield _missing_format(context, name)


def _missing_format(context: Context, name: str) -> Finding:
    card = context.plan.cluster.gpu
    section = bf16_name(context.config) if name == "bf16" else "fp16"
    other = "fp16" if name == "bf16" else "bf16"
    edits: tuple[Edit, ...] = (Edit(path=(section, "enabled"), action="set", value=False),)
    if _card_has(context, other):
        edits = (*edits, Edit(path=(other, "enabled"), action="set", value=True))
    return context.finding(
        f"no-{name}",
        STOPS,
        (section, "enabled"),
        what=f"{card.title if card else 'the card'} has no {name}",
        why="DeepSpeed does not start where the device lacks the format, or the card emulates it slowly",
        fix=f"use {other}" if _card_has(context, other) else "use fp32",
        cost="no start, or slow emulation",
        edits=edits,
    )


def _card_has(context: Context, name: str) -> bool:
    card = context.plan.cluster.gpu
    return card is None or name not in card.lacks


def _nvme(context: Context) -> Iterator[Finding]:
    config, stage = context.config, context.job.stage
    for section in ("offload_optimizer", "offload_param"):
        if device(config, section) != "nvme":
            continue
        path = (*ZERO, section, "nvme_path")
        if stage < 3:
            if section == "offload_optimizer" and stage:
                yield context.finding(
                    "nvme-below-stage-3",
                    COSTS,
                    (*ZERO, section, "device"),
                    what=f"offload to NVMe at stage {stage} goes to host RAM",
                    why="stages 1 and 2 know the host alone; nvme_path is not read (runtime/zero/stage_1_and_2.py)",
                    fix='use stage 3, or write "device": "cpu" and plan the RAM',
                    cost="host RAM instead of disk",
                    cost_bytes=context.estimate.host.per_node_bytes,
                )
        elif config.get(path) in (None, AUTO, ""):
            yield context.finding(
                "nvme-path",
                STOPS,
                (*ZERO, section, "device"),
                what=f"{section} goes to NVMe, but nvme_path is missing",
                why="DeepSpeed has no default folder to swap to (runtime/zero/partition_parameters.py, stage3.py)",
                fix='add "nvme_path": "/local_nvme", a folder on a local NVMe disk of each node',
                cost="no start",
            )


def _optimizer(context: Context) -> Iterator[Finding]:
    config, written = context.config, optimizer_type(context.config)
    if written is None:
        return
    path = ("optimizer", "type")
    lower = written.lower()
    if lower not in OWN and written not in TORCH:
        near = next((name for name in TORCH if name.lower() == lower), None)
        why = "DeepSpeed 0.19 has no 1-bit optimizers" if lower in GONE else "neither DeepSpeed nor torch.optim has it"
        yield context.finding(
            "unknown-optimizer",
            STOPS,
            path,
            what=f"{written} is no optimizer that DeepSpeed 0.19 can build",
            why=why + " (runtime/engine.py)",
            fix=f'write "type": "{near or "AdamW"}"',
            cost="no start",
            edits=(Edit(path=path, action="set", value=near or "AdamW"),),
        )
    elif context.job.stage and not _tested(lower) and config.get(("zero_allow_untested_optimizer",)) is not True:
        yield context.finding(
            "untested-optimizer",
            STOPS,
            path,
            what=f"{written} with ZeRO needs zero_allow_untested_optimizer",
            why="DeepSpeed asserts that ZeRO meets an optimizer it knows (runtime/engine.py)",
            fix='add "zero_allow_untested_optimizer": true, or use AdamW',
            cost="no start",
            edits=(Edit(path=("zero_allow_untested_optimizer",), action="set", value=True),),
        )
    if config.get(("optimizer", "params", "max_grad_norm")) is not None:
        clip = ("optimizer", "params", "max_grad_norm")
        yield context.finding(
            "max-grad-norm",
            STOPS,
            clip,
            what="max_grad_norm is not an optimizer parameter",
            why="DeepSpeed clips by its own key (runtime/engine.py)",
            fix='write "gradient_clipping" at the top level',
            cost="no start",
            edits=(Edit(path=clip, action="move", to=("gradient_clipping",)),),
        )


def _tested(name: str) -> bool:
    """Whether an optimizer, by its name in lower case, is among DeepSpeed's ``ZERO_SUPPORTED_OPTIMIZERS``."""
    return name in OWN and name not in UNTESTED


def _cpu_adam(context: Context) -> Iterator[Finding]:
    config, job = context.config, context.job
    if job.offload is Offload.NONE:
        return
    written = optimizer_type(config)
    forced = config.get(("zero_force_ds_cpu_optimizer",), True)
    if written is None and forced is not False:
        yield context.finding(
            "cpu-adam",
            COSTS,
            (*ZERO, "offload_optimizer"),
            what="the optimizer is offloaded, but the file names none",
            why="DeepSpeed refuses a torch optimizer from the script here; accelerate swaps in DeepSpeedCPUAdam",
            fix='add "optimizer": {"type": "AdamW"} so that DeepSpeed builds CPU Adam itself',
            cost="no start without accelerate",
        )
    elif (written is not None and written.lower() in ("adam", "adamw") and uses_torch_adam(config)) or forced is False:
        path = ("optimizer", "params", "torch_adam") if uses_torch_adam(config) else ("zero_force_ds_cpu_optimizer",)
        yield context.finding(
            "cpu-adam",
            COSTS,
            path,
            what="the offloaded step runs torch's optimizer on the CPU",
            why="DeepSpeedCPUAdam is vectorised and writes 16-bit parameters as it goes; torch's is neither",
            fix=f"take {path[-1]} out",
            cost="a slower step; temporaries on the host",
            edits=(Edit(path=path, action="remove"),),
        )


def _assertions(context: Context) -> Iterator[Finding]:
    """Combinations that DeepSpeed asserts against."""
    job, zero = context.job, zero_section(context.config)
    cases: list[tuple[bool, str, tuple[str, ...], str, str, str]] = [
        (
            device(context.config, "offload_optimizer") != "none"
            and job.stage < 3
            and context.config.get((*ZERO, "offload_optimizer", "ratio"), 1.0) not in (1, AUTO),
            "ratio-below-stage-3",
            (*ZERO, "offload_optimizer", "ratio"),
            f"a ratio of offloaded states at stage {job.stage}",
            "only stage 3 offloads a part (runtime/zero/config.py)",
            "use stage 3, or take ratio out",
        ),
        (
            zero.get("legacy_stage1") is True,
            "legacy-stage1",
            (*ZERO, "legacy_stage1"),
            "legacy_stage1 is on",
            "DeepSpeed has refused it since 0.5.9 (runtime/engine.py)",
            "take it out",
        ),
        (
            job.stage in (1, 2) and job.deepspeed.allgather_bucket_size % 2 == 1,
            "odd-allgather-bucket",
            (*ZERO, "allgather_bucket_size"),
            "allgather_bucket_size is odd",
            "DeepSpeed asserts a multiple of 2 (runtime/zero/stage_1_and_2.py)",
            "take it out: it costs and saves no memory",
        ),
    ]
    for hit, code, path, what, why, fix in cases:
        if hit:
            edits = (Edit(path=path, action="remove"),)
            yield context.finding(code, STOPS, path, what=what, why=why, fix=fix, cost="no start", edits=edits)
    if job.stage == 0 and job.deepspeed.grad_accum_dtype is not None:
        yield context.finding(
            "stage-0-accumulation",
            STOPS,
            ("data_types", "grad_accum_dtype"),
            what="stage 0 accumulates gradients in the model's format alone",
            why="DeepSpeed raises NotImplementedError for the mix (runtime/engine.py)",
            fix="use stage 1, or take grad_accum_dtype out",
            cost="no start",
            edits=(Edit(path=("data_types", "grad_accum_dtype"), action="remove"),),
        )


def _hpz(context: Context) -> Iterable[Finding]:
    hpz, gpus = context.asked("hpz"), context.plan.cluster.gpus
    if not isinstance(hpz, int) or hpz <= 1 or gpus % hpz == 0:
        return ()
    path, _ = zero_value(context.config, "zero_hpz_partition_size")
    good = max(size for size in range(1, min(hpz, gpus) + 1) if gpus % size == 0)
    return (
        context.finding(
            "hpz-does-not-divide",
            STOPS,
            path,
            what=f"zero_hpz_partition_size {hpz} does not divide {gpus} GPUs",
            why="every secondary group needs as many ranks (utils/groups.py)",
            fix=f"use {good}; best is the number of GPUs per node",
            cost="no start",
            edits=(Edit(path=path, action="set", value=good),),
        ),
    )


def _nulls(context: Context) -> Iterator[Finding]:
    for name, value in zero_section(context.config).items():
        key = ZERO_KEYS.get(name)
        if value is None and key is not None and key.kind in ("int", "bool") and key.default is not None:
            yield context.finding(
                "null",
                STOPS,
                (*ZERO, name),
                what=f"{name} is null",
                why="DeepSpeed wants a value or no key at all (pydantic)",
                fix="take it out to have the default",
                cost="no start",
                edits=(Edit(path=(*ZERO, name), action="remove"),),
            )


RUN_RULES: tuple[Rule, ...] = (_batch, _formats, _nvme, _optimizer, _cpu_adam, _assertions, _hpz, _nulls)
"""In no particular order."""
