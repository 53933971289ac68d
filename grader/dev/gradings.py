"""Many gradings, a few at a time. Each is a child process of its own, started warm; the threads here only wait for theirs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from grader.course import Course, CourseError, Lesson, UnknownLessonError
from grader.judge.verdict import Verdict
from grader.run.warm import warm


@dataclass(frozen=True)
class Job:
    """One submission to grade. kind: 'exercise', 'solution', 'right' or 'wrong'."""

    lesson: Lesson
    submission: Path
    kind: str
    seed: int = 0

    @property
    def where(self) -> str:
        """The submission's path relative to the course."""
        return self.submission.relative_to(self.lesson.root).as_posix()


Grade = Callable[[Lesson, Path, int], Verdict]
Answered = tuple[Job, Verdict | Exception]


def grade(lesson: Lesson, submission: Path, seed: int) -> Verdict:
    """Grade one submission with the embedded data. Raises GraderError, DataError or CourseError, which carry their remedies."""
    from grader.course import load_checks
    from grader.data.root import find_embedded_root
    from grader.judge.judging import judge
    from grader.run.parent import RunOptions, start

    checks = load_checks(lesson)
    options = RunOptions(data_dir=find_embedded_root(lesson.root), seed=seed)
    evidence = start(lesson, submission, options).wait()
    return judge(lesson, checks, evidence, submission=submission, seed=seed)


def run_jobs(jobs: Sequence[Job], workers: int, grade_one: Grade) -> Iterator[Answered]:
    """Grade every job, `workers` at a time, and yield each as it ends. A failure of our own is yielded too: one must not stop the batch."""
    with warm(len(jobs)), ThreadPoolExecutor(max_workers=max(1, workers)) as pool:
        futures = {pool.submit(grade_one, job.lesson, job.submission, job.seed): job for job in jobs}
        try:
            for future in as_completed(futures):
                error = future.exception()
                if error is not None and not isinstance(error, Exception):
                    raise error
                yield futures[future], error if error is not None else future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def names(course: Course, wanted: Sequence[str]) -> list[str]:
    """The names of the lessons that are meant; all of them if none is given. Raises UnknownLessonError; a wrong lesson.toml is no matter here."""
    if not wanted:
        return list(course.names)
    found = []
    for text in wanted:
        try:
            found.append(course.lesson(text).name)
        except CourseError:
            digits = "".join(character for character in text if character.isdigit())
            found.append(f"lesson{int(digits):02d}")
    return sorted(set(found))


__all__ = ["Answered", "Grade", "Job", "UnknownLessonError", "cores", "grade", "names", "run_jobs"]
