"""A child that the launcher has forked, with as much of Popen's interface as its watcher needs."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import threading
import time
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from grader.run.launcher import Launcher

REPORT, LOOK = 5.0, 0.05
"""Seconds: how long after a death its report may come (later, the launcher is taken for stopped), and between two looks."""


class Forked:
    """One child. Its exit code comes from the launcher; that it has ended can be seen without it."""

    def __init__(self, launcher: Launcher, *, alone: bool) -> None:
        """alone: the launcher serves this child only, so that its death is this child's own deed."""
        self.pid = 0
        self.lost = False
        self._launcher, self._alone = launcher, alone
        self._code: int | None = None
        self._watch: int | None = None
        self._died = 0.0
        self.known, self._over = threading.Event(), threading.Event()
        pipes = [os.pipe() for _ in range(3)]
        self.theirs = [pipes[0][0], pipes[1][1], pipes[2][1]]
        self.stdin: IO[bytes] = os.fdopen(pipes[0][1], "wb")
        self.stdout: IO[bytes] = os.fdopen(pipes[1][0], "rb")
        self.stderr: IO[bytes] = os.fdopen(pipes[2][0], "rb")

    def started(self, pid: int, watch: int) -> None:
        """The launcher has forked it. watch: a descriptor that becomes readable when the process ends, whatever happens to the launcher."""
        self.pid, self._watch = pid, watch
        self.known.set()

    def ended(self, code: int) -> None:
        """The launcher reports its exit code, as Popen would."""
        self._code = code
        self.known.set()
        self._over.set()

    def lose(self) -> None:
        """The launcher is gone, and with it the exit code."""
        self.lost = not self._alone
        self.ended(-signal.SIGKILL)

    @property
    def dead(self) -> bool:
        """Whether the process has ended, though the exit code may still be under way."""
        if not self._died and self._watch is not None and not self._over.is_set():
            poller = select.poll()
            poller.register(self._watch, select.POLLIN)
            if poller.poll(0):
                self._died = time.monotonic()
        return bool(self._died)

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        if not self._over.is_set() and self.dead and time.monotonic() - self._died > REPORT:
            self._launcher.discard()
        return self._code if self._over.is_set() else None

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the exit code; raises TimeoutExpired as Popen does."""
        until = None if timeout is None else time.monotonic() + timeout
        while (code := self.poll()) is None:
            if until is not None and time.monotonic() >= until:
                raise subprocess.TimeoutExpired("child", timeout or 0.0)
            self._over.wait(LOOK)
        return code

    def release(self) -> None:
        """It has ended and its process tree was ended too: close what is left, and end what has left the tree if no other run can own it."""
        if self._watch is not None:
            os.close(self._watch)
            self._watch = None
        if self._alone:
            self._launcher.close()
        else:
            self._launcher.sweep()

    def close(self) -> None:
        """Close the pipes of a child that was never started."""
        for stream in (self.stdin, self.stdout, self.stderr):
            with contextlib.suppress(OSError):
                stream.close()
