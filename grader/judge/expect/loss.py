"""Is the training loss a ten-class cross-entropy of what it takes for logits, or for log-probabilities?"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grader.judge.check import check
from grader.judge.expect.families import CE, FLOOR, LOG, MISFIT, NLL_RAW, OTHER, family, normalised, pooled, row_sum, score_rows
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

TINY = 1e-12


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
    judged = [(name, misfit) for name, misfit in map(family, pooled(samples)) if not math.isnan(misfit)]
    names = [name if misfit < MISFIT else OTHER for name, misfit in judged]
    if not names and not any(s.loss is not None for s in evidence.all_steps):
        return _by_curve(evidence, expected, step)
    if not names:
        saw = f"in none of {len(samples)} sampled steps is what comes back to the scores the gradient of a cross-entropy of them"
        return Failed(saw, expected, evidence.where_backward(), step)
    wrong = [n for n in names if n in (OTHER, NLL_RAW)]
    misfit = float(np.quantile([m for _, m in judged], 0.8))
    total = row_sum(score_rows(samples))
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
    elif main == CE and normalised(score_rows(samples)):
        remark = "log-probabilities go into a cross-entropy that takes logits: harmless, since a second log_softmax changes nothing"
    return Passed(f"{main}, in {len(names)} sampled steps", remark, misfit, MISFIT)


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
    told, true = late / max(train.values[0], TINY), sum(seen[-part:]) / part / max(seen[0], TINY) if seen else math.nan
    if len(seen) >= 2 * part and not 1 / 1.5 < max(told, TINY) / max(true, TINY) < 1.5:
        saw = f"the logged loss falls to {told:.2f} of its first value, the one that backward started from to {true:.2f}"
        return Failed(saw, expected, evidence.where_backward(), step)
    nearest = min(validation.values, key=lambda v: abs(v - measured))
    if not late < FLOOR - 0.2 or not abs(nearest - measured) <= 0.1 + 0.25 * measured:
        ends = f"{late:.2f} (training) and {validation.values[-1]:.2f} (validation)"
        saw = f"the logged losses end at {ends}; the returned scores' cross-entropy is {measured:.2f}"
        return Failed(saw, expected, None, step)
    return Passed(f"logged validation loss {nearest:.3f}, cross-entropy of the returned scores {measured:.3f}")
