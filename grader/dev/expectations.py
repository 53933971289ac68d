"""What each kind of submission must be graded as, and the finding when it is not."""

from __future__ import annotations

from collections.abc import Iterator

from grader.dev.cases import Case
from grader.dev.findings import Finding
from grader.dev.gradings import Job
from grader.judge.verdict import Broken, Failed, Passed, Skipped, Verdict


def unmet(job: Job, verdict: Verdict | Exception, case: Case | None = None) -> Iterator[Finding]:
    """The findings of one grading; `case` is the promise of a right or wrong case."""
    if isinstance(verdict, Exception):
        yield Finding(
            job.lesson.name, job.where, f"could not be graded: {type(verdict).__name__}: {verdict}", "this is the grader's own fault: mend it first"
        )
        return
    broken = [result for result in verdict.results if isinstance(result.answer, Broken)]
    for result in broken:
        error = result.answer.error if isinstance(result.answer, Broken) else ""
        yield Finding(
            job.lesson.name, job.where, f"the check {result.check} broke: {error}", f"mend the check in lessons/{job.lesson.name}/checks.py"
        )
    if broken:
        return
    if job.kind == "exercise":
        yield from _exercise(job, verdict)
    elif job.kind == "wrong":
        yield from _wrong(job, verdict, case)
    else:
        yield from _right(job, verdict, case.checks if case else ())


def _exercise(job: Job, verdict: Verdict) -> Iterator[Finding]:
    """The untouched exercise fails exactly what it declares."""
    if verdict.passed:
        yield Finding(job.lesson.name, job.where, "already passes", "plant the fault: the untouched exercise must fail the checks in `breaks`")
        return
    declared = set(job.lesson.breaks)
    for check in job.lesson.breaks:
        if check not in verdict.failing:
            remedy = "make the fault show there, or take the id out of `breaks` in lesson.toml"
            yield Finding(job.lesson.name, job.where, f"does not fail {check}, which `breaks` names ({_answer(verdict, check)})", remedy)
    for check in verdict.failing:
        if check not in declared:
            remedy = "remove that second fault, or add the id to `breaks` if it is the same one"
            yield Finding(job.lesson.name, job.where, f"also fails {check}, which `breaks` does not name ({_answer(verdict, check)})", remedy)


def _right(job: Job, verdict: Verdict, remarks: tuple[str, ...]) -> Iterator[Finding]:
    """A solution or right case passes, with the remarks it declares and no others."""
    if not verdict.passed:
        remedy = "loosen the check if a competent reviewer would accept this; mend the submission if not"
        yield Finding(job.lesson.name, job.where, f"does not pass: {_why(verdict)}", remedy)
        return
    carried = {r.check: r.answer.remark for r in verdict.results if isinstance(r.answer, Passed) and r.answer.remark}
    for check in remarks:
        if check not in carried:
            remedy = "make the check remark on it, or write a plain `# right` in the header"
            yield Finding(job.lesson.name, job.where, f"passes without the remark of {check} that its header promises", remedy)
    for check, remark in carried.items():
        if check not in remarks:
            remedy = f"write `# right, remark: {check}` in the header, or make the check accept it silently"
            if job.kind == "solution":
                remedy = "choose a solution without an oddity, or make the check accept it silently"
            yield Finding(job.lesson.name, job.where, f"passes with a remark of {check} that nobody declared: {remark}", remedy)


def _wrong(job: Job, verdict: Verdict, case: Case | None) -> Iterator[Finding]:
    """A wrong case fails, and first where its header says."""
    expected = case.checks if case else ()
    if verdict.passed:
        yield Finding(job.lesson.name, job.where, "passes", f"make {' or '.join(expected)} see what is wrong with it, or call it right if it is")
    elif not verdict.failing or verdict.failing[0] not in expected:
        remedy = "mend the check or its place in CHECKS if the reason is wrong; mend the header if the header is"
        yield Finding(job.lesson.name, job.where, f"fails for another reason than {' or '.join(expected)}: {_why(verdict)}", remedy)


def _why(verdict: Verdict) -> str:
    """The headline of a verdict that is no pass."""
    for check in verdict.failing[:1]:
        return f"{check} fails first ({_answer(verdict, check)})"
    return f"it ends as '{verdict.status}' and no check fails"


def _answer(verdict: Verdict, check: str) -> str:
    """What one check saw."""
    for result in verdict.results:
        if result.check == check:
            answer = result.answer
            if isinstance(answer, Passed):
                return f"passed: saw {answer.saw}"
            if isinstance(answer, Failed):
                return f"saw {answer.saw}; expected {answer.expected}"
            if isinstance(answer, Skipped):
                return f"skipped: {answer.why}"
    return "not asked"
