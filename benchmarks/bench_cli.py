"""How long `list`, `hint` and `--help` take, beside an interpreter that does nothing, and whether they import torch or matplotlib."""

from __future__ import annotations

import argparse
import subprocess
import sys

from stopwatch import COURSE, ENVIRONMENT, alternating, median, table

LIMIT = 0.3  # seconds
COMMANDS = {
    "python -c pass": ["-c", "pass"],
    "--help": ["-m", "grader", "--help"],
    "list": ["-m", "grader", "list"],
    "hint 1": ["-m", "grader", "hint", "1"],
}
HEAVY = {"torch", "torchvision", "tensorboard", "matplotlib", "numpy"}


def imported(arguments: list[str]) -> set[str]:
    """Which heavy packages a command imports."""
    run = subprocess.run([sys.executable, "-X", "importtime", *arguments], cwd=COURSE, env=ENVIRONMENT, capture_output=True, text=True, check=False)
    return {line.rsplit("|", 1)[-1].strip() for line in run.stderr.splitlines()} & HEAVY


def main() -> int:
    """Print one row a command; exit 1 if one of the grader's takes longer than the limit or imports torch or matplotlib."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=15, metavar="N", help="runs of each command (default: %(default)s)")
    options = parser.parse_args()
    runs = alternating(COMMANDS, options.repeats)
    rows, within = [], True
    for name, measured in runs.items():
        seconds = [run.seconds for run in measured]
        heavy = imported(COMMANDS[name])
        rows.append([name, f"{median(seconds):.3f}", f"{min(seconds):.3f}", f"{max(seconds):.3f}", ", ".join(sorted(heavy)) or "none"])
        within &= name.startswith("python") or (median(seconds) < LIMIT and not heavy & {"torch", "matplotlib"})
    print(table(["command", "median s", "fastest", "slowest", "heavy imports"], rows))
    print(f"limit: {LIMIT} s and neither torch nor matplotlib: {'held' if within else 'NOT held'}")
    return 0 if within else 1


if __name__ == "__main__":
    sys.exit(main())
