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
"""Largest cross-entropy of the returned model, in nats: right fixes measure 0.2 to 0.6, dead nets 2.3 (Adam at rate 1: 1.4 and more)."""
FROZEN = 0.1
SKIPS = 0.05
"""Largest share of backward passes without an update that is not regular accumulation: 0 in right fixes, 0.5 and more where batches are skipped."""


def _restores(steps: Sequence[Step]) -> list[int]:
    """Positions at which a training begins anew: an exact earlier state has come back, or weights were made anew outside a step."""
    back = {i + 1 for i, s in enumerate(steps[:-1]) if s.revisits is not None}
    return sorted(back | {i for i, s in enumerate(steps) if s.jump is not None and i})


def _last_run(evidence: Evidence) -> Sequence[Step]:
    """The steps that made the returned model: those after the last restore if they are a whole training by themselves, else all."""
    steps = evidence.steps
    begins = _restores(steps)
    last = steps[begins[-1] :] if begins else steps
    return last if sum(s.rows for s in last) >= EPOCH_SHARE * evidence.data.get("train", 1) else steps


def _by_log(evidence: Evidence) -> bool:
    """Whether the steps themselves could not be seen (a backward pass written by hand), so that the log must do."""
    evidence.finished()
    return not evidence.all_steps and evidence.plain_rows > 0


@check("behaviour")
def finite(evidence: Evidence) -> Passed | Failed:
    """Losses, scores and weights stay finite."""
    if _by_log(evidence):
        return _finite_by_log(evidence)
    steps = _last_run(evidence)
    bad = next((s for s in steps if not s.finite), None)
    if bad is not None:
        saw = f"NaN or infinity in step {bad.index} of {steps[-1].index + 1} (loss {bad.loss})"
        step = "Find the first step with a loss that is not finite, and print the gradient norm and the weights' norm in the five steps before it."
        return Failed(saw, "finite losses, scores and weights in every step of the returned model's training", evidence.where_backward(), step)
    return Passed(f"finite in all {len(steps)} steps")


@check("behaviour")
def healthy_steps(evidence: Evidence) -> Passed | Failed:
    """The updates are small against the weights, and none is skipped or taken back."""
    if _by_log(evidence):
        return Passed("steps written by hand, judged by their loss", "the updates of a hand-written backward pass could not be measured")
    steps = _last_run(evidence)
    restores = len(_restores(steps))
    if restores > SKIPS * len(steps):
        saw = f"the weights were taken back or made anew {restores} times in {len(steps)} steps"
        return Failed(
            saw, "a training that needs no taking back", None, "Look at the update sizes just before a restore.", restores / len(steps), SKIPS
        )
    rows, dropped = sum(s.rows for s in steps), sum(s.dropped for s in steps)
    if dropped > SKIPS * (rows + dropped):
        saw = f"{dropped} of {rows + dropped} images went through the model in training and into no backward pass"
        return Failed(
            saw,
            "every batch counts",
            evidence.where_called(),
            "Which batches are left out, and what do their losses look like?",
            dropped / rows,
            SKIPS,
        )
    frozen = sum(math.prod(p.shape) for p in evidence.parameters if p.called and not p.trainable)
    if frozen > FROZEN * sum(math.prod(p.shape) for p in evidence.parameters if p.called):
        return Failed(
            f"{frozen} of the numbers that the forward pass uses are frozen", "a network that is trained as a whole", None, "List requires_grad."
        )
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
    learns = bool(losses) and evidence.losses.get("validation", math.inf) < END
    remark = None
    if rates and median(rates) >= 1.0 and learns:
        remark = f"a nominal rate of {median(rates):g} is odd: only what limits the step keeps it healthy"
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
    usual = usual if runs and runs.count(usual) * 2 >= len(runs) else 0
    return sum(max(0, r - usual) for r in runs) + max(0, current - usual)


@check("behaviour")
def loss_falls(evidence: Evidence) -> Passed | Failed:
    """The training loss falls, and never shoots up."""
    logged = list(evidence.scalars().series["Loss/train"].values) if "Loss/train" in evidence.scalars().series else []
    seen = [] if _by_log(evidence) else [s.loss for s in _last_run(evidence) if s.loss is not None]
    climbs = [_highest(losses) for losses in (seen, logged) if len(losses) >= 5]
    end = evidence.losses.get("validation", math.inf)
    if not climbs:
        msg = "too few losses were seen"
        raise MissingEvidence(msg)
    expected = f"a loss that stays below {CLIMB:g} times its first value, and a returned model whose own loss is below {END:g}"
    step = "Draw the training loss over the steps on a logarithmic scale: when does it leave the healthy curve?"
    highest = min(climbs) if end < END else climbs[0]  # what backward starts from may be scaled (mixed precision) or no loss at all
    if not highest < CLIMB:
        return Failed(f"the loss climbs to {highest:.3g} times its first value", expected, evidence.where_backward(), step, highest, CLIMB)
    if not end < END:
        return Failed(f"the returned model's loss on the validation images is {end:.2f}", expected, None, step, end, END)
    return Passed(f"the loss never climbs above {highest:.2g} times its first value; the returned model's own is {end:.2f}", None, end, END)


def _highest(losses: list[float]) -> float:
    """The largest value of the smoothed curve, as a multiple of its first value."""
    width = max(1, len(losses) // 20)
    smooth = [sum(losses[i : i + width]) / width for i in range(0, len(losses) - width + 1, width)]
    return max(smooth) / losses[0] if losses[0] > 0 else math.inf


def _finite_by_log(evidence: Evidence) -> Passed | Failed:
    bad = [s for s in evidence.scalars().series.values() if not all(map(math.isfinite, s.values))]
    if bad:
        return Failed(f"{bad[0].tag} is not finite", "finite losses in every step", None, "Find the first step whose logged loss is not finite.")
    return Passed("every logged value is finite")


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
