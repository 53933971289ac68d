"""Lesson 01: every feature of every sample reaches the output, in batches of any size."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

FEATURES = 0.85
"""Share of the last feature map that must be able to reach the output.

Whole maps measure 0.99 and more, a map cut from 1440 to 1000 features 0.69.
"""


@check("shapes")
def features_used(evidence: Evidence) -> Passed | Failed:
    """Every feature of the last feature map reaches the output."""
    flow = evidence.values("flow")
    expected = f"at least {FEATURES:.2f} of the features can change a score"
    step = "Count the numbers per image before and after the line that flattens: is any of them left behind?"
    if flow["feature_op"] is None:
        share = flow.get("pixels", 0.0)
        what, shape = "the image's pixels", ""
    else:
        share = flow["features"]
        what, shape = "the features", f" of shape {tuple(flow['feature_shape'])} ({flow['feature_op']})"
    if share < FEATURES:
        return Failed(f"only {share:.2f} of {what}{shape} can change a score", expected, None, step, share, FEATURES)
    return Passed(f"{share:.2f} of {what}{shape}", None, share, FEATURES)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    features_used,
    expect.trained_on_data,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
