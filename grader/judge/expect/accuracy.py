"""How well does the returned model recognise digits that nobody has seen?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from grader.evidence.view import MissingEvidence
from grader.judge.check import Check
from grader.judge.verdict import Failed, Passed

if TYPE_CHECKING:
    from grader.evidence.view import Evidence


def accuracy(least: float) -> Check:
    """Accuracy on the held-out set (1,000 images, each moved by up to a pixel) of at least `least`."""

    def function(evidence: Evidence) -> Passed | Failed:
        evidence.finished()
        if "heldout" not in evidence.accuracies:
            msg = "the model did not answer for the held-out images"
            raise MissingEvidence(msg)
        seen = evidence.accuracies["heldout"]
        text = f"{seen:.3f}" if evidence.width > 1 else f"{seen:.3f} (the mean of both classes' recall)"
        expected = f"at least {least:.2f}"
        if "heldout" not in evidence.losses:
            step = "Find the first batch whose scores are not finite: torch.isfinite(scores).all(), step by step."
            return Failed("the scores for held-out images are not finite (NaN or infinite)", expected, None, step, 0.0, least)
        if not seen >= least:
            step = "Is the loss still falling at the end? Compare training and validation curves before you change anything."
            return Failed(f"{text} on 1,000 held-out images", expected, None, step, seen, least)
        return Passed(f"{text} on 1,000 held-out images (needed {least:.2f})", None, seen, least)

    return Check("accuracy", "The model recognises held-out digits", "accuracy", function)
