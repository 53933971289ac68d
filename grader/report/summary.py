"""Many verdicts in one table: a line each, and the headline of those that did not pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.evidence.records import Outcome
from grader.judge.verdict import Broken, Failed, Passed
from grader.report import words
from grader.report.sheet import Sheet

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Console

    from grader.judge.verdict import Verdict

_LOOKS = {"PASSED": "green", "NOT YET": "bold red", "GRADER FAULT": "bold reverse magenta"}
_COLUMNS = "{lesson:<10}{result:<14}{checks:>7}{seconds:>9}  "


def render_summary(verdicts: Sequence[Verdict], console: Console) -> None:
    """Write the table, and one sentence below it: how many passed, and what to do about the first that did not."""
    sheet = Sheet(console)
    head = _COLUMNS.format(lesson="lesson", result="result", checks="checks", seconds="time")
    sheet.put(("first problem", "dim"), label=head, style="dim", hang=len(head))
    for verdict in verdicts:
        word, _ = words.conclusion(verdict)
        held = sum(isinstance(result.answer, Passed) for result in verdict.results)
        row = _COLUMNS.format(lesson=verdict.lesson, result=word, checks=f"{held}/{len(verdict.results)}", seconds=words.seconds(verdict.legs))
        sheet.put(_problem(verdict), label=row, style=_LOOKS[word], hang=len(row))
    passed = sum(verdict.passed for verdict in verdicts)
    sheet.blank()
    sheet.put((f"{passed} of {len(verdicts)} passed", "bold"), ".")
    first = next((verdict for verdict in verdicts if not verdict.passed), None)
    if first is not None:
        sheet.put(f"python -m grader {first.lesson}", label="Next:", style="bold", hang=6)


def _problem(verdict: Verdict) -> str:
    """The headline: a fault of ours before anything else, then how the run ended, then the first failed check."""
    for result in verdict.results:
        if isinstance(result.answer, Broken):
            return f"a fault in the grader: {result.title}"
    for leg in verdict.legs:
        if leg.outcome is not Outcome.FINISHED:
            return leg.sentence
    return next((result.title for result in verdict.results if isinstance(result.answer, Failed)), "" if verdict.passed else "not judged")
