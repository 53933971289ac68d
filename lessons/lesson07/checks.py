"""Lesson 07: pictures reach the model whole, whatever the number of channels, and predict reads one picture as the model does."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

WHOLE = 0.9
"""Least share of the rows that entered the model, in training and elsewhere, that show one picture of the data set.

Pictures with one or three channels measure 1.00, permuted from numpy's order as well; reshaped channels and channels of three pictures 0.00.
"""
FEWEST = 100
"""Rows from which a share is taken: a dry run of two or three made-up pictures proves nothing."""
AGREE = 0.98
"""Least share of held-out pictures to which predict gives the model's own answer.

A predict that asks the model measures 1.00; the nearest of 2,000 remembered pictures 0.84, unscaled pixels 0.64, always 0 about 0.10.
"""


@check("behaviour")
def pictures(evidence: Evidence) -> Passed | Failed:
    """Every row of a batch is one whole picture."""
    seen = evidence.seen
    expected = f"at least {WHOLE:.2f} of the rows that enter the model show one picture of the data set, in training and in validation"
    step = "Draw one picture as it enters the model: every channel by itself, beside the original."
    shares = {}
    for when, train in (("training", True), ("validation", False)):
        ids = [call.ids[call.ids >= 0] for call in seen.calls if call.train is train]
        rows = np.concatenate(ids) if ids else np.zeros(0, dtype=int)
        rows = rows[np.isfinite(seen.match[rows])]  # those that were compared
        if len(rows) >= FEWEST:
            shares[when] = (float((seen.index[rows] >= 0).mean()), len(rows))
    if not shares:
        msg = "no picture was seen on its way into the model"
        raise MissingEvidence(msg)
    when = min(shares, key=lambda w: shares[w][0])
    share, rows_there = shares[when]
    if share < WHOLE:
        saw = f"{share:.2f} of the {rows_there} rows that entered the model in {when} show a picture of the data set"
        return Failed(saw, expected, evidence.where_called() if when == "training" else None, step, share, WHOLE)
    return Passed(", ".join(f"{s:.2f} of {n} rows in {w}" for w, (s, n) in shares.items()), None, share, WHOLE)


@check("behaviour")
def predicts(evidence: Evidence) -> Passed | Failed:
    """Predict reads one picture as the model reads it in a batch."""
    expected = f"predict(model, image) gives a whole number from 0 to 9, the model's own answer for at least {AGREE:.2f} of held-out pictures"
    step = "Send the same picture through predict and, in a batch, through the model: print .shape of what goes in and of what comes out."
    crash = evidence.probe("predict").crash
    if crash is not None:
        where = crash.places[-1] if crash.places else None
        text = " ".join(crash.message.split())[:300]
        return Failed(text if crash.type == "ContractError" else f"predict raised {crash.type}: {text}", expected, where, step)
    seen = evidence.values("predict")
    answers, model = seen["answers"], seen["model"]
    odd = [a for a in answers if a is None or not 0 <= a <= 9]
    if odd:
        saw = f"{len(odd)} of {len(answers)} answers are no whole number from 0 to 9"
        return Failed(saw, expected, None, step, 0.0, AGREE)
    agree = float(np.mean([a == b for a, b in zip(answers, model, strict=True)]))
    if agree < AGREE:
        most = max(set(answers), key=answers.count)
        same = f"; {answers.count(most)} times it answers {most}" if answers.count(most) > len(answers) / 2 else ""
        saw = f"predict and the model agree on {agree:.2f} of {len(answers)} pictures{same}"
        return Failed(saw, expected, None, step, agree, AGREE)
    return Passed(f"the model's own answer for {agree:.2f} of {len(answers)} pictures", None, agree, AGREE)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    pictures,
    predicts.after("output_shape"),
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
