"""Lesson 08: the loss is a cross-entropy, and the target it gets for a picture is that picture's own digit.

Read from what comes back: of a cross-entropy, the gradient with respect to the scores is softmax - target, so that its most negative entry of a
row is the class that the row was told to be. (Bishop, Pattern Recognition and Machine Learning, section 4.3.4.) The target is asked about first:
where it is one constant class, the loss soon falls to nothing, and its gradients drown in rounding before they could be read as a cross-entropy's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.seen import Call
    from grader.evidence.view import Evidence

TRUE = 0.95
"""Least share of rows whose target is the digit that the picture shows.

Right targets measure 1.00, one constant class and the labels of other rows about 0.10.
"""
CLEAR = 0.3
"""A row tells its target where one entry holds most of the negative gradient.

That is 0.5 of the absolute sum for a plain cross-entropy, 0.1 where smoothing pushes an over-confident row back.
"""
FEWEST = 30
LEARNED = 0.5
"""Least held-out accuracy that speaks for the targets where no gradient of the scores was seen: other labels than their own teach 0.1."""


@check("behaviour")
def labels_true(evidence: Evidence) -> Passed | Failed:
    """The target of every picture is its own digit."""
    seen = evidence.seen
    expected = f"for at least {TRUE:.2f} of the rows the class that the loss asks for is the digit in the picture"
    step = "Print the targets of one batch just before the loss, with shape and type, beside the digits in the pictures."
    calls: dict[int, list[Call]] = {}
    for call in seen.calls:
        if call.train:
            calls.setdefault(call.step, []).append(call)
    told: list[int] = []
    true: list[int] = []
    for sample in evidence.samples:
        of_step = calls.get(sample.step, [])
        scores = np.asarray(sample.outputs, dtype=np.float64)
        slopes = np.asarray(sample.gradients, dtype=np.float64)
        for call in of_step:
            ids = call.ids[: len(scores)]
            if len(ids) != len(scores) or (call.answers is not None and (call.answers[: len(scores)] != scores.argmax(axis=1)).any()):
                continue  # these scores are not this call's
            image = np.where(ids >= 0, seen.index[ids], -1)
            clear = -slopes.min(axis=1) > CLEAR * np.abs(slopes).sum(axis=1)
            known = (image >= 0) & clear
            told += slopes.argmin(axis=1)[known].tolist()
            true += seen.labels[image[known]].tolist()
            break
    if len(told) < FEWEST:
        learned = evidence.accuracies.get("heldout", 0.0)
        if learned >= LEARNED:
            saw = f"no gradient to read them from; but {learned:.3f} of held-out pictures are recognised, which wrong targets do not teach"
            return Passed(saw, None, learned, LEARNED)
        msg = "targets could not be read from the gradient of the scores"
        raise MissingEvidence(msg)
    share = float(np.mean(np.equal(told, true)))
    if share < TRUE:
        kinds = sorted(set(told))
        every = f"; every one of them asks for class {kinds[0]}" if len(kinds) == 1 else ""
        saw = f"of {len(told)} rows, {share:.2f} have the target that belongs to their picture{every}"
        return Failed(saw, expected, evidence.where_backward(), step, share, TRUE)
    return Passed(f"{share:.2f} of {len(told)} rows", None, share, TRUE)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    labels_true,
    expect.loss_input,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
