"""Lesson 05: the effective step decides. The returned model's own training stays finite, its steps stay small, its loss falls.

Restores split the training: when an exact earlier state of the weights comes back (a range test that is reset, a checkpoint), only what follows
the last one made the returned model, and must be a whole training by itself.
"""

from __future__ import annotations

import math
from statistics import median
from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge import expect
from grader.judge.check import check
from grader.judge.expect.run import EPOCH_SHARE
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from grader.evidence.records import Step
    from grader.evidence.view import Evidence

UPDATE = 0.1
"""Largest healthy median update, as a share of the weights' norm: right fixes measure 0.003 to 0.025."""
WORST = 0.5
"""Largest healthy single update after the first: right fixes measure 0.01 to 0.12 (an adaptive optimiser's first step 0.4), explosions 1 and more."""
CLIMB = 2.0
"""How far the smoothed loss may climb above its first value: right fixes stay below 1.3, clipped but undamped ones reach 20 and more."""
END = 1.0
"""Where the loss must end, in nats, for a start at ln 10: right fixes end below 0.5, dead nets at 2.3."""
SKIPS = 0.05
"""Largest share of backward passes without an update that is not regular accumulation: 0 in right fixes, 0.5 and more where batches are skipped."""


def _last_run(evidence: Evidence) -> tuple[Sequence[Step], bool]:
    """The steps that made the returned model, and whether weights were restored before them."""
    steps = evidence.steps
    back = [i for i, s in enumerate(steps[:-1]) if s.revisits is not None]
    return (steps[back[-1] + 1 :], True) if back else (steps, False)


@check("behaviour")
def finite(evidence: Evidence) -> Passed | Failed:
    """Losses, scores and weights stay finite."""
    steps, _ = _last_run(evidence)
    bad = next((s for s in steps if not s.finite), None)
    if bad is not None:
        saw = f"NaN or infinity in step {bad.index} of {steps[-1].index + 1} (loss {bad.loss})"
        step = "Find the first step with a loss that is not finite, and print the gradient norm and the weights' norm in the five steps before it."
        return Failed(saw, "finite losses, scores and weights in every step of the returned model's training", evidence.where_backward(), step)
    return Passed(f"finite in all {len(steps)} steps")


@check("behaviour")
def healthy_steps(evidence: Evidence) -> Passed | Failed:
    """The updates are small against the weights, and none is skipped or taken back."""
    steps, restored = _last_run(evidence)
    rows, images = sum(s.rows for s in steps), evidence.data.get("train", 1)
    if restored and rows < EPOCH_SHARE * images:
        saw = f"earlier weights were restored, and only {rows / images:.2f} of a pass over the images followed"
        return Failed(saw, "a whole training after the last restore", None, "Why was the restore needed? Look at the update sizes just before it.")
    known = [s.changed for s in steps if s.changed is not None]
    updates = [s.update for s in steps if s.update]
    if not updates:
        msg = "no update of the weights could be measured"
        raise MissingEvidence(msg)
    skipped = _irregular_skips(known)
    if skipped > SKIPS * len(known):
        saw = f"{skipped} of {len(known)} backward passes were followed by no update"
        return Failed(
            saw, "every backward pass counts", None, "Which batches are left out, and what do their losses look like?", skipped / len(known), SKIPS
        )
    middle, worst = median(updates), max(updates[1:], default=updates[0])
    expected = f"updates below {UPDATE:g} of the weights' norm in the median, below {WORST:g} at worst"
    if not middle < UPDATE:
        step = "Compute |w_after - w_before| / |w_before| for the first steps: how much of itself does a weight change in one step?"
        return Failed(f"a median update of {middle:.2g} of the weights' norm", expected, evidence.where_backward(), step, middle, UPDATE)
    if not worst < WORST:
        step = "Compute |w_after - w_before| / |w_before| for every step: when is it largest, and what does the loss do there?"
        return Failed(f"an update of {worst:.2g} of the weights' norm", expected, evidence.where_backward(), step, worst, WORST)
    rates = [s.lr for s in steps if s.lr is not None]
    losses = [s.loss for s in steps if s.loss is not None]
    learns = bool(losses) and sum(losses[-10:]) / len(losses[-10:]) < END / math.log(10) * losses[0]
    remark = None
    if rates and max(rates) >= 1.0 and learns:
        remark = f"a nominal rate of {max(rates):g} is odd: only what limits the step keeps it healthy"
    return Passed(f"updates of {middle:.2g} of the weights' norm in the median, {worst:.2g} at worst", remark, worst, WORST)


def _irregular_skips(changed: list[bool]) -> int:
    """Backward passes without an update, not counting the regular ones of gradient accumulation (every run of them equally long)."""
    runs: list[int] = []
    current = 0
    for moved in changed:
        if moved:
            runs.append(current)
            current = 0
        else:
            current += 1
    usual = max(set(runs), key=runs.count) if runs else 0
    if runs and runs.count(usual) >= 0.9 * len(runs):
        return sum(max(0, r - usual) for r in runs) + max(0, current - usual)
    return sum(runs) + current


@check("behaviour")
def loss_falls(evidence: Evidence) -> Passed | Failed:
    """The training loss falls, and never shoots up."""
    steps, _ = _last_run(evidence)
    losses = [s.loss for s in steps if s.loss is not None]
    if not losses:
        losses = list(evidence.scalars().series["Loss/train"].values) if "Loss/train" in evidence.scalars().series else []
    if len(losses) < 5:
        msg = "too few losses were seen"
        raise MissingEvidence(msg)
    width = max(1, len(losses) // 20)
    smooth = [sum(losses[i : i + width]) / width for i in range(0, len(losses) - width + 1, width)]
    first = max(losses[0], 1e-12)
    highest, last = max(smooth) / first, smooth[-1] / first
    expected = f"a loss that stays below {CLIMB:g} times its first value and ends below {END / math.log(10):.2f} of it"
    step = "Draw the training loss over the steps on a logarithmic scale: when does it leave the healthy curve?"
    if not highest < CLIMB:
        return Failed(f"the loss climbs to {highest:.3g} times its first value", expected, None, step, highest, CLIMB)
    if not last < END / math.log(10):
        return Failed(f"the loss ends at {last:.2f} of its first value", expected, None, step, last, END / math.log(10))
    return Passed(f"the loss ends at {last:.2f} of its first value", None, last, END / math.log(10))


CHECKS = (
    expect.finishes,
    expect.output_shape,
    expect.batch_mates.after("output_shape"),
    expect.trained_on_data,
    finite,
    healthy_steps.after("finite"),
    loss_falls.after("finite"),
    expect.parameters_move,
    expect.gradient_norm(1e-5),
    expect.log_present,
    expect.log_scalars,
    expect.log_accuracy.after("output_shape"),
    expect.accuracy(0.75).after("output_shape"),
)
