"""The command lines of the author's commands."""

from __future__ import annotations

import argparse
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from grader.course import Course, CourseError, UnknownLessonError
from grader.dev.gradings import cores, names

PASSED, REFUSED, USAGE, OUR_FAULT = 0, 1, 2, 3
_PIPE_WIDTH = 150
"""A pipe has no width of its own, and a table of readings is not to be cut."""

_CHECK = """Refuse a course that does not keep its own promises, each time with the remedy.

Grades every exercise (it must fail exactly its `breaks`), solution and right case (they must pass) and wrong case (its first failing check
must be the one in its header), and reads the lessons' files: missing and stray ones, hints, sections, sizes, lines that give the solution away."""
_CALIBRATE = """Grade a lesson's exercise and solution over many seeds.

Shows for each check whether its verdict flips, and for each that compares a number: the range where it failed, the range where it passed,
the threshold, and the margin between the threshold and the nearest reading on either side."""
_NEW = """Write the files of a new lesson: a healthy script to plant the fault in, and texts that say what to write in their place.

`dev check` refuses the lesson until all of it is written. No file of grader/ needs to change."""


def run(argv: Sequence[str]) -> int:
    """Parse a command line and do what it says."""
    try:
        options = _parser().parse_args(list(argv))
    except SystemExit as leaving:
        return leaving.code if isinstance(leaving.code, int) else USAGE
    try:
        course = Course.find()
        return int(options.command(course, options))
    except UnknownLessonError as error:
        print(error, file=sys.stderr)
        return USAGE
    except CourseError as error:
        print(error, file=sys.stderr)
        return OUR_FAULT


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m grader dev", description="The author's commands.")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)

    check = _command(commands, "check", "refuse what does not keep its promises", _CHECK)
    check.add_argument("lessons", nargs="*", metavar="LESSON", help="which lessons (default: all, and the course as a whole)")
    check.add_argument(
        "--jobs", type=_positive, default=cores(), metavar="N", help="how many gradings at a time (default: the cores, here %(default)s)"
    )
    check.add_argument("--fix", action="store_true", help="rewrite the generated table in README.md")
    check.add_argument("--quick", action="store_true", help="grade exercises and solutions only, not the cases")
    check.set_defaults(command=_check)

    calibrate = _command(commands, "calibrate", "measure a lesson's thresholds over many seeds", _CALIBRATE)
    calibrate.add_argument("lesson", metavar="LESSON")
    calibrate.add_argument("--seeds", type=_positive, default=20, metavar="N", help="how many seeds, from 0 on (default: %(default)s)")
    calibrate.add_argument("--cases", action="store_true", help="grade every right and wrong case too")
    calibrate.add_argument(
        "--jobs", type=_positive, default=cores(), metavar="N", help="how many gradings at a time (default: the cores, here %(default)s)"
    )
    calibrate.add_argument("--json", type=Path, metavar="FILE", help="write every reading to FILE as JSON")
    calibrate.set_defaults(command=_calibrate)

    new = _command(commands, "new", "write the files of a new lesson", _NEW)
    new.add_argument("lesson", metavar="lessonNN", help="its name, with a number that is free")
    new.set_defaults(command=_new)
    return parser


def _command(commands: argparse._SubParsersAction[argparse.ArgumentParser], name: str, short: str, text: str) -> argparse.ArgumentParser:
    return commands.add_parser(
        name,
        help=short,
        description="\n".join(textwrap.fill(line, 80) for line in text.splitlines()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        msg = "write a whole number from 1 on"
        raise argparse.ArgumentTypeError(msg)
    return value


def _check(course: Course, options: argparse.Namespace) -> int:
    from rich.console import Console

    from grader.dev.checking import check_course

    wanted = names(course, options.lessons)
    report = check_course(course, wanted, Console(), workers=options.jobs, fix=options.fix, quick=options.quick)
    return PASSED if report.ok else REFUSED


def _calibrate(course: Course, options: argparse.Namespace) -> int:
    from rich.console import Console

    from grader.dev.calibrating import calibrate

    lesson = course.lesson(options.lesson)
    console = Console()
    if not console.is_terminal:
        console = Console(width=_PIPE_WIDTH)
    return calibrate(lesson, console, seeds=options.seeds, cases=options.cases, workers=options.jobs, json_file=options.json)


def _new(course: Course, options: argparse.Namespace) -> int:
    from grader.dev.scaffold import ScaffoldError, scaffold

    try:
        written = scaffold(course.root, options.lesson)
    except ScaffoldError as error:
        print(error, file=sys.stderr)
        return USAGE
    for path in written:
        print(path.relative_to(course.root).as_posix())
    print(f"Next: write them, then run python -m grader dev check {options.lesson}")
    return PASSED
