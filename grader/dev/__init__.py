"""The author's room: `python -m grader dev check`, `dev calibrate` and `dev new`."""

from __future__ import annotations

from collections.abc import Sequence


def main(argv: Sequence[str]) -> int:
    """Run one of the author's commands. Returns the exit code: 0 well, 1 something is refused or flips, 2 usage, 3 our own fault."""
    from grader.dev.commands import run

    return run(argv)
