"""Where a verdict goes: the terminal, a JSON file, stdout; and what is shown meanwhile."""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from grader.cli.exits import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.judge.verdict import Verdict

STDOUT = "-"


def prepare(json: str | None, submissions: Sequence[Path]) -> None:
    """Before anything runs: refuse a --json file that cannot or must not be written, and remove what an earlier run left there.

    Raises UsageError.
    """
    if json is None or json == STDOUT:
        return
    path = Path(json)
    if not path.absolute().parent.is_dir():
        raise UsageError(f"--json {json}: there is no folder {path.parent}; make it first.")
    if path.is_dir():
        raise UsageError(f"--json {json} is a folder; give a file in it, for example {path / 'verdict.json'}.")
    if path.suffix == ".py" or any(path.resolve() == file.resolve() for file in submissions):
        raise UsageError(f"--json {json} would overwrite a script; give another file, for example verdict.json.")
    if path.is_file():
        try:
            path.resolve().unlink()
        except OSError as error:
            raise UsageError(f"--json {json} cannot be written: {error.strerror}.") from error


def load() -> None:
    """Import what a report needs, before it is needed: while the submission runs, this costs no time."""
    import grader.report.as_json
    import grader.report.terminal  # noqa: F401


def show_verdict(verdict: Verdict, following: str | None, json: str | None, *, plain: bool) -> None:
    """Report one verdict: on the terminal and, if asked for, as JSON; with '-', as JSON only."""
    from grader.report.as_json import to_data

    if json is not None:
        _write(to_data(verdict, following), json)
    if json != STDOUT:
        from grader.report.sheet import make_console
        from grader.report.terminal import render

        render(verdict, make_console(sys.stdout, plain=plain), following)


def show_summary(verdicts: Sequence[Verdict], json: str | None, *, plain: bool) -> None:
    """Report many verdicts: a table on the terminal and, if asked for, a JSON list; with '-', the list only."""
    from grader.report.as_json import to_data

    if json is not None:
        _write([to_data(verdict) for verdict in verdicts], json)
    if json != STDOUT:
        from grader.report.sheet import make_console
        from grader.report.summary import render_summary

        render_summary(verdicts, make_console(sys.stdout, plain=plain))


def waiting(lesson: str, submission: Path, *, plain: bool) -> contextlib.AbstractContextManager[object]:
    """Say what is going on, on stderr, where a person looks at it. In a pipe, and without colours, nothing moves."""
    if plain or not sys.stderr.isatty():
        return contextlib.nullcontext()
    from rich.text import Text

    from grader.report.clean import inline
    from grader.report.sheet import make_console

    console = make_console(sys.stderr)
    return (
        console.status(Text(f"{lesson}: running {inline(str(submission))}"), refresh_per_second=4)
        if console.is_terminal
        else contextlib.nullcontext()
    )


def _write(data: object, json: str) -> None:
    from grader.report.as_json import to_text, write_json

    if json == STDOUT:
        sys.stdout.write(to_text(data))
        return
    try:
        write_json(data, Path(json))
    except OSError as error:
        raise UsageError(f"--json {json} cannot be written: {error.strerror}.") from error
