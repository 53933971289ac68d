"""Flips and margins, from gradings that are answered from a table."""

from __future__ import annotations

import io
import json

import pytest
from rich.console import Console

from grader.course import Course
from grader.dev.calibrating import calibrate
from grader.dev.margins import Spread, spreads
from grader.judge.verdict import Failed, Passed


@pytest.fixture
def measured(toy, verdict):
    """Accuracy near 0.1 for the exercise, near 0.95 for the rest, against a threshold of 0.8."""
    toy.answers["exercises/lesson01/train.py"] = lambda seed: verdict(accuracy=Failed("low", "high", number=0.1 + seed / 100, threshold=0.8))
    toy.answers["solutions/lesson01/train.py"] = lambda seed: verdict(accuracy=Passed("high", number=0.95 - seed / 100, threshold=0.8))
    return toy


def run(toy, **options):
    out = io.StringIO()
    lesson = Course(toy.root).lesson("1")
    code = calibrate(lesson, Console(file=out, width=200), seeds=3, workers=2, grade_one=toy.grade, **options)
    return code, out.getvalue()


def test_thresholds_and_margins_are_shown(measured):
    code, printed = run(measured)
    assert 0 == code
    assert "No verdict flips over 3 seeds." in printed
    row = next(line for line in printed.splitlines() if ">= 0.8" in line)
    for cell in ("accuracy", "0.1 .. 0.12", "0.93 .. 0.95", "0.68 (85%)", "0.13 (16%)"):
        assert cell in row
    assert 6 == len(measured.graded)


def test_a_flip_is_named_with_its_seeds(measured, verdict):
    measured.answers["solutions/lesson01/train.py"] = lambda seed: verdict(accuracy=Failed("low", "high")) if seed == 1 else verdict()
    code, printed = run(measured)
    assert 1 == code
    assert "FLIP solutions/lesson01/train.py: accuracy: failed at seed 1; passed at seed 0, 2" in printed
    assert "FLIP solutions/lesson01/train.py: the whole verdict: failed at seed 1; passed at seed 0, 2" in printed


def test_with_cases_every_case_is_graded_and_json_holds_every_reading(measured, tmp_path):
    file = tmp_path / "readings.json"
    code, _ = run(measured, cases=True, json_file=file)
    assert 0 == code
    assert 13 * 3 == len(measured.graded)
    content = json.loads(file.read_text(encoding="utf-8"))
    assert ("lesson01", 3, [], []) == tuple(content[key] for key in ("lesson", "seeds", "flips", "failures"))
    assert 13 * 3 * 2 == len(content["readings"])
    first = next(reading for reading in content["readings"] if reading["submission"].startswith("exercises/") and reading["check"] == "accuracy")
    assert {"seed": 0, "answer": "failed", "number": 0.1, "threshold": 0.8, "saw": "low"}.items() <= first.items()


def test_a_grading_that_fails_is_our_fault(measured):
    measured.answers["solutions/lesson01/train.py"] = RuntimeError("no disk")
    code, printed = run(measured)
    assert 3 == code
    assert "solutions/lesson01/train.py, seed 0: RuntimeError: no disk" in printed


def test_a_threshold_that_must_not_be_exceeded():
    found = Spread("x", 0.15, "<=", (0.4, 0.9), (0.01, 0.05))
    assert (pytest.approx(0.25), pytest.approx(0.10)) == (found.to_failed, found.to_passed)


def test_readings_without_a_finite_number_have_no_spread():
    assert [] == spreads([])
