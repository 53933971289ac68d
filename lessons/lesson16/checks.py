"""Lesson 16: any stretch of the training looks like the whole. Judged from the order in which recognised training images enter the model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.evidence.view import Evidence

STRETCH = 200
"""Images a stretch holds at least; a step that draws more is a stretch by itself."""
DISTANCE = 0.35
"""Largest mean distance between a stretch's mix of digits and that of the whole training.

Total variation: half of the summed differences of the ten shares. Random drawing measures 0.06 to 0.10, taking turns 0.01; sorted digits 0.89,
a small shuffle buffer over them 0.76, batches of one digit (40 images) in random order 0.59.
"""
FEWEST, COMPARED = 0.5, 0.2
"""Least share of the compared images that must be told, and of all images that must have been compared: all, or a sample where they are altered."""


def _stretches(evidence: Evidence) -> list[NDArray[np.int64]]:
    """Labels of the training images in the order in which they came, cut after whole steps into stretches of 200 or more."""
    seen = evidence.seen
    by_step: dict[int, list[NDArray[np.int64]]] = {}
    known = compared = rows = 0
    for call in seen.calls:
        if call.train:
            images, ids = np.asarray(call.images), np.asarray(call.ids)
            digits = np.where(ids >= 0, seen.digit[ids], -1)  # altered images may be told to show a digit, though not which one of the file
            own = (images >= 0) & (images < seen.train)
            digits = np.where(own, seen.labels[images], np.where(images < 0, digits, -1)).astype(np.int64)
            by_step.setdefault(call.step, []).append(digits[digits >= 0])
            known, rows = known + int((digits >= 0).sum()), rows + len(ids)
            compared += int((~np.isnan(seen.match[ids[ids >= 0]])).sum())
    if not known or known < FEWEST * compared or compared < COMPARED * rows:
        msg = "the images that entered the model in training could not be recognised"
        raise MissingEvidence(msg)
    stretches: list[NDArray[np.int64]] = []
    current: list[NDArray[np.int64]] = []
    for _, labels in sorted(by_step.items()):
        current += labels
        if sum(map(len, current)) >= STRETCH:
            stretches.append(np.concatenate(current))
            current = []
    return stretches or [np.concatenate(current)]


@check("behaviour")
def mixed(evidence: Evidence) -> Passed | Failed:
    """Every stretch of the training holds all digits, mixed."""
    evidence.finished()
    stretches = _stretches(evidence)
    shares = np.array([np.bincount(labels, minlength=10) / len(labels) for labels in stretches])
    whole = np.bincount(np.concatenate(stretches), minlength=10) / sum(map(len, stretches))
    distance = float(np.abs(shares - whole).sum(axis=1).mean() / 2)
    commonest = float(np.median(shares.max(axis=1)))
    size = int(np.median([len(labels) for labels in stretches]))
    saw = (
        f"in {size} training images that follow each other, the commonest digit has a share of {commonest:.0%} "
        f"({f'median of {len(stretches)} stretches' if len(stretches) > 1 else 'the only stretch'})"
    )
    if not distance <= DISTANCE:
        expected = f"a mix as in the whole training (mean distance {distance:.2f}, at most {DISTANCE:g}; random drawing gives 0.08)"
        step = "Count the labels of single batches, over a whole epoch: how many different digits does each batch hold, and which come next?"
        return Failed(saw, expected, evidence.where_called(), step, distance, DISTANCE)
    return Passed(f"{saw}; distance from the whole {distance:.2f}", None, distance, DISTANCE)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    mixed,
    expect.parameters_move,
    expect.gradient_norm(1e-5),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.7).after("output_shape"),
)
