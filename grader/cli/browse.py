"""The commands that only read the course: list, hint."""

from __future__ import annotations

import shutil
import textwrap
from typing import TYPE_CHECKING

from grader.cli.exits import Exit
from grader.course.catalogue import Course

if TYPE_CHECKING:
    from grader.course.lesson import Lesson


def show_list() -> Exit:
    """Print every lesson, by part: name, title, minutes, and the symptom."""
    lessons = Course.find().lessons()
    for part in sorted({lesson.part for lesson in lessons}):
        print(f"Part {part}")
        for lesson in lessons:
            if lesson.part == part:
                print(_wrap(f"{lesson.title} ({lesson.minutes} min)", f"  {lesson.name}  ", 12))
                print(_wrap(lesson.symptom, " " * 12, 12))
        print()
    first = lessons[0].name if lessons else "lesson01"
    print(f"Begin with lessons/{first}/README.md. Grade your fix with: python -m grader {first}")
    return Exit.PASSED


def show_hint(text: str, level: int) -> Exit:
    """Print one hint of a lesson, and how to get the next."""
    lesson = Course.find().lesson(text)
    print(f"{lesson.name}: {lesson.title}. Hint {level} of 3:\n")
    print(_wrap(lesson.hints[level - 1], "  ", 2))
    print(f"\n{_after_hint(lesson, level)}")
    return Exit.PASSED


def _after_hint(lesson: Lesson, level: int) -> str:
    if level < len(lesson.hints):
        return f"Take that reading first. The next hint: python -m grader hint {lesson.name} --level {level + 1}"
    return f"That was the last hint. lessons/{lesson.name}/walkthrough.md takes every reading with you."


def _wrap(text: str, first: str, hang: int) -> str:
    width = max(40, min(shutil.get_terminal_size().columns, 100))
    return textwrap.fill(text, width, initial_indent=first, subsequent_indent=" " * hang, break_long_words=False, break_on_hyphens=False)
