"""The phase ``eval``: a batch without gradients, and the logits that metrics want.

Source: transformers 5.24 ``trainer.py`` (``prediction_step``, ``evaluation_loop``), ``trainer_pt_utils.py``
(``EvalLoopContainer``); accelerate 1.15 ``utils/operations.py`` (``gather``, ``convert_outputs_to_fp32``).
"""

from __future__ import annotations

from dataclasses import replace

from zplan.memory.activations.base import ComputeMode, PieceMemory
from zplan.memory.activations.heads import head_memory
from zplan.memory.codeside import Stack
from zplan.memory.engines.zero3_evaluation import evaluation_track
from zplan.memory.engines.zero3_plus import secondary
from zplan.memory.facts import JobFacts, job_facts
from zplan.memory.moments import Estimate, Moment, TermKey
from zplan.memory.needs import BeyondMoment, PhaseNeed
from zplan.memory.params import layout
from zplan.memory.stack import build_stack, engine_side, grad_orders
from zplan.memory.terms import about_state
from zplan.memory.timeline import NOTHING, LayerLevels, Level, StateKey, Track
from zplan.spec import Beyond, Checkpointing, Engine, Job, Loss, ModelSpec, Offload, Plan, Precision

EVAL = "eval"
_LOOP = "transformers trainer.py, evaluation_loop and prediction_step"
_TABLES = "saved tensors of transformers' model code, zplan/memory/activations/tables"
_LOSS = "transformers loss/loss_utils.py, ForCausalLMLoss"
_GATHER = "accelerate utils/operations.py, _gpu_gather; transformers trainer_pt_utils.py, EvalLoopContainer"


def evaluation(estimate: Estimate, beyond: Beyond, host_node_bytes: int) -> PhaseNeed:
    """What an evaluation between two training steps needs.

    Formula: steady, no gradients; per piece the forward working set alone, since nothing is kept for backward; at the loss
    10 V T (16-bit logits, fp32 copy, log-softmax). With metrics, each rank gathers the logits of all N ranks, batch after batch.

    Args:
        estimate: The plan's estimate.
        beyond: Batch and metrics.
        host_node_bytes: RAM of a node between steps, with rounding.
    """
    plan = estimate.plan
    job = _evaluated(plan.job, beyond)
    facts = job_facts(job)
    stack = build_stack(plan.model, facts.code, job.micro_batch, job.seq_len)
    memory = engine_side(plan.model, facts, plan.world_size, job.rank)
    run = memory.passes[-1]
    base = {**run.base, TermKey.INPUTS: estimate.steady.get(TermKey.INPUTS, 0) + stack.inputs_bytes}
    track = run.forward
    if job.engine is Engine.DEEPSPEED and job.stage == 3:
        training = job_facts(plan.job)
        if job.hpz > 1 and job.offload is not Offload.ALL:
            # Released weights leave secondary partitions, which only a step drops.
            plus = secondary(layout(plan.model, job.lora), facts.job, facts.states, plan.world_size)
            base[TermKey.SECONDARY_PARAMS] = plus.frozen + plus.trained
        track = evaluation_track(
            layout(plan.model, job.lora),
            grad_orders(plan.model, training.code),
            facts.job,
            facts.states,
            plan.world_size,
        )
    found = [
        _embedding(stack, track, base),
        _blocks(stack, track, base),
        _loss(plan.model, facts, job, stack, track, base),
    ]
    if beyond.eval_logits:
        found.append(_predictions(plan, job, beyond.eval_logits, base))
    peak = max(found, key=lambda moment: moment.total_bytes)
    why = {key: _why(estimate, key, job, beyond) for key in peak.terms}
    gpu = BeyondMoment(EVAL, peak.name, peak.terms, why)
    return PhaseNeed(EVAL, gpu, _host(estimate, job, beyond, host_node_bytes), _notes(beyond))


def _evaluated(job: Job, beyond: Beyond) -> Job:
    """The job of an evaluation batch: recomputed blocks run forward as blocks without gradients do."""
    return replace(job, grad_accum=1, micro_batch=beyond.eval_batch, checkpointing=Checkpointing(kind="full"))


