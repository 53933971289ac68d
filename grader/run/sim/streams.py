"""Stand-ins for CUDA streams and events: the host computes in order, so there is nothing to wait for."""

from __future__ import annotations

import time
from typing import Any, Self

from grader.run.sim.device import GPU, as_device, check_index


class Stream:
    """A stream that is always up to date."""

    def __init__(self, device: Any = None, priority: int = 0, **_: Any) -> None:
        """device: the only GPU; priority: kept, and without effect."""
        if device is not None:
            check_index(as_device(device).index)
        self.device = GPU
        self.device_index = 0
        self.priority = priority
        self.cuda_stream = self.stream_id = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def query(self) -> bool:
        """Whether all work is done."""
        return True

    def is_capturing(self) -> bool:
        """Whether a CUDA graph is being captured."""
        return False

    def synchronize(self) -> None:
        """Wait for nothing."""

    def wait_stream(self, stream: Any) -> None:
        """Wait for nothing."""

    def wait_event(self, event: Any) -> None:
        """Wait for nothing."""

    def record_event(self, event: Event | None = None) -> Event:
        """An event of this moment."""
        event = event or Event()
        event.record(self)
        return event


class Event:
    """An event that knows when it was recorded."""

    def __init__(self, enable_timing: bool = False, blocking: bool = False, interprocess: bool = False, **_: Any) -> None:  # noqa: FBT001, FBT002
        """enable_timing: whether `elapsed_time` may be asked, as in PyTorch's own signature."""
        del blocking, interprocess
        self._timing = enable_timing
        self._at: float | None = None
        self.device = GPU

    def record(self, stream: Any = None) -> None:
        """Note the time."""
        del stream
        self._at = time.perf_counter()

    def query(self) -> bool:
        """Whether it has happened."""
        return True

    def wait(self, stream: Any = None) -> None:
        """Wait for nothing."""

    def synchronize(self) -> None:
        """Wait for nothing."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds between two recorded events."""
        if not (self._timing and end_event._timing):
            raise ValueError("Both events must be created with argument 'enable_timing=True'.")
        if self._at is None or end_event._at is None:
            raise ValueError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1000


CURRENT = Stream()
