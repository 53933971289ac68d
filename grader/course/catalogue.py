"""The course on disk: where it is, which lessons it has, and which one a learner means."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from grader.course.errors import CourseError, UnknownLessonError
from grader.course.lesson import NAME, Lesson, load_lesson

if TYPE_CHECKING:
    from collections.abc import Iterator

VARIABLE = "PYTORCH_COURSE"
"""The environment variable that names the course's folder."""

_SPELLINGS = re.compile(r"(?:lesson[ _-]?)?([0-9]{1,6})", re.IGNORECASE)


@dataclass(frozen=True)
class Course:
    """The folder that holds lessons/, exercises/, solutions/ and datasets/."""

    root: Path

    @classmethod
    def find(cls, start: Path | None = None) -> Course:
        """The course that is meant: named by PYTORCH_COURSE, or around start (the working directory), or beside the installed grader.

        Raises CourseError if there is none.
        """
        named = os.environ.get(VARIABLE)
        if named:
            root = Path(named).expanduser().resolve()
            if not _has_folders(root):
                raise CourseError(f"{VARIABLE} names {root}, which has no lessons/ and exercises/ in it; correct it or unset it.")
            return cls(root)
        here = (start or Path.cwd()).resolve()
        beside = Path(__file__).resolve().parents[2]
        for folder in (here, *here.parents, beside):
            if _has_folders(folder) and any(_names(folder / "lessons")):
                return cls(folder)
        raise CourseError(f"no course found in {here} or above it; change to the course's folder, or set {VARIABLE} to it.")

    @property
    def datasets(self) -> Path:
        """The data folder that comes with the course, a torchvision root."""
        return self.root / "datasets"

    @property
    def names(self) -> tuple[str, ...]:
        """The lessons' names in order, from their folders alone."""
        return tuple(sorted(_names(self.root / "lessons")))

    def lessons(self) -> tuple[Lesson, ...]:
        """Every lesson, in order.  Raises CourseError at the first whose lesson.toml is wrong."""
        return tuple(load_lesson(self.root, name) for name in self.names)

    def lesson(self, text: str) -> Lesson:
        """The lesson that a learner calls '3', '03', 'lesson03' or 'lesson3'.

        Raises UnknownLessonError if there is none, CourseError if its lesson.toml is wrong.
        """
        spelt = _SPELLINGS.fullmatch(text.strip())
        name = f"lesson{int(spelt[1]):02d}" if spelt else text
        if name not in self.names:
            raise UnknownLessonError(self._unknown(text))
        return load_lesson(self.root, name)

    def after(self, lesson: Lesson) -> str | None:
        """The name of the lesson that follows, None after the last."""
        return next((name for name in self.names if name > lesson.name), None)

    def _unknown(self, text: str) -> str:
        import difflib  # only here: it costs start-up time

        numbers = {f"lesson{int(digits):02d}" for digits in re.findall(r"[0-9]{1,6}", text)}
        near = sorted(numbers & set(self.names)) if numbers else difflib.get_close_matches(text.lower(), self.names, 1)
        said = f"There is no lesson {text!r}." + (f" Did you mean {near[0]}?" if near else "")
        said += f"\nThe lessons are: {', '.join(self.names)}."
        if text.endswith(".py"):
            said += f"\nTo grade a file of another name: python -m grader {near[0] if near else 'LESSON'} --submission FILE"
        return said


def _has_folders(root: Path) -> bool:
    return (root / "lessons").is_dir() and (root / "exercises").is_dir()


def _names(lessons: Path) -> Iterator[str]:
    return (folder.name for folder in lessons.iterdir() if NAME.fullmatch(folder.name) and folder.is_dir())
