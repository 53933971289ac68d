"""Lesson 10: the backward pass runs, and what it delivers is the slope of the loss, with respect to every weight."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

BAND = 1.25
"""Largest factor between the measured slope and the delivered one, either way.

A true gradient measures 0.999 to 1.000. One that was cut or falsified on its way through the memory is off by a factor of 1.6 and more for some
weight: 0.001 where only the last strip counts, 0.38 or 1.9 with overwritten numbers, 1.6 where one of two ways back is cut. 1.25 is the middle
of the logarithms.
"""


@check("gradients")
def none_frozen(evidence: Evidence) -> Passed | Failed:
    """No weight that the forward pass uses is left out of the training."""
    used = [p for p in evidence.parameters if p.called and len(p.shape) > 1]
    frozen = [p.name for p in used if not p.trainable and not (p.moved or 0.0) > 0.0]
    if frozen:
        saw = f"{', '.join(frozen[:3])} {'takes' if len(frozen) == 1 else 'take'} no gradient (requires_grad is False) and never moved"
        step = "List name, shape and requires_grad of model.named_parameters()."
        return Failed(saw, "every weight that the forward pass uses receives gradient and moves", None, step)
    return Passed(f"{len(used)} weights, none of them frozen")


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    expect.gradient_true(BAND),
    none_frozen,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.6).after("output_shape"),
)
