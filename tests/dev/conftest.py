"""A course of one complete toy lesson, and gradings that are answered from a table instead of run."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from rich.console import Console

from grader.course import Course, Lesson
from grader.dev.checking import Report, check_course
from grader.judge.verdict import Answer, Failed, Passed, Result, Skipped, Verdict

LESSON = """
title = "The toy"
symptom = "the number | is too small"
part = 1
fault = "one where it should be two"
concept = "numbers"
tool = "print"
tools = ["print"]
minutes = 20
knows = ["counting"]
breaks = ["accuracy"]
diff_lines = 2
legs = ["main"]
hints = ["Which number is it?", "Print it where it is made.", "The number in main is too small."]

[budget]
epochs = 1
seconds = 60
memory_mb = 1000
"""
CHECKS = '''
"""Toy checks."""

from grader.judge.check import check
from grader.judge.verdict import Passed


@check("run")
def finishes(evidence):
    """It runs to its end."""
    return Passed("it did")


@check("accuracy")
def accuracy(evidence):
    """It is right."""
    return Passed("0.9")


CHECKS = (finishes, accuracy)
'''
STORY = """# Toy

## What you see

```console
$ python exercises/lesson01/train.py
1
```

## How to investigate
## The idea
## Your task
## Tools used here
## Next step
"""
SESSION = "# Toy\n\n```pdb\n$ python -m pdb exercises/lesson01/train.py\n" + "(Pdb) p 1\n1\n" * 8 + "```\n"
EXERCISE = '"""Toy."""\n\nnumber = 1  # the number\nprint(number)\n'
SOLUTION = EXERCISE.replace("number = 1  # the number", "number = 2  # the larger number")


def make_verdict(**answers: Answer) -> Verdict:
    """A verdict over finishes and accuracy, both passed unless said otherwise."""
    given: dict[str, Answer] = {"finishes": Passed("it did"), "accuracy": Passed("0.9"), **answers}
    results = tuple(Result(check, check.title(), "run", answer) for check, answer in given.items())
    return Verdict("lesson01", "The toy", "train.py", 0, results, ())


@dataclass
class Toy:
    """The toy course on disk. answers: what a submission, by its path in the course, is graded as instead of what it should be."""

    root: Path
    answers: dict[str, Verdict | Exception | Callable[[int], Verdict]] = field(default_factory=dict)
    graded: list[tuple[str, int]] = field(default_factory=list)
    printed: str = ""

    def path(self, where: str) -> Path:
        return self.root / where

    def write(self, where: str, text: str) -> None:
        self.path(where).parent.mkdir(parents=True, exist_ok=True)
        self.path(where).write_text(text, encoding="utf-8")

    def edit(self, where: str, old: str, new: str) -> None:
        text = self.path(where).read_text(encoding="utf-8")
        assert old in text
        self.write(where, text.replace(old, new))

    def remove(self, where: str) -> None:
        self.path(where).unlink()

    def grade(self, lesson: Lesson, submission: Path, seed: int) -> Verdict:
        where = submission.relative_to(self.root).as_posix()
        self.graded.append((where, seed))
        answer = self.answers.get(where)
        if isinstance(answer, Exception):
            raise answer
        if callable(answer):
            return answer(seed)
        if answer is not None:
            return answer
        if where.startswith("exercises/"):
            return make_verdict(accuracy=Failed("0.1", "0.8"))
        if submission.name.startswith("wrong_"):
            return make_verdict(finishes=Failed("it did not", "it does"), accuracy=Skipped("nothing to judge"))
        return make_verdict()

    def check(self, *names: str, fix: bool = False, quick: bool = False) -> Report:
        course = Course(self.root)
        out = io.StringIO()
        console = Console(file=out, width=150)
        report = check_course(course, names or course.names, console, workers=2, fix=fix, quick=quick, grade_one=self.grade)
        self.printed = out.getvalue()
        return report


@pytest.fixture
def toy(tmp_path: Path) -> Toy:
    """A toy course that keeps all its promises."""
    course = Toy(tmp_path)
    course.write("lessons/lesson01/lesson.toml", LESSON)
    course.write("lessons/lesson01/checks.py", CHECKS)
    course.write("lessons/lesson01/README.md", STORY)
    course.write("lessons/lesson01/walkthrough.md", SESSION)
    course.write("exercises/lesson01/train.py", EXERCISE)
    course.write("solutions/lesson01/train.py", SOLUTION)
    course.write("solutions/lesson01/README.md", "# Why\n\nIt was too small.\n")
    for number in range(5):
        course.write(f"tests/cases/lesson01/right_{number}.py", f"# right\n# It says {number} and that is right.\nprint({number})\n")
    for number in range(6):
        course.write(
            f"tests/cases/lesson01/wrong_{number}.py", f"# wrong: finishes\n# It says minus {number} and that is wrong.\nprint(-1 - {number})\n"
        )
    course.write("README.md", "# Course\n\n<!-- lessons:begin -->\n<!-- lessons:end -->\n\nThe end.\n")
    course.check(fix=True)
    course.graded.clear()
    return course


@pytest.fixture
def verdict() -> Callable[..., Verdict]:
    return make_verdict
