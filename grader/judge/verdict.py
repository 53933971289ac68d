"""What a check may answer, and the verdict they add up to. A learner's failure is a value; only our own failure is an exception."""

from __future__ import annotations

from dataclasses import dataclass

from grader.evidence.records import Crash, Outcome, Place, ShapeCall


@dataclass(frozen=True)
class Passed:
    """The check holds.

    saw: the number or fact observed; remark: right, but odd (costs nothing); number and threshold: the same for calibration, if there is one.
    """

    saw: str
    remark: str | None = None
    number: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class Failed:
    """The check does not hold.

    saw: what was observed, with its number; expected: what would have passed; where: the place in the learner's file, if known;
    next_step: one thing to look at next (a reading to take, never the fix itself).
    """

    saw: str
    expected: str
    where: Place | None = None
    next_step: str | None = None
    number: float | None = None
    threshold: float | None = None


@dataclass(frozen=True)
class Skipped:
    """The check had nothing to judge, and why."""

    why: str


@dataclass(frozen=True)
class Broken:
    """The check itself raised: our bug."""

    error: str


Answer = Passed | Failed | Skipped | Broken


@dataclass(frozen=True)
class Result:
    """One check's answer. group: 'run', 'shapes', 'gradients', 'behaviour', 'tensorboard' or 'accuracy'."""

    check: str
    title: str
    group: str
    answer: Answer
    leg: str = "main"


@dataclass(frozen=True)
class LegSummary:
    """How one leg of a run ended.

    leg: 'main', or 'cpu' / 'gpu' in a lesson with two legs; device: as given to main ('cpu', 'cuda'), simulated or not.
    """

    leg: str
    device: str
    simulated: bool
    outcome: Outcome
    sentence: str
    crash: Crash | None
    trace: tuple[ShapeCall, ...]
    seconds: float
    output_tail: str


@dataclass(frozen=True)
class Verdict:
    """The judgement of one submission in one lesson."""

    lesson: str
    title: str
    submission: str
    seed: int
    results: tuple[Result, ...]
    legs: tuple[LegSummary, ...]
    next_step: str | None = None

    @property
    def status(self) -> str:
        """Exactly one word or phrase: 'broken' (our bug), 'passed', 'failed', or the outcome of the first leg that did not finish."""
        if any(isinstance(r.answer, Broken) for r in self.results):
            return "broken"
        for leg in self.legs:
            if leg.outcome is not Outcome.FINISHED:
                return str(leg.outcome.value)
        if self.results and all(isinstance(r.answer, Passed) for r in self.results):
            return "passed"
        return "failed"

    @property
    def passed(self) -> bool:
        """True only if every leg finished and every single check passed: a skipped check is never a pass."""
        return self.status == "passed"

    @property
    def failing(self) -> tuple[str, ...]:
        """Ids of the checks that failed, in order; the first is the headline."""
        return tuple(r.check for r in self.results if isinstance(r.answer, Failed))

    @property
    def remarks(self) -> tuple[str, ...]:
        """Remarks of passed checks."""
        return tuple(r.answer.remark for r in self.results if isinstance(r.answer, Passed) and r.answer.remark)
