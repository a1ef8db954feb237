"""The tracker counts what is alive: each storage once, from its birth to its end."""

from __future__ import annotations

import gc

import pytest

pytest.importorskip("torch")

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from zplan.memory.moments import TermKey
from zplan.verify.tracker import Tracker


@pytest.fixture
def tracker() -> Tracker:
    return Tracker("cpu")


def test_a_storage_is_counted_once_however_many_views_it_has(tracker: Tracker) -> None:
    with tracker:
        base = torch.empty(4, 8)
        views = [base.t(), base[1:], base.view(-1), base.detach()]
        assert tracker.device_bytes == 4 * 8 * 4
        del base
        assert tracker.device_bytes == 4 * 8 * 4, "the views keep the storage alive"
        del views
    assert tracker.device_bytes == 0


def test_in_place_and_out_make_nothing(tracker: Tracker) -> None:
    with tracker:
        one, two = torch.ones(10), torch.ones(10)
        before = tracker.device_bytes
        one.add_(two)
        torch.mul(one, two, out=two)
        assert tracker.device_bytes == before


def test_storages_that_shrink_and_grow_are_followed(tracker: Tracker) -> None:
    with tracker:
        tensor = torch.empty(100)
        storage = tensor.untyped_storage()
        storage.resize_(0)
        assert tracker.device_bytes == 0
        storage.resize_(400)
        assert tracker.device_bytes == 400
    assert torch.UntypedStorage.resize_ is type(storage).resize_
    storage.resize_(0)
    assert tracker.device_bytes == 400, "nothing is followed after the end"


def test_peak_and_inventory_of_a_phase(tracker: Tracker) -> None:
    with tracker:
        kept = torch.empty(10)
        tracker.adopt(kept, TermKey.PARAMS)
        tracker.begin("forward", TermKey.ACTIVATIONS)
        first = torch.empty(100)
        with tracker.creating(TermKey.REDUCE_BUCKET):
            second = torch.empty(50)
        del first
        third = torch.empty(20)
        peak = tracker.end()
        tracker.begin("backward", TermKey.ACTIVATIONS)
        later = tracker.end()
    # 4 bytes x (10 kept + 100 + 50); the third came when the first was gone
    assert peak.device_bytes == 640
    assert peak.terms == {TermKey.PARAMS: 40, TermKey.ACTIVATIONS: 400, TermKey.REDUCE_BUCKET: 200}
    assert sum(item.size_bytes for item in peak.live) == peak.device_bytes
    assert later.device_bytes == 4 * (10 + 50 + 20), "a phase starts from what is alive"
    del second, third


def test_names_given_later_show_in_the_inventory(tracker: Tracker) -> None:
    with tracker:
        tracker.begin("backward", TermKey.ACTIVATIONS)
        grad = torch.empty(10)
        tracker.adopt(grad, TermKey.GRADS)
        assert tracker.end().terms == {TermKey.GRADS: 40}


def test_device_and_host_are_told_apart() -> None:
    tracker = Tracker("meta", "cpu")
    with tracker:
        on_host, on_device = torch.empty(10), torch.empty(20, device="meta")
        assert (tracker.device_bytes, tracker.host_bytes) == (80, 40)
        tracker.as_host = True
        built = torch.empty(30, device="meta")
        tracker.as_host = False
        assert (tracker.device_bytes, tracker.host_bytes) == (80, 160)
        tracker.adopt(built, TermKey.PARAMS, host=False)
        assert (tracker.device_bytes, tracker.host_bytes) == (200, 40)
    del on_host, on_device, built


def test_what_the_backward_pass_makes_is_seen(tracker: Tracker) -> None:
    with tracker:
        weight = torch.ones(8, 8, requires_grad=True)
        tracker.begin("backward", TermKey.ACTIVATIONS)
        (weight @ torch.ones(8, 8)).sum().backward()
        assert tracker.end().device_bytes > tracker.device_bytes
        assert weight.grad is not None
        tracker.adopt(weight.grad, TermKey.GRADS)
        assert TermKey.GRADS in {entry.label for entry in tracker.storages()}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(["new", "view", "clone", "drop", "add"]), st.integers(1, 64)), max_size=30))
def test_live_bytes_are_those_of_the_tensors_that_python_can_reach(steps: list[tuple[str, int]]) -> None:
    tracker = Tracker("cpu")
    held: list[torch.Tensor] = []
    with tracker:
        for action, size in steps:
            if action == "new" or not held:
                held.append(torch.empty(size))
            elif action == "view":
                held.append(held[size % len(held)].view(1, -1))
            elif action == "clone":
                held.append(held[size % len(held)].clone())
            elif action == "add":
                held.append(held[size % len(held)] + 1)
            else:
                del held[size % len(held)]
            alive = {tensor.untyped_storage()._cdata: tensor.untyped_storage().nbytes() for tensor in held}
            assert tracker.device_bytes == sum(alive.values())
    held.clear()
    gc.collect()
    assert tracker.device_bytes == 0
