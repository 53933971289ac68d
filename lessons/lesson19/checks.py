"""Lesson 19: each image's score is pulled by its own label only, and the loss takes the score for what it is.

Judged from the scores o that the model gave in training, the gradient g that came back to them, and the labels t of the images that went in.
With p the probability (o itself where all scores lie between 0 and 1, sigmoid(o) elsewhere) and p' = dp/do:

    binary cross-entropy      g ~ (p - t) p' / (p (1 - p)),    which is sigmoid(o) - t for logits, with one factor for each label
    Brier term                g ~ (p - t) p'
    sigmoid taken twice       g ~ sigmoid(o) - t               although o is a probability
    broadcast to (N, N)       the same with the batch's mean label in t's place

A right objective is a sum of the first two with factors above 0 (and smoothed labels). (Bishop, Pattern Recognition and Machine Learning, 4.3.2.)
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.evidence.view import Evidence

    Columns = dict[str, NDArray[np.float64]]

WANTED = 7
MISFIT = 0.03
"""Largest relative distance of the gradient from the expected one.

float32 measures 1e-7, bfloat16 5e-3; a sigmoid taken twice 0.2 and more, a mean label in the place of the own one 0.15 and more.
"""
SHARPER = 20.0
"""A fault that is turned down hides below MISFIT; what gives it away is that a fit with it is exact, this many times better than one without.

Rounding (bfloat16) gets no better by more than a factor of 2.
"""
EXACT = 1e-3
SMOOTHING = 0.25
"""Most that smoothing moves a label: 0.05 for the usual 0.1."""
SMOOTHED = {"smooth": ("others", "sevens"), "smooth brier": ("brier",)}
ROWS, SEVENS = 60, 6
"""Fewest rows, and among them sevens, from which a fit is trusted: an ordinary training gives 600 and 60."""
FLOOR = 0.6
"""The least that a cross-entropy of a sigmoid's sigmoid can reach here is 0.655, with one in ten a seven; right losses end below 0.2."""


@dataclass(frozen=True)
class Rows:
    """Scores, gradients (times the rows of their batch), own labels and mean label of the batch, for every row that could be followed."""

    score: NDArray[np.float64]
    gradient: NDArray[np.float64]
    label: NDArray[np.float64]
    mean: NDArray[np.float64]

    @property
    def confined(self) -> bool:
        """Whether every score lies between 0 and 1, as a probability does."""
        return bool(self.score.min() >= 0 and self.score.max() <= 1)


def _rows(evidence: Evidence) -> Rows | None:
    """What could be followed, or None if that is too little to judge by. A sample holds the first rows of its step's one training call."""
    if not evidence.samples:
        return None
    calls: dict[int, list[NDArray[np.int64]]] = {}
    for call in evidence.seen.calls:
        if call.train:
            calls.setdefault(call.step, []).append(call.images)
    parts: list[tuple[NDArray[np.float64], ...]] = []
    for sample in evidence.samples:
        shown = calls.get(sample.step, [])
        if len(shown) != 1 or len(shown[0]) < len(sample.outputs):
            continue
        label = (evidence.seen.labels[shown[0]] == WANTED).astype(np.float64)
        o, g = (np.asarray(v, dtype=np.float64).reshape(-1) for v in (sample.outputs, sample.gradients))
        use = (shown[0][: len(o)] >= 0) & np.isfinite(o) & np.isfinite(g)
        parts.append((o[use], g[use] * len(label), label[: len(o)][use], np.full(int(use.sum()), label[shown[0] >= 0].mean() if use.any() else 0.0)))
    if not parts:
        return None
    rows = Rows(*(np.concatenate(column) for column in zip(*parts, strict=True)))
    return rows if len(rows.label) >= ROWS and rows.label.sum() >= SEVENS else None


def _sigmoid(o: NDArray[np.float64]) -> NDArray[np.float64]:
    half: NDArray[np.float64] = 0.5 * (1 + np.tanh(o / 2))
    return half


def _right(rows: Rows) -> Columns:
    """Directions that a right objective may be a sum of."""
    o, t, seven = rows.score, rows.label, rows.label == 1
    if rows.confined:
        slope, rate = 1 / np.maximum(o * (1 - o), 1e-12), np.ones_like(o)
        entropy, brier = (o - t) * slope, o - t
    else:
        p = _sigmoid(o)
        slope, rate = np.ones_like(o), p * (1 - p)
        entropy, brier = p - t, (p - t) * rate
    return {
        "others": np.where(seven, 0, entropy),
        "sevens": np.where(seven, entropy, 0),
        "brier": brier,
        "smooth": np.where(seven, slope, -slope),
        "smooth brier": np.where(seven, rate, -rate),
    }


def _twice(rows: Rows) -> Columns:
    """A sigmoid of what is a probability already, or a squared error of what is none."""
    o, t, seven = rows.score, rows.label, rows.label == 1
    if not rows.confined:
        return {"squared": o - t}
    p = _sigmoid(o)
    return {"others2": np.where(seven, 0, p - t), "sevens2": np.where(seven, p - t, 0), "brier2": (p - t) * p * (1 - p)}


def _broadcast(rows: Rows) -> Columns:
    """Every score against every label of the batch."""
    o, mean = rows.score, rows.mean
    if rows.confined:
        return {"brier*": o - mean, "entropy*": (o - mean) / np.maximum(o * (1 - o), 1e-12)}
    p = _sigmoid(o)
    return {"brier*": (p - mean) * p * (1 - p), "entropy*": p - mean}


def _faults(rows: Rows) -> Columns:
    """Both at once."""
    o, mean = rows.score, rows.mean
    p = _sigmoid(o)
    both = {"entropy2*": p - mean, "brier2*": (p - mean) * p * (1 - p)} if rows.confined else {"squared*": o - mean}
    return _right(rows) | _twice(rows) | _broadcast(rows) | both


