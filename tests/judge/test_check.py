"""Passed, Failed, Skipped, Broken: four answers, never mixed up; and the verdict they add up to."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import pytest

from grader.evidence.records import Outcome
from grader.evidence.view import Evidence, MissingEvidence
from grader.judge.check import Check, check
from grader.judge.judging import judge
from grader.judge.verdict import Broken, Failed, Passed, Skipped

LESSON = SimpleNamespace(name="lesson03", title="A toy")
FINISHED = Evidence("main", Outcome.FINISHED, "main returned a model")
CRASHED = Evidence("main", Outcome.RAISED, "ValueError in main")


def passes(_: Evidence) -> Passed:
    return Passed("1")


def fails(_: Evidence) -> Failed:
    return Failed("0", "1")


def misses(evidence: Evidence) -> Passed:
    raise MissingEvidence("the script stopped before backward()")


def breaks(_: Evidence) -> Passed:
    raise ZeroDivisionError("a bug of ours")


def verdict(*functions, evidence=FINISHED, **needs):
    checks = tuple(Check(f.__name__, "title", "run", f, needs=needs.get(f.__name__, ())) for f in functions)
    return judge(LESSON, checks, {evidence.leg: evidence}, submission=Path("train.py"), seed=0)


@pytest.mark.parametrize(
    ("function", "kind", "status"),
    [(passes, Passed, "passed"), (fails, Failed, "failed"), (misses, Skipped, "failed"), (breaks, Broken, "broken")],
)
def test_each_answer_has_its_kind_and_status(function, kind: type, status: str) -> None:
    result = verdict(function)
    assert kind is type(result.results[0].answer)
    assert status == result.status
    assert (status == "passed") == result.passed


def test_a_skipped_check_is_never_a_pass() -> None:
    assert not verdict(passes, misses).passed


def test_no_checks_at_all_are_no_pass() -> None:
    assert not verdict().passed


def test_a_run_that_did_not_finish_never_passes_whatever_the_checks_say() -> None:
    assert "raised" == verdict(passes, evidence=CRASHED).status


def test_a_fault_of_the_recorder_is_ours() -> None:
    assert "broken" == verdict(passes, evidence=Evidence("main", Outcome.FINISHED, "", fault="the recorder failed")).status


def test_what_could_only_echo_is_skipped() -> None:
    result = verdict(fails, passes, passes=("fails",))
    assert ("fails",) == result.failing
    assert isinstance(result.results[1].answer, Skipped)


def test_a_leg_that_did_not_run_is_skipped() -> None:
    item = Check("x", "title", "run", passes).on("cpu")
    result = judge(LESSON, (item,), {"gpu": FINISHED}, submission=Path("t.py"), seed=0)
    assert "x_cpu" == result.results[0].check
    assert "cpu leg did not run" in result.results[0].answer.why


def test_a_check_needs_a_title_and_a_known_group() -> None:
    with pytest.raises(ValueError, match="docstring"):
        check("run")(lambda evidence: Passed(""))
    with pytest.raises(ValueError, match="group"):
        Check("x", "t", "no such group", passes)
