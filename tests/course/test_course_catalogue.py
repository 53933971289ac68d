from __future__ import annotations

import pytest

from grader.course import Course, CourseError, UnknownLessonError


def test_the_environment_names_the_course(toy, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    assert Course.find().root == toy.root


def test_a_wrong_environment_variable_is_said_to_be_wrong(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTORCH_COURSE", str(tmp_path))

    with pytest.raises(CourseError, match=r"PYTORCH_COURSE names .* correct it or unset it"):
        Course.find()


def test_found_upwards_from_the_working_directory(toy, monkeypatch):
    monkeypatch.delenv("PYTORCH_COURSE")
    monkeypatch.chdir(toy.root / "exercises" / "lesson01")

    assert Course.find().root == toy.root


def test_found_upwards_from_a_given_place(toy, monkeypatch):
    monkeypatch.delenv("PYTORCH_COURSE")

    assert Course.find(toy.root / "lessons").root == toy.root


def test_folders_of_the_same_names_without_lessons_are_passed_by(toy, monkeypatch):
    monkeypatch.delenv("PYTORCH_COURSE")
    inner = toy.root / "exercises" / "other"
    for name in ("lessons", "exercises"):
        (inner / name).mkdir(parents=True)

    assert Course.find(inner).root == toy.root


def test_found_beside_the_installed_grader(tmp_path, monkeypatch):
    import grader.course.catalogue as catalogue

    monkeypatch.delenv("PYTORCH_COURSE", raising=False)
    home = tmp_path / "home"
    for name in ("lessons/lesson01", "exercises", "grader/course"):
        (home / name).mkdir(parents=True)
    monkeypatch.setattr(catalogue, "__file__", str(home / "grader" / "course" / "catalogue.py"))
    monkeypatch.chdir(tmp_path)

    assert Course.find().root == home.resolve()


def test_no_course_anywhere(tmp_path, monkeypatch):
    import grader.course.catalogue as catalogue

    monkeypatch.delenv("PYTORCH_COURSE", raising=False)
    monkeypatch.setattr(catalogue, "__file__", str(tmp_path / "site" / "grader" / "course" / "catalogue.py"))

    with pytest.raises(CourseError, match=r"no course found in .* or above it; change to the course's folder, or set PYTORCH_COURSE"):
        Course.find(tmp_path)


def test_lessons_come_in_order_and_strays_do_not(toy):
    toy.add("lesson02")
    for stray in ("lesson2", "lesson004", "drafts"):
        (toy.root / "lessons" / stray).mkdir()
    (toy.root / "lessons" / "lesson09").write_text("a file", encoding="utf-8")

    assert [lesson.name for lesson in Course(toy.root).lessons()] == ["lesson01", "lesson02", "lesson03"]


@pytest.mark.parametrize("text", ["3", "03", "003", "lesson3", "lesson03", "Lesson03", "lesson_3", " 3 "])
def test_every_spelling_of_a_lesson(toy, text):
    assert Course(toy.root).lesson(text).name == "lesson03"


@pytest.mark.parametrize("text", ["7", "lesson99", "lessen03", "lesso", "exercises/lesson03/train.py", "", "three", "-1", "lesson1234567", "\u0663"])
def test_what_an_unknown_lesson_gets(toy, snapshot, text):
    with pytest.raises(UnknownLessonError) as raised:
        Course(toy.root).lesson(text)
    assert str(raised.value) == snapshot


def test_one_wrong_lesson_does_not_stop_the_others(toy):
    toy.write("lesson02", "nonsense")

    assert Course(toy.root).lesson("3").name == "lesson03"
    with pytest.raises(CourseError, match="lesson02"):
        Course(toy.root).lessons()


def test_which_lesson_follows(toy):
    course = Course(toy.root)

    assert course.after(course.lesson("1")) == "lesson03"
    assert course.after(course.lesson("3")) is None
