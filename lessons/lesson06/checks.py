"""Lesson 06: the first layer with weights sees standardised images, in training and in evaluation alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import Check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

BAND = 0.15
"""The task's own tolerance for mean 0 and standard deviation 1.

The data's constants measure 0.00 and 1.00 (0.02 off on shifted held-out images); the constants for bytes, a mean of -0.42 and a deviation of 0.004.
"""


def _standardised(kind: str, title: str, id_: str, when: str) -> Check:
    def function(evidence: Evidence) -> Passed | Failed:
        evidence.finished()
        if kind == "heldout" and not evidence.values("transform_twice")["same"]:
            step = "Send the same image through eval_transform twice and compare."
            return Failed("eval_transform gives another answer each time", "the same answer for the same image", None, step)
        seen = evidence.inputs.get(kind)
        if seen is None:
            msg = f"no input of a layer with weights was seen {when}"
            raise MissingEvidence(msg)
        text = f"mean {seen.mean:+.3f}, standard deviation {seen.std:.3f} (from {seen.low:.2f} to {seen.high:.2f}) {when}"
        off = max(abs(seen.mean), abs(seen.std - 1.0))
        if not off <= BAND:
            step = "Which unit do the constants on this side belong to, and in which unit do the images arrive there?"
            return Failed(
                text, f"mean 0 and standard deviation 1, each within {BAND:g}", evidence.where_called() if kind == "train" else None, step, off, BAND
            )
        return Passed(text, None, off, BAND)

    return Check(id_, title, "behaviour", function)


input_training = _standardised(
    "train", "In training, the first layer with weights sees standardised images", "input_training", "over the training images"
)
input_evaluation = _standardised(
    "heldout", "In evaluation, the first layer with weights sees standardised images", "input_evaluation", "over held-out images"
)

CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    input_training,
    input_evaluation,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
