from __future__ import annotations

import pytest


def test_list(toy, call, snapshot):
    toy.add(
        "lesson02",
        title='"A lesson of another part"',
        part="2",
        symptom='"it worked on my laptop, and then, on the machine with the GPU, it did not any more"',
    )
    shown = call("list")

    assert (shown.code, shown.err) == (0, "")
    assert shown.out == snapshot


@pytest.mark.parametrize("arguments", ["lesson03", "3 --level 1", "03 --level 2", "3 --level 3"])
def test_hint(toy, call, snapshot, arguments):
    shown = call("hint", *arguments.split())

    assert (shown.code, shown.err) == (0, "")
    assert shown.out == snapshot


@pytest.mark.parametrize("arguments", ["hint", "hint 9", "hint --lev 2 3", "list lesson03", "sim nothing.py", "data a b"])
def test_usage(toy, call, snapshot, arguments):
    shown = call(*arguments.split())

    assert (shown.code, shown.out) == (2, "")
    assert shown.err.splitlines()[-1] == snapshot


@pytest.mark.parametrize("arguments", ["hint 3 --level 4", "hint 3 --level x", "sim", "sim --pdb", "3 --device tpu"])
def test_usage_in_the_words_of_argparse(toy, call, arguments):
    """They differ between releases of Python."""
    shown = call(*arguments.split())

    assert (shown.code, shown.out) == (2, "")
    assert shown.err.startswith("usage: python -m grader ")


def test_a_wrong_course_is_our_fault(toy, call):
    toy.write("lesson03", "title = ")
    shown = call("hint", "3")

    assert (shown.code, shown.out) == (3, "")
    assert shown.err.startswith("The grader could not do its work.\nlessons/lesson03/lesson.toml: not valid TOML")
    assert "Traceback" not in shown.err


def test_with_debug_a_fault_has_its_traceback(toy, call, monkeypatch):
    toy.write("lesson03", "title = ")
    monkeypatch.setenv("GRADER_DEBUG", "1")
    shown = call("hint", "3")

    assert shown.code == 3
    assert shown.err.startswith("Traceback (most recent call last)")


def test_in_a_real_process(toy, spawn):
    listed, hinted, unknown = spawn("list"), spawn("hint", "lesson3"), spawn("hint", "lesson7")

    assert (listed.returncode, hinted.returncode, unknown.returncode) == (0, 0, 2)
    assert "lesson03  Another toy (20 min)" in listed.stdout
    assert "Which way does the loss go?" in hinted.stdout
    assert unknown.stderr == "There is no lesson 'lesson7'.\nThe lessons are: lesson01, lesson03.\n"
