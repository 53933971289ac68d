"""Is the TensorBoard log complete, readable and true?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge.check import Check, check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.records import Series
    from grader.evidence.view import Evidence

TAGS = ("Loss/train", "Loss/validation", "Accuracy/validation")
FEWEST = {"Loss/train": 5, "Loss/validation": 1, "Accuracy/validation": 1}
FALL = 0.9
"""Most that may be left of the training loss at the end: last fifth of the points against the first fifth.

Runs that learn end at 0.1 to 0.75, flat ones at 0.99.
"""
TOLERANCE = 0.03
"""Largest difference between a logged and the measured accuracy on the same images.

Three standard errors of a validation on a few hundred of the images; a wrong metric is off by 0.1 and more.
"""


@check("tensorboard")
def log_present(evidence: Evidence) -> Passed | Failed:
    """Event files are there, readable and closed."""
    evidence.finished()
    expected = "at least one event file in log_dir, closed before main returns"
    log = evidence.log
    if log is None or not log.files:
        return Failed(
            "no event file in log_dir", expected, None, "Look into the log directory after a run: is there a file named events.out.tfevents...?"
        )
    if log.trouble:
        return Failed(log.trouble[0], expected, None, "Let TensorBoard show the directory: does it warn about a damaged file?")
    if evidence.writers.get("open"):
        return Failed(
            "a SummaryWriter was still open when main returned",
            expected,
            None,
            "Where is the writer closed? Its last events may never reach the disk.",
        )
    return Passed(f"{len(log.files)} event file{'s' if len(log.files) > 1 else ''}, closed")


def _fault(series: Series) -> str | None:
    if len(series.values) < FEWEST[series.tag]:
        return f"{series.tag} has {len(series.values)} point{'s' if len(series.values) != 1 else ''}"
    bad = next((i for i, v in enumerate(series.values) if not math.isfinite(v)), None)
    if bad is not None:
        return f"{series.tag} is {series.values[bad]} at step {series.steps[bad]}"
    back = next((i for i in range(1, len(series.steps)) if series.steps[i] <= series.steps[i - 1]), None)
    if back is not None:
        return f"the steps of {series.tag} do not rise: {series.steps[back - 1]}, then {series.steps[back]}"
    return None


@check("tensorboard")
def log_scalars(evidence: Evidence) -> Passed | Failed:
    """The expected scalars are logged, with rising steps, finite values and a falling loss."""
    log = evidence.scalars()
    expected = "Loss/train (5 points or more), Loss/validation, Accuracy/validation: rising global_step, finite values, a training loss that falls"
    for tag in TAGS:
        series = log.series.get(tag)
        if series is None:
            found = ", ".join(sorted(log.series)[:5]) or "no scalars at all"
            return Failed(f"no {tag} in the log (found: {found})", expected, None, "Open the run in TensorBoard: which tags are on the left?")
        fault = _fault(series)
        if fault:
            return Failed(fault, expected, None, "Print tag, value and global_step where the scalar is added.")
    outside = [v for v in log.series["Accuracy/validation"].values if not 0 <= v <= 1]
    if outside:
        saw = f"Accuracy/validation reaches {outside[0]:.3g}"
        return Failed(saw, "an accuracy as a fraction, 0 to 1", None, "Divide what by what? Print both numbers where the accuracy is made.")
    losses = log.series["Loss/train"].values
    part = max(1, len(losses) // 5)
    early, late = sum(losses[:part]) / part, sum(losses[-part:]) / part
    left = late / early if early > 0 else math.inf
    if not left < FALL:
        step = "Draw the curve: from where to where does it go, and when?"
        return Failed(f"Loss/train goes from {early:.3g} to {late:.3g}", expected, None, step, left, FALL)
    return Passed(f"Loss/train {early:.3g} to {late:.3g} in {len(losses)} points", None, left, FALL)


def _log_accuracy(evidence: Evidence, tolerance: float) -> Passed | Failed:
    series = evidence.scalars().series.get("Accuracy/validation")
    measured = evidence.accuracies.get("validation")
    if measured is not None and "validation" not in evidence.losses:
        msg = "the model's scores are not finite, so that there is no accuracy to compare"
        raise MissingEvidence(msg)
    if series is None or not series.values or measured is None:
        return Failed(
            "no logged accuracy to compare", "Accuracy/validation in the log", None, "Open the run in TensorBoard: which tags are on the left?"
        )
    few = len(series.values) <= 2 * evidence.epochs + 2  # once an epoch or so: any of them may be the returned model's
    candidates = series.values if few else (series.values[-1], max(series.values))
    nearest = min(candidates, key=lambda v: abs(v - measured) if math.isfinite(v) else math.inf)
    difference = abs(nearest - measured)
    expected = f"a logged accuracy within {tolerance:g} of what the returned model scores on the same images ({measured:.3f} measured)"
    if not difference <= tolerance:
        saw = f"logged {series.values[-1]:.3f}, measured {measured:.3f}"
        step = "Compute the accuracy once more by hand on the validation images, with eval_transform and in eval mode."
        return Failed(saw, expected, None, step, difference, tolerance)
    return Passed(f"logged {nearest:.3f}, measured {measured:.3f}", None, difference, tolerance)


def log_accuracy_within(tolerance: float) -> Check:
    """The logged accuracy is the true one, within a lesson's own tolerance."""
    return Check("log_accuracy", "The logged accuracy is the true one", "tensorboard", lambda evidence: _log_accuracy(evidence, tolerance))


log_accuracy = log_accuracy_within(TOLERANCE)
