"""Lesson 11: each step's backward pass runs through its own batch, and through nothing older."""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

GROWTH = 3.0
"""Most that the graph may grow during training.

A fresh one measures 1.0 (below 2 with a term that joins later); one that is carried along grows by its own size in each step. This is the second
line: in the sampled steps a carried graph also shows its older nodes (in none of them where the state was cut off, in 8 to 18 where it was not).
"""


@check("behaviour")
def graph_fresh(evidence: Evidence) -> Passed | Failed:
    """Each backward pass runs through the graph of its own batch only."""
    expected = "a graph that begins with this step's batch, and is as large in the last step as in the first"
    step = "At the top of the loop body print .grad_fn of everything that was kept from the batch before: which of them has one?"
    steps = evidence.steps
    stale = [s for s in steps if s.stale]
    sizes = [(s.index, s.nodes) for s in steps if s.nodes]
    if stale:
        looked = max(len(sizes), len(stale))
        saw = f"in {len(stale)} of {looked} sampled steps the backward pass went on into earlier batches, first in step {stale[0].index}"
        return Failed(saw, expected, evidence.where_backward(), step, float(len(stale)), 0.0)
    if len(sizes) > 2:
        growth = sizes[-1][1] / min(size for _, size in sizes)
        if growth > GROWTH:
            saw = f"the graph of step {sizes[-1][0]} has {sizes[-1][1]} nodes, that of step {sizes[0][0]} had {sizes[0][1]}"
            return Failed(saw, expected, evidence.where_backward(), step, growth, GROWTH)
        return Passed(
            f"{len(steps)} steps, each through its own batch only; {sizes[-1][1]} nodes at the end, {sizes[0][1]} at the start", None, growth, GROWTH
        )
    return Passed(f"{len(steps)} steps, each through its own batch only")


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    graph_fresh,
    expect.none_frozen,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.6).after("output_shape"),
)
