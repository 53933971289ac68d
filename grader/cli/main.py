"""The entry: which command, and what an error's exit code is."""

from __future__ import annotations

import os
import sys
import traceback
from typing import TYPE_CHECKING

from grader.cli import parsers
from grader.cli.exits import Exit, FaultError, UsageError
from grader.course.errors import CourseError, UnknownLessonError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEBUG = "GRADER_DEBUG"
"""Set to 1 in the environment: a fault of ours comes with its traceback."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run `python -m grader` with these arguments (default: the process's own) and return the exit code.

    Raises SystemExit for --help and for options that do not parse (argparse), and where a script under `sim` exits by itself.
    """
    _accept_every_character()
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _say("Stopped.", Exit.INTERRUPTED)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or the interpreter complains when it flushes at the end
        return Exit.PIPE
    except (UsageError, UnknownLessonError) as error:
        return _say(str(error), Exit.USAGE)
    except (CourseError, FaultError) as error:
        return _fault(str(error))
    except Exception as error:  # noqa: BLE001 - the last line of defence: a bug of ours must not look like a learner's failure
        return _fault(f"{type(error).__name__}: {error}\nThis is a fault of the grader: please report it, with what {DEBUG}=1 shows.")
    return int(code)


def _run(argv: list[str]) -> int:
    command = argv[0] if argv else ""
    if command in _COMMANDS:
        return _COMMANDS[command](argv[1:])
    given = parsers.parse(parsers.grade_parser(), argv)
    if given["lesson"] in _COMMANDS:
        raise UsageError(f"A command comes first: python -m grader {given['lesson']}")
    from grader.cli.grade import grade

    return grade(given)


def _list(argv: list[str]) -> int:
    parsers.parse(parsers.list_parser(), argv)
    from grader.cli.browse import show_list

    return show_list()


def _hint(argv: list[str]) -> int:
    given = parsers.parse(parsers.hint_parser(), argv)
    from grader.cli.browse import show_hint

    return show_hint(given["lesson"], given["level"])


def _data(argv: list[str]) -> int:
    given = parsers.parse(parsers.data_parser(), argv)
    from grader.cli.data import download

    return download(given["folder"])


def _sim(argv: list[str]) -> int:
    given = parsers.parse(parsers.sim_parser(), argv)
    from grader.cli.sim import run_script

    return run_script(given["file"], given["arguments"], debugger=given["pdb"])


def _dev(argv: list[str]) -> int:
    from grader.dev import main as dev_main

    return dev_main(argv)


_COMMANDS: dict[str, Callable[[list[str]], int]] = {"list": _list, "hint": _hint, "data": _data, "sim": _sim, "dev": _dev}


def _accept_every_character() -> None:
    """A pipe on Windows may speak cp1252: a character that it lacks becomes a question mark, not an error."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def _say(message: str, code: Exit) -> Exit:
    print(message, file=sys.stderr)
    return code


def _fault(message: str) -> Exit:
    if os.environ.get(DEBUG) == "1":
        traceback.print_exc()
    return _say(f"The grader could not do its work.\n{message}", Exit.OUR_FAULT)