def _notes(beyond: Beyond) -> tuple[str, ...]:
    kept = (
        f"the logits of {beyond.eval_logits} evaluation batches are kept for metrics (--eval-logits)"
        if beyond.eval_logits
        else "evaluation keeps the loss alone, no logits for metrics (--eval-logits)"
    )
    return (f"evaluation batches of {beyond.eval_batch} sequences (--eval-batch)", kept)


def _largest(found: Level | LayerLevels | None, per_layer: int, first: int) -> tuple[int, int, Level]:
    """Bytes, layer and level of the largest point; from the second layer on the embedding's output waits in a frame."""
    if found is None:
        return 0, 0, NOTHING
    if isinstance(found, Level):
        return found.total, 0, found
    return max(
        ((held.total + index * per_layer + (first if index else 0), index, held) for index, held in found.points),
        key=lambda point: point[0],
    )


def _moment(name: str, base: dict[str, int], own: dict[str, int], held: Level) -> Moment:
    terms = dict(base)
    for key, size in (*own.items(), *held.terms):
        terms[key] = terms.get(key, 0) + size
    return Moment(EVAL, name, terms)


def _embedding(stack: Stack, track: Track, base: dict[str, int]) -> Moment:
    best = max(
        (
            (one.own + level.total, one, level)
            for one in stack.forward[0][track.by]
            for level in [_level(track.stem, one.key, one.fallback)]
        ),
        key=lambda item: item[0],
    )
    own = {TermKey.ACTIVATIONS: best[1].activation_bytes, TermKey.ATTENTION_SCORES: best[1].score_bytes}
    return _moment("embedding of an evaluation batch", base, own, best[2])


def _level(levels: object, key: StateKey, fallback: StateKey) -> Level:
    assert hasattr(levels, "get")
    found: Level = levels.get(key) or levels.get(fallback, NOTHING)
    return found


def _blocks(stack: Stack, track: Track, base: dict[str, int]) -> Moment:
    """The block that runs; of those below only autocast's copies are left, and the embedding's output in a frame."""
    cache = max(piece.cast_cache_bytes for piece in stack.variants)
    first = stack.variants[stack.layers[0]].kept_bytes
    stem = _frame(stack.stem)
    best = -1
    chosen: tuple[dict[str, int], Level] = ({}, NOTHING)
    for variant, levels in enumerate(track.blocks):
        for one in stack.forward[variant + 2][track.by]:
            held, index, level = _largest(levels.get(one.key) or levels.get(one.fallback), cache, first)
            if one.own + held > best:
                more = index * cache + (first if index else 0)
                own = {
                    TermKey.ACTIVATIONS: stem + one.activation_bytes + more,
                    TermKey.ATTENTION_SCORES: one.score_bytes + stack.stem.frame_score_bytes,
                }
                best, chosen = one.own + held, (own, level)
        if track.after:
            held, index, level = _largest(track.after[variant], cache, first)
            output = stack.variants[variant].input_grad_bytes
            if output + held > best:
                more = index * cache + (first if index else 0)
                best, chosen = output + held, ({TermKey.ACTIVATIONS: stem + output + more}, level)
    return _moment("block of an evaluation batch", base, *chosen)


def _frame(stem: PieceMemory) -> int:
    return stem.kept_bytes + stem.frame_bytes + stem.cast_cache_bytes


def _loss(model: ModelSpec, facts: JobFacts, job: Job, stack: Stack, track: Track, base: dict[str, int]) -> Moment:
    tokens = job.micro_batch * job.seq_len
    mode, compute = facts.states.compute, 4 if job.precision is Precision.FP32 else 2
    cache = sum(stack.variants[variant].cast_cache_bytes for variant in stack.layers)
    if job.loss in (Loss.STANDARD, Loss.IN_PLACE):
        # Logits, their fp32 copy where they are 16-bit, and the log-softmax; the norm's output; labels padded and shifted.
        logits = (compute + (4 if compute == 2 else 0) + 4) * model.vocab_size * tokens
        norm = 4 if mode in (ComputeMode.AUTOCAST, ComputeMode.FP32) else 2
        rest = norm * tokens * model.hidden_size + 16 * tokens + 8 * job.micro_batch + 8
        if mode is ComputeMode.AUTOCAST and job.lora is None:
            rest += 2 * layout(model).head_numel
    else:
        head = head_memory(model, micro_batch=job.micro_batch, seq_len=job.seq_len, loss=job.loss, mode=mode)
        logits, rest = max(one.activation_bytes for one in head.forward), 0
    held = max(track.head.values(), key=lambda level: level.total, default=NOTHING)
    return _moment(
        "loss of an evaluation batch", base, {TermKey.LOGITS: logits, TermKey.ACTIVATIONS: rest + cache}, held
    )


