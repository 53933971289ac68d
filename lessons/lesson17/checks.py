"""Lesson 17: batch norm and dropout are in training mode in every training step, and in eval mode wherever the network is judged.

Judged from the calls of the model (`evidence.seen.calls`): which mode-dependent layers were on or off while which images went through. That the
layers are there at all is asked of the returned model, by what it does: two passes in training mode differ (dropout), and an answer depends on its
batch-mates (batch norm).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.seen import Call
    from grader.evidence.view import Evidence

NOISE = 1e-3
"""Least change of training-mode outputs from one pass to the next, relative to their spread: dropout of 0.1 measures 0.19, of 0.5 0.37, none 0."""
MATES = 1e-3
"""Least change of a training-mode output with its batch-mates: batch norm measures 0.17 and more, group norm 0."""
WRONG = 0.01
"""Largest share of rows that may pass in the wrong mode: 0.000 in right submissions, 0.33 and more in the exercise and its likes."""


@check("behaviour")
def layers_kept(evidence: Evidence) -> Passed | Failed:
    """Batch norm and dropout are still at work in the network."""
    seen = evidence.values("modes")
    expected = "in training mode: answers that differ from pass to pass (dropout) and with their batch-mates (batch norm)"
    step = "Put the network into training mode and give it the same batch twice: what changes? Then exchange all images of the batch but one."
    if not seen["noise"] > NOISE:
        saw = f"in training mode two passes over the same batch give the same answers (a change of {seen['noise']:.1g}): nothing is dropped"
        return Failed(saw, expected, None, step, seen["noise"], NOISE)
    if not seen["mates"] > MATES:
        saw = f"in training mode an answer does not depend on its batch-mates (a change of {seen['mates']:.1g}): no batch is normalised"
        return Failed(saw, expected, None, step, seen["mates"], MATES)
    return Passed(f"from pass to pass the answers change by {seen['noise']:.2g}, with their batch-mates by {seen['mates']:.2g}")


def _off(call: Call) -> bool:
    """Whether anything that should be in training mode is not."""
    return bool(call.off) if call.on or call.off else not call.training


def _on(call: Call) -> bool:
    """Whether anything that should be in eval mode is not."""
    return bool(call.on) if call.on or call.off else call.training


def _names(names: tuple[str, ...]) -> str:
    return ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "") if names else "the network"


@check("behaviour")
def training_mode(evidence: Evidence) -> Passed | Failed:
    """In every training step, batch norm and dropout are in training mode."""
    evidence.finished()
    calls = [call for call in evidence.seen.calls if call.train]
    if not calls:
        msg = "no call of the model belongs to a training step"
        raise MissingEvidence(msg)
    wrong = [call for call in calls if _off(call)]
    total = sum(len(call.ids) for call in calls)
    share = sum(len(call.ids) for call in wrong) / max(total, 1)
    expected = "every layer that has a mode in training mode, in all training steps of all epochs"
    if share > WRONG:
        saw = f"{len(wrong)} of {len(calls)} training calls found {_names(wrong[0].off)} in eval mode, the first of them in step {wrong[0].step}"
        step = "Print the mode of every layer (name, module.training) at the first step of each epoch. Which line ran last before it changed?"
        return Failed(saw, expected, evidence.where_called(), step, share, WRONG)
    return Passed(f"{len(calls)} training calls, {len(wrong) or 'none'} of them in eval mode", None, share, WRONG)


@check("behaviour")
def evaluation_mode(evidence: Evidence) -> Passed | Failed:
    """In every evaluation, batch norm and dropout are in eval mode."""
    evidence.finished()
    seen = evidence.seen
    calls = [call for call in seen.calls if not call.train and len(call.ids) and (call.images >= seen.train).mean() > 0.5]
    if not calls:
        msg = "no call of the model with validation images was seen"
        raise MissingEvidence(msg)
    wrong = [call for call in calls if _on(call)]
    share = sum(len(call.ids) for call in wrong) / sum(len(call.ids) for call in calls)
    expected = "every layer that has a mode in eval mode, in all evaluations from the first to the last"
    if share > WRONG:
        when = f"the first of them after {wrong[0].step} training steps"
        saw = f"{len(wrong)} of {len(calls)} calls with validation images found {_names(wrong[0].on)} in training mode, {when}"
        step = "Validate twice in a row without a training step in between: do the two results agree? Print each layer's mode right before."
        return Failed(saw, expected, None, step, share, WRONG)
    return Passed(f"{len(calls)} calls with validation images, {len(wrong) or 'none'} of them in training mode", None, share, WRONG)


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates,
    expect.trained_on_data,
    layers_kept,
    training_mode,
    evaluation_mode,
    expect.parameters_move,
    expect.gradient_norm(1e-4),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
