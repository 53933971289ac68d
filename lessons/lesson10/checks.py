"""Lesson 10: the backward pass runs, and what it delivers is the slope of the loss, with respect to every weight."""

from __future__ import annotations

from grader.judge import expect

BAND = 1.25
"""Largest factor between the measured slope and the delivered one, either way.

A true gradient measures 0.999 to 1.000. One that was cut or falsified on its way through the memory is off by a factor of 1.6 and more for some
weight: 0.001 where only the last strip counts, 0.38 or 1.9 with overwritten numbers, 1.6 where one of two ways back is cut. 1.25 is the middle
of the logarithms.
"""


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    expect.gradient_true(BAND),
    expect.none_frozen,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.6).after("output_shape"),
)
