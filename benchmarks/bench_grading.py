"""What grading costs: a solution's script by itself against its grading, whole processes in turn; a crashing exercise against `import torch`."""

from __future__ import annotations

import argparse
import sys

from stopwatch import COURSE, Run, alternating, median, ratio, table

OVERHEAD = 1.25  # grading a solution / running its script
SLOWEST, MEDIAN = 30.0, 12.0  # seconds on 2 cores
CRASH_RATIO, CRASH_EXTRA = 1.3, 2.0  # a crash lesson takes at most 1.3 times the import, plus 2 seconds
IMPORT = ["-c", "import torch, torchvision"]


def compare(name: str, repeats: int) -> tuple[list[Run], list[Run], list[Run], list[Run]]:
    """Runs of the solution's script, its grading, the exercise's grading and the bare import, in turn."""
    solution = f"solutions/{name}/train.py"
    commands = {
        "script": [solution],
        "grading": ["-m", "grader", name, "--submission", solution],
        "exercise": ["-m", "grader", name],
        "import": IMPORT,
    }
    runs = alternating(commands, repeats)
    return runs["script"], runs["grading"], runs["exercise"], runs["import"]


def main() -> int:
    """Print one row a lesson; exit 1 if a limit is not held."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="lessonNN", help="default: all of them")
    parser.add_argument("--repeats", type=int, default=3, metavar="N", help="runs of each command (default: %(default)s)")
    parser.add_argument(
        "--crash", nargs="*", default=["lesson01", "lesson02"], metavar="lessonNN", help="the crash lessons (default: lesson01 lesson02)"
    )
    options = parser.parse_args()
    rows, notes, times = [], [], []
    for name in options.lessons or sorted(folder.name for folder in (COURSE / "solutions").iterdir() if folder.is_dir()):
        script, grading, exercise, imports = compare(name, options.repeats)
        seconds = [median([run.seconds for run in runs]) for runs in (script, grading, exercise, imports)]
        times.append(seconds[1])
        overhead = ratio(grading, script)
        crash_limit = CRASH_RATIO * seconds[3] + CRASH_EXTRA
        memory = max(run.megabytes for run in grading)
        rows.append([name, *(f"{value:.2f}" for value in seconds), f"{overhead:.2f}", f"{memory:.0f}"])
        if overhead > OVERHEAD:
            notes.append(f"{name}: grading costs {overhead:.2f} times the script, limit {OVERHEAD}")
        if name in options.crash and seconds[2] > crash_limit:
            notes.append(f"{name}: the exercise's grading takes {seconds[2]:.2f} s, limit {crash_limit:.2f} s")
        notes += [
            f"{name}: a run of {kind} ended with {run.code}"
            for kind, runs in (("the script", script), ("its grading", grading))
            for run in runs
            if run.code
        ]
    if max(times) > SLOWEST or median(times) > MEDIAN:
        notes.append(f"slowest grading {max(times):.1f} s (limit {SLOWEST}), median {median(times):.1f} s (limit {MEDIAN})")
    print(table(["lesson", "script s", "grading s", "exercise's grading s", "import s", "grading / script", "peak MB"], rows))
    print("\n".join(notes) or "all limits held")
    return 1 if notes else 0


if __name__ == "__main__":
    sys.exit(main())
