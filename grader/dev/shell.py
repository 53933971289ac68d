"""Run a documented command the way every reader's machine can: one thread, no colour, a fixed width, the running interpreter as `python`."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil

TIMEOUT = 300.0
ENVIRONMENT = {
    "OMP_NUM_THREADS": "1",
    "NO_COLOR": "1",
    "COLUMNS": "100",
    "TERM": "dumb",
    "MPLBACKEND": "Agg",
    "PYTHONHASHSEED": "0",
    "PYTHONUNBUFFERED": "1",
    "PYTHONIOENCODING": "utf-8",
    "CUDA_VISIBLE_DEVICES": "",
}


def run_command(command: str, typed: str, root: Path, timeout: float) -> str:
    """What a shell command prints (stdout and stderr as they come), with the running interpreter as `python`. Ends its whole tree at the timeout."""
    with _python_on_path() as path:
        environment = {**os.environ, **ENVIRONMENT, "PATH": path}
        environment.pop("FORCE_COLOR", None)
        process = subprocess.Popen(  # noqa: S602 - the command is the documentation's own, and documentation may use a pipe
            command, shell=True, cwd=root, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        try:
            output, _ = process.communicate(typed.encode(), timeout)
        except subprocess.TimeoutExpired:
            _end_tree(process.pid)
            output = process.communicate()[0] + f"\n(stopped: still running after {timeout:.0f} seconds)".encode()
    return output.decode("utf-8", "replace")


@contextmanager
def _python_on_path() -> Iterator[str]:
    """A PATH on which `python` is the running interpreter, whatever it is called on this machine."""
    with tempfile.TemporaryDirectory(prefix="replay-") as folder:
        shim = Path(folder) / "python"
        shim.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} "$@"\n', encoding="utf-8")
        shim.chmod(0o755)
        yield os.pathsep.join([folder, str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])


def _end_tree(pid: int) -> None:
    """Kill a process and all its descendants, and wait until they are gone."""
    try:
        root = psutil.Process(pid)
        tree = [*root.children(recursive=True), root]
    except psutil.NoSuchProcess:
        return
    for process in tree:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(tree[:-1], timeout=5)
