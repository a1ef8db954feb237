"""Reads what ``zplan estimate --json`` printed, checked as far as others build on it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from zplan.errors import ZplanError
from zplan.inputs.jsonfile import read_json_object
from zplan.units import quote

SCHEMA_VERSION = 1
PHASES = ("init", "forward", "backward", "step")
SETTINGS = (
    "engine",
    "stage",
    "offload",
    "offload_to",
    "checkpointing",
    "precision",
    "optimizer",
    "micro_batch",
    "seq_len",
    "grad_accum",
    "world_size",
    "rank",
)
_HINT = "make one with zplan estimate --params 7B --gpus 8 --gpu-mem 80 --json > a.json"

Scalar = str | int | float | bool | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimatedPlan:
    """One plan of the file."""

    settings: Mapping[str, Scalar]
    verdict: str | None
    because: str | None
    peak_phase: str
    totals: Mapping[str, int]
    """Allocated peak, steady, device low, expected and high, host per node, NVMe per node."""
    phases: Mapping[str, int]
    terms: Mapping[str, int]
    model_states: Mapping[str, int]
    step_seconds: float | None
    tokens_per_second: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class EstimateFile:
    """The whole file."""

    name: str
    model: Mapping[str, Scalar]
    cluster: Mapping[str, Scalar]
    assumptions: tuple[str, ...]
    plans: tuple[EstimatedPlan, ...]


def read_estimate(path: str) -> EstimateFile:
    """Read an estimate.

    Args:
        path: A file that ``zplan estimate --json`` wrote.

    Returns:
        Its plans; keys that this version does not know are left out.

    Raises:
        ZplanError: no such file, no JSON, or something else than an estimate.
    """
    file = quote(path, 200)
    found = _Node(read_json_object(Path(path), source=file, hint=_HINT), file)
    version = found.value("schema_version")
    if version != SCHEMA_VERSION:
        shown = "no schema_version" if version is None else f"schema_version {str(version)[:20]}"
        raise ZplanError(f"{file} has {shown}, so it is no estimate that this zplan reads", _HINT)
    plans = tuple(_plan(node) for node in found.nodes("plans"))
    if not plans:
        raise ZplanError(f"{file} holds no plans", _HINT)
    notes = found.value("assumptions")
    return EstimateFile(
        name=path,
        model=found.node("model").scalars(),
        cluster=found.node("cluster").scalars(),
        assumptions=tuple(note for note in notes if isinstance(note, str)) if isinstance(notes, list) else (),
        plans=plans,
    )


class _Node:
    """An object of the file that knows where it stands."""

    def __init__(self, content: Mapping[str, object], file: str, where: str = "") -> None:
        self._content = content
        self._file = file
        self._where = where

    def value(self, key: str) -> object:
        """What a key holds, None where it is missing."""
        return self._content.get(key)

    def node(self, key: str) -> _Node:
        """An object."""
        found = self._content.get(key)
        if not isinstance(found, dict):
            raise self._wrong(key, "an object")
        return _Node(found, self._file, f"{self._where}{key}.")

    def nodes(self, key: str) -> list[_Node]:
        """A list of objects."""
        found = self._content.get(key)
        if not isinstance(found, list) or not all(isinstance(each, dict) for each in found):
            raise self._wrong(key, "a list of objects")
        return [_Node(each, self._file, f"{self._where}{key}[{index}].") for index, each in enumerate(found)]

    def size(self, key: str) -> int:
        """A whole number that is not negative."""
        found = self._content.get(key)
        if isinstance(found, bool) or not isinstance(found, int) or found < 0:
            raise self._wrong(key, "a number of bytes")
        return found

    def sizes(self, *keys: str) -> dict[str, int]:
        """Several of them."""
        return {key: self.size(key) for key in keys}

    def number(self, key: str) -> float | None:
        """A number or nothing."""
        found = self._content.get(key)
        return float(found) if isinstance(found, (int, float)) and not isinstance(found, bool) else None

    def word(self, key: str) -> str | None:
        """A string or nothing."""
        found = self._content.get(key)
        return found if isinstance(found, str) else None

    def scalars(self) -> dict[str, Scalar]:
        """All words and numbers."""
        return {key: v for key, v in self._content.items() if v is None or isinstance(v, (str, int, float))}

    def _wrong(self, key: str, what: str) -> ZplanError:
        return ZplanError(f"{self._file} is no estimate: {self._where}{key} should be {what}", _HINT)


def _plan(node: _Node) -> EstimatedPlan:
    gpu, host = node.node("gpu"), node.node("host")
    device = gpu.node("device_peak_bytes").sizes("low", "expected", "high")
    nvme = node.value("nvme")
    time = node.node("time") if isinstance(node.value("time"), dict) else None
    terms: dict[str, int] = {}
    for term in gpu.nodes("terms"):
        key = term.word("key") or "unnamed"
        terms[key] = terms.get(key, 0) + term.size("bytes")
    scalars = node.scalars()
    return EstimatedPlan(
        settings={key: scalars.get(key) for key in SETTINGS},
        verdict=_verdict(gpu.word("verdict"), host.word("verdict")),
        because=gpu.word("verdict_because"),
        peak_phase=gpu.word("peak_phase") or "",
        totals={
            "allocated_peak": gpu.size("allocated_peak_bytes"),
            "steady": gpu.size("steady_bytes"),
            "device_low": device["low"],
            "device_expected": device["expected"],
            "device_high": device["high"],
            "host_per_node": host.size("per_node_bytes"),
            "nvme_per_node": node.node("nvme").size("per_node_bytes") if nvme is not None else 0,
        },
        phases=gpu.node("phases").sizes(*PHASES),
        terms=terms,
        model_states=gpu.node("model_states").sizes("params", "grads", "optimizer"),
        step_seconds=None if time is None else time.number("step_seconds"),
        tokens_per_second=None if time is None else time.number("tokens_per_second_per_gpu"),
    )


def _verdict(gpu: str | None, host: str | None) -> str | None:
    """The worse of the two; None where the GPU's is not known and the host is no obstacle."""
    order = ("fits", "tight", "oom")
    if gpu not in order:
        return "oom" if host == "oom" else None
    return max((gpu, host if host in order else "fits"), key=order.index)
