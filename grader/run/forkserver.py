"""The launcher's own process: it has imported what every child imports, and forks one child for each request of the parent.

Started by `grader.run.launcher` as `python -c "from grader.run.forkserver import serve; serve(3); ..."`, on Linux only. It runs no code of a
submission and holds no datum of a run: a request is a number and four descriptors (the child's three streams, and a memory file with its working
directory and environment), and only the forked child reads them. So there is nothing of another run to find in the pages that children share;
what they do share is where libraries lie in memory, and the seed of Python's hashes.

It stays single-threaded and never asks for CUDA, because neither survives a fork.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import importlib
import json
import os
import select
import signal
import socket
import sys
import tempfile
from pathlib import Path
from typing import NoReturn

PRELOAD = (
    "numpy", "torch", "torchvision", "torch.utils.tensorboard",
    "grader.run.child", "grader.run.recorder", "grader.run.snapshot", "grader.run.wraps", "grader.run.probes.session", "grader.run.simcuda",
)  # fmt: skip
"""What every child imports, with the simulated device (modules without effect until it is switched on)."""
OPTIONAL = ("landlock",)
TICK, LINGER = 1000, 4096
PR_SET_CHILD_SUBREAPER = 36


class Server:
    """Forks children, reports how they end, reaps whatever else they leave."""

    def __init__(self, control: socket.socket, kept: set[int], entry: str, began: set[str]) -> None:
        """control: to the parent; kept: descriptors that the imported libraries hold; entry: the environment's blank mark of a run.

        began: the variables that the environment had before libraries added theirs.
        """
        self._control, self._kept, self._began = control, kept, began
        self._mark, self._address = entry.partition("=")[0], address_of(entry)
        self._runs: dict[int, tuple[int, int]] = {}
        self._poller = select.poll()
        self._poller.register(control, select.POLLIN)

    def next_child(self) -> None:
        """Serve until a forked child returns from here: the parent's side of the fork never does."""
        while True:
            ready = [descriptor for descriptor, _ in self._poller.poll(TICK)]
            if self._control.fileno() in ready and self._request():
                return
            self._reap()

    def _request(self) -> bool:
        message, descriptors, _, _ = socket.recv_fds(self._control, LINGER, 4)
        if not message:
            self._leave()
        number = int(message)
        try:
            child = os.fork() if len(descriptors) == 4 else -1
        except OSError:
            child = -1
        if child == 0:
            self._become(descriptors)
            return True
        for descriptor in descriptors:
            os.close(descriptor)
        if child < 0:
            self._tell(f"refused {number} 0")
            return False
        watch = os.pidfd_open(child)
        self._runs[child] = (number, watch)
        self._poller.register(watch, select.POLLIN)
        self._tell(f"started {number} {child}", [watch])
        return False

    def _reap(self) -> None:
        while True:
            try:
                child, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if not child:
                return
            if child in self._runs:
                number, watch = self._runs.pop(child)
                self._poller.unregister(watch)
                os.close(watch)
                self._tell(f"ended {number} {os.waitstatus_to_exitcode(status)}")

    def _tell(self, message: str, descriptors: list[int] | None = None) -> None:
        try:
            socket.send_fds(self._control, [message.encode()], descriptors or [])
        except OSError:
            self._leave()

    def _leave(self) -> NoReturn:
        """The parent has closed its end, or is gone: then nobody watches the limits of the children any more."""
        for child in self._runs:
            for end in (os.kill, os.killpg):
                with contextlib.suppress(OSError):
                    end(child, signal.SIGKILL)
        os._exit(0)

    def _become(self, descriptors: list[int]) -> None:
        """Turn the process just forked into what a cold child is at its start."""
        os.setsid()
        setup = json.loads(os.pread(descriptors[3], os.fstat(descriptors[3]).st_size, 0))
        for target, descriptor in enumerate(descriptors[:3]):
            os.dup2(descriptor, target)
        self._control.detach()
        for descriptor in opened() - self._kept:
            os.close(descriptor)
        os.chdir(setup["cwd"])
        was, now = os.environ["TMPDIR"], setup["environment"]["TMPDIR"]
        added = {name: value.replace(was, now) for name, value in os.environ.items() if name not in self._began}
        os.environ.clear()
        os.environ.update(added | setup["environment"])
        # Whoever looks for the run's processes reads the environment that a process began with, and a fork inherits that: the mark belongs there too.
        value = setup["environment"][self._mark].encode()
        ctypes.memmove(self._address, value, len(value))
        tempfile.tempdir = None


def opened() -> set[int]:
    """The descriptors that are open now."""
    return {descriptor for descriptor in (int(path.name) for path in Path("/proc/self/fd").iterdir()) if _is_open(descriptor)}


def _is_open(descriptor: int) -> bool:
    try:
        os.fstat(descriptor)
    except OSError:
        return False
    return True  # which the one that listed the folder is not


def address_of(entry: str) -> int:
    """Where the value of an entry NAME=VALUE lies in the block of memory that /proc/PID/environ shows."""
    fields = Path("/proc/self/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    start, end = int(fields[47]), int(fields[48])  # env_start and env_end, fields 50 and 51 of proc_pid_stat(5)
    block = ctypes.string_at(start, end - start) if start else b""
    found = (b"\0" + block).find(f"\0{entry}\0".encode())
    if found < 0:
        msg = "the environment of this process is not where it should be"
        raise RuntimeError(msg)
    return start + found + entry.index("=") + 1


def serve(descriptor: int, entry: str) -> None:
    """Import, then serve; returns in each forked child, which goes on to `grader.run.child.main`."""
    control = socket.socket(fileno=descriptor)
    began = set(os.environ)
    for name in PRELOAD:
        importlib.import_module(name)
    for name in OPTIONAL:
        with contextlib.suppress(ImportError):
            importlib.import_module(name)
    server = Server(control, opened() - {descriptor}, entry, began)
    if len(list(Path("/proc/self/task").iterdir())) != 1:
        msg = "a library has started a thread while it was imported, and a fork would lose it"
        raise RuntimeError(msg)
    # Orphans of the children come here, to be reaped, instead of to the system's first process.
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    sys.path_importer_cache.pop(str(Path.cwd()), None)
    os.chdir("/")
    gc.collect()
    gc.freeze()  # else the first collection in each child would copy every page
    control.send(b"ready 0 0")
    server.next_child()
