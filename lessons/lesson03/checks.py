"""Lesson 03: the training loss is a cross-entropy of what it takes for logits (or log-probabilities), and the scores are free to spread.

Judged from the scores z that enter the loss and the gradient g that comes back to them. For a cross-entropy of logits, g is proportional to
softmax(z) - t, with t the (possibly smoothed) one-hot target; for the negative log-likelihood of log-probabilities, to -t; for the same of
log(z), to -t / z. (Bishop, Pattern Recognition and Machine Learning, section 4.3.4.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.records import LossSample
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from grader.evidence.view import Evidence

MISFIT = 0.1
"""Largest relative distance of the gradient from the expected one: float32 measures 1e-6, bfloat16 1e-2, a softmax in between 0.5 and more."""
FLOOR = math.log(1 + 9 / math.e)
"""1.461: the least cross-entropy of scores confined to an interval of length 1."""
MOST_FLOOR = 0.02
CLEAR = 0.3
"""A row tells its label where one entry holds most of the negative gradient.

That is 0.5 of the absolute sum for a plain cross-entropy, 0.1 where smoothing pushes an over-confident row back.
"""
EXACT = 0.01
"""The same where only an exact fit tells.

A binary cross-entropy of probabilities looks much like a cross-entropy of their logarithms (0.03 apart and more).
"""
SMALL = 8
GROWTH = 2.0
"""Scores that may spread grow tenfold with a tenfold output layer; a softmax, sigmoid or tanh grows by less than 1.1."""

CE, NLL, LOG = "a cross-entropy of scores", "a negative log-likelihood of log-probabilities", "a negative log-likelihood of the log of the outputs"
NLL_RAW = "a negative log-likelihood without any logarithm"
OTHER = "no cross-entropy"


def _misfit(g: NDArray[np.float64], d: NDArray[np.float64], label: NDArray[np.int64]) -> float:
    """How badly rows of g are positive multiples of rows of d, one factor a class (class weights)."""
    size = np.linalg.norm(d, axis=1)
    use = size > 1e-3
    if use.sum() < 4:
        return math.nan
    g, d, label, size = g[use], d[use], label[use], size[use]
    factor = (g * d).sum(axis=1) / size**2
    apart = np.linalg.norm(g - factor[:, None] * d, axis=1) / np.maximum(np.linalg.norm(g, axis=1), 1e-300)
    if (factor <= 0).any():
        return math.inf
    spread = max(float(np.ptp(factor[label == k]) / factor[label == k].mean()) for k in np.unique(label))
    return max(float(np.quantile(apart, 0.9)), spread / 3)


def family(sample: LossSample) -> tuple[str, float]:
    """Which loss these scores and gradients belong to, and the misfit."""
    z, g = np.asarray(sample.outputs, dtype=np.float64), np.asarray(sample.gradients, dtype=np.float64)
    fine = np.isfinite(z).all(axis=1) & np.isfinite(g).all(axis=1) & (np.abs(g).max(axis=1) > 0)
    z, g = z[fine], g[fine]
    if len(z) < 4:
        return OTHER, math.nan
    label = g.argmin(axis=1)
    clear = -g[np.arange(len(g)), label] > CLEAR * np.abs(g).sum(axis=1)
    z, g, label = z[clear], g[clear], label[clear]
    if len(z) < 4:
        return OTHER, math.nan
    onehot = np.eye(10)[label]
    p = np.exp(z - z.max(axis=1, keepdims=True))
    p /= p.sum(axis=1, keepdims=True)
    best = (OTHER, math.inf)
    slope, intercept = np.polyfit(p[onehot == 0], g[onehot == 0], 1) if np.ptp(p[onehot == 0]) > 0 else (0.0, 0.0)
    fitted = min(max(-10 * intercept / slope, 0.0), 0.5) if slope > 0 else 0.0  # off the label, g = w (p - smoothing / 10)
    off = (onehot == 0) & (g > 0)  # a constant factor s on the scores (temperature): off the label, log g = s z + const in each row
    centre = [(z[i][m] - z[i][m].mean(), np.log(g[i][m]) - np.log(g[i][m]).mean()) for i, m in enumerate(off) if m.sum() > 2]
    across = sum(float(a @ a) for a, _ in centre)
    scale = sum(float(a @ b) for a, b in centre) / across if across > 0 else 0.0
    scaled = np.exp(scale * (z - z.max(axis=1, keepdims=True)))
    scaled /= scaled.sum(axis=1, keepdims=True)
    for smooth in (0.0, 0.05, 0.1, 0.2, fitted):
        target = (1 - smooth) * onehot + smooth / 10
        candidates = [(CE, p - target), (NLL, -target)]
        if (z > 0).all():
            candidates.append((LOG, -target / z))
            of_log = _misfit(g, 1 / z.sum(axis=1, keepdims=True) - target / z, label)  # a cross-entropy of log(z)
            if of_log < EXACT:
                best = min(best, (LOG, of_log), key=lambda item: item[1])
        if scale > 0 and not 0.9 < scale < 1.1:
            candidates.append((CE, scaled - target))
        for name, direction in candidates:
            misfit = _misfit(g, direction, label)
            if misfit < best[1]:
                best = (name, misfit)
    if best[0] == NLL and np.abs(np.log(np.exp(z - z.max(axis=1, keepdims=True)).sum(axis=1)) + z.max(axis=1)).max() > 0.05:
        return NLL_RAW, best[1]
    return best


def _pooled(samples: tuple[LossSample, ...]) -> list[LossSample]:
    """Samples of tiny batches, put together until there are rows enough to judge (each scaled by its rows, as a mean loss divides by them)."""
    pooled: list[LossSample] = []
    for sample in samples:
        size = len(sample.outputs)
        if size < SMALL and pooled and len(pooled[-1].outputs) < 2 * SMALL:
            scaled = tuple(tuple(v * size for v in row) for row in sample.gradients)
            pooled[-1] = LossSample(pooled[-1].step, pooled[-1].outputs + sample.outputs, pooled[-1].gradients + scaled)
        elif size < SMALL:
            pooled.append(LossSample(sample.step, sample.outputs, tuple(tuple(v * size for v in row) for row in sample.gradients)))
        else:
            pooled.append(sample)
    return pooled


def _rows(samples: tuple[LossSample, ...]) -> NDArray[np.float64]:
    z = np.concatenate([np.asarray(s.outputs, dtype=np.float64) for s in samples])
    return z[np.isfinite(z).all(axis=1)]


def _probabilities(z: NDArray[np.float64]) -> float | None:
    """The constant row sum of non-negative scores (1 for probabilities), or None."""
    sums = z.sum(axis=1)
    if len(z) and z.min() > -1e-6 and sums.std() < 1e-3 * max(sums.mean(), 1e-6):
        return float(sums.mean())
    return None


@check("behaviour")
def loss_input(evidence: Evidence) -> Passed | Failed:
    """The training loss is a cross-entropy of logits or of log-probabilities."""
    expected = "the loss receives logits (cross-entropy) or log-probabilities (negative log-likelihood)"
    step = (
        "Look at one batch of what the loss receives: smallest value, largest, the sum of each row; then read what the loss's documentation expects."
    )
    samples = evidence.samples
    if not samples:
        return _by_curve(evidence, expected, step)
    judged = [(name, misfit) for name, misfit in map(family, _pooled(samples)) if not math.isnan(misfit)]
    names = [name if misfit < MISFIT else OTHER for name, misfit in judged]
    if not names and not any(s.loss is not None for s in evidence.all_steps):
        return _by_curve(evidence, expected, step)
    if not names:
        saw = f"what comes back to the scores is not the gradient of a cross-entropy of them, in none of {len(samples)} sampled steps"
        return Failed(saw, expected, evidence.where_backward(), step)
    wrong = [n for n in names if n in (OTHER, NLL_RAW)]
    misfit = float(np.quantile([m for _, m in judged], 0.8))
    total = _probabilities(_rows(samples))
    main = max(set(names), key=names.count)
    if total is not None and main == CE:
        saw = f"the loss takes its input for logits, and receives rows of non-negative numbers that sum to {total:.3f}"
        return Failed(saw, expected, evidence.where_backward(), step, misfit, MISFIT)
    if total is not None and main == NLL_RAW:
        saw = f"the loss takes its input for log-probabilities, and receives rows of non-negative numbers that sum to {total:.3f}: it is negative"
        return Failed(saw, expected, evidence.where_backward(), step, misfit, MISFIT)
    if len(wrong) > 0.2 * len(names):
        name = NLL_RAW if wrong.count(NLL_RAW) > len(wrong) / 2 else OTHER
        saw = (
            "the loss takes its input for log-probabilities, and receives something else"
            if name == NLL_RAW
            else f"what comes back to the scores is not the gradient of a cross-entropy of them (in {len(wrong)} of {len(names)} sampled steps)"
        )
        return Failed(saw, expected, evidence.where_backward(), step, misfit, MISFIT)
    remark = None
    if main == LOG:
        remark = "the log of probabilities loses precision where they are near 0: log_softmax of the scores is safer"
    elif main == CE and _normalised(_rows(samples)):
        remark = "log-probabilities go into a cross-entropy that takes logits: harmless, since a second log_softmax changes nothing"
    return Passed(f"{main}, in {len(names)} sampled steps", remark, misfit, MISFIT)


def _normalised(z: NDArray[np.float64]) -> bool:
    top = z.max(axis=1)
    return bool(np.abs(np.log(np.exp(z - top[:, None]).sum(axis=1)) + top).max() < 1e-3)


def _by_curve(evidence: Evidence, expected: str, step: str) -> Passed | Failed:
    """A loop whose backward pass cannot be seen: the logged losses must be the cross-entropy that the returned scores really have."""
    log = evidence.scalars()
    train, validation = log.series.get("Loss/train"), log.series.get("Loss/validation")
    measured = evidence.losses.get("validation", math.nan)
    if train is None or validation is None or not train.values:
        return Failed("neither a backward pass nor a logged loss could be seen", expected, None, step)
    part = max(5, len(train.values) // 10)
    late = sum(train.values[-part:]) / len(train.values[-part:])
    seen = [s.loss for s in evidence.all_steps if s.loss is not None]
    if len(seen) >= 2 * part and not 1 / 1.5 < (late / train.values[0]) / (sum(seen[-part:]) / part / seen[0]) < 1.5:
        told, true = late / train.values[0], sum(seen[-part:]) / part / seen[0]
        saw = f"the logged loss falls to {told:.2f} of its first value, the one that backward started from to {true:.2f}"
        return Failed(saw, expected, evidence.where_backward(), step)
    nearest = min(validation.values, key=lambda v: abs(v - measured))
    if not late < FLOOR - 0.2 or not abs(nearest - measured) <= 0.1 + 0.25 * measured:
        ends = f"{late:.2f} (training) and {validation.values[-1]:.2f} (validation)"
        saw = f"the logged losses end at {ends}; the returned scores' cross-entropy is {measured:.2f}"
        return Failed(saw, expected, None, step)
    return Passed(f"logged validation loss {nearest:.3f}, cross-entropy of the returned scores {measured:.3f}")


@check("behaviour")
def logit_range(evidence: Evidence) -> Passed | Failed:
    """The scores that training sees are free to spread."""
    seen = evidence.values("amplify")
    expected = "scores whose spread has no limit (the loss can come near 0)"
    step = "Print the smallest and the largest score of a training batch, early and late: is there a wall?"
    families = [family(s)[0] for s in evidence.samples]
    log_of_output = bool(families) and families.count(LOG) > len(families) / 2
    spreads = seen["spreads"]
    growth = spreads[2] / spreads[1] if math.isfinite(spreads[2]) and spreads[1] > 0 else math.inf
    floor = math.log(1 + 9 * math.exp(-min(seen["widest"], 700.0))) if math.isfinite(seen["widest"]) else 0.0
    remark = None
    rows = _rows(evidence.samples) if evidence.samples else np.zeros((0, 10))
    trained = float(np.ptp(rows, axis=1).max()) if len(rows) else 0.0
    elsewhere = len(rows) > 0 and (
        trained > 1.2 * seen["widest"] or (_probabilities(rows) is None and seen["low"] > -1e-6 and seen["sum_std"] < 1e-3)
    )
    if elsewhere:
        remark = "the returned model gives other scores than the loss received in training: keep probabilities away from a loss"
    if not elsewhere and not log_of_output and seen["lse"] > 0.05:
        constant = seen["sum_std"] < 1e-3 * max(spreads[0], 1e-6)
        if constant and seen["low"] > -1e-6:
            saw = f"in training mode every row of scores is non-negative and sums to {seen['sum_mean']:.3f}"
            return Failed(saw, expected, evidence.where_called(), step, growth, GROWTH)
        if growth < GROWTH and (constant or floor > MOST_FLOOR):
            wall = f"the scores spread by no more than {seen['widest']:.2f}"
            saw = f"however strongly the output layer drives them, {wall}, so the loss cannot fall below {floor:.3f}"
            return Failed(saw, expected, evidence.where_called(), step, growth, GROWTH)
    heldout = evidence.logits.get("heldout")
    if remark is None and heldout is not None and _probabilities(heldout.astype(np.float64)) is not None and not log_of_output:
        remark = "in eval mode the model returns probabilities: fine for reading, but keep them away from a loss"
    return Passed(f"spread {spreads[0]:.2g}, free to grow", remark, None if math.isinf(growth) else growth, GROWTH)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    loss_input,
    logit_range.after("loss_input"),
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
