"""The exact words of the checks that lessons 07 to 20 have of their own, over evidence that is spoilt in one respect at a time.

A lesson that comes later has its own checks here, too: see the last test.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from grader.evidence.eventlog import EventLog
from grader.evidence.records import Crash, Moments
from grader.evidence.view import Evidence, Truth
from grader.judge.check import answer
from grader.judge.verdict import Answer, Broken, Failed, Passed, Skipped
from tests.judge import healthy_seen as small
from tests.judge.healthy import HIDDEN, PLACE, log, parameters
from tests.judge.healthy_seen import LOGGED, OURS, THEIRS, call, epochs, judging, once_an_epoch, samples, seen, sevens, softmax, training, watched
from tests.judge.words import CHECKS, LAST, shared, text

NO_LOG = EventLog((), {})
ANSWERS = small.FURTHER["predict"]["model"]
PREDICT_CRASH = Crash("RuntimeError", "expected 4D input (got 3D input)", (PLACE,), "predict")
PREDICT_SHAPE = Crash("ContractError", "eval_transform made a Tensor of shape (28, 28) and dtype float32 of an image", (), "predict")
LOSS_CRASH = Crash("RuntimeError", "Index tensor must have the same\nnumber of dimensions as input tensor", (PLACE,), "loss")
LOSS_SHAPE = Crash("ContractError", "loss returned a Tensor of shape (32,) and dtype float32; expected a tensor with one number", (), "loss")


def with_index(index, *calls, **changes) -> Evidence:
    """Rows that show other images than their own numbers say, -1 for none."""
    return watched(recorded=seen(*(calls or epochs()), index=index, **changes))


def odd(where, value, count: int = small.COUNT) -> np.ndarray:
    numbers = np.arange(count)
    numbers[list(where)] = value
    return numbers


def numbered(*made) -> tuple:
    return tuple(replace(step, index=i) for i, step in enumerate(made))


# Lesson 12: passes over the validation images, as they are logged.
UNSEEN = tuple(c if c.train else replace(c, answers=None) for c in epochs())

# Lesson 15: 700 training images, the first 160 to train on, and 60 test images.
SPLIT, HELD, TESTS = range(160), range(160, 700), range(700, 760)
SHUFFLED = np.random.default_rng(0).permutation(700)


def split(*calls, accuracy=LOGGED, test=((3,), (0.9,)), **changes) -> Evidence:
    made = calls or (*epochs(SPLIT, HELD, size=80), *judging(TESTS, step=6, right=0.9))
    return watched(recorded=seen(*made, count=760, train=700), log=log(accuracy=accuracy, **({} if test is None else {"test": test})), **changes)


def also_on_training(theirs=HELD, ours=SPLIT) -> tuple:
    """Epochs that measure the accuracy on training images as well, in batches of their own."""
    made = []
    for n, share in enumerate(small.RIGHT):
        made += [*training(ours, size=80, first=2 * n), *judging(ours, step=2 * n + 2, right=1.0), *judging(theirs, step=2 * n + 2, right=share)]
    return tuple(made)


# Lesson 16: 1,000 training images.
SORTED = [number for digit in range(10) for number in range(digit, 1000, 10)]


def drawn(order, size: int = 50, **changes) -> Evidence:
    return watched(recorded=seen(*training(order, size=size), count=1000, train=1000, **changes))


# Lesson 18: 150 images to train on, 510 to validate on, all of them different strokes.
STROKES, PART, REST = small.glyphs(660), range(150), range(150, 660)
UPRIGHT, MIRRORED, TURNED, BLANK = STROKES[:150], STROKES[:75, :, ::-1], np.rot90(STROKES[:75], axes=(1, 2)), np.zeros((150, 28, 28), np.uint8)


def augmented(*calls, ours=UPRIGHT, theirs=STROKES[150:], accuracy=LOGGED, index=None, match=None, **changes) -> Evidence:
    rows = [*ours, *UPRIGHT[len(ours) :], *theirs]
    index = np.arange(len(rows)) if index is None else index
    match = np.ones(len(rows)) if match is None else match
    record = seen(*(calls or epochs(PART, REST, size=50)), count=660, train=150, images=STROKES, rows=rows, index=index, match=match)
    return watched(**{"recorded": record, "log": log(accuracy=accuracy), **changes})


MINGLED = np.random.default_rng(0).permutation(660)
TWICE = (*STROKES[150:], *np.roll(STROKES[150:], 1, axis=1))
BLOWN_UP = np.kron(STROKES[150:], np.ones((1, 2, 2), np.uint8))
ANOTHER_VERSION = (*epochs(PART, REST, size=50), *judging(range(660, 1170), step=9))


def lossy(**changes) -> Evidence:
    """Lesson 20: one case of the loss is another than it should be."""
    cases = small.LOSS_CASES
    return watched(asked={"loss": {"cases": [*cases[:-1], {**cases[-1], **changes}]}})


def brier(p, t) -> np.ndarray:
    return (p - t) * p * (1 - p)


def sure(gradient, confine=None, count: int = 15, **changes) -> Evidence:
    return watched(width=1, all_samples=sevens(gradient, confine, count), **changes)


BINARY = {
    "logits": sure(lambda o, t, _: small.sigmoid(o) - t),
    "probabilities": sure(lambda o, t, _: (o - t) / (o * (1 - o)), small.sigmoid),
    "with the Brier term": sure(lambda o, t, _: small.sigmoid(o) - t + brier(small.sigmoid(o), t)),
    "sigmoid twice": sure(lambda o, t, _: small.sigmoid(o) - t, small.sigmoid),
    "squared error of logits": sure(lambda o, t, _: o - t),
    "broadcast": sure(lambda o, _, mean: small.sigmoid(o) - mean),
    "broadcast Brier term": sure(lambda o, t, mean: small.sigmoid(o) - t + 3 * brier(small.sigmoid(o), mean)),
    "both": sure(lambda o, t, mean: small.sigmoid(o) - t + 3 * (o - mean), small.sigmoid),
    "something else": sure(lambda o, t, _: o**3 + t),
    "nothing recorded": sure(lambda o, t, _: small.sigmoid(o) - t, recorded=None),
    "few rows": sure(lambda o, t, _: small.sigmoid(o) - t, count=3),
    "few rows, and a floor": sure(lambda o, t, _: small.sigmoid(o) - t, count=3, log=log(validation=((1,), (0.66,)))),
    "unseen, unlogged": watched(width=1, all_samples=(), log=log(validation=None)),
    "unseen, and no event file": watched(width=1, all_samples=(), log=NO_LOG),
}
FALLING = (tuple(range(10)), tuple(2.3 * 0.6**i for i in range(10)))


def pairs(loss=None, confine=None):
    """Samples in which every label comes twice, as one row a class tells nothing about a class's weight."""
    return samples(loss, confine, lambda step: (np.arange(small.BATCH) // 2 + step) % 10)


LOSSES = {
    "cross-entropy": watched(all_samples=pairs()),
    "of log-probabilities": watched(all_samples=pairs(confine=lambda z: np.log(softmax(z)))),
    "likelihood of log-probabilities": watched(all_samples=pairs(lambda _, t: -t, lambda z: np.log(softmax(z)))),
    "log of probabilities": watched(all_samples=pairs(lambda z, t: -t / z, softmax)),
    "of probabilities": watched(all_samples=pairs(confine=softmax)),
    "likelihood of probabilities": watched(all_samples=pairs(lambda _, t: -t, softmax)),
    "likelihood of logits": watched(all_samples=pairs(lambda _, t: -t)),
    "squared error": watched(all_samples=pairs(lambda z, t: z - t)),
    "nothing comes back": watched(all_samples=pairs(lambda z, _: 0 * z)),
    "nothing comes back, and no loss seen": watched(
        all_samples=pairs(lambda z, _: 0 * z), all_steps=once_an_epoch(loss=None), log=log(train=FALLING)
    ),
    "squared error of small scores": watched(all_samples=pairs(lambda z, t: 0.2 * z - t)),
    "a part of the steps": watched(all_samples=(*pairs()[:9], *pairs(lambda z, t: 0.2 * z - t)[9:])),
    "unseen": watched(all_samples=(), all_steps=once_an_epoch(loss=None), log=log(train=FALLING)),
    "unseen and unlogged": watched(all_samples=(), log=log(train=None)),
    "unseen, and no event file": watched(all_samples=(), log=NO_LOG),
    "unseen, and logged losses too high": watched(all_samples=(), log=log(train=(FALLING[0], (1.6,) * 10), validation=((1,), (1.6,)))),
    "unseen, and another loss logged": watched(all_samples=(), all_steps=once_an_epoch(loss=2.3), log=log(train=FALLING)),
}

CASES = {
    (7, "pictures"): {
        "right": watched(*epochs(), *epochs()),
        "scrambled": with_index(odd(OURS, -1)),
        "scrambled in validation": with_index(odd(THEIRS, -1), *epochs(), *epochs()),
        "only training seen": watched(*training([*OURS] * 4)),
        "few": watched(*training()),
        "none compared": with_index(odd(range(60), -1), match=np.full(60, math.nan)),
        "nothing recorded": watched(recorded=None),
        "no images": watched(call([])),
    },
    (7, "predicts"): {
        "right": watched(),
        "disagrees": watched(asked={"predict": {"answers": [*range(5), *ANSWERS[5:50], *([3, 4] * 25)], "model": ANSWERS}}),
        "always one": watched(asked={"predict": {"answers": [0] * 100, "model": ANSWERS}}),
        "no numbers": watched(asked={"predict": {"answers": [None, 10, -1, *ANSWERS[3:]], "model": ANSWERS}}),
        "raised": watched(asked={"predict": PREDICT_CRASH}),
        "wrong shape": watched(asked={"predict": PREDICT_SHAPE}),
        "not asked": watched(asked={"predict": None}),
    },
    (8, "labels_true"): {
        "right": watched(),
        "one class": watched(all_samples=samples(targets=lambda step: np.zeros(8, int))),
        "others' labels": watched(all_samples=samples(targets=lambda step: (small.targets_of(step) + 3) % 10)),
        "not read, but learned": watched(all_samples=()),
        "not read": watched(all_samples=(), accuracies={"heldout": 0.12}),
        "not clear": watched(all_samples=samples(lambda z, _: np.ones_like(z)), accuracies={"heldout": 0.12}),
        "other calls' scores": watched(*training([*OURS] * 3, answers=np.full(8, 11, np.uint8)), accuracies={"heldout": 0.12}),
        "nothing recorded": watched(recorded=None),
    },
    (8, "loss_input"): LOSSES,
    (10, "none_frozen"): {
        "right": watched(),
        "one": watched(all_parameters=parameters(trainable=False, moved=0.0)),
        "two": watched(all_parameters=tuple(replace(p, trainable=False, moved=0.0) for p in parameters()[:2])),
    },
    (11, "none_frozen"): {
        "right": watched(),
        "one": watched(all_parameters=parameters(trainable=False, moved=0.0)),
        "two": watched(all_parameters=tuple(replace(p, trainable=False, moved=0.0) for p in parameters()[:2])),
    },
    (9, "in_batches"): {
        "right": watched(),
        "one by one": watched(*training(size=1), all_steps=once_an_epoch(120, rows=1)),
        "hardly more": watched(*training(range(8), size=2), *training(range(8, 12), size=1, first=4)),
        "counted by the calls": watched(all_steps=()),
        "not counted": watched(*judging(), all_steps=()),
    },
    (9, "every_picture"): {
        "right": watched(),
        "a part": watched(*epochs(range(30))),
        "a digit left out": watched(*epochs([i for i in OURS if i % 10 != 8])),
        "unrecognised": with_index(odd(range(30), -1)),
        "many alike": with_index(np.arange(60) // 2),
        "too often": watched(epochs=1),
        "no training": watched(*judging()),
        "nothing recorded": watched(recorded=None),
    },
    (10, "gradient_true"): {
        "right": watched(),
        "cut off": watched(truth=(*(Truth(name, 0.1, 0.1) for name in HIDDEN[1:]), Truth(HIDDEN[0], 0.1, 0.15))),
        "of the wrong sign": watched(truth=(Truth(HIDDEN[0], 0.1, -0.1),)),
        "untested": watched(truth=(), truth_error="RuntimeError: only once"),
        "nothing delivered": watched(truth=()),
    },
    (11, "graph_fresh"): {
        "right": watched(all_steps=once_an_epoch(nodes=24)),
        "sizes unknown": watched(),
        "stale": watched(all_steps=numbered(*once_an_epoch(1, nodes=24), *once_an_epoch(3, stale=12, nodes=36))),
        "grows": watched(all_steps=numbered(*(s for n in (24, 48, 96) for s in once_an_epoch(1, nodes=n)))),
        "no step": watched(all_steps=()),
    },
    (12, "every_epoch"): {
        "right": watched(),
        "one too few": watched(log=log(accuracy=((1, 2), (0.6, 0.8)))),
        "none": watched(log=log(accuracy=None)),
        "no event file": watched(log=NO_LOG),
        "an average": watched(log=log(accuracy=((1, 2, 3), (0.6, 0.7, 0.7667)))),
        "more points than passes": watched(log=log(accuracy=((1, 2, 3, 4), (0.6, 0.8, 0.9, 0.77)))),
        "a part of the images": watched(*epochs(theirs=range(40, 50))),
        "hidden": watched(*UNSEEN),
        "hidden and untrue": watched(*UNSEEN, log=log(accuracy=((1, 2, 3), (0.6, 0.7, 0.77)))),
        "hidden and unmeasured": watched(*UNSEEN, accuracies={}),
        "nothing recorded": watched(recorded=None),
    },
    (12, "loss_mean"): {
        "right": watched(),
        "a sum": watched(log=log(validation=((1, 2, 3), (900.0, 700.0, 600.0)))),
        "none": watched(log=log(validation=None)),
        "unmeasured": watched(losses={}),
    },
    (13, "range_training"): {
        "right": watched(),
        "bytes": watched(inputs={"train": Moments(100, 33.3, 78.6, 0.0, 255.0)}, all_steps=once_an_epoch()),
        "tiny": watched(inputs={"train": Moments(100, -0.42, 0.004, -0.42, -0.41)}),
        "not finite": watched(inputs={"train": Moments(100, *4 * [math.nan])}),
        "unseen": watched(inputs={}),
    },
    (13, "range_evaluation"): {
        "right": watched(),
        "bytes": watched(inputs={"heldout": Moments(100, 33.3, 78.6, 0.0, 255.0)}),
        "random": watched(asked={"transform_twice": {"same": False}}),
        "unseen": watched(inputs={}),
    },
    (13, "paths_alike"): {
        "right": watched(),
        "two ranges": watched(inputs={"train": Moments(100, 0.13, 0.31, 0.0, 1.0), "heldout": Moments(100, 0.0, 1.0, -0.42, 2.8)}),
        "blank": watched(inputs={"train": Moments(100, 0.0, 0.0, 0.0, 0.0), "heldout": Moments(100, 0.0, 1.0, -0.42, 2.8)}),
        "training unseen": watched(inputs={"heldout": Moments(100, 0.0, 1.0, -0.42, 2.8)}),
        "evaluation unseen": watched(inputs={"train": Moments(100, 0.0, 1.0, -0.42, 2.8)}),
    },
    (13, "grey_levels"): {
        "right": watched(),
        "black and white": watched(inputs={"heldout": Moments(100, 0.13, 0.336, 0.0, 1.0)}),
        "blank": watched(inputs={"heldout": Moments(100, 0.0, 0.0, 0.0, 0.0)}),
        "unseen": watched(inputs={}),
    },
    (14, "columns"): {
        "right": watched(),
        "two swapped": watched(confusions={"heldout": small.CONFUSION[[0, 1, 2, 8, 4, 5, 6, 7, 3, 9]]}),
        "all moved on": watched(confusions={"heldout": np.roll(small.CONFUSION, 1, axis=1)}),
        "one always taken for another": watched(confusions={"heldout": small.CONFUSION[[0, 1, 2, 8, 4, 5, 6, 7, 8, 9]]}),
        "moved, and unsure": watched(confusions={"heldout": np.full((10, 10), 7) + 30 * np.roll(np.eye(10, dtype=int), 1, axis=1)}),
        "knows nothing": watched(confusions={"heldout": np.full((10, 10), 10)}),
        "not finite": watched(confusions={}),
    },
    (15, "held_back"): {
        "right": split(),
        "nothing held back": split(*epochs(SPLIT, TESTS, size=80)),
        "two splits": split(*epochs(SPLIT, SHUFFLED, size=80)),
        "most of it trained on": split(*epochs(range(400), range(300, 700), size=80)),
        "too little": split(*epochs(range(400), range(400, 700), size=80)),
        "training accuracy measured apart": split(*also_on_training()),
        "training accuracy mixed in": split(*also_on_training(), accuracy=((1, 2, 3), (0.691, 0.846, 0.923))),
        "no training": split(*judging(HELD)),
        "nothing recorded": watched(recorded=None),
    },
    (15, "test_last"): {
        "right": split(),
        "tests decide": split(*epochs(SPLIT, TESTS, size=80)),
        "several states tried": split(*epochs(SPLIT, HELD, size=80), *judging(TESTS, right=0.8), *judging(TESTS, right=0.9)),
        "no tests": split(*epochs(SPLIT, HELD, size=80)),
        "nothing recorded": watched(recorded=None),
    },
    (15, "validation_true"): {
        "right": split(),
        "untrue": split(accuracy=((1, 2, 3), (0.6, 0.98, 0.9))),
        "none": split(accuracy=None),
        "unanswered": split(*training(SPLIT, size=80), *(replace(c, answers=None) for c in judging(HELD, step=2))),
        "nothing recorded": watched(recorded=None),
    },
    (15, "test_true"): {
        "right": split(),
        "untrue": split(test=((1,), (0.97,))),
        "none": split(test=None),
        "unmeasured": split(accuracies={}),
        "no event file": watched(log=NO_LOG),
    },
    (16, "mixed"): {
        "right": drawn(range(1000)),
        "sorted": drawn(SORTED),
        "large steps": drawn(SORTED, size=500),
        "a single stretch": drawn(range(100)),
        "unrecognised": drawn(range(1000), index=np.full(1000, -1)),
        "nothing recorded": watched(recorded=None),
    },
    (17, "layers_kept"): {
        "right": watched(),
        "no dropout": watched(asked={"modes": {"noise": 0.0, "mates": 0.2}}),
        "no batch norm": watched(asked={"modes": {"noise": 0.3, "mates": 4e-7}}),
        "raised": watched(asked={"modes": PREDICT_CRASH}),
    },
    (17, "training_mode"): {
        "right": watched(),
        "off": watched(*training(), *training(first=5, on=(), off=("bn", "drop"))),
        "one layer off": watched(*training(), *training(range(8), first=5, on=("drop",), off=("bn",))),
        "of no layer": watched(*training(on=(), training=False)),
        "many off": watched(*training(on=("x",), off=("a", "b", "c", "d", "e"))),
        "once in hundreds": watched(*training([*OURS] * 30), *training(range(8), first=150, on=(), off=("bn",))),
        "no training": watched(*judging()),
        "nothing recorded": watched(recorded=None),
    },
    (17, "evaluation_mode"): {
        "right": watched(),
        "on": watched(*epochs(), *judging(step=15, on=("bn", "drop"), off=())),
        "of no layer": watched(*judging(off=(), training=True)),
        "only training images": watched(*training(), *judging(OURS)),
        "once in hundreds": watched(*(c for step in range(75) for c in judging(step=step)), *judging(range(40, 42), step=80, on=("bn",), off=())),
        "nothing recorded": watched(recorded=None),
    },
    (18, "training_readable"): {
        "right": augmented(),
        "mirrored": augmented(ours=MIRRORED),
        "turned": augmented(ours=TURNED),
        "blank": augmented(ours=BLANK),
        "no training": augmented(*judging(REST)),
        "nothing recorded": watched(recorded=None),
    },
    (18, "validation_plain"): {
        "right": augmented(),
        "altered each time": augmented(*ANOTHER_VERSION, theirs=TWICE, index=np.r_[:660, 150:660], match=np.r_[np.ones(660), np.full(510, 0.95)]),
        "altered beyond recognition": augmented(theirs=STROKES[150:] // 2 + 60, index=odd(REST, -1, 660), match=np.r_[np.ones(150), np.full(510, 0.5)]),
        "enlarged": augmented(theirs=BLOWN_UP, match=np.r_[np.ones(150), np.full(510, 0.98)]),
        "all trained on": augmented(*epochs(PART, PART, size=50)),
        "random": augmented(asked={"transform_twice": {"same": False}}),
        "no evaluation": augmented(*training(PART)),
        "nothing recorded": watched(recorded=None),
    },
    (18, "held_back"): {
        "right": augmented(),
        "too little": augmented(*epochs(PART, range(150, 450), size=50)),
        "most of it trained on": augmented(*epochs(range(300), MINGLED[MINGLED >= 100], size=50)),
        "two splits": augmented(*epochs(PART, MINGLED, size=50)),
        "training accuracy measured apart": augmented(*also_on_training(REST, PART)),
        "all trained on": augmented(*epochs(PART, PART, size=50)),
        "nothing recorded": watched(recorded=None),
    },
    (18, "validation_true"): {
        "right": augmented(),
        "untrue": augmented(accuracy=((1, 2, 3), (0.6, 0.98, 0.9))),
        "none": augmented(accuracy=None),
        "unanswered": augmented(*training(PART), *(replace(c, answers=None) for c in judging(REST, step=9))),
        "no event file": augmented(log=NO_LOG),
    },
    (19, "own_label"): BINARY,
    (19, "loss_input"): BINARY,
    (20, "loss_true"): {
        "right": watched(),
        "clamped": lossy(value=16.1, gradient=0.0, misfit=1.0),
        "overflows": lossy(value=math.inf, gradient=math.nan, misfit=math.nan),
        "a sum": lossy(value=16000.0, gradient=8.0),
        "raised": watched(asked={"loss": LOSS_CRASH}),
        "wrong shape": watched(asked={"loss": LOSS_SHAPE}),
        "not asked": watched(asked={"loss": None}),
    },
    (20, "loss_input"): {name: LOSSES[name] for name in ("cross-entropy", "of probabilities", "unseen")},
    (20, "mistakes_count"): {
        "right": watched(),
        "the wrongest are silent": watched(all_samples=samples(lambda z, t: (softmax(z) - t) * ((softmax(z) * t).sum(1, keepdims=True) > 0.1))),
        "few": watched(all_samples=samples(count=2)),
        "unseen": watched(all_samples=()),
        "calls that cannot be told apart": watched(*epochs(), *epochs()),
        "nothing recorded": watched(recorded=None),
    },
}  # fmt: skip
NAMES = [(lesson, check, name) for (lesson, check), cases in CASES.items() for name in cases]


@cache
def given(lesson: int, check: str, name: str) -> Answer:
    item = CHECKS[lesson, check]
    return answer(item, {item.leg: CASES[lesson, check][name]}).answer


@pytest.mark.parametrize(("lesson", "check", "name"), NAMES)
def test_the_words(lesson: int, check: str, name: str, snapshot) -> None:
    assert snapshot == f"{CHECKS[lesson, check].title}\n{text(given(lesson, check, name))}"


@pytest.mark.parametrize(("lesson", "check", "name"), NAMES)
def test_what_is_right_passes_and_no_check_breaks(lesson: int, check: str, name: str) -> None:
    assert not isinstance(given(lesson, check, name), Broken)
    if name == "right":
        assert isinstance(given(lesson, check, name), Passed)
    if name == "nothing recorded" and check != "every_epoch":  # which has the log
        assert isinstance(given(lesson, check, name), Skipped)


def test_every_check_of_a_lesson_s_own_is_seen_to_pass_and_to_fail() -> None:
    own = {key for key, item in CHECKS.items() if key[0] > LAST and not shared(item)}
    kinds = {key: {type(given(*key, name)) for name in cases} for key, cases in CASES.items()}
    assert {key for key in own if not {Passed, Failed} <= kinds.get(key, set())} == set()
