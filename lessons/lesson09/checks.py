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
"""Most rows of training per picture and epoch: 1.0 where each is shown once.

A batch that is asked for again right away, as a closure does (LBFGS), counts once.
"""
SILENT = 0.03
"""Most rows of a loss whose scores get a gradient of exactly 0: shown, and nothing is learned from them.

Right repairs measure 0.000; weights of 0 for the narrow digits, or their scores detached, 0.06 to 0.08.
"""
ENOUGH = 100
"""Rows from which that share is taken."""


def _pictures_a_step(evidence: Evidence) -> list[int]:
    """Different pictures in each training step, where they were seen: one picture, repeated, is no batch."""
    try:
        calls = [call for call in evidence.seen.calls if call.train and len(call.ids)]
    except MissingEvidence:
        return []
    steps: dict[int, set[int]] = {}
    unknown: dict[int, int] = {}
    for call in calls:
        steps.setdefault(call.step, set()).update(call.ids[call.ids >= 0].tolist())
        unknown[call.step] = unknown.get(call.step, 0) + int((call.ids < 0).sum())
    return [len(ids) + unknown[step] for step, ids in steps.items()]


def _silent(evidence: Evidence) -> tuple[float, int]:
    """Of the rows that were sampled in training: the share whose scores got a gradient of exactly 0, and how many there are."""
    rows = np.array([any(row) for sample in evidence.samples for row in sample.gradients], dtype=bool)
    return (float(1.0 - rows.mean()) if len(rows) else 0.0), len(rows)


@check("behaviour")
def in_batches(evidence: Evidence) -> Passed | Failed:
    """A training step learns from a batch of several pictures."""
    evidence.finished()
    rows = _pictures_a_step(evidence) or [s.rows for s in evidence.all_steps if s.rows]
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
    once = [c for i, c in enumerate(calls) if not i or not np.array_equal(np.sort(c), np.sort(calls[i - 1]))]
    again = sum(len(c) for c in once) / max(seen.train * evidence.epochs, 1)
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
    silent, sampled = _silent(evidence)
    if sampled >= ENOUGH and silent > SILENT:
        saw = f"nothing is learned from {silent:.2f} of {sampled} sampled rows: the gradient of their scores is exactly 0"
        return Failed(saw, expected, evidence.where_backward(), "Print the loss of each picture of a batch, before the mean.", silent, SILENT)
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
