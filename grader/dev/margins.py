"""The arithmetic of a calibration: readings of many gradings, the verdicts that flip, the margin of each threshold."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from grader.dev.gradings import Job
from grader.judge.verdict import Broken, Failed, Passed, Skipped, Verdict


@dataclass(frozen=True)
class Reading:
    """What one check answered in one grading. number and threshold: what it compared, None where it compares no number."""

    submission: str
    kind: str
    seed: int
    check: str
    answer: str
    saw: str
    number: float | None
    threshold: float | None
    passed: bool
    """whether the whole grading passed"""


@dataclass(frozen=True)
class Spread:
    """The numbers of one check over all gradings: (lowest, highest) where it failed and where it passed, and the threshold between.

    sign: '>=' or '<=', which side of the threshold passes. A margin is the distance from the threshold to the nearest reading of that side; it is
    negative where a reading lies on the wrong side, as one does that failed for another reason than its number.
    """

    check: str
    threshold: float
    sign: str
    failed: tuple[float, float] | None
    passed: tuple[float, float] | None

    @property
    def to_passed(self) -> float | None:
        """From the threshold to the nearest number that passed."""
        if self.passed is None:
            return None
        return self.passed[0] - self.threshold if self.sign == ">=" else self.threshold - self.passed[1]

    @property
    def to_failed(self) -> float | None:
        """From the threshold to the nearest number that failed."""
        if self.failed is None:
            return None
        return self.threshold - self.failed[1] if self.sign == ">=" else self.failed[0] - self.threshold


def readings_of(job: Job, verdict: Verdict) -> Iterator[Reading]:
    """One reading for each check of a verdict."""
    for result in verdict.results:
        answer, number, threshold = result.answer, None, None
        match answer:
            case Passed() | Failed():
                saw, number, threshold = answer.saw, answer.number, answer.threshold
            case Skipped():
                saw = answer.why
            case Broken():
                saw = answer.error
        yield Reading(job.where, job.kind, job.seed, result.check, type(answer).__name__.lower(), saw, number, threshold, verdict.passed)


def flips(readings: Sequence[Reading]) -> list[str]:
    """A sentence for each submission and check whose answer depends on the seed."""
    answers: dict[tuple[str, str], dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for reading in readings:
        answers[reading.submission, reading.check][reading.answer].append(reading.seed)
        answers[reading.submission, "the whole verdict"]["passed" if reading.passed else "failed"].append(reading.seed)
    found = []
    for (submission, check), seeds in answers.items():
        if len(seeds) > 1:
            sides = "; ".join(f"{answer} at seed {', '.join(map(str, sorted(set(numbers))))}" for answer, numbers in sorted(seeds.items()))
            found.append(f"FLIP {submission}: {check}: {sides}")
    return found


def spreads(readings: Iterable[Reading]) -> list[Spread]:
    """The spread of each check that compares a finite number with a threshold, one for each threshold that it uses."""
    groups: dict[tuple[str, float], dict[str, list[float]]] = {}
    for reading in readings:
        if reading.number is None or reading.threshold is None or not math.isfinite(reading.number):
            continue
        groups.setdefault((reading.check, reading.threshold), {"passed": [], "failed": []}).setdefault(reading.answer, []).append(reading.number)
    return [_spread(check, threshold, sides["passed"], sides["failed"]) for (check, threshold), sides in groups.items()]


def _spread(check: str, threshold: float, passed: Sequence[float], failed: Sequence[float]) -> Spread:
    """Which side passes is read off the numbers: most of those that passed, or else those that failed, tell."""
    above = sum(number >= threshold for number in passed) + sum(number < threshold for number in failed)
    below = sum(number <= threshold for number in passed) + sum(number > threshold for number in failed)
    sign = ">=" if above >= below else "<="
    return Spread(check, threshold, sign, _ends(failed), _ends(passed))


def _ends(numbers: Sequence[float]) -> tuple[float, float] | None:
    return (min(numbers), max(numbers)) if numbers else None