def logit_bytes(job: Job) -> int:
    """Bytes per logit that a prediction step returns: accelerate widens the outputs of what it runs under autocast."""
    narrow = job.engine is Engine.DEEPSPEED or job.precision is Precision.BF16_PURE
    return 2 if narrow and job.precision is not Precision.FP32 else 4


def _gathered(plan: Plan, job: Job) -> int:
    """Bytes of one batch's logits, of all ranks."""
    return plan.world_size * logit_bytes(job) * plan.model.vocab_size * job.micro_batch * job.seq_len


def _predictions(plan: Plan, job: Job, batches: int, base: dict[str, int]) -> Moment:
    """Logits of the last of some batches join those before: the sum so far, the new ones and their concatenation."""
    whole = _gathered(plan, job)
    own = whole // plan.world_size if plan.world_size > 1 else 0
    kept = whole if batches == 1 else 2 * batches * whole
    return _moment("logits of evaluation batches joined", base, {TermKey.LOGITS: own + kept}, NOTHING)


def _why(estimate: Estimate, key: str, job: Job, beyond: Beyond) -> tuple[str, str]:
    """Formula and source of what an evaluation holds beyond the states."""
    wide = "4 + 4" if job.precision is Precision.FP32 else "2 + 4 + 4"
    if key == TermKey.LOGITS and beyond.eval_logits:
        each = logit_bytes(job)
        formula = (
            f"{each} V T N per batch; joining K batches holds 2 K of them"
            if beyond.eval_logits > 1
            else (f"{each} V T of this rank and {each} V T N gathered")
        )
        return formula, _GATHER
    table = {
        TermKey.LOGITS: (f"({wide}) V T of an evaluation batch: logits, fp32 copy, log-softmax", _LOSS),
        TermKey.ACTIVATIONS: ("the running piece alone; nothing is kept for backward", _TABLES),
        TermKey.ATTENTION_SCORES: ("tensors of a s x s per sequence, of the running block", _TABLES),
        TermKey.INPUTS: ("8 T of the training batch and of the evaluation batch", _LOOP),
        TermKey.GATHERED_PARAMS: (
            "as in forward; stage 3 keeps the last blocks gathered from one batch to the next",
            "DeepSpeed runtime/zero/partitioned_param_coordinator.py, reset_step; torch distributed/fsdp",
        ),
    }
    return table.get(key) or about_state(estimate, key)


def _host(estimate: Estimate, job: Job, beyond: Beyond, node_bytes: int) -> BeyondMoment:
    """Host RAM: what is there between steps; with metrics, the logits of all ranks on every rank."""
    terms = dict(estimate.host.terms)
    why = {key: about_state(estimate, key) for key in terms}
    logits = 0
    if beyond.eval_logits:
        whole = beyond.eval_logits * _gathered(estimate.plan, job)
        # numpy has no bf16: a bf16 copy on the host is cast to fp32 before it becomes an array.
        logits = whole * 3 if logit_bytes(job) == 2 and job.precision is not Precision.FP16 else whole
        terms[TermKey.HOST_LOGITS] = logits
        why[TermKey.HOST_LOGITS] = (
            "logits of all N ranks and K batches, on every rank; bf16 ones beside their fp32 copy",
            "transformers trainer_pt_utils.py, nested_numpify",
        )
    name = "logits moved to the host" if logits else "evaluation"
    return BeyondMoment(EVAL, name, terms, why, node_bytes + estimate.plan.cluster.gpus_per_node * logits)
