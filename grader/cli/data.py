"""The data folder: the command data, and the check before anything is graded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.cli.exits import UsageError
from grader.course.catalogue import Course

if TYPE_CHECKING:
    from pathlib import Path


def download(folder: Path | None) -> int:
    """Download the full MNIST set, by default into datasets/full of the course. Returns 0, or 1 if it could not be had."""
    from grader.data.download import download_full

    place = Course.find().datasets / "full" if folder is None else folder.expanduser()
    code = download_full(place)
    if code == 0:
        print(f'Grade with it: python -m grader lesson01 --data "{place}"')
    return code


def usable(folder: Path | None, course: Course) -> Path:
    """The data folder to grade with, absolute, after a look into it.  Raises UsageError if torchvision could not read it."""
    from grader.data.root import DataError, check_root

    place = course.datasets if folder is None else folder.expanduser()
    try:
        check_root(place)
    except DataError as error:
        raise UsageError(f"The data folder cannot be used.\n{error}") from error
    return place.resolve()
