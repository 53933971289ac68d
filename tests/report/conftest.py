"""Verdicts to report: a factory for each record, with values that a real run would have."""

from __future__ import annotations

import io
from types import SimpleNamespace

import pytest
from rich.console import Console

from grader.evidence.records import Crash, Outcome, Place, ShapeCall
from grader.judge.verdict import Broken, Failed, LegSummary, Passed, Result, Skipped, Verdict
from grader.report.terminal import render

PLACE = Place(52, "forward", "        x = self.fc1(x)  # (64, 1000)")
TRACE = (
    ShapeCall("conv1", "Conv2d", ((64, 1, 28, 28),), (64, 10, 24, 24)),
    ShapeCall("relu", "relu", ((64, 10, 24, 24),), (64, 10, 24, 24)),
    ShapeCall("max_pool2d", "max_pool2d", ((64, 10, 24, 24),), (64, 10, 12, 12)),
    ShapeCall("flatten", "flatten", ((64, 10, 12, 12),), (64, 1440)),
    ShapeCall("fc1", "Linear", ((64, 1440),), None, place=PLACE),
)
CRASH = Crash(
    "RuntimeError", "mat1 and mat2 shapes cannot be multiplied (64x1440 and 1000x128)", (Place(80, "main", "    logits = model(images)"), PLACE)
)

PASSED = Result("finishes", "main runs to its end and returns a model", "run", Passed("returned a Net after 312 steps"))
REMARKED = Result(
    "loss_input",
    "The training loss is a ten-class cross-entropy",
    "behaviour",
    Passed(
        "log-probabilities, rows sum to 1.000", "cross-entropy takes the log-softmax itself: doing it before changes nothing, and costs a little time"
    ),
)
FAILED = Result(
    "loss_input",
    "The training loss is a ten-class cross-entropy",
    "behaviour",
    Failed(
        "outputs between 0.000 and 1.000, rows that sum to 1.000",
        "logits, or log-probabilities for a negative log-likelihood",
        PLACE,
        "print the row sums of what the loss receives",
    ),
)
FAILED_TOO = Result("accuracy", "Held-out accuracy", "accuracy", Failed("0.712", "at least 0.900"))
SKIPPED = Result("gradient_norm", "The total gradient norm is finite and not zero", "gradients", Skipped("the script stopped before backward()"))
BROKEN = Result(
    "logit_range",
    "The outputs are not confined to a range",
    "behaviour",
    Broken("ZeroDivisionError: division by zero (lessons/lesson03/checks.py:12)"),
)


def leg(outcome=Outcome.FINISHED, name="main", **changes):
    values = {
        "leg": name,
        "device": "cpu",
        "simulated": False,
        "outcome": outcome,
        "sentence": f"it ended as {outcome.value}",
        "crash": None,
        "trace": (),
        "seconds": 4.21,
        "output_tail": "",
    }
    return LegSummary(**(values | changes))


def verdict(*results, legs=None, **changes):
    values = {"lesson": "lesson03", "title": "Softmax before the loss", "submission": "exercises/lesson03/train.py", "seed": 0, "next_step": None}
    return Verdict(results=results, legs=(leg(),) if legs is None else legs, **(values | changes))


def show(shown, following=None, width=80, encoding="utf-8"):
    """The report as text, and a check of what holds for every report."""
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, newline="\n")
    render(shown, Console(file=stream, width=width, color_system=None, force_terminal=False), following)
    stream.flush()
    text = raw.getvalue().decode(encoding)
    assert all(len(line) <= width and line == line.rstrip() for line in text.splitlines())
    assert "\x1b" not in text
    assert sum(line.startswith("Next:") for line in text.splitlines()) == 1
    return text


@pytest.fixture
def made():
    return SimpleNamespace(**{name: value for name, value in globals().items() if name.isupper() or name in {"leg", "verdict", "show"}})
