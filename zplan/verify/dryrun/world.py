"""A job of N ranks in one process: torch's fake process group, and "meta" as a device that engines accept."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch


class _Event:
    """An event that has always happened."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def record(self, stream: Any = None) -> _Event:
        return self

    def query(self) -> bool:
        return True

    def wait(self, stream: Any = None) -> None:
        pass

    def synchronize(self) -> None:
        pass

    def elapsed_time(self, other: Any) -> float:
        return 0.0


class _Stream:
    """A stream that is always done; also a context manager."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        pass

    def wait_stream(self, stream: Any) -> None:
        pass

    def wait_event(self, event: Any) -> None:
        pass

    def record_event(self, event: Any = None) -> _Event:
        return _Event()

    def synchronize(self) -> None:
        pass

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *exc: Any) -> None:
        pass


STREAM = _Stream()


def device_handle() -> ModuleType:
    """What ``torch.cuda`` is for CUDA, for the device "meta": engines ask ``getattr(torch, device_type)`` for it."""
    handle = ModuleType("torch.meta")
    vars(handle).update(
        Event=_Event,
        Stream=_Stream,
        stream=lambda stream: stream or STREAM,
        current_stream=lambda device=None: STREAM,
        default_stream=lambda device=None: STREAM,
        current_device=lambda: 0,
        device_count=lambda: 1,
        set_device=lambda device: None,
        is_available=lambda: True,
        is_initialized=lambda: True,
        synchronize=lambda device=None: None,
        empty_cache=lambda: None,
    )
    return handle


@contextmanager
def fake_world(world: int, rank: int) -> Iterator[None]:
    """Be rank ``rank`` of ``world``: collectives return at once and move nothing.

    Args:
        world: Number of ranks.
        rank: Which of them this process is.
    """
    import torch.distributed as dist
    from torch.testing._internal.distributed.fake_pg import FakeStore

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    values = {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": str(port),
        "RANK": str(rank),
        "LOCAL_RANK": "0",
        "WORLD_SIZE": str(world),
        "LOCAL_WORLD_SIZE": "1",
    }
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    torch.meta = device_handle()
    dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=world)
    try:
        yield
    finally:
        dist.destroy_process_group()
        del torch.meta
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value
