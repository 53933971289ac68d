"""Run whole processes one after another and report medians: what the benchmarks share."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

COURSE = Path(__file__).resolve().parents[1]
ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "MPLBACKEND": "Agg"}


@dataclass(frozen=True)
class Run:
    """One process: seconds on the wall clock, peak memory of its largest process in megabytes (0 where the system does not tell), exit code."""

    seconds: float
    megabytes: float
    code: int


def timed(arguments: Sequence[str]) -> Run:
    """Run the interpreter with `arguments` in the course's folder, output thrown away."""
    start = time.perf_counter()
    process = subprocess.Popen([sys.executable, *arguments], cwd=COURSE, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if not hasattr(os, "wait4"):
        code = process.wait()
        return Run(time.perf_counter() - start, 0.0, code)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    unit = 1024**2 if sys.platform == "darwin" else 1024
    return Run(time.perf_counter() - start, usage.ru_maxrss / unit, process.returncode)


def alternating(commands: Mapping[str, Sequence[str]], repeats: int) -> dict[str, list[Run]]:
    """Run each command `repeats` times, in turn, so that a busy moment of the machine hits all of them alike. One round before does not count."""
    for arguments in commands.values():
        timed(arguments)
    runs: dict[str, list[Run]] = {name: [] for name in commands}
    for _ in range(repeats):
        for name, arguments in commands.items():
            runs[name].append(timed(arguments))
    return runs


def median(values: Sequence[float]) -> float:
    """The median, NaN of nothing."""
    return statistics.median(values) if values else float("nan")


def ratio(runs: Sequence[Run], base: Sequence[Run]) -> float:
    """The median of the ratios of neighbouring runs."""
    return median([run.seconds / other.seconds for run, other in zip(runs, base, strict=True)])


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows as a Markdown table."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
