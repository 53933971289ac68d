"""Lesson 12: what is logged after each epoch is what that epoch's model answered, over all validation images, each counted once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.evidence.seen import Call, Seen
    from grader.evidence.view import Evidence

EXACT = 0.002
"""Largest difference between a logged accuracy and the share of right answers in the same pass.

Both count the same answers, so only rounding may part them: one image of 2,000 is 0.0005.
Averages over batches or epochs are off by 0.009 to 0.05, a broadcast one by 0.1 to 0.8.
"""
NEAR = 0.01
"""The same where no pass can be seen, against our own measurement of the returned model, in other batches: a handful of close calls may tip over."""
COVERS = 0.99
"""Least share of the validation images in a pass: all of them but for a few that look alike."""
LOSS_ROOM, LOSS_SHARE = 0.02, 0.05
"""A logged validation loss may differ from the measured one by this much, plus this share of it.

A true mean over the images measures 0.000 to 0.001 apart; a mean over three epochs 0.07 and more (a third of the loss), a sum hundreds.
"""
HAND = "Take three images whose answers you know, put their scores and labels through your metric, and compare with what you count on your fingers."


def _passes(seen: Seen) -> list[float]:
    """The true accuracy of each complete pass over the validation images, in the order of time."""
    wanted = len(seen.labels) - seen.train
    found: list[float] = []
    group: list[Call] = []
    held: set[int] = set()
    step = -1

    def close() -> None:
        images = np.concatenate([c.images for c in group]) if group else np.zeros(0, dtype=np.int64)
        known = images >= seen.train
        if len(np.unique(images[known])) >= COVERS * wanted:
            found.append(_share(seen, images[known], np.concatenate([c.answers for c in group if c.answers is not None])[known]))

    for call in seen.calls:
        if call.train or call.answers is None or len(call.answers) != len(call.images) or not (call.images >= seen.train).any():
            continue
        fresh = set(call.images[call.images >= 0].tolist())
        if call.step != step or len(fresh & held) > len(fresh) / 2:
            close()
            group, held, step = [], set(), call.step
        group.append(call)
        held |= fresh
    close()
    return found


def _share(seen: Seen, images: NDArray[np.int64], answers: NDArray[np.uint8]) -> float:
    return float((answers == seen.labels[images]).mean())


@check("tensorboard")
def every_epoch(evidence: Evidence) -> Passed | Failed:
    """The accuracy logged after each epoch is that epoch's own, over all validation images."""
    series = evidence.scalars().series.get("Accuracy/validation")
    expected = f"after each epoch the share of right answers among all validation images, to within {EXACT:g}"
    if series is None or len(series.values) < evidence.epochs:
        saw = f"{0 if series is None else len(series.values)} logged accuracies in {evidence.epochs} epochs"
        return Failed(saw, expected, None, "Open the run in TensorBoard: how many points does Accuracy/validation have, and at which steps?")
    try:
        true = _passes(evidence.seen)
    except MissingEvidence:
        true = []
    if not true and not _hidden(evidence):
        saw = "no pass over all validation images was seen"
        return Failed(saw, expected, None, "Count the images that your metric has counted by the end of an epoch.")
    if not true:
        return _last(evidence, series.values)
    place, worst = 0, 0.0
    for number, value in enumerate(series.values):
        at = next((i for i in range(place, len(true)) if abs(true[i] - value) <= EXACT), None)
        if at is None:
            guess = true[number] if len(true) == len(series.values) else min(true, key=lambda t: abs(t - value))
            saw = f"point {number + 1} of {len(series.values)}: logged {value:.4f}, the model's answers in this pass are right in {guess:.4f}"
            if len(true) != len(series.values):
                saw = f"point {number + 1} of {len(series.values)}: logged {value:.4f}, which no pass gives from there on (nearest {guess:.4f})"
            return Failed(saw, expected, None, HAND, abs(guess - value), EXACT)
        worst = max(worst, abs(true[at] - value))
        place = at + 1
    return Passed(f"{len(series.values)} points, at most {worst:.4f} from a count of the model's answers", None, worst, EXACT)


def _hidden(evidence: Evidence) -> bool:
    """Whether the model's calls outside training could not be followed (no module was called, or its answers have another form)."""
    try:
        seen = evidence.seen
    except MissingEvidence:
        return True
    return not any(not c.train and c.answers is not None and (c.images >= 0).any() for c in seen.calls)


def _last(evidence: Evidence, values: tuple[float, ...]) -> Passed | Failed:
    """Without any pass to compare with: the returned model's own accuracy must be among the logged ones."""
    if "validation" not in evidence.accuracies:
        msg = "the model did not answer for the validation images"
        raise MissingEvidence(msg)
    measured = evidence.accuracies["validation"]
    nearest = min(values, key=lambda v: abs(v - measured))
    if not abs(nearest - measured) <= NEAR:
        saw = f"logged {values[-1]:.4f}, measured {measured:.4f}"
        return Failed(saw, "the returned model's accuracy among the logged ones", None, HAND, abs(nearest - measured), NEAR)
    return Passed(f"logged {nearest:.4f}, measured {measured:.4f}", None, abs(nearest - measured), NEAR)


@check("tensorboard")
def loss_mean(evidence: Evidence) -> Passed | Failed:
    """The logged validation loss is the mean cross-entropy over the validation images."""
    series = evidence.scalars().series.get("Loss/validation")
    measured = evidence.losses.get("validation")
    if series is None or not series.values or measured is None:
        msg = "there is no validation loss to compare"
        raise MissingEvidence(msg)
    nearest = min(series.values, key=lambda v: abs(v - measured))
    room = LOSS_ROOM + LOSS_SHARE * measured
    if not abs(nearest - measured) <= room:
        saw = f"logged {series.values[-1]:.3f}, and the returned model's is {measured:.3f}"
        step = "Compute the loss of the last epoch's model by hand, all validation images in one batch, and compare with the logged point."
        return Failed(saw, f"the returned model's loss among the logged ones, to within {room:.3f}", None, step, abs(nearest - measured), room)
    return Passed(f"logged {nearest:.3f}, measured {measured:.3f}", None, abs(nearest - measured), room)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    every_epoch,
    loss_mean.after("output_shape"),
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape", "every_epoch"),
    expect.accuracy(0.6).after("output_shape"),
)
