"""Lesson 03: the training loss is a cross-entropy of what it takes for logits (or log-probabilities), and the scores are free to spread."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from grader.judge import expect
from grader.judge.check import check
from grader.judge.expect.families import LOG, family, row_sum, score_rows
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

MOST_FLOOR = 0.02
"""The floor under the loss that is no matter: a spread of 6 leaves 0.022."""
GROWTH = 2.0
"""Scores that may spread grow tenfold with a tenfold output layer; a softmax, sigmoid or tanh grows by less than 1.1."""


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
    rows = score_rows(evidence.samples) if evidence.samples else np.zeros((0, 10))
    trained = float(np.ptp(rows, axis=1).max()) if len(rows) else 0.0
    elsewhere = len(rows) > 0 and (trained > 1.2 * seen["widest"] or (row_sum(rows) is None and seen["low"] > -1e-6 and seen["sum_std"] < 1e-3))
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
    if remark is None and heldout is not None and row_sum(heldout.astype(np.float64)) is not None and not log_of_output:
        remark = "in eval mode the model returns probabilities: fine for reading, but keep them away from a loss"
    return Passed(f"spread {spreads[0]:.2g}, free to grow", remark, None if math.isinf(growth) else growth, GROWTH)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    expect.loss_input,
    logit_range.after("loss_input"),
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
