"""The sentences that every form of the report shares: the conclusion, the one next step, how a leg ran."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.judge.verdict import Broken, Failed, Skipped

if TYPE_CHECKING:
    from grader.judge.verdict import LegSummary, Verdict

MARKS = {"passed": "PASS", "failed": "FAIL", "skipped": "skip", "broken": "BUG"}
"""How the kinds of answer are marked: words, which need neither colour nor Unicode."""


def conclusion(verdict: Verdict) -> tuple[str, str]:
    """The verdict in a word or two ('PASSED', 'NOT YET', 'GRADER FAULT') and in a sentence."""
    total = len(verdict.results)
    counts = {kind: sum(isinstance(result.answer, kind) for result in verdict.results) for kind in (Failed, Skipped, Broken)}
    if verdict.status == "broken":
        return "GRADER FAULT", f"{_checks(counts[Broken])} broke. This is no verdict on your file."
    if verdict.passed:
        return "PASSED", "the one check holds." if total == 1 else f"all {total} checks hold."
    said = []
    if counts[Failed]:
        said.append(f"{counts[Failed]} of {_checks(total)} failed")
    if counts[Skipped]:
        said.append(f"{counts[Skipped] if said else _checks(counts[Skipped])} could not be judged")
    if not said:
        said.append("the run did not finish" if total else "there was nothing to judge")
    return "NOT YET", f"{', '.join(said)}."


def next_step(verdict: Verdict, following: str | None = None) -> str:
    """The one thing to do next.

    following: the name of the lesson after this one, where there is one; read after a pass only.
    """
    if verdict.status == "broken":
        return "please report this, with the lines marked BUG. Your file is not at fault."
    if verdict.passed:
        why = f"read solutions/{verdict.lesson}/README.md: why it happened, and the other good fixes"
        return f"{why}. Then: lessons/{following}/README.md" if following else f"{why}."
    first = next((result.answer for result in verdict.results if isinstance(result.answer, Failed)), None)
    return verdict.next_step or (first.next_step if first else None) or f"python -m grader hint {verdict.lesson}"


def device(leg: LegSummary) -> str:
    """The device of a leg, for example 'cuda (simulated)'."""
    return f"{leg.device} (simulated)" if leg.simulated else leg.device


def seconds(legs: tuple[LegSummary, ...]) -> str:
    """How long the legs took together, for example '4.2 s'."""
    return f"{sum(leg.seconds for leg in legs):.1f} s"


def _checks(count: int) -> str:
    return "1 check" if count == 1 else f"{count} checks"
