from __future__ import annotations

import pytest

from grader.course import Budget, Course, CourseError
from grader.course.lesson import load_lesson


def test_every_key_arrives(toy):
    lesson = Course(toy.root).lesson("lesson03")

    assert (lesson.name, lesson.number, lesson.title, lesson.part, lesson.minutes) == ("lesson03", 3, "Another toy", 1, 20)
    assert lesson.budget == Budget(epochs=1, seconds=60.0, memory_mb=2000)
    assert lesson.breaks == ("finishes",)
    assert lesson.legs == ("main",)
    assert len(lesson.hints) == 3
    assert lesson.tools == ("print", "pdb")


def test_the_files_of_a_lesson(toy):
    lesson = Course(toy.root).lesson("lesson03")
    files = [lesson.exercise, lesson.solution, lesson.cases, lesson.story, lesson.walkthrough, lesson.checks, lesson.explanation, lesson.folder]

    assert [file.relative_to(toy.root).as_posix() for file in files] == [
        "exercises/lesson03/train.py",
        "solutions/lesson03/train.py",
        "tests/cases/lesson03",
        "lessons/lesson03/README.md",
        "lessons/lesson03/walkthrough.md",
        "lessons/lesson03/checks.py",
        "solutions/lesson03/README.md",
        "lessons/lesson03",
    ]


def test_a_lesson_is_frozen_and_hashable(toy):
    lesson = Course(toy.root).lesson("lesson01")

    assert {lesson} == {Course(toy.root).lesson("1")}
    with pytest.raises(AttributeError):
        lesson.minutes = 5


def test_a_byte_order_mark_and_crlf_are_no_fault(toy):
    file = toy.add("lesson02")
    file.write_bytes(b"\xef\xbb\xbf" + file.read_bytes().replace(b"\n", b"\r\n"))

    assert Course(toy.root).lesson("2").title == "A toy lesson"


@pytest.mark.parametrize("legs", ['["gpu", "cpu"]', '["cpu", "gpu"]', '["main"]'])
def test_legs_that_exist(toy, legs):
    toy.add("lesson02", legs=legs)

    assert Course(toy.root).lesson("2").legs in {("gpu", "cpu"), ("cpu", "gpu"), ("main",)}


@pytest.mark.parametrize(
    "change",
    [
        {"title": None},
        {"title": '"  "'},
        {"title": "7"},
        {"title": '"""two\nlines"""'},
        {"minuts": "20"},
        {"colour": '"red"'},
        {"minutes": "true"},
        {"minutes": "20.0"},
        {"minutes": "10"},
        {"part": '"one"'},
        {"breaks": "[]"},
        {"breaks": '["Finishes!"]'},
        {"breaks": '["finishes", "finishes"]'},
        {"breaks": '"finishes"'},
        {"diff_lines": "0"},
        {"legs": '["tpu"]'},
        {"hints": '["one", "two"]'},
        {"hints": '["one", "two", " "]'},
        {"hints": '["one", "two", 3]'},
        {"hints": '["one", "two", "three", "four"]'},
        {"budget": "60"},
        {"budget": "{ epochs = 1, seconds = 60 }"},
        {"budget": "{ epochs = 1, seconds = 60, memory_mb = 2000, cores = 2 }"},
        {"budget": "{ epochs = 1, seconds = inf, memory_mb = 2000 }"},
        {"budget": "{ epochs = 1, seconds = -1, memory_mb = 2000 }"},
        {"budget": "{ epochs = 1, seconds = true, memory_mb = 2000 }"},
    ],
    ids=lambda change: "-".join(f"{key}={value}" for key, value in change.items()).replace("\n", " "),
)
def test_what_a_wrong_key_gets(toy, snapshot, change):
    toy.add("lesson03", **change)

    with pytest.raises(CourseError) as raised:
        load_lesson(toy.root, "lesson03")
    assert str(raised.value) == snapshot


@pytest.mark.parametrize("content", [b"title = ", b'title = "\xff"'], ids=["not TOML", "not UTF-8"])
def test_a_file_that_does_not_parse(toy, content):
    toy.add("lesson03").write_bytes(content)

    with pytest.raises(
        CourseError, match=r"^lessons/lesson03/lesson.toml: (not valid TOML|byte 9 is not UTF-8).*(mend that line|save the file as UTF-8)"
    ):
        load_lesson(toy.root, "lesson03")


def test_a_missing_file(toy):
    toy.add("lesson03").unlink()

    with pytest.raises(CourseError, match=r"^lessons/lesson03/lesson.toml: there is no such file; write it .* or remove its folder"):
        load_lesson(toy.root, "lesson03")
