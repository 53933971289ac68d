"""The verdict on a terminal: a line for every check, where a run stopped and with which shapes, and one next step."""

from __future__ import annotations

from itertools import groupby
from typing import TYPE_CHECKING, assert_never

from grader.evidence.records import Outcome
from grader.judge.verdict import Broken, Failed, Passed, Skipped
from grader.report import clean, words
from grader.report.shapes import draw_trace
from grader.report.sheet import Sheet

if TYPE_CHECKING:
    from rich.console import Console

    from grader.evidence.records import Crash, Place
    from grader.judge.verdict import LegSummary, Result, Verdict

_MARK = 6  # columns: the longest mark and two spaces
_FACT = 16  # columns: where the text behind 'saw', 'expected', 'where' begins
_TAIL = 6  # lines of what the script printed
_LOOKS = {"PASSED": "bold green", "NOT YET": "bold red", "GRADER FAULT": "bold reverse magenta"}


def render(verdict: Verdict, console: Console, following: str | None = None) -> None:
    """Write the whole report on the console.

    following: the name of the next lesson, if there is one; a pass points to it.
    """
    sheet = Sheet(console)
    _heading(verdict, sheet)
    several = len(verdict.legs) > 1
    told = [result.answer for result in verdict.results if isinstance(result.answer, Failed)]
    for why, group in groupby(verdict.results, lambda result: result.answer.why if isinstance(result.answer, Skipped) else None):
        results = list(group)
        if why is not None and len(results) > 1:
            _skipped(why, results, sheet, several=several)
            continue
        for result in results:
            _result(result, verdict.submission, sheet, several=several)
    for leg in verdict.legs:
        if leg.outcome is not Outcome.FINISHED:
            sheet.blank()
            _stopped(leg, verdict.submission, told, sheet, several=several)
    word, sentence = words.conclusion(verdict)
    sheet.blank()
    sheet.put((word, _LOOKS[word]), ": ", sentence)
    sheet.put(words.next_step(verdict, following), label="Next:", style="bold", hang=_MARK)


def _heading(verdict: Verdict, sheet: Sheet) -> None:
    sheet.put((f"Lesson {verdict.lesson.removeprefix('lesson')}: {verdict.title}", "bold"))
    sheet.put((verdict.submission, "dim"), label="file", style="dim", hang=_MARK)
    devices = ", ".join(words.device(leg) for leg in verdict.legs if leg.outcome is not Outcome.REJECTED)
    sheet.put((f"run on {devices}; seed {verdict.seed}; {words.seconds(verdict.legs)}" if devices else "not run", "dim"))
    if verdict.results:
        sheet.blank()


def _title(result: Result, *, several: bool) -> str:
    return f"{result.title} [{result.leg}]" if several else result.title


def _skipped(why: str, results: list[Result], sheet: Sheet, *, several: bool) -> None:
    """Neighbours that were skipped for the same reason: the reason once, then a line each."""
    sheet.put((f"{len(results)} checks: {why}", "dim"), label=words.MARKS["skipped"], style="dim", hang=_MARK)
    for result in results:
        sheet.put((_title(result, several=several), "dim"), label="-", style="dim", indent=_MARK, hang=_MARK + 2)


def _result(result: Result, file: str, sheet: Sheet, *, several: bool) -> None:
    title = _title(result, several=several)
    answer = result.answer
    match answer:
        case Passed():
            sheet.put(title, ": ", (answer.saw, "dim"), label=words.MARKS["passed"], style="green", hang=_MARK)
            if answer.remark:
                _fact("remark", answer.remark, sheet, "yellow")
        case Failed():
            sheet.put((title, "bold"), label=words.MARKS["failed"], style="bold red", hang=_MARK)
            _fact("saw", answer.saw, sheet)
            _fact("expected", answer.expected, sheet)
            if answer.where is not None:
                _fact("where", _place(answer.where, file), sheet)
                sheet.verbatim(answer.where.code.strip(), style="cyan", indent=_FACT + 2)
        case Skipped():
            sheet.put((title, "dim"), (": ", "dim"), (answer.why, "dim"), label=words.MARKS["skipped"], style="dim", hang=_MARK)
        case Broken():
            sheet.put((title, "bold"), label=words.MARKS["broken"], style="bold reverse magenta", hang=_MARK)
            sheet.put("a fault in the grader, not in your file; please report it", indent=_MARK)
            sheet.put((answer.error, "magenta"), indent=_MARK)
        case _:
            assert_never(answer)


def _fact(name: str, text: str, sheet: Sheet, style: str = "dim") -> None:
    sheet.put(text, label=name, style=style, indent=_MARK, hang=_FACT)


def _stopped(leg: LegSummary, file: str, told: list[Failed], sheet: Sheet, *, several: bool) -> None:
    """How a leg ended that did not finish: the sentence, the exception and its place, the shapes up to there, the last lines of its output.

    told: the failures above, which need no second telling.
    """
    name = f"The {leg.leg} leg" if several else "The run"
    said = "The file was not run" if leg.outcome is Outcome.REJECTED else f"{name} on {words.device(leg)} stopped"
    sheet.put((said, "bold"), ": ", leg.sentence, hang=2)
    if leg.crash is not None:
        _crash(leg.crash, file, told, sheet)
    if leg.crash is not None and leg.trace:
        sheet.put("shapes up to there:", indent=2)
        draw_trace(leg.trace, sheet, indent=4)
    tail = clean.last_lines(leg.output_tail, _TAIL)
    if tail and leg.crash is None:
        sheet.put("the last lines it printed:", indent=2)
        for line in tail:
            sheet.verbatim(line, indent=4, prefix="| ")


def _crash(crash: Crash, file: str, told: list[Failed], sheet: Sheet) -> None:
    first, *rest = clean.lines(crash.message, 2) or [""]
    place = crash.places[-1] if crash.places else None
    if place is None or not any(failure.where == place and first in failure.saw for failure in told):
        sheet.put((crash.type, "bold red"), ": " if first else "", first, indent=2, hang=4)
        for line in rest:
            sheet.verbatim(line, indent=4)
        if place is not None:
            sheet.put("at ", (_place(place, file), "bold"), indent=2, hang=4)
            sheet.verbatim(place.code.strip(), style="cyan", indent=6)
    for outer in crash.places[-2:-5:-1]:
        sheet.put((f"called from line {outer.line} in {outer.function}", "dim"), indent=2, hang=4)
        sheet.verbatim(outer.code.strip(), style="dim", indent=6)


def _place(place: Place, file: str) -> str:
    return f"{file}:{place.line} in {place.function}"
