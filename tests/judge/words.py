"""Every check of the course, and its answer in the words that a learner reads."""

from __future__ import annotations

from pathlib import Path

from grader.course import Course, load_checks
from grader.judge.check import Check
from grader.judge.verdict import Answer, Broken, Failed, Passed, Skipped

COURSE = Course.find(Path(__file__).resolve().parents[2])
CHECKS = {(lesson.number, c.id): c for lesson in COURSE.lessons() for c in load_checks(lesson)}
LAST = 6
"""The last lesson whose own checks have their words in test_messages.py; the later ones have theirs in test_messages_silent.py."""


def shared(item: Check) -> bool:
    """Whether a check comes from the vocabulary that lessons share."""
    return item.function.__module__.startswith("grader.judge.expect")


def text(given: Answer) -> str:
    match given:
        case Passed(saw, remark):
            return f"PASS  {saw}" + (f"  [remark: {remark}]" if remark else "")
        case Failed(saw, expected, where, step):
            return f"FAIL  {saw}\n      expected: {expected}\n      where: {where and where.line}\n      next: {step}"
        case Skipped(why):
            return f"SKIP  {why}"
        case Broken(error):
            return f"BROKEN {error}"
