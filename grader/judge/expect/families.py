"""Which loss do these scores and the gradients that came back to them belong to?

Judged from the scores z that enter the loss and the gradient g that comes back to them. For a cross-entropy of logits, g is proportional to
softmax(z) - t, with t the (possibly smoothed) one-hot target; for the negative log-likelihood of log-probabilities, to -t; for the same of
log(z), to -t / z. (Bishop, Pattern Recognition and Machine Learning, section 4.3.4.)
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.records import LossSample

if TYPE_CHECKING:
    from numpy.typing import NDArray

MISFIT = 0.1
"""Largest relative distance of the gradient from the expected one: float32 measures 1e-6, bfloat16 1e-2, a softmax in between 0.5 and more."""
FLOOR = math.log(1 + 9 / math.e)
"""1.461: the least cross-entropy of scores confined to an interval of length 1."""
CLEAR = 0.3
"""A row tells its label where one entry holds most of the negative gradient.

That is 0.5 of the absolute sum for a plain cross-entropy, 0.1 where smoothing pushes an over-confident row back.
"""
EXACT = 0.01
"""The same where only an exact fit tells.

A binary cross-entropy of probabilities looks much like a cross-entropy of their logarithms (0.03 apart and more).
"""
SMALL = 8

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


def pooled(samples: tuple[LossSample, ...]) -> list[LossSample]:
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


def score_rows(samples: tuple[LossSample, ...]) -> NDArray[np.float64]:
    """The finite rows of every sample's scores, (rows, 10)."""
    z: NDArray[np.float64] = np.concatenate([np.asarray(s.outputs, dtype=np.float64) for s in samples])
    return z[np.isfinite(z).all(axis=1)]


def row_sum(z: NDArray[np.float64]) -> float | None:
    """The constant row sum of non-negative scores (1 for probabilities), or None."""
    sums = z.sum(axis=1)
    if len(z) and z.min() > -1e-6 and sums.std() < 1e-3 * max(sums.mean(), 1e-6):
        return float(sums.mean())
    return None


def normalised(z: NDArray[np.float64]) -> bool:
    """Whether every row is of log-probabilities already."""
    top = z.max(axis=1)
    return bool(np.abs(np.log(np.exp(z - top[:, None]).sum(axis=1)) + top).max() < 1e-3)
