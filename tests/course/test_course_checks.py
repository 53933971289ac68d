from __future__ import annotations

import pytest

from grader.course import Course, CourseError, load_checks

HEAD = '''\
from grader.judge.check import check
from grader.judge.verdict import Passed


@check("run")
def finishes(evidence):
    """main returns a model."""
    return Passed("it did")


'''


def load(toy, checks, **keys):
    toy.add("lesson03", checks=checks, **keys)
    return load_checks(Course(toy.root).lesson("3"))


def test_checks_come_in_order(toy):
    checks = load(toy, HEAD + "CHECKS = (finishes.on('gpu'), finishes.on('cpu'))", legs='["gpu", "cpu"]', breaks='["finishes_gpu"]')

    assert [(item.id, item.leg, item.title) for item in checks] == [
        ("finishes_gpu", "gpu", "main returns a model"),
        ("finishes_cpu", "cpu", "main returns a model"),
    ]


@pytest.mark.parametrize(
    ("checks", "keys"),
    [
        (HEAD, {}),
        (HEAD + "CHECKS = [finishes]", {}),
        (HEAD + "CHECKS = ()", {}),
        (HEAD + "CHECKS = (finishes, 'accuracy')", {}),
        (HEAD + "CHECKS = (finishes, finishes)", {}),
        (HEAD + "CHECKS = (finishes.on('gpu'),)", {}),
        (HEAD + "CHECKS = (finishes,)", {"breaks": '["accuracy"]'}),
        (HEAD + "CHECKS = (finishes,", {}),
        (HEAD + "CHECKS = (accuracy,)", {}),
        ("import nowhere.at_all", {}),
        (HEAD.replace('"run"', '"runs"'), {}),
    ],
    ids=["none", "a list", "empty", "not a check", "twice", "unknown leg", "unknown breaks", "syntax", "name", "import", "group"],
)
def test_what_wrong_checks_get(toy, snapshot, checks, keys):
    with pytest.raises(CourseError) as raised:
        load(toy, checks, **keys)
    assert str(raised.value) == snapshot


def test_a_missing_file(toy):
    (toy.root / "lessons" / "lesson03" / "checks.py").unlink()

    with pytest.raises(CourseError, match=r"^lessons/lesson03/checks.py: there is no such file; write it"):
        load_checks(Course(toy.root).lesson("3"))


def test_two_lessons_do_not_share_a_module(toy):
    course = Course(toy.root)
    one, three = (load_checks(course.lesson(text))[0] for text in ("1", "3"))

    assert one.function is not three.function
    assert one.function.__module__ != three.function.__module__


def test_a_changed_file_is_read_anew_and_leaves_no_bytecode(toy):
    load(toy, HEAD + "CHECKS = (finishes,)")
    again = load(toy, HEAD.replace("main returns", "Main returns") + "CHECKS = (finishes,)")

    assert again[0].title == "Main returns a model"
    assert not (toy.root / "lessons" / "lesson03" / "__pycache__").exists()
