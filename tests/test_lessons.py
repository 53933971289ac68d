"""Each lesson keeps its promises when it is really graded: the exercise fails what it declares, the solution passes, cases do what their headers say.

The whole case law is graded by `python -m grader dev check`, which CI runs too; here one right and one wrong case of each lesson stand for it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course import Course, CourseError, load_checks
from grader.dev.cases import case_paths, read_case
from grader.dev.expectations import unmet
from grader.dev.gradings import Job, grade
from grader.run.warm import warm

ROOT = Path(__file__).resolve().parents[1]


def jobs():
    """A job for the exercise, the solution, and the middle case of either kind, of every lesson; a lesson that cannot be read is a job of its own."""
    course = Course(ROOT)
    for name in course.names:
        try:
            lesson = course.lesson(name)
        except CourseError as error:
            yield pytest.param(error, id=name)
            continue
        for kind, path in (("exercise", lesson.exercise), ("solution", lesson.solution)):
            yield pytest.param(Job(lesson, path, kind), id=f"{name}-{kind}")
        for kind in ("right", "wrong"):
            cases = [path for path in case_paths(lesson.cases) if path.name.startswith(kind)]
            for path in cases[len(cases) // 2 :][:1]:
                yield pytest.param(Job(lesson, path, kind), id=f"{name}-{path.stem}")


@pytest.fixture(scope="module", autouse=True)
def launcher():
    with warm():
        yield


@pytest.mark.slow
@pytest.mark.parametrize("job", list(jobs()))
def test_a_submission_is_graded_as_promised(job):
    if isinstance(job, CourseError):
        raise job
    case = read_case(job.submission, [check.id for check in load_checks(job.lesson)]) if job.kind in {"right", "wrong"} else None
    assert [] == [str(found) for found in unmet(job, grade(job.lesson, job.submission, 0), case)]
