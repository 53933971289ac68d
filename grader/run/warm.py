"""A warm start for many gradings: inside `with warm():` their children are forked from one launcher, which takes a few hundredths of a second.

Linux only: elsewhere, next to a CUDA driver, with GRADER_WARM=0 in the environment, or where the launcher does not come up, children start cold.
Variables that libraries read while they are loaded (LD_PRELOAD, MKL_...) are those of the moment in which the launcher started.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from grader.run.launcher import Launcher, LostError

if TYPE_CHECKING:
    from grader.run.forked import Forked

SWITCH = "GRADER_WARM"
FEWEST = 3
"""Fewer gradings are as fast without a launcher."""


class Pool:
    """The launcher that the runs inside `warm` share. The first run starts it; if it is lost, the next run starts another."""

    def __init__(self) -> None:
        """Nobody uses it yet."""
        self._lock = threading.Lock()
        self._launcher: Launcher | None = None
        self._users = 0
        self._failed = False

    def enter(self) -> None:
        """Another block wants it."""
        with self._lock:
            self._users += 1
            self._failed = False

    def leave(self) -> None:
        """A block is done with it; the last one ends it."""
        with self._lock:
            self._users -= 1
            if not self._users:
                self._close()

    def launcher(self, folder: Path, environment: dict[str, str], mark: str) -> Launcher | None:
        """The launcher, which the caller may have to wait for; None if there is to be none."""
        with self._lock:
            if not self._users or self._failed:
                return None
            if self._launcher is not None and self._launcher.gone:
                self._close()
            if self._launcher is None:
                try:
                    self._launcher = Launcher(folder, environment, mark)
                except (LostError, OSError):
                    self._failed = True
            return self._launcher if self._launcher is not None and self._launcher.path == sys.path else None

    def _close(self) -> None:
        if self._launcher is not None:
            self._launcher.close()
            self._launcher = None


POOL = Pool()


@contextlib.contextmanager
def warm(gradings: int = FEWEST) -> Iterator[None]:
    """Inside, children start warm, in all threads. gradings: how many there will be, if that is known."""
    if gradings < FEWEST:
        yield
        return
    POOL.enter()
    try:
        yield
    finally:
        POOL.leave()


def fork(folder: Path, environment: dict[str, str], mark: str, *, gpu: bool, alone: bool) -> Forked | None:
    """A warm child in `folder`, or None: start it cold. gpu: it may use a GPU. alone: with a launcher of its own."""
    if sys.platform != "linux" or os.environ.get(SWITCH) == "0" or (gpu and _driver()):
        return None
    setup = json.dumps({"cwd": str(folder), "environment": environment}).encode()
    for _ in range(2):
        launcher = None
        try:
            launcher = Launcher(folder, environment, mark) if alone else POOL.launcher(folder, environment, mark)
            return None if launcher is None else launcher.fork(setup, alone=alone)
        except (LostError, OSError):
            if alone and launcher is not None:
                launcher.close()
    return None


def _driver() -> bool:
    """Whether this machine may have a GPU: what has talked to one must not be forked, and a cold start is little beside its own."""
    return any(Path(path).exists() for path in ("/proc/driver/nvidia", "/dev/nvidiactl", "/dev/dxg", "/dev/kfd"))
