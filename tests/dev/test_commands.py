"""The command lines: exit codes, help, and which lesson is meant."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from grader.course import Course, Lesson, UnknownLessonError
from grader.dev import main
from grader.dev.gradings import Job, names, run_jobs


@pytest.fixture
def here(toy, monkeypatch):
    monkeypatch.setenv("PYTORCH_COURSE", str(toy.root))
    return toy


@pytest.mark.parametrize("command", ["check", "calibrate", "new"])
def test_every_command_has_a_help(here, capsys, command):
    assert 0 == main([command, "--help"])
    assert f"usage: python -m grader dev {command}" in capsys.readouterr().out


@pytest.mark.parametrize("arguments", [[], ["chekc"], ["check", "--jobs", "0"], ["calibrate"], ["calibrate", "1", "--seeds", "many"], ["new"]])
def test_a_wrong_command_line_is_usage(here, capsys, arguments):
    assert 2 == main(arguments)
    assert "usage" in capsys.readouterr().err


def test_an_unknown_lesson_is_usage(here, capsys):
    assert 2 == main(["check", "lesson99"])
    assert "There is no lesson 'lesson99'" in capsys.readouterr().err


def test_a_course_that_cannot_be_found_is_our_fault(here, monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("PYTORCH_COURSE", str(tmp_path / "nowhere"))
    assert 3 == main(["check"])
    assert "PYTORCH_COURSE names" in capsys.readouterr().err


def test_check_and_calibrate_return_their_codes(here, monkeypatch, capsys):
    monkeypatch.setattr("grader.dev.checking.check_course.__kwdefaults__", {"workers": 1, "fix": False, "quick": False, "grade_one": here.grade})
    assert 0 == main(["check", "1", "--jobs", "2"])
    here.remove("solutions/lesson01/README.md")
    assert 1 == main(["check", "1", "--quick"])
    assert "solutions/lesson01/README.md: there is no such file" in capsys.readouterr().out


def test_new_prints_what_it_wrote_and_the_next_command(here, capsys):
    assert 0 == main(["new", "lesson02"])
    printed = capsys.readouterr().out
    assert "exercises/lesson02/train.py\n" in printed
    assert "python -m grader dev check lesson02" in printed
    assert 2 == main(["new", "lesson02"])


def test_a_lesson_is_meant_by_any_of_its_spellings_even_if_it_is_broken(toy):
    course = Course(toy.root)
    assert ["lesson01"] == names(course, []) == names(course, ["1", "01", "lesson01"])
    toy.write("lessons/lesson01/lesson.toml", "not toml")
    assert ["lesson01"] == names(course, ["lesson1"])
    with pytest.raises(UnknownLessonError):
        names(course, ["7"])


def test_gradings_run_a_few_at_a_time(toy):
    lesson: Lesson = Course(toy.root).lesson("1")
    lock, running, most = threading.Lock(), [], []

    def slow(lesson, submission, seed):
        with lock:
            running.append(seed)
            most.append(len(running))
        time.sleep(0.05)
        with lock:
            running.remove(seed)
        if seed == 3:
            raise OSError("no room")
        return seed

    answers = dict(run_jobs([Job(lesson, lesson.solution, "solution", seed) for seed in range(6)], 2, slow))
    assert 2 == max(most)
    assert {0, 1, 2, 4, 5} == {answer for answer in answers.values() if not isinstance(answer, Exception)}
    assert ["no room"] == [str(answer) for answer in answers.values() if isinstance(answer, Exception)]


def test_the_help_imports_neither_torch_nor_matplotlib():
    code = (
        "import sys; from grader.dev import main; main(['check', '--help']); "
        "print([name for name in ('torch', 'matplotlib', 'numpy') if name in sys.modules], file=sys.stderr)"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "[]" == run.stderr.strip()
