"""Lesson 20: the hand-written loss is the cross-entropy for scores of any size, and in training every wrongly answered image has a say.

Judged by putting scores from moderate to extreme into `loss` and comparing its value with the true cross-entropy, its gradient with
softmax(z) - onehot(t); and from the gradients that came back to the scores in the script's own training.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.evidence.records import LossSample
    from grader.evidence.view import Evidence

MISFIT = 0.05
"""Largest relative distance of value or gradient from the true ones.

Right losses measure 3e-8 to 4e-6, a clamp or an added epsilon 1.0 in one of the cases, log(0) infinity.
"""
NOTHING = 1e-6
"""A gradient norm that counts as none: where the loss is sure and right there is nothing to pull at."""
SILENT = 0.01
"""Largest share of wrongly answered images without a gradient.

Right losses measure 0; a clamp for training only, or the worst rows trimmed, 0.21 to 0.47 over six seeds (an epsilon or a clamp in the loss itself,
which loss_true has found already, 0.003 to 0.03).
"""
SURE_WRONG = 0.5
QUIET = 0.02
"""A row is silent below this share of the gradient that its answer calls for."""
ENOUGH = 20


def _off(case: dict[str, Any]) -> float:
    """Relative distance from the true loss and the true gradient, whichever is larger; infinity where one is not finite."""
    value, true, size, wanted = (float(case[k]) for k in ("value", "true", "gradient", "true_gradient"))
    if not (math.isfinite(value) and math.isfinite(size)):
        return math.inf
    off = abs(value - true) / max(abs(true), 0.1)
    if wanted < NOTHING:
        return max(off, size)
    return max(off, float(case["misfit"]), abs(size / wanted - 1))


def _told(case: dict[str, Any]) -> str:
    value, true, size, wanted = (float(case[k]) for k in ("value", "true", "gradient", "true_gradient"))
    return f"for scores that are {case['name']}, loss gives {value:.4g} and a gradient of norm {size:.2g} (true: {true:.4g} and {wanted:.2g})"


@check("behaviour")
def loss_true(evidence: Evidence) -> Passed | Failed:
    """The loss is the cross-entropy, with its gradient, for scores of any size."""
    expected = "the mean cross-entropy and its gradient, softmax(scores) - onehot(targets) over the number of rows, however large the scores are"
    step = "Call loss with one row of ten scores in which the right one lags by 20, 110, 1000: print the value and the gradient of each."
    crash = evidence.probe("loss").crash
    if crash is not None:
        where = crash.places[-1] if crash.places else None
        text = " ".join(crash.message.split())[:200]
        return Failed(text if crash.type == "ContractError" else f"loss raised {crash.type}: {text}", expected, where, step)
    cases = evidence.values("loss")["cases"]
    worst = max(cases, key=_off)
    off = _off(worst)
    if not off < MISFIT:
        return Failed(_told(worst), expected, None, step, off, MISFIT)
    return Passed(f"right in value and gradient for {len(cases)} kinds of scores, from moderate to very far apart", None, off, MISFIT)


def _labels(evidence: Evidence, sample: LossSample) -> NDArray[np.int64] | None:
    """The digits of a sample's rows (-1: not recognised): it holds the first rows of the step's one training call."""
    calls = [c for c in evidence.seen.calls if c.train and c.step == sample.step]
    if len(calls) != 1 or len(calls[0].images) < len(sample.outputs):
        return None
    shown = calls[0].images[: len(sample.outputs)]
    return np.where(shown >= 0, evidence.seen.labels[shown].astype(np.int64), -1)


@check("behaviour")
def mistakes_count(evidence: Evidence) -> Passed | Failed:
    """In training, every wrongly answered image pulls at the model."""
    wrong = silent = 0
    for sample in evidence.samples:
        label = _labels(evidence, sample)
        if label is None:
            continue
        z, g = np.asarray(sample.outputs, dtype=np.float64), np.asarray(sample.gradients, dtype=np.float64)
        use = (label >= 0) & np.isfinite(z).all(axis=1) & np.isfinite(g).all(axis=1)
        z, g, label = z[use], g[use], label[use]
        if not len(z):
            continue
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        call = np.linalg.norm(p - np.eye(10)[label], axis=1)
        answer = np.linalg.norm(g, axis=1)
        unit = float(np.median(answer / np.maximum(call, 1e-12)))
        missed = p[np.arange(len(z)), label] < SURE_WRONG
        wrong += int(missed.sum())
        silent += int((missed & (answer < QUIET * unit * call)).sum())
    if wrong < ENOUGH:
        seen = f"{wrong} wrongly answered training images could be followed: too few to judge by"
        return Passed(seen, None if wrong else "the gradients of this loop come back where they cannot be seen")
    share = silent / wrong
    if not share < SILENT:
        saw = f"of {wrong} images that the model got wrong in the sampled steps, {silent} sent back no gradient"
        step = "Take a batch from early in training and print, row by row, the right digit's probability beside the gradient of its scores."
        return Failed(saw, "the more wrong an answer, the stronger its gradient", evidence.where_backward(), step, share, SILENT)
    return Passed(f"{wrong} wrong answers followed, {silent} of them without a gradient", None, share, SILENT)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    loss_true,
    expect.loss_input.after("loss_true"),
    mistakes_count.after("loss_true"),
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.5).after("output_shape"),
)
