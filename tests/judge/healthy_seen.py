"""Evidence of a healthy run in a lesson that has samples recorded, in small: what entered the model, what came back to its scores.

Image number i shows the digit i % 10; the first TRAIN of COUNT images are the training file's. Row number i is image number i.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from grader.evidence.records import LossSample, Step
from grader.evidence.seen import Call, Seen
from grader.evidence.view import Evidence
from tests.judge.healthy import PLACE, healthy, log, probes, steps

TRAIN, COUNT, BATCH = 40, 60, 8
OURS, THEIRS = range(TRAIN), range(TRAIN, COUNT)
"""Numbers of the training images, and of the validation images."""
Scores = NDArray[np.float64]


def seen(*calls: Call, count: int = COUNT, train: int = TRAIN, **changes: Any) -> Seen:
    """The record of some calls; index (the image that each row shows) decides which images a call has shown."""
    images = changes.pop("images", np.zeros((count, 28, 28), np.uint8))
    rows = changes.pop("rows", list(images))
    index = np.asarray(changes.pop("index", np.arange(len(rows))), dtype=np.int64)
    labels = changes.pop("labels", (np.arange(len(images)) % 10).astype(np.uint8))
    match = np.asarray(changes.pop("match", np.ones(len(rows))), dtype=np.float32)
    shown = tuple(replace(call, images=np.where(call.ids >= 0, index[call.ids], -1)) for call in calls)
    return Seen(rows, images, labels, train, index, np.where(index >= 0, labels[index].astype(np.int64), -1), match, shown)


def call(ids: ArrayLike, *, train: bool = True, step: int = 0, answers: NDArray[np.uint8] | None = None, **mode: Any) -> Call:
    """One call, in the mode that it ought to be in."""
    numbers = np.asarray(ids, dtype=np.int64)
    usual = {"training": train, "on": ("bn", "drop") if train else (), "off": () if train else ("bn", "drop")}
    return Call(train, step, numbers, numbers, answers, **{**usual, **mode})


def cut(ids: Iterable[int], size: int) -> list[list[int]]:
    numbers = list(ids)
    return [numbers[i : i + size] for i in range(0, len(numbers), size)]


def training(ids: Iterable[int] = OURS, *, size: int = BATCH, first: int = 0, **fields: Any) -> tuple[Call, ...]:
    """One call a step."""
    return tuple(call(part, step=first + i, **fields) for i, part in enumerate(cut(ids, size)))


def answered(ids: Iterable[int], right: float = 1.0) -> NDArray[np.uint8]:
    """Answers, the first share of which is right."""
    numbers = np.asarray(list(ids))
    wrong = np.arange(len(numbers)) >= round(right * len(numbers))
    return ((numbers + wrong) % 10).astype(np.uint8)


def judging(ids: Iterable[int] = THEIRS, *, step: int = 0, right: float = 1.0, size: int = 10, **fields: Any) -> tuple[Call, ...]:
    """A pass outside training, the first share of its answers right."""
    numbers = list(ids)
    parts = zip(cut(numbers, size), cut(answered(numbers, right).tolist(), size), strict=True)
    return tuple(call(part, train=False, step=step, answers=np.array(given, np.uint8), **fields) for part, given in parts)


RIGHT = (0.6, 0.8, 0.9)
"""Validation accuracy after each of three epochs, logged and true."""
LOGGED = ((1, 2, 3), RIGHT)
STEPS = len(OURS) // BATCH


def epochs(ours: Iterable[int] = OURS, theirs: Iterable[int] = THEIRS, right: tuple[float, ...] = RIGHT, size: int = BATCH) -> tuple[Call, ...]:
    """Whole epochs, each with a pass over the validation images."""
    ours, calls, step = list(ours), [], 0
    for share in right:
        made = training(ours, size=size, first=step)
        step += len(made)
        calls += [*made, *judging(theirs, step=step, right=share)]
    return tuple(calls)


def once_an_epoch(count: int = 15, **changes: Any) -> tuple[Step, ...]:
    """Steps of one batch each, as `epochs` makes them, with the places in the learner's file."""
    return steps(count, **{"rows": BATCH, "called": PLACE, "backed": PLACE, **changes})


def softmax(z: Scores) -> Scores:
    p = np.exp(z - z.max(axis=1, keepdims=True))
    return p / p.sum(axis=1, keepdims=True)


