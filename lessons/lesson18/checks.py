"""Lesson 18: training images are altered only in ways that leave a digit what it is, and validation images are not altered at all.

Judged from the images that entered the model (`evidence.seen`). What was done to a training image is found by undoing it: some of the training
inputs are turned and mirrored in steps, and each result is compared with all training images. Whatever comes closest to an image is what was undone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.recognise import portraits
from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from grader.evidence.seen import Call, Seen
    from grader.evidence.view import Evidence

SAMPLE = 200
"""Training inputs that are looked at."""
MILD = tuple(range(-30, 31, 5))
STRONG = tuple(range(36, 325, 12))
"""Degrees. The task allows 20; between that and 36 nothing is counted against anybody."""
CLEAR = 0.4
"""An explanation is clear if its distance (1 - cosine) is at most this share of the other one's.

A 1, an 8 or a 0 looks the same turned over: undecided.
"""
ALTERED = 0.03
"""Largest share of clearly mirrored or strongly turned training inputs.

Measured on 150: rotations up to 20 degrees, shifts, scales, shears, elastic warps, erasing 0.000 to 0.009; flips with a probability of
0.1 0.11, two flips of 0.15 each 0.31, rotation up to 45 degrees 0.20, the exercise 0.81.
"""
FEWEST = 20
"""Fewest sampled inputs that must be clear: elastic warps leave 40 of 200, a rotation up to 15 degrees 140."""
INK = 60
"""Grey levels from the background that count as ink: what is left of additive noise is no part of the digit."""
SLIM = 0.4
PLAIN = 0.98
"""Least share of validation inputs that are a data set's image byte by byte: 1.000 without augmentation, 0.00 to 0.25 with."""
VERSIONS, MOST_UNKNOWN = 1.4, 0.3
"""An eval_transform that resizes, crops or blurs leaves no byte as it was, and some images are not recognised any more.

Images enlarged by a seventh and cut measure 1.08 versions an image and 0.08 unknown; two epochs of random changes 1.9 and more.
"""
WOBBLE = (0.7, 4.0, 0.06)
"""How far shift (pixels), turn (degrees) and size (share) may vary from image to image: the range from the 10th to the 90th percentile.

One transform for all measures up to 0.24, 1.6 and 0.025; random shifts by 1 pixel 2.0, rotations up to 5 degrees 9.4, scales of 0.9 to 1.1 0.18.
"""
KNOWN, APART = 0.4, 0.9
"""A call measures the training images if most of its rows are recognised and nine in ten of these are trained on.

Plain or mildly augmented training images measure 0.97 to 1.00, the validation of two unseeded splits 0.80, of one split 0.00 to 0.02.
"""
LEAST_HELD_BACK = 500
OVERLAP = 0.02
"""Largest share of the validation images that may be trained on: one split 0.000 (0.008 by mistaken identity), two unseeded splits 0.80."""
TOLERANCE = 0.03
"""As for every logged accuracy of this course: see expect.log_accuracy."""


def _ids(calls: Sequence[Call]) -> NDArray[np.int64]:
    ids = np.unique(np.concatenate([call.ids for call in calls])) if calls else np.zeros(0, dtype=np.int64)
    return ids[ids >= 0]


def _trained(seen: Seen) -> NDArray[np.int64]:
    """Numbers of the images that training steps have seen."""
    images = np.unique(seen.index[_ids([call for call in seen.calls if call.train])])
    return images[images >= 0]


def _validation(seen: Seen) -> list[list[Call]]:
    """Evaluation calls, in groups that no training step divides, but for calls with images that are trained on (a training accuracy, if you like)."""
    trained = _trained(seen)
    groups = [[call for call in group if not _measures_training(call, seen, trained)] for group in seen.passes()]
    return [group for group in groups if group]


def _measures_training(call: Call, seen: Seen, trained: NDArray[np.int64]) -> bool:
    ids = call.ids[call.ids >= 0]
    compared = ids[~np.isnan(seen.match[ids])]
    known = seen.index[compared][seen.index[compared] >= 0]
    return len(known) >= KNOWN * max(len(compared), 1) and float(np.isin(known, trained).mean()) >= APART if len(known) else False


