"""`dev check`: refuse a course that does not keep its own promises."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from grader.course import Course, CourseError, Lesson, load_checks
from grader.dev import layout, table, texts
from grader.dev.cases import LEAST, Case, CaseError, case_paths, read_case
from grader.dev.expectations import unmet
from grader.dev.findings import Finding
from grader.dev.gradings import Grade, Job, grade, run_jobs
from grader.judge.verdict import Verdict


@dataclass
class Report:
    """What a check of the course found, and how many submissions of each kind were graded and held."""

    findings: list[Finding] = field(default_factory=list)
    graded: dict[tuple[str, str], list[bool]] = field(default_factory=dict)

    @property
    def ok(self) -> bool:
        """Whether nothing was refused."""
        return not self.findings


def check_course(
    course: Course, names: Sequence[str], console: Console, *, workers: int = 1, fix: bool = False, quick: bool = False, grade_one: Grade = grade
) -> Report:
    """Check the lessons `names` and, if they are all of them, the course as a whole. With `quick` no case is graded."""
    report = Report()
    lessons: list[Lesson] = []
    whole = list(names) == list(course.names)
    report.findings += [found for found in layout.strays(course.root) if whole or found.lesson in names]
    jobs: list[Job] = []
    promises: dict[Job, Case] = {}
    for name in names:
        report.findings += layout.missing(course.root, name)
        try:
            lesson = course.lesson(name)
            lessons.append(lesson)
            report.findings += texts.inspect(lesson)
            checks = [check.id for check in load_checks(lesson)]
        except CourseError as error:
            where, _, message = str(error).partition(": ")
            report.findings.append(Finding(name, where, message.split("; ")[0], message.partition("; ")[2] or "mend it"))
            continue
        found, cases = _cases(lesson, checks)
        report.findings += found
        jobs += [Job(lesson, path, kind) for path, kind in ((lesson.exercise, "exercise"), (lesson.solution, "solution")) if path.is_file()]
        if not quick:
            promises |= {Job(lesson, case.path, case.kind): case for case in cases}
    if whole and len(lessons) == len(names):
        report.findings += table.stale(course.root, lessons, fix=fix)
    for job, verdict in _with_progress([*jobs, *promises], workers, grade_one, console):
        found = list(unmet(job, verdict, promises.get(job)))
        report.graded.setdefault((job.lesson.name, job.kind), []).append(not found)
        report.findings += found
    report.findings.sort(key=lambda f: (f.lesson, f.where))
    _show(report, names, console)
    return report


def _cases(lesson: Lesson, checks: Sequence[str]) -> tuple[list[Finding], list[Case]]:
    """The cases of a lesson whose headers can be read, and what is wrong with the others or with their number."""
    findings: list[Finding] = []
    cases: list[Case] = []
    seen: dict[str, str] = {}
    folder = f"tests/cases/{lesson.name}"
    for path in case_paths(lesson.cases):
        digest = hashlib.sha256(b"\n".join(path.read_bytes().splitlines()[2:])).hexdigest()
        if digest in seen:
            findings.append(Finding(lesson.name, f"{folder}/{path.name}", f"is the same submission as {seen[digest]}", "remove one of the two"))
        seen[digest] = path.name
        try:
            cases.append(read_case(path, checks))
        except (CaseError, UnicodeDecodeError) as error:
            problem, remedy = (error.problem, error.remedy) if isinstance(error, CaseError) else (f"is not UTF-8: {error}", "save it as UTF-8")
            findings.append(Finding(lesson.name, f"{folder}/{path.name}", problem, remedy))
    for kind, least in LEAST.items():
        count = sum(path.name.startswith(kind) for path in case_paths(lesson.cases))
        if count < least:
            findings.append(Finding(lesson.name, folder, f"has {count} {kind} cases", f"write at least {least}: {kind}_WHAT.py"))
    return findings, cases


def _with_progress(jobs: Sequence[Job], workers: int, grade_one: Grade, console: Console) -> Iterator[tuple[Job, Verdict | Exception]]:
    """Grade the jobs: under a progress bar on a terminal, with a line each in a pipe."""
    answers = run_jobs(jobs, workers, grade_one)
    if console.is_terminal:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        with Progress(*columns, console=console, transient=True) as progress:
            task = progress.add_task("grading", total=len(jobs))
            for job, verdict in answers:
                progress.update(task, advance=1, description=f"graded {job.where}")
                yield job, verdict
        return
    for number, (job, verdict) in enumerate(answers, 1):
        said = verdict.status if isinstance(verdict, Verdict) else "could not be graded"
        first = f" at {verdict.failing[0]}" if isinstance(verdict, Verdict) and verdict.failing else ""
        console.print(f"{number}/{len(jobs)} {job.where}: {said}{first}", soft_wrap=True, highlight=False, markup=False)
        yield job, verdict


def _show(report: Report, names: Sequence[str], console: Console) -> None:
    """A table of what was graded, then every finding with its remedy."""
    kinds = ("exercise", "solution", "right", "wrong")
    shown = Table(title="dev check", title_justify="left")
    for column in ("lesson", *kinds, "refused"):
        shown.add_column(column, justify="left" if column == "lesson" else "right")
    for name in names:
        cells = [report.graded.get((name, kind), []) for kind in kinds]
        refused = sum(found.lesson == name for found in report.findings)
        shown.add_row(name, *(f"{sum(cell)}/{len(cell)}" if cell else "-" for cell in cells), str(refused))
    console.print(shown)
    for found in report.findings:
        console.print(str(found), soft_wrap=True, highlight=False, markup=False)
    count = len(report.findings)
    console.print("All promises kept." if not count else f"{count} refused. Mend them and run it again.", highlight=False)
