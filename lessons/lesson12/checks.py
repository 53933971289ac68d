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
"""Least share of the validation images that are recognised in a pass: all of them but for a few that look alike.

Its rows must be as many as there are validation images: a last batch left out may be less than a hundredth.
"""
LOSS_ROOM, LOSS_SHARE = 0.02, 0.05
"""A logged validation loss may differ from the measured one by this much, plus this share of it.

A true mean over the images measures 0.000 to 0.001 apart; a mean over three epochs 0.07 and more (a third of the loss), a sum hundreds.
"""
HAND = "Take three images whose answers you know, put their scores and labels through your metric, and compare with what you count on your fingers."


def _passes(seen: Seen) -> list[tuple[float, int]]:
    """The true accuracy of each complete pass over the validation images and the number of its last call, in the order of time."""
    return _in_turn(seen) or _interleaved(seen)


def _measured(seen: Seen) -> list[tuple[int, Call]]:
    """The calls that show validation images outside training, with their numbers."""
    calls = [(i, c) for i, c in enumerate(seen.calls) if not c.train and c.answers is not None and len(c.answers) == len(c.images)]
    return [(i, c) for i, c in calls if (c.images >= seen.train).any()]


def _in_turn(seen: Seen) -> list[tuple[float, int]]:
    """One pass after the other: the next one begins where images come again, or after a training step."""
    found: list[tuple[float, int]] = []
    group: list[tuple[int, Call]] = []
    held: set[int] = set()
    step = -1
    for number, call in _measured(seen):
        fresh = set(call.images[call.images >= 0].tolist())
        if call.step != step or len(fresh & held) > len(fresh) / 2:
            found += _complete(seen, group)
            group, held, step = [], set(), call.step
        group.append((number, call))
        held |= fresh
    return found + _complete(seen, group)


def _interleaved(seen: Seen) -> list[tuple[float, int]]:
    """Several models side by side, batch by batch: images that come again belong to the next model's pass."""
    found: list[tuple[float, int]] = []
    tracks: list[tuple[list[tuple[int, Call]], set[int]]] = []
    step = -1
    for number, call in _measured(seen):
        if call.step != step:
            found += [each for group, _ in tracks for each in _complete(seen, group)]
            tracks, step = [], call.step
        fresh = set(call.images[call.images >= 0].tolist())
        track = next((t for t in tracks if len(fresh & t[1]) <= len(fresh) / 2), None)
        if track is None:
            track = ([], set())
            tracks.append(track)
        track[0].append((number, call))
        track[1].update(fresh)
    return found + [each for group, _ in tracks for each in _complete(seen, group)]


def _complete(seen: Seen, group: list[tuple[int, Call]]) -> list[tuple[float, int]]:
    """A pass over all validation images as a list of one, anything less as an empty one."""
    wanted = len(seen.labels) - seen.train
    images = np.concatenate([c.images for _, c in group]) if group else np.zeros(0, dtype=np.int64)
    known = images >= seen.train
    if len(images) < wanted or len(np.unique(images[known])) < COVERS * wanted:
        return []
    answers = np.concatenate([c.answers for _, c in group if c.answers is not None])
    return [(_share(seen, images[known], answers[known]), group[-1][0])]


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
        seen = evidence.seen
        passes = _passes(seen)
        trained = max((i for i, call in enumerate(seen.calls) if call.train), default=-1)
    except MissingEvidence:
        passes, trained = [], -1
    true = [share for share, _ in passes]
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
    if passes[place - 1][1] < trained and not any(end > trained and abs(share - series.values[-1]) <= EXACT for share, end in passes):
        saw = f"the last point, {series.values[-1]:.4f}, was measured before the last training step: nothing was logged after the last epoch"
        return Failed(saw, expected, None, "Print what the loop does, line by line, with the epoch: training, validation, logging, in which order?")
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
