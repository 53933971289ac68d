"""Fixtures for every room's tests."""

from __future__ import annotations

from pathlib import Path

import pytest

LESSON = {
    "title": '"A toy lesson"',
    "symptom": '"the loss does not fall"',
    "part": "1",
    "fault": '"a sign is wrong"',
    "concept": '"the gradient points uphill"',
    "tool": '"print"',
    "tools": '["print", "pdb"]',
    "minutes": "20",
    "knows": '["what a loss is"]',
    "breaks": '["finishes"]',
    "diff_lines": "4",
    "legs": '["main"]',
    "hints": '["Which way does the loss go?", "Print the loss before and after one step.", "The step: the sign of its update."]',
    "budget": "{ epochs = 1, seconds = 60, memory_mb = 2000 }",
}
CHECKS = '''
from grader.judge.check import check
from grader.judge.verdict import Passed


@check("run")
def finishes(evidence):
    """main returns a model."""
    return Passed("it did")


CHECKS = (finishes,)
'''


class ToyCourse:
    """A course of a few lines in a temporary folder. Keys of lesson.toml are TOML texts; None leaves one out."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def add(self, name: str, *, checks: str = CHECKS, **keys: str | None) -> Path:
        lines = [f"{key} = {value}" for key, value in (LESSON | keys).items() if value is not None]
        return self.write(name, "\n".join(lines), checks)

    def write(self, name: str, toml: str, checks: str = CHECKS) -> Path:
        for folder in ("lessons", "exercises", "solutions"):
            (self.root / folder / name).mkdir(parents=True, exist_ok=True)
        file = self.root / "lessons" / name / "lesson.toml"
        file.write_text(toml, encoding="utf-8")
        file.with_name("checks.py").write_text(checks, encoding="utf-8")
        for folder in ("exercises", "solutions"):
            (self.root / folder / name / "train.py").write_text("def main(): ...\n", encoding="utf-8")
        return file


@pytest.fixture
def toy(tmp_path, monkeypatch):
    """A toy course with lesson01 and lesson03, named by PYTORCH_COURSE."""
    course = ToyCourse(tmp_path / "course")
    course.add("lesson01")
    course.add("lesson03", title='"Another toy"')
    monkeypatch.setenv("PYTORCH_COURSE", str(course.root))
    return course
