"""Whether a verdict depends on the seed: every solution and right case, graded over many seeds."""

from __future__ import annotations

import argparse
import sys

from grader.course import Course
from grader.dev.cases import case_paths
from grader.dev.gradings import Job, cores, grade, names, run_jobs


def main() -> int:
    """Print one row a submission; exit 1 if one does not pass with every seed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("lessons", nargs="*", metavar="LESSON", help="default: all of them")
    parser.add_argument("--seeds", type=int, default=20, metavar="N", help="seeds from 0 on (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=cores(), metavar="N", help="gradings at a time (default: the cores, here %(default)s)")
    parser.add_argument("--solutions", action="store_true", help="the solutions only, not the right cases")
    options = parser.parse_args()
    course = Course.find()
    flips = 0
    for name in names(course, options.lessons):
        lesson = course.lesson(name)
        right = [] if options.solutions else [path for path in case_paths(lesson.cases) if path.name.startswith("right_")]
        jobs = [Job(lesson, path, "right", seed) for path in (lesson.solution, *right) for seed in range(options.seeds)]
        failures: dict[str, list[str]] = {job.where: [] for job in jobs}
        for job, verdict in run_jobs(jobs, options.jobs, grade):
            if isinstance(verdict, Exception):
                failures[job.where].append(f"seed {job.seed}: {type(verdict).__name__}: {verdict}")
            elif not verdict.passed:
                failures[job.where].append(f"seed {job.seed}: {verdict.status} {' '.join(verdict.failing)}")
        for where, failed in failures.items():
            print(
                f"{where}: passed {options.seeds - len(failed)} of {options.seeds}" + "".join(f"\n    {line}" for line in sorted(failed)), flush=True
            )
            flips += len(failed)
    print(f"{flips} gradings of right submissions did not pass" if flips else "no flip")
    return 1 if flips else 0


if __name__ == "__main__":
    sys.exit(main())
