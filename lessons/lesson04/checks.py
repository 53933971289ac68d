"""Lesson 04: eight non-linear hidden layers or more, and a gradient that reaches every one of them from the first steps on."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence

DEPTH = 8
REACH = 1e-3
"""Least share of the output layer's gradient norm: the sigmoid net measures 1e-6 to 1e-5, fixes 0.05 and more (geometric middle: about 1e-3)."""
TRUE = 2.0
"""A true gradient measures 1.00 within a few per cent; one that was rescaled to look healthy is off by orders of magnitude."""
FIRST, OPENING = 10, 150


@check("shapes")
def depth(evidence: Evidence) -> Passed | Failed:
    """At least eight non-linear hidden layers follow one another."""
    flow = evidence.values("flow")
    expected = f"at least {DEPTH} hidden layers with weights in a row, each with a non-linearity, all of them called"
    if flow["depth"] < DEPTH:
        saw = f"{flow['depth']} non-linear hidden layer{'' if flow['depth'] == 1 else 's'} on the longest way from image to scores"
        step = "Write down the operations of one forward pass in order: which layers with weights are really called, and what stands between them?"
        return Failed(saw, expected, None, step, float(flow["depth"]), DEPTH)
    return Passed(f"{flow['depth']} hidden layers in a row", None, float(flow["depth"]), DEPTH)


def _first_norms(evidence: Evidence) -> dict[str, float | None]:
    """Median over the first steps of the gradient norm that backward delivered to each weight.

    Where branches or the output layer start at exactly zero (and their neighbours' gradients with them), the largest of the first hundred or so.
    """
    sampled = [s.gradients for s in evidence.all_steps if s.gradients]
    if not sampled:
        norms: dict[str, float | None] = evidence.values("own_gradients")["norms"]
        return norms
    opening = any(norm == 0.0 for norm in sampled[0].values())
    chosen = [s.gradients for s in evidence.all_steps[:OPENING] if s.gradients] if opening else sampled[:FIRST]
    result: dict[str, float | None] = {}
    for name in {name for gradients in chosen for name in gradients}:
        known = [g for gradients in chosen if (g := gradients.get(name)) is not None]
        result[name] = None if len(known) * 2 < len(chosen) else max(known) if opening else median(known)
    return result


@check("gradients")
def gradient_reaches(evidence: Evidence) -> Passed | Failed:
    """From the first steps on, the gradient reaches every hidden layer."""
    evidence.finished()
    flow = evidence.values("flow")
    norms = _first_norms(evidence)
    expected = f"each hidden layer's gradient norm at least {REACH:g} of the output layer's, in the first steps"
    step = "Print the gradient norm of every layer after the first backward pass, on a logarithmic scale: where does it go?"
    output = norms.get(flow["last"] or "")
    hidden = [name for name in flow["hidden"] if name in {p.name for p in evidence.parameters}]
    if output is None or not output > 0 or not hidden:
        msg = "no gradient of the output layer was seen in the first steps"
        raise MissingEvidence(msg)
    silent = [name for name in hidden if norms.get(name) is None]
    if silent:
        return Failed(f"no gradient reaches {silent[0]} in the first steps", expected, evidence.where_backward(), step, 0.0, REACH)
    ratios = {name: (norms[name] or 0.0) / output for name in hidden}
    weakest = min(ratios, key=lambda n: ratios[n])
    if not ratios[weakest] >= REACH:
        return Failed(
            f"{weakest} gets {ratios[weakest]:.1g} of the output layer's gradient norm",
            expected,
            evidence.where_backward(),
            step,
            ratios[weakest],
            REACH,
        )
    return Passed(f"weakest hidden layer {weakest} at {ratios[weakest]:.2g} of the output layer", None, ratios[weakest], REACH)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    depth,
    gradient_reaches.after("depth"),
    expect.gradient_true(TRUE, hidden=True),
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.6).after("output_shape"),
)