def sample(step: int, scores: Scores, gradients: Scores) -> LossSample:
    return LossSample(step, tuple(map(tuple, scores.tolist())), tuple(map(tuple, gradients.tolist())))


def scores_of(step: int, rows: int = BATCH, width: int = 10) -> Scores:
    """Some scores, the same for the same step."""
    return np.random.default_rng(step).normal(size=(rows, width))


def targets_of(step: int) -> NDArray[np.int64]:
    """The digits of the images that `epochs` shows in a step."""
    return np.array(OURS)[BATCH * (step % STEPS) :][:BATCH] % 10


def samples(loss: Any = None, confine: Any = None, targets: Any = targets_of, count: int = 15) -> tuple[LossSample, ...]:
    """What a loss sends back to the scores of each step.

    loss: (scores, one-hot targets) -> gradient, usually that of a cross-entropy; confine: what the model makes of its scores.
    """
    made = []
    for step in range(count):
        z = scores_of(step) if confine is None else confine(scores_of(step))
        t = np.eye(10)[targets(step)]
        made.append(sample(step, z, (softmax(z) - t if loss is None else loss(z, t)) / len(z)))
    return tuple(made)


def sevens(gradient: Any, confine: Any = None, count: int = 15) -> tuple[LossSample, ...]:
    """The same for one score an image: gradient takes scores, labels and the batch's mean label."""
    made = []
    for step in range(count):
        o = 2 * scores_of(step, width=1)[:, 0]
        o = o if confine is None else confine(o)
        t = (targets_of(step) == 7).astype(float)
        made.append(sample(step, o[:, None], gradient(o, t, t.mean())[:, None] / len(o)))
    return tuple(made)


def sigmoid(o: Scores) -> Scores:
    return 1 / (1 + np.exp(-o))


def glyphs(count: int) -> NDArray[np.uint8]:
    """Strokes of a pen, each unlike the others, its mirror image and itself turned over, (count, 28, 28) from 0 to 255."""
    corners = np.random.default_rng(0).uniform(5, 22, size=(count, 5, 2))
    along = np.linspace(0, 1, 12, endpoint=False)[:, None]
    path = np.concatenate([corners[:, i, None] * (1 - along) + corners[:, i + 1, None] * along for i in range(4)], axis=1)
    grid = np.arange(28)
    drawn = np.empty((count, 28, 28), np.uint8)
    for image, points in zip(drawn, path, strict=True):
        down, across = (np.exp(-((grid - points[:, axis, None]) ** 2) / 2) for axis in (0, 1))
        ink = (down[:, :, None] * across[:, None, :]).max(axis=0)
        image[:] = np.rint(255 * (ink - ink.min()) / np.ptp(ink))
    return drawn


CONFUSION = np.diag([91] * 10) + np.roll(np.diag([9] * 10), 1, axis=1)
LOSS_CASES = [
    {"name": "moderate", "value": 2.7, "true": 2.7, "gradient": 0.17, "true_gradient": 0.17, "misfit": 1e-7},
    {"name": "sure and right", "value": 0.0, "true": 0.0, "gradient": 0.0, "true_gradient": 1e-26, "misfit": 1.0},
    {"name": "very sure and wrong", "value": 500.0, "true": 500.0, "gradient": 0.25, "true_gradient": 0.25, "misfit": 1e-7},
]  # fmt: skip
FURTHER = {
    "predict": {"answers": [i % 10 for i in range(100)], "model": [i % 10 for i in range(100)]},
    "modes": {"noise": 0.3, "mates": 0.2},
    "loss": {"cases": LOSS_CASES},
}


def watched(*calls: Call, **changes: Any) -> Evidence:
    """A finished run with its samples recorded, in which the checks of lessons 07 to 20 pass, with fields replaced.

    calls: what entered the model, if not three ordinary epochs; asked: changes of the answers to questions.
    """
    asked = {**FURTHER, **changes.pop("asked", {})}
    usual = {
        "recorded": seen(*(calls or epochs())),
        "all_steps": once_an_epoch(),
        "all_samples": samples(),
        "probes": probes(**asked),
        "log": log(accuracy=LOGGED),
        "epochs": len(RIGHT),
        "data": {"train": TRAIN, "test": COUNT - TRAIN},
        "accuracies": {"heldout": 0.91, "validation": RIGHT[-1]},
        "confusions": {"heldout": CONFUSION},
    }
    return healthy(**{**usual, **changes})
