"""The command line without a run: the runner and the judge are fakes, everything else is real."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from grader.cli.main import main
from grader.evidence.records import Outcome
from grader.judge.verdict import Broken, Failed, LegSummary, Passed, Result, Verdict

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def call(capsys, monkeypatch):
    """Run the command line in this process: its exit code, stdout and stderr."""
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.delenv("GRADER_DEBUG", raising=False)

    def run(*arguments):
        try:
            code = main([str(argument) for argument in arguments])
        except SystemExit as exit_:
            code = exit_.code
        out, err = capsys.readouterr()
        return SimpleNamespace(code=code, out=out, err=err)

    return run


@pytest.fixture
def spawn(toy):
    """Run the command line as a process, in the toy course."""

    def run(*arguments, python=(), **environment):
        variables = os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80", "PYTHONUTF8": "1"} | environment
        command = [sys.executable, *python, "-m", "grader", *map(str, arguments)]
        return subprocess.run(command, cwd=toy.root, env=variables, capture_output=True, encoding="utf-8", timeout=60, check=False)

    return run


class FakeRunner:
    """Stands in for grader.run.parent and grader.judge.judging, and remembers what it was asked.

    answers: what the one check says, by lesson; error: raised by start, by wait or by judge.
    """

    def __init__(self):
        self.answers = {}
        self.asked = []
        self.closed = 0
        self.error_at = None
        self.error = None

    def _raise_at(self, place):
        if self.error_at == place:
            raise self.error

    def start(self, lesson, submission, options):
        self._raise_at("start")
        self.asked.append((lesson.name, submission, options))
        return self

    notes = ()

    def wait(self):
        self._raise_at("wait")
        return {"main": "evidence"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.closed += 1

    def judge(self, lesson, checks, evidence, *, submission, seed):
        self._raise_at("judge")
        assert [item.id for item in checks] == ["finishes"]
        answer = self.answers.get(lesson.name, Passed("it did"))
        leg = LegSummary("main", "cpu", simulated=False, outcome=Outcome.FINISHED, sentence="", crash=None, trace=(), seconds=1.0, output_tail="")
        return Verdict(lesson.name, lesson.title, str(submission), seed, (Result("finishes", "main returns a model", "run", answer),), (leg,))


@pytest.fixture
def runner(toy, monkeypatch):
    """A course whose runs are fakes, with a data folder that passes; the working directory is the course."""
    fake = FakeRunner()
    parent, judging, data = ModuleType("grader.run.parent"), ModuleType("grader.judge.judging"), ModuleType("grader.data.root")

    class GraderError(Exception):
        pass

    class DataError(Exception):
        pass

    def check_root(folder):
        if not folder.is_dir():
            raise DataError(f"{folder}\n  expected: a folder\n  found: none\n  run: python -m grader data")

    class DeviceError(GraderError):
        """As in grader.run.options."""

    parent.GraderError = fake.GraderError = GraderError
    parent.DeviceError = fake.DeviceError = DeviceError
    parent.RunOptions = SimpleNamespace
    parent.start = fake.start
    judging.judge = fake.judge
    data.DataError, data.check_root = DataError, check_root
    for module in (parent, judging, data):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    (toy.root / "datasets").mkdir()
    monkeypatch.chdir(toy.root)
    fake.root = toy.root
    fake.failed = Failed("0.1", "at least 0.9")
    fake.broken = Broken("ZeroDivisionError: division by zero (checks.py:1)")
    return fake
