"""The parsers of every command, with the help that a learner reads."""

from __future__ import annotations

import argparse
import math
import textwrap
from pathlib import Path
from typing import Any

EXIT_CODES = "Exit codes: 0 passed, 1 not yet, 2 usage, 3 a fault of ours."

_GRADE = """\
Examples:
  python -m grader lesson03                    its exercise, train.py
  python -m grader 3                           the same
  python -m grader 3 --submission my/train.py  another file
  python -m grader 2 --device sim              with a simulated GPU
  python -m grader 3 --json - | jq .failing    as data
  python -m grader --all                       every exercise, one by one
  python -m grader --all --solutions           is the course itself in order?

Commands (each has its own --help):
  python -m grader list              the lessons
  python -m grader hint LESSON       a question, an instrument, or a place
  python -m grader data [DIR]        download the full MNIST set (not needed)
  python -m grader sim FILE [ARGS]   a script under the simulated CUDA device
  python -m grader dev COMMAND       for authors: check, calibrate, new

"""
_LIST = """\
Examples:
  python -m grader list
"""
_HINT = """\
Level 1 asks a question, level 2 names the instrument and where to hold it,
level 3 names the place and what is wrong there. None of them gives the fix.

Examples:
  python -m grader hint lesson03
  python -m grader hint 3 --level 2
"""
_DATA = """\
The course comes with 10,000 training and 2,000 test images, and no lesson needs
more. The full set has 60,000 and 10,000, and takes 55 MB.

Examples:
  python -m grader data                     into datasets/full
  python -m grader data ~/mnist             into another folder
  python -m grader lesson03 --data ~/mnist  grade with it
"""
_SIM = """\
For machines without a GPU: "cuda" exists, is slow, and refuses to mix with the
CPU just as a real one does. The exit code is the script's own.

Examples:
  python -m grader sim exercises/lesson02/train.py
  python -m grader sim --pdb exercises/lesson02/train.py  in the debugger
"""
_TOP = "Say why a fix of a broken training script holds, or does not hold yet."


class _Parser(argparse.ArgumentParser):
    """No abbreviated options: what works today must not become ambiguous tomorrow."""

    def __init__(self, command: str, usage: str, description: str, epilog: str) -> None:
        name = f"python -m grader {command}".strip()
        shape = argparse.RawDescriptionHelpFormatter
        super().__init__(
            prog=name,
            usage=f"{name} {usage}".strip(),
            description=textwrap.fill(description, 80),
            epilog=epilog,
            formatter_class=shape,
            allow_abbrev=False,
        )


def grade_parser() -> argparse.ArgumentParser:
    """The parser of `python -m grader LESSON` and `python -m grader --all`."""
    parser = _Parser("", "LESSON [options] | --all [options] | COMMAND", _TOP, _GRADE + EXIT_CODES)
    add = parser.add_argument
    add("lesson", nargs="?", metavar="LESSON", help="which lesson: lesson03, 03 or 3")
    add("--all", action="store_true", help="grade every lesson, and show a table")
    add("--solutions", action="store_true", help="with --all: grade the solutions in place of the exercises")
    add("--submission", metavar="FILE", help="the file to grade (default: exercises/lessonNN/train.py)")
    add("--device", choices=("auto", "cpu", "cuda", "sim"), default="auto", help="auto takes a GPU where there is one; sim simulates one")
    add("--data", metavar="DIR", type=Path, help="a torchvision data folder (default: the course's datasets/)")
    add("--seed", metavar="N", type=_seed, default=0, help="seed of the run (default: 0)")
    add("--timeout", metavar="SECONDS", type=_seconds, help="stop the script after that time (default: the lesson's own limit)")
    add("--json", metavar="FILE", help="write the verdict as JSON too; - writes it to stdout, and nothing else")
    add("--keep", metavar="DIR", type=Path, help="keep the run's event files and evidence in this folder")
    add("--plain", "--no-color", action="store_true", help="no colours (as with NO_COLOR=1)")
    return parser


def list_parser() -> argparse.ArgumentParser:
    """The parser of `list`."""
    return _Parser("list", "", "Show the lessons: what each is called, how long it takes, and what a colleague would report.", _LIST)


def hint_parser() -> argparse.ArgumentParser:
    """The parser of `hint`."""
    parser = _Parser("hint", "LESSON [--level 1|2|3]", "Give a hint for a lesson.", _HINT)
    parser.add_argument("lesson", metavar="LESSON", help="which lesson: lesson03, 03 or 3")
    parser.add_argument("--level", type=int, choices=(1, 2, 3), default=1, help="how much the hint may say (default: 1)")
    return parser


def data_parser() -> argparse.ArgumentParser:
    """The parser of `data`."""
    parser = _Parser("data", "[DIR]", "Download the full MNIST set with torchvision, and check it.", _DATA)
    parser.add_argument("folder", nargs="?", metavar="DIR", type=Path, help="where to put it (default: datasets/full in the course's folder)")
    return parser


def sim_parser() -> argparse.ArgumentParser:
    """The parser of `sim`."""
    parser = _Parser("sim", "[--pdb] FILE [ARGS ...]", "Run a script as python would, but under the simulated CUDA device.", _SIM)
    parser.add_argument("--pdb", action="store_true", help="run it in the Python debugger")
    parser.add_argument("file", metavar="FILE", help="the script")
    rest = parser.add_argument("arguments", metavar="ARGS", nargs=argparse.REMAINDER, help="arguments for the script")
    rest.required = False  # or else a missing FILE is reported as a missing FILE and ARGS
    return parser


def parse(parser: argparse.ArgumentParser, argv: list[str]) -> dict[str, Any]:
    """The options as a dictionary.  Raises SystemExit: 0 after --help, 2 after a usage message."""
    return vars(parser.parse_args(argv))


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = -1
    if not 0 <= seed < 2**32:  # numpy takes no others
        raise argparse.ArgumentTypeError(f"{text!r} is no seed: give a whole number from 0 to {2**32 - 1}")
    return seed


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not (math.isfinite(seconds) and seconds > 0):
        raise argparse.ArgumentTypeError(f"{text!r} is no time: give seconds, more than 0")
    return seconds
