"""Lesson 09: real batches, and every training picture in them, whole, once an epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

ROWS = 2.0
"""Least mean number of rows a training step: ordinary batches measure 32 and more, a batch size of one 1.0."""
EVERY = 0.97
"""Least number of different pictures among what the model is trained on, as a share of the training pictures.

Right repairs measure 0.998 (the last, smaller batch dropped) to 1.000; the narrow digits left out 0.93, one picture repeated for many 0.10.
"""
KNOWN = 0.9
"""Least share of the rows in training that are recognised as a picture of the data set.

Padded pictures measure 1.00, stretched ones 0.97; pixels written end to end 0.13, blank pictures for odd sizes 0.11, strokes 0.02.
"""
SHOWN = 0.85
"""Least share of the training pictures that are recognised, each by itself.

Stretched crops measure 0.95, as the box around the ink leaves little to tell one 1 from another.
"""
AGAIN = 1.2
"""Most rows of training per picture and epoch: 1.0 where each is shown once."""


@check("behaviour")
def in_batches(evidence: Evidence) -> Passed | Failed:
    """A training step learns from a batch of several pictures."""
    evidence.finished()
    rows = [s.rows for s in evidence.all_steps if s.rows] or [len(call.ids) for call in evidence.seen.calls if call.train and len(call.ids)]
    expected = f"on average at least {ROWS:g} pictures a step"
    step = "Print the batch's shape in the loop: the first number is the batch."
    if not rows:
        msg = "the rows of a step could not be counted"
        raise MissingEvidence(msg)
    mean = float(np.mean(rows))
    if mean < ROWS:
        saw = (
            f"{len(rows)} steps of {mean:.1f} pictures on average"
            if max(rows) > 1
            else f"{len(rows)} steps of 1 picture: nothing was ever put together"
        )
        return Failed(saw, expected, evidence.where_called(), step, mean, ROWS)
    return Passed(f"{len(rows)} steps of {mean:.1f} pictures on average", None, mean, ROWS)


@check("behaviour")
def every_picture(evidence: Evidence) -> Passed | Failed:
    """Every training picture is shown once an epoch, recognisably."""
    seen = evidence.seen
    calls = [call.ids for call in seen.calls if call.train]
    ids = np.concatenate(calls) if calls else np.zeros(0, dtype=np.int64)
    kept = ids[ids >= 0]
    compared = kept[np.isfinite(seen.match[kept])]
    if not len(compared):
        msg = "no picture was seen on its way into the model"
        raise MissingEvidence(msg)
    expected = f"each of the {seen.train} training pictures about once an epoch, whole enough to be recognised"
    count = "Count, over one epoch, how often each index of the data set is asked for, and how many pictures reach the model."
    draw = "Draw one batch as it enters the model: is each picture still there, and whole?"
    again = len(ids) / max(seen.train * evidence.epochs, 1)
    different = len(np.unique(kept)) / max(seen.train, 1)
    image = seen.index[compared]
    known = float((image >= 0).mean())
    shown = np.unique(image[(image >= 0) & (image < seen.train)])
    place = evidence.where_called()
    if known < KNOWN:
        saw = f"only {known:.2f} of {len(ids)} rows in training show a picture of the data set"
        return Failed(saw, expected, place, draw, known, KNOWN)
    if different < EVERY:
        saw = f"{len(ids)} rows in training, and only {len(np.unique(kept))} different pictures among them, of {seen.train}"
        left_out = seen.labels[np.setdiff1d(np.arange(seen.train), shown)]
        if len(left_out):
            most = int(np.bincount(left_out, minlength=10).argmax())
            part = (left_out == most).mean()
            saw += f"; {part:.2f} of those never shown show the digit {most}" if part > 0.5 else ""
        return Failed(saw, expected, place, count, different, EVERY)
    share = len(shown) / max(seen.train, 1)
    if share < SHOWN:
        return Failed(f"only {len(shown)} of the {seen.train} training pictures were recognised", expected, place, count, share, SHOWN)
    if again > AGAIN:
        return Failed(f"{again:.2f} rows a picture and epoch", expected, place, count, again, AGAIN)
    return Passed(f"{len(ids)} rows, {different:.3f} of the pictures different, {known:.2f} recognised", None, different, EVERY)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    in_batches,
    every_picture,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
