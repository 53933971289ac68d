"""Grading for the tests of the run room: a tiny MNIST root, and a way to run source text."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from grader.course import Course, load_checks
from grader.data.idx import read_idx, write_idx
from grader.judge.judging import judge
from grader.run.parent import RunOptions, start
from grader.run.warm import FEWEST, SWITCH, warm

if TYPE_CHECKING:
    from grader.evidence.view import Evidence
    from grader.judge.verdict import Verdict

COURSE = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session", autouse=True)
def every_run_warm():
    """Submissions start cold here, as a learner's do, except in the launcher's own tests; GRADER_WARM=1 pytest tests/run starts all of them warm."""
    with warm(FEWEST if os.environ.get(SWITCH) == "1" else 0):
        yield


@pytest.fixture(scope="session")
def tiny_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A torchvision root with 600 training and 200 test images."""
    root = tmp_path_factory.mktemp("tiny")
    raw = root / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for prefix, count in (("train", 600), ("t10k", 200)):
        for kind in ("images-idx3-ubyte", "labels-idx1-ubyte"):
            write_idx(raw / f"{prefix}-{kind}", read_idx(COURSE / "datasets" / "MNIST" / "raw" / f"{prefix}-{kind}")[:count])
    return root


class Graded:
    """The evidence and the verdict of one submission."""

    def __init__(self, verdict: Verdict, evidence: dict[str, Evidence]) -> None:
        self.verdict = verdict
        self.evidence = next(iter(evidence.values()))
        self.legs = evidence

    @property
    def status(self) -> str:
        return self.verdict.status

    @property
    def sentence(self) -> str:
        return self.evidence.sentence


@pytest.fixture
def grade(tiny_root: Path, tmp_path: Path):
    """Run source text (or a path) as a submission of a lesson on the tiny root."""

    def run(source: str | bytes | Path, lesson: str = "lesson01", *, memory_mb: int | None = None, **options: object) -> Graded:
        path = source if isinstance(source, Path) else tmp_path / "train.py"
        if isinstance(source, str):
            path.write_text(source, encoding="utf-8")
        elif isinstance(source, bytes):
            path.write_bytes(source)
        course = Course.find(COURSE)
        chosen = course.lesson(lesson)
        if memory_mb is not None:
            chosen = replace(chosen, budget=replace(chosen.budget, memory_mb=memory_mb))
        given = {"data_dir": tiny_root, "seed": 0, "timeout": 120.0, **options}
        with start(chosen, path, RunOptions(**given)) as handle:
            evidence = handle.wait()
        return Graded(judge(chosen, load_checks(chosen), evidence, submission=path, seed=0), evidence)

    return run
