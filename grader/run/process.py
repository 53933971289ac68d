"""Start one child and see it to its end: time, memory and disk watched from outside, its whole process tree ended at the end.

Works the same with and without POSIX; psutil does the looking. A child is a fresh interpreter, or a fork of one that is warm (`grader.run.warm`).
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from grader.evidence.files import files_in
from grader.run.drain import Drain
from grader.run.forked import Forked
from grader.run.warm import fork

POLL, TREE_EVERY, FOLDER_EVERY, GRACE = 0.05, 0.5, 1.0, 3.0
EVIDENCE_LIMIT, OUTPUT_KEEP = 256 * 2**20, 16_384
MARK = "GRADER_RUN"


@dataclass
class Ending:
    """How the child ended: 'exit', or what the watch ended it for ('timeout', 'memory', 'disk', 'evidence').

    'lost': the launcher was ended while it ran; there is no result, the run is to be repeated alone.
    """

    why: str = "exit"
    code: int | None = None
    seconds: float = 0.0
    peak_mb: float = 0.0


@dataclass
class Limits:
    """seconds of wall clock, megabytes of resident memory of the whole tree, megabytes in the run directory."""

    seconds: float
    memory_mb: int
    disk_mb: int = 1024


class Child:
    """One child process, from start to the end of its process tree."""

    def __init__(self, job: bytes, folder: Path, limits: Limits, token: str, *, gpu: bool, alone: bool = False) -> None:
        """job: the line for its standard input; folder: its run directory; gpu: keep the environment's devices visible; alone: it was lost once."""
        self._folder = folder
        self._limits = limits
        self._token = token
        environment = dict(os.environ)
        for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
            environment[name] = "1"
        environment |= {
            MARK: token,
            "MPLBACKEND": "Agg",
            "PYTHONUNBUFFERED": "1",
            "PYTHONIOENCODING": "utf-8:replace",
            "PYTHONDONTWRITEBYTECODE": "1",
            "TORCHDYNAMO_DISABLE": "1",  # a compiled model runs as it is written: observed, and without minutes of compiling
        }
        environment |= dict.fromkeys(("TMPDIR", "TEMP", "TMP"), str(folder / "tmp"))
        environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "PYTHONPATH": os.pathsep.join(str(Path(p).resolve()) for p in sys.path)}
        if not gpu:
            environment.setdefault("CUDA_MODULE_LOADING", "LAZY")
        where = folder / "work"
        self._process = fork(where, environment, MARK, gpu=gpu, alone=alone) or _cold(where, environment)
        self._began = time.monotonic()
        assert self._process.stdin is not None and self._process.stdout is not None and self._process.stderr is not None  # noqa: PT018 - for mypy: PIPE was asked for
        self.evidence = Drain(self._process.stdout, EVIDENCE_LIMIT, ring=False)
        self.output = Drain(self._process.stderr, OUTPUT_KEEP, ring=True)
        self.evidence.start()
        self.output.start()
        with contextlib.suppress(OSError), self._process.stdin as pipe:
            pipe.write(job + b"\n")  # if it died at once, its exit code says so
        self._ending: Ending | None = None
        self._peak = self._looked = self._counted = 0.0

    def poll(self) -> Ending | None:
        """The ending, or None while it runs within its limits."""
        if self._ending is None:
            ended = self._process.poll() is not None
            under_way = isinstance(self._process, Forked) and self._process.dead  # the report of its end; no limit holds any more
            why = "exit" if ended else None if under_way else self._beyond()
            if why is not None:
                self._finish(why)
        return self._ending

    def pause(self) -> None:
        """Sleep until the next look, or until the child ends."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(POLL)

    def kill(self) -> None:
        """End the whole tree now."""
        if self._ending is None:
            self._finish("killed")

    def _beyond(self) -> str | None:
        if time.monotonic() - self._began > self._limits.seconds:
            return "timeout"
        now = time.monotonic()
        whole = now - self._counted > TREE_EVERY
        if whole:
            self._counted = now
        used = self._resident(whole=whole)
        self._peak = max(self._peak, used)
        if used > self._limits.memory_mb:
            return "memory"
        if self.evidence.total > EVIDENCE_LIMIT:
            return "evidence"
        if now - self._looked > FOLDER_EVERY:
            self._looked = now
            if _folder_mb(self._folder) > self._limits.disk_mb:
                return "disk"
        return None

    def _resident(self, *, whole: bool) -> float:
        """Megabytes of resident memory, less what is shared: of the child, or of its whole tree (which takes a look at every process)."""
        total = 0
        try:
            root = psutil.Process(self._process.pid)
            tree = [root, *root.children(recursive=True)] if whole else [root]
        except psutil.Error:
            return 0.0
        for process in tree:
            try:
                info = process.memory_info()
                total += info.rss - getattr(info, "shared", 0)
            except psutil.Error:
                continue
        return total / 2**20

    def _finish(self, why: str) -> None:
        code = self._process.poll()
        seconds = time.monotonic() - self._began
        self._end_tree(alive=code is None)
        if code is None:
            code = self._process.wait()
        if isinstance(self._process, Forked):
            self._process.release()
            why = "lost" if why == "exit" and self._process.lost else why
        for drain in (self.evidence, self.output):
            if drain.thread is not None:
                drain.thread.join(GRACE)
        self._ending = Ending(why, code, seconds, self._peak)

    def _end_tree(self, *, alive: bool) -> None:
        """End the child, its children, and whatever of this run has left the tree (known by the mark in its environment)."""
        doomed: dict[int, psutil.Process] = {}
        if alive:  # else its number may be another process's by now; strays are found below
            with contextlib.suppress(psutil.Error):
                root = psutil.Process(self._process.pid)
                doomed |= {p.pid: p for p in [root, *root.children(recursive=True)]}
        if os.name == "posix":
            for process in psutil.process_iter():
                try:
                    if process.environ().get(MARK) == self._token and process.pid != os.getpid():
                        doomed[process.pid] = process
                except (psutil.Error, OSError):
                    continue
        for process in doomed.values():
            try:
                process.kill()
            except psutil.Error:
                continue


def _cold(folder: Path, environment: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-X", "faulthandler=0", "-c", "from grader.run.child import main; main()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=environment,
        start_new_session=os.name == "posix",
    )


def _folder_mb(folder: Path) -> float:
    return sum(info.st_size for _, info in files_in(folder)) / 2**20
