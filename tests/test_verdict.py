"""fits, tight or oom: the card's bounds, the node's RAM, and the words that say what is short."""

from __future__ import annotations

from dataclasses import replace

import pytest
from handmade import CLUSTER, an_estimate

from zplan.memory.moments import HostMemory, Runtime
from zplan.memory.verdict import because, host_need, judge, peak_phase, reason, short_of_host_ram
from zplan.units import GIB, Unit


def _run(expected: int, high: int) -> Runtime:
    return Runtime(
        reserved_peak_bytes=0,
        device_low_bytes=0,
        device_expected_bytes=expected * GIB,
        device_high_bytes=high * GIB,
        terms={},
    )


def _host(verdict: str | None) -> HostMemory:
    return HostMemory(
        per_rank_bytes=10 * GIB,
        peak_per_rank_bytes=12 * GIB,
        pinned_per_rank_bytes=16 * GIB,
        per_node_bytes=128 * GIB,
        terms={},
        verdict=verdict,
    )


# Expected and high bound in GiB on a card of 80, the host's verdict -> the whole verdict, and what is said.
# A node of 8 ranks with 128 GiB between steps and 2 GiB more per rank at the peak needs 128 + 8 x 2 = 144 GiB.
TABLE = [
    (70, 80, None, "fits", None),
    (70, 80, "fits", "fits", None),
    (70, 81, None, "tight", "step may need 81 GiB, the GPU has 80 GiB"),
    (80, 81, "fits", "tight", "step may need 81 GiB, the GPU has 80 GiB"),
    (81, 82, "fits", "oom", "step needs 81 GiB, the GPU has 80 GiB"),
    (81, 82, "oom", "oom", "step needs 81 GiB, the GPU has 80 GiB"),
    (70, 80, "oom", "oom", "host RAM: a node needs 144 GiB and has 512 GiB"),
    (70, 81, "oom", "oom", "host RAM: a node needs 144 GiB and has 512 GiB"),
    (70, 80, "tight", "tight", "host RAM: a node needs 144 GiB once pinned memory is rounded up and has 512 GiB"),
]


@pytest.mark.parametrize(("expected", "high", "host", "verdict", "words"), TABLE)
def test_verdicts(expected: int, high: int, host: str | None, verdict: str, words: str | None) -> None:
    run, ram = _run(expected, high), _host(host)
    assert judge(CLUSTER, run, ram) == verdict
    assert because(CLUSTER, "step", run, ram) == words


@pytest.mark.parametrize(("host", "verdict"), [(None, None), ("fits", None), ("tight", "tight"), ("oom", "oom")])
def test_without_a_capacity_only_the_host_can_fail(host: str | None, verdict: str | None) -> None:
    unknown = replace(CLUSTER, gpu_capacity_bytes=None)
    assert judge(unknown, _run(500, 600), _host(host)) == verdict
    assert (because(unknown, "step", _run(500, 600), _host(host)) is None) == (verdict is None)


def test_words_follow_the_unit_of_the_view() -> None:
    # 81 GiB = 86.97 x 10^9 bytes, 80 GiB = 85.9 x 10^9
    words = because(CLUSTER, "init", _run(81, 82), _host(None), unit=Unit.GB)
    assert words == "init needs 86.97 GB, the GPU has 85.9 GB"
    estimate = an_estimate(peak_gib=90, verdict="oom", because="as it was said")
    assert reason(estimate) == "as it was said"
    # 90 GiB + 2 GiB beyond = 92 GiB = 98.78 x 10^9 bytes
    assert reason(estimate, Unit.GB) == "backward needs 98.78 GB, the GPU has 85.9 GB"
    assert reason(an_estimate(), Unit.GB) is None


def test_init_is_named_only_when_it_holds_most() -> None:
    assert peak_phase(11, 10, "step") == "init"
    assert peak_phase(10, 10, "step") == "step"


def test_who_is_short() -> None:
    fits = an_estimate()
    assert not short_of_host_ram(fits)
    short = replace(fits, host=_host("oom"))
    assert short_of_host_ram(short)
    assert host_need(short) == (144 * GIB, 512 * GIB)
    both = replace(an_estimate(peak_gib=90), host=_host("oom"))
    assert not short_of_host_ram(both)
