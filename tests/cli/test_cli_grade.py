from __future__ import annotations

import json
from pathlib import Path

import pytest


def test_a_pass(runner, call, snapshot):
    shown = call("lesson01")

    assert (shown.code, shown.err) == (0, "")
    assert shown.out == snapshot


def test_what_the_runner_is_asked(runner, call, tmp_path):
    mnist = tmp_path / "mnist"
    mnist.mkdir()
    arguments = ["--submission", "other.py", "--device", "sim", "--data", mnist, "--seed", "7", "--timeout", "2.5", "--keep", "kept"]
    call("3", *arguments)

    ((lesson, submission, options),) = runner.asked
    assert (lesson, submission) == ("lesson03", runner.root / "other.py")
    assert vars(options) == {"data_dir": mnist, "device": "sim", "seed": 7, "timeout": 2.5, "keep": Path("kept")}


def test_the_defaults(runner, call):
    call("03")

    ((_, submission, options),) = runner.asked
    assert submission == runner.root / "exercises" / "lesson03" / "train.py"
    assert vars(options) == {"data_dir": runner.root / "datasets", "device": "auto", "seed": 0, "timeout": None, "keep": None}


def test_not_yet(runner, call):
    runner.answers["lesson03"] = runner.failed
    shown = call("3")

    assert (shown.code, shown.err) == (1, "")
    assert shown.out.splitlines()[-1] == "Next: python -m grader hint lesson03"


def test_a_broken_check_is_our_fault(runner, call):
    runner.answers["lesson03"] = runner.broken
    shown = call("3")

    assert shown.code == 3
    assert "BUG   main returns a model" in shown.out


def test_a_missing_submission_is_for_the_runner_to_reject(runner, call):
    assert call("3", "--submission", "nothing.py").code == 0
    assert runner.asked[0][1] == runner.root / "nothing.py"


def test_a_pass_points_to_the_next_lesson_that_exists(runner, call):
    assert "Then: lessons/lesson03/README.md" in " ".join(call("1").out.split())
    assert "Then:" not in call("3").out


def test_all(runner, call, snapshot):
    runner.answers["lesson03"] = runner.failed
    shown = call("--all")

    assert (shown.code, shown.err) == (1, "")
    assert shown.out == snapshot
    assert [submission.relative_to(runner.root).as_posix() for _, submission, _ in runner.asked] == [
        "exercises/lesson01/train.py",
        "exercises/lesson03/train.py",
    ]


def test_all_solutions(runner, call):
    shown = call("--all", "--solutions", "--keep", "kept")

    assert shown.code == 0
    assert [submission.relative_to(runner.root).as_posix() for _, submission, _ in runner.asked] == [
        "solutions/lesson01/train.py",
        "solutions/lesson03/train.py",
    ]
    assert [options.keep for *_, options in runner.asked] == [Path("kept/lesson01"), Path("kept/lesson03")]


def test_all_with_a_broken_check_is_our_fault(runner, call):
    runner.answers = {"lesson01": runner.failed, "lesson03": runner.broken}

    assert call("--all").code == 3


def test_json_on_stdout_is_nothing_but_json(runner, call):
    runner.answers["lesson03"] = runner.failed
    shown = call("3", "--json", "-")

    assert (shown.code, shown.err) == (1, "")
    assert json.loads(shown.out)["failing"] == ["finishes"]


def test_json_in_a_file_comes_with_the_report(runner, call, tmp_path):
    file = tmp_path / "verdict.json"
    shown = call("3", "--json", file)

    assert "PASSED" in shown.out
    assert json.loads(file.read_text(encoding="utf-8"))["status"] == "passed"


def test_json_of_all_is_a_list(runner, call):
    assert [entry["lesson"] for entry in json.loads(call("--all", "--json", "-").out)] == ["lesson01", "lesson03"]


def test_an_older_json_does_not_survive_a_run_that_fails(runner, call, tmp_path):
    file = tmp_path / "verdict.json"
    file.write_text('{"passed": true}', encoding="utf-8")
    runner.error_at, runner.error = "start", runner.GraderError("no room; make some.")

    assert call("3", "--json", file).code == 3
    assert not file.exists()


