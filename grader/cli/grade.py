"""Grading: one submission, or every lesson's."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grader.cli import output
from grader.cli.data import usable
from grader.cli.exits import Exit, FaultError, UsageError
from grader.course.catalogue import Course

if TYPE_CHECKING:
    from grader.course.lesson import Lesson
    from grader.judge.verdict import Verdict


@dataclass(frozen=True)
class Options:
    """What the command line asked for; see grade_parser."""

    lesson: str | None
    all: bool
    solutions: bool
    submission: str | None
    device: str
    data: Path | None
    seed: int
    timeout: float | None
    json: str | None
    keep: Path | None
    plain: bool


def grade(given: dict[str, Any]) -> Exit:
    """Grade what the command line names, report it, and return the exit code."""
    options = Options(**given)
    _refuse_contradictions(options)
    course = Course.find()
    lessons = course.lessons() if options.all else (course.lesson(options.lesson or ""),)
    if not lessons:
        raise FaultError(f"{course.root} has no lessons; install the course anew.")
    files = [_submission(lesson, options) for lesson in lessons]
    output.prepare(options.json, files)
    if options.keep is not None and options.keep.exists() and not options.keep.is_dir():
        raise UsageError(f"--keep {options.keep} is a file; give a folder.")
    data = usable(options.data, course)
    from grader.run.warm import warm

    verdicts: list[Verdict] = []
    try:
        with warm(len(lessons)):
            for lesson, file in zip(lessons, files, strict=True):
                verdicts.append(_judge(lesson, file, data, options))
    finally:
        if options.all and verdicts:  # an interrupted series still shows what it has
            output.show_summary(verdicts, options.json, plain=options.plain)
    if not options.all:
        output.show_verdict(verdicts[0], course.after(lessons[0]), options.json, plain=options.plain)
    return _exit(verdicts)


def _refuse_contradictions(options: Options) -> None:
    if options.all and options.lesson:
        raise UsageError(f"Give a lesson or --all, not both: python -m grader {options.lesson}")
    if options.all and options.submission is not None:
        raise UsageError("--submission names one file, and --all takes every lesson's own. Give a lesson instead of --all.")
    if options.solutions and not options.all:
        raise UsageError(
            f"--solutions goes with --all. For one: python -m grader {options.lesson or 'LESSON'} --submission solutions/lessonNN/train.py"
        )
    if not options.all and not options.lesson:
        raise UsageError("Which lesson? For example: python -m grader lesson01\npython -m grader list shows them all; --help shows the options.")


def _submission(lesson: Lesson, options: Options) -> Path:
    if options.submission is not None:
        return Path(options.submission)
    return lesson.solution if options.solutions else lesson.exercise


def _judge(lesson: Lesson, file: Path, data: Path, options: Options) -> Verdict:
    """Run and judge one submission. What only the judging needs is imported while the submission runs."""
    from grader.data.root import DataError
    from grader.run.parent import DeviceError, GraderError, RunOptions, start

    keep = options.keep / lesson.name if options.keep is not None and options.all else options.keep
    run = RunOptions(data_dir=data, device=options.device, seed=options.seed, timeout=options.timeout, keep=keep)
    shown = _shown(file)
    try:
        with start(lesson, file.absolute(), run) as handle:  # leaving it ends the children, whatever happened
            from grader.course.checks import load_checks
            from grader.judge.judging import judge

            output.load()
            checks = load_checks(lesson)
            with output.waiting(lesson.name, shown, plain=options.plain):
                evidence = handle.wait()
            for note in handle.notes:
                print(note, file=sys.stderr)
        return judge(lesson, checks, evidence, submission=shown, seed=options.seed)
    except DeviceError as error:
        raise UsageError(str(error)) from error
    except (GraderError, DataError) as error:
        raise FaultError(str(error)) from error


def _shown(file: Path) -> Path:
    """How the report calls the file: from the working directory where it lies in it, else in full."""
    full = file.absolute()
    here = Path.cwd()
    return full.relative_to(here) if full.is_relative_to(here) else full


def _exit(verdicts: list[Verdict]) -> Exit:
    if any(verdict.status == "broken" for verdict in verdicts):
        return Exit.OUR_FAULT
    return Exit.PASSED if all(verdict.passed for verdict in verdicts) else Exit.NOT_YET
