"""The parent's end of a launcher, a process that has torch loaded and forks children (`grader.run.forkserver`).

A cold child spends most of its time importing torch. The run's key and its source never pass through the launcher: the child reads them from its own
pipe. A submission may kill or stop the launcher, since both belong to the same user. All runs in flight are then *lost*: what they left is no
result, and each is repeated with a launcher of its own (`alone`), so that the guilty one can only end itself.
"""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

import psutil

from grader.run.forked import Forked

STARTUP, ANSWER = 180.0, 30.0
"""Seconds for the imports, and for a fork."""
BLANK = "0" * 32
CODE = "from grader.run.forkserver import serve; serve({}, {!r}); del serve; from grader.run.child import main; main()"


class LostError(Exception):
    """The launcher is gone or does not answer."""


class Launcher:
    """The parent's end of one launcher process."""

    def __init__(self, folder: Path, environment: dict[str, str], mark: str) -> None:
        """folder: an empty working directory to import in. Raises LostError if it does not come up."""
        self.path = list(sys.path)
        self._lock = threading.Lock()
        self._ready = threading.Event()
        self._running: dict[int, Forked] = {}
        self._count = 0
        self.gone = False
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - this interpreter, with a program of ours
                [sys.executable, "-X", "faulthandler=0", "-c", CODE.format(theirs.fileno(), f"{mark}={BLANK}")],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                cwd=folder,
                env=environment | {mark: BLANK},
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        up = False
        try:
            up = self._ready.wait(STARTUP) and not self.gone
        finally:  # an interrupt, too
            if not up:
                self.close()
        if not up:
            raise LostError

    @property
    def pid(self) -> int:
        """The launcher's process."""
        return self._process.pid

    def fork(self, setup: bytes, *, alone: bool) -> Forked:
        """A new child, which finds `setup` (its working directory and environment, as JSON) by itself. Raises LostError."""
        forked = Forked(self, alone=alone)
        note = os.memfd_create("setup")
        try:
            os.write(note, setup)
            with self._lock:
                self._count += 1
                number = self._count
                self._running[number] = forked
                socket.send_fds(self._control, [str(number).encode()], [*forked.theirs, note])
        except OSError as error:
            forked.close()
            raise LostError from error
        finally:
            for descriptor in (*forked.theirs, note):
                os.close(descriptor)
        if not forked.known.wait(ANSWER):
            self.discard()
        if not forked.pid:
            forked.close()
            raise LostError
        return forked

    def _read(self) -> None:
        """Take the launcher's reports until it ends; then every run of it is lost."""
        while True:
            try:
                message, descriptors, _, _ = socket.recv_fds(self._control, 4096, 1)
            except OSError:
                break
            if not message:
                break
            kind, number, value = message.decode().split()
            if kind == "ready":
                self._ready.set()
                continue
            with self._lock:
                forked = self._running[int(number)] if kind == "started" else self._running.pop(int(number))
            if kind == "started":
                forked.started(int(value), descriptors[0])
            else:
                forked.ended(int(value))
        self._process.kill()
        self._process.wait()
        with self._lock:
            self.gone = True
            lost = list(self._running.values())
            self._running.clear()
        for forked in lost:
            forked.lose()
        self._ready.set()

    def discard(self) -> None:
        """It does not answer: end it. Its runs are lost."""
        self._process.kill()
        self._reader.join()

    def sweep(self) -> None:
        """While no run is in flight, whatever is left below the launcher belongs to nobody."""
        with self._lock, contextlib.suppress(psutil.Error):
            if not self._running and not self.gone:
                for stray in psutil.Process(self.pid).children(recursive=True):
                    with contextlib.suppress(psutil.Error):
                        stray.kill()

    def close(self) -> None:
        """End it; nothing is left behind."""
        self.sweep()
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._reader.join()
        self._control.close()
        assert self._process.stdin is not None and self._process.stdout is not None  # noqa: PT018 - for mypy: PIPE was asked for
        self._process.stdin.close()
        self._process.stdout.close()
