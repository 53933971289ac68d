"""`dev calibrate`: what each check saw over many seeds, and how far its threshold stands from it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from grader.course import Lesson
from grader.dev.cases import case_paths
from grader.dev.gradings import Grade, Job, grade, run_jobs
from grader.dev.margins import Reading, Spread, flips, readings_of, spreads

STEADY, FLIPS, OUR_FAULT = 0, 1, 3
_MANY = 10.0
"""From ten times the threshold on, a margin is shown as a multiple of it and not in per cent."""


def calibrate(
    lesson: Lesson,
    console: Console,
    *,
    seeds: int = 20,
    cases: bool = False,
    workers: int = 1,
    json_file: Path | None = None,
    grade_one: Grade = grade,
) -> int:
    """Grade a lesson's submissions over seeds 0 to `seeds` - 1 and print what was seen.

    Returns 0 if no verdict flips, 1 if one does, 3 if a submission could not be graded.
    """
    submissions = [(lesson.exercise, "exercise"), (lesson.solution, "solution")]
    if cases:
        submissions += [(path, path.name.split("_")[0]) for path in case_paths(lesson.cases)]
    jobs = [Job(lesson, path, kind, seed) for seed in range(seeds) for path, kind in submissions]
    readings: list[Reading] = []
    failures: list[str] = []
    for number, (job, verdict) in enumerate(run_jobs(jobs, workers, grade_one), 1):
        if isinstance(verdict, Exception):
            failures.append(f"{job.where}, seed {job.seed}: {type(verdict).__name__}: {verdict}")
            said = "could not be graded"
        else:
            readings += readings_of(job, verdict)
            said = verdict.status + (f" at {verdict.failing[0]}" if verdict.failing else "")
        console.print(f"{number}/{len(jobs)} seed {job.seed:2d} {job.where}: {said}", soft_wrap=True, highlight=False, markup=False)
    readings.sort(key=lambda reading: (reading.submission, reading.seed))
    flipping = flips(readings)
    console.print(_verdicts(readings, [path for path, _ in submissions], lesson))
    console.print(_thresholds(spreads(readings)))
    for line in [*flipping, *failures]:
        console.print(line, soft_wrap=True, highlight=False, markup=False)
    if json_file is not None:
        content = {
            "lesson": lesson.name,
            "seeds": seeds,
            "flips": flipping,
            "failures": failures,
            "readings": [vars(reading) for reading in readings],
        }
        json_file.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if failures:
        return OUR_FAULT
    console.print(f"No verdict flips over {seeds} seeds." if not flipping else f"{len(flipping)} verdicts flip.", highlight=False)
    return FLIPS if flipping else STEADY


def _verdicts(readings: Sequence[Reading], submissions: Sequence[Path], lesson: Lesson) -> Table:
    """A row for each check, a column for each submission: how often it passed, failed, was skipped."""
    names = [path.relative_to(lesson.root).as_posix() for path in submissions]
    table = Table(title="verdicts: passed, failed, skipped, broken", title_justify="left")
    table.add_column("check", no_wrap=True)
    for path, name in zip(submissions, names, strict=True):
        table.add_column(name.split("/")[0] if path.name == "train.py" else path.stem)
    for check in dict.fromkeys(reading.check for reading in readings):
        counts = [Counter(r.answer for r in readings if r.check == check and r.submission == name) for name in names]
        table.add_row(check, *(" ".join(f"{number}{answer[0]}" for answer, number in sorted(count.items())) for count in counts))
    return table


def _thresholds(found: Sequence[Spread]) -> Table:
    """A row for each check that compares a number."""
    table = Table(title="thresholds", title_justify="left")
    for column in ("check", "failed at", "threshold", "passed at", "margin to failed", "margin to passed"):
        table.add_column(column, justify="left" if column == "check" else "right", no_wrap=True)
    for spread in found:
        table.add_row(
            spread.check,
            _range(spread.failed),
            f"{spread.sign} {spread.threshold:.4g}",
            _range(spread.passed),
            _margin(spread.to_failed, spread.threshold),
            _margin(spread.to_passed, spread.threshold),
        )
    return table


def _range(values: tuple[float, float] | None) -> str:
    return "-" if values is None else f"{values[0]:.4g} .. {values[1]:.4g}"


def _margin(margin: float | None, threshold: float) -> str:
    if margin is None:
        return "-"
    share = margin / abs(threshold) if threshold else 0.0
    return f"{margin:.3g}" + (f" ({share:.0%})" if 0 < share < _MANY else f" ({share:.1e}x)" if share else "")