def _cleaned(row: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """The ink alone, from 0 to 255."""
    ink = np.abs(row.astype(np.float32) - np.median(row))
    ink[ink < INK] = 0.0
    return np.rint(ink * (255.0 / max(float(ink.max()), 1.0))).astype(np.uint8)


def _nearest(rows: Sequence[NDArray[np.uint8]], gallery: NDArray[np.float32], degrees: Sequence[int], *, mirrored: bool) -> NDArray[np.float32]:
    """The largest cosine of each row with any image, over these turns."""
    best = np.full(len(rows), -1.0, dtype=np.float32)
    for shape in {row.shape for row in rows}:
        which = [i for i, row in enumerate(rows) if row.shape == shape]
        stack = np.stack([rows[i][:, ::-1] if mirrored else rows[i] for i in which])
        for angle in degrees:
            best[which] = np.maximum(best[which], (portraits(stack, float(angle)) @ gallery).max(axis=1))
    return best


@check("behaviour")
def training_readable(evidence: Evidence) -> Passed | Failed:
    """Training images are altered only in ways that leave a digit what it is."""
    seen = evidence.seen
    ids = _ids([call for call in seen.calls if call.train])
    if not len(ids):
        msg = "no image was recognised among what entered the model in training"
        raise MissingEvidence(msg)
    rows = [_cleaned(seen.rows[i]) for i in ids[np.linspace(0, len(ids) - 1, min(SAMPLE, len(ids))).astype(int)]]
    gallery = portraits(seen.images[: seen.train]).T
    mild = 1.0 - _nearest(rows, gallery, MILD, mirrored=False)
    turned = 1.0 - _nearest(rows, gallery, STRONG, mirrored=False)
    mirrored = 1.0 - _nearest(rows, gallery, (*range(-180, 180, 12),), mirrored=True)
    strong = np.minimum(turned, mirrored)
    fine, altered = int((mild <= CLEAR * strong).sum()), int((strong <= CLEAR * mild).sum())
    expected = "no mirrored digits, none turned by more than about 20 degrees"
    step = "Draw a grid of training images as they enter the model, each with its label, and read them aloud."
    if fine + altered < FEWEST:
        saw = f"of {len(rows)} sampled training inputs only {fine + altered} can be told to show a certain training image"
        return Failed(saw, "training inputs in which the digit can be recognised", evidence.where_called(), step, None, None)
    share = altered / (fine + altered)
    if share > ALTERED:
        flips = int(((mirrored <= CLEAR * mild) & (mirrored < turned)).sum())
        saw = f"of {fine + altered} sampled training inputs that could be told, {altered} are mirrored or strongly turned ({flips} of them mirrored)"
        return Failed(saw, expected, evidence.where_called(), step, share, ALTERED)
    return Passed(f"{fine} of {fine + altered} sampled training inputs are upright and not mirrored", None, share, ALTERED)


@check("behaviour")
def validation_plain(evidence: Evidence) -> Passed | Failed:
    """Validation images enter the model as they are, the same in every epoch."""
    seen = evidence.seen
    if all(call.train for call in seen.calls):
        msg = "no image was seen to enter the model outside the training steps"
        raise MissingEvidence(msg)
    ids = _ids([call for group in _validation(seen) for call in group])
    ids = ids[~np.isin(seen.index[ids], _trained(seen))]
    expected = "each validation image in one version only, the one that eval_transform makes of it"
    step = "Ask the validation set for the same index twice, and compare the two tensors. Then validate twice in a row, without a step in between."
    if not len(ids):
        saw = "every image that the model was validated on belongs to those that it is trained on"
        return Failed(saw, expected, None, "Which images does each of the two loaders draw from? Intersect them.", 0.0, PLAIN)
    if not evidence.values("transform_twice")["same"]:
        return Failed(
            "eval_transform gives another answer each time", expected, None, "Send the same image through eval_transform twice and compare."
        )
    exact = float(np.mean(_exact(seen, ids)))
    known = ids[seen.index[ids] >= 0]
    shown = len(np.unique(seen.index[known]))
    if exact >= PLAIN:
        return Passed(f"{len(ids)} different validation inputs, {exact:.1%} of them an image of the data set byte by byte", None, exact, PLAIN)
    saw = f"{len(ids)} different validation inputs, of which {exact:.0%} are an image of the data set as it is"
    if shown:
        saw += f" ({shown} different images were recognised)"
    steady = len(known) >= (1 - MOST_UNKNOWN) * len(ids) and len(ids) <= VERSIONS * shown
    if not steady or any(w > most for w, most in zip(_wobble(seen, known), WOBBLE, strict=True)):
        return Failed(saw, expected, None, step, exact, PLAIN)
    remark = "validation images are resized, cropped or filtered, all in the same way: does evaluation need this?"
    return Passed(f"{len(ids)} different validation inputs, one for each image", remark, exact, PLAIN)


def _exact(seen: Seen, ids: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which rows are their image, stretched to 0..255, byte by byte."""
    same = np.zeros(len(ids), dtype=bool)
    for place, i in enumerate(ids):
        number = seen.index[i]
        if number >= 0 and seen.rows[i].shape == seen.images[number].shape:
            image = seen.images[number].astype(np.float32)
            low, high = image.min(), image.max()
            same[place] = np.abs((image - low) * (255.0 / max(high - low, 1.0)) - seen.rows[i]).max() <= 1.0
    return same


def _wobble(seen: Seen, ids: NDArray[np.int64]) -> tuple[float, float, float]:
    """How shift, turn and size of rows against their images vary from row to row."""
    rows = np.array([_moments(seen.rows[i]) for i in ids])
    images = np.array([_moments(seen.images[seen.index[i]]) for i in ids])
    slim = images[:, 4] > SLIM  # the turn of a round digit means nothing
    shifts = [_range(rows[:, k] - np.polyval(np.polyfit(images[:, k], rows[:, k], 1), images[:, k])) for k in (0, 1)]
    turns = np.degrees(rows[slim, 2] - images[slim, 2])
    return max(shifts), _range((turns + 90.0) % 180.0 - 90.0), _range(rows[:, 3] / images[:, 3])


def _moments(image: NDArray[np.uint8]) -> tuple[float, float, float, float, float]:
    """Centre (y, x), direction (radians), size and slimness (0: round, 1: a line) of the ink, from its first and second moments."""
    ink = _cleaned(image).astype(np.float64)
    mass = max(float(ink.sum()), 1.0)
    ys, xs = np.mgrid[: ink.shape[0], : ink.shape[1]]
    cy, cx = float((ink * ys).sum()) / mass, float((ink * xs).sum()) / mass
    yy, xx, xy = (float((ink * a * b).sum()) / mass for a, b in ((ys - cy, ys - cy), (xs - cx, xs - cx), (xs - cx, ys - cy)))
    slim = float(np.hypot(2 * xy, xx - yy)) / max(xx + yy, 1e-6)
    return cy, cx, 0.5 * float(np.arctan2(2 * xy, xx - yy)), float(np.sqrt(xx + yy)), slim


def _range(values: NDArray[np.float64]) -> float:
    """From the 10th to the 90th percentile; 0 for a handful of values."""
    return float(np.quantile(values, 0.9) - np.quantile(values, 0.1)) if len(values) > 9 else 0.0


@check("behaviour")
def held_back(evidence: Evidence) -> Passed | Failed:
    """An image that is validated on is never trained on."""
    seen = evidence.seen
    trained = _trained(seen)
    validated = np.unique(seen.index[_ids([call for group in _validation(seen) for call in group])])
    validated = validated[validated >= 0]
    shared = np.intersect1d(validated, trained)
    clean = len(validated) - len(shared)
    overlap = len(shared) / max(len(validated), 1)
    expected = f"at least {LEAST_HELD_BACK} images to validate on, and none of them in a training step"
    step = "Collect the images of both loaders as two sets and print how many they share (lesson 15)."
    saw = f"{len(shared)} of the {len(validated)} images that are validated on are trained on as well ({overlap:.0%})"
    if clean < LEAST_HELD_BACK:
        return Failed(saw if len(shared) else f"only {clean} different images are validated on", expected, None, step, overlap, OVERLAP)
    if overlap > OVERLAP:
        return Failed(saw, expected, evidence.where_called(), step, overlap, OVERLAP)
    return Passed(f"{len(trained)} images to train on, {clean} others to validate on", None, overlap, OVERLAP)


@check("tensorboard")
def validation_true(evidence: Evidence) -> Passed | Failed:
    """Accuracy/validation is the accuracy on the held-back images."""
    log, seen = evidence.scalars().series.get("Accuracy/validation"), evidence.seen
    expected = f"logged values within {TOLERANCE:g} of what the answers to the held-back images give"
    if log is None or not log.values:
        return Failed("no Accuracy/validation in the log", expected, None, "Open the run in TensorBoard: which tags are on the left?")
    trained = _trained(seen)
    measured = [a for a in (seen.accuracy(group, trained) for group in _validation(seen)) if a is not None]
    off = [min((abs(value - m) for m in measured), default=1.0) for value in log.values]
    if not measured:
        msg = "no answer to a held-back image was seen"
        raise MissingEvidence(msg)
    worst = max(range(len(off)), key=off.__getitem__)
    if not off[worst] <= TOLERANCE:
        saw = f"logged {log.values[worst]:.3f}, and no pass over the held-back images gives that"
        step = "Which answers are counted, and by what number are they divided? Do it once more by hand."
        return Failed(saw, expected, None, step, off[worst], TOLERANCE)
    return Passed(
        f"logged {log.values[-1]:.3f}, the answers give {min(measured, key=lambda m: abs(m - log.values[-1])):.3f}", None, off[worst], TOLERANCE
    )


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    training_readable,
    validation_plain,
    held_back.after("training_readable", "validation_plain"),
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    validation_true.after("validation_plain", "held_back"),
    expect.accuracy(0.55).after("output_shape"),
)