def _fit(rows: Rows, columns: Columns) -> tuple[float, dict[str, float]]:
    """The misfit of the best sum of columns with factors of at least 0, and the factors."""
    g = rows.gradient
    weight = 1 / (np.abs(g) + 0.05 * np.quantile(np.abs(g), 0.9) + 1e-30)
    names = [name for name, column in columns.items() if np.abs(column).max() > 0]
    best: tuple[float, dict[str, float]] = (math.inf, {})
    for size in range(1, min(len(names), 5) + 1):
        for chosen in itertools.combinations(names, size):
            matrix = np.stack([columns[name] * weight for name in chosen], axis=1)
            unit = np.linalg.norm(matrix, axis=0)
            factors = np.linalg.lstsq(matrix / unit, g * weight, rcond=1e-10)[0] / unit
            found = dict(zip(chosen, factors.tolist(), strict=True))
            if (factors < 0).any() or any(found.get(s, 0.0) > SMOOTHING * sum(found.get(n, 0.0) for n in of) for s, of in SMOOTHED.items()):
                continue
            apart = np.abs(g * weight - matrix @ factors)
            misfit = max(float(np.quantile(apart[rows.label == kind], 0.9)) for kind in (0, 1))  # sevens are few, and count as much
            if misfit < 0.8 * best[0] and misfit < best[0] - 1e-4:  # one column more must be worth it
                best = (misfit, found)
    return best


def _fits(rows: Rows) -> tuple[float, float, float]:
    """Misfits of a right objective, of one with a sigmoid taken twice, of one that broadcasts; the first and the last must hold a cross-entropy."""
    right, twice, broadcast = _right(rows), _twice(rows), _broadcast(rows)
    alone, factors = _fit(rows, right)
    if not {"others", "sevens"} <= factors.keys():
        alone = math.inf
    others, factors = _fit(rows, right | broadcast)
    if not {"others", "sevens"} <= factors.keys() and "entropy*" not in factors:
        others = math.inf
    return alone, _fit(rows, right | twice)[0], others


@check("behaviour")
def own_label(evidence: Evidence) -> Passed | Failed:
    """Each image's score is pulled by the image's own label, and by no other."""
    rows = _rows(evidence)
    expected = "a gradient for each score that depends on that score and its own label"
    if rows is None:
        return _by_log(evidence, "the gradients of this loop could not be followed row by row, so that the logged loss had to do")
    right, twice, _ = _fits(rows)
    alone = min(right, twice)
    both = alone if alone < EXACT else _fit(rows, _faults(rows))[0]
    if alone < MISFIT and both > alone / SHARPER:
        return Passed(f"true of {len(rows.label)} scores in the sampled steps, {int(rows.label.sum())} of them of sevens", None, alone, MISFIT)
    if both < 0.5 * alone:
        away = float((rows.gradient[rows.label == 1] > 0).mean())
        saw = f"the batch's mean label is in the pull on each score; {100 * away:.0f} % of the sevens in the sampled steps are pulled towards no"
        step = "Print the shapes of all that enters each term of the objective, and of the differences between scores and labels."
        return Failed(saw, expected, evidence.where_backward(), step, alone, MISFIT)
    return Passed("no trace of other images' labels", None, None, None)


@check("behaviour")
def loss_input(evidence: Evidence) -> Passed | Failed:
    """The objective is a binary cross-entropy that takes the model's scores for what they are."""
    rows = _rows(evidence)
    expected = "a cross-entropy of logits, or of probabilities, whichever the model gives (with or without the Brier term of the probability)"
    step = "Print the smallest and the largest of the scores that enter the objective, and read what each of its terms expects."
    if rows is None:
        return _by_log(evidence)
    right, twice, broadcast = _fits(rows)
    kind = "probabilities" if rows.confined else "logits"
    if right < EXACT or (right < MISFIT and min(twice, broadcast) > right / SHARPER):
        return Passed(f"a binary cross-entropy of {kind}, in {len(rows.label)} rows of the sampled steps", None, right, MISFIT)
    if broadcast < MISFIT:
        return Passed(f"a binary cross-entropy of {kind}, though with others' labels", None, broadcast, MISFIT)
    if rows.confined and (twice < MISFIT or _fit(rows, _faults(rows))[0] < MISFIT):
        saw = f"the scores lie between {rows.score.min():.2g} and {rows.score.max():.2g}, and the loss takes them for logits"
    elif twice < MISFIT:
        saw = f"a squared error takes scores from {rows.score.min():.2g} to {rows.score.max():.2g} for probabilities"
    else:
        saw = f"what comes back to the {kind} is not the gradient of a binary cross-entropy of them"
    return Failed(saw, expected, evidence.where_backward(), step, min(right, 9.99), MISFIT)


def _by_log(evidence: Evidence, remark: str | None = None) -> Passed | Failed:
    """A loop whose gradients cannot be followed row by row: its logged loss must come below what the faults allow."""
    series = evidence.scalars().series.get("Loss/validation")
    if series is None or not series.values:
        msg = "neither the gradients of the scores nor a logged validation loss could be seen"
        raise MissingEvidence(msg)
    least = min(series.values)
    if not least < FLOOR:
        saw = f"the gradients could not be followed, and the logged validation loss stays at {least:.3f}"
        return Failed(saw, f"a loss that can fall below {FLOOR:g}", None, "Overfit one batch: how low does the loss go?", least, FLOOR)
    return Passed(f"logged validation loss {least:.3f}; the gradients could not be followed", remark, least, FLOOR)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    own_label,
    loss_input,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.7).after("output_shape"),
)
