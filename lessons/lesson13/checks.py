"""Lesson 13: numbers of an ordinary size reach the first layer with weights, with their grey levels, in training and in evaluation alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import Check, check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.records import Moments
    from grader.evidence.view import Evidence

REACH = 15.0
"""Farthest from 0 that any number may lie.

Pixels from 0 to 1 reach 1, standardised ones 2.8, a batch norm in front 3 to 6; bytes reach 255, bytes with the constants of 0 to 1 reach 827.
"""
LEAST, MOST = 0.1, 3.0
"""Standard deviation: from 0 to 1 it is 0.31, standardised 1.0, a logarithm of bytes 2.0; bytes have 79, with the constants of 0 to 1 255."""
APART = 0.25
"""Largest difference between the two paths, of the means against the deviation, and of the deviations' ratio from 1.

One path measures 0.02 on shifted held-out images; pixels from 0 to 1 on one side and standardised ones on the other 0.4 and more.
"""
ENDS = 0.96
"""Variance as a share of the most that is possible between these ends with this mean, (mean - low) (high - mean): 1 if nothing lies between the ends.

MNIST measures 0.84 however it is shifted and scaled (a square root 0.85, a logarithm 0.90); cut off at one grey level, or behind a sigmoid, 0.998.
"""


def _door(kind: str, when: str, evidence: Evidence) -> Moments:
    evidence.finished()
    seen = evidence.inputs.get(kind)
    if seen is None:
        msg = f"no input of a layer with weights was seen {when}"
        raise MissingEvidence(msg)
    return seen


def _text(seen: Moments, when: str) -> str:
    return f"from {seen.low:.4g} to {seen.high:.4g}, standard deviation {seen.std:.3g} {when}"


def _ordinary(kind: str, id_: str, title: str, when: str) -> Check:
    def function(evidence: Evidence) -> Passed | Failed:
        evidence.finished()
        if kind == "heldout" and not evidence.values("transform_twice")["same"]:
            step = "Send the same image through eval_transform twice and compare."
            return Failed("eval_transform gives another answer each time", "the same answer for the same image", None, step)
        seen = _door(kind, when, evidence)
        where = evidence.where_called() if kind == "train" else None
        reach = max(abs(seen.low), abs(seen.high))
        if not (reach <= REACH and LEAST <= seen.std <= MOST):
            expected = f"nothing beyond +-{REACH:g}, standard deviation between {LEAST:g} and {MOST:g}"
            step = (
                "Follow one image to the model and print dtype, smallest and largest number after each step: where do they stop belonging together?"
            )
            return Failed(_text(seen, when), expected, where, step, reach, REACH)
        return Passed(_text(seen, when), None, reach, REACH)

    return Check(id_, title, "behaviour", function)


range_training = _ordinary("train", "range_training", "In training, the first layer with weights sees numbers of an ordinary size", "in training")
range_evaluation = _ordinary(
    "heldout", "range_evaluation", "In evaluation, the first layer with weights sees numbers of an ordinary size", "on held-out images"
)


@check("behaviour")
def paths_alike(evidence: Evidence) -> Passed | Failed:
    """Training and evaluation see the same range."""
    train, held = _door("train", "in training", evidence), _door("heldout", "on held-out images", evidence)
    apart = max(abs(train.mean - held.mean) / train.std, abs(held.std / train.std - 1.0)) if train.std > 0 else float("inf")
    saw = f"mean {train.mean:.3f} and deviation {train.std:.3f} in training, {held.mean:.3f} and {held.std:.3f} on held-out images"
    if not apart <= APART:
        step = "Send one image of the training set through both paths and compare the two tensors."
        return Failed(saw, "the same mean and deviation, within a quarter of the deviation", None, step, apart, APART)
    return Passed(saw, None, apart, APART)


@check("behaviour")
def grey_levels(evidence: Evidence) -> Passed | Failed:
    """The grey levels between black and white are still there."""
    seen = _door("heldout", "on held-out images", evidence)
    between = (seen.mean - seen.low) * (seen.high - seen.mean)
    share = seen.std**2 / between if between > 0 else 1.0
    if not share <= ENDS:
        saw = f"nearly every number at one of the two ends, {seen.low:.3g} or {seen.high:.3g} ({share:.3f} of the largest possible variance)"
        step = "Draw a histogram of one image as the model gets it, and one of the image as it is in the file: what happened to the greys?"
        return Failed(saw, f"greys between the ends, as in the images: at most {ENDS:g} of the largest possible variance", None, step, share, ENDS)
    return Passed(f"{share:.2f} of the largest variance that these ends allow", None, share, ENDS)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    range_training,
    range_evaluation,
    paths_alike.after("range_training", "range_evaluation"),
    grey_levels.after("range_evaluation"),
    expect.parameters_move,
    expect.gradient_norm(1e-5),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.2).after("output_shape"),
)
