"""Lesson 15: an image that is validated on is never trained on, and the test images come after the last decision.

Judged from the images that entered the model, call by call (`evidence.seen`): numbers below `seen.train` are MNIST's training images, the others its
test images. Measuring the accuracy on training images as well, for comparison, is good practice: such passes are told from the validation by
their batches (all of one kind) and by the accuracy that was logged.
"""

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

LEAST_HELD_BACK = 500
"""Fewest different images to validate on: the task's own rule. A right submission holds back 1,000 to 2,500, the exercise about 400 by chance."""
OVERLAP = 0.02
"""Largest share of the validation images that may be trained on.

One split measures 0.000; two unseeded splits of 8,000 and 2,000 images 0.80, two of 9,500 and 500 even 0.95. The rest is for images that look alike.
"""
SMALL, UNIT = 20, 50
"""Batches below SMALL images are put together to units of about UNIT before it is asked whether they hold images of both kinds."""
MIXED = (0.05, 0.95)
EXACT, NEAR = 2e-5, 0.006
"""A logged accuracy is that of certain answers to float32 precision; a mean over batches of unequal size may be off by 0.004."""
EARLY = 0.01
"""Largest share of the test images that may be seen too early: 0.000 in right submissions, 1.0 in wrong ones."""
FICKLE = 0.002
"""Largest share of test images that get another answer in a second pass.

The same weights measure 0; the weights of two consecutive epochs answer 0.027 (late) to 0.05 (early) differently.
"""
TOLERANCE = 0.03
"""As for every logged accuracy of this course: see expect.log_accuracy."""


def _trained(seen: Seen) -> NDArray[np.int64]:
    images = [call.images for call in seen.calls if call.train]
    return np.unique(np.concatenate(images)) if images else np.zeros(0, dtype=np.int64)


def _own(call: Call, seen: Seen) -> NDArray[np.bool_]:
    """Which rows of a call show images of the training file."""
    return (call.images >= 0) & (call.images < seen.train)


def _mixed(group: list[Call], seen: Seen, trained: NDArray[np.int64]) -> tuple[int, int]:
    """Units of evaluated images that hold trained ones, and how many of these hold others as well."""
    units: list[NDArray[np.bool_]] = []
    for call in group:
        member = np.isin(call.images[_own(call, seen)], trained)
        if units and len(units[-1]) < UNIT and len(member) < SMALL:
            units[-1] = np.concatenate([units[-1], member])
        elif len(member):
            units.append(member)
    shares = [float(unit.mean()) for unit in units]
    return sum(s > MIXED[0] for s in shares), sum(MIXED[0] < s < MIXED[1] for s in shares)


def _accuracies(seen: Seen, but: NDArray[np.int64]) -> list[float]:
    """Of each evaluation pass, the accuracy of the answers to images of the training file, `but` for some."""
    left_out = np.concatenate([but, np.arange(seen.train, len(seen.images))])
    return [a for a in (seen.accuracy(group, left_out) for group in seen.passes()) if a is not None]


def _logged(evidence: Evidence, tag: str) -> tuple[float, ...]:
    series = evidence.log.series.get(tag) if evidence.log is not None else None
    return () if series is None else series.values


def _off(values: tuple[float, ...], measured: list[float]) -> list[float]:
    return [min(abs(value - m) for m in measured) for value in values] if measured else []


@check("behaviour")
def held_back(evidence: Evidence) -> Passed | Failed:
    """An image that is validated on is never trained on."""
    seen = evidence.seen
    trained, passes = _trained(seen), seen.passes()
    expected = f"at least {LEAST_HELD_BACK} of MNIST's training images to validate on, and none of them in a training step"
    step = "Collect the images of both loaders as two sets (their bytes will do) and print the sizes of the sets and of what they share."
    if not len(trained):
        msg = "no training image was recognised among what entered the model"
        raise MissingEvidence(msg)
    own = [call.images[_own(call, seen)] for group in passes for call in group]
    validated = np.unique(np.concatenate(own)) if own else np.zeros(0, dtype=np.int64)
    shared = np.intersect1d(validated, trained)
    clean = len(validated) - len(shared)
    overlap = len(shared) / max(len(validated), 1)
    if not len(validated):
        saw = "no training image was ever validated on: nothing was held back"
        return Failed(saw, expected, None, step, 0.0, OVERLAP)
    saw = f"{len(shared)} of the {len(validated)} images that are validated on are trained on as well ({overlap:.0%})"
    failed = Failed(saw, expected, evidence.where_called(), step, overlap, OVERLAP)
    if overlap > OVERLAP:
        units = [_mixed(group, seen, trained) for group in passes]
        dirty, both = sum(d for d, _ in units), sum(b for _, b in units)
        if clean < LEAST_HELD_BACK or both > 0.1 * dirty + 2 * len(passes) or both > 0.5 * dirty:
            return failed
        values = _logged(evidence, "Accuracy/validation")
        by_clean, by_all = _accuracies(seen, trained), _accuracies(seen, np.zeros(0, dtype=np.int64))
        clear, blurred = _off(values, by_clean), _off(values, by_all)
        if max(clear, default=1.0) > EXACT and (max(blurred, default=1.0) <= EXACT or max(clear, default=1.0) > NEAR):
            return failed
    elif clean < LEAST_HELD_BACK:
        return Failed(f"only {clean} different images are validated on", expected, None, step, overlap, OVERLAP)
    also = f"; {len(shared)} training images are measured apart" if overlap > OVERLAP else ""
    number = 0.0 if also else overlap
    return Passed(f"{len(trained)} images to train on, {clean} others to validate on{also}", None, number, OVERLAP)


