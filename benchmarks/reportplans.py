"""The plans that one setting of a public report can mean: the least and the most of what it leaves out.

Memory grows with the micro-batch, the sequence and every block that is not checkpointed, and shrinks with more ranks; so two
plans, one with the least of everything that is not said and one with the most that is usual, stand for all in between.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from reportcards import cluster_of
from reportjobs import KERNEL, job_of
from reportmodels import A_GUESS, NotPricedError, guessed, model_of
from rowwords import NoPlanError

from zplan.errors import ZplanError
from zplan.memory.estimate import estimate
from zplan.spec import Attention, Offload, Plan

Setup = Mapping[str, Any]
FALLBACKS = {
    Attention.EAGER: (Attention.MATH, Attention.FLASH),
    Attention.MATH: (Attention.SDPA,),
}
"""Kernels without a table -> those that keep no more."""
NUMBERS: Mapping[str, float] = {
    "gpus": 1e5,
    "nodes": 1e5,
    "gpu_mem_gb": 1e4,
    "host_ram_gb": 1e6,
    "params_b": 1e5,
    "micro_batch": 1e5,
    "seq_len": 1e8,
    "grad_accum": 1e6,
}
"""Fields that hold a number -> what none of them reaches."""
ONE_NUMBER = re.compile(r"\s*~?(\d[\d,]*(?:\.\d+)?)\s*(k)?\s*(?:tokens?|gi?b|b|gpus?|per gpu)?\s*", re.IGNORECASE)
NOT_DECODER = re.compile(r"t5|bart|bert(?!i)|blenderbot|whisper|pegasus|marian")
WITH_MORE = re.compile(r"(^|[^a-z])vl([^a-z]|$)|llava|internvl|vision|omni|cpm-?(llama\d)?-?v")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meant:
    """The plans of one setting."""

    plans: tuple[Plan, ...]
    """One if everything that counts is said, else least and most."""
    unsaid: tuple[str, ...]
    """What is not said, in words."""
    floor: bool
    """Something that is not priced comes on top (a vision tower): what does not fit without it does not fit with it."""


def meant(setup: Setup, *, on_host: bool = False, states_alone: bool = False) -> Meant:
    """The plans that a setting can mean.

    Args:
        setup: One setting of a report.
        on_host: It is about the node's RAM, so that the card need not be known, nor more of the model than P.
        states_alone: Only model states are asked for: any shape of that size will do.

    Raises:
        NoPlanError: too little is known.
        NotPricedError: the model is none that is priced.
    """
    setup = plain(setup)
    dense = on_host or states_alone
    _refuse(setup, dense)
    unsaid: list[str] = []
    plans = []
    for most in (False, True):
        model = model_of(guessed(setup, most, unsaid), dense=dense)
        cluster = cluster_of(setup, most, on_host, unsaid)
        plan = Plan(model=model, cluster=cluster, job=job_of(setup, model, cluster, most, unsaid))
        plans.append(_with_a_table(plan) if KERNEL in unsaid and not dense else plan)
    words = tuple(dict.fromkeys(unsaid))
    floor = WITH_MORE.search(str(setup.get("model", "")).lower()) is not None
    return Meant(plans=tuple(plans) if words else (plans[0],), unsaid=words, floor=floor)


def splits(setup: Setup) -> bool:
    """Whether the model or the sequence is split over GPUs."""
    keys = ("cp", "tp", "pp", "ep", "sp", "parallel")
    said = any(setup.get(key) not in (None, 1, "1", "none") for key in keys)
    return said or "megatron" in str(setup.get("framework")).lower()


def _with_a_table(plan: Plan) -> Plan:
    """A plan with the kernel that it has where a table tells what that takes, else with the next that keeps less."""
    for kernel in (plan.job.attention, *FALLBACKS.get(plan.job.attention, ())):
        changed = replace(plan, job=replace(plan.job, attention=kernel))
        try:
            estimate(changed)
        except ZplanError:
            continue
        return changed
    return plan


def states_bytes(setup: Setup) -> tuple[int, int]:
    """Model states per GPU by the ZeRO paper's accounting, the least that a setting can mean, and what the card has.

    However a model is split over N GPUs, one of them holds at least 1/N of all states: what stage 3 holds.

    Raises:
        NoPlanError: too little is known, or states are offloaded.
    """
    if splits(setup):
        kept = {key: value for key, value in setup.items() if key not in ("cp", "tp", "pp", "ep", "sp", "parallel")}
        setup = {**kept, "framework": "DeepSpeed", "stage": 3 if setup.get("gpus") != 1 else None}
    least = meant(setup, states_alone=True).plans[0]
    if least.job.offload is not Offload.NONE:
        raise NoPlanError("states are offloaded")
    return estimate(least).model_states.total_bytes, least.cluster.gpu_capacity_bytes or 0


def plain(setup: Setup) -> dict[str, Any]:
    """A setting whose text fields that hold one number ("8k", "4,096 tokens") hold it as a number.

    Raises:
        NoPlanError: a field holds what can be no such number.
    """
    found = dict(setup)
    for key in NUMBERS:
        match = ONE_NUMBER.fullmatch(str(setup[key])) if isinstance(setup.get(key), str) else None
        if match is not None:
            size = float(match[1].replace(",", "")) * (1024 if match[2] else 1)
            found[key] = int(size) if size.is_integer() else size
        value = found.get(key)
        if isinstance(value, float) and value.is_integer() and key not in ("gpu_mem_gb", "host_ram_gb", "params_b"):
            found[key] = int(value)
        usual = value is None or isinstance(value, str | list)
        if isinstance(value, int | float) and not isinstance(value, bool):
            usual = 0 < value < NUMBERS[key]
        if not usual:
            raise NoPlanError(f"{key} is {str(value)[:40]!r}")
    return found


def _refuse(setup: Setup, dense: bool) -> None:
    """What no plan expresses."""
    if splits(setup):
        raise NotPricedError("splits the model or the sequence")
    if setup.get("trainable_b") is not None:
        raise NoPlanError("part of the model is frozen, and what trains are not adapters")
    if A_GUESS.search(str(setup.get("model", "")).lower()) and not isinstance(setup.get("params_b"), int | float):
        raise NoPlanError(f"which model it was is not certain: {setup['model']}")
    for key in ("micro_batch", "seq_len", "gpus", "stage", "params_b", "model", "optimizer"):
        if isinstance(setup.get(key), list):
            raise NoPlanError(f"{key} has several values")
    if isinstance(setup.get("seq_len"), str):
        raise NoPlanError(f"the sequence length is not one number: {setup['seq_len']}")
    if not dense and NOT_DECODER.search(str(setup.get("model", "")).lower()):
        raise NotPricedError(f"{setup['model']} is not a decoder alone")
