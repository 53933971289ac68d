"""What `dev new` writes, and that `dev check` refuses it until it is written."""

from __future__ import annotations

import ast
import tomllib

import pytest

from grader.course import Course, load_checks
from grader.dev.scaffold import ScaffoldError, scaffold


def test_the_scaffold_is_loadable_and_refused_until_it_is_written(toy, verdict):
    written = scaffold(toy.root, "lesson02")
    course = Course(toy.root)
    lesson = course.lesson("2")
    assert {"finishes", "output_shape", "accuracy"} < {check.id for check in load_checks(lesson)}
    for path in written:
        text = path.read_text(encoding="utf-8")
        assert "LESSON" not in text
        if path.suffix == ".py":
            ast.parse(text)
        if path.suffix == ".toml":
            tomllib.loads(text)
    toy.answers["exercises/lesson02/train.py"] = verdict()
    findings = toy.check("lesson02").findings
    asked = {found.where.split(":")[0] for found in findings if "asks to be written" in found.problem}
    assert {path.relative_to(toy.root).as_posix() for path in written} == asked
    problems = " ".join(found.problem for found in findings)
    for word in ("already passes", "is the exercise itself", "has 1 right cases", "has 1 wrong cases", "has 2 pdb commands", "same submission"):
        assert word in problems


def test_no_file_of_the_grader_is_touched(toy):
    assert {"lessons", "exercises", "solutions", "tests"} == {path.relative_to(toy.root).parts[0] for path in scaffold(toy.root, "lesson02")}


def test_nothing_is_overwritten(toy):
    before = toy.path("exercises/lesson01/train.py").read_text(encoding="utf-8")
    with pytest.raises(ScaffoldError, match="exists already; choose a free name: python -m grader dev new lesson02"):
        scaffold(toy.root, "lesson01")
    assert before == toy.path("exercises/lesson01/train.py").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["lesson2", "02", "lesson002", "../lesson02", "Lesson02", ""])
def test_a_name_that_is_none_is_refused(toy, name):
    with pytest.raises(ScaffoldError, match="write lesson and two digits"):
        scaffold(toy.root, name)
