"""Lesson 14: column j of the returned model's scores stands for digit j, as the app reads it. Judged from a confusion matrix of held-out images."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.evidence.view import Evidence

GAIN = 0.12
"""Most accuracy that any renaming of the columns may add.

A model whose columns are in order measures 0.000, one that knows nothing 0.06 at most (renaming fits noise); two swapped columns 0.18 and more.
"""
KNOWS = 0.5
"""A model that is right (or would be, after renaming) for half of the images tells the digits apart; below that its columns mean nothing."""


def best_naming(counts: NDArray[np.int64]) -> tuple[int, ...]:
    """The column for each digit that makes most answers right, one column a digit: the assignment problem, solved exactly over sets of columns."""
    size = len(counts)
    best: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {frozenset(): (0, ())}
    for digit in range(size):
        reached: dict[frozenset[int], tuple[int, tuple[int, ...]]] = {}
        for chosen in map(frozenset, combinations(range(size), digit + 1)):
            options = ((best[chosen - {c}][0] + int(counts[digit, c]), (*best[chosen - {c}][1], c)) for c in chosen)
            reached[chosen] = max(options, key=lambda option: option[0])
        best = reached
    return best[frozenset(range(size))][1]


@check("behaviour")
def columns(evidence: Evidence) -> Passed | Failed:
    """Score j of the returned model is the score of digit j."""
    evidence.finished()
    found = evidence.confusions.get("heldout")
    if found is None:
        msg = "the model did not answer for the held-out images"
        raise MissingEvidence(msg)
    counts = np.asarray(found, dtype=np.int64)
    total, own = int(counts.sum()), int(np.trace(counts))
    naming = best_naming(counts)
    gain = (int(counts[np.arange(len(counts)), list(naming)].sum()) - own) / total
    expected = "score j is highest for images of digit j, for all ten digits"
    step = "Print a confusion matrix of some images against their digits, read off the pictures themselves: where are the large numbers?"
    shares = counts.max(axis=1) / np.maximum(counts.sum(axis=1), 1)
    usual = counts.argmax(axis=1)
    moved = [(d, int(usual[d])) for d in range(len(counts)) if usual[d] != d and shares[d] >= KNOWS]
    knows = own / total + gain >= KNOWS
    if gain > GAIN or (knows and moved):
        pairs = ", ".join(f"{d} in column {c}" for d, c in moved) or "no digit clearly in its own column"
        renamed = f", {own + round(gain * total)} if the columns were renamed" if gain > 0 else ""
        saw = f"{pairs} ({own} of {total} images right{renamed})"
        return Failed(saw, expected, None, step, gain, GAIN)
    return Passed(f"each digit in its own column ({own} of {total} images right)" if knows else "no other order of columns fits", None, gain, GAIN)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    columns.after("output_shape"),
    expect.parameters_move,
    expect.gradient_norm(1e-5),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.7).after("output_shape"),
)