@check("behaviour")
def test_last(evidence: Evidence) -> Passed | Failed:
    """The test images come after the last training step, when the model has been chosen."""
    seen = evidence.seen
    tests = len(seen.images) - seen.train
    last = max((n for n, call in enumerate(seen.calls) if call.train), default=-1)
    expected = "test images in no call before the last training step, and afterwards answered by one state of the model only"
    before = [call.images[call.images >= seen.train] for call in seen.calls[: last + 1]]
    early = np.unique(np.concatenate(before)) if before else np.zeros(0, dtype=np.int64)
    share = len(early) / max(tests, 1)
    if share > EARLY:
        step = "For each decision in the script (which weights to keep, when to stop): which numbers go into it, and which images do they come from?"
        saw = f"{len(early)} of the {tests} test images entered the model before its last training step"
        return Failed(saw, expected, None, step, share, EARLY)
    answers: dict[int, set[int]] = {}
    for call in seen.calls[last + 1 :]:
        if call.answers is not None:
            for image, answer in zip(call.images, call.answers, strict=True):
                if image >= seen.train:
                    answers.setdefault(int(image), set()).add(int(answer))
    fickle = sum(len(given) > 1 for given in answers.values())
    if fickle > FICKLE * tests:
        step = "How many sets of weights are tried on the test images, and what becomes of the results?"
        saw = f"after the last step {fickle} of the {tests} test images got two answers: more than one state of the model was tried on them"
        return Failed(saw, expected, None, step, fickle / max(tests, 1), FICKLE)
    return Passed(f"{len(early)} test images before the last training step, {len(answers)} after it", None, share, EARLY)


@check("tensorboard")
def validation_true(evidence: Evidence) -> Passed | Failed:
    """Accuracy/validation is the accuracy on the held-back images."""
    values, seen = _logged(evidence, "Accuracy/validation"), evidence.seen
    expected = f"logged values within {TOLERANCE:g} of what the answers to the held-back images give"
    step = "Which answers are counted, and by what number are they divided? Do it once more by hand."
    if not values:
        return Failed("no Accuracy/validation in the log", expected, None, "Open the run in TensorBoard: which tags are on the left?")
    measured = _accuracies(seen, _trained(seen))
    if not measured:
        msg = "no answer to a held-back image was seen"
        raise MissingEvidence(msg)
    off = _off(values, measured)
    worst = max(range(len(off)), key=off.__getitem__)
    if not off[worst] <= TOLERANCE:
        return Failed(f"logged {values[worst]:.3f}, and no pass over the held-back images gives that", expected, None, step, off[worst], TOLERANCE)
    return Passed(f"logged {values[-1]:.3f}, the answers give {min(measured, key=lambda m: abs(m - values[-1])):.3f}", None, off[worst], TOLERANCE)


@check("tensorboard")
def test_true(evidence: Evidence) -> Passed | Failed:
    """Accuracy/test is the returned model's accuracy on the test images."""
    evidence.scalars()
    values, measured = _logged(evidence, "Accuracy/test"), evidence.accuracies.get("validation")
    if measured is None:
        msg = "the model did not answer for the test images"
        raise MissingEvidence(msg)
    expected = f"a logged Accuracy/test within {TOLERANCE:g} of what the returned model scores on MNIST(train=False)"
    if not values:
        return Failed("no Accuracy/test in the log", expected, None, "Open the run in TensorBoard: which tags are on the left?")
    difference = abs(values[-1] - measured)
    if not difference <= TOLERANCE:
        step = "Compute the accuracy once more by hand on the test images, with the weights that main returns."
        return Failed(f"logged {values[-1]:.3f}, measured {measured:.3f}", expected, None, step, difference, TOLERANCE)
    return Passed(f"logged {values[-1]:.3f}, measured {measured:.3f}", None, difference, TOLERANCE)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    held_back,
    test_last,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    validation_true.after("held_back"),
    test_true.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