@pytest.mark.parametrize("place", ["start", "wait", "judge"])
def test_our_failure_names_its_remedy_and_leaves_no_child(runner, call, place):
    runner.error_at, runner.error = place, runner.GraderError("no room for a run directory; free some.")
    shown = call("3")

    assert (shown.code, shown.out) == (3, "")
    assert shown.err == "The grader could not do its work.\nno room for a run directory; free some.\n"
    assert runner.closed == len(runner.asked)


def test_a_bug_of_ours_is_no_verdict(runner, call):
    runner.error_at, runner.error = "judge", KeyError("x")
    shown = call("3")

    assert shown.code == 3
    assert (
        shown.err
        == "The grader could not do its work.\nKeyError: 'x'\nThis is a fault of the grader: please report it, with what GRADER_DEBUG=1 shows.\n"
    )


def test_wrong_checks_are_our_fault_and_leave_no_child(runner, call):
    (runner.root / "lessons" / "lesson03" / "checks.py").write_text("CHECKS = ()", encoding="utf-8")
    shown = call("3")

    assert shown.code == 3
    assert "lessons/lesson03/checks.py: CHECKS is an empty tuple" in shown.err
    assert runner.closed == 1


@pytest.mark.parametrize("place", ["start", "wait"])
def test_ctrl_c(runner, call, place):
    runner.error_at, runner.error = place, KeyboardInterrupt()
    shown = call("3")

    assert (shown.code, shown.out, shown.err) == (130, "", "Stopped.\n")
    assert runner.closed == len(runner.asked)


def test_ctrl_c_in_a_series_shows_what_there_is(runner, call, monkeypatch):
    start = runner.start

    def interrupted(lesson, submission, options):
        if lesson.name == "lesson03":
            raise KeyboardInterrupt
        return start(lesson, submission, options)

    import sys

    monkeypatch.setattr(sys.modules["grader.run.parent"], "start", interrupted)
    shown = call("--all")

    assert shown.code == 130
    assert "lesson01  PASSED" in shown.out
    assert "lesson03" not in shown.out


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "lesson99",
        "3 --all",
        "--all --submission train.py",
        "3 --solutions",
        "--solutions",
        "3 1",
        "3 --dev cpu",
        "3 --seed -1",
        "3 --seed 4294967296",
        "3 --seed x",
        "3 --timeout 0",
        "3 --timeout nan",
        "3 --timeout soon",
        "3 --data nowhere",
        "3 --json nowhere/verdict.json",
        "3 --json exercises",
        "3 --json exercises/lesson03/train.py",
        "3 --submission answer.txt --json answer.txt",
        "3 --keep exercises/lesson03/train.py",
        "--plain list",
    ],
)
def test_usage(runner, call, snapshot, arguments):
    exercise = (runner.root / "exercises" / "lesson03" / "train.py").read_bytes()
    shown = call(*arguments.split())

    assert (shown.code, shown.out) == (2, "")
    assert shown.err.replace(str(runner.root), "COURSE") == snapshot
    assert runner.asked == []
    assert (runner.root / "exercises" / "lesson03" / "train.py").read_bytes() == exercise


@pytest.mark.parametrize("option", ["--plain", "--no-color"])
def test_no_colours(runner, call, monkeypatch, option):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")

    assert "\x1b[" in call("3").out
    assert "\x1b[" not in call("3", option).out


def test_a_submission_outside_the_working_directory_is_shown_in_full(runner, call, tmp_path):
    shown = call("3", "--submission", tmp_path / "mine (1)+\u00e9.py")

    assert "mine(1)+\u00e9.py" in "".join(shown.out.split())


def test_a_device_that_is_not_there_is_usage(runner, call):
    runner.error_at, runner.error = "wait", runner.DeviceError("--device cuda: no CUDA here. Use --device auto.")
    shown = call("3", "--device", "cuda")
    assert shown.code == 2
    assert "Use --device auto." in shown.err
