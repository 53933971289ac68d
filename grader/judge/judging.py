"""judge(lesson, checks, evidence) -> Verdict: ask every check, skip what could only echo an earlier failure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.evidence.records import Outcome
from grader.judge.check import Check, answer
from grader.judge.verdict import Broken, Failed, LegSummary, Result, Skipped, Verdict

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from grader.course import Lesson
    from grader.evidence.view import Evidence


def judge(lesson: Lesson, checks: Sequence[Check], evidence: Mapping[str, Evidence], *, submission: Path, seed: int) -> Verdict:
    """The verdict on one submission.

    evidence: by leg. A check that names earlier checks in `needs` is skipped when one of them did not pass.
    """
    results: list[Result] = []
    failed: dict[str, str] = {}
    for item in checks:
        blocked = next((failed[name] for name in item.needs if name in failed), None)
        result = answer(item, evidence) if blocked is None else Result(item.id, item.title, item.group, Skipped(blocked), item.leg)
        results.append(result)
        if isinstance(result.answer, Failed):
            failed[item.id] = f"it could only repeat: {item.title}"
    results.extend(
        Result("observation", "The grader could observe the run", "run", Broken(e.fault), e.leg) for e in evidence.values() if e.fault is not None
    )
    legs = tuple(
        LegSummary(e.leg, e.device, e.simulated, e.outcome, e.sentence, e.crash, e.trace, e.seconds, e.output_tail) for e in evidence.values()
    )
    step = None
    if any(leg.outcome is not Outcome.FINISHED for leg in legs):
        step = next((r.answer.next_step for r in results if isinstance(r.answer, Failed) and r.answer.next_step), None)
    return Verdict(lesson.name, lesson.title, str(submission), seed, tuple(results), legs, step)
